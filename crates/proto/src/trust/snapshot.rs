//! A view of the trust store as a JSON value, for whoever verifies messages in another process: public keys, and
//! what the person decided about them. Nothing in it is secret, and nothing in it signs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use signet_json::Value;

use super::{KnownPeer, Principal, Refused, Revoked, SharedMap, TrustView};
use crate::certificate::Certificate;
use crate::ids::{AgentId, KeyId, PrincipalId};
use crate::keys::{KeyTables, TableBudget};
use crate::statement::Revocation;

/// A value is no snapshot of a trust store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this is no snapshot of a trust store ({0}); take one anew from the daemon of the same release"
)]
pub struct SnapshotError(String);

impl TrustView {
    /// Everything that checks V05 to V07 look at.
    #[must_use]
    pub fn to_snapshot(&self) -> Value {
        let revoked = self.revoked.iter();
        let stored = StoredSnapshot {
            agent: self.me.clone(),
            principal: self.own.clone(),
            principals: all_of(&self.principals),
            peers: all_of(&self.peers),
            refused: self.refused.iter().cloned().collect(),
            revoked: revoked
                .map(|((principal, agent), known)| StoredRevocations {
                    principal: principal.clone(),
                    agent: agent.clone(),
                    known: known.clone(),
                })
                .collect(),
        };
        // The default is never used: writing texts, numbers and maps with text keys cannot fail.
        serde_json::to_value(stored).unwrap_or_default()
    }

    /// The same view again. Its certificates and revocations are read as they came over the wire, so each
    /// proves itself anew.
    ///
    /// # Errors
    /// When it is not what [`TrustView::to_snapshot`] writes, or a signature in it does not hold.
    pub fn from_snapshot(value: &Value) -> Result<Self, SnapshotError> {
        let stored =
            StoredSnapshot::deserialize(value).map_err(|error| SnapshotError(error.to_string()))?;
        // Rows of the own state are believed, and a snapshot is not: it comes from another process.
        for certificate in stored.peers.values().flat_map(|peer| &peer.certificates) {
            Certificate::parse(&certificate.to_value())
                .map_err(|error| SnapshotError(error.to_string()))?;
        }
        let revoked = stored.revoked.into_iter();
        let revoked: Revoked = revoked
            .map(|one| ((one.principal, one.agent), one.known))
            .collect();
        let refused: Refused = stored.refused;
        Ok(Self {
            me: stored.agent,
            own: stored.principal,
            principals: stored.principals.into_iter().collect(),
            peers: stored.peers.into_iter().collect(),
            refused: Arc::new(refused),
            revoked: Arc::new(revoked),
            tables: Arc::new(KeyTables::new(TableBudget::STANDARD)),
        })
    }

    /// Whether both are the same moment of one store. A store that changes shares nothing with the views
    /// before, as far as it changes, and two stores share nothing at all.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.principals.is_same(&other.principals)
            && self.peers.is_same(&other.peers)
            && Arc::ptr_eq(&self.refused, &other.refused)
            && Arc::ptr_eq(&self.revoked, &other.revoked)
    }
}

fn all_of<K: Ord + Clone, V: Clone>(map: &SharedMap<K, V>) -> BTreeMap<K, V> {
    let all = map.iter();
    all.map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredSnapshot {
    agent: AgentId,
    principal: PrincipalId,
    principals: BTreeMap<PrincipalId, Principal>,
    #[serde(with = "shared")]
    peers: BTreeMap<AgentId, Arc<KnownPeer>>,
    refused: BTreeSet<(KeyId, AgentId)>,
    revoked: Vec<StoredRevocations>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredRevocations {
    principal: PrincipalId,
    agent: AgentId,
    #[serde(with = "crate::stored")]
    known: Vec<Arc<Revocation>>,
}

/// Peers behind their pointers, without serde's feature for these.
mod shared {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use serde::{Deserialize as _, Deserializer, Serializer};

    use super::super::KnownPeer;
    use crate::ids::AgentId;

    pub(super) fn serialize<S: Serializer>(
        peers: &BTreeMap<AgentId, Arc<KnownPeer>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(peers.iter().map(|(agent, peer)| (agent, peer.as_ref())))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<AgentId, Arc<KnownPeer>>, D::Error> {
        let peers = BTreeMap::<AgentId, KnownPeer>::deserialize(deserializer)?;
        let shared = peers.into_iter();
        Ok(shared
            .map(|(agent, peer)| (agent, Arc::new(peer)))
            .collect())
    }
}
