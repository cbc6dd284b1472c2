//! What our own side asks for: send, reply, acknowledge, know a peer.

use std::time::Duration;

use crate::draft::{Draft, LIFE, LONGEST_LIFE, Stamp};
use crate::entry::{ClientKey, Tried};
use crate::envelope::{Form, Method};
use crate::headers::CapabilityName;
use crate::ids::{AgentId, MessageId};
use crate::keys::SealKey;
use crate::policy::{MAX_HOPS, PING};
use crate::reject::Reason;
use crate::time::Timestamp;

use super::answers::decline;
use super::peers::hops::trace;
use super::request::{Content, Declining, LocalError, Sending};
use super::turn::Turn;
use super::{At, Node, Outcome};

/// A ping asks for a sign of life now, not in three days.
const PING_LIFE: Duration = Duration::from_secs(60);

impl Node {
    /// Sends a new message, or lets it wait for a session. Returns its name.
    ///
    /// # Errors
    /// When the peer is unknown, too much waits, or the message itself is at fault.
    pub fn handle_send(
        &mut self,
        at: At,
        peer: &AgentId,
        sending: Sending,
    ) -> Result<(MessageId, Outcome), LocalError> {
        let tried = Tried::to_send(&sending);
        let mut turn = self.turn(at);
        let sent = turn.try_send(peer, sending, None);
        let message_id = turn.me().note_attempt(peer, tried, sent)?;
        Ok((message_id, turn.out))
    }

    /// The only capability that the peer offers and grants for what is said in that tier; none where it offers none, or nobody
    /// has heard of any yet: then it is for the peer's person, or for what a draft finds once there is a session.
    pub(super) fn only_capability(
        &self,
        now: Timestamp,
        peer: &AgentId,
        tier: Option<u8>,
    ) -> Result<Option<CapabilityName>, LocalError> {
        let Some(session) = self.peers.session(peer, now) else {
            return Ok(None);
        };
        let names = session.offers_for(tier.unwrap_or(1));
        match names.as_slice() {
            [] => Ok(None),
            [only] => Ok(Some(only.clone())),
            several => {
                let named: Vec<&str> = several.iter().map(|name| name.as_str()).collect();
                Err(LocalError::CapabilityNeeded(peer.clone(), named.join(", ")))
            }
        }
    }

    /// Answers a request that waits in the inbox: with a body, or with words that decline it.
    ///
    /// # Errors
    /// When no such request waits, or the answer itself is at fault.
    pub fn handle_reply(
        &mut self,
        at: At,
        from: Option<&AgentId>,
        request: MessageId,
        answer: Result<Content, Declining>,
    ) -> Result<(MessageId, Outcome), LocalError> {
        self.judge(at.now).may_speak()?;
        let message = self.inbox.request(from, request)?;
        let id = self.ids.fresh(at.now);
        let draft = match answer {
            Ok(content) => {
                let mut draft = Draft::answer(Form::Success, &message, id, Some(content.body));
                draft.summary = content.summary;
                draft.data_tier = draft.data_tier.max(content.data_tier.unwrap_or(1));
                draft
            }
            Err(Declining { why, body }) => {
                let mut draft = decline(&message, id, why);
                draft.body = body;
                draft
            }
        };
        let mut turn = self.turn(at);
        turn.say_own(draft)?;
        Ok((id, turn.out))
    }

    /// Where the next message to a peer goes, and the key that it is sealed for there.
    pub(super) fn slot(&self, at: At, peer: &AgentId) -> Option<(Stamp, SealKey)> {
        let speaks = !self.people.pausing().is_paused() && self.me.may_sign(at.now);
        if !speaks || self.trust().trusted(peer).is_none() {
            return None;
        }
        let session = self.peers.get(peer)?.sendable(at.now)?;
        let sequence = session.ledger.next()?;
        let stamp = Stamp {
            now: at.now,
            session: Some(session.id),
            sequence: Some(sequence),
            audit_head: at.head,
            version: session.version,
        };
        Some((stamp, session.peer_sealing))
    }
}

