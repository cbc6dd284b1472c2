//! Where a conversation has been: so that an agent cannot forget to count its hops, and nobody counts
//! them for a conversation that is not theirs.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::entry::Direction;
use crate::envelope::Message;
use crate::headers::ConversationId;
use crate::ids::{AgentId, MessageId};
use crate::time::Timestamp;

use super::Peers;
use crate::node::clock::Clock;
use crate::node::{Content, Continues, LocalError};

/// The calls that went between us and one peer lately, oldest first.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
pub(in crate::node) struct Hops {
    #[serde(with = "unshared")]
    came: VecDeque<Arc<Hop>>,
    /// Only those of a conversation.
    #[serde(with = "unshared")]
    went: VecDeque<Arc<Hop>>,
    /// When the first came in each conversation, and when the first of ours went, of those that are remembered no more:
    /// who was silent for long does not lose to others that it spoke first.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    came_first: Firsts,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    went_first: Firsts,
}

pub(super) type Firsts = BTreeMap<ConversationId, Timestamp>;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Hop {
    /// By the log, whose time never goes back: it says which call was first. No two calls have the same.
    pub(super) at: Timestamp,
    /// When it came, by the clock that nobody sets; unknown for one from before the start.
    #[serde(skip)]
    pub(super) came: Option<Duration>,
    pub(super) name: MessageId,
    pub(super) conversation: Option<ConversationId>,
    /// The first call of the chain that it says it continues.
    pub(super) chain: Option<MessageId>,
    pub(super) hops: u8,
}

/// Where a new call of ours stands.
pub(in crate::node) struct Traced {
    pub(in crate::node) conversation: Option<ConversationId>,
    /// The first call of the chain that it continues; `None` when it begins one.
    pub(in crate::node) chain: Option<MessageId>,
    pub(in crate::node) hops: u8,
}

impl Hops {
    /// The time of the last call in it.
    pub(in crate::node) fn newest(&self) -> Option<Timestamp> {
        let last = [self.came.back(), self.went.back()];
        last.into_iter().flatten().map(|step| step.at).max()
    }

    /// The calls that went this way, and the first of those that are remembered no more.
    pub(super) fn side(&self, side: Direction) -> (&VecDeque<Arc<Hop>>, &Firsts) {
        match side {
            Direction::In => (&self.came, &self.came_first),
            Direction::Out => (&self.went, &self.went_first),
        }
    }

    pub(super) fn side_mut(&mut self, side: Direction) -> (&mut VecDeque<Arc<Hop>>, &mut Firsts) {
        match side {
            Direction::In => (&mut self.came, &mut self.came_first),
            Direction::Out => (&mut self.went, &mut self.went_first),
        }
    }
}

impl Hop {
    /// A call whose place by the log's time is `at`.
    pub(super) fn of(at: Timestamp, message: &Message) -> Self {
        let headers = &message.headers;
        Self {
            at,
            came: None,
            name: headers.message_id,
            conversation: headers.conversation_id.clone(),
            chain: headers.in_reply_to,
            hops: headers.hops,
        }
    }

    pub(super) fn chain(&self) -> MessageId {
        self.chain.unwrap_or(self.name)
    }
}

/// The conversation that a new call to `peer` belongs to, and its hops: one more than those of the
/// call that it continues.
///
/// # Errors
/// When it says that it continues a call that is not remembered.
pub(in crate::node) fn trace(
    peers: &Peers,
    clock: &Clock,
    elapsed: Duration,
    peer: &AgentId,
    content: &Content,
) -> Result<Traced, LocalError> {
    let said = content.continues.as_ref();
    let step = said.map(|said| continued(peers, said)).transpose()?;
    let conversation = content.conversation_id.clone();
    // If the agent names the message that it continues, that message alone decides the chain and the hops (protocol.md, Hops).
    if let Some(step) = step {
        return Ok(Traced {
            conversation: conversation.or_else(|| step.conversation.clone()),
            chain: Some(step.chain()),
            hops: step.hops.saturating_add(1),
        });
    }
    let talk = conversation
        .as_ref()
        .and_then(|name| peers.known.talks().of(name));
    let goes_on = talk.and_then(|talk| talk.goes_on(clock, elapsed, peer));
    let (chain, hops) = goes_on.map_or((None, 1), |(chain, hops)| (Some(chain), hops));
    Ok(Traced {
        conversation,
        chain,
        hops,
    })
}

fn continued<'p>(peers: &'p Peers, said: &Continues) -> Result<&'p Hop, LocalError> {
    let asked = |peer: &AgentId| said.from.as_ref().is_none_or(|from| from == peer);
    let steps = peers.known.talks().named(said.message);
    let mut steps = steps.filter_map(|(peer, step)| asked(peer).then_some(step));
    match (steps.next(), steps.next()) {
        (Some(step), None) => Ok(step),
        (None, _) => Err(LocalError::NotRemembered(said.message)),
        (Some(_), Some(_)) => Err(LocalError::Ambiguous(said.message)),
    }
}

/// Calls behind their pointers, without serde's feature for these.
mod unshared {
    use std::collections::VecDeque;
    use std::sync::Arc;

    use serde::{Deserialize as _, Deserializer, Serializer};

    use super::Hop;

    pub(super) fn serialize<S: Serializer>(
        steps: &VecDeque<Arc<Hop>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(steps.iter().map(Arc::as_ref))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<VecDeque<Arc<Hop>>, D::Error> {
        let steps = Vec::<Hop>::deserialize(deserializer)?;
        Ok(steps.into_iter().map(Arc::new).collect())
    }
}
