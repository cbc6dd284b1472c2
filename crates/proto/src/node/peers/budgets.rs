//! What one peer and we may say to each other: calls a minute, and bytes of lines in our log.

use std::collections::VecDeque;
use std::time::Duration;

use crate::draft::Draft;
use crate::entry::Ruling;
use crate::envelope::{Message, Method};
use crate::headers::ConversationId;
use crate::ids::AgentId;
use crate::policy::{CallBudget, Policy, stricter};
use crate::reject::Reason;
use crate::session::Session;
use crate::time::Timestamp;

use super::bytes::Bytes;
use super::{Peer, Peers};
use crate::node::LocalError;
use crate::node::Notice;
use crate::node::turn::PeersDoor;

/// People are told of an exceeded budget at most this often.
const TOLD_EVERY: Duration = Duration::from_secs(60);

/// How many conversations of one peer have a budget of their own; beyond that the one that was silent
/// longest loses it, and the peer's budget holds them all.
const CONVERSATIONS: usize = 64;

/// How many calls went between us and one peer lately. Not lasting: a restart fills the buckets.
#[derive(Debug, Default, Clone)]
pub(super) struct Budgets {
    heard: CallBudget,
    conversations: VecDeque<(ConversationId, CallBudget)>,
    said: CallBudget,
    told: Option<Timestamp>,
    /// Calls of the peer's that were refused, and what of it was counted alone.
    pub(super) refused: u64,
    /// Calls of ours that were not sent.
    pub(super) withheld: u64,
    /// What it may write into our log.
    pub(super) bytes: Bytes,
}

impl Budgets {
    fn of(&self, conversation: &ConversationId) -> CallBudget {
        let mut known = self.conversations.iter();
        let known = known.find(|(id, _)| id == conversation);
        known.map_or_else(CallBudget::default, |(_, bucket)| *bucket)
    }

    fn keep(&mut self, conversation: ConversationId, bucket: CallBudget) {
        // Move the conversation to the end: then the conversation at the front, which is dropped to make room, has been silent
        // longest.
        self.conversations.retain(|(id, _)| *id != conversation);
        if self.conversations.len() >= CONVERSATIONS {
            self.conversations.pop_front();
        }
        self.conversations.push_back((conversation, bucket));
    }
}

impl Peer {
    /// The buckets after one call more of the peer's; `None` when one of them has no room for it.
    pub(in crate::node) fn charge(
        &self,
        now: Timestamp,
        policy: &Policy,
        session: &Session,
        message: &Message,
    ) -> Option<(CallBudget, Option<CallBudget>)> {
        let headers = &message.headers;
        let age = now.since(headers.timestamp);
        let allowance = policy.allowance(&headers.agent_id);
        // Use the stricter of two budgets, that of the session's grant and that of the configuration, which may have become
        // narrower since the grant (protocol.md, Grants).
        let per_minute = stricter(
            session.given.messages_per_minute,
            allowance.messages_per_minute(),
        );
        let take =
            |bucket: CallBudget, per_minute| bucket.at(now, per_minute).take(per_minute, age);
        let heard = match per_minute {
            Some(per_minute) => take(self.budgets.heard, per_minute)?,
            None => self.budgets.heard,
        };
        let conversation = headers.conversation_id.as_ref();
        let conversation = match conversation.zip(policy.conversation_per_minute) {
            Some((id, per_minute)) => Some(take(self.budgets.of(id), per_minute)?),
            None => None,
        };
        Some((heard, conversation))
    }

    /// What it takes of us a minute, and how much of that is used up.
    fn said(&self, now: Timestamp) -> Option<(u32, CallBudget)> {
        let per_minute = self.sendable(now)?.received.messages_per_minute?;
        Some((per_minute, self.budgets.said.at(now, per_minute)))
    }
}

impl Peers {
    /// When a message may leave by the budget that its recipient granted, which counts calls: at once, or at that time.
    pub(in crate::node) fn leaves_at(
        &self,
        now: Timestamp,
        peer: &AgentId,
        call: bool,
    ) -> Option<Timestamp> {
        let peer = self.get(peer).filter(|_| call)?;
        let (per_minute, said) = peer.said(now)?;
        said.room_at(per_minute)
    }

    /// Counts what goes out, where it is a call.
    pub(in crate::node) fn count_own(&mut self, now: Timestamp, peer: &AgentId, call: bool) {
        let peer = self.get_mut(peer).filter(|_| call);
        if let Some((peer, (_, said))) =
            peer.and_then(|peer| peer.said(now).map(|said| (peer, said)))
        {
            peer.budgets.said = said.spend();
        }
    }
}

impl PeersDoor<'_, '_> {
    /// Counts a call of a peer's that was judged by V12, and tells people of one that was too many.
    pub(in crate::node) fn count_call(&mut self, message: &Message, ruling: Ruling) {
        let counts = match ruling {
            Ruling::Accepted => true,
            // Of the refused calls, only those count that check V12 of docs/protocol.md refused, which is the check of
            // `BudgetExceeded` (protocol.md, Budgets).
            Ruling::Rejected(reason) => reason.check() == Reason::BudgetExceeded.check(),
            Ruling::Sent => false,
        };
        let method = message.form.method();
        let call = method.is_some_and(|method| !method.is_handshake() && method != Method::Receipt);
        let headers = &message.headers;
        let peer = self.turn.node.peers.get_mut(&headers.agent_id);
        let Some(peer) = peer.filter(|_| counts && call) else {
            return;
        };
        let Some(session) = headers.session.and_then(|id| peer.session(id)) else {
            return;
        };
        if ruling == Ruling::Rejected(Reason::BudgetExceeded) {
            return self.note_excess(&headers.agent_id);
        }
        let policy = self.turn.node.me.policy();
        // Check V12 of docs/protocol.md only asked whether the budget has room for this call, and charged nothing: charge the
        // call now.
        let charged = peer.charge(self.turn.at.now, policy, session, message);
        let Some((heard, conversation)) = charged else {
            return;
        };
        peer.budgets.heard = heard;
        if let Some((id, bucket)) = headers.conversation_id.clone().zip(conversation) {
            peer.budgets.keep(id, bucket);
        }
    }

    /// Whether a message of ours may go to a peer that we have a session with.
    ///
    /// # Errors
    /// Says in plain words what is missing.
    pub(in crate::node) fn permit_sending(&mut self, draft: &Draft) -> Result<(), LocalError> {
        let (now, name) = (self.turn.at.now, &draft.recipient);
        self.turn.node.judge(now).fit_recipient(draft)?;
        let peer = self.turn.node.peers.get_mut(name);
        let Some(peer) = peer.filter(|_| draft.form.method().is_some()) else {
            return Ok(());
        };
        match peer.said(now) {
            Some((per_minute, said)) if said.room_at(per_minute).is_some() => {
                peer.budgets.withheld += 1;
                Err(LocalError::OverBudget {
                    peer: name.clone(),
                    per_minute,
                })
            }
            _ => Ok(()),
        }
    }

    /// A message of the peer's is over a budget: our person hears of it, at most once a minute.
    pub(in crate::node) fn note_excess(&mut self, name: &AgentId) {
        let now = self.turn.at.now;
        let budgets = &mut self.turn.node.peers.entry(name).budgets;
        budgets.refused += 1;
        let lately = budgets
            .told
            .is_some_and(|last| now.is_within(TOLD_EVERY, last));
        if !lately {
            budgets.told = Some(now);
            let (peer, refused) = (name.clone(), budgets.refused);
            self.turn.notify(Notice::OverBudget { peer, refused });
        }
    }
}
