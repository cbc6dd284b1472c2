//! What waits to leave: for a session, for a stranger to be approved, for our person's decision.

use signet_json::{Value, canonical};

use crate::draft::Draft;
use crate::entry::{ApprovalLine, Entry};
use crate::ids::{AgentId, Digest, KeyId, MessageId};
use crate::policy::PING;
use crate::reject::{DROPPED, Reason};
use crate::statement::{Approval, Decision};
use crate::time::Timestamp;

use super::request::LocalError;
use super::sent::Waiting;
use super::{At, Node, Outcome, State};

/// How many unknown agents may have mail waiting.
const STRANGERS: usize = 64;
/// Why a draft ends that its person refused.
const NOT_APPROVED: &str = "not-approved";

/// A draft that waits, as a person sees it.
#[derive(Clone, Debug)]
pub struct Waiter<'a> {
    /// For whom.
    pub peer: &'a AgentId,
    /// What.
    pub draft: &'a Draft,
    /// When its life ends.
    pub until: Timestamp,
    /// What a person is to decide about: SHA-256(JCS(…)) of it is signed. None when nobody has to.
    pub value: Option<&'a Value>,
    /// For what it waits.
    pub waits_for: WaitsFor,
}

/// What has to happen before a draft leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// Our person's approval.
    Approval,
    /// That our person and the peer's approve each other.
    Introduction,
    /// That our person lets their agents go on.
    Resume,
    /// That our clock stands within the dates of our certificate: outside of them nothing is signed.
    Clock,
    /// That our person sees to an alarm: another copy of us seems to run ([`Alarms::held_by`](super::Alarms::held_by)).
    Alarm,
    /// A session, or room in it.
    Session,
}

