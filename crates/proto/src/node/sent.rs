//! What we said and wait for: our open requests, the pings that we answer, and our callers' keys.

mod keyed;
mod results;
mod waiting;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::draft::{Draft, Identity, StoredDraft};
use crate::entry::{ApprovalLine, ClientKey, DraftLine};
use crate::envelope::Message;
use crate::headers::{Headers, MessageType};
use crate::ids::{AgentId, MessageId, Version};
use crate::policy::{HIGHEST_CLEAR_TIER, PING};
use crate::progress::Progress;
use crate::reject::Reason;
use crate::statement::Decision;
use crate::time::Timestamp;

use super::State;
use super::progress::Progressed;

pub use keyed::{CallerKey, Once};
pub(super) use keyed::{Keyed, Keys};
use results::Results;
pub(super) use waiting::{Approving, Drafts, Finds, PeerDrafts, Waiting};

/// How many requests of ours may be open at once.
const OPEN_REQUESTS: usize = 10_000;
/// A request stays open this long after it expires, for an answer that was on its way.
const OPEN_AFTER: Duration = Duration::from_secs(30 * 24 * 3600);
/// Nobody waits for a late sign of life.
const PING_AFTER: Duration = Duration::from_secs(60);

/// What we said and wait for.
#[derive(Clone, Debug, Default)]
pub struct Sent {
    open: BTreeMap<MessageId, OpenRequest>,
    pings: BTreeMap<(AgentId, MessageId), Arc<Message>>,
    keys: Keys,
    drafts: Drafts,
    results: Results,
}

/// A request of ours that is not answered.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct OpenRequest {
    peer: AgentId,
    tier: u8,
    closes: Timestamp,
    /// Whether it was sent in a session in which the peer can tell of progress.
    #[serde(default)]
    tells: bool,
    #[serde(default)]
    progress: Option<Progressed>,
    /// Whether it is a ping: its answer is no message for our agent, and nobody looks for a late one.
    #[serde(default)]
    ping: bool,
    /// Why the last answer was refused that its peer gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refused_answer: Option<Reason>,
}

impl OpenRequest {
    pub(super) fn peer(&self) -> &AgentId {
        &self.peer
    }

    pub(super) fn tier(&self) -> u8 {
        self.tier
    }

    /// Until when an answer is taken.
    pub(super) fn closes(&self) -> Timestamp {
        self.closes
    }

    pub(super) fn is_ping(&self) -> bool {
        self.ping
    }

    pub(super) fn refused_answer(&self) -> Option<Reason> {
        self.refused_answer
    }
}

impl Sent {
    /// The newest that the peer told of a request of ours that is open.
    pub fn progress_of(&self, request: MessageId) -> Option<&Progressed> {
        self.open.get(&request)?.progress.as_ref()
    }

    /// Whether the peer's agent has taken an open request of ours; `None` where the peer cannot tell
    /// because it was sent in a session of version 1.0.0.
    pub fn is_taken(&self, request: MessageId) -> Option<bool> {
        let open = self.open.get(&request)?;
        let tells = open.progress.is_some() || open.tells;
        tells.then_some(open.progress.is_some())
    }

    /// A request of ours that is not answered.
    pub(super) fn request(&self, name: MessageId) -> Option<&OpenRequest> {
        self.open.get(&name)
    }

    /// A share for each peer, so that a silent one does not keep us from asking the others.
    pub(super) fn may_open_request(&self, now: Timestamp, peer: &AgentId) -> bool {
        let share = OPEN_REQUESTS / 4;
        if self.open.len() < share {
            return true;
        }
        let open = || self.open.values().filter(|open| now < open.closes);
        let of_peer = || open().filter(|open| open.peer == *peer).count();
        let all = open().count();
        all < OPEN_REQUESTS && (all < share || of_peer() < share)
    }

