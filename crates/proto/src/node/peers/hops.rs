//! Where a conversation has been: so that an agent cannot forget to count its hops, and nobody counts
//! them for a conversation that is not theirs.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::envelope::Message;
use crate::headers::ConversationId;
use crate::ids::{AgentId, MessageId};
use crate::time::Timestamp;

use super::{Peer, Peers};
use crate::node::clock::Clock;
use crate::node::{Content, Continues, LocalError};

/// How many calls from one peer are remembered, and how many to it.
const STEPS: usize = 1_024;
/// How long a call can be named as the one that a new message continues.
const REMEMBERED: Duration = Duration::from_secs(72 * 3600);
/// Within this time a call in the conversation of a call that came counts as its continuation, said or
/// not. Agents that talk in a circle are faster; people who take turns are slower.
const LOOP: Duration = Duration::from_secs(60);

/// The calls that went between us and one peer lately, oldest first.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
pub(in crate::node) struct Hops {
    came: VecDeque<Hop>,
    /// Only those of a conversation.
    went: VecDeque<Hop>,
    /// When the first came in each conversation, and when the first of ours went, of those that are remembered no more:
    /// who was silent for long does not lose to others that it spoke first.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    came_first: BTreeMap<ConversationId, Timestamp>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    went_first: BTreeMap<ConversationId, Timestamp>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Hop {
    /// By the log, whose time never goes back: it says which call was first.
    at: Timestamp,
    /// When it came, by the clock that nobody sets; unknown for one from before the start.
    #[serde(skip)]
    came: Option<Duration>,
    name: MessageId,
    conversation: Option<ConversationId>,
    /// The first call of the chain that it says it continues.
    chain: Option<MessageId>,
    hops: u8,
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

    fn named(&self, name: MessageId) -> Option<&Hop> {
        self.came.iter().rev().find(|step| step.name == name)
    }
}

impl Hop {
    fn of(at: Timestamp, message: &Message) -> Self {
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

    fn chain(&self) -> MessageId {
        self.chain.unwrap_or(self.name)
    }
}

fn push(steps: &mut VecDeque<Hop>, first: &mut BTreeMap<ConversationId, Timestamp>, step: Hop) {
    let old = |before: &Hop| step.at.since(before.at) >= REMEMBERED;
    while steps.len() >= STEPS || steps.front().is_some_and(old) {
        let Some(gone) = steps.pop_front() else { break };
        if let Some(conversation) = gone.conversation {
            first.entry(conversation).or_insert(gone.at);
        }
    }
    while first.len() > STEPS {
        let oldest = first.iter().min_by_key(|(_, at)| **at);
        let Some(oldest) = oldest.map(|(conversation, _)| conversation.clone()) else {
            break;
        };
        first.remove(&oldest);
    }
    steps.push_back(step);
}

impl Peer {
    /// Remembers a call that was accepted: it came when we had run `came`, and is the next by the log's time `at`.
    pub(in crate::node) fn note_step(
        &mut self,
        at: Timestamp,
        came: Option<Duration>,
        message: &Message,
    ) {
        let (steps, first) = (&mut self.hops.came, &mut self.hops.came_first);
        let step = Hop::of(at, message);
        push(steps, first, Hop { came, ..step });
    }

    /// Remembers a call of ours in a conversation.
    pub(in crate::node) fn note_own_step(&mut self, at: Timestamp, message: &Message) {
        let (steps, first) = (&mut self.hops.went, &mut self.hops.went_first);
        push(steps, first, Hop::of(at, message));
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
    if let Some(step) = step {
        return Ok(Traced {
            conversation: conversation.or_else(|| step.conversation.clone()),
            chain: Some(step.chain()),
            hops: step.hops.saturating_add(1),
        });
    }
    let talk = |conversation| Talk::of(peers, conversation).goes_on(clock, elapsed, peer);
    let (chain, hops) = conversation
        .as_ref()
        .and_then(talk)
        .map_or((None, 1), |(chain, hops)| (Some(chain), hops));
    Ok(Traced {
        conversation,
        chain,
        hops,
    })
}

fn continued<'p>(peers: &'p Peers, said: &Continues) -> Result<&'p Hop, LocalError> {
    let asked = |peer: &AgentId| said.from.as_ref().is_none_or(|from| from == peer);
    let peers = peers.iter().filter(|(peer, _)| asked(peer));
    let mut steps = peers.filter_map(|(_, peer)| peer.hops.named(said.message));
    match (steps.next(), steps.next()) {
        (Some(step), None) => Ok(step),
        (None, _) => Err(LocalError::NotRemembered(said.message)),
        (Some(_), Some(_)) => Err(LocalError::Ambiguous(said.message)),
    }
}

