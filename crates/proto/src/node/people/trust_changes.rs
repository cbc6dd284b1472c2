//! What people's decisions change: bindings, revocations, approvals. Part of the one place where
//! lasting state changes.

use crate::certificate::Certificate;
use crate::entry::{ApprovalLine, TrustChange};
use crate::ids::AgentId;
use crate::statement::Revocation;
use crate::time::Timestamp;

use crate::node::inbound::PEER_REVOKED;
use crate::node::memory::{Changed, unknown};
use crate::node::{Lost, Node, State};

impl Node {
    pub(in crate::node) fn apply_trust(
        &mut self,
        now: Timestamp,
        change: TrustChange,
        certificate: &Certificate,
    ) -> Changed {
        let agent = &certificate.agent;
        match change {
            // A binding that contradicts another was never written; a log that holds one is refused
            // by `audit verify`, and here the first one stands.
            TrustChange::Bound => {
                let withdrawn = self.trust().peer(agent);
                let withdrawn = withdrawn.is_some_and(|peer| peer.is_withdrawn());
                let approved = self.people.strangers.decided(certificate) || withdrawn;
                let _ = self.trust.bind(certificate);
                let link = self.peers.entry(agent);
                link.next_announce = None;
                link.greets |= approved;
            }
            TrustChange::Renewed | TrustChange::RootSucceeded => {
                let _ = self.trust.renew(certificate);
                self.peers.entry(agent);
            }
            TrustChange::Pending => self.people.strangers.wait(now, certificate),
            TrustChange::RootChanged => self.people.strangers.alarmed(now, certificate),
            TrustChange::Refused => {
                self.trust.refuse(certificate);
                self.people.strangers.refused(certificate);
            }
            TrustChange::Withdrawn => {
                self.trust.withdraw(agent);
                return self.cut(now, agent);
            }
            TrustChange::RootReplaced => return self.apply_replaced_root(now, certificate),
            TrustChange::Revoked => {}
        }
        Changed::default()
    }

    fn apply_replaced_root(&mut self, now: Timestamp, certificate: &Certificate) -> Changed {
        let _ = self.trust.replace_root(certificate);
        self.people.strangers.decided(certificate);
        let theirs = self.trust().peers();
        let theirs = theirs.filter(|(_, peer)| peer.principal() == Some(&certificate.principal));
        let theirs: Vec<AgentId> = theirs.map(|(agent, _)| agent.clone()).collect();
        let mut changed = Changed::default();
        for agent in theirs {
            changed.fates.append(&mut self.cut(now, &agent).fates);
        }
        changed
    }

    pub(in crate::node) fn apply_revocation(
        &mut self,
        now: Timestamp,
        revocation: &Revocation,
    ) -> Changed {
        self.trust.revoke(revocation);
        let agent = &revocation.agent;
        let Some(peer) = self.trust().peer(agent).cloned() else {
            return Changed::default();
        };
        if self.trust().trusted(agent).is_none() {
            return self.cut(now, agent);
        }
        // A newer certificate stands: only what the revoked keys opened and signed goes.
        let view = self.trust().clone();
        let revoked = |key| {
            let certificate = peer.certificate(key);
            certificate.is_none_or(|certificate| view.is_revoked(certificate))
        };
        self.inbox
            .set_aside(agent, |message| revoked(message.headers.key_id));
        let link = self.peers.entry(agent);
        let mut lost = Vec::new();
        let closed = link
            .sessions
            .extract_if(.., |session| revoked(session.peer_key));
        for mut session in closed {
            lost.append(&mut session.ledger.abandon());
        }
        self.note_fates(now, unknown(agent, lost, Lost::SessionLost))
    }

    /// Takes the certificate that a handshake brought, and says what it was worth.
    pub(in crate::node) fn renew(&mut self, certificate: &Certificate) -> Option<TrustChange> {
        let principal = self.trust().principal(&certificate.principal);
        let succeeds = principal.is_some_and(|known| *known.root() != certificate.root);
        match self.trust.renew(certificate) {
            Ok(true) if succeeds => Some(TrustChange::RootSucceeded),
            Ok(true) => Some(TrustChange::Renewed),
            _ => None,
        }
    }

    /// Ends everything with a peer that is trusted no more: sessions, drafts, open requests, tasks; what
    /// it sent and our agent has not taken is set aside for the person. The sessions are forgotten: when
    /// it is trusted again, what it sent in them meanwhile is not taken, and it hears so.
    fn cut(&mut self, now: Timestamp, agent: &AgentId) -> Changed {
        self.tasks.cut(now, agent);
        let Some(link) = self.peers.get_mut(agent) else {
            return Changed::default();
        };
        let mut names = self.sent.cut(agent);
        for mut session in link.sessions.drain(..) {
            names.append(&mut session.ledger.abandon());
        }
        link.handshake = Default::default();
        link.greets = false;
        names.sort_unstable();
        names.dedup();
        self.inbox.set_aside(agent, |_| true);
        let refused = State::RefusedHere(PEER_REVOKED.to_owned());
        let fates = names.into_iter();
        let fates = fates.map(|name| (agent.clone(), name, refused.clone()));
        self.note_fates(now, fates.collect())
    }

    pub(in crate::node) fn apply_approval(&mut self, line: &ApprovalLine) {
        self.peers.entry(&line.peer);
        self.sent.apply_approval(line);
    }
}