    /// A response is taken only for an open request of ours, from the agent we asked, once; progress
    /// likewise, as often as it comes before that.
    pub(super) fn rule(&self, now: Timestamp, message: &Message) -> Result<(), Reason> {
        if !message.form.belongs_to_request() {
            return Ok(());
        }
        let headers = &message.headers;
        let open = headers
            .in_reply_to
            .and_then(|request| self.open.get(&request));
        let open = open.filter(|open| now < open.closes);
        match open.filter(|open| open.peer == headers.agent_id) {
            None => Err(Reason::ResponseUnsolicited),
            Some(open) if headers.data_tier < open.tier => Err(Reason::TierLowered),
            Some(_) => Ok(()),
        }
    }

    /// A call of ours waits for an answer. A full table forgets what closes first: no clock, which may be far
    /// ahead for a moment, parts what the node remembers from what its log says.
    pub(super) fn apply_request(&mut self, headers: &Headers) {
        let capability = headers.capability.as_ref();
        let ping = capability.is_some_and(|name| name.as_str() == PING);
        let patience = if ping { PING_AFTER } else { OPEN_AFTER };
        if self.open.len() >= OPEN_REQUESTS {
            let ends = self.open.iter().min_by_key(|(_, open)| open.closes);
            let first = ends.map(|(name, _)| *name);
            first.and_then(|name| self.open.remove(&name));
        }
        let open = OpenRequest {
            peer: headers.recipient_id.clone(),
            tier: headers.data_tier,
            closes: headers.expires_at.saturating_add(patience),
            tells: headers.version >= Version::PROGRESS,
            progress: None,
            ping,
            refused_answer: None,
        };
        self.open.insert(headers.message_id, open);
    }

    /// A request of ours is answered.
    pub(super) fn apply_answer(&mut self, request: MessageId) -> Option<OpenRequest> {
        self.open.remove(&request)
    }

    /// Whoever asked can see that there was an answer.
    pub(super) fn apply_refused(&mut self, headers: &Headers, reason: Reason) {
        let request = headers.in_reply_to;
        let request = request.filter(|_| headers.message_type == MessageType::Response);
        let open = request.and_then(|request| self.open.get_mut(&request));
        if let Some(open) = open.filter(|open| open.peer == headers.agent_id) {
            open.refused_answer = Some(reason);
        }
    }

    /// What an accepted line of progress changes. Nothing of what came sealed stands outside its box.
    pub(super) fn apply_progress(&mut self, message: &Message, told: Option<&Progress>) {
        let headers = &message.headers;
        let open = headers.in_reply_to.and_then(|id| self.open.get_mut(&id));
        let Some(open) = open else { return };
        let known = open.progress.as_ref();
        // It may have overtaken what was signed before it.
        if known.is_some_and(|known| known.since > headers.timestamp) {
            return;
        }
        let is_clear = message.body.is_some() && headers.data_tier <= HIGHEST_CLEAR_TIER;
        let told = told.filter(|_| is_clear);
        open.progress = Some(Progressed {
            since: headers.timestamp,
            message_id: headers.message_id,
            state: told.map(|told| told.state),
            note: told.and_then(|told| told.note.clone()),
        });
    }

