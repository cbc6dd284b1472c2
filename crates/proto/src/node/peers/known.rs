//! The peers by name; and who of them was given out to be changed, so that nobody else has to be looked at again.

use std::collections::{BTreeSet, HashMap};
use std::sync::OnceLock;
use std::time::Duration;

use crate::entry::Direction;
use crate::envelope::Message;
use crate::ids::AgentId;
use crate::time::Timestamp;

use super::Peer;
use super::agenda::Agenda;
use super::hops::Hop;
use super::talks::{self, Talks};

/// So many more than there are peers are noted one by one: beyond that all count as changed.
const NOTED: usize = 64;
/// So many changes are looked at one by one whenever the next time is asked for; where there are more, the agenda is
/// brought up to date first.
const FEW: usize = 16;

/// The peers, by name.
#[derive(Debug, Default)]
pub(in crate::node) struct KnownPeers {
    // A hash map, because each message looks its peer up several times: in a tree of 10,000 names every look compares twenty,
    // most of them in no cache. Box each peer: a free place of the table then costs a name and a pointer, and no whole `Peer`.
    peers: HashMap<AgentId, Box<Peer>>,
    changed: ChangedPeers,
    agenda: Agenda,
    /// Unless nobody has asked yet.
    talks: OnceLock<Talks>,
}

/// Who may have changed since the agenda was last brought up to date. Every way to change a peer goes by here.
#[derive(Debug)]
pub(super) enum ChangedPeers {
    /// These, some of them more than once.
    These(Vec<AgentId>),
    All,
}

impl Default for ChangedPeers {
    fn default() -> Self {
        Self::These(Vec::new())
    }
}

impl KnownPeers {
    pub(super) fn get(&self, name: &AgentId) -> Option<&Peer> {
        self.peers.get(name).map(Box::as_ref)
    }

    pub(super) fn get_mut(&mut self, name: &AgentId) -> Option<&mut Peer> {
        self.note(name);
        self.peers.get_mut(name).map(Box::as_mut)
    }

    /// As [`KnownPeers::get_mut`]: one that is not there is made.
    pub(super) fn entry(&mut self, name: &AgentId) -> &mut Peer {
        self.note(name);
        self.peers.entry(name.clone()).or_default()
    }

    /// All, by name: what is done with one after the other is done in the same order each time.
    pub(in crate::node) fn iter(&self) -> impl Iterator<Item = (&AgentId, &Peer)> {
        by_name(self.in_any_order())
    }

    /// All, for what comes out the same in any order: sorting 10,000 names takes milliseconds.
    pub(in crate::node) fn in_any_order(&self) -> impl Iterator<Item = (&AgentId, &Peer)> {
        let peers = self.peers.iter();
        peers.map(|(name, peer)| (name, peer.as_ref()))
    }

    pub(in crate::node) fn names(&self) -> impl Iterator<Item = &AgentId> {
        self.iter().map(|(name, _)| name)
    }

    pub(in crate::node) fn iter_mut(&mut self) -> impl Iterator<Item = (&AgentId, &mut Peer)> {
        self.changed = ChangedPeers::All;
        let peers = by_name(self.peers.iter_mut());
        peers.map(|(name, peer)| (name, peer.as_mut()))
    }

    /// All, in any order: for what changes each of them alone.
    pub(in crate::node) fn values_mut(&mut self) -> impl Iterator<Item = &mut Peer> {
        self.changed = ChangedPeers::All;
        self.peers.values_mut().map(Box::as_mut)
    }

    /// Something changed that each peer's next time may hang on.
    pub(in crate::node) fn note_all(&mut self) {
        self.changed = ChangedPeers::All;
    }

    /// Who may have changed.
    pub(super) fn changed(&self) -> &ChangedPeers {
        &self.changed
    }

    /// The same, each once; from now on nobody has.
    pub(super) fn take_changed(&mut self) -> Vec<AgentId> {
        match std::mem::take(&mut self.changed) {
            ChangedPeers::These(mut names) => {
                names.sort_unstable();
                names.dedup();
                names
            }
            ChangedPeers::All => self.names().cloned().collect(),
        }
    }

    /// When something is to be done with each, as of when it was last brought up to date.
    pub(in crate::node) fn agenda(&self) -> &Agenda {
        &self.agenda
    }

    pub(super) fn agenda_mut(&mut self) -> &mut Agenda {
        &mut self.agenda
    }

