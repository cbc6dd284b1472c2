//! What our own side may do with tasks: hand on, accept, decline, report, and keep within them.

use signet_json::Value;

use crate::draft::{Draft, LIFE};
use crate::entry::{ClientKey, Direction, Offered, TaskChange};
use crate::envelope::{Form, Method};
use crate::handoff::{
    Chain, LONGEST_GOAL, LONGEST_NOTE, Link, MandateRequest, Offering, Overstep, Report, TaskId,
    TaskState, accepted_body,
};
use crate::ids::{AgentId, MessageId};
use crate::policy::TASK;
use crate::time::Timestamp;

use crate::node::Outcome;
use crate::node::answers::declined;
use crate::node::turn::TasksDoor;
use crate::node::{Handing, LocalError};

use super::offered::task_line;
use super::{Task, Tasks};

impl Tasks {
    /// Keeps a message for a task that we hold within what we were given, and its life within the
    /// authority's. Answers and reports are free: the giver asked for them.
    pub(in crate::node) fn keep_within(
        &self,
        now: Timestamp,
        draft: &mut Draft,
    ) -> Result<(), LocalError> {
        let capability = draft.capability.as_ref();
        // Only the daemon sends reports on tasks, under the capability `TASK`, which needs no grant. So refuse a draft of an
        // agent that names `TASK`: it would get past the grants.
        if capability.is_some_and(|name| name.as_str() == TASK) {
            return Err(LocalError::ReservedForReports);
        }
        let task = draft.conversation_id.as_ref();
        let task = task.and_then(|name| name.as_str().parse::<TaskId>().ok());
        let held = task.and_then(|task| self.held(task));
        // A task limits the draft until the task's last report, even if the time of the task is over: then `permits` below
        // refuses the draft.
        let Some(held) = held.filter(|held| held.last_said().is_open()) else {
            return Ok(());
        };
        let authority = held.given.chain.authority();
        within(
            held.id(),
            authority.permits(capability, draft.data_tier, now),
        )?;
        draft.life = draft.life.min(authority.not_after.since(now));
        Ok(())
    }

    fn held_now(&self, now: Timestamp, task: TaskId) -> Result<&Task, LocalError> {
        let held = self.held(task).ok_or(LocalError::TaskUnknown(task))?;
        if held.state(now).is_held() {
            Ok(held)
        } else {
            Err(closed(held, now))
        }
    }
}

impl TasksDoor<'_, '_> {
    /// Takes a task that was offered to us.
    ///
    /// # Errors
    /// When no such task is offered, or its time is over.
    pub fn accept(&mut self, task: TaskId) -> Result<(MessageId, Outcome), LocalError> {
        let id = self.decide(task, Form::Success, None, Some(accepted_body(task)))?;
        Ok((id, self.turn.take()))
    }

    /// Does not take a task that was offered to us, and says why.
    ///
    /// # Errors
    /// When no such task is offered, or its time is over.
    pub fn decline(
        &mut self,
        task: TaskId,
        why: String,
    ) -> Result<(MessageId, Outcome), LocalError> {
        let held = self.turn.node.tasks.held(task);
        let held = held.ok_or(LocalError::TaskUnknown(task))?;
        let (form, summary) = declined(held.given.data_tier(), why);
        let id = self.decide(task, form, summary, None)?;
        Ok((id, self.turn.take()))
    }

    /// Tells the giver how a task goes that we hold.
    ///
    /// # Errors
    /// When we do not hold it, its time is over, or it cannot go to that state.
    pub fn report(&mut self, report: Report) -> Result<(MessageId, Outcome), LocalError> {
        let now = self.turn.at.now;
        let held = self.turn.node.tasks.held_now(now, report.task)?;
        if !report.state.is_report() || !held.last_said().may_become(report.state) {
            return Err(closed(held, now));
        }
        let long = |note: &String| note.chars().count() > LONGEST_NOTE;
        if report.note.as_ref().is_some_and(long) {
            return Err(LocalError::HandoffUnfit(
                "the note has at most 500 characters",
            ));
        }
        let (held, form) = (held.clone(), Form::Call(Method::Notification));
        let mut draft = self.word(&held, form, Some(report.to_value()));
        draft.capability = TASK.parse().ok();
        let message_id = draft.message_id;
        let moved = TaskChange::Moved {
            to: report.state,
            reason: None,
            note: held.given.data_tier().in_clear(report.note),
        };
        self.say(draft, report.task, moved)?;
        Ok((message_id, self.turn.take()))
    }

