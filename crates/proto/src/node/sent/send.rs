//! New messages of ours: checked, signed at once or left to wait as drafts.

use signet_json::canonical;

use crate::draft::{Draft, LIFE, LONGEST_LIFE};
use crate::entry::{ClientKey, Tried};
use crate::envelope::{Form, Method};
use crate::ids::{AgentId, MessageId};
use crate::policy::{MAX_HOPS, PING};
use crate::reject::Reason;

use crate::node::answers::decline;
use crate::node::peers::hops::trace;
use crate::node::{Effect, LocalError, Outcome};

use super::SentMessage;
use super::keyed::{CallerKey, Known, content_of};
use super::request::{Content, Declining, PING_LIFE, Sending};
use super::state::{State, WaitsFor};
use super::view::SendSlot;
use crate::node::turn::SentDoor;

impl SentDoor<'_, '_> {
    /// Sends a new message, or lets it wait for a session.
    ///
    /// # Errors
    /// When the peer is unknown, too much waits, or the message itself is at fault.
    pub fn send(&mut self, peer: &AgentId, sending: Sending) -> Result<SentMessage, LocalError> {
        self.send_new(peer, sending, None)
    }

    /// Sends a new message under its caller's key, or tells which message an earlier call with the key and
    /// the same content made. Remembered for 30 days, and of more than 65,536 the newest.
    ///
    /// # Errors
    /// `key-reused` when the earlier call had another content; else as for [`SentDoor::send`], and
    /// nothing is remembered.
    pub fn send_once(
        &mut self,
        peer: &AgentId,
        sending: Sending,
        key: &CallerKey,
    ) -> Result<SentMessage, LocalError> {
        let text = canonical(&content_of(peer, &sending));
        let node = &self.turn.node;
        match node
            .sent
            .keys
            .look_up(node.me.identity(), self.turn.at.now, key, &text)
        {
            Known::Same(message_id) => Ok(self.report(peer, message_id, true)),
            Known::Other(message_id) => Err(LocalError::KeyReused(message_id)),
            Known::New(tag) => self.send_new(peer, sending, Some(tag)),
        }
    }

    fn send_new(
        &mut self,
        peer: &AgentId,
        sending: Sending,
        key: Option<ClientKey>,
    ) -> Result<SentMessage, LocalError> {
        let tried = Tried::to_send(&sending);
        let sent = self.try_send(peer, sending, key);
        let message_id = self.turn.me().note_attempt(peer, tried, sent)?;
        Ok(self.report(peer, message_id, false))
    }

    /// What its caller hears of a message; `again` where an earlier call made it.
    fn report(&mut self, peer: &AgentId, id: MessageId, again: bool) -> SentMessage {
        let node = &self.turn.node;
        let waits_for = node.sent().waits_for(peer, id);
        // Report `Published` only if an effect publishes the message: a message to a peer that is on no carrier of ours is
        // signed and written to the log, but does not leave.
        let is_publish = |effect: &Effect| matches!(effect, Effect::Publish(_));
        let left = waits_for.is_none() && self.turn.out.effects.iter().any(is_publish);
        let known = again.then(|| node.sent().status(id)).flatten();
        let state = known.map_or(State::Queued, |known| known.state);
        SentMessage {
            id,
            state: match left && node.peers.carriers().is_any_up() {
                true => State::Published,
                false => state,
            },
            task: node.tasks.given_by(peer, id).map(|task| task.id()),
            waits_for,
            held_by: match waits_for {
                Some(WaitsFor::Alarm) => node
                    .alarms
                    .held_by(node.context(), peer)
                    .into_iter()
                    .cloned()
                    .collect(),
                _ => Vec::new(),
            },
            again,
            outcome: self.turn.take(),
        }
    }

