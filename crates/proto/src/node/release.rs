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

use super::request::LocalError;
use super::sent::{Finds, Waiting};
use super::turn::Turn;
use super::{Notice, State};

impl Turn<'_> {
    /// Sends what waited, as far as there is room.
    pub(super) fn release(&mut self, peer: &AgentId) {
        self.node.sent.hold_drafts(peer, None);
        while let Some(waiting) = self.node.sent.drafts().next(peer).cloned() {
            let Some((stamp, to)) = self.node.slot(self.at, peer) else {
                return;
            };
            let message_id = waiting.draft.message_id;
            let capability = match self.find_capability(peer, &waiting, stamp.version) {
                Ok(Found::Capability(found)) => found,
                Ok(Found::Later(later)) => {
                    self.node.sent.hold_drafts(peer, Some(later));
                    return;
                }
                Err(error) => {
                    let state = State::RefusedHere(error.name().to_owned());
                    self.end_draft(peer, message_id, state);
                    continue;
                }
            };
            let mut draft = Draft::clone(&waiting.draft);
            draft.capability = capability;
            // A clock that was set back gives it no longer life than it was written with.
            draft.life = draft.life.min(waiting.until.since(self.at.now));
            if let Some(end) = end_of_task(&draft) {
                draft.life = draft.life.min(end.since(self.at.now));
            }
            let call = draft.form.method().is_some();
            if let Some(end) = self.end_of(peer, &waiting, &draft) {
                self.end_draft(peer, message_id, end);
                continue;
            }
            if let Some(later) = self.node.peers.leaves_at(self.at.now, peer, call) {
                self.node.sent.hold_drafts(peer, Some(later));
                return;
            }
            match draft.seal_and_sign(self.node.me.identity(), stamp, to, self.node.ids.rng()) {
                Ok((signed, copy)) => {
                    self.node.peers.count_own(self.at.now, peer, call);
                    self.write_sealed(signed, copy);
                }
                Err(reason) => {
                    let state = State::RefusedHere(reason.name().to_owned());
                    self.end_draft(peer, message_id, state);
                }
            }
        }
    }

    /// Ends the drafts whose time is over, and sends what waits.
    pub(super) fn end_drafts(&mut self, peer: &AgentId) {
        let over = self.node.sent.drafts().of(peer);
        let over = over.filter(|waiting| waiting.until <= self.at.now);
        let over: Vec<_> = over.map(|waiting| waiting.draft.message_id).collect();
        for message_id in over {
            self.end_draft(peer, message_id, State::Expired);
        }
        self.release(peer);
    }

    /// Gives a draft that finds its capability the one that the peer offers. Says until when it waits for the word of the
    /// peer's programs, which comes behind the session's handshake.
    fn find_capability(
        &mut self,
        peer: &AgentId,
        waiting: &Waiting,
        version: Version,
    ) -> Result<Found, LocalError> {
        let named = || Found::Capability(waiting.draft.capability.clone());
        let since = match waiting.finds {
            Finds::Nothing => return Ok(named()),
            Finds::Offer => self.at.elapsed,
            Finds::OfferSince(since) => since,
        };
        let tier = Some(waiting.draft.data_tier);
        let found = self.node.only_capability(self.at.now, peer, tier)?;
        if found.is_some() {
            return Ok(Found::Capability(found));
        }
        let left = since.saturating_add(OFFERS_COME);
        let left = left.saturating_sub(self.at.elapsed);
        if left.is_zero() || version < Version::PROGRESS {
            return Ok(named());
        }
        let name = waiting.draft.message_id;
        (self.node.sent).find_since(peer, name, since);
        Ok(Found::Later(self.at.now.saturating_add(left)))
    }

    /// How a draft ends whose turn it is and that may not leave.
    fn end_of(&self, peer: &AgentId, waiting: &Waiting, draft: &Draft) -> Option<State> {
        if let Some(reason) = self.node.obstacle(peer, waiting, draft) {
            return Some(State::RefusedHere(reason.to_owned()));
        }
        let over = end_of_task(draft).is_some_and(|end| end <= self.at.now);
        if over || waiting.until <= self.at.now {
            return Some(State::Expired);
        }
        let unfit = self.node.judge(self.at.now).fit_recipient(draft).err();
        unfit.map(|unfit| State::RefusedHere(unfit.name().to_owned()))
    }

    /// A draft will not be sent.
    pub(super) fn end_draft(&mut self, peer: &AgentId, message_id: MessageId, state: State) {
        let line = OutcomeLine {
            peer: peer.clone(),
            message_id,
            what: match state {
                State::Expired => Did::DraftExpired,
                _ => Did::DraftRefused,
            },
            tries: 1,
            reason: state.why().map(str::to_owned),
        };
        self.write(Entry::Outcome(line));
    }

    pub(super) fn write_draft(
        &mut self,
        draft: Draft,
        approve: Option<KeyId>,
        client_key: Option<ClientKey>,
    ) -> Result<(), LocalError> {
        let peer = draft.recipient.clone();
        if !self.node.sent.drafts().has_room(&peer) {
            return Err(LocalError::OutboxFull(peer));
        }
        self.try_to_sign(draft.clone())
            .map_err(LocalError::Message)?;
        let (message, copy) = draft
            .to_value(self.node.me.identity(), self.at.now, self.node.ids.rng())
            .map_err(LocalError::Message)?;
        let entry = Entry::Draft(DraftLine {
            peer: peer.clone(),
            message_id: draft.message_id,
            life: draft.life.as_secs().max(1),
            approve,
            message,
            copy,
            client_key,
        });
        self.write(entry);
        if approve.is_some() {
            let (peer, message_id) = (peer.clone(), draft.message_id);
            self.notify(Notice::ApprovalNeeded { peer, message_id });
        }
        self.announce_for_drafts(&peer);
        Ok(())
    }

    /// What is at fault in a message is told now, and not when there is a session: in one as long as
    /// a session and a number can make it.
    fn try_to_sign(&mut self, draft: Draft) -> Result<(), Reason> {
        let trial = Stamp {
            now: self.at.now,
            session: Some(SessionId(Digest([0; 32]))),
            sequence: Some(MAX_SEQUENCE),
            audit_head: self.at.head,
            version: self.node.me.identity().certificate.lowest_version(),
        };
        let own = self.node.me.identity().keys.sealing_key;
        draft
            .seal_and_sign(self.node.me.identity(), trial, own, self.node.ids.rng())
            .map(|_| ())
    }

    pub(super) fn announce_for_drafts(&mut self, peer: &AgentId) {
        let link = self.node.peers.get(peer);
        let speaks = link.is_some_and(|link| link.sendable(self.at.now).is_some());
        if !speaks && self.node.sent.drafts().next(peer).is_some() {
            self.flights().announce_if_idle(peer);
        }
    }
}

/// What a draft leaves with that finds its capability.
enum Found {
    /// That capability, or none.
    Capability(Option<CapabilityName>),
    /// Nothing is offered yet: it is looked for again then.
    Later(Timestamp),
}

/// How long the first request to a peer that names no capability waits in a new session for what programs offer there.
const OFFERS_COME: Duration = Duration::from_secs(1);

/// When the task ends that a draft hands over: its message lives no longer.
fn end_of_task(draft: &Draft) -> Option<Timestamp> {
    let body = draft.body.as_ref();
    let body = body.filter(|_| draft.form == Form::Call(Method::Handoff))?;
    let offering = Offering::parse(body).ok()?;
    Some(offering.chain.authority().not_after)
}
