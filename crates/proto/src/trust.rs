//! Whom we know: principals pinned by their root key, agent-ids bound to principals, and what was
//! taken back.

mod error;
mod shared;
mod snapshot;
mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::certificate::Certificate;
use crate::ids::{AgentId, Digest, KeyId, PrincipalId, Version};
use crate::keys::{KeyTables, TableBudget, VerifyKey};
use crate::statement::Revocation;

pub use error::BindError;
pub(crate) use shared::SharedMap;
pub use snapshot::SnapshotError;
use view::Standing;
pub use view::TrustView;

/// How many certificates of one agent are kept: the newest, and those still good for open sessions.
const CERTIFICATES: usize = 4;

/// An agent bound to its principal.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KnownPeer {
    principal: Option<PrincipalId>,
    #[serde(with = "crate::stored")]
    certificates: Vec<Certificate>,
    epoch: u64,
    lowest_version: Option<Version>,
    keys_serial: u64,
    withdrawn: bool,
}

impl KnownPeer {
    /// The newest certificate; none after its principal's root was replaced, until our person binds
    /// the agent under the new one.
    pub fn newest(&self) -> Option<&Certificate> {
        self.certificates.last()
    }

    /// The principal that the agent-id belongs to.
    pub fn principal(&self) -> Option<&PrincipalId> {
        self.principal.as_ref()
    }

    /// The certificate of the key `id`.
    pub fn certificate(&self, id: KeyId) -> Option<&Certificate> {
        // Search from the newest: after a renewal with the same key, two
        // certificates have this key id, and the newer one counts.
        self.certificates
            .iter()
            .rev()
            .find(|certificate| certificate.signing_key.id() == id)
    }

    /// Rises with every change of this peer's standing.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The lowest version that the peer ever offered in a finished handshake; it never falls.
    pub fn lowest_version(&self) -> Option<Version> {
        self.lowest_version
    }

    /// The serial of the newest key statement of a finished handshake; it never falls.
    pub fn keys_serial(&self) -> u64 {
        self.keys_serial
    }

    /// Whether our person took trust in it back. Its id stays bound: nobody else can have it.
    pub fn is_withdrawn(&self) -> bool {
        self.withdrawn
    }

    fn unknown() -> Self {
        Self {
            principal: None,
            certificates: Vec::new(),
            epoch: 0,
            lowest_version: None,
            keys_serial: 0,
            withdrawn: false,
        }
    }
}

/// A person, pinned by the root key.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Principal {
    root: VerifyKey,
    next_root: Digest,
    seen: u64,
}

impl Principal {
    /// The root key that this person is pinned with.
    pub fn root(&self) -> &VerifyKey {
        &self.root
    }

    /// Whether `key` is the one that the root key named as its successor (pre-rotation).
    pub fn is_succeeded_by(&self, key: &VerifyKey) -> bool {
        Digest::of(&[key.as_bytes()]) == self.next_root
    }

    /// The serial of the newest certificate that was seen of the root key.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// The person that `certificate` names, pinned by it.
    pub fn of(certificate: &Certificate) -> Self {
        Self {
            root: certificate.root.clone(),
            next_root: certificate.next_root,
            seen: certificate.serial,
        }
    }
}

/// The bindings, in one owner's hands; [`TrustView`] is what others see of it.
#[derive(Clone, Debug)]
pub struct TrustStore {
    view: TrustView,
}

impl TrustStore {
    /// An empty store of the agent that `own` certifies. Its principal is pinned from the start:
    /// nobody else can be made known under that name.
    pub fn new(own: &Certificate) -> Self {
        let principals = [(own.principal.clone(), Principal::of(own))];
        Self {
            view: TrustView {
                me: own.agent.clone(),
                own: own.principal.clone(),
                principals: principals.into_iter().collect(),
                peers: SharedMap::default(),
                refused: Arc::default(),
                revoked: Arc::default(),
                tables: Arc::new(KeyTables::new(TableBudget::STANDARD)),
            },
        }
    }

    /// Puts back what a view's parts said.
    pub(crate) fn put_back(
        &mut self,
        principals: BTreeMap<PrincipalId, Principal>,
        peers: BTreeMap<AgentId, Arc<KnownPeer>>,
        refused: Refused,
        revoked: Revoked,
    ) {
        let mut known = principals;
        // `new` made our own principal known from our certificate. If the stored trust lacks it, keep it: otherwise
        // somebody else could become known under its name.
        let own = self.view.principals.get(&self.view.own).cloned();
        if let (Some(own), false) = (own, known.contains_key(&self.view.own)) {
            known.insert(self.view.own.clone(), own);
        }
        self.view.principals = known.into_iter().collect();
        self.view.peers = peers.into_iter().collect();
        self.view.refused = Arc::new(refused);
        self.view.revoked = Arc::new(revoked);
    }