    /// The chain with our own mandate at its end, judged as its receiver will judge it.
    fn chain_for(&mut self, peer: &AgentId, handing: &Handing) -> Result<(Chain, u8), LocalError> {
        let now = self.turn.at.now;
        let held = match handing.parent {
            Some(task) => Some(self.turn.node.tasks.held_now(now, task)?.given.clone()),
            None => None,
        };
        let above = held.as_ref().map(|held| &held.chain);
        let authority = handing.limits.clone().of(above.map(Chain::authority), now);
        if let Some(above) = above {
            within(above.task(), above.authority().contains(&authority))?;
            // Refuse an agent that is in the chain already: the peer would refuse the handoff, since no agent may be in a chain
            // twice (protocol.md, section 14, rule 8).
            if above.links().any(|link| link.mandate.from == *peer) {
                return Err(LocalError::HadItBefore(peer.clone()));
            }
        }
        let request = MandateRequest {
            task: above.map_or_else(|| self.turn.node.ids.fresh(now), Chain::task),
            from: self.turn.node.me.identity().agent().clone(),
            to: peer.clone(),
            authority,
            parent: above.map(|above| above.last().hash()),
            issued_at: now,
        };
        let link = Link {
            mandate: request
                .sign(&self.turn.node.me.identity().signing)
                .map_err(|_| LocalError::HandoffUnfit(LIMITS))?,
            certificate: self.turn.node.me.identity().certificate.clone(),
        };
        let chain = above.map_or_else(
            || Chain::begin(link.clone()),
            |above| above.extended(link.clone()),
        );
        chain.prove().map_err(LocalError::Message)?;
        let hops = held.map_or(1, |held| held.hops.saturating_add(1));
        Ok((chain, hops))
    }

    /// Hands a task to a peer: a new one, or one that we hold. Returns the handoff's message-id.
    pub(in crate::node) fn hand(
        &mut self,
        peer: &AgentId,
        handing: Handing,
        key: Option<ClientKey>,
    ) -> Result<MessageId, LocalError> {
        let now = self.turn.at.now;
        if !self.turn.node.tasks.has_room_to_give(peer) {
            return Err(LocalError::TooManyTasks(peer.clone()));
        }
        // Our certificate has to be valid now, because the mandate is signed now, even if the message with it leaves later.
        if let Some((from, to)) = self.turn.node.me.outside_certificate(now) {
            return Err(LocalError::WrongClock { now, from, to });
        }
        let message_id = self.turn.node.ids.fresh(now);
        let (chain, hops) = self.chain_for(peer, &handing)?;
        let task = chain.task();
        // Refuse a second handoff of an open task to this peer: it would replace the first handoff, on which the peer may be
        // working.
        let stands = self.turn.node.tasks.given_to(task, peer);
        if let Some(stands) = stands.filter(|given| given.state(now).is_open()) {
            return Err(LocalError::TaskStands(task, stands.state(now)));
        }
        let offering = Offering {
            goal: handing.goal,
            input: handing.input,
            chain: chain.clone(),
        };
        if !(1..=LONGEST_GOAL).contains(&offering.goal.chars().count()) {
            return Err(LocalError::HandoffUnfit(
                "the goal has 1 to 2,000 characters",
            ));
        }
        let mut draft = Draft::call(
            Method::Handoff,
            peer.clone(),
            message_id,
            offering.to_value(),
        );
        draft.summary = handing.summary;
        draft.data_tier = handing.data_tier.unwrap_or_default();
        draft.conversation_id = task.to_string().parse().ok();
        draft.hops = hops;
        draft.life = LIFE.min(chain.authority().not_after.since(now));
        self.turn.node.tasks.keep_within(now, &mut draft)?;
        let offered = Offered {
            chain,
            tier: draft.data_tier.number(),
            hops,
            goal: draft.data_tier.in_clear(Some(offering.goal)),
        };
        let before = self.turn.out.entries.len();
        // Send the message first: if it can neither leave nor wait, no log line about the task may be written.
        self.turn.sent().dispatch(draft, key)?;
        // Put the task's log line before the lines of the message: after a crash between them, the log has the task of every
        // handoff that left.
        let sent = self.turn.out.entries.split_off(before);
        let offered = TaskChange::Offered(Box::new(offered));
        self.turn
            .write(task_line(Direction::Out, task, offered, peer, message_id));
        self.turn.out.entries.extend(sent);
        Ok(message_id)
    }