    /// What a draft's line says of its caller's key.
    pub(super) fn apply_key(&mut self, now: Timestamp, message_id: MessageId, tag: &ClientKey) {
        self.keys.note(now, message_id, tag);
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

    /// The pings that we have not answered.
    pub(super) fn pings(&self) -> impl Iterator<Item = &Arc<Message>> {
        self.pings.values()
    }

    /// The peer is trusted no more. Gives back what waited for it, and what it was asked.
    pub(super) fn cut(&mut self, peer: &AgentId) -> Vec<MessageId> {
        self.pings.retain(|(from, _), _| from != peer);
        let mut names = self.drafts.drain(peer);
        let asked = self.open.iter().filter(|(_, open)| open.peer == *peer);
        names.extend(asked.map(|(name, _)| *name));
        self.open.retain(|_, open| open.peer != *peer);
        names
    }

    /// What waits to leave.
    pub(super) fn drafts(&self) -> &Drafts {
        &self.drafts
    }

    /// What became of our messages.
    pub(super) fn results(&self) -> &Results {
        &self.results
    }

    /// A draft waits, until `until`. One that cannot be opened has perhaps been sent: a later line says so, or it
    /// ends when the log has been told.
    pub(super) fn apply_draft(
        &mut self,
        own: &Identity,
        until: Timestamp,
        line: &DraftLine,
        stored: StoredDraft,
    ) {
        let approval = line.approve.map(Approving::by);
        let value = line.message.clone();
        let name = line.message_id;
        self.put_back_draft(own, &line.peer, name, stored, |draft| {
            Waiting::of(draft, value, until, approval)
        });
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

    /// Puts back a draft that could not be opened.
    pub(super) fn put_back_lost(&mut self, peer: &AgentId, name: MessageId, why: Reason) {
        self.drafts.lose(peer, name, why);
    }

    /// Our person has decided about a draft.
    pub(super) fn apply_approval(&mut self, line: &ApprovalLine) {
        let waiting = self.drafts.named(&line.peer, line.message_id);
        if let Some(approval) = waiting.and_then(|waiting| waiting.approval.as_mut()) {
            approval.granted = line.approval.decision == Decision::Approved;
        }
    }

    /// A draft was sent, or came to an end.
    pub(super) fn remove_draft(&mut self, peer: &AgentId, name: MessageId) {
        self.drafts.remove(peer, name);
    }

    /// A request that waits for a session, and names no capability, is for the only one that the peer offers in it. What its
    /// person approved leaves as it was approved.
    pub(super) fn find_with_session(&mut self, peer: &AgentId, name: MessageId) {
        let waiting = self.drafts.named(peer, name);
        if let Some(waiting) = waiting.filter(|waiting| waiting.approval.is_none()) {
            waiting.finds = Finds::Offer;
        }
    }

    /// There is a session, and nothing is offered in it yet: since then, by the clock that nobody sets.
    pub(super) fn find_since(&mut self, peer: &AgentId, name: MessageId, since: Duration) {
        if let Some(waiting) = self.drafts.named(peer, name) {
            waiting.finds = Finds::OfferSince(since);
        }
    }

    /// What waits for the peer leaves no earlier than then; without a time as soon as it can.
    pub(super) fn hold_drafts(&mut self, peer: &AgentId, until: Option<Timestamp>) {
        self.drafts.wait_until(peer, until);
    }

    /// Notes where a message is, unless something better is known. Says whether it was news.
    pub(super) fn note_result(
        &mut self,
        now: Timestamp,
        peer: &AgentId,
        name: MessageId,
        state: &State,
    ) -> bool {
        self.results.note(now, peer, name, state)
    }

    /// A message goes out anew that our own clock kept from being taken: that was not its end.
    pub(super) fn forget_result(&mut self, peer: &AgentId, name: MessageId) {
        self.results.forget(peer, name);
    }

    /// Puts back what became of a message.
    pub(super) fn put_back_result(
        &mut self,
        peer: &AgentId,
        name: MessageId,
        since: Timestamp,
        state: State,
    ) {
        self.results.put_back(peer, name, since, state);
    }

    /// Every request that is open, by name.
    pub(super) fn requests(&self) -> impl Iterator<Item = (&MessageId, &OpenRequest)> {
        self.open.iter()
    }

    /// Our callers' keys.
    pub(super) fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Puts back a request as it was remembered.
    pub(super) fn put_back(&mut self, name: MessageId, open: OpenRequest) {
        self.open.insert(name, open);
    }

    /// Puts back a key as it was remembered.
    pub(super) fn put_back_key(&mut self, key: [u8; 16], keyed: Keyed) {
        self.keys.put(key, keyed);
    }
}