    /// What it holds now.
    pub fn view(&self) -> &TrustView {
        &self.view
    }

    /// Our own certificate was renewed, perhaps under the successor of our root. Who we are is not a
    /// matter of trust: it is taken as it is, also when several roots followed one another unseen.
    pub fn adopt_own(&mut self, own: &Certificate) {
        self.view
            .principals
            .insert(own.principal.clone(), Principal::of(own));
    }

    /// By our person's decision: pins the certificate's root for its principal and binds the
    /// agent-id to it, or takes a newer certificate of a binding that stands. What the person took
    /// back or refused before is given again.
    ///
    /// Returns whether anything changed.
    ///
    /// # Errors
    /// When the agent-id or the principal is bound otherwise, the certificate is revoked, or its
    /// serial is lower.
    pub fn bind(&mut self, certificate: &Certificate) -> Result<bool, BindError> {
        let refused = (certificate.root.id(), certificate.agent.clone());
        let forgiven = self.view.refused.contains(&refused);
        if forgiven {
            Arc::make_mut(&mut self.view.refused).remove(&refused);
        }
        let peer = self.view.peer(&certificate.agent);
        let withdrawn = peer.is_some_and(KnownPeer::is_withdrawn);
        let renewed = self.renew(certificate)?;
        if withdrawn {
            self.change(&certificate.agent, |peer| peer.withdrawn = false);
        }
        Ok(renewed || withdrawn || forgiven)
    }

    /// Takes the newer certificate of a binding, as a handshake brings it; the named successor of a
    /// pinned root becomes the root.
    ///
    /// Returns whether anything changed.
    ///
    /// # Errors
    /// As for [`TrustStore::bind`].
    pub fn renew(&mut self, certificate: &Certificate) -> Result<bool, BindError> {
        let agent = &certificate.agent;
        if *agent == self.view.me {
            return Err(BindError::Myself(agent.clone()));
        }
        match self.view.standing(certificate) {
            Standing::Bound(peer) if peer.newest() == Some(certificate) => return Ok(false),
            Standing::Known(_) => return Ok(false),
            Standing::Bound(_) | Standing::Unbound | Standing::Withdrawn | Standing::Refused => {}
            Standing::Older => return Err(BindError::Older(agent.clone())),
            Standing::Taken => return Err(BindError::Taken(agent.clone())),
            Standing::Revoked => return Err(BindError::Revoked(agent.clone())),
            Standing::RootChanged => {
                return Err(BindError::RootChanged(certificate.principal.clone()));
            }
        }
        self.pin(certificate);
        self.change(agent, |peer| {
            peer.principal = Some(certificate.principal.clone());
            let before = peer.newest().map(|newest| newest.signing_key.id());
            // Start the serials of key statements anew with each signing key: otherwise a thief of an older signing key could
            // use up the serials that the newer key needs.
            if before != Some(certificate.signing_key.id()) {
                peer.keys_serial = 0;
            }
            // An agent that is trusted again may bring the certificate that is its newest already: do not store it twice.
            if peer.newest() != Some(certificate) {
                peer.certificates.push(certificate.clone());
            }
            if peer.certificates.len() > CERTIFICATES {
                peer.certificates.remove(0);
            }
        });
        Ok(true)
    }

    /// By our person's decision alone: the principal of `certificate` goes on with another root key,
    /// which nobody announced. Every other agent of the principal is withdrawn, and nothing that the
    /// old root signed counts any more, until the person binds it again under the new root.
    ///
    /// # Errors
    /// When the agent-id is our own or another principal's, or the principal is our own.
    pub fn replace_root(&mut self, certificate: &Certificate) -> Result<(), BindError> {
        let (agent, principal) = (&certificate.agent, &certificate.principal);
        // Refuse our own agent and our own principal: our root key comes with our own certificate, and not from a decision
        // about trust.
        if *agent == self.view.me || *principal == self.view.own {
            return Err(BindError::Myself(agent.clone()));
        }
        let bound = self.view.peer(agent).and_then(KnownPeer::principal);
        if bound.is_some_and(|bound| bound != principal) {
            return Err(BindError::Taken(agent.clone()));
        }
        for other in self.agents_of(principal) {
            self.change(&other, |peer| {
                peer.certificates.clear();
                peer.keys_serial = 0;
                peer.withdrawn = true;
            });
        }
        let pinned = &mut self.view.principals;
        pinned.insert(principal.clone(), Principal::of(certificate));
        Arc::make_mut(&mut self.view.refused).remove(&(certificate.root.id(), agent.clone()));
        self.change(agent, |peer| {
            peer.principal = Some(principal.clone());
            peer.certificates = vec![certificate.clone()];
            peer.withdrawn = false;
        });
        Ok(())
    }

