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

use super::peers::peer::{DRAFTS, Finds, Waiting};
use super::request::LocalError;
use super::turn::Turn;
use super::{Node, Notice, State};

impl Node {
    /// A request that waits for a session, and names no capability, is for the only one that the peer offers in it. What its
    /// person approved leaves as it was approved.
    pub(super) fn find_with_session(&mut self, peer: &AgentId, message_id: MessageId) {
        let drafts = &mut self.peers.entry(peer).drafts;
        let waiting = drafts
            .iter_mut()
            .find(|waiting| waiting.draft.message_id == message_id);
        if let Some(waiting) = waiting.filter(|waiting| waiting.approval.is_none()) {
            waiting.finds = Finds::Offer;
        }
    }
}

impl Turn<'_> {
    /// Sends what waited, as far as there is room.
    pub(super) fn release(&mut self, peer: &AgentId) {
        if let Some(link) = self.node.peers.get_mut(peer) {
            link.budgets.drafts_wait = None;
        }
        while let Some(mut waiting) = self.node.releasable(peer).cloned() {
            let Some((stamp, to)) = self.node.slot(self.at, peer) else {
                return;
            };
            match self.find_capability(peer, &mut waiting, stamp.version) {
                Ok(None) => {}
                Ok(Some(later)) => {
                    self.node.peers.entry(peer).budgets.drafts_wait = Some(later);
                    return;
                }
                Err(error) => {
                    let state = State::RefusedHere(error.name().to_owned());
                    self.end_draft(peer, waiting.draft.message_id, state);
                    continue;
                }
            }
            let mut draft = waiting.draft.clone();
            // A clock that was set back gives it no longer life than it was written with.
            draft.life = draft.life.min(waiting.until.since(self.at.now));
            if let Some(end) = end_of_task(&draft) {
                draft.life = draft.life.min(end.since(self.at.now));
            }
            let (message_id, call) = (draft.message_id, draft.form.method().is_some());
            if let Some(end) = self.end_of(peer, &waiting) {
                self.end_draft(peer, message_id, end);
                continue;
            }
            if let Some(later) = self.node.leaves_at(self.at.now, peer, call) {
                self.node.peers.entry(peer).budgets.drafts_wait = Some(later);
                return;
            }
            match draft.seal_and_sign(self.node.me.identity(), stamp, to, self.node.ids.rng()) {
                Ok((signed, copy)) => {
                    self.node.count_own(self.at.now, peer, call);
                    self.write_sealed(signed, copy);
                }
                Err(reason) => {
                    let state = State::RefusedHere(reason.name().to_owned());
                    self.end_draft(peer, message_id, state);
                }
            }
        }
    }

    /// Gives a draft that finds its capability the one that the peer offers. Says until when it waits for the word of the
    /// peer's programs, which comes behind the session's handshake.
    fn find_capability(
        &mut self,
        peer: &AgentId,
        waiting: &mut Waiting,
        version: Version,
    ) -> Result<Option<Timestamp>, LocalError> {
        let since = match waiting.finds {
            Finds::Nothing => return Ok(None),
            Finds::Offer => self.at.elapsed,
            Finds::OfferSince(since) => since,
        };
        let tier = Some(waiting.draft.data_tier);
        let found = self.node.only_capability(self.at.now, peer, tier)?;
        if found.is_some() {
            waiting.draft.capability = found;
            return Ok(None);
        }
        let left = since.saturating_add(OFFERS_COME);
        let left = left.saturating_sub(self.at.elapsed);
        if left.is_zero() || version < Version::PROGRESS {
            return Ok(None);
        }
        let name = waiting.draft.message_id;
        let mut drafts = self.node.peers.entry(peer).drafts.iter_mut();
        if let Some(draft) = drafts.find(|waiting| waiting.draft.message_id == name) {
            draft.finds = Finds::OfferSince(since);
        }
        Ok(Some(self.at.now.saturating_add(left)))
    }

    /// How a draft ends whose turn it is and that may not leave.
    fn end_of(&self, peer: &AgentId, waiting: &Waiting) -> Option<State> {
        if let Some(reason) = self.node.obstacle(peer, waiting) {
            return Some(State::RefusedHere(reason.to_owned()));
        }
        let over = end_of_task(&waiting.draft).is_some_and(|end| end <= self.at.now);
        if over || waiting.until <= self.at.now {
            return Some(State::Expired);
        }
        let unfit = self.node.fit_recipient(self.at.now, &waiting.draft).err();
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
        if self
            .node
            .peers
            .get(&peer)
            .is_some_and(|link| link.drafts.len() >= DRAFTS)
        {
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
        let waits = link.is_some_and(|link| {
            link.drafts.iter().any(Waiting::is_approved) && link.sendable(self.at.now).is_none()
        });
        if waits {
            self.announce_if_idle(peer);
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