    fn try_send(
        &mut self,
        peer: &AgentId,
        sending: Sending,
        key: Option<ClientKey>,
    ) -> Result<MessageId, LocalError> {
        let node = &mut *self.turn.node;
        let now = self.turn.at.now;
        node.judge(now).may_speak()?;
        node.sent().may_write_to(peer)?;
        if matches!(sending, Sending::Ping) && node.trust().peer(peer).is_none() {
            return Err(LocalError::PeerUnknown(peer.clone()));
        }
        if !matches!(sending, Sending::Notification(_)) && !node.sent.requests.has_room(now, peer) {
            return Err(LocalError::TooManyRequests);
        }
        let message_id = node.ids.fresh(now);
        let (method, mut content) = match sending {
            Sending::Handoff(handing) => return self.turn.tasks().hand(peer, *handing, key),
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
        let finds = method == Method::Request && content.finds_capability;
        if finds && content.capability.is_none() {
            let tier = content.data_tier.unwrap_or_default();
            content.capability = node.sent().only_capability(now, peer, tier)?;
        }
        let finds = finds && content.capability.is_none() && node.sent().slot(now, peer).is_none();
        let elapsed = self.turn.at.elapsed;
        let traced = trace(&node.peers, &node.clock, elapsed, peer, &content)?;
        let mut draft = Draft::call(method, peer.clone(), message_id, content.body);
        draft.summary = content.summary;
        draft.capability = content.capability;
        draft.conversation_id = traced.conversation;
        draft.in_reply_to = traced.chain;
        draft.hops = traced.hops;
        draft.data_tier = content.data_tier.unwrap_or_default();
        draft.life = content.life.unwrap_or(LIFE);
        node.tasks.keep_within(now, &mut draft)?;
        self.dispatch(draft, key)?;
        if finds {
            let drafts = &mut self.turn.node.sent.drafts;
            drafts.find_with_session(peer, message_id);
        }
        Ok(message_id)
    }

    /// Answers a request that waits in the inbox: with a body, or with words that decline it.
    ///
    /// # Errors
    /// When no such request waits, or the answer itself is at fault.
    pub fn reply(
        &mut self,
        from: Option<&AgentId>,
        request: MessageId,
        answer: Result<Content, Declining>,
    ) -> Result<(MessageId, Outcome), LocalError> {
        self.turn.node.judge(self.turn.at.now).may_speak()?;
        let message = self.turn.node.inbox.request(from, request)?;
        let id = self.turn.node.ids.fresh(self.turn.at.now);
        let draft = match answer {
            Ok(content) => {
                let mut draft = Draft::answer(Form::Success, &message, id, Some(content.body));
                draft.summary = content.summary;
                // An answer has at least the tier of its request: the peer would refuse a lower one (`tier-lowered`).
                draft.data_tier = draft.data_tier.max(content.data_tier.unwrap_or_default());
                draft
            }
            Err(Declining { why, body }) => {
                let mut draft = decline(&message, id, why);
                draft.body = body;
                draft
            }
        };
        self.say_own(draft)?;
        Ok((id, self.turn.take()))
    }

    /// Dispatches an answer or a report of our agent's own.
    pub(in crate::node) fn say_own(&mut self, draft: Draft) -> Result<(), LocalError> {
        let (peer, tried) = (draft.recipient.clone(), Tried::of(&draft));
        let said = self.dispatch(draft, None);
        self.turn.me().note_attempt(&peer, tried, said)
    }

    /// Signs and sends in the newest session, or writes a draft and announces. A message whose caller gave it a key is
    /// a draft first, whose line holds the key, and leaves at once where it can.
    pub(in crate::node) fn dispatch(
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
        self.turn.peers().permit_sending(&draft)?;
        let (peer, node) = (&draft.recipient, &self.turn.node);
        // A request takes one answer: while an answer waits here, refuse a second one, which the peer would refuse as
        // unsolicited.
        if let Some(request) = draft.in_reply_to.filter(|_| draft.form.method().is_none()) {
            let mut drafts = node.sent.drafts.of(peer);
            if drafts.any(|waiting| waiting.draft.in_reply_to == Some(request)) {
                return Err(LocalError::AnswerWaits(request));
            }
        }
        // A message that a person has to approve, or to which its caller gave a key, is written down as a draft first: the
        // draft's log line shows the person what they decide about, and keeps the key.
        let approve = node.sent().approval_root(&draft)?;
        let at_once = approve.is_none() && key.is_none();
        let slot = at_once.then(|| node.sent().slot(self.turn.at.now, peer));
        match slot.flatten() {
            Some(slot) => self.put_out(draft, slot).map_err(LocalError::Message),
            None => {
                let peer = peer.clone();
                self.turn.drafts().write(draft, approve, key)?;
                if key.is_some() {
                    self.turn.drafts().release(&peer);
                }
                Ok(())
            }
        }
    }

    /// Seals, signs and sends in a session.
    ///
    /// # Errors
    /// What is at fault in the message itself.
    pub(in crate::node) fn put_out(&mut self, draft: Draft, slot: SendSlot) -> Result<(), Reason> {
        let node = &mut *self.turn.node;
        let (peer, call) = (draft.recipient.clone(), draft.form.method().is_some());
        let (stamp, to) = (slot.stamp(&self.turn.at), slot.to());
        let (signed, copy) = draft.seal_and_sign(node.me.identity(), stamp, to, node.ids.rng())?;
        // Count the message in the budget before its log line is written: writing the line may send further messages under the
        // same budget.
        node.peers.count_own(self.turn.at.now, &peer, call);
        self.turn.write_sealed(signed, copy);
        Ok(())
    }
}
