//! What time brings with each peer, and a start: resends, receipts, renewals, ends.

use crate::draft::Identity;
use crate::envelope::Method;
use crate::handshake::Handshake;
use crate::ids::AgentId;
use crate::time::Timestamp;

use super::Peer;
use super::agenda::Dates;
use super::known::ChangedPeers;
use crate::node::turn::PeersDoor;
use crate::node::{At, Node};

/// When something is next to be done with any peer: the agenda says whom to ask.
pub(in crate::node) fn next_due(node: &Node, now: At) -> Option<Timestamp> {
    let known = &node.peers.known;
    let agenda = known.agenda();
    let may_sign = node.me.may_sign(now.now);
    let changed = match known.changed() {
        ChangedPeers::These(names) if agenda.holds(now.now, may_sign) => names,
        ChangedPeers::These(_) | ChangedPeers::All => return next_due_by_walk(node, now),
    };
    let mut next = Next::new(node, now);
    // For a peer that has changed since the agenda was brought up to date, the agenda may name too late a time: ask the peer
    // itself.
    for name in changed {
        next.ask(name);
        next.ask_orders(name);
    }
    let mut clocked = agenda.clocked();
    while let Some((_, name)) = clocked.next().filter(|(from, _)| next.may_lie(*from)) {
        next.ask(name);
    }
    let mut paced = agenda.paced();
    while let Some((_, name)) = paced
        .next()
        .filter(|(from, _)| next.may_lie(now.when(*from)))
    {
        next.ask(name);
    }
    let mut orders = agenda.orders();
    while let Some((_, name)) = orders.next().filter(|(from, _)| next.may_lie(*from)) {
        next.ask_orders(name);
    }
    next.due
}

/// The same by asking every peer.
pub(in crate::node) fn next_due_by_walk(node: &Node, now: At) -> Option<Timestamp> {
    let mut next = Next::new(node, now);
    for (name, _) in node.peers.known().in_any_order() {
        next.ask(name);
        next.ask_orders(name);
    }
    next.due
}

/// The earliest time that any of the peers named who were asked.
struct Next<'n> {
    node: &'n Node,
    at: At,
    due: Option<Timestamp>,
}

impl<'n> Next<'n> {
    fn new(node: &'n Node, now: At) -> Self {
        Self {
            node,
            at: now,
            due: None,
        }
    }

    /// Whether a time from then on can be the earliest.
    fn may_lie(&self, from: Timestamp) -> bool {
        self.due.is_none_or(|due| from < due)
    }

    fn ask(&mut self, name: &AgentId) {
        let (node, at) = (self.node, &self.at);
        let Some(peer) = node.peers.get(name) else {
            return;
        };
        let mail_waits = node.sent.drafts().next(name).is_some();
        let due = peer.due(at, node.me.identity(), mail_waits);
        let offers = node.judge(at.now).offer_due(at.elapsed, name);
        self.due = self.due.into_iter().chain(due).chain(offers).min();
    }

    fn ask_orders(&mut self, name: &AgentId) {
        let (node, at) = (self.node, &self.at);
        let due = node.people.orders_due(node, at.now, name);
        self.due = self.due.into_iter().chain(due).min();
    }
}

/// When something is to be done with a peer, at the earliest, whatever the time is until then.
fn dates_of(node: &Node, at: &At, name: &AgentId) -> Dates {
    let Some(peer) = node.peers.get(name) else {
        return Dates::default();
    };
    let own = node.me.identity();
    let mail_waits = node.sent.drafts().next(name).is_some();
    let receipt = peer.receipt_from(at.now, own);
    // A receipt leaves only when it is due and the budget has room for it: so wake at the later of the two times.
    let room = receipt.and_then(|from| {
        peer.receipts_have_room_at()
            .filter(|room| *room > at.when(from))
    });
    let paced = [
        receipt.filter(|_| room.is_none()),
        peer.refused_receipt_from(),
        node.judge(at.now).offer_from(name),
    ];
    Dates {
        clocked: peer
            .due_by_clock(own, mail_waits)
            .into_iter()
            .chain(room)
            .min(),
        paced: paced.into_iter().flatten().min(),
        orders: node.people.orders_of(node.trust(), name, peer),
        is_awake: peer.keeps_refused(at.now),
        is_half_open: peer.is_half_open(),
    }
}

