//! What people's decisions change: bindings, revocations, approvals. Part of the one place where
//! lasting state changes.

use crate::certificate::Certificate;
use crate::entry::TrustChange;
use crate::ids::AgentId;
use crate::reject::PEER_REVOKED;
use crate::statement::Revocation;
use crate::trust::TrustStore;

use crate::node::memory::{Changed, Line};
use crate::node::{Lost, State};

impl Line<'_> {
    pub(in crate::node) fn apply_trust(
        mut self,
        change: TrustChange,
        certificate: &Certificate,
    ) -> Changed {
        let agent = &certificate.agent;
        match change {
            // A line that contradicts an earlier line about the same agent is never written. If a log holds such a line all the
            // same, `audit verify` refuses the log, and here the earlier line counts.
            TrustChange::Bound => {
                let withdrawn = self.node.trust().peer(agent);
                let withdrawn = withdrawn.is_some_and(|peer| peer.is_withdrawn());
                // A stranger that waited for this decision, or an agent that was withdrawn, does not know of it yet: announce
                // to it although no mail waits.
                let approved = self.node.people.strangers.decided(certificate) || withdrawn;
                let _ = self.change_trust(certificate, |trust| trust.bind(certificate));
                self.node.peers.entry(agent).apply_bound(approved);
            }
            TrustChange::Renewed | TrustChange::RootSucceeded => {
                let _ = self.change_trust(certificate, |trust| trust.renew(certificate));
                self.node.peers.entry(agent);
            }
            TrustChange::Pending => self.node.people.strangers.wait(self.now, certificate),
            TrustChange::RootChanged => self.node.people.strangers.alarmed(self.now, certificate),
            TrustChange::Refused => {
                self.node.trust.refuse(certificate);
                self.node.people.strangers.refused(certificate);
            }
            TrustChange::Withdrawn => {
                self.node.trust.withdraw(agent);
                return self.cut(agent);
            }
            TrustChange::RootReplaced => return self.apply_replaced_root(certificate),
            TrustChange::Revoked => {}
        }
        Changed::default()
    }

    fn apply_replaced_root(mut self, certificate: &Certificate) -> Changed {
        let _ = self.node.trust.replace_root(certificate);
        self.node.people.strangers.decided(certificate);
        let theirs = self.node.trust().peers();
        let theirs = theirs.filter(|(_, peer)| peer.principal() == Some(&certificate.principal));
        let theirs: Vec<AgentId> = theirs.map(|(agent, _)| agent.clone()).collect();
        let mut changed = Changed::default();
        for agent in theirs {
            changed.fates.append(&mut self.cut(&agent).fates);
        }
        changed
    }

    pub(in crate::node) fn apply_revocation(mut self, revocation: &Revocation) -> Changed {
        self.node.trust.revoke(revocation);
        let agent = &revocation.agent;
        let Some(peer) = self.node.trust().peer(agent).cloned() else {
            return Changed::default();
        };
        if self.node.trust().trusted(agent).is_none() {
            return self.cut(agent);
        }
        // The peer has a newer certificate that is valid: end only the sessions, and set aside only the messages, under its
        // revoked keys.
        let view = self.node.trust().clone();
        let revoked = |key| {
            let certificate = peer.certificate(key);
            certificate.is_none_or(|certificate| view.is_revoked(certificate))
        };
        self.node
            .inbox
            .set_aside(agent, |message| revoked(message.headers.key_id));
        let peer = self.node.peers.entry(agent);
        let lost = peer.end_those(|session| revoked(session.peer_key));
        self.note_lost(agent, lost, Lost::SessionLost)
    }

    /// Takes the certificate that a handshake brought, and says what it was worth.
    pub(in crate::node) fn renew(&mut self, certificate: &Certificate) -> Option<TrustChange> {
        let principal = self.node.trust().principal(&certificate.principal);
        let succeeds = principal.is_some_and(|known| *known.root() != certificate.root);
        match self.change_trust(certificate, |trust| trust.renew(certificate)) {
            Ok(true) if succeeds => Some(TrustChange::RootSucceeded),
            Ok(true) => Some(TrustChange::Renewed),
            _ => None,
        }
    }

    /// Changes trust by a certificate. Where its person has another root key then, each of their agents may stand
    /// otherwise than before.
    fn change_trust<T>(
        &mut self,
        certificate: &Certificate,
        change: impl FnOnce(&mut TrustStore) -> T,
    ) -> T {
        let trust = &mut self.node.trust;
        let is_root = |trust: &TrustStore| {
            let pinned = trust.view().principal(&certificate.principal);
            pinned.is_some_and(|pinned| *pinned.root() == certificate.root)
        };
        let was_root = is_root(trust);
        let changed = change(trust);
        if is_root(trust) != was_root {
            for agent in trust.agents_of(&certificate.principal) {
                self.node.peers.known_mut().note(&agent);
            }
        }
        changed
    }

    /// Ends everything with a peer that is trusted no more: sessions, drafts, open requests, tasks; what
    /// it sent and our agent has not taken is set aside for the person. The sessions are forgotten: when
    /// it is trusted again, what it sent in them meanwhile is not taken, and it hears so.
    fn cut(&mut self, agent: &AgentId) -> Changed {
        self.node.tasks.cut(self.now, agent);
        let Some(link) = self.node.peers.get_mut(agent) else {
            return Changed::default();
        };
        let mut names = self.node.sent.cut(agent);
        let unreceipted = link.cut().into_iter();
        names.extend(unreceipted.map(|it| it.message_id));
        // `sent` and `link` both name a request that has no receipt yet: keep each name once.
        names.sort_unstable();
        names.dedup();
        self.node.inbox.set_aside(agent, |_| true);
        let refused = State::RefusedHere(PEER_REVOKED.to_owned());
        let fates = names.into_iter();
        let fates = fates.map(|name| (agent.clone(), name, refused.clone()));
        self.note_fates(fates.collect())
    }
}