    /// Our person takes back the trust in a bound agent. Returns whether anything changed.
    pub fn withdraw(&mut self, agent: &AgentId) -> bool {
        let peer = self.view.peer(agent);
        let changes = peer.is_some_and(|peer| !peer.withdrawn);
        if changes {
            self.change(agent, |peer| peer.withdrawn = true);
        }
        changes
    }

    /// Our person refuses a stranger: this agent-id under this root is not asked about again.
    pub fn refuse(&mut self, certificate: &Certificate) {
        let refused = (certificate.root.id(), certificate.agent.clone());
        Arc::make_mut(&mut self.view.refused).insert(refused);
    }

    /// Takes a revocation of a pinned root. Returns whether anything changed.
    pub fn revoke(&mut self, revocation: &Revocation) -> bool {
        if !self.view.is_news(revocation) {
            return false;
        }
        let named = (revocation.principal.clone(), revocation.agent.clone());
        let known = Arc::make_mut(&mut self.view.revoked);
        let known = known.entry(named).or_default();
        known.retain(|known| known.root != revocation.root);
        known.push(Arc::new(revocation.clone()));
        // `change` raises the peer's epoch, so that messages which were verified before the revocation are verified again.
        if self.view.peer(&revocation.agent).is_some() {
            self.change(&revocation.agent, |_| {});
        }
        true
    }

    /// Notes the lowest version that a peer offered; it never falls.
    pub fn raise_lowest_version(&mut self, agent: &AgentId, version: Version) {
        let known = self.view.peer(agent).and_then(KnownPeer::lowest_version);
        if known.is_none_or(|known| known < version) {
            self.change(agent, |peer| peer.lowest_version = Some(version));
        }
    }

    /// Notes the serial of a peer's key statement; it never falls.
    pub fn raise_keys_serial(&mut self, agent: &AgentId, serial: u64) {
        let peer = self.view.peer(agent);
        if peer.is_some_and(|peer| peer.keys_serial < serial) {
            self.change(agent, |peer| peer.keys_serial = serial);
        }
    }

    /// Pins an unknown principal, lets a named successor follow its root, and remembers the newest
    /// certificate's successor.
    fn pin(&mut self, certificate: &Certificate) {
        let pinned = self.view.principals.get(&certificate.principal);
        let newer = pinned.is_none_or(|known| {
            let same_root = known.root == certificate.root;
            (same_root && certificate.serial >= known.seen)
                || (!same_root && known.is_succeeded_by(&certificate.root))
        });
        let succeeds = pinned.is_some_and(|known| known.root != certificate.root);
        if newer {
            let principals = &mut self.view.principals;
            principals.insert(certificate.principal.clone(), Principal::of(certificate));
        }
        if newer && succeeds {
            // `change` raises the epoch of each agent, so that messages which were verified under the older root key are
            // verified again.
            for agent in self.agents_of(&certificate.principal) {
                self.change(&agent, |_| {});
            }
        }
    }

    pub(crate) fn agents_of(&self, principal: &PrincipalId) -> Vec<AgentId> {
        let peers = self.view.peers();
        let theirs = peers.filter(|(_, peer)| peer.principal() == Some(principal));
        theirs.map(|(agent, _)| agent.clone()).collect()
    }

    fn change(&mut self, agent: &AgentId, change: impl FnOnce(&mut KnownPeer)) {
        let unknown = || Arc::new(KnownPeer::unknown());
        self.view.peers.change_or_insert(agent, unknown, |peer| {
            let peer = Arc::make_mut(peer);
            change(peer);
            peer.epoch += 1;
        });
    }
}

/// Refusals of strangers: a root key and the agent-id that it claimed.
pub(crate) type Refused = BTreeSet<(KeyId, AgentId)>;
/// The revocation that reaches highest, for each agent of a principal and each root that was pinned.
pub(crate) type Revoked = BTreeMap<(PrincipalId, AgentId), Vec<Arc<Revocation>>>;
