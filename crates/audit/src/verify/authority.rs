//! Whose signatures count: the certificates that the log itself pinned, in the order it did.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use signet_proto::certificate::{Certificate, ControlCertificate};
use signet_proto::entry::TrustChange;
use signet_proto::envelope::Message;
use signet_proto::ids::{AgentId, KeyId, PrincipalId};
use signet_proto::keys::{KeyTables, Purpose};
use signet_proto::statement::Revocation;
use signet_proto::trust::Principal;

/// What `genesis` and `trust` lines made known so far.
#[derive(Debug, Default)]
pub(crate) struct KnownTrust {
    me: Option<AgentId>,
    roots: BTreeMap<PrincipalId, Principal>,
    agents: BTreeMap<AgentId, KnownAgent>,
}

#[derive(Debug)]
struct KnownAgent {
    principal: PrincipalId,
    certificates: VecDeque<Arc<Certificate>>,
}

/// What a message is worth under the certificate of the key that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Worth {
    /// The signature is the sender's.
    Holds,
    /// It is the sender's, whose certificate did not cover the message's `timestamp`: whoever signed it
    /// had a wrong clock, or a certificate that had run out. Nobody changed it since.
    OutOfDates,
    /// The signature does not prove the message; the text says why.
    Forged(&'static str),
}

/// Why a message outside its certificate's dates is no honest line where a peer's was accepted.
pub(crate) const OUT_OF_DATES: &str =
    "the sender's certificate was not valid at the message's timestamp";

/// Whether the key that `certificate` certifies signed the message. The certificate is one that the log made known: the
/// keys of others have no table.
pub(crate) fn worth(certificate: &Certificate, message: &Message, tables: &KeyTables) -> Worth {
    let headers = &message.headers;
    if certificate.principal != headers.principal_id {
        return Worth::Forged("the message's principal-id is not its sender's");
    }
    let (parts, signature) = (message.signed_parts(), message.signature());
    let key = &certificate.signing_key;
    if !tables.verify(key, Purpose::Message, &parts, signature) {
        return Worth::Forged("the message's signature does not hold");
    }
    match certificate.covers(headers.timestamp) {
        true => Worth::Holds,
        false => Worth::OutOfDates,
    }
}

impl KnownTrust {
    /// Whose log it is.
    pub(crate) fn me(&self) -> Option<&AgentId> {
        self.me.as_ref()
    }

    /// Takes the log's own certificate.
    pub(crate) fn begin(&mut self, own: &Certificate) {
        self.me = Some(own.agent.clone());
        // `bind` cannot fail for the first line: no root key and no agent is known yet that the certificate could contradict.
        let _ = self.bind(own);
    }

