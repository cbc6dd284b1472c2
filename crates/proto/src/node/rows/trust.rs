//! Whom we trust, as rows and back.

use std::sync::Arc;

use super::tables::{Lines, PEERS, PRINCIPALS, REFUSED, REVOCATIONS, Restored, Tables, all};
use crate::stored::Stored;
use crate::trust::{TrustStore, TrustView};

/// The rows of one table, by key; none of another part's.
pub(super) fn table<'s>(trust: &'s TrustView, table: &'static str) -> Lines<'s> {
    let trust = trust.parts();
    all(|rows| match table {
        PRINCIPALS => {
            for (name, principal) in trust.principals.iter() {
                rows.put(PRINCIPALS, name.as_str(), principal);
            }
        }
        PEERS => {
            for (name, peer) in trust.peers.iter() {
                rows.put(PEERS, name.as_str(), peer.as_ref());
            }
        }
        REFUSED => {
            for (root, agent) in trust.refused {
                rows.put(REFUSED, &format!("{root} {agent}"), &true);
            }
        }
        REVOCATIONS => {
            for ((principal, agent), revocations) in trust.revoked {
                let key = format!("{principal} {agent}");
                rows.put_value(REVOCATIONS, key, &revocations.to_stored());
            }
        }
        _ => {}
    })
}

pub(super) fn put_back(trust: &mut TrustStore, tables: &mut Tables) -> Restored {
    let principals = tables.read(PRINCIPALS)?.into_iter();
    let principals = principals.map(|((name,), principal)| (name, principal));
    let peers = tables.read(PEERS)?.into_iter();
    let peers = peers.map(|((name,), peer)| (name, Arc::new(peer)));
    let refused = tables.read::<_, bool>(REFUSED)?.into_iter();
    let refused = refused.map(|(name, _)| name);
    let revoked = tables.read_stored(REVOCATIONS)?.into_iter();
    trust.put_back(
        principals.collect(),
        peers.collect(),
        refused.collect(),
        revoked.collect(),
    );
    Ok(())
}