impl Turn<'_> {
    /// As [`Node::handle_send`], and the draft's line holds the caller's key.
    pub(super) fn try_send(
        &mut self,
        peer: &AgentId,
        sending: Sending,
        key: Option<ClientKey>,
    ) -> Result<MessageId, LocalError> {
        self.node.judge(self.at.now).may_speak()?;
        self.node.may_write_to(peer)?;
        if matches!(sending, Sending::Ping) && self.node.trust().peer(peer).is_none() {
            return Err(LocalError::PeerUnknown(peer.clone()));
        }
        if !matches!(sending, Sending::Notification(_))
            && !self.node.sent.may_open_request(self.at.now, peer)
        {
            return Err(LocalError::TooManyRequests);
        }
        let message_id = self.node.ids.fresh(self.at.now);
        let (method, content) = match sending {
            Sending::Handoff(handing) => return self.tasks().hand(peer, *handing, key),
            Sending::Request(content) => (Method::Request, content),
            Sending::Notification(content) => (Method::Notification, content),
            Sending::Ping => (
                Method::Request,
                Content {
                    capability: PING.parse().ok(),
                    life: Some(PING_LIFE),
                    ..Content::default()
                },
            ),
        };
        let mut content = content;
        if method == Method::Request && content.finds_capability && content.capability.is_none() {
            content.capability = self
                .node
                .only_capability(self.at.now, peer, content.data_tier)?;
        }
        let has_session = self.node.slot(self.at, peer).is_some();
        let finds = !has_session && content.finds_capability && content.capability.is_none();
        let traced = trace(
            &self.node.peers,
            &self.node.clock,
            self.at.elapsed,
            peer,
            &content,
        )?;
        let mut draft = Draft::call(method, peer.clone(), message_id, content.body);
        draft.summary = content.summary;
        draft.capability = content.capability;
        draft.conversation_id = traced.conversation;
        draft.in_reply_to = traced.chain;
        draft.hops = traced.hops;
        draft.data_tier = content.data_tier.unwrap_or(1);
        draft.life = content.life.unwrap_or(LIFE);
        self.node.tasks.keep_within(self.at.now, &mut draft)?;
        self.dispatch_keyed(draft, key)?;
        if finds && method == Method::Request {
            self.node.sent.find_with_session(peer, message_id);
        }
        Ok(message_id)
    }

    /// Dispatches an answer or a report of our agent's own.
    pub(super) fn say_own(&mut self, draft: Draft) -> Result<(), LocalError> {
        let (peer, tried) = (draft.recipient.clone(), Tried::of(&draft));
        let said = self.dispatch(draft);
        self.me().note_attempt(&peer, tried, said)
    }

    /// Signs and sends in the newest session, or writes a draft and announces.
    pub(super) fn dispatch(&mut self, draft: Draft) -> Result<(), LocalError> {
        self.dispatch_keyed(draft, None)
    }

    /// The same for a message whose caller gave it a key. It is a draft first, whose line holds the key,
    /// and leaves at once where it can.
    pub(super) fn dispatch_keyed(
        &mut self,
        draft: Draft,
        key: Option<ClientKey>,
    ) -> Result<(), LocalError> {
        if draft.life.is_zero() || draft.life > LONGEST_LIFE {
            return Err(LocalError::Message(Reason::LifetimeTooLong));
        }
        if draft.hops > MAX_HOPS && draft.form.method().is_some() {
            return Err(LocalError::Message(Reason::HopsExceeded));
        }
        self.peers().permit_sending(&draft)?;
        let peer = draft.recipient.clone();
        if let Some(request) = draft.in_reply_to.filter(|_| draft.form.method().is_none()) {
            let mut drafts = self.node.sent.drafts().of(&peer);
            if drafts.any(|waiting| waiting.draft.in_reply_to == Some(request)) {
                return Err(LocalError::AnswerWaits(request));
            }
        }
        let approve = self.node.approval_root(&draft)?;
        let at_once = approve.is_none() && key.is_none();
        match self.node.slot(self.at, &peer).filter(|_| at_once) {
            Some((stamp, to)) => {
                let call = draft.form.method().is_some();
                let (signed, copy) = draft
                    .seal_and_sign(self.node.me.identity(), stamp, to, self.node.ids.rng())
                    .map_err(LocalError::Message)?;
                self.node.peers.count_own(self.at.now, &peer, call);
                self.write_sealed(signed, copy);
            }
            None => {
                self.write_draft(draft, approve, key)?;
                if key.is_some() {
                    self.release(&peer);
                }
            }
        }
        Ok(())
    }
}
