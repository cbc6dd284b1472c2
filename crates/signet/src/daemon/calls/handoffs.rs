//! Handoffs on the sockets: `handoff.send`, `accept`, `decline`, `report`, `list` and `show`.

use std::time::Duration;

use signet_api::{
    AcceptTask, ApiError, DecidedTask, DeclineTask, ListTasks, ReportState, ReportTask,
    SendHandoff, ShowTask, Tasks,
};
use signet_proto::handoff::{Limits, Report, TaskId, TaskState};
use signet_proto::ids::MessageId;
use signet_proto::node::{Handing, LocalError, Outcome, Sending, Turn};
use signet_proto::time::Timestamp;

use crate::reach::{Reach, Sees as _};
use crate::render::task;

use super::sending::{SendRequest, send, tier_of};
use super::serve::{Handled, Serve, maybe_named, named, parse_wait, refused, shown};
use super::{AnswerCall, Asker, Batch, DaemonState};

impl Serve for AcceptTask {
    fn serve(self, turn: &mut Turn<'_>, reach: &Reach) -> Result<Handled<Self>, ApiError> {
        let id = named::<TaskId>("task", &self.task)?;
        let (sent, outcome) = turn.tasks().accept(id).map_err(refused)?;
        decided(turn, reach, id, sent, outcome)
    }

    fn makes(answer: &DecidedTask) -> Option<&str> {
        Some(&answer.sent)
    }
}

impl Serve for DeclineTask {
    fn serve(self, turn: &mut Turn<'_>, reach: &Reach) -> Result<Handled<Self>, ApiError> {
        let id = named::<TaskId>("task", &self.task)?;
        let (sent, outcome) = turn.tasks().decline(id, self.why).map_err(refused)?;
        decided(turn, reach, id, sent, outcome)
    }

    fn makes(answer: &DecidedTask) -> Option<&str> {
        Some(&answer.sent)
    }
}

impl Serve for ReportTask {
    fn serve(self, turn: &mut Turn<'_>, reach: &Reach) -> Result<Handled<Self>, ApiError> {
        let id = named::<TaskId>("task", &self.task)?;
        let report = Report {
            task: id,
            state: match self.state {
                ReportState::Working => TaskState::Working,
                ReportState::Completed => TaskState::Completed,
                ReportState::Failed => TaskState::Failed,
                ReportState::Returned => TaskState::Returned,
            },
            note: self.note,
            result: self.result,
        };
        let (sent, outcome) = turn.tasks().report(report).map_err(refused)?;
        decided(turn, reach, id, sent, outcome)
    }

    fn makes(answer: &DecidedTask) -> Option<&str> {
        Some(&answer.sent)
    }
}

impl Serve for ListTasks {
    fn serve(self, turn: &mut Turn<'_>, reach: &Reach) -> Result<Handled<Self>, ApiError> {
        let tasks = turn.node().tasks().iter();
        let mut tasks: Vec<_> = tasks.filter(|task| reach.sees_task(task)).collect();
        tasks.sort_by_key(|task| std::cmp::Reverse(task.changed));
        let tasks = tasks.into_iter().map(|task| task::brief(task, turn.now()));
        shown(Tasks {
            tasks: tasks.collect(),
        })
    }
}

impl Serve for ShowTask {
    fn serve(self, turn: &mut Turn<'_>, reach: &Reach) -> Result<Handled<Self>, ApiError> {
        let id = named::<TaskId>("task", &self.task)?;
        let whole = task::whole(turn.node().tasks(), id, turn.now(), reach);
        shown(whole.ok_or_else(|| refused(LocalError::TaskUnknown(id)))?)
    }
}

impl AnswerCall for SendHandoff {
    fn answer(self, state: &mut DaemonState, asker: Asker<'_>) -> Batch {
        let parsed = parse_handoff(self, state.at().now);
        send(state, parsed, asker)
    }
}

/// The task as it stands now, and our message about it.
fn decided(
    turn: &Turn<'_>,
    reach: &Reach,
    id: TaskId,
    sent: MessageId,
    outcome: Outcome,
) -> Result<(DecidedTask, Outcome), ApiError> {
    let task = task::whole(turn.node().tasks(), id, turn.now(), reach);
    // The node has just accepted, declined or reported on this task, so it must hold the task: a missing one is a bug of ours.
    let task = task.ok_or_else(ApiError::internal)?;
    let sent = sent.to_string();
    Ok((DecidedTask { task, sent }, outcome))
}

fn parse_handoff(call: SendHandoff, now: Timestamp) -> Result<SendRequest, ApiError> {
    let capabilities = call.capabilities.as_ref().map(|names| {
        let names = names.iter().map(|name| named("capabilities", name));
        names.collect::<Result<_, ApiError>>()
    });
    let until = match (&call.not_after, call.lasts) {
        (Some(_), Some(_)) => return Err(ApiError::invalid_params("give not-after or lasts")),
        (Some(time), None) => Some(named("not-after", time)?),
        (None, lasts) => lasts.map(|secs| now.saturating_add(Duration::from_secs(secs))),
    };
    let handing = Handing {
        goal: call.goal,
        input: call.input,
        limits: Limits {
            capabilities: capabilities.transpose()?,
            tier: call.tier,
            depth: call.depth,
            not_after: until,
        },
        parent: maybe_named("under", call.under.as_deref())?,
        summary: call.summary,
        data_tier: tier_of(call.data_tier)?,
    };
    Ok(SendRequest {
        peer: named("peer", &call.peer)?,
        sending: Sending::Handoff(Box::new(handing)),
        key: None,
        wait: parse_wait(call.wait)?,
        introduce: call.introduce,
        mailbox_after: None,
    })
}
