//! How far a caller reaches: with whom, up to which data tier, and whether it may change anything.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::{Call, Effect, Named};

/// The limits of callers at a socket, or with a token: their peers, their highest data tier, and whether they may change
/// anything. `P` is the type of an agent's name: parsed in the daemon, text in a program that serves others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ceiling<P = String> {
    /// The agents with whom they have to do; `None` for everybody.
    pub peers: Option<Arc<BTreeSet<P>>>,
    /// The highest data tier that they see and send.
    pub tier: u8,
    /// Whether they may change anything.
    pub may: May,
}

words! {
    /// What a caller may do at most.
    pub enum May {
        /// Look: nothing that it calls changes anything.
        Read "read",
        /// And send, answer and take what came.
        Send "send",
    }
}

/// Why something is beyond a ceiling: what follows "this caller" in the words for the caller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CeilingExceeded {
    /// It would change something.
    #[error("may only look")]
    May,
    /// It is about another agent, which these words name.
    #[error("has nothing to do with {0}")]
    Peers(String),
    /// The highest tier that the ceiling allows, and that of what was asked for.
    #[error("reaches up to tier {0}, and this is of tier {1}")]
    Tier(u8, u8),
}

impl CeilingExceeded {
    /// The setting in the section of a socket that says so.
    #[must_use]
    pub const fn setting(&self) -> &'static str {
        match self {
            Self::May => "may",
            Self::Peers(_) => "peers",
            Self::Tier(..) => "tier",
        }
    }
}

impl<P> Default for Ceiling<P> {
    /// Without a ceiling.
    fn default() -> Self {
        Self {
            peers: None,
            tier: HIGHEST_TIER,
            may: May::Send,
        }
    }
}

impl<P: Borrow<str> + Clone + Ord> Ceiling<P> {
    /// The ceiling that allows what this one and the other both allow.
    #[must_use]
    pub fn within(&self, other: Self) -> Self {
        // `None` allows every peer, and an empty set none. Two ceilings without a common peer must give an empty set:
        // `None` would allow all.
        let peers = match (&self.peers, other.peers) {
            (Some(these), Some(those)) => Some(Arc::new(&**these & &*those)),
            (Some(one), None) => Some(Arc::clone(one)),
            (None, other) => other,
        };
        Self {
            peers,
            tier: self.tier.min(other.tier),
            may: self.may.min(other.may),
        }
    }

    /// Whether that agent is within it.
    pub fn knows(&self, peer: impl AsRef<str>) -> bool {
        let peers = self.peers.as_ref();
        peers.is_none_or(|peers| peers.contains(peer.as_ref()))
    }

    /// Whether a message of that tier, to or from that agent, is within it.
    pub fn sees(&self, peer: impl AsRef<str>, tier: u8) -> bool {
        self.knows(peer) && tier <= self.tier
    }

    /// Whether everybody and every tier is within it.
    #[must_use]
    pub fn sees_everything(&self) -> bool {
        self.peers.is_none() && self.tier >= HIGHEST_TIER
    }

    /// Whether its callers may change anything.
    #[must_use]
    pub fn may_send(&self) -> bool {
        self.may == May::Send
    }

    /// Holds against it whether that call changes anything.
    ///
    /// # Errors
    /// [`CeilingExceeded::May`].
    pub fn admit_effect(&self, call: &Call) -> Result<(), CeilingExceeded> {
        let is_within = self.may_send() || call.effect() != Effect::Changes;
        is_within.then_some(()).ok_or(CeilingExceeded::May)
    }

    /// Holds an agent against it; `words` name the agent to the caller.
    ///
    /// # Errors
    /// [`CeilingExceeded::Peers`].
    pub fn admit_peer(&self, peer: impl AsRef<str>, words: &str) -> Result<(), CeilingExceeded> {
        let exceeded = || CeilingExceeded::Peers(words.to_owned());
        self.knows(peer).then_some(()).ok_or_else(exceeded)
    }

