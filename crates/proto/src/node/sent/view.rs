//! What we said, seen beside the rest of the node: where a message may go, and what keeps it.

use crate::draft::{Draft, Stamp};
use crate::envelope::Form;
use crate::headers::{CapabilityName, Tier};
use crate::ids::{AgentId, KeyId, MessageId, SessionId, Version};
use crate::keys::SealKey;
use crate::policy::PING;
use crate::reject::Reason;
use crate::time::Timestamp;

use crate::node::{At, LocalError, Node};

use super::keyed::CallerKey;
use super::progress::Progressed;
use super::state::WaitsFor;
use super::waiting::Waiting;

/// Why a draft ends that its person refused.
pub(super) const NOT_APPROVED: &str = "not-approved";
/// How many unknown agents may have mail waiting.
const STRANGERS: usize = 64;

/// What we said and wait for, with all that the node knows of it.
#[derive(Clone, Copy, Debug)]
pub struct SentView<'n> {
    pub(super) node: &'n Node,
}

/// Where the next message to a peer goes.
#[derive(Clone, Copy)]
pub(in crate::node) struct SendSlot {
    session: SessionId,
    sequence: u64,
    version: Version,
    /// What is sealed there is sealed for this key.
    to: SealKey,
}

impl SendSlot {
    pub(in crate::node) fn version(&self) -> Version {
        self.version
    }

    pub(super) fn to(&self) -> SealKey {
        self.to
    }

    pub(super) fn stamp(&self, at: &At) -> Stamp {
        Stamp {
            now: at.now,
            session: Some(self.session),
            sequence: Some(self.sequence),
            audit_head: at.head,
            version: self.version,
        }
    }
}

impl<'n> SentView<'n> {
    pub(in crate::node) const fn of(node: &'n Node) -> Self {
        Self { node }
    }

