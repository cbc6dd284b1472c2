//! What became of the messages that we sent, for as long as somebody may ask.

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::{AgentId, MessageId};
use crate::time::Timestamp;

use super::state::State;

/// How many ends of messages to one peer are remembered; the log has them all.
const REMEMBERED: usize = 10_000;

/// The newest ends of our messages to each peer.
#[derive(Clone, Debug, Default)]
pub(in crate::node) struct Results(BTreeMap<AgentId, PeerResults>);

/// Those of one peer, by name.
#[derive(Clone, Debug, Default)]
pub(in crate::node) struct PeerResults {
    // A B-tree and no hash table: while new ends replace old ones again and again, a hash table grows to twice the size in the
    // end.
    ends: BTreeMap<MessageId, End>,
    /// Since when, oldest first.
    order: BTreeSet<(Timestamp, MessageId)>,
}

/// Since when a message is where it is.
type End = (Timestamp, State);

impl Results {
    /// Notes an end, unless a better one is known. Says whether it was news.
    pub(in crate::node) fn note(
        &mut self,
        now: Timestamp,
        peer: &AgentId,
        name: MessageId,
        state: &State,
    ) -> bool {
        self.of_peer(peer).note(now, name, state)
    }

    /// It was no end.
    pub(in crate::node) fn forget(&mut self, peer: &AgentId, name: MessageId) {
        if let Some(results) = self.0.get_mut(peer) {
            results.forget(name);
        }
    }

    /// Notes an end as it was noted before.
    pub(in crate::node) fn put_back(
        &mut self,
        peer: &AgentId,
        name: MessageId,
        since: Timestamp,
        state: State,
    ) {
        self.of_peer(peer).put(since, name, state);
    }

    /// All that is remembered, by peer.
    pub(in crate::node) fn iter(&self) -> impl Iterator<Item = (&AgentId, &PeerResults)> {
        self.0.iter()
    }

    /// Where a message is, and since when; and whose it is.
    pub(super) fn of(&self, name: MessageId) -> Option<(&AgentId, &End)> {
        let mut peers = self.0.iter();
        peers.find_map(|(peer, results)| Some((peer, results.ends.get(&name)?)))
    }

    fn of_peer(&mut self, peer: &AgentId) -> &mut PeerResults {
        self.0.entry(peer.clone()).or_default()
    }
}

impl PeerResults {
    fn note(&mut self, now: Timestamp, name: MessageId, state: &State) -> bool {
        match self.ends.get(&name) {
            Some((_, known)) if !state.outranks(known) => return false,
            Some((since, _)) => drop(self.order.remove(&(*since, name))),
            // If too many ends of messages are remembered, forget the oldest end: callers ask for newer ones more often, and
            // the log has all of them.
            None if self.order.len() >= REMEMBERED => {
                let oldest = self.order.pop_first();
                oldest.map(|(_, oldest)| self.ends.remove(&oldest));
            }
            None => {}
        }
        self.put(now, name, state.clone());
        true
    }

    fn forget(&mut self, name: MessageId) {
        if let Some((since, _)) = self.ends.remove(&name) {
            self.order.remove(&(since, name));
        }
    }

    fn put(&mut self, since: Timestamp, name: MessageId, state: State) {
        self.order.insert((since, name));
        self.ends.insert(name, (since, state));
    }

    /// Each end, by the name of its message.
    pub(in crate::node) fn iter(&self) -> impl Iterator<Item = (&MessageId, &End)> {
        self.ends.iter()
    }
}
