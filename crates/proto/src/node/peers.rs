//! Whom we have to do with: all that lies between us and each peer.

pub(super) mod peer;

use std::collections::{BTreeMap, btree_map};

use crate::ids::AgentId;

pub(super) use peer::Peer;

/// The peers, by name.
#[derive(Debug, Default)]
pub struct Peers {
    known: BTreeMap<AgentId, Peer>,
}

impl Peers {
    pub(super) fn get(&self, name: &AgentId) -> Option<&Peer> {
        self.known.get(name)
    }

    pub(super) fn get_mut(&mut self, name: &AgentId) -> Option<&mut Peer> {
        self.known.get_mut(name)
    }

    /// As [`Peers::get_mut`]: one that nothing lay between us and until now is made.
    pub(super) fn entry(&mut self, name: &AgentId) -> &mut Peer {
        self.known.entry(name.clone()).or_default()
    }

    pub(super) fn iter(&self) -> btree_map::Iter<'_, AgentId, Peer> {
        self.known.iter()
    }

    pub(super) fn iter_mut(&mut self) -> btree_map::IterMut<'_, AgentId, Peer> {
        self.known.iter_mut()
    }

    pub(super) fn values(&self) -> btree_map::Values<'_, AgentId, Peer> {
        self.known.values()
    }

    pub(super) fn values_mut(&mut self) -> btree_map::ValuesMut<'_, AgentId, Peer> {
        self.known.values_mut()
    }

    pub(super) fn names(&self) -> btree_map::Keys<'_, AgentId, Peer> {
        self.known.keys()
    }
}
