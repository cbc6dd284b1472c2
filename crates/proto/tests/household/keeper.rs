//! What a keeper has for peers that poll (docs/protocol.md, section 11): oldest first, each message once, bounded.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use signet_proto::ids::{AgentId, MessageId};
use signet_proto::node::Polled;

/// How much is kept for one peer, and how much one response gives.
const MOST_KEPT: usize = 1_024;
const GIVEN: usize = 64;

/// Of one peer, oldest first.
type Kept = VecDeque<(MessageId, Arc<[u8]>)>;

#[derive(Default)]
pub struct Keeper(BTreeMap<AgentId, Kept>);

impl Keeper {
    /// Keeps a message for a peer. A copy changes nothing, and what has no room pushes out the oldest.
    pub fn put(&mut self, peer: &AgentId, id: MessageId, bytes: Arc<[u8]>) {
        let kept = self.0.entry(peer.clone()).or_default();
        if kept.iter().all(|(other, _)| *other != id) {
            kept.push_back((id, bytes));
        }
        while kept.len() > MOST_KEPT {
            kept.pop_front();
        }
    }

    /// The peer has said what became of it.
    pub fn forget(&mut self, peer: &AgentId, id: MessageId) {
        if let Some(kept) = self.0.get_mut(peer) {
            kept.retain(|(other, _)| *other != id);
        }
    }

    /// The answer to a poll that was taken.
    pub fn give(&mut self, polled: &Polled) -> Vec<Arc<[u8]>> {
        let kept = self.0.entry(polled.peer.clone()).or_default();
        let known = kept.iter().position(|(id, _)| Some(*id) == polled.after);
        if let Some(place) = known {
            kept.drain(..=place);
        }
        let given = kept.iter().take(GIVEN);
        given.map(|(_, bytes)| Arc::clone(bytes)).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.0.values().all(VecDeque::is_empty)
    }
}
