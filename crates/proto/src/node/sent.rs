//! What we say: drafts that wait, requests that are open, pings that we answer, our callers' keys, and what became
//! of each message.

mod drafts;
mod keyed;
mod progress;
mod release;
mod request;
mod requests;
mod resend;
mod results;
mod rows;
mod send;
mod state;
mod status;
mod view;
mod waiting;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::draft::{Draft, Identity, StoredDraft};
use crate::entry::{ApprovalLine, DraftLine};
use crate::envelope::Message;
use crate::handoff::TaskId;
use crate::ids::{AgentId, MessageId};
use crate::statement::Decision;
use crate::time::Timestamp;

use super::Outcome;

pub use drafts::{Waiter, hash_of_draft};
pub use keyed::CallerKey;
use keyed::{Keyed, Keys};
pub use progress::Progressed;
pub use request::{Content, Continues, Declining, Handing, Sending};
use requests::OpenRequest;
pub(super) use requests::Requests;
use results::Results;
pub use state::{Lost, State, WaitsFor};
pub use status::{Outgoing, SentEnd};
pub use view::SentView;
pub(super) use waiting::Drafts;
use waiting::{Approving, PeerDrafts, Waiting};

/// What we said and wait for.
#[derive(Clone, Debug, Default)]
pub(super) struct Sent {
    requests: Requests,
    pings: BTreeMap<(AgentId, MessageId), Arc<Message>>,
    keys: Keys,
    drafts: Drafts,
    results: Results,
}

/// A message of ours that was made now, or by an earlier call with the same key.
#[derive(Debug)]
pub struct SentMessage {
    /// Its name.
    pub id: MessageId,
    /// Where it is.
    pub state: State,
    /// The task that it hands over.
    pub task: Option<TaskId>,
    /// For what it waits, where it has not left.
    pub waits_for: Option<WaitsFor>,
    /// The agents whose alarm holds it back, where it waits for that.
    pub held_by: Vec<AgentId>,
    /// Whether an earlier call made it: then nothing happened now.
    pub again: bool,
    /// What is to be written and done.
    pub outcome: Outcome,
}

impl Sent {
    /// Our requests that are open.
    pub(super) fn requests(&self) -> &Requests {
        &self.requests
    }

    pub(super) fn requests_mut(&mut self) -> &mut Requests {
        &mut self.requests
    }

    /// What waits to leave.
    pub(super) fn drafts(&self) -> &Drafts {
        &self.drafts
    }

    pub(super) fn drafts_mut(&mut self) -> &mut Drafts {
        &mut self.drafts
    }

    pub(super) fn results_mut(&mut self) -> &mut Results {
        &mut self.results
    }

    /// The pings that we have not answered.
    pub(super) fn pings(&self) -> impl Iterator<Item = &Arc<Message>> {
        self.pings.values()
    }

    /// A ping came that we answer.
    pub(super) fn apply_ping(&mut self, ping: &Arc<Message>) {
        let headers = &ping.headers;
        let name = (headers.agent_id.clone(), headers.message_id);
        self.pings.insert(name, Arc::clone(ping));
    }

    /// A ping is answered, or never will be.
    pub(super) fn forget_ping(&mut self, peer: &AgentId, ping: MessageId) {
        self.pings.remove(&(peer.clone(), ping));
    }

    /// The peer is trusted no more. Gives back what waited for it, and what it was asked.
    pub(super) fn cut(&mut self, peer: &AgentId) -> Vec<MessageId> {
        self.pings.retain(|(from, _), _| from != peer);
        let mut names = self.drafts.drain(peer);
        names.append(&mut self.requests.cut(peer));
        names
    }

    /// A draft waits from now on, for as long as its life is. One that cannot be opened has perhaps been sent: a later line says so, or it
    /// ends when the log has been told.
    pub(super) fn apply_draft(
        &mut self,
        own: &Identity,
        now: Timestamp,
        line: &DraftLine,
        stored: StoredDraft,
    ) {
        // Remember the caller's key even if the draft cannot be opened: if the caller repeats its call, that must not make a
        // second message.
        if let Some(tag) = &line.client_key {
            self.keys.note(now, line.message_id, tag);
        }
        let until = now.saturating_add(Duration::from_secs(line.life));
        let approval = line.approve.map(Approving::by);
        let value = line.message.clone();
        self.put_back_draft(own, &line.peer, line.message_id, stored, |draft| {
            Waiting::of(draft, value, until, approval)
        });
    }

    /// Our person has decided about a draft.
    pub(super) fn apply_approval(&mut self, line: &ApprovalLine) {
        let waiting = self.drafts.named(&line.peer, line.message_id);
        if let Some(approval) = waiting.and_then(|waiting| waiting.approval.as_mut()) {
            approval.granted = line.approval.decision == Decision::Approved;
        }
    }

    /// Puts back a draft as it was remembered, opened with our keys; `waiting` says how it waits.
    pub(super) fn put_back_draft(
        &mut self,
        own: &Identity,
        peer: &AgentId,
        name: MessageId,
        stored: StoredDraft,
        waiting: impl FnOnce(Draft) -> Waiting,
    ) {
        match stored.open(own) {
            Ok(draft) => self.drafts.add(peer, waiting(draft)),
            Err(reason) => self.drafts.lose(peer, name, reason),
        }
    }
}
