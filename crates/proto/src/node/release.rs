//! How drafts leave, or end: when there is a session, room, and every consent.

use std::time::Duration;

use crate::draft::{Draft, Stamp};
use crate::entry::{ClientKey, Did, DraftLine, Entry, OutcomeLine};
use crate::envelope::{Form, Method};
use crate::handoff::Offering;
use crate::headers::MAX_SEQUENCE;
use crate::ids::{AgentId, Digest, KeyId, MessageId, SessionId, Version};
use crate::reject::Reason;
use crate::time::Timestamp;

use super::link::{DRAFTS, Finds, Waiting};
use super::request::LocalError;
use super::{At, Effect, Node, Notice, Outcome, State};

impl Node {
    /// Sends what waited, as far as there is room.
    pub(super) fn release(&mut self, at: At, peer: &AgentId, outcome: &mut Outcome) {
        if let Some(link) = self.links.get_mut(peer) {
            link.budgets.drafts_wait = None;
        }
        while let Some(mut waiting) = self.releasable(peer).cloned() {
            let Some((stamp, to)) = self.slot(at, peer) else {
                return;
            };
            match self.find_capability(at, peer, &mut waiting, stamp.version) {
                Ok(None) => {}
                Ok(Some(later)) => {
                    self.link_mut(peer).budgets.drafts_wait = Some(later);
                    return;
                }
                Err(error) => {
                    let state = State::RefusedHere(error.name().to_owned());
                    self.end_draft(at, peer, waiting.draft.message_id, state, outcome);
                    continue;
                }
            }
            let mut draft = waiting.draft.clone();
            // A clock that was set back gives it no longer life than it was written with.
            draft.life = draft.life.min(waiting.until.since(at.now));
            if let Some(end) = end_of_task(&draft) {
                draft.life = draft.life.min(end.since(at.now));
            }
            let (message_id, call) = (draft.message_id, draft.form.method().is_some());
            if let Some(end) = self.end_of(at, peer, &waiting) {
                self.end_draft(at, peer, message_id, end, outcome);
                continue;
            }
            if let Some(later) = self.leaves_at(at.now, peer, call) {
                self.link_mut(peer).budgets.drafts_wait = Some(later);
                return;
            }
            match draft.seal_and_sign(&self.identity, stamp, to, &mut self.rng) {
                Ok((signed, copy)) => {
                    self.count_own(at.now, peer, call);
                    self.write_sealed(at, signed, copy, outcome);
                }
                Err(reason) => {
                    let state = State::RefusedHere(reason.name().to_owned());
                    self.end_draft(at, peer, message_id, state, outcome);
                }
            }
        }
    }

    /// A request that waits for a session, and names no capability, is for the only one that the peer offers in it. What its
    /// person approved leaves as it was approved.
    pub(super) fn find_with_session(&mut self, peer: &AgentId, message_id: MessageId) {
        let drafts = &mut self.link_mut(peer).drafts;
        let waiting = drafts
            .iter_mut()
            .find(|waiting| waiting.draft.message_id == message_id);
        if let Some(waiting) = waiting.filter(|waiting| waiting.approval.is_none()) {
            waiting.finds = Finds::Offer;
        }
    }

    /// Gives a draft that finds its capability the one that the peer offers. Says until when it waits for the word of the
    /// peer's programs, which comes behind the session's handshake.
    fn find_capability(
        &mut self,
        at: At,
        peer: &AgentId,
        waiting: &mut Waiting,
        version: Version,
    ) -> Result<Option<Timestamp>, LocalError> {
        let since = match waiting.finds {
            Finds::Nothing => return Ok(None),
            Finds::Offer => at.elapsed,
            Finds::OfferSince(since) => since,
        };
        let found = self.only_capability(at.now, peer, Some(waiting.draft.data_tier))?;
        if found.is_some() {
            waiting.draft.capability = found;
            return Ok(None);
        }
        let left = since.saturating_add(OFFERS_COME).saturating_sub(at.elapsed);
        if left.is_zero() || version < Version::PROGRESS {
            return Ok(None);
        }
        let name = waiting.draft.message_id;
        let mut drafts = self.link_mut(peer).drafts.iter_mut();
        if let Some(draft) = drafts.find(|waiting| waiting.draft.message_id == name) {
            draft.finds = Finds::OfferSince(since);
        }
        Ok(Some(at.now.saturating_add(left)))
    }

    /// How a draft ends whose turn it is and that may not leave.
    fn end_of(&self, at: At, peer: &AgentId, waiting: &Waiting) -> Option<State> {
        if let Some(reason) = self.obstacle(peer, waiting) {
            return Some(State::RefusedHere(reason.to_owned()));
        }
        let over = end_of_task(&waiting.draft).is_some_and(|end| end <= at.now);
        if over || waiting.until <= at.now {
            return Some(State::Expired);
        }
        let unfit = self.fit_recipient(at.now, &waiting.draft).err();
        unfit.map(|unfit| State::RefusedHere(unfit.name().to_owned()))
    }

    /// A draft will not be sent.
    pub(super) fn end_draft(
        &mut self,
        at: At,
        peer: &AgentId,
        message_id: MessageId,
        state: State,
        outcome: &mut Outcome,
    ) {
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
        self.write_entry(at, Entry::Outcome(line), None, outcome);
    }

    pub(super) fn write_draft(
        &mut self,
        at: At,
        draft: Draft,
        approve: Option<KeyId>,
        client_key: Option<ClientKey>,
        outcome: &mut Outcome,
    ) -> Result<(), LocalError> {
        let peer = draft.recipient.clone();
        if self
            .link(&peer)
            .is_some_and(|link| link.drafts.len() >= DRAFTS)
        {
            return Err(LocalError::OutboxFull(peer));
        }
        self.try_to_sign(at, draft.clone())
            .map_err(LocalError::Message)?;
        let (message, copy) = draft
            .to_value(&self.identity, at.now, &mut self.rng)
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
        self.apply(at.now, &entry);
        outcome.entries.push(entry);
        if approve.is_some() {
            let (peer, message_id) = (peer.clone(), draft.message_id);
            let notice = Notice::ApprovalNeeded { peer, message_id };
            outcome.effects.push(Effect::Notice(Box::new(notice)));
        }
        self.announce_for_drafts(at, &peer, outcome);
        Ok(())
    }

    /// What is at fault in a message is told now, and not when there is a session: in one as long as
    /// a session and a number can make it.
    fn try_to_sign(&mut self, at: At, draft: Draft) -> Result<(), Reason> {
        let trial = Stamp {
            now: at.now,
            session: Some(SessionId(Digest([0; 32]))),
            sequence: Some(MAX_SEQUENCE),
            audit_head: at.head,
            version: self.identity.certificate.lowest_version(),
        };
        let own = self.identity.keys.sealing_key;
        draft
            .seal_and_sign(&self.identity, trial, own, &mut self.rng)
            .map(|_| ())
    }

    pub(super) fn announce_for_drafts(&mut self, at: At, peer: &AgentId, outcome: &mut Outcome) {
        let link = self.link(peer);
        let waits = link.is_some_and(|link| {
            link.drafts.iter().any(Waiting::is_approved) && link.sendable(at.now).is_none()
        });
        if waits {
            self.announce_if_idle(at, peer, outcome);
        }
    }
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
