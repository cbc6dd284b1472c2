//! Who calls, and how far their token reaches.

use std::collections::BTreeSet;
use std::sync::Arc;

use signet_api::{Call, Effect, May, Named};
use tokio_util::sync::CancellationToken;

/// Who calls: put into the extensions of a request once it was authenticated.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// Names this very token. A token that is made anew under the same name is another caller, and inherits no task of the
    /// old one.
    pub(crate) name: Arc<str>,
    pub(crate) scope: Scope,
    /// Cancelled when the token is revoked or expires: what is under way for it ends.
    pub(crate) gone: CancellationToken,
}

/// A peer, as far as that caller may see it.
#[derive(Clone, Copy)]
pub(crate) struct SeenPeer<'a> {
    pub(crate) caller: &'a Caller,
    pub(crate) peer: &'a str,
}

/// What a token allows, within what the socket does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scope {
    /// With whom; `None` for everybody.
    pub(crate) peers: Option<Arc<BTreeSet<String>>>,
    /// The highest data tier.
    pub(crate) tier: u8,
    pub(crate) may: May,
}

impl Scope {
    /// Whether that agent is within it.
    pub(crate) fn knows(&self, peer: &str) -> bool {
        self.peers.as_ref().is_none_or(|peers| peers.contains(peer))
    }

    /// Whether that data tier is within it.
    pub(crate) const fn admits_tier(&self, tier: u8) -> bool {
        tier <= self.tier
    }

    /// Whether it may change anything.
    pub(crate) fn may_send(&self) -> bool {
        self.may == May::Send
    }

    /// Why the scope forbids the call, judged by the peers and tiers that the call itself names. Where it names a message
    /// or a task, only the daemon knows the peer and the tier, and judges by them.
    pub(crate) fn refusal(&self, call: &Call) -> Option<String> {
        if !self.may_send() && call.effect() == Effect::Changes {
            return Some("this token may only look".to_owned());
        }
        call.names().into_iter().find_map(|named| match named {
            Named::Peer(peer) if !self.knows(peer) => {
                Some("this token has nothing to do with that agent".to_owned())
            }
            Named::Tier(tier) | Named::Authority(Some(tier), _) if !self.admits_tier(tier) => {
                Some(format!(
                    "this token reaches up to tier {}, and this is of tier {tier}",
                    self.tier
                ))
            }
            _ => None,
        })
    }
}

impl Default for Scope {
    /// The widest scope: everything that the socket allows.
    fn default() -> Self {
        Self {
            peers: None,
            tier: 4,
            may: May::Send,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(scope: &Scope, method: &str, params: serde_json::Value) -> bool {
        scope
            .refusal(&Call::parse(method, params).unwrap())
            .is_some()
    }

    #[test]
    fn a_scope_is_held_against_each_thing_that_a_call_names() {
        let scope = Scope {
            peers: Some(Arc::new(["agent-bob".to_owned()].into())),
            tier: 2,
            may: May::Send,
        };
        let send =
            |peer: &str, tier: u8| json!({"peer": peer, "kind": "request", "data-tier": tier});
        assert!(!refused(&scope, "send", send("agent-bob", 2)));
        assert!(refused(&scope, "send", send("agent-bob", 3)));
        assert!(refused(&scope, "send", send("agent-carol", 1)));
        assert!(refused(&scope, "history", json!({"peer": "agent-carol"})));
        assert!(!refused(&scope, "history", json!({})));
        let looks = Scope {
            may: May::Read,
            ..Scope::default()
        };
        assert!(refused(&looks, "send", send("agent-bob", 1)));
        assert!(!refused(&looks, "inbox.list", json!({})));
    }
}
