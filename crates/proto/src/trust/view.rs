//! What others see of the trust store: a snapshot that is cheap to share.

use std::sync::Arc;

use super::{KnownPeer, Principal, Refused, Revoked, SharedMap};
use crate::certificate::Certificate;
use crate::ids::{AgentId, PrincipalId};
use crate::keys::KeyTables;
use crate::reject::Reason;
use crate::statement::Revocation;

/// How many revocations of one person's unbound agents are kept.
const REVOCATIONS: usize = 1_024;

/// A snapshot of the trust store, cheap to clone and to share between threads.
#[derive(Clone, Debug)]
pub struct TrustView {
    pub(super) me: AgentId,
    pub(super) own: PrincipalId,
    pub(super) principals: SharedMap<PrincipalId, Principal>,
    pub(super) peers: SharedMap<AgentId, Arc<KnownPeer>>,
    pub(super) refused: Arc<Refused>,
    pub(super) revoked: Arc<Revoked>,
    /// Tables of the keys in it: every view of one store shares them.
    pub(super) tables: Arc<KeyTables>,
}

/// How a certificate stands to what is bound.
pub(super) enum Standing<'a> {
    /// The newest certificate of a bound agent, or a newer one.
    Bound(&'a KnownPeer),
    /// An older root's certificate that was known before the root was succeeded.
    Known(&'a KnownPeer),
    Unbound,
    Withdrawn,
    Refused,
    Revoked,
    Older,
    Taken,
    RootChanged,
}

/// Everything in a view.
pub(crate) struct ViewParts<'a> {
    pub(crate) principals: &'a SharedMap<PrincipalId, Principal>,
    pub(crate) peers: &'a SharedMap<AgentId, Arc<KnownPeer>>,
    pub(crate) refused: &'a Refused,
    pub(crate) revoked: &'a Revoked,
}