    /// The newest that the peer told of a request of ours that is open.
    pub fn progress_of(self, request: MessageId) -> Option<&'n Progressed> {
        self.node.sent.requests.get(request)?.progress()
    }

    /// Whether the peer's agent has taken an open request of ours; `None` where the peer cannot tell
    /// because it was sent in a session of version 1.0.0.
    pub fn is_taken(self, request: MessageId) -> Option<bool> {
        self.node.sent.requests.get(request)?.is_taken()
    }

    /// The message that a call with that key made; `None` where none did, or longer ago than 30 days.
    pub fn under(self, now: Timestamp, key: &CallerKey) -> Option<MessageId> {
        let keys = &self.node.sent.keys;
        keys.made_under(self.node.me.identity(), now, key)
    }

    /// Where the next message to a peer goes, if one may go there now.
    pub(in crate::node) fn slot(self, now: Timestamp, peer: &AgentId) -> Option<SendSlot> {
        let node = self.node;
        let speaks = !node.people.pausing().is_paused() && node.me.may_sign(now);
        if !speaks || node.trust().trusted(peer).is_none() {
            return None;
        }
        let session = node.peers.session(peer, now)?;
        Some(SendSlot {
            session: session.id,
            sequence: session.ledger.next()?,
            version: session.version,
            to: session.peer_sealing,
        })
    }

    /// The only capability that the peer offers and grants for what is said in that tier; none where it offers none, or nobody
    /// has heard of any yet: then it is for the peer's person, or for what a draft finds once there is a session.
    pub(super) fn only_capability(
        self,
        now: Timestamp,
        peer: &AgentId,
        tier: Tier,
    ) -> Result<Option<CapabilityName>, LocalError> {
        let Some(session) = self.node.peers.session(peer, now) else {
            return Ok(None);
        };
        match session.offers_for(tier).as_slice() {
            [] => Ok(None),
            [only] => Ok(Some(only.clone())),
            several => {
                let named: Vec<&str> = several.iter().map(|name| name.as_str()).collect();
                Err(LocalError::CapabilityNeeded(peer.clone(), named.join(", ")))
            }
        }
    }

    /// Whether mail for `peer` may be taken: a stranger's waits, a revoked agent's does not.
    pub(super) fn may_write_to(self, peer: &AgentId) -> Result<(), LocalError> {
        let (node, trust) = (self.node, self.node.trust());
        if trust.trusted(peer).is_some() {
            return Ok(());
        }
        if trust.peer(peer).is_some() {
            return Err(LocalError::PeerRevoked(peer.clone()));
        }
        // Refuse a draft to our own agent: nobody introduces us to ourselves, so the draft could never leave.
        if peer == node.me.identity().agent() {
            return Err(LocalError::PeerUnknown(peer.clone()));
        }
        // Limit the strangers and not their drafts: if a draft to a stranger waits already, further drafts to that stranger may
        // wait as well.
        let strangers = node.sent.drafts.iter().filter(|(other, drafts)| {
            *other != peer && trust.peer(other).is_none() && !drafts.is_empty()
        });
        match strangers.count() >= STRANGERS {
            true => Err(LocalError::TooManyStrangers),
            false => Ok(()),
        }
    }

    /// The root key that an approval of this draft would rest on, when our person's is needed.
    pub(super) fn approval_root(self, draft: &Draft) -> Result<Option<KeyId>, LocalError> {
        if !self.asks_person(draft) {
            return Ok(None);
        }
        let root = self.bound_root(&draft.recipient);
        root.map(Some)
            .ok_or_else(|| LocalError::PeerUnknown(draft.recipient.clone()))
    }

    /// Why `draft` may not leave although it is its turn: as which it would leave what waits.
    pub(super) fn obstacle(self, waiting: &Waiting, draft: &Draft) -> Option<&'static str> {
        let Some(approval) = waiting.approval.as_ref() else {
            // The draft was written without an approval. If our person's policy asks for one by now, the draft must not leave
            // without it.
            let asks = self.asks_person(draft);
            return asks.then_some(NOT_APPROVED);
        };
        // The person approved a draft to the holder of one root key. If the recipient is known under another root key now, the
        // draft would go to somebody else: refuse the draft.
        let same = self.bound_root(&draft.recipient) == Some(approval.root);
        (!same).then_some(Reason::RootChanged.name())
    }

    /// Whether a draft says something that our person wants to decide about first.
    fn asks_person(self, draft: &Draft) -> bool {
        // The daemon answers every ping by itself: no words of our agent's are in the answer, so the person is not
        // asked. Nor about a ping of ours that shows in the log that it says nothing (`is_silent`); a ping with words
        // needs approval.
        let is_ping = draft
            .capability
            .as_ref()
            .is_some_and(|name| name.as_str() == PING);
        let is_answer = matches!(draft.form, Form::Success | Form::Failure { .. });
        let bare = draft.is_empty() || is_ping && (is_answer || draft.is_silent());
        self.node.me.policy().approve.contains(&draft.data_tier) && !bare
    }

    fn bound_root(self, peer: &AgentId) -> Option<KeyId> {
        let trust = self.node.trust();
        let principal = trust.trusted(peer)?.principal()?;
        Some(trust.principal(principal)?.root().id())
    }

    /// What a message that has not left waits for.
    pub(super) fn waits_for(self, peer: &AgentId, name: MessageId) -> Option<WaitsFor> {
        let mut drafts = self.node.sent.drafts.of(peer);
        if let Some(waiting) = drafts.find(|waiting| waiting.draft.message_id == name) {
            return Some(self.what_holds(peer, waiting));
        }
        let mut sessions = self.node.peers.get(peer)?.sessions().iter();
        let holds = sessions.any(|session| session.ledger.holds_named(name));
        holds.then_some(WaitsFor::Peer)
    }

    /// What has to happen before a draft leaves.
    pub(super) fn what_holds(self, peer: &AgentId, waiting: &Waiting) -> WaitsFor {
        let node = self.node;
        if !waiting.is_approved() {
            WaitsFor::Approval
        } else if node.trust().peer(peer).is_none() {
            WaitsFor::Introduction
        } else if node.people.pausing().is_paused() {
            WaitsFor::Resume
        } else if !node.me.may_sign(node.clock.last_read()) {
            WaitsFor::Clock
        } else if !node.alarms.held_by(node.context(), peer).is_empty() && !self.had_session(peer) {
            WaitsFor::Alarm
        } else {
            WaitsFor::Session
        }
    }

    /// Whether a session stood when the last line was written: what waits all the same waits for room.
    fn had_session(self, peer: &AgentId) -> bool {
        let written = self.node.clock.written();
        self.node.peers.session(peer, written).is_some()
    }
}