    fn decide(
        &mut self,
        task: TaskId,
        form: Form,
        summary: Option<String>,
        body: Option<Value>,
    ) -> Result<MessageId, LocalError> {
        let held = self.turn.node.tasks.held(task);
        let held = held.ok_or(LocalError::TaskUnknown(task))?;
        if held.state(self.turn.at.now) != TaskState::Offered {
            return Err(closed(held, self.turn.at.now));
        }
        let held = held.clone();
        let (to, reason, note) = match &form {
            Form::Failure {
                reason, message, ..
            } => (
                TaskState::Declined,
                Some(reason.clone()),
                Some(message.clone()),
            ),
            Form::Call(_) | Form::Success => (TaskState::Accepted, None, None),
        };
        let mut draft = self.word(&held, form, body);
        draft.in_reply_to = Some(held.offer);
        draft.summary = summary;
        let message_id = draft.message_id;
        let note = draft.data_tier.in_clear(note);
        let moved = TaskChange::Moved { to, reason, note };
        self.say(draft, task, moved)?;
        Ok(message_id)
    }

    /// Handoffs that were noted down and never written: a torn tail took the message.
    pub(in crate::node) fn end_unsent(&mut self) {
        let unsent = |task: &&Task| {
            let mut drafts = self.turn.node.sent.drafts().of(&task.peer);
            let waits = drafts.any(|waiting| waiting.draft.message_id == task.offer);
            task.direction == Direction::Out
                && task.last_said() == TaskState::Offered
                && !waits
                && self.turn.node.sent.requests().get(task.offer).is_none()
        };
        let tasks = self.turn.node.tasks.iter();
        let unsent: Vec<_> = tasks.filter(unsent).cloned().collect();
        for task in unsent {
            let expired = TaskChange::Moved {
                to: TaskState::Expired,
                reason: None,
                note: None,
            };
            let (id, peer) = (task.id(), &task.peer);
            self.turn
                .write(task_line(Direction::Out, id, expired, peer, task.offer));
        }
    }

    /// A message to the giver about a task.
    fn word(&mut self, held: &Task, form: Form, body: Option<Value>) -> Draft {
        Draft {
            form,
            recipient: held.peer.clone(),
            message_id: self.turn.node.ids.fresh(self.turn.at.now),
            summary: None,
            body,
            data_tier: held.given.data_tier(),
            capability: None,
            conversation_id: held.id().to_string().parse().ok(),
            in_reply_to: None,
            hops: held.given.hops.saturating_add(1),
            life: LIFE,
        }
    }

    /// The message first: a torn tail then leaves a word that goes out, and is said again at worst.
    fn say(&mut self, draft: Draft, task: TaskId, change: TaskChange) -> Result<(), LocalError> {
        self.turn.node.judge(self.turn.at.now).may_speak()?;
        let (peer, message_id) = (draft.recipient.clone(), draft.message_id);
        self.turn.sent().say_own(draft)?;
        self.turn
            .write(task_line(Direction::In, task, change, &peer, message_id));
        Ok(())
    }
}

fn within(task: TaskId, judged: Result<(), Overstep>) -> Result<(), LocalError> {
    judged.map_err(|overstep| LocalError::BeyondTask(task, overstep))
}

fn closed(task: &Task, now: Timestamp) -> LocalError {
    LocalError::TaskStands(task.id(), task.state(now))
}

const LIMITS: &str = "the tier is 1 to 4, the depth 0 to 7, the capabilities are at most 64, and it ends after now and within 30 days";