impl PeersDoor<'_, '_> {
    /// Brings the agenda up to date: whoever was given out to be changed since then is asked again.
    pub(in crate::node) fn uphold_agenda(&mut self) {
        let (node, at) = (&mut *self.turn.node, self.turn.at);
        let may_sign = node.me.may_sign(at.now);
        if !node.peers.known.agenda().holds(at.now, may_sign) {
            node.peers.known.note_all();
        }
        node.peers.known.agenda_mut().uphold(at.now, may_sign);
        // Compute a peer's dates before the agenda is borrowed for writing: `dates_of` reads the whole node.
        for name in node.peers.known.take_changed() {
            let dates = dates_of(node, &at, &name);
            node.peers.known.agenda_mut().enter(&name, dates);
        }
    }

    /// What is due with each peer.
    pub(in crate::node) fn overdue(&mut self) {
        self.uphold_agenda();
        let (now, elapsed) = (self.turn.at.now, self.turn.at.elapsed);
        let Node { peers, sent, .. } = &mut *self.turn.node;
        let mut due = match peers.known.agenda_mut().take_due(now, elapsed) {
            Some(due) => due,
            None => peers.known.names().cloned().collect(),
        };
        // Add the peers that have a draft due: the agenda does not know when the lives of drafts end.
        due.extend(sent.drafts().due_by(now).cloned());
        for peer in due {
            self.turn.flights().resend(&peer);
            self.turn.sent().resend(&peer);
            self.turn.sent().sign_anew(&peer);
            self.turn.drafts().overdue(&peer);
            self.turn.receipts().send_due(&peer);
            self.turn.receipts().resend(&peer);
            self.turn.offers().tell_offers(&peer);
            // Seek a session last: whether the peer needs one depends on the handshakes and drafts that the calls above ended.
            self.turn.flights().seek_session(&peer);
        }
    }

    /// The log has been told again: handshakes of ours are forgotten, and peers hear how far we are where something is open.
    pub(in crate::node) fn resume(&mut self) {
        let now = self.turn.at.now;
        let peers: Vec<AgentId> = self.turn.node.peers.known().names().cloned().collect();
        for peer in &peers {
            let link = self.turn.node.peers.entry(peer);
            let unsent = link.handshake.restart(now);
            link.plan_announce(now);
            let sessions = link.sessions.iter();
            let open = sessions
                .filter(|session| session.is_open_for_sending(now) && session.is_unsettled(now));
            let open: Vec<_> = open.map(|session| session.id).collect();
            for id in open {
                self.turn.receipts().send(peer, id);
            }
            self.turn.drafts().end_lost(peer);
            // After a start no program is connected yet. An offer that does not outlive its program has ended: so tell the
            // peer.
            self.turn.offers().mark_offers(peer);
            self.turn.offers().tell_offers(peer);
            match unsent {
                // The log has the peer's flight but not our answer to it: we stopped between the two log lines, or could not
                // sign. Send the answer now, since the peer only repeats its flight.
                Some(Method::Verify) => self.turn.flights().send_verify(peer),
                Some(_) => self.turn.flights().send_trust(peer),
                None => self.turn.flights().renew_grant(peer),
            }
        }
    }
}

impl Peer {
    /// When time asks something of it.
    fn due(&self, at: &At, own: &Identity, mail_waits: bool) -> Option<Timestamp> {
        let fixed = [
            self.due_by_clock(own, mail_waits),
            self.receipt_due(at.now, at.elapsed, own),
            self.receipt_again_at(at.now, at.elapsed),
        ];
        fixed.into_iter().flatten().min()
    }

    /// What of that hangs on no other time than its own.
    fn due_by_clock(&self, own: &Identity, mail_waits: bool) -> Option<Timestamp> {
        let sessions = self.sessions.iter().flat_map(|session| {
            [session.retry.map(|retry| retry.due()), session.ledger.due()]
                .into_iter()
                .flatten()
        });
        let fixed = [
            self.handshake.due(),
            self.seeks_session_at(own.until(), mail_waits),
        ];
        sessions.chain(fixed.into_iter().flatten()).min()
    }

    /// Whether something is kept that the peer refused because our clock was ahead: it is signed anew as soon as there
    /// is a place for it, and no time says when that is.
    fn keeps_refused(&self, now: Timestamp) -> bool {
        let mut sessions = self.sessions.iter();
        sessions.any(|session| session.ledger.keeps_refused(now))
    }

    pub(super) fn is_half_open(&self) -> bool {
        matches!(self.handshake, Handshake::AwaitCapability(_))
    }
}
