//! What time brings with each peer, and a start: resends, receipts, renewals, ends.

use std::time::Duration;

use crate::draft::Identity;
use crate::envelope::Method;
use crate::ids::AgentId;
use crate::time::Timestamp;

use super::Peer;
use crate::node::turn::PeersDoor;

impl PeersDoor<'_, '_> {
    /// What is due with each peer.
    pub(in crate::node) fn overdue(&mut self) {
        let peers: Vec<AgentId> = self.turn.node.peers.names().cloned().collect();
        for peer in peers {
            self.turn.flights().resend(&peer);
            self.turn.sent().resend(&peer);
            self.turn.sent().sign_anew(&peer);
            self.turn.drafts().overdue(&peer);
            self.turn.receipts().send_due(&peer);
            self.turn.receipts().resend(&peer);
            self.turn.offers().tell_offers(&peer);
            self.turn.flights().seek_session(&peer);
        }
    }

    /// The log has been told again: handshakes of ours are forgotten, and each session's peer hears how far we are.
    pub(in crate::node) fn resume(&mut self) {
        let now = self.turn.at.now;
        let peers: Vec<AgentId> = self.turn.node.peers.names().cloned().collect();
        for peer in &peers {
            let link = self.turn.node.peers.entry(peer);
            let unsent = link.handshake.restart(now);
            let sessions = link.sessions.iter();
            let open = sessions.filter(|session| session.is_open_for_sending(now));
            let open: Vec<_> = open.map(|session| session.id).collect();
            for id in open {
                self.turn.receipts().send(peer, id);
            }
            self.turn.drafts().end_lost(peer);
            // After a start no program is connected yet: an offer that does not outlive its program has ended, and the
            // peer is told.
            self.turn.offers().mark_offers(peer);
            self.turn.offers().tell_offers(peer);
            match unsent {
                Some(Method::Verify) => self.turn.flights().send_verify(peer),
                Some(_) => self.turn.flights().send_trust(peer),
                None => self.turn.flights().renew_grant(peer),
            }
        }
    }
}

impl Peer {
    /// When time asks something of it.
    pub(in crate::node) fn due(
        &self,
        now: Timestamp,
        elapsed: Duration,
        own: &Identity,
        mail_waits: bool,
    ) -> Option<Timestamp> {
        let sessions = self.sessions.iter().flat_map(|session| {
            [session.retry.map(|retry| retry.due()), session.ledger.due()]
                .into_iter()
                .flatten()
        });
        let fixed = [
            self.handshake.due(),
            self.receipt_due(now, elapsed, own),
            self.receipt_again_at(now, elapsed),
            self.seeks_session_at(own.until(), mail_waits),
        ];
        sessions.chain(fixed.into_iter().flatten()).min()
    }
}
