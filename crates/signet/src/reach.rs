//! How far the callers of a socket reach: the ceiling that the configuration, and whoever narrows it, gives them.

use std::collections::BTreeSet;

use signet_api::May;
use signet_proto::envelope::Message;
use signet_proto::ids::AgentId;
use signet_proto::node::Task;

/// The ceiling of one socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    /// With whom its callers speak; `None` for everybody.
    pub peers: Option<BTreeSet<AgentId>>,
    /// The highest data tier that they see and send.
    pub tier: u8,
    /// Whether they may change anything.
    pub may: May,
}

impl Default for Reach {
    /// Without a ceiling.
    fn default() -> Self {
        Self {
            peers: None,
            tier: 4,
            may: May::Send,
        }
    }
}

impl Reach {
    /// What is within both.
    pub(crate) fn within(&self, other: Self) -> Self {
        let peers = match (&self.peers, other.peers) {
            (Some(these), Some(those)) => Some(these.intersection(&those).cloned().collect()),
            (Some(one), None) => Some(one.clone()),
            (None, other) => other,
        };
        Self {
            peers,
            tier: self.tier.min(other.tier),
            may: match (self.may, other.may) {
                (May::Send, May::Send) => May::Send,
                _ => May::Read,
            },
        }
    }

    /// Whether a message of that tier, to or from that peer, is within it.
    pub fn sees(&self, peer: &AgentId, tier: u8) -> bool {
        self.knows(peer) && tier <= self.tier
    }

    /// Whether that peer is within it.
    pub fn knows(&self, peer: &AgentId) -> bool {
        self.peers.as_ref().is_none_or(|peers| peers.contains(peer))
    }

    /// Whether it has no ceiling.
    pub(crate) fn is_everything(&self) -> bool {
        self.peers.is_none() && self.tier >= 4
    }

    pub(crate) fn sees_message(&self, message: &Message) -> bool {
        self.sees(&message.headers.agent_id, message.headers.data_tier)
    }

    pub(crate) fn sees_task(&self, task: &Task) -> bool {
        self.sees(&task.peer, task.given.tier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(peers: &[&str], tier: u8) -> Reach {
        Reach {
            peers: Some(peers.iter().map(|peer| peer.parse().unwrap()).collect()),
            tier,
            may: May::Send,
        }
    }

    #[test]
    fn what_is_narrowed_is_never_wider_than_either() {
        let (bob, carol) = (
            reach(&["agent-bob", "agent-carol"], 2),
            reach(&["agent-carol", "agent-dan"], 3),
        );
        let both = bob.within(carol.clone());
        assert_eq!(both, reach(&["agent-carol"], 2));
        assert_eq!(carol.within(Reach::default()), carol);
        assert_eq!(Reach::default().within(carol.clone()), carol);
        let looks = Reach {
            may: May::Read,
            ..Reach::default()
        };
        assert_eq!(looks.within(Reach::default()).may, May::Read);
        assert_eq!(Reach::default().within(looks).may, May::Read);
        assert_eq!(
            reach(&["agent-bob"], 2)
                .within(reach(&["agent-dan"], 2))
                .peers,
            Some(BTreeSet::new())
        );
    }
}
