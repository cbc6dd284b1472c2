//! The calls of each conversation, whoever they went between: what a new call there goes on with is looked up, and no
//! peer's calls are walked for it.
//!
//! An index of [`Hops`](super::hops::Hops), and no state of its own: it holds what the peers' hops hold, and what they
//! forget goes here as well. It is made when somebody first asks: while the log is told again nobody does, and most calls are
//! forgotten before that ends.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::entry::Direction;
use crate::headers::ConversationId;
use crate::ids::{AgentId, MessageId};
use crate::node::clock::Clock;
use crate::time::Timestamp;

use super::hops::{Hop, Hops};

/// How many calls from one peer are remembered, and how many to it.
const STEPS: usize = 1_024;
/// How long a call can be named as the one that a new message continues.
const REMEMBERED: Duration = Duration::from_secs(72 * 3600);
/// Within this time a call in the conversation of a call that came counts as its continuation, said or
/// not. Agents that talk in a circle are faster; people who take turns are slower.
const LOOP: Duration = Duration::from_secs(60);

/// What the peers' hops hold, by conversation and by name.
#[derive(Debug, Default)]
pub(super) struct Talks {
    talks: BTreeMap<ConversationId, Talk>,
    /// The calls that came.
    named: BTreeMap<(MessageId, Timestamp), TalkStep>,
}

/// What is remembered of one conversation.
#[derive(Debug, Default)]
pub(super) struct Talk {
    came: BTreeMap<Timestamp, TalkStep>,
    went: BTreeMap<Timestamp, TalkStep>,
    /// All of these by their chains.
    chains: BTreeSet<(MessageId, Timestamp)>,
    /// The first call with each peer, of those that are remembered no more.
    came_before: BTreeSet<(Timestamp, AgentId)>,
    went_before: BTreeSet<(Timestamp, AgentId)>,
}

/// A call between us and a peer.
#[derive(Debug)]
struct TalkStep {
    with: AgentId,
    hop: Arc<Hop>,
}

/// Remembers a call between us and a peer in the peer's hops, and in the index where there is one; what is too old by then, or
/// too much, is forgotten in both.
pub(super) fn remember(
    mut index: Option<&mut Talks>,
    side: Direction,
    peer: &AgentId,
    hops: &mut Hops,
    step: Hop,
) {
    let (steps, first) = hops.side_mut(side);
    let old = |before: &Arc<Hop>| step.at.since(before.at) >= REMEMBERED;
    while steps.len() >= STEPS || steps.front().is_some_and(old) {
        let Some(gone) = steps.pop_front() else { break };
        if let Some(index) = &mut index {
            index.forget(side, &gone);
        }
        let Some(conversation) = &gone.conversation else {
            continue;
        };
        // `first` keeps when a conversation began, even after its calls were removed here. The oldest call is removed
        // first: so if `first` has the conversation already, it has an earlier time, which stays.
        if !first.contains_key(conversation) {
            first.insert(conversation.clone(), gone.at);
            if let Some(index) = &mut index {
                index.note_first(side, peer, conversation, gone.at);
            }
        }
    }
    // A peer may begin a new conversation with each call: limit how many conversations `first` keeps, or they would fill
    // the memory.
    while first.len() > STEPS {
        let oldest = first.iter().min_by_key(|(_, at)| **at);
        let Some((conversation, at)) = oldest.map(|(name, at)| (name.clone(), *at)) else {
            break;
        };
        first.remove(&conversation);
        if let Some(index) = &mut index {
            index.forget_first(side, peer, &conversation, at);
        }
    }
    let step = Arc::new(step);
    if let Some(index) = index {
        index.note(side, peer, &step);
    }
    steps.push_back(step);
}

impl Talks {
    pub(super) fn of(&self, conversation: &ConversationId) -> Option<&Talk> {
        self.talks.get(conversation)
    }

    /// The calls of that name that came, and from whom.
    pub(super) fn named(&self, name: MessageId) -> impl Iterator<Item = (&AgentId, &Hop)> {
        let named = self.named.range((name, Timestamp::EPOCH)..);
        let named = named.take_while(move |((other, _), _)| *other == name);
        named.map(|(_, step)| (&step.with, step.hop.as_ref()))
    }

    /// Puts in what the hops of a peer hold.
    pub(super) fn put_in(&mut self, peer: &AgentId, hops: &Hops) {
        for side in [Direction::In, Direction::Out] {
            let (steps, first) = hops.side(side);
            for step in steps {
                self.note(side, peer, step);
            }
            for (conversation, at) in first {
                self.note_first(side, peer, conversation, *at);
            }
        }
    }

    fn note(&mut self, side: Direction, peer: &AgentId, step: &Arc<Hop>) {
        let indexed = || TalkStep {
            with: peer.clone(),
            hop: Arc::clone(step),
        };
        if side == Direction::In {
            self.named.insert((step.name, step.at), indexed());
        }
        if let Some(conversation) = &step.conversation {
            self.change(conversation, |talk| {
                talk.chains.insert((step.chain(), step.at));
                talk.side_mut(side).insert(step.at, indexed());
            });
        }
    }

    /// The peer's hops hold the call no more.
    fn forget(&mut self, side: Direction, step: &Hop) {
        if side == Direction::In {
            self.named.remove(&(step.name, step.at));
        }
        if let Some(conversation) = &step.conversation {
            self.change(conversation, |talk| {
                talk.chains.remove(&(step.chain(), step.at));
                talk.side_mut(side).remove(&step.at);
            });
        }
    }