/// What is remembered of one conversation.
struct Talk<'a> {
    peers: &'a Peers,
    conversation: &'a ConversationId,
    came: Vec<(&'a AgentId, &'a Hop)>,
    went: Vec<(&'a AgentId, &'a Hop)>,
}

impl<'a> Talk<'a> {
    fn of(peers: &'a Peers, conversation: &'a ConversationId) -> Self {
        let here = |step: &&Hop| step.conversation.as_ref() == Some(conversation);
        let of = |steps: fn(&Hops) -> &VecDeque<Hop>| {
            let steps = peers.iter().flat_map(|(peer, known)| {
                let steps = steps(&known.hops).iter().filter(here);
                steps.map(move |step| (peer, step))
            });
            steps.collect()
        };
        Self {
            peers,
            conversation,
            came: of(|hops| &hops.came),
            went: of(|hops| &hops.went),
        }
    }

    /// The chain that a call to `peer` goes on with although nothing was said, and its hops.
    ///
    /// What anybody may say in a conversation counts for nothing there: only a call from `peer`, whom
    /// its answer goes to; from whoever began to talk here; or of a chain that we began ourselves and
    /// that `peer` is on. Of other calls the chain is passed on, so that whoever began it sees it come
    /// round; but nobody learns of us the name of a chain of ours who is not on it, and could raise
    /// its hops by it.
    fn goes_on(&self, clock: &Clock, elapsed: Duration, peer: &AgentId) -> Option<(MessageId, u8)> {
        let lately = self.came.iter();
        let lately = lately.filter(|(_, step)| clock.age(step.came, step.at, elapsed) < LOOP);
        let beginner = self.beginner();
        let ours = self.went.iter().map(|(_, step)| step);
        let ours = ours.filter(|step| step.chain.is_none());
        let ours: BTreeSet<_> = ours.map(|step| step.name).collect();
        let on = self.chains_of(peer);
        let weighed = lately.filter_map(|(from, step)| {
            let chain = step.chain();
            let own = ours.contains(&chain);
            let round = own && on.contains(&chain);
            let counts = round || *from == peer || beginner == Some(*from);
            if own && !counts {
                return None;
            }
            // In a chain of ours that came round, others may have begun to count hops anew: our own count is the least
            // that holds.
            let own = if round { self.furthest(chain) } else { 0 };
            let hops = if counts { step.hops.max(own) } else { 0 };
            Some((hops, counts, step.at, chain))
        });
        let (hops, _, _, chain) = weighed.max()?;
        Some((chain, hops.saturating_add(1)))
    }

    /// Whose call was the first here; `None` when it was ours.
    fn beginner(&self) -> Option<&'a AgentId> {
        let came = self.came.iter().map(|(from, step)| (*from, step.at));
        let (from, first) = came
            .chain(self.before(|hops| &hops.came_first))
            .min_by_key(|(_, at)| *at)?;
        let went = self.went.iter().map(|(_, step)| step.at);
        let mut ours = went.chain(self.before(|hops| &hops.went_first).map(|(_, at)| at));
        (!ours.any(|at| at < first)).then_some(from)
    }

    /// The first call here with each peer, of those that are remembered no more.
    fn before(
        &self,
        first: fn(&Hops) -> &BTreeMap<ConversationId, Timestamp>,
    ) -> impl Iterator<Item = (&'a AgentId, Timestamp)> {
        let conversation = self.conversation;
        let peers = self.peers.iter();
        peers.filter_map(move |(peer, known)| Some((peer, *first(&known.hops).get(conversation)?)))
    }

    /// The chains of which a call went to `peer`, or came from it.
    fn chains_of(&self, peer: &AgentId) -> BTreeSet<MessageId> {
        let steps = self.came.iter().chain(&self.went);
        let steps = steps.filter(|(with, _)| *with == peer);
        steps.map(|(_, step)| step.chain()).collect()
    }

    /// The most hops of our own calls of a chain.
    fn furthest(&self, chain: MessageId) -> u8 {
        let ours = self.went.iter().map(|(_, step)| step);
        let ours = ours.filter(|step| step.chain() == chain);
        ours.map(|step| step.hops).max().unwrap_or_default()
    }
}
