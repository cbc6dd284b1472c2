//! Whom we have to do with: all that lies between us and each peer, and the carriers that reach them.

mod agenda;
mod apply;
mod budgets;
mod bytes;
mod carriers;
mod channel;
mod copies;
mod evidence;
mod flights;
pub(super) mod hops;
mod known;
mod pace;
mod polls;
mod receipts;
mod rounds;
mod rows;
mod seen;
mod talks;
mod unsettled;
mod ways;

use std::time::Duration;

use crate::carrier::{CarrierId, Routes};
use crate::draft::Identity;
use crate::entry::Flood;
use crate::handshake::Handshake;
use crate::ids::{AgentId, MessageId};
use crate::session::{Handed, Ledger, Session};
use crate::time::Timestamp;

use super::Outcome;
use super::me::Me;
use super::offers::PeerOffers;
use super::turn::CarriersDoor;

pub(super) use apply::ReceiptEffect;
use budgets::Budgets;
pub(super) use bytes::Paid;
use carriers::Carriers;
use copies::Copies;
use evidence::PeerClock;
use hops::Hops;
use known::KnownPeers;
use polls::{PeerPolls, Polls};
use receipts::Receipts;
pub(super) use rounds::{next_due, next_due_by_walk};
pub(super) use rows::PeersShot;
use seen::SeenIds;
use ways::PeerWays;

/// A connection that is new tells our person's orders again, unless it did so lately.
const TELL_PACE: Duration = Duration::from_secs(3600);

/// So long after a connect a peer is asked once more what came of messages that expired.
const ASKS_AGAIN: Duration = Duration::from_secs(10);

/// The peers, by name, and the ways to them.
#[derive(Debug, Default)]
pub struct Peers {
    known: KnownPeers,
    carriers: Carriers,
    polls: Polls,
}

/// The way to and from one peer.
#[derive(Debug, Default)]
pub(super) struct Peer {
    handshake: Handshake,
    sessions: Vec<Session>,
    names: SeenIds,
    /// The timestamp of our last announce: the next one must bear a later one.
    announced: Option<Timestamp>,
    /// When we last announced since the start, by the clock that nobody sets.
    last_announce: Option<Duration>,
    heard_announce: Option<Timestamp>,
    next_announce: Option<Timestamp>,
    silence: Duration,
    /// What the peer was last told that programs of ours offer, and when it is to hear more.
    offers: PeerOffers,
    /// Whether our person approved the peer and it has not heard from us since.
    greets: bool,
    /// When the decrees of our person were last told.
    told: Option<Timestamp>,
    receipts: Receipts,
    ways: PeerWays,
    polls: PeerPolls,
    copies: Copies,
    clock: PeerClock,
    budgets: Budgets,
    hops: Hops,
}

impl Peers {
    /// The session that a new message to `peer` would use.
    pub fn session(&self, peer: &AgentId, now: Timestamp) -> Option<&Session> {
        self.get(peer)?.sendable(now)
    }

    pub(super) fn get(&self, name: &AgentId) -> Option<&Peer> {
        self.known.get(name)
    }

    pub(super) fn get_mut(&mut self, name: &AgentId) -> Option<&mut Peer> {
        self.known.get_mut(name)
    }

    /// As [`Peers::get_mut`]: one that nothing lay between us and until now is made.
    pub(super) fn entry(&mut self, name: &AgentId) -> &mut Peer {
        self.known.entry(name)
    }

    /// All of them.
    pub(super) fn known(&self) -> &KnownPeers {
        &self.known
    }

    pub(super) fn known_mut(&mut self) -> &mut KnownPeers {
        &mut self.known
    }

    /// Goes by these carriers from now on.
    pub(super) fn go_by(&mut self, routes: Routes) {
        self.carriers.set_routes(routes);
    }

    /// The input that is judged now came by that carrier.
    pub(super) fn arrive_by(&mut self, carrier: CarrierId) {
        self.carriers.arrived_by = carrier;
    }

    /// What brought the input that is being judged.
    pub(super) fn arrived_by(&self) -> &CarrierId {
        &self.carriers.arrived_by
    }

    /// The ways out.
    pub(super) fn carriers(&self) -> &Carriers {
        &self.carriers
    }

    /// A carrier is not connected since then: what only it holds may go by another.
    pub(super) fn disconnected(&mut self, carrier: &CarrierId, since: Duration) {
        self.carriers.note(carrier, false, since);
        self.ledgers().for_each(Ledger::wake);
    }

    /// A message of ours went out by a carrier, and nothing says where to.
    pub(super) fn unconfirmed(&mut self, carrier: &CarrierId, name: &AgentId, message: MessageId) {
        if let Some(peer) = self.get_mut(name) {
            peer.note_receipt_refused(carrier, message);
        }
        self.note_handed(carrier, name, message, Handed::Unconfirmed);
    }

    /// Looks whether our flight of the newest session still says what we offer and grant. Says whether it
    /// does not.
    pub(super) fn mark_outdated(&mut self, me: &Me, name: &AgentId) -> bool {
        let peer = self.known.get_mut(name);
        let Some(newest) = peer.and_then(|peer| peer.sessions.last_mut()) else {
            return false;
        };
        newest.outdated = !newest.closed && !me.is_in_force(name, newest);
        newest.outdated
    }

    /// What was published into the void goes out again now, and not at its next resend.
    pub(super) fn hasten(&mut self, now: Timestamp) {
        for peer in self.known.values_mut() {
            peer.hasten(now);
        }
    }