impl Node {
    /// Everything that waits to leave, by peer, oldest first.
    pub fn drafts(&self) -> impl Iterator<Item = Waiter<'_>> {
        let peers = self.sent.drafts().iter();
        peers.flat_map(move |(peer, _)| self.drafts_for(peer))
    }

    pub(super) fn drafts_for<'a>(
        &'a self,
        peer: &'a AgentId,
    ) -> impl Iterator<Item = Waiter<'a>> + 'a {
        let drafts = self.sent.drafts().of(peer);
        drafts.map(move |waiting| Waiter {
            peer,
            draft: &waiting.draft,
            until: waiting.until,
            value: waiting.approval.as_ref().map(|_| waiting.value.as_ref()),
            waits_for: self.waits_for(peer, waiting),
        })
    }

    /// Our person's decision about a draft, signed by their control key.
    ///
    /// # Errors
    /// `draft-unknown` when no such draft waits for one (it may have ended, or never been), or
    /// `statement-invalid` when our person's control key did not sign, or is out of date.
    pub fn handle_decision(&mut self, at: At, approval: &Approval) -> Result<Outcome, LocalError> {
        if !(self.people).is_our_control(self.context(), at.now, &approval.control) {
            return Err(LocalError::Message(Reason::StatementInvalid));
        }
        let (peer, message_id) = self.undecided(approval.draft)?;
        let mut turn = self.turn(at);
        let line = ApprovalLine {
            peer: peer.clone(),
            message_id,
            approval: approval.clone(),
        };
        turn.write(Entry::Approval(line));
        match approval.decision {
            Decision::Refused => {
                let state = State::RefusedHere(NOT_APPROVED.to_owned());
                turn.end_draft(&peer, message_id, state);
            }
            Decision::Approved => {
                turn.release(&peer);
                turn.announce_for_drafts(&peer);
            }
        }
        Ok(turn.out)
    }

    /// Takes back a message of ours that has not left. Returns for whom it was.
    ///
    /// # Errors
    /// `draft-unknown` for one that does not wait, or is signed: that one may have left.
    pub fn handle_drop_draft(
        &mut self,
        at: At,
        message_id: MessageId,
    ) -> Result<(AgentId, Outcome), LocalError> {
        let mut drafts = self.drafts();
        let waiter = drafts.find(|waiter| waiter.draft.message_id == message_id);
        let peer = waiter.map(|waiter| waiter.peer.clone());
        drop(drafts);
        let peer = peer.ok_or(LocalError::DraftGone(message_id))?;
        let mut turn = self.turn(at);
        let state = State::RefusedHere(DROPPED.to_owned());
        turn.end_draft(&peer, message_id, state);
        Ok((peer, turn.out))
    }

    /// The root key that an approval of this draft would rest on, when our person's is needed.
    pub(super) fn approval_root(&self, draft: &Draft) -> Result<Option<KeyId>, LocalError> {
        if !self.asks_person(draft) {
            return Ok(None);
        }
        let root = self.bound_root(&draft.recipient);
        root.map(Some)
            .ok_or_else(|| LocalError::PeerUnknown(draft.recipient.clone()))
    }

    /// Whether mail for `peer` may be taken: a stranger's waits, a revoked agent's does not.
    pub(super) fn may_write_to(&self, peer: &AgentId) -> Result<(), LocalError> {
        if self.trust().trusted(peer).is_some() {
            return Ok(());
        }
        if self.trust().peer(peer).is_some() {
            return Err(LocalError::PeerRevoked(peer.clone()));
        }
        let strangers = self.sent.drafts().iter();
        let strangers = strangers.filter(|(other, drafts)| {
            *other != peer
                && self.trust().peer(other).is_none()
                && drafts.waiting().next().is_some()
        });
        match peer == self.me.identity().agent() || strangers.count() >= STRANGERS {
            true if peer == self.me.identity().agent() => {
                Err(LocalError::PeerUnknown(peer.clone()))
            }
            true => Err(LocalError::TooManyStrangers),
            false => Ok(()),
        }
    }

    /// Why a draft may not leave although it is its turn.
    pub(super) fn obstacle(
        &self,
        peer: &AgentId,
        waiting: &Waiting,
        draft: &Draft,
    ) -> Option<&'static str> {
        let Some(approval) = waiting.approval.as_ref() else {
            // What was decided since it was written holds for it too.
            let asks = self.asks_person(draft);
            return asks.then_some(NOT_APPROVED);
        };
        let same = self.bound_root(peer) == Some(approval.root());
        (!same).then_some(Reason::RootChanged.name())
    }

    /// Whether a draft says something that our person wants to decide about first.
    fn asks_person(&self, draft: &Draft) -> bool {
        let named = draft.capability.as_ref().map(|name| name.as_str());
        // A sign of life is the daemon's own, and says nothing of its person.
        let bare = draft.is_empty() || named == Some(PING);
        self.me.policy().approve.contains(&draft.data_tier) && !bare
    }

    fn bound_root(&self, peer: &AgentId) -> Option<KeyId> {
        let principal = self.trust().trusted(peer)?.principal()?;
        Some(self.trust().principal(principal)?.root().id())
    }

    fn undecided(&self, draft: Digest) -> Result<(AgentId, MessageId), LocalError> {
        let waits = |waiter: &Waiter<'_>| {
            waiter.waits_for == WaitsFor::Approval && waiter.value.map(hash_of_draft) == Some(draft)
        };
        let found = self.drafts().find(waits);
        let found = found.map(|waiter| (waiter.peer.clone(), waiter.draft.message_id));
        found.ok_or(LocalError::DraftUnknown)
    }

    fn waits_for(&self, peer: &AgentId, waiting: &Waiting) -> WaitsFor {
        if !waiting.is_approved() {
            WaitsFor::Approval
        } else if self.trust().peer(peer).is_none() {
            WaitsFor::Introduction
        } else if self.people.pausing().is_paused() {
            WaitsFor::Resume
        } else if !self.me.may_sign(self.clock.last_read()) {
            WaitsFor::Clock
        } else if !self.alarms.held_by(self.context(), peer).is_empty() && !self.had_session(peer) {
            WaitsFor::Alarm
        } else {
            WaitsFor::Session
        }
    }
}

impl Node {
    /// Whether a session stood when the last line was written: what waits all the same waits for room.
    fn had_session(&self, peer: &AgentId) -> bool {
        let link = self.peers.get(peer);
        link.is_some_and(|link| link.sendable(self.clock.written()).is_some())
    }
}

/// What a person signs of a draft: SHA-256(JCS(draft)).
pub fn hash_of_draft(draft: &Value) -> Digest {
    Digest::of(&[&canonical(draft)])
}
