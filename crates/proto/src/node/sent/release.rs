//! How drafts leave, or end: when there is a session, room, and every consent.

use std::time::Duration;

use crate::draft::{Draft, Stamp};
use crate::entry::{ClientKey, Did, DraftLine, Entry, OutcomeLine};
use crate::envelope::{Form, Method};
use crate::handoff::Offering;
use crate::headers::{CapabilityName, MAX_SEQUENCE};
use crate::ids::{AgentId, Digest, KeyId, MessageId, SessionId, Version};
use crate::reject::Reason;
use crate::time::Timestamp;

use crate::node::{LocalError, Notice};

use super::state::State;
use super::waiting::{Finds, Waiting};
use crate::node::turn::DraftsDoor;

impl DraftsDoor<'_, '_> {
    /// Sends what waited, as far as there is room.
    pub(in crate::node) fn release(&mut self, peer: &AgentId) {
        let now = self.turn.at.now;
        // Forget until when the drafts had to wait: the reason for that may be over, and a reason that holds now is found
        // below.
        self.turn.node.sent.drafts.wait_until(peer, None);
        while let Some(waiting) = self.turn.node.sent.drafts.next(peer).cloned() {
            let Some(slot) = self.turn.node.sent().slot(now, peer) else {
                return;
            };
            let message_id = waiting.draft.message_id;
            let mut draft = Draft::clone(&waiting.draft);
            match self.find_capability(peer, &waiting, slot.version()) {
                Ok(FoundCapability::Named) => {}
                Ok(FoundCapability::Capability(found)) => draft.capability = Some(found),
                Ok(FoundCapability::Later(later)) => return self.hold(peer, later),
                Err(error) => {
                    let state = State::RefusedHere(error.name().to_owned());
                    self.end(peer, message_id, state);
                    continue;
                }
            }
            // What a draft has waited is taken off its life: it ends at `until`. After our clock was set back, `until` may lie
            // too far ahead: a draft never lives longer than the life with which it was written.
            draft.life = draft.life.min(waiting.until.since(now));
            if let Some(end) = end_of_task(&draft) {
                draft.life = draft.life.min(end.since(now));
            }
            if let Some(end) = self.end_of(&waiting, &draft) {
                self.end(peer, message_id, end);
                continue;
            }
            let call = draft.form.method().is_some();
            // If the peer's budget has no room for this draft, hold back the later drafts to this peer as well: they
            // need the same budget, and would overtake this one.
            if let Some(later) = self.turn.node.peers.leaves_at(now, peer, call) {
                return self.hold(peer, later);
            }
            if let Err(reason) = self.turn.sent().put_out(draft, slot) {
                let state = State::RefusedHere(reason.name().to_owned());
                self.end(peer, message_id, state);
            }
        }
    }

    /// What waits for the peer leaves no earlier than then.
    fn hold(&mut self, peer: &AgentId, until: Timestamp) {
        self.turn.node.sent.drafts.wait_until(peer, Some(until));
    }

    /// Finds the capability that the peer offers, for a draft that names none; one that a draft names has to be granted. Says
    /// until when the draft waits for the word of the peer's programs, which comes behind the session's handshake.
    fn find_capability(
        &mut self,
        peer: &AgentId,
        waiting: &Waiting,
        version: Version,
    ) -> Result<FoundCapability, LocalError> {
        let (at, draft) = (&self.turn.at, &waiting.draft);
        let is_ready = match draft.capability.is_some() {
            true => !self.lacks_grant(draft),
            false => waiting.finds == Finds::Nothing,
        };
        if is_ready {
            return Ok(FoundCapability::Named);
        }
        if draft.capability.is_none() {
            let view = self.turn.node.sent();
            if let Some(found) = view.only_capability(at.now, peer, draft.data_tier)? {
                return Ok(FoundCapability::Capability(found));
            }
        }
        let since = match waiting.finds {
            Finds::Nothing | Finds::Offer => at.elapsed,
            Finds::OfferSince(since) => since,
        };
        let left = since.saturating_add(OFFERS_COME);
        let left = left.saturating_sub(at.elapsed);
        if left.is_zero() || version < Version::PROGRESS {
            return Ok(FoundCapability::Named);
        }
        let later = at.now.saturating_add(left);
        let drafts = &mut self.turn.node.sent.drafts;
        if let Some(waiting) = drafts.named(peer, waiting.draft.message_id) {
            waiting.finds = Finds::OfferSince(since);
        }
        Ok(FoundCapability::Later(later))
    }

    /// Whether the peer has not granted the capability that the draft names.
    fn lacks_grant(&self, draft: &Draft) -> bool {
        let judge = self.turn.node.judge(self.turn.at.now);
        let unfit = judge.fit_recipient(draft);
        let missing = Reason::CapabilityNotGranted;
        matches!(unfit, Err(LocalError::NotAllowed { reason, .. }) if reason == missing)
    }

    /// How a draft ends whose turn it is and that may not leave.
    fn end_of(&self, waiting: &Waiting, draft: &Draft) -> Option<State> {
        let (node, now) = (&self.turn.node, self.turn.at.now);
        if let Some(reason) = node.sent().obstacle(waiting, draft) {
            return Some(State::RefusedHere(reason.to_owned()));
        }
        let over = end_of_task(draft).is_some_and(|end| end <= now);
        if over || waiting.until <= now {
            return Some(State::Expired);
        }
        // Check now what the peer granted: if the draft was written without a session, the grant was not known yet.
        let unfit = node.judge(now).fit_recipient(draft).err();
        unfit.map(|unfit| State::RefusedHere(unfit.name().to_owned()))
    }

