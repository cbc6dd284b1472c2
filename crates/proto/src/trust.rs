//! Whom we know: agent-ids bound to principals, principals pinned by their root key.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::certificate::Certificate;
use crate::ids::{AgentId, KeyId, PrincipalId, Version};
use crate::keys::VerifyKey;
use crate::reject::Reason;

/// How many certificates of one agent are kept: the newest, and those still good for open sessions.
const CERTIFICATES: usize = 4;

/// An agent bound to its principal.
#[derive(Clone, Debug)]
pub struct Peer {
    certificates: Vec<Certificate>,
    epoch: u64,
    lowest_version: Option<Version>,
    keys_serial: u64,
}

impl Peer {
    /// The newest certificate.
    pub fn newest(&self) -> Option<&Certificate> {
        self.certificates.last()
    }

    /// The principal whose root signed.
    pub fn principal(&self) -> Option<&PrincipalId> {
        self.newest().map(|certificate| &certificate.principal)
    }

    /// The certificate of the key `id`.
    pub fn certificate(&self, id: KeyId) -> Option<&Certificate> {
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

    fn root(&self) -> Option<&VerifyKey> {
        self.newest().map(|certificate| &certificate.root)
    }
}

/// A person refused a binding because it contradicts one that stands.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// The agent-id is this agent's own.
    #[error("{0} is this agent itself; a peer has another agent-id")]
    Myself(AgentId),
    /// The agent-id belongs to another principal.
    #[error(
        "{0} is already bound to another principal's root key; compare both fingerprints with their owners"
    )]
    Taken(AgentId),
    /// The principal is pinned with another root key.
    #[error(
        "{0} is already pinned with another root key; compare fingerprints with the person before anything else"
    )]
    RootChanged(PrincipalId),
    /// A higher serial is known.
    #[error("a certificate of {0} with a higher serial is already known; ask for the newest")]
    Older(AgentId),
}

impl BindError {
    /// The stable name.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Myself(_) => "reflected",
            Self::Taken(_) => "agent-id-taken",
            Self::RootChanged(_) => "root-changed",
            Self::Older(_) => "serial-rolled-back",
        }
    }
}

/// The bindings, in one owner's hands; [`TrustView`] is what others see of it.
#[derive(Clone, Debug)]
pub struct TrustStore {
    view: TrustView,
}

/// A snapshot of the trust store, cheap to clone and to share between threads.
#[derive(Clone, Debug)]
pub struct TrustView {
    me: AgentId,
    own: Arc<(PrincipalId, VerifyKey)>,
    peers: Arc<BTreeMap<AgentId, Arc<Peer>>>,
}

impl TrustStore {
    /// An empty store of the agent that `own` certifies. Its principal is pinned from the start:
    /// nobody else can be made known under that name.
    pub fn new(own: &Certificate) -> Self {
        Self {
            view: TrustView {
                me: own.agent.clone(),
                own: Arc::new((own.principal.clone(), own.root.clone())),
                peers: Arc::default(),
            },
        }
    }

    /// What it holds now.
    pub fn view(&self) -> &TrustView {
        &self.view
    }

    /// Pins the certificate's root for its principal and binds the agent-id to it, or takes a newer
    /// certificate of a binding that stands.
    ///
    /// Returns whether anything changed.
    ///
    /// # Errors
    /// When the agent-id or the principal is bound otherwise, or the serial is lower.
    pub fn bind(&mut self, certificate: &Certificate) -> Result<bool, BindError> {
        let agent = &certificate.agent;
        if *agent == self.view.me {
            return Err(BindError::Myself(agent.clone()));
        }
        match self.view.standing(certificate) {
            Standing::Bound(peer) if peer.newest() == Some(certificate) => return Ok(false),
            Standing::Bound(_) | Standing::Unbound => {}
            Standing::Older => return Err(BindError::Older(agent.clone())),
            Standing::Taken => return Err(BindError::Taken(agent.clone())),
            Standing::RootChanged => {
                return Err(BindError::RootChanged(certificate.principal.clone()));
            }
        }
        self.change(agent, |peer| {
            peer.certificates.push(certificate.clone());
            if peer.certificates.len() > CERTIFICATES {
                peer.certificates.remove(0);
            }
        });
        Ok(true)
    }