    /// Holds a data tier against it.
    ///
    /// # Errors
    /// [`CeilingExceeded::Tier`].
    pub fn admit_tier(&self, tier: u8) -> Result<(), CeilingExceeded> {
        let exceeded = CeilingExceeded::Tier(self.tier, tier);
        (tier <= self.tier).then_some(()).ok_or(exceeded)
    }

    /// Holds a call against it, as far as the call itself says what it names. What a message, a lease or a task of that
    /// name is about, the daemon alone knows.
    ///
    /// # Errors
    /// The first thing that is beyond it.
    pub fn refuse(&self, call: &Call) -> Result<(), CeilingExceeded> {
        self.admit_effect(call)?;
        call.names().into_iter().try_for_each(|named| match named {
            Named::Peer(peer) => self.admit_peer(peer, "that agent"),
            Named::Tier(tier) | Named::Authority(Some(tier), _) => self.admit_tier(tier),
            Named::Authority(None, _)
            | Named::Came(..)
            | Named::Lease(_)
            | Named::Ours(_)
            | Named::Task(_) => Ok(()),
        })
    }
}

/// No message has a higher data tier (docs/protocol.md, section 4).
const HIGHEST_TIER: u8 = 4;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ceiling(peers: &[&str], tier: u8) -> Ceiling {
        Ceiling {
            peers: Some(Arc::new(
                peers.iter().map(|peer| (*peer).to_owned()).collect(),
            )),
            tier,
            may: May::Send,
        }
    }

    fn refused(ceiling: &Ceiling, method: &str, params: serde_json::Value) -> bool {
        ceiling
            .refuse(&Call::parse(method, params).unwrap())
            .is_err()
    }

    #[test]
    fn a_ceiling_is_held_against_each_thing_that_a_call_names() {
        let bob = ceiling(&["agent-bob"], 2);
        let send =
            |peer: &str, tier: u8| json!({"peer": peer, "kind": "request", "data-tier": tier});
        assert!(!refused(&bob, "send", send("agent-bob", 2)));
        assert!(refused(&bob, "send", send("agent-bob", 3)));
        assert!(refused(&bob, "send", send("agent-carol", 1)));
        assert!(refused(&bob, "history", json!({"peer": "agent-carol"})));
        assert!(!refused(&bob, "history", json!({})));
        let looks = Ceiling {
            may: May::Read,
            ..Ceiling::default()
        };
        assert!(refused(&looks, "send", send("agent-bob", 1)));
        assert!(!refused(&looks, "inbox.list", json!({})));
    }

    #[test]
    fn what_is_narrowed_is_never_wider_than_either() {
        let bob = ceiling(&["agent-bob", "agent-carol"], 2);
        let carol = ceiling(&["agent-carol", "agent-dan"], 3);
        let everything = Ceiling::default;
        assert_eq!(bob.within(carol.clone()), ceiling(&["agent-carol"], 2));
        assert_eq!(carol.within(everything()), carol);
        assert_eq!(everything().within(carol.clone()), carol);
        let looks = Ceiling {
            may: May::Read,
            ..everything()
        };
        assert_eq!(looks.within(everything()).may, May::Read);
        assert_eq!(everything().within(looks).may, May::Read);
        let nobody = ceiling(&["agent-bob"], 2).within(ceiling(&["agent-dan"], 2));
        assert_eq!(nobody, ceiling(&[], 2));
    }

    #[test]
    fn a_ceiling_is_a_ceiling_for_each_of_its_parts() {
        let bob = ceiling(&["agent-bob"], 2);
        assert!(
            bob.sees("agent-bob", 2) && !bob.sees("agent-bob", 3) && !bob.sees("agent-carol", 1)
        );
        assert!(Ceiling::<String>::default().sees("agent-carol", 4));
        assert_eq!(
            bob.admit_peer("agent-carol", "agent-carol"),
            Err(CeilingExceeded::Peers("agent-carol".to_owned()))
        );
        assert_eq!(bob.admit_tier(3), Err(CeilingExceeded::Tier(2, 3)));
    }
}
