//! By which carrier a message of ours leaves.

use crate::carrier::{CarrierId, Parcel};
use crate::draft::Signed;
use crate::envelope::{Form, KeptIn, Method};
use crate::ids::AgentId;

use crate::node::Effect;
use crate::node::turn::WaysDoor;

/// Which ways messages took between us and one peer. Not lasting.
#[derive(Debug, Default)]
pub(in crate::node) struct PeerWays {
    /// The carrier that brought what the peer said last.
    pub(super) heard_by: Option<CarrierId>,
    /// The carrier that our last flight took.
    pub(super) flown_by: Option<CarrierId>,
    /// Whether a copy of the peer's shows that our last receipt did not arrive.
    pub(super) unheard: bool,
}

impl WaysDoor<'_, '_> {
    /// Lets a new message go out. A numbered one takes the first way, and its ledger knows which; a receipt
    /// the one by which the peer was heard last, or, where a copy showed that the last did not arrive, all; an
    /// announce the next after one that was in vain, and the other flights the way by which theirs came;
    /// decrees, which nobody receipts, all.
    pub(in crate::node) fn publish(&mut self, signed: Signed) {
        let peer = signed.recipient().clone();
        let ways = self.turn.node.peers.carriers.ways_to(&peer);
        let link = self.turn.node.peers.entry(&peer);
        let headers = &signed.message().headers;
        let first = ways.next(None, |_| false);
        let answer = link
            .ways
            .heard_by
            .as_ref()
            .filter(|heard| ways.has(heard))
            .or(first);
        let taken = match signed.message().form.kept() {
            KeptIn::Orders => ways.0.clone(),
            // The peer has sent a message again, so it lacks our receipt: send this receipt by all carriers. `take` clears the
            // mark, so that later receipts go by a single carrier again.
            KeptIn::Receipts if std::mem::take(&mut link.ways.unheard) => ways.0.clone(),
            KeptIn::Receipts => answer.into_iter().cloned().collect(),
            KeptIn::Handshake if signed.message().form == Form::Call(Method::Announce) => {
                let next = ways.next(link.ways.flown_by.as_ref(), |_| false).cloned();
                link.ways.flown_by.clone_from(&next);
                next.into_iter().collect()
            }
            KeptIn::Handshake => {
                let answer = answer.cloned();
                link.ways.flown_by.clone_from(&answer);
                answer.into_iter().collect()
            }
            KeptIn::Inbox | KeptIn::Request | KeptIn::Offers | KeptIn::Nowhere => {
                let session = headers.session.and_then(|id| link.session_mut(id));
                if let (Some(session), Some(first)) = (session, first) {
                    let (ledger, now) = (&mut session.ledger, self.turn.at.now);
                    if ledger.holds_back(headers.message_id, now, &ways) {
                        return;
                    }
                    ledger.sent_by(headers.message_id, first);
                }
                first.into_iter().cloned().collect::<Vec<_>>()
            }
        };
        for carrier in &taken {
            self.push_by(signed.clone(), carrier);
        }
    }

    /// Lets a flight of ours go out again: by the next way, since it may have been lost on the last.
    pub(in crate::node) fn fly_again(&mut self, peer: &AgentId, signed: Signed) {
        let ways = self.turn.node.peers.carriers.ways_to(peer);
        let link = self.turn.node.peers.entry(peer);
        let next = ways.next(link.ways.flown_by.as_ref(), |_| false).cloned();
        link.ways.flown_by.clone_from(&next);
        if let Some(carrier) = next {
            self.push_by(signed, &carrier);
        }
    }

    /// Lets bytes go out again by the carrier that brought the input, when the peer is on it.
    pub(in crate::node) fn answer_by(&mut self, peer: &AgentId, signed: Signed) {
        let ways = self.turn.node.peers.carriers.ways_to(peer);
        let first = ways.next(None, |_| false);
        let by = Some(self.turn.node.peers.arrived_by()).filter(|by| ways.has(by));
        if let Some(carrier) = by.or(first).cloned() {
            self.push_by(signed, &carrier);
        }
    }

    pub(in crate::node) fn push_by(&mut self, signed: Signed, carrier: &CarrierId) {
        let carriers = &self.turn.node.peers.carriers;
        if let Some(route) = carriers.route(signed.recipient(), carrier) {
            let parcel = Parcel::of(signed, route);
            self.turn.out.effects.push(Effect::Publish(parcel));
        }
    }
}
