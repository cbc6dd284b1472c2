//! What peers may say of tasks: the last step of check V12.

use crate::entry::{Direction, Entry, HandoffLine, Offered, TaskChange};
use crate::envelope::{Form, Method};
use crate::handoff::{LONGEST_NOTE, Offering, Report, TaskId, TaskState, is_acceptance};
use crate::ids::{AgentId, MessageId};
use crate::policy::is_report;
use crate::reject::Reason;
use crate::time::Timestamp;
use crate::trust::TrustView;

use crate::node::rule::ruled::Readable;

use super::Tasks;

impl Tasks {
    /// The last step of check V12, for what concerns tasks: the line that goes before the message's
    /// own.
    ///
    /// The line goes first, so that no torn tail leaves a handoff that was accepted and is not known;
    /// the same message is then taken once more.
    pub(in crate::node) fn rule(
        &self,
        trust: &TrustView,
        now: Timestamp,
        readable: Readable<'_>,
    ) -> Result<Option<Entry>, Reason> {
        let message = readable.message();
        match &message.form {
            Form::Call(Method::Handoff) => self.rule_offer(trust, now, readable),
            Form::Call(_) if is_report(message) => self.rule_report(readable),
            Form::Call(_) => Ok(None),
            Form::Success | Form::Failure { .. } => self.rule_decision(readable),
        }
    }

    fn rule_offer(
        &self,
        trust: &TrustView,
        now: Timestamp,
        readable: Readable<'_>,
    ) -> Result<Option<Entry>, Reason> {
        let headers = &readable.message().headers;
        let body = readable.body().ok_or(Reason::MandateInvalid)?;
        let Offering { goal, chain, .. } = Offering::parse(body)?;
        let task = chain.task();
        let conversation = headers.conversation_id.as_ref().map(|id| id.as_str());
        if conversation != Some(task.to_string().as_str()) {
            return Err(Reason::MandateInvalid);
        }
        chain.verify(trust, headers, now)?;
        let (peer, name) = (&headers.agent_id, headers.message_id);
        if !self.admit(peer, name, &chain, now)? {
            return Ok(None);
        }
        let offered = Offered {
            chain,
            tier: headers.data_tier.number(),
            hops: headers.hops,
            goal: headers.data_tier.in_clear(Some(goal)),
        };
        let offered = TaskChange::Offered(Box::new(offered));
        Ok(Some(task_line(Direction::In, task, offered, peer, name)))
    }

    /// Only whoever we gave the task may say how it goes, only forward, and only of its time.
    fn rule_report(&self, readable: Readable<'_>) -> Result<Option<Entry>, Reason> {
        let headers = &readable.message().headers;
        let report = Report::parse(readable.body().ok_or(Reason::TaskUnknown)?)?;
        let task = self
            .given_to(report.task, &headers.agent_id)
            .ok_or(Reason::TaskUnknown)?;
        // This very report has moved the task before, so a crash came between the line about the task and the line of the
        // report: write only the report's line now.
        if task.said == headers.message_id && task.last_said() == report.state {
            return Ok(None);
        }
        if !task.last_said().may_become(report.state) || headers.timestamp > task.not_after() {
            return Err(Reason::TaskUnknown);
        }
        let moved = TaskChange::Moved {
            to: report.state,
            reason: None,
            note: headers.data_tier.in_clear(report.note),
        };
        let (peer, name) = (&headers.agent_id, headers.message_id);
        let line = task_line(Direction::Out, report.task, moved, peer, name);
        Ok(Some(line))
    }

    /// An answer to a handoff of ours. A report that overtook it has said more already.
    fn rule_decision(&self, readable: Readable<'_>) -> Result<Option<Entry>, Reason> {
        let message = readable.message();
        let headers = &message.headers;
        let offer = headers.in_reply_to;
        let task = offer.and_then(|offer| self.given_by(&headers.agent_id, offer));
        let Some(task) = task else { return Ok(None) };
        let is_accepted = |task| {
            let body = readable.body();
            body.is_some_and(|body| is_acceptance(body, task))
        };
        let (to, reason, note) = match &message.form {
            Form::Failure {
                reason, message, ..
            } => {
                let words = message.chars().take(LONGEST_NOTE).collect();
                (TaskState::Declined, Some(reason.clone()), Some(words))
            }
            _ if is_accepted(task.id()) => (TaskState::Accepted, None, None),
            Form::Call(_) | Form::Success => return Err(Reason::TaskUnknown),
        };
        if task.last_said() != TaskState::Offered {
            return Ok(None);
        }
        let note = headers.data_tier.in_clear(note);
        let moved = TaskChange::Moved { to, reason, note };
        let (peer, name) = (&headers.agent_id, headers.message_id);
        let line = task_line(Direction::Out, task.id(), moved, peer, name);
        Ok(Some(line))
    }
}

/// What happened to a task by the message of that name, to or from the peer. `direction` is the one in which the
/// task was given.
pub(super) fn task_line(
    direction: Direction,
    task: TaskId,
    change: TaskChange,
    peer: &AgentId,
    message_id: MessageId,
) -> Entry {
    Entry::Handoff(HandoffLine {
        peer: peer.clone(),
        direction,
        task,
        message_id,
        change,
    })
}