    /// Of the calls with the peer in a conversation that are remembered no more, the first was at that time.
    fn note_first(
        &mut self,
        side: Direction,
        peer: &AgentId,
        conversation: &ConversationId,
        at: Timestamp,
    ) {
        self.change(conversation, |talk| {
            talk.before_mut(side).insert((at, peer.clone()));
        });
    }

    /// Nor is the first of them.
    fn forget_first(
        &mut self,
        side: Direction,
        peer: &AgentId,
        conversation: &ConversationId,
        at: Timestamp,
    ) {
        self.change(conversation, |talk| {
            talk.before_mut(side).remove(&(at, peer.clone()));
        });
    }

    fn change(&mut self, conversation: &ConversationId, change: impl FnOnce(&mut Talk)) {
        if !self.talks.contains_key(conversation) {
            self.talks.insert(conversation.clone(), Talk::default());
        }
        let Some(talk) = self.talks.get_mut(conversation) else {
            return;
        };
        change(talk);
        if talk.is_empty() {
            self.talks.remove(conversation);
        }
    }
}

impl Talk {
    /// The chain that a call to `peer` goes on with although nothing was said, and its hops.
    ///
    /// What anybody may say in a conversation counts for nothing there: only a call from `peer`, whom
    /// its answer goes to; from whoever began to talk here; or of a chain that we began ourselves and
    /// that `peer` is on. Of other calls the chain is passed on, so that whoever began it sees it come
    /// round; but nobody learns of us the name of a chain of ours who is not on it, and could raise
    /// its hops by it.
    pub(super) fn goes_on(
        &self,
        clock: &Clock,
        elapsed: Duration,
        peer: &AgentId,
    ) -> Option<(MessageId, u8)> {
        let is_late = |step: &Hop| clock.age(step.came, step.at, elapsed) < LOOP;
        // The calls are looked at from the newest back: stop at the first one that is too old, since all further ones are
        // older.
        let lately = self.came.values().rev();
        let lately = lately.take_while(|step| is_late(&step.hop));
        let beginner = self.beginner();
        let weighed = lately.filter_map(|step| {
            let (from, chain) = (&step.with, step.hop.chain());
            let own = self.began(chain);
            let round = own && self.of_chain(chain).any(|step| step.with == *peer);
            let counts = round || from == peer || beginner == Some(from);
            if own && !counts {
                return None;
            }
            // If a chain of calls that we began has passed through this peer, an agent on its way may have lowered the number
            // of hops: so count at least the highest number of hops in our own calls of that chain.
            let own = if round { self.furthest(chain) } else { 0 };
            let hops = if counts { step.hop.hops.max(own) } else { 0 };
            Some((hops, counts, step.hop.at, chain))
        });
        // Take the call with the most hops; among equals one whose `counts` is true, then the newest. Our new call continues
        // the chain to which that call belongs.
        let (hops, _, _, chain) = weighed.max()?;
        Some((chain, hops.saturating_add(1)))
    }

    /// Whose call was the first here; `None` when it was ours.
    fn beginner(&self) -> Option<&AgentId> {
        let (came, went) = (self.came.first_key_value(), self.went.first_key_value());
        let came = came.map(|(at, step)| (*at, &step.with));
        let before = self.came_before.first();
        let before = before.map(|(at, from)| (*at, from));
        let (first, from) = came.into_iter().chain(before).min()?;
        let went = went.map(|(at, _)| *at);
        let went = went
            .into_iter()
            .chain(self.went_before.first().map(|(at, _)| *at));
        went.min().is_none_or(|ours| ours >= first).then_some(from)
    }

    /// Whether we began that chain here.
    fn began(&self, chain: MessageId) -> bool {
        let mut ours = self.our_calls_of(chain);
        ours.any(|step| step.hop.chain.is_none())
    }

    /// The most hops of our own calls of a chain.
    fn furthest(&self, chain: MessageId) -> u8 {
        let ours = self.our_calls_of(chain);
        ours.map(|step| step.hop.hops).max().unwrap_or_default()
    }

    fn our_calls_of(&self, chain: MessageId) -> impl Iterator<Item = &TalkStep> {
        self.times_of(chain).filter_map(|at| self.went.get(&at))
    }

    /// The calls of a chain, to whomever and from whomever.
    fn of_chain(&self, chain: MessageId) -> impl Iterator<Item = &TalkStep> {
        let times = self.times_of(chain);
        times.filter_map(|at| self.went.get(&at).or_else(|| self.came.get(&at)))
    }

    fn times_of(&self, chain: MessageId) -> impl Iterator<Item = Timestamp> {
        let times = self.chains.range((chain, Timestamp::EPOCH)..);
        let times = times.take_while(move |(other, _)| *other == chain);
        times.map(|(_, at)| *at)
    }

    fn side_mut(&mut self, side: Direction) -> &mut BTreeMap<Timestamp, TalkStep> {
        match side {
            Direction::In => &mut self.came,
            Direction::Out => &mut self.went,
        }
    }

    fn before_mut(&mut self, side: Direction) -> &mut BTreeSet<(Timestamp, AgentId)> {
        match side {
            Direction::In => &mut self.came_before,
            Direction::Out => &mut self.went_before,
        }
    }

    fn is_empty(&self) -> bool {
        let none_here = self.came.is_empty() && self.went.is_empty();
        none_here && self.came_before.is_empty() && self.went_before.is_empty()
    }
}

#[cfg(test)]
mod tests;