impl TrustView {
    /// Everything in it.
    pub(crate) fn parts(&self) -> ViewParts<'_> {
        ViewParts {
            principals: &self.principals,
            peers: &self.peers,
            refused: &self.refused,
            revoked: &self.revoked,
        }
    }

    /// The tables by which its certificates' keys verify; for no key that a flight only claims.
    pub fn tables(&self) -> &Arc<KeyTables> {
        &self.tables
    }

    /// The same view with other tables of keys: with none of them (`TableBudget::OFF`), or with what the views before had.
    #[must_use]
    pub fn with_tables(&self, tables: Arc<KeyTables>) -> Self {
        Self {
            tables,
            ..self.clone()
        }
    }

    /// Whose view it is.
    pub fn me(&self) -> &AgentId {
        &self.me
    }

    /// For whom the view's owner acts.
    pub fn own_principal(&self) -> &PrincipalId {
        &self.own
    }

    /// The peer of that name.
    pub fn peer(&self, agent: &AgentId) -> Option<&KnownPeer> {
        self.peers.get(agent).map(Arc::as_ref)
    }

    /// The peer of that name, unless it is withdrawn or its newest certificate is revoked.
    pub fn trusted(&self, agent: &AgentId) -> Option<&KnownPeer> {
        self.peer(agent).filter(|peer| {
            let newest = peer.newest();
            !peer.withdrawn && newest.is_some_and(|newest| !self.is_revoked(newest))
        })
    }

    /// Every peer, by name.
    pub fn peers(&self) -> impl Iterator<Item = (&AgentId, &KnownPeer)> {
        self.peers
            .iter()
            .map(|(agent, peer)| (agent, peer.as_ref()))
    }

    /// The pinned person of that name.
    pub fn principal(&self, principal: &PrincipalId) -> Option<&Principal> {
        self.principals.get(principal)
    }

    /// Whether anything was taken back at all.
    pub(crate) fn has_revocations(&self) -> bool {
        !self.revoked.is_empty()
    }

    /// Every revocation of a principal's agents that reaches highest.
    pub fn revocations(&self, principal: &PrincipalId) -> impl Iterator<Item = &Arc<Revocation>> {
        let named = self.revoked.iter();
        named
            .filter(move |((of, _), _)| of == principal)
            .flat_map(|(_, revocations)| revocations)
    }

    /// Whether the certificate's root took it back, or the one that is pinned in its place. What an
    /// older root said does not bind its successor's certificates: a stolen root could otherwise
    /// keep an agent out for ever.
    pub fn is_revoked(&self, certificate: &Certificate) -> bool {
        if self.revoked.is_empty() {
            return false;
        }
        let named = (certificate.principal.clone(), certificate.agent.clone());
        let mut revoked = self.revoked.get(&named).into_iter().flatten();
        revoked.any(|revocation| {
            let counts = revocation.root == certificate.root || self.is_authentic(revocation);
            // A revocation under an old root key does not count for certificates of its named successor: otherwise a thief of
            // the old root key could keep the successor out.
            let outranked = revocation.root != certificate.root && self.succeeds(certificate);
            counts && !outranked && certificate.serial <= revocation.serial
        })
    }

    /// Whether the certificate's root is the named successor of the one that is pinned.
    fn succeeds(&self, certificate: &Certificate) -> bool {
        let pinned = self.principals.get(&certificate.principal);
        pinned.is_some_and(|pinned| {
            pinned.root != certificate.root && pinned.is_succeeded_by(&certificate.root)
        })
    }

    /// Whether a revocation is signed by a pinned root or its named successor. Only such ones are taken.
    pub fn is_authentic(&self, revocation: &Revocation) -> bool {
        let pinned = self.principals.get(&revocation.principal);
        pinned.is_some_and(|pinned| {
            pinned.root == revocation.root || pinned.is_succeeded_by(&revocation.root)
        })
    }

    /// Whether a revocation is authentic and reaches higher than what is known. Of agents that nobody
    /// bound, another person's root may fill no more than its share.
    pub fn is_news(&self, revocation: &Revocation) -> bool {
        let named = (revocation.principal.clone(), revocation.agent.clone());
        let mut known = self.revoked.get(&named).into_iter().flatten();
        let told =
            known.any(|known| known.root == revocation.root && known.serial >= revocation.serial);
        let counts = revocation.principal == self.own || self.peer(&revocation.agent).is_some();
        // Ask `has_room` last, since it walks over all revocations that are kept.
        let has_room = || self.revocations(&revocation.principal).count() < REVOCATIONS;
        self.is_authentic(revocation) && !told && (counts || has_room())
    }

    /// The bound peer that a flight's certificate speaks of (check V06). The certificate's signature
    /// need not be verified yet: a stranger's costs nothing.
    ///
    /// # Errors
    /// `agent-id-taken`, `root-changed`, `principal-unknown`, `agent-unknown`, `trust-withdrawn`,
    /// `certificate-revoked` or `serial-rolled-back`.
    pub fn admit(&self, certificate: &Certificate) -> Result<&KnownPeer, Reason> {
        match self.standing(certificate) {
            Standing::Bound(peer) | Standing::Known(peer) => Ok(peer),
            Standing::Older => Err(Reason::SerialRolledBack),
            Standing::Taken => Err(Reason::AgentIdTaken),
            Standing::RootChanged => Err(Reason::RootChanged),
            Standing::Withdrawn | Standing::Refused => Err(Reason::TrustWithdrawn),
            Standing::Revoked => Err(Reason::CertificateRevoked),
            Standing::Unbound if self.principals.contains_key(&certificate.principal) => {
                Err(Reason::AgentUnknown)
            }
            Standing::Unbound => Err(Reason::PrincipalUnknown),
        }
    }

    pub(super) fn standing(&self, certificate: &Certificate) -> Standing<'_> {
        let peer = self.peer(&certificate.agent);
        if let Some(pinned) = self.principals.get(&certificate.principal)
            && pinned.root != certificate.root
            && !pinned.is_succeeded_by(&certificate.root)
        {
            // The certificate's root key is neither the known one nor its named successor. It may be the
            // one that was succeeded: the agent then stays known by its newest certificate until it
            // brings a new one. Refuse every other certificate.
            return match peer.filter(|peer| peer.newest() == Some(certificate)) {
                Some(peer) if peer.withdrawn => Standing::Withdrawn,
                Some(_) if self.is_revoked(certificate) => Standing::Revoked,
                Some(peer) => Standing::Known(peer),
                None => Standing::RootChanged,
            };
        }
        let refused = (certificate.root.id(), certificate.agent.clone());
        let Some(peer) = peer else {
            return if self.is_revoked(certificate) {
                Standing::Revoked
            } else if self.refused.contains(&refused) {
                Standing::Refused
            } else {
                Standing::Unbound
            };
        };
        // An agent-id belongs to one principal for good: otherwise anybody could certify a known agent-id under another
        // principal-id, with a root key of their own, and pass for that agent.
        if peer.principal() != Some(&certificate.principal) {
            return Standing::Taken;
        }
        if self.is_revoked(certificate) {
            return Standing::Revoked;
        }
        // A lower serial would lead back to a certificate that was replaced. With the same serial, take only the newest
        // certificate itself: otherwise the sender could switch between two with each message.
        let newest = peer.newest().map_or(0, |newest| newest.serial);
        let same = peer.newest() == Some(certificate);
        // Serials start anew under the successor of a root key: so do not compare them for a certificate of the successor.
        match certificate.serial > newest || same || self.succeeds(certificate) {
            true if peer.withdrawn => Standing::Withdrawn,
            true => Standing::Bound(peer),
            false => Standing::Older,
        }
    }
}