    /// A draft will not be sent.
    pub(in crate::node) fn end(&mut self, peer: &AgentId, message_id: MessageId, state: State) {
        let what = match state {
            State::Expired => Did::DraftExpired,
            State::Queued
            | State::Published
            | State::Unknown(_)
            | State::Received
            | State::Answered
            | State::Refused(_)
            | State::RefusedHere(_) => Did::DraftRefused,
        };
        let line = OutcomeLine {
            reason: state.why().map(str::to_owned),
            ..OutcomeLine::of(peer, message_id, what)
        };
        self.turn.write(Entry::Outcome(line));
    }

    /// What is over ends, and what may leave leaves.
    pub(in crate::node) fn overdue(&mut self, peer: &AgentId) {
        let now = self.turn.at.now;
        let over = self.turn.node.sent.drafts.of(peer);
        let over = over.filter(|waiting| waiting.until <= now);
        let over: Vec<_> = over.map(|waiting| waiting.draft.message_id).collect();
        for message_id in over {
            self.end(peer, message_id, State::Expired);
        }
        self.release(peer);
    }

    /// The peer will have none of them.
    pub(in crate::node) fn refuse_all(&mut self, peer: &AgentId, reason: Reason) {
        let drafts = self.turn.node.sent.drafts.of(peer);
        let names: Vec<_> = drafts.map(|waiting| waiting.draft.message_id).collect();
        for message_id in names {
            let state = State::RefusedHere(reason.name().to_owned());
            self.end(peer, message_id, state);
        }
    }

    /// Drafts of the log whose content cannot be opened any more say so, and end.
    pub(in crate::node) fn end_lost(&mut self, peer: &AgentId) {
        for (message_id, reason) in self.turn.node.sent.drafts.lost(peer).to_vec() {
            let state = State::RefusedHere(reason.name().to_owned());
            self.end(peer, message_id, state);
        }
    }

    pub(super) fn write(
        &mut self,
        draft: Draft,
        approve: Option<KeyId>,
        client_key: Option<ClientKey>,
    ) -> Result<(), LocalError> {
        let peer = draft.recipient.clone();
        if !self.turn.node.sent.drafts.has_room(&peer) {
            return Err(LocalError::OutboxFull(peer));
        }
        // Sign a copy of the draft as a test: the caller can be told of a fault now, but perhaps no more when the draft leaves.
        self.try_to_sign(draft.clone())
            .map_err(LocalError::Message)?;
        let node = &mut *self.turn.node;
        let (message, copy) = draft
            .to_value(node.me.identity(), self.turn.at.now, node.ids.rng())
            .map_err(LocalError::Message)?;
        let message_id = draft.message_id;
        let entry = Entry::Draft(DraftLine {
            peer: peer.clone(),
            message_id,
            // The log line holds the life in whole seconds. Write at least 1: a life of 0 would be over at once.
            life: draft.life.as_secs().max(1),
            approve,
            message,
            copy,
            client_key,
        });
        self.turn.write(entry);
        if approve.is_some() {
            let peer = peer.clone();
            self.turn
                .notify(Notice::ApprovalNeeded { peer, message_id });
        }
        self.announce_for(&peer);
        Ok(())
    }

    /// What is at fault in a message is told now, and not when there is a session: in one as long as
    /// a session and a number can make it.
    fn try_to_sign(&mut self, draft: Draft) -> Result<(), Reason> {
        let node = &mut *self.turn.node;
        let own = node.me.identity();
        let trial = Stamp {
            now: self.turn.at.now,
            session: Some(SessionId(Digest([0; 32]))),
            sequence: Some(MAX_SEQUENCE),
            audit_head: self.turn.at.head,
            version: own.certificate.lowest_version(),
        };
        // The peer's sealing key is known only with a session. This test seals with our own key instead, which gives the same
        // length.
        let to = own.keys.sealing_key;
        draft
            .seal_and_sign(own, trial, to, node.ids.rng())
            .map(|_| ())
    }

    /// Seeks a session where mail waits that needs nothing else.
    pub(super) fn announce_for(&mut self, peer: &AgentId) {
        let node = &self.turn.node;
        let waits = node.sent.drafts.next(peer).is_some();
        if waits && node.peers.session(peer, self.turn.at.now).is_none() {
            self.turn.flights().announce_if_idle(peer);
        }
    }
}

/// For which capability a draft leaves.
enum FoundCapability {
    /// The one that it names, whether it is granted or not, or none.
    Named,
    /// The only one that the peer offers.
    Capability(CapabilityName),
    /// It is not offered yet: it is looked for again then.
    Later(Timestamp),
}

/// How long the first request to a peer waits in a new session for what programs offer there, if it names no capability or one
/// that is not granted.
const OFFERS_COME: Duration = Duration::from_secs(1);

/// When the task ends that a draft hands over: its message lives no longer.
fn end_of_task(draft: &Draft) -> Option<Timestamp> {
    let body = draft.body.as_ref();
    let body = body.filter(|_| draft.form == Form::Call(Method::Handoff))?;
    let offering = Offering::parse(body).ok()?;
    Some(offering.chain.authority().not_after)
}
