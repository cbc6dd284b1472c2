//! The lines of tasks: one for each change, enough by itself to know the task again. What a sealed
//! message says stands in none of them.

use super::line::{Line, Members};
use super::{Direction, EntryError};
use crate::handoff::{Chain, TaskId, TaskState};
use crate::ids::{AgentId, MessageId};
use serde::{Deserialize, Serialize};
use signet_json::{Map, Value};

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
    /// The data tier of the message.
    pub tier: u8,
    /// Its hops.
    pub hops: u8,
    /// What is to be done, of tiers 1 and 2 only.
    pub goal: Option<String>,
}

impl HandoffLine {
    /// Where the task is after this.
    pub fn state(&self) -> TaskState {
        match &self.change {
            TaskChange::Offered(_) => TaskState::Offered,
            TaskChange::Moved { to, .. } => *to,
        }
    }

    pub(super) fn write(&self, line: &mut Line<'_>) {
        line.text("peer", self.peer.as_str());
        let inward = self.direction == Direction::In;
        line.text("dir", if inward { "in" } else { "out" });
        line.text("task", &self.task.to_string());
        line.text("change", self.state().as_str());
        line.message_id(&self.message_id);
        let mut text = |name: &str, text: &Option<String>| {
            if let Some(text) = text {
                line.text(name, text);
            }
        };
        match &self.change {
            TaskChange::Offered(offered) => {
                text("goal", &offered.goal);
                line.number("tier", u64::from(offered.tier));
                line.number("hops", u64::from(offered.hops));
                line.value("chain", &offered.chain.to_value());
            }
            TaskChange::Moved { reason, note, .. } => {
                text("reason", reason);
                text("note", note);
            }
        }
    }

    pub(super) fn parse(line: &Map<String, Value>) -> Result<Self, EntryError> {
        let members = Members(line);
        let task = members.parsed("task")?;
        Ok(Self {
            peer: members.parsed("peer")?,
            direction: match members.text("dir")? {
                "in" => Direction::In,
                "out" => Direction::Out,
                _ => return Err(EntryError("dir")),
            },
            task,
            message_id: members.message_id()?,
            change: match members.parsed("change")? {
                TaskState::Offered => TaskChange::Offered(Box::new(read_offered(&members, task)?)),
                to => TaskChange::Moved {
                    to,
                    reason: maybe(line, "reason")?,
                    note: maybe(line, "note")?,
                },
            },
        })
    }
}

fn read_offered(members: &Members<'_>, task: TaskId) -> Result<Offered, EntryError> {
    let small = |name| u8::try_from(members.number(name)?).map_err(|_| EntryError(name));
    let chain = members
        .0
        .get("chain")
        .and_then(|chain| Chain::read(chain).ok());
    Ok(Offered {
        chain: chain
            .filter(|chain| chain.task() == task)
            .ok_or(EntryError("chain"))?,
        tier: small("tier")?,
        hops: small("hops")?,
        goal: maybe(members.0, "goal")?,
    })
}

fn maybe(line: &Map<String, Value>, name: &'static str) -> Result<Option<String>, EntryError> {
    match line.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(EntryError(name)),
    }
}
