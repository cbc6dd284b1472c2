//! What waits to leave: for a session, for a stranger to be approved, for our person's decision.

use signet_json::{Value, canonical};

use crate::draft::Draft;
use crate::entry::{ApprovalLine, Entry};
use crate::ids::{AgentId, Digest, MessageId};
use crate::reject::{DROPPED, Reason};
use crate::statement::{Approval, Decision};
use crate::time::Timestamp;

use crate::node::{LocalError, Outcome};

use super::state::{State, WaitsFor};
use super::view::{NOT_APPROVED, SentView};
use crate::node::turn::DraftsDoor;

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

impl<'n> SentView<'n> {
    /// Everything that waits to leave, by peer, oldest first.
    pub fn drafts(self) -> impl Iterator<Item = Waiter<'n>> {
        let peers = self.node.sent.drafts.iter();
        peers.flat_map(move |(peer, _)| self.drafts_for(peer))
    }

    /// What waits to leave for one peer, oldest first.
    pub(super) fn drafts_for(self, peer: &'n AgentId) -> impl Iterator<Item = Waiter<'n>> {
        let drafts = self.node.sent.drafts.of(peer);
        drafts.map(move |waiting| Waiter {
            peer,
            draft: &waiting.draft,
            until: waiting.until,
            value: waiting.approval.as_ref().map(|_| waiting.value.as_ref()),
            waits_for: self.what_holds(peer, waiting),
        })
    }

    /// The agents whose alarm holds back what waits so for the peer; none where it waits for something else.
    pub fn held_by(self, peer: &AgentId, waits_for: WaitsFor) -> Vec<&'n AgentId> {
        match waits_for {
            WaitsFor::Alarm => self.node.alarms.held_by(self.node.context(), peer),
            WaitsFor::Approval
            | WaitsFor::Introduction
            | WaitsFor::Resume
            | WaitsFor::Clock
            | WaitsFor::Session
            | WaitsFor::Peer => Vec::new(),
        }
    }
}

impl DraftsDoor<'_, '_> {
    /// Our person's decision about a draft, signed by their control key. Returns which draft it was.
    ///
    /// # Errors
    /// `draft-unknown` when no such draft waits for one (it may have ended, or never been), or
    /// `statement-invalid` when our person's control key did not sign, or is out of date.
    pub fn decide(&mut self, approval: &Approval) -> Result<(MessageId, Outcome), LocalError> {
        let (node, now) = (&self.turn.node, self.turn.at.now);
        if !(node.people).is_our_control(node.context(), now, &approval.control) {
            return Err(LocalError::Message(Reason::StatementInvalid));
        }
        let mut drafts = node.sent().drafts();
        // Find the draft by the hash that the person signed: the person approved no draft that says anything else.
        let undecided = drafts.find(|waiter| {
            waiter.waits_for == WaitsFor::Approval
                && waiter.value.map(hash_of_draft) == Some(approval.draft)
        });
        let undecided = undecided.ok_or(LocalError::DraftUnknown)?;
        let (peer, message_id) = (undecided.peer.clone(), undecided.draft.message_id);
        drop(drafts);
        let line = ApprovalLine {
            peer: peer.clone(),
            message_id,
            approval: approval.clone(),
        };
        self.turn.write(Entry::Approval(line));
        match approval.decision {
            Decision::Refused => {
                let state = State::RefusedHere(NOT_APPROVED.to_owned());
                self.end(&peer, message_id, state);
            }
            Decision::Approved => {
                self.release(&peer);
                self.announce_for(&peer);
            }
        }
        Ok((message_id, self.turn.take()))
    }

    /// Takes back a message of ours that has not left. Returns for whom it was.
    ///
    /// # Errors
    /// `draft-unknown` for one that does not wait, or is signed: that one may have left.
    pub fn take_back(&mut self, message_id: MessageId) -> Result<(AgentId, Outcome), LocalError> {
        let waiting = self.turn.node.sent.drafts.owner_of(message_id).cloned();
        let peer = waiting.ok_or(LocalError::DraftGone(message_id))?;
        let state = State::RefusedHere(DROPPED.to_owned());
        self.end(&peer, message_id, state);
        Ok((peer, self.turn.take()))
    }
}

/// What a person signs of a draft: SHA-256(JCS(draft)).
pub fn hash_of_draft(draft: &Value) -> Digest {
    Digest::of(&[&canonical(draft)])
}
