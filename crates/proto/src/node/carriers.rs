//! The ways out: which carriers are up, which of them a message takes next, and what they say of it.
//!
//! Nothing here survives a restart, and nothing that a carrier says settles a message or keeps another
//! carrier from it. With one carrier the first way is the only one.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::carrier::{CarrierId, Parcel, Route, Routes};
use crate::draft::Signed;
use crate::envelope::{Form, KeptIn, Method};
use crate::ids::{AgentId, MessageId};
use crate::session::{Handed, Ways};

use super::turn::Turn;
use super::{At, Effect, Node, Outcome};

/// What the node was told of its carriers since the start. Before any was spoken of, all count as up and
/// read to their end; then one that nobody spoke of is none of ours.
#[derive(Debug, Default)]
pub(super) struct Carriers {
    routes: Routes,
    known: BTreeMap<CarrierId, Condition>,
}

#[derive(Debug)]
struct Condition {
    up: bool,
    /// Whether everything that waited there for us when it came up has been judged.
    drained: bool,
    /// Since when it is up, or down, by the clock that nobody sets.
    since: Duration,
}

impl Carriers {
    fn is_up(&self, carrier: &CarrierId) -> bool {
        let known = self.known.get(carrier);
        known.map_or(self.known.is_empty(), |known| known.up)
    }

    /// Whether any carrier is up.
    pub(super) fn is_any_up(&self) -> bool {
        self.known.is_empty() || self.known.values().any(|known| known.up)
    }

    /// Whether what waited for us has been read, so that what has no receipt will hardly get one: on one
    /// carrier at least, and on every other, unless it had an hour for it. So a carrier that is down or never
    /// says it keeps nothing from its end.
    pub(super) fn are_drained(&self, elapsed: Duration) -> bool {
        let read = |known: &Condition| known.up && known.drained;
        let late = |known: &Condition| elapsed >= known.since.saturating_add(PATIENCE);
        let mut known = self.known.values();
        let any = self.known.is_empty() || known.clone().any(read);
        any && known.all(|known| read(known) || late(known))
    }

    /// The carriers of a peer that are up, in their order; when none is, the first: what is sent into the
    /// void goes out again when one comes up.
    pub(super) fn ways_to(&self, peer: &AgentId) -> Ways {
        let routes = self.routes.of(peer);
        let names = routes.iter().map(|route| &route.carrier);
        let up: Vec<_> = names
            .clone()
            .filter(|name| self.is_up(name))
            .cloned()
            .collect();
        let first = names.take(if up.is_empty() { 1 } else { 0 }).cloned();
        Ways(up.into_iter().chain(first).collect())
    }

    fn reaches(&self, peer: &AgentId, carrier: &CarrierId) -> bool {
        let routes = self.routes.of(peer);
        routes.iter().any(|route| route.carrier == *carrier)
    }

    fn route(&self, peer: &AgentId, carrier: &CarrierId) -> Option<Route> {
        let routes = self.routes.of(peer);
        let route = routes.iter().find(|route| route.carrier == *carrier);
        route.cloned()
    }

    fn note(&mut self, carrier: &CarrierId, up: bool, since: Duration) {
        // That it is still up says nothing new.
        let before = self.known.get(carrier);
        let drained = up && before.is_none_or(|before| before.up && before.drained);
        let condition = Condition { up, drained, since };
        self.known.insert(carrier.clone(), condition);
    }
}

impl Node {
    /// Goes by these carriers from now on.
    pub fn set_routes(&mut self, routes: Routes) {
        self.carriers.routes = routes;
    }

    /// A carrier is connected, at start or again: peers on it that something waits for are announced to at
    /// once, what was sent into the void goes out again now and not at its next resend, and each session's
    /// peer hears how far we are.
    pub fn handle_connected(&mut self, at: At, carrier: &CarrierId) -> Outcome {
        self.carriers.note(carrier, true, at.elapsed);
        for link in self.peers.values_mut() {
            link.hasten_orders(at.now);
        }
        let carriers = &self.carriers;
        let links = self.peers.iter_mut();
        for (_, link) in links.filter(|(peer, _)| carriers.reaches(peer, carrier)) {
            for session in &mut link.sessions {
                // What expired without a receipt has perhaps arrived: the peer is told of it again, and answers.
                if !session.window.is_empty() || session.ledger.has_given_up() {
                    session.window.owe();
                }
            }
            link.hasten(at.now);
        }
        self.handle_timeout(at)
    }

    /// A carrier is not connected, or not yet: decrees wait until one is, nothing is given up before
    /// [`Node::handle_drained`], and what only this carrier holds may go by another.
    pub fn handle_disconnected(&mut self, carrier: &CarrierId) {
        let since = self.clock.elapsed().unwrap_or_default();
        self.carriers.note(carrier, false, since);
        let sessions = self.peers.values_mut().flat_map(|link| &mut link.sessions);
        sessions.for_each(|session| session.ledger.wake());
    }

    /// All that waited for us on a carrier when it came up has been judged: the receipts among it too, so
    /// what has expired without one is given up now.
    pub fn handle_drained(&mut self, at: At, carrier: &CarrierId) -> Outcome {
        if let Some(known) = self.carriers.known.get_mut(carrier) {
            known.drained = known.up;
        }
        let sessions = self.peers.values_mut().flat_map(|link| &mut link.sessions);
        sessions.for_each(|session| session.ledger.wake());
        self.handle_timeout(at)
    }