    /// Notes the lowest version that a peer offered; it never falls.
    pub fn raise_lowest_version(&mut self, agent: &AgentId, version: Version) {
        let known = self.view.peer(agent).and_then(Peer::lowest_version);
        if known.is_none_or(|known| known < version) {
            self.change(agent, |peer| peer.lowest_version = Some(version));
        }
    }

    /// Notes the serial of a peer's key statement; it never falls.
    pub fn raise_keys_serial(&mut self, agent: &AgentId, serial: u64) {
        if self
            .view
            .peer(agent)
            .is_some_and(|peer| peer.keys_serial < serial)
        {
            self.change(agent, |peer| peer.keys_serial = serial);
        }
    }

    fn change(&mut self, agent: &AgentId, change: impl FnOnce(&mut Peer)) {
        let peers = Arc::make_mut(&mut self.view.peers);
        let peer = peers.entry(agent.clone()).or_insert_with(|| {
            Arc::new(Peer {
                certificates: Vec::new(),
                epoch: 0,
                lowest_version: None,
                keys_serial: 0,
            })
        });
        let peer = Arc::make_mut(peer);
        change(peer);
        peer.epoch += 1;
    }
}

enum Standing<'a> {
    Bound(&'a Peer),
    Unbound,
    Older,
    Taken,
    RootChanged,
}

impl TrustView {
    /// Whose view it is.
    pub fn me(&self) -> &AgentId {
        &self.me
    }

    /// The peer of that name.
    pub fn peer(&self, agent: &AgentId) -> Option<&Peer> {
        self.peers.get(agent).map(Arc::as_ref)
    }

    /// Every peer, by name.
    pub fn peers(&self) -> impl Iterator<Item = (&AgentId, &Peer)> {
        self.peers
            .iter()
            .map(|(agent, peer)| (agent, peer.as_ref()))
    }

    /// The bound peer that a flight's certificate speaks of (check V06).
    ///
    /// # Errors
    /// `agent-id-taken`, `root-changed`, `principal-unknown`, `agent-unknown` or
    /// `serial-rolled-back`.
    pub fn admit(&self, certificate: &Certificate) -> Result<&Peer, Reason> {
        match self.standing(certificate) {
            Standing::Bound(peer) => Ok(peer),
            Standing::Older => Err(Reason::SerialRolledBack),
            Standing::Taken => Err(Reason::AgentIdTaken),
            Standing::RootChanged => Err(Reason::RootChanged),
            Standing::Unbound if self.root_of(&certificate.principal).is_some() => {
                Err(Reason::AgentUnknown)
            }
            Standing::Unbound => Err(Reason::PrincipalUnknown),
        }
    }

    fn standing(&self, certificate: &Certificate) -> Standing<'_> {
        let pinned = self.root_of(&certificate.principal);
        if pinned.is_some_and(|root| *root != certificate.root) {
            return Standing::RootChanged;
        }
        let Some(peer) = self.peer(&certificate.agent) else {
            return Standing::Unbound;
        };
        // The principal's name is bound with the root: a certificate that renames it would take the
        // name of a person whom we do not know yet.
        let same_principal = peer.principal() == Some(&certificate.principal);
        if peer.root() != Some(&certificate.root) || !same_principal {
            return Standing::Taken;
        }
        // An equal serial must be the very same certificate: two under one serial would be a choice
        // that the sender makes anew each time.
        let newest = peer.newest().map_or(0, |newest| newest.serial);
        let same = peer.newest() == Some(certificate);
        if certificate.serial > newest || same {
            Standing::Bound(peer)
        } else {
            Standing::Older
        }
    }

    fn root_of(&self, principal: &PrincipalId) -> Option<&VerifyKey> {
        if self.own.0 == *principal {
            return Some(&self.own.1);
        }
        let of = |peer: &&Arc<Peer>| peer.principal() == Some(principal);
        self.peers.values().find(of).and_then(|peer| peer.root())
    }
}