    /// Takes a change of trust that a person or a handshake made.
    pub(crate) fn pin(
        &mut self,
        change: TrustChange,
        certificate: &Certificate,
    ) -> Result<(), &'static str> {
        match change {
            // These changes make no certificate known: they note a stranger's claim, or end the trust in an agent.
            TrustChange::Pending
            | TrustChange::Refused
            | TrustChange::RootChanged
            | TrustChange::Withdrawn
            | TrustChange::Revoked => Ok(()),
            TrustChange::RootReplaced => {
                // The person has replaced the root key, though the old key had named another successor or none: take
                // the new key unchecked.
                let pinned = Principal::of(certificate);
                self.roots.insert(certificate.principal.clone(), pinned);
                self.bind(certificate)
            }
            TrustChange::Bound | TrustChange::Renewed | TrustChange::RootSucceeded => {
                self.bind(certificate)
            }
        }
    }

    /// A revocation counts when the pinned root signed it.
    pub(crate) fn admit_revocation(&self, revocation: &Revocation) -> Result<(), &'static str> {
        let pinned = self.roots.get(&revocation.principal);
        let counts = |pinned: &Principal| {
            *pinned.root() == revocation.root || pinned.is_succeeded_by(&revocation.root)
        };
        match pinned.is_some_and(counts) {
            true => Ok(()),
            false => Err("the revocation's root key is not the one known for its principal"),
        }
    }

    /// Whether a control certificate is the own person's as of this line: of the root key of the own
    /// certificate, or of the one pinned for its principal, which another agent of the person may have
    /// followed first. None when the log's first line, which says whose it is, was not given.
    pub(crate) fn is_own_control(&self, control: &ControlCertificate) -> Option<bool> {
        let own = self.agents.get(self.me.as_ref()?)?;
        let newest = own.certificates.back()?;
        let pinned = self.roots.get(&own.principal)?;
        let is_own = control.principal == own.principal;
        Some(is_own && (control.root == newest.root || control.root == *pinned.root()))
    }

    /// The root key that an agent is bound to.
    pub(crate) fn root_of(&self, agent: &AgentId) -> Option<KeyId> {
        let known = self.agents.get(agent)?;
        Some(self.roots.get(&known.principal)?.root().id())
    }

    fn bind(&mut self, certificate: &Certificate) -> Result<(), &'static str> {
        // Accept a certificate that the agent had before: a person may trust the agent again by a certificate from
        // before its root key changed.
        let known = self.agents.get(&certificate.agent);
        if known.is_some_and(|known| known.has(certificate)) {
            return Ok(());
        }
        // Take the log's own certificate under any root key: its person may change the root key several times between
        // two starts, and the newest key is then not the successor that the last known key named.
        if self.me.as_ref() == Some(&certificate.agent) {
            let pinned = Principal::of(certificate);
            self.roots.insert(certificate.principal.clone(), pinned);
        }
        if !self.admits_root(certificate) {
            return Err("the certificate's root key is not the one known for its principal before");
        }
        let known = self
            .agents
            .entry(certificate.agent.clone())
            .or_insert_with(|| KnownAgent {
                principal: certificate.principal.clone(),
                certificates: VecDeque::new(),
            });
        if known.principal != certificate.principal {
            return Err("the agent was known as another principal's before");
        }
        known.learn(certificate);
        Ok(())
    }

    /// Whether the root is the pinned one or its named successor, which then takes its place.
    fn admits_root(&mut self, certificate: &Certificate) -> bool {
        let pinned = self
            .roots
            .entry(certificate.principal.clone())
            .or_insert_with(|| Principal::of(certificate));
        let same = *pinned.root() == certificate.root;
        let succeeds = !same && pinned.is_succeeded_by(&certificate.root);
        // Ignore the successor that an older certificate of the same root key names: the newer certificate may name
        // another, and the former successor must not become the root key.
        if succeeds || (same && certificate.serial >= pinned.seen()) {
            *pinned = Principal::of(certificate);
        }
        same || succeeds
    }

    /// The certificate by which the message has to be proven, when one is known of the key that it
    /// names and the agent that it names as its sender.
    pub(crate) fn certificate(&mut self, message: &Message) -> Option<Arc<Certificate>> {
        let method = message.form.method();
        if method.is_some_and(|method| method.is_handshake()) {
            self.learn_from_flight(message);
        }
        let known = self.agents.get(&message.headers.agent_id);
        known.and_then(|known| known.of(message)).cloned()
    }

    /// A flight's own certificate counts when its root was pinned for an agent that was bound.
    fn learn_from_flight(&mut self, message: &Message) {
        let value = message.body().and_then(|body| body.get("certificate"));
        let Some(certificate) = value.and_then(|value| Certificate::parse(value).ok()) else {
            return;
        };
        let bound = self.agents.get(&certificate.agent);
        let bound = bound.is_some_and(|known| known.principal == certificate.principal);
        // Take also a certificate under the root key that the known root key has named as its successor. Do not replace
        // the known root key here: a later line of the log does that once the session stands.
        let pinned = self.roots.get(&certificate.principal);
        let counts = pinned.is_some_and(|pinned| {
            *pinned.root() == certificate.root || pinned.is_succeeded_by(&certificate.root)
        });
        if bound && counts {
            let known = self.agents.get_mut(&certificate.agent);
            known
                .into_iter()
                .for_each(|known| known.learn(&certificate));
        }
    }
}

impl KnownAgent {
    fn has(&self, certificate: &Certificate) -> bool {
        self.certificates
            .iter()
            .any(|known| **known == *certificate)
    }

    fn learn(&mut self, certificate: &Certificate) {
        if self.has(certificate) {
            return;
        }
        if self.certificates.len() >= CERTIFICATES {
            self.certificates.pop_front();
        }
        self.certificates.push_back(Arc::new(certificate.clone()));
    }

    /// The newest certificate of the key that signed.
    fn of(&self, message: &Message) -> Option<&Arc<Certificate>> {
        self.certificates
            .iter()
            .rev()
            .find(|certificate| certificate.signing_key.id() == message.headers.key_id)
    }
}

/// Kept for each agent: far more than are good at the same time.
const CERTIFICATES: usize = 64;
