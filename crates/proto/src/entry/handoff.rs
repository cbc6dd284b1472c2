//! The lines of tasks: one for each change, enough by itself to know the task again. What a sealed
//! message says stands in none of them.

use super::line::{Line, LineMembers};
use super::members::LineMember;
#[cfg(test)]
use super::schema_tests::*;
use super::{Direction, EntryError, LineKind, LineSubject, quoted};
use crate::handoff::{Chain, TaskId, TaskState};
use crate::headers::Tier;
use crate::ids::{AgentId, MessageId};
use serde::{Deserialize, Serialize};
use signet_json::{Map, Value};
use signet_text::printable;

/// A task changed.
#[derive(Clone, Debug, PartialEq)]
pub struct HandoffLine {
    /// Who gave it to us, or to whom we gave it.
    pub peer: AgentId,
    /// `In` when it was given to us.
    pub direction: Direction,
    /// Which task.
    pub task: TaskId,
    /// The message that says so, ours or the peer's.
    pub message_id: MessageId,
    /// What happened.
    pub change: TaskChange,
}

/// What happened to a task.
#[derive(Clone, Debug, PartialEq)]
pub enum TaskChange {
    /// It was given.
    Offered(Box<Offered>),
    /// It went on.
    Moved {
        /// To where.
        to: TaskState,
        /// The name of the reason, when it was declined.
        reason: Option<String>,
        /// The holder's words, of tiers 1 and 2 only.
        note: Option<String>,
    },
}

/// A task as it was given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Offered {
    /// Who gave what to whom, with every signature.
    #[serde(with = "crate::stored")]
    pub chain: Chain,
    /// The data tier of the message: of a line that is read, any number.
    pub tier: u8,
    /// Its hops.
    pub hops: u8,
    /// What is to be done, of tiers 1 and 2 only.
    pub goal: Option<String>,
}

impl Offered {
    /// The tier of what is said of the task. A number that names no tier counts as the highest.
    pub(crate) fn data_tier(&self) -> Tier {
        Tier::parse(self.tier).unwrap_or(Tier::Restricted)
    }
}

impl HandoffLine {
    /// Where the task is after this.
    pub fn state(&self) -> TaskState {
        match &self.change {
            TaskChange::Offered(_) => TaskState::Offered,
            TaskChange::Moved { to, .. } => *to,
        }
    }
}

impl LineKind for HandoffLine {
    fn write(&self, line: &mut Line<'_>) {
        line.text("peer", self.peer.as_str());
        line.text("dir", self.direction.as_str());
        line.text("task", &self.task.to_string());
        line.text("change", self.state().as_str());
        line.message_id(&self.message_id);
        match &self.change {
            TaskChange::Offered(offered) => {
                offered.goal.write("goal", line);
                line.number("tier", u64::from(offered.tier));
                line.number("hops", u64::from(offered.hops));
                line.value("chain", &offered.chain.to_value());
            }
            TaskChange::Moved { reason, note, .. } => {
                reason.write("reason", line);
                note.write("note", line);
            }
        }
    }

    fn parse(line: Map<String, Value>) -> Result<Self, EntryError> {
        let members = LineMembers(&line);
        let task = members.parsed("task")?;
        Ok(Self {
            peer: members.parsed("peer")?,
            direction: Direction::read(&members)?,
            task,
            message_id: members.message_id()?,
            change: match members.parsed("change")? {
                TaskState::Offered => TaskChange::Offered(Box::new(read_offered(&members, task)?)),
                to => TaskChange::Moved {
                    to,
                    reason: LineMember::read("reason", &members)?,
                    note: LineMember::read("note", &members)?,
                },
            },
        })
    }

    fn about(&self) -> LineSubject {
        LineSubject {
            peer: Some(self.peer.clone()),
            task: Some(self.task),
            conversation: self.task.to_string().parse().ok(),
            ..LineSubject::default()
        }
    }

    fn describe(&self) -> String {
        let whose = match self.direction {
            Direction::In => "to us",
            Direction::Out => "by us",
        };
        let words = match &self.change {
            TaskChange::Offered(offered) => {
                let last = offered.chain.last();
                let (authority, steps) = (&last.authority, offered.chain.links().count());
                let goal = offered.goal.as_deref().map(quoted);
                format!(
                    "tier {}, depth {}, until {}, step {steps}{}",
                    authority.tier,
                    authority.depth,
                    authority.not_after,
                    goal.map(|goal| format!("  {goal}")).unwrap_or_default()
                )
            }
            TaskChange::Moved { reason, note, .. } => {
                let reason = reason.as_deref().map(printable);
                let note = note.as_deref().map(quoted);
                let said: Vec<_> = [reason, note.map(Into::into)]
                    .into_iter()
                    .flatten()
                    .collect();
                said.join("  ")
            }
        };
        let (state, peer, task) = (self.state().as_str(), &self.peer, self.task);
        format!("{state:<12}  {peer:<14}  task {task} given {whose}  {words}")
    }

    #[cfg(test)]
    fn shape() -> LineShape {
        let clear = "Tiers 1 and 2 only.";
        LineShape::default()
            .with("peer", common("agent-id"))
            .with(
                "dir",
                about("in: given to this agent; out: given by it.", direction()),
            )
            .with("task", common("uuid"))
            .with(
                "change",
                serde_json::json!({"enum": TaskState::ALL.iter().map(|state| state.as_str()).collect::<Vec<_>>()}),
            )
            .message_id()
            .maybe("tier", common("tier"))
            .maybe("hops", at_least(1))
            .maybe("goal", about(clear, text()))
            .maybe("chain", common("chain"))
            .maybe("reason", common("reason-name"))
            .maybe("note", about(clear, text()))
    }
}

fn read_offered(members: &LineMembers<'_>, task: TaskId) -> Result<Offered, EntryError> {
    // Do not verify the chain's signatures while a log line is read: they were verified when the handoff came or left, and an
    // audit verifies them again.
    let chain = Chain::read(members.value("chain")?).ok();
    Ok(Offered {
        chain: chain
            // The log line names its task twice, in `task` and in the chain of mandates. Refuse a line in which the two differ:
            // it is damaged or made up.
            .filter(|chain| chain.task() == task)
            .ok_or(EntryError("chain"))?,
        tier: members.small("tier")?,
        hops: members.small("hops")?,
        goal: LineMember::read("goal", members)?,
    })
}