    /// Whether so much has changed that the agenda is to be brought up to date.
    pub(in crate::node) fn have_changed_much(&self) -> bool {
        match &self.changed {
            ChangedPeers::These(names) => names.len() > FEW,
            ChangedPeers::All => true,
        }
    }

    /// Whether so many handshakes are half open.
    pub(super) fn are_half_open(&self, many: usize) -> bool {
        let is_half_open = |name: &&AgentId| self.get(name).is_some_and(Peer::is_half_open);
        match &self.changed {
            ChangedPeers::All => {
                let half_open = self.peers.values().filter(|peer| peer.is_half_open());
                half_open.count() >= many
            }
            ChangedPeers::These(names) => {
                let entered = self.agenda.half_open();
                // Only the peers that the agenda lists as half open, and the peers that changed since, can be half open. If
                // they are fewer than `many`, which is nearly always so, answer without a look at any peer.
                if entered.len() + names.len() < many {
                    return false;
                }
                let names: BTreeSet<_> = entered.iter().chain(names).collect();
                names.into_iter().filter(is_half_open).count() >= many
            }
        }
    }

    /// What is remembered of each conversation.
    pub(super) fn talks(&self) -> &Talks {
        self.talks.get_or_init(|| {
            let mut talks = Talks::default();
            for (name, peer) in self.iter() {
                talks.put_in(name, &peer.hops);
            }
            talks
        })
    }

    /// Makes the index of calls, before somebody waits for it.
    pub(in crate::node) fn index_talks(&self) {
        let _ = self.talks();
    }

    /// Remembers a call that was accepted: it came when we had run `came`, and is the next by the log's time `at`.
    pub(in crate::node) fn note_step(
        &mut self,
        at: Timestamp,
        came: Option<Duration>,
        message: &Message,
    ) {
        let step = Hop::of(at, message);
        let step = Hop { came, ..step };
        self.remember_step(Direction::In, &message.headers.agent_id, step);
    }

    /// Remembers a call of ours in a conversation.
    pub(in crate::node) fn note_own_step(&mut self, at: Timestamp, message: &Message) {
        let step = Hop::of(at, message);
        self.remember_step(Direction::Out, &message.headers.recipient_id, step);
    }

    pub(super) fn remember_step(&mut self, side: Direction, name: &AgentId, step: Hop) {
        self.note(name);
        let peer = self.peers.entry(name.clone()).or_default();
        talks::remember(self.talks.get_mut(), side, name, &mut peer.hops, step);
    }

    /// The time of the last call that any peer's hops hold.
    pub(in crate::node) fn newest_step(&self) -> Option<Timestamp> {
        let steps = self.peers.values().filter_map(|peer| peer.hops.newest());
        steps.max()
    }

    pub(in crate::node) fn note(&mut self, name: &AgentId) {
        let ChangedPeers::These(names) = &mut self.changed else {
            return;
        };
        // The handling of one message looks up its peer several times in a row, and marks the peer as changed each time: list
        // the name only once.
        if names.last() == Some(name) {
            return;
        }
        match names.len() < self.peers.len() + NOTED {
            true => names.push(name.clone()),
            false => self.changed = ChangedPeers::All,
        }
    }
}

fn by_name<'p, P>(
    peers: impl Iterator<Item = (&'p AgentId, P)>,
) -> impl Iterator<Item = (&'p AgentId, P)> {
    let mut peers: Vec<_> = peers.collect();
    peers.sort_unstable_by_key(|(name, _)| *name);
    peers.into_iter()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// Otherwise two runs over the same inputs would write their lines in different orders.
    #[test]
    fn the_peers_are_walked_by_name_however_they_came() {
        let mut known = KnownPeers::default();
        let name = |number: usize| format!("agent-{:03}", number * 37 % 101);
        for number in 0..101 {
            known.entry(&name(number).parse().unwrap());
        }
        assert!(known.names().is_sorted());
        assert!(known.iter_mut().map(|(name, _)| name).is_sorted());
        assert!(known.take_changed().is_sorted());
        assert_eq!(known.in_any_order().count(), 101);
    }

    /// Otherwise everybody would be turned away as `handshake-busy` for as long as nothing is known of who has changed.
    #[test]
    fn when_everybody_may_have_changed_nobody_is_taken_for_half_open() {
        let mut known = KnownPeers::default();
        known.entry(&"agent-alice".parse().unwrap());
        known.note_all();
        assert!(!known.are_half_open(1));
        assert!(known.are_half_open(0));
    }
}