    /// Our clock was put back to `now`, and what was to wait for the time that has not come now is tried at once.
    pub(super) fn go_on_at(&mut self, now: Timestamp) {
        for peer in self.known.values_mut() {
            // `told` is when orders were last repeated to the peer. Forget it if it lies in the future now: otherwise the
            // orders would not be repeated before that time.
            peer.told = peer.told.filter(|told| *told <= now);
            // Let a new receipt go out in each session: the receipts that we signed while our clock was ahead bear a time in
            // the peers' future, and may have been refused for that.
            for session in &mut peer.sessions {
                if !session.window.is_empty() {
                    session.window.owe();
                }
            }
        }
        self.hasten(now);
    }

    /// When the line of the polls that were counted is due, by the clock that nobody sets.
    pub(super) fn due(&self) -> Option<Duration> {
        self.polls.due()
    }

    /// That line, when it is due.
    pub(super) fn overdue(&mut self, elapsed: Duration) -> Option<Flood> {
        self.polls.overdue(elapsed)
    }

    /// That line, now: at a clean stop.
    pub(super) fn flush(&mut self) -> Option<Flood> {
        self.polls.flush()
    }

    /// Marks the sessions that our present key, certificate or key statement did not open. A flight that
    /// carries older ones is sent no more.
    pub(super) fn retire_sessions(&mut self, own: &Identity) {
        for session in self.known.values_mut().flat_map(|peer| &mut peer.sessions) {
            session.judge_by(own);
            session.retry = session.retry.filter(|_| !session.stale);
        }
    }

    /// A line says that our clock was put back.
    pub(super) fn put_clock_back(&mut self, clock: Timestamp) {
        for peer in self.known.values_mut() {
            peer.put_clock_back(clock);
        }
    }

    fn ledgers(&mut self) -> impl Iterator<Item = &mut Ledger> {
        let sessions = self.known.values_mut().flat_map(|peer| &mut peer.sessions);
        sessions.map(|session| &mut session.ledger)
    }

    fn note_handed(
        &mut self,
        carrier: &CarrierId,
        name: &AgentId,
        message: MessageId,
        handed: Handed,
    ) {
        let peer = self.known.get_mut(name);
        let sessions = peer.into_iter().flat_map(|peer| &mut peer.sessions).rev();
        for session in sessions {
            if session.ledger.handed(message, carrier, handed) {
                return;
            }
        }
    }
}

impl CarriersDoor<'_, '_> {
    /// A carrier is connected, at start or again: peers on it that something waits for are announced to at
    /// once, of what was sent into the void the first goes out now and the rest once anything is heard, and peers hear how
    /// far we are in the sessions in which something is open.
    pub fn connected(&mut self, carrier: &CarrierId) -> Outcome {
        let at = self.turn.at;
        let now = at.now;
        let resumed = self.turn.node.clock.resumed();
        let Peers {
            known, carriers, ..
        } = &mut self.turn.node.peers;
        let is_start = !carriers.has_been_up(carrier);
        let down = carriers.down_since(carrier, resumed);
        let lost = down.map_or(now, |since| at.time_of(since));
        carriers.note(carrier, true, at.elapsed);
        for (name, peer) in known.iter_mut() {
            // `told` is when orders were last repeated to the peer. Keep it if that was lately: otherwise a carrier that comes
            // and goes would make us repeat the orders each time.
            peer.told = peer.told.filter(|told| now.is_within(TELL_PACE, *told));
            if !carriers.reaches(name, carrier) {
                continue;
            }
            for session in &mut peer.sessions {
                // A peer whose connection comes back a moment later than ours misses this receipt: ask it once more.
                let again = at.elapsed.saturating_add(ASKS_AGAIN);
                session.asks_again = session.ledger.has_given_up().then_some(again);
                if session.is_unsettled(lost) {
                    session.window.owe();
                }
            }
            peer.hasten(now);
            for session in &mut peer.sessions {
                session.ledger.probe(now);
            }
        }
        if is_start {
            self.turn.node.peers.greet_newest(carrier, now);
        }
        self.turn.overdue();
        self.turn.take()
    }

    /// All that waited for us on a carrier when it came up has been judged: the receipts among it too, so
    /// what has expired without one is given up now.
    pub fn drained(&mut self, carrier: &CarrierId) -> Outcome {
        self.turn.node.peers.carriers.note_drained(carrier);
        self.turn.node.peers.ledgers().for_each(Ledger::wake);
        self.turn.overdue();
        self.turn.take()
    }

    /// A carrier says that it holds a message of ours for the peer (on NATS, a PubAck of its mailbox). That delays
    /// a copy by that carrier, and stops none.
    pub fn stored(&mut self, carrier: &CarrierId, peer: &AgentId, message_id: MessageId) {
        let peers = &mut self.turn.node.peers;
        if let Some(peer) = peers.get_mut(peer) {
            peer.note_receipt_taken(message_id);
        }
        peers.note_handed(carrier, peer, message_id, Handed::Stored(self.turn.at.now));
    }

    /// A carrier lost what it held: all that no receipt covers goes out again.
    pub fn mailbox_lost(&mut self, carrier: &CarrierId) -> Outcome {
        let peers = &mut self.turn.node.peers;
        peers
            .ledgers()
            .for_each(|ledger| ledger.lose_stored(carrier));
        peers.hasten(self.turn.at.now);
        self.turn.overdue();
        self.turn.take()
    }
}