    /// A carrier says that it holds a message of ours for the peer (on NATS, a PubAck of its mailbox). That delays
    /// a copy by that carrier, and stops none.
    pub fn handle_stored(
        &mut self,
        at: At,
        carrier: &CarrierId,
        peer: &AgentId,
        message_id: MessageId,
    ) {
        self.note_receipt_taken(peer, message_id);
        self.note_handed(carrier, peer, message_id, Handed::Stored(at.now));
    }

    /// A message of ours went out by a carrier, and nothing says where to: it goes out again until a receipt
    /// comes, and a receipt of ours until a carrier has it.
    pub fn handle_unconfirmed(
        &mut self,
        carrier: &CarrierId,
        peer: &AgentId,
        message_id: MessageId,
    ) {
        self.note_receipt_refused(carrier, peer, message_id);
        self.note_handed(carrier, peer, message_id, Handed::Unconfirmed);
    }

    /// A carrier lost what it held: all that no receipt covers goes out again.
    pub fn handle_mailbox_lost(&mut self, at: At, carrier: &CarrierId) -> Outcome {
        let sessions = self.peers.values_mut().flat_map(|link| &mut link.sessions);
        sessions.for_each(|session| session.ledger.lose_stored(carrier));
        self.hasten(at.now);
        self.handle_timeout(at)
    }

    fn note_handed(
        &mut self,
        carrier: &CarrierId,
        peer: &AgentId,
        message_id: MessageId,
        handed: Handed,
    ) {
        let link = self.peers.get_mut(peer);
        let sessions = link.into_iter().flat_map(|link| &mut link.sessions).rev();
        for session in sessions {
            if session.ledger.handed(message_id, carrier, handed) {
                return;
            }
        }
    }
}

impl Turn<'_> {
    /// Lets a new message go out. A numbered one takes the first way, and its ledger knows which; a receipt
    /// the one by which the peer was heard last, or, where a copy showed that the last did not arrive, all; an
    /// announce the next after one that was in vain, and the other flights the way by which theirs came;
    /// decrees, which nobody receipts, all.
    pub(super) fn publish(&mut self, signed: Signed) {
        let peer = signed.recipient().clone();
        let ways = self.node.carriers.ways_to(&peer);
        let link = self.node.peers.entry(&peer);
        let headers = &signed.message().headers;
        let first = ways.next(None, |_| false);
        let answer = link
            .heard_by
            .as_ref()
            .filter(|heard| ways.has(heard))
            .or(first);
        let taken = match signed.message().form.kept() {
            KeptIn::Orders => ways.0.clone(),
            KeptIn::Receipts if std::mem::take(&mut link.unheard) => ways.0.clone(),
            KeptIn::Receipts => answer.into_iter().cloned().collect(),
            KeptIn::Handshake if signed.message().form == Form::Call(Method::Announce) => {
                let next = ways.next(link.flown_by.as_ref(), |_| false).cloned();
                link.flown_by.clone_from(&next);
                next.into_iter().collect()
            }
            KeptIn::Handshake => {
                let answer = answer.cloned();
                link.flown_by.clone_from(&answer);
                answer.into_iter().collect()
            }
            KeptIn::Inbox | KeptIn::Request | KeptIn::Offers | KeptIn::Nowhere => {
                let session = headers.session.and_then(|id| link.session_mut(id));
                if let (Some(session), Some(first)) = (session, first) {
                    session.ledger.sent_by(headers.message_id, first);
                }
                first.into_iter().cloned().collect::<Vec<_>>()
            }
        };
        for carrier in &taken {
            self.push_by(signed.clone(), carrier);
        }
    }

    /// Lets a flight of ours go out again: by the next way, since it may have been lost on the last.
    pub(super) fn fly_again(&mut self, peer: &AgentId, signed: Signed) {
        let ways = self.node.carriers.ways_to(peer);
        let link = self.node.peers.entry(peer);
        let next = ways.next(link.flown_by.as_ref(), |_| false).cloned();
        link.flown_by.clone_from(&next);
        if let Some(carrier) = next {
            self.push_by(signed, &carrier);
        }
    }

    /// Lets bytes go out again by the carrier that brought the input, when the peer is on it.
    pub(super) fn answer_by(&mut self, peer: &AgentId, signed: Signed) {
        let ways = self.node.carriers.ways_to(peer);
        let first = ways.next(None, |_| false);
        let by = Some(&self.node.arrived_by).filter(|by| ways.has(by));
        if let Some(carrier) = by.or(first).cloned() {
            self.push_by(signed, &carrier);
        }
    }

    pub(super) fn push_by(&mut self, signed: Signed, carrier: &CarrierId) {
        if let Some(route) = self.node.carriers.route(signed.recipient(), carrier) {
            let parcel = Parcel::of(signed, route);
            self.out.effects.push(Effect::Publish(parcel));
        }
    }
}

/// How long a carrier that is down, or has not been read to its end, holds back what expired without a
/// receipt while another has been read.
const PATIENCE: Duration = Duration::from_secs(3600);
