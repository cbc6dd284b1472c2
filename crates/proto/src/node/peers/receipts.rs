//! What we tell a peer that we have of each session, when, and by which key; and our last receipt, until a carrier
//! has taken it.
//!
//! Nobody asks for a receipt that was lost but its peer, by a copy of the message, and that comes minutes later
//! where a carrier holds the message for us. So a carrier that could not hand a receipt on gets it again soon,
//! byte for byte, and no line of the log tells of it. NATS is left out: what nothing there confirms went out all
//! the same.

use std::time::Duration;

use crate::carrier::CarrierId;
use crate::draft::{Draft, Identity, Signed, Stamp};
use crate::envelope::{Message, Method};
use crate::ids::{AgentId, KeyId, MessageId, SessionId};
use crate::receipt::{Exception, Receipt};
use crate::reject::Reason;
use crate::session::Session;
use crate::time::Timestamp;

use super::pace::Pace;
use super::{Peer, Peers};
use crate::node::clock::after;
use crate::node::turn::ReceiptsDoor;

/// The first try after a refusal comes so late, each further one twice as late …
const FIRST: Duration = Duration::from_secs(1);
/// … up to this.
const LONGEST: Duration = Duration::from_secs(30);

/// Our receipts to one peer.
#[derive(Debug, Default)]
pub(in crate::node) struct Receipts {
    /// The timestamp of the last: the next one must bear a later one.
    pub(super) signed_at: Option<Timestamp>,
    pace: Pace,
    /// The last, until a carrier has it.
    last: Option<LastReceipt>,
}

/// The receipt that was signed last for a peer. Not lasting: a start says it again where it may have been lost.
#[derive(Debug)]
struct LastReceipt {
    signed: Signed,
    refused: Option<NotHandedOn>,
}

/// A carrier could not hand it on.
#[derive(Debug)]
struct NotHandedOn {
    by: CarrierId,
    /// How often one could not.
    times: u32,
    /// When it goes out again, by the clock that nobody sets; unknown until that is read next.
    due: Option<Duration>,
}

impl NotHandedOn {
    fn wait(&self) -> Duration {
        // Cap the shift at 8, so that it cannot overflow: a wait doubled 8 times is far above `LONGEST` already.
        FIRST.saturating_mul(1 << self.times.min(8)).min(LONGEST)
    }
}

impl LastReceipt {
    fn is(&self, name: MessageId) -> bool {
        self.signed.message().headers.message_id == name
    }
}

impl Peer {
    /// A receipt was signed: what the one before said is in it. It is kept where a carrier may refuse it.
    fn note_receipt(&mut self, signed: Option<Signed>) {
        self.receipts.last = signed.map(|signed| LastReceipt {
            signed,
            refused: None,
        });
    }

    /// When the last receipt goes out again, if a carrier refused it.
    pub(super) fn receipt_again_at(&self, now: Timestamp, elapsed: Duration) -> Option<Timestamp> {
        let due = self.receipts.last.as_ref()?.refused.as_ref()?.due;
        let left = due.map(|due| due.saturating_sub(elapsed));
        Some(now.saturating_add(left.unwrap_or_default()))
    }

    /// The same by the clock that nobody sets, or earlier.
    pub(super) fn refused_receipt_from(&self) -> Option<Duration> {
        let due = self.receipts.last.as_ref()?.refused.as_ref()?.due;
        Some(due.unwrap_or_default())
    }

    /// A carrier has the message for its peer: if it is our last receipt, that is done.
    pub(super) fn note_receipt_taken(&mut self, name: MessageId) {
        self.receipts.last.take_if(|last| last.is(name));
    }

    /// A carrier could not hand the message on.
    pub(super) fn note_receipt_refused(&mut self, carrier: &CarrierId, name: MessageId) {
        let last = self.receipts.last.as_mut();
        if let Some(last) = last.filter(|last| last.is(name) && *carrier != CarrierId::NATS) {
            let before = last.refused.as_ref();
            last.refused = Some(NotHandedOn {
                by: carrier.clone(),
                times: before.map_or(0, |before| before.times.saturating_add(1)),
                due: None,
            });
        }
    }

    /// The key of ours that signs a receipt of a session at `now`; `None` as long as the peer would take it
    /// from no key that we have: it waits then, and no timer waits for it.
    ///
    /// The key that opened the session signs until the session's end, as long as its certificate is known to
    /// last. What is judged later, or without that key, the present one says, once the peer has its certificate.
    fn receipt_signer(&self, id: SessionId, now: Timestamp, own: &Identity) -> Option<KeyId> {
        let session = self.session(id)?;
        let time = after(now, self.receipts.signed_at);
        if !own.certificate.covers(time) {
            return None;
        }
        let known = |other: &Session| {
            let serial = own.certificate.serial;
            other.confirmed && !other.retired && other.own_serials.0 == serial
        };
        let lasts = time <= session.ends || known(session);
        if lasts && !session.keyless {
            return Some(session.own_key);
        }
        let present = self.sessions.iter().find(|other| known(other))?;
        Some(present.own_key)
    }

    /// The sessions whose peer should hear from us, and since when, as far as a receipt can be signed.
    fn receipts_due(
        &self,
        now: Timestamp,
        own: &Identity,
    ) -> impl Iterator<Item = (SessionId, Duration)> {
        let sessions = self.sessions.iter();
        let due = sessions.filter_map(|session| {
            let due = self.receipts.pace.due_of(session)?;
            Some((session.id, due))
        });
        due.filter(move |(id, _)| self.receipt_signer(*id, now, own).is_some())
    }

    /// When the next receipt is due.
    pub(super) fn receipt_due(
        &self,
        now: Timestamp,
        elapsed: Duration,
        own: &Identity,
    ) -> Option<Timestamp> {
        let due = self.receipts_due(now, own).map(|(_, due)| due);
        let wait = due.min()?.saturating_sub(elapsed);
        let due = now.saturating_add(wait);
        let room = self.receipts_have_room_at();
        Some(room.map_or(due, |room| room.max(due)))
    }

    /// When the budget has room for a receipt, unless it has now.
    pub(super) fn receipts_have_room_at(&self) -> Option<Timestamp> {
        self.budgets.bytes.tells_at()
    }

    /// From when on a receipt is due, by the clock that nobody sets. A receipt that cannot be signed now is due at no
    /// later time by itself, unless our certificate has yet to begin.
    pub(super) fn receipt_from(&self, now: Timestamp, own: &Identity) -> Option<Duration> {
        if now >= own.certificate.not_before {
            return self.receipts_due(now, own).map(|(_, due)| due).min();
        }
        let pace = self.receipts.pace;
        let sessions = self.sessions.iter();
        let due = sessions.filter_map(|session| pace.due_of(session));
        due.min()
    }
}

impl Pace {
    /// When a receipt is due, if one is: at once for what was judged, later for what only answers or asks.
    fn due_of(self, session: &Session) -> Option<Duration> {
        let window = &session.window;
        match (window.unreported() > 0, window.owes()) {
            (true, _) => Some(self.news_at()),
            (false, true) => Some(self.answer_at()),
            (false, false) if session.ledger.has_given_up() => session.asks_again,
            (false, false) => None,
        }
    }
}

impl ReceiptsDoor<'_, '_> {
    /// Tells the peer what we have of a session. It has no number and waits for nothing.
    pub(in crate::node) fn send(&mut self, name: &AgentId, id: SessionId) {
        let at = self.turn.at;
        let node = &mut *self.turn.node;
        let own = node.me.identity();
        let may_be_refused = node.peers.carriers.go_beside_nats(name);
        let peer = node.peers.entry(name);
        let has_room = peer.budgets.bytes.may_tell(at.now);
        let signer = peer.receipt_signer(id, at.now, own);
        let (last, Some(session)) = (peer.receipts.signed_at, peer.session_mut(id)) else {
            return;
        };
        // Send the receipt later if the budget has no room for it now, or if no key that the peer takes can sign it now.
        let Some(signer) = signer.filter(|_| has_room) else {
            return session.window.owe();
        };
        session.asks_again.take_if(|again| *again <= at.elapsed);
        let mut receipt = session.window.receipt();
        let (floor, given_up) = session.ledger.word();
        receipt.floor = Some(floor);
        receipt.given_up = given_up;
        let stamp = Stamp {
            now: after(at.now, last),
            session: Some(id),
            sequence: None,
            audit_head: at.head,
            version: session.version,
        };
        let message_id = node.ids.fresh(at.now);
        let draft = Draft::call(
            Method::Receipt,
            name.clone(),
            message_id,
            receipt.to_value(),
        );
        let key = own.signer(signer);
        let Some(signed) = key.and_then(|key| draft.sign_by(key, own, stamp).ok()) else {
            // A receipt that cannot be signed, or is too large, counts as sent: otherwise we would try to send it for ever.
            return session.window.give_up_report();
        };
        peer.note_receipt(may_be_refused.then(|| signed.clone()));
        self.turn.write_sent(signed);
        let peer = self.turn.node.peers.entry(name);
        peer.receipts.pace.note(at.elapsed, receipt.except.len());
    }

    /// Sends the receipts that are due.
    pub(super) fn send_due(&mut self, name: &AgentId) {
        let Some(peer) = self.turn.node.peers.get(name) else {
            return;
        };
        let owed = peer.receipts_due(self.turn.at.now, self.turn.node.me.identity());
        let owed = owed.filter(|(_, due)| *due <= self.turn.at.elapsed);
        let owed: Vec<_> = owed.map(|(id, _)| id).collect();
        for id in owed {
            self.send(name, id);
        }
    }

    /// Lets our last receipt go out again, where a carrier refused it and it is due.
    pub(super) fn resend(&mut self, name: &AgentId) {
        let at = self.turn.at;
        let Peers {
            known, carriers, ..
        } = &mut self.turn.node.peers;
        let Some(peer) = known.get_mut(name) else {
            return;
        };
        let over = |last: &mut LastReceipt| last.signed.message().headers.expires_at <= at.now;
        peer.receipts.last.take_if(over);
        let last = peer.receipts.last.as_mut();
        let Some((refused, signed)) =
            last.and_then(|last| Some((last.refused.as_mut()?, &last.signed)))
        else {
            return;
        };
        let first = at.elapsed.saturating_add(refused.wait());
        let due = *refused.due.get_or_insert(first);
        if due > at.elapsed {
            return;
        }
        // Put off the next try: the carrier has not answered this one yet, and its answer sets the next time or ends the tries.
        refused.due = Some(at.elapsed.saturating_add(LONGEST));
        let ways = carriers.ways_to(name);
        if let Some(carrier) = ways.next(Some(&refused.by), |_| false) {
            let signed = signed.clone();
            self.turn.ways().push_by(signed, carrier);
        }
    }

    /// A receipt that misses something of ours, names exceptions, or does not fit what we told the peer, is answered.
    pub(in crate::node) fn answer(&mut self, message: &Message, receipt: &Receipt) {
        let peer = message.headers.agent_id.clone();
        let Some(id) = message.headers.session else {
            return;
        };
        let clock =
            |(_, except): &(u64, Exception)| except.reason == Reason::TimestampInFuture.name();
        if receipt.except.iter().any(clock) {
            self.turn.alarms().note_clock(message);
            self.turn.sent().sign_anew(&peer);
        }
        let known = self.turn.node.peers.entry(&peer);
        let lately = self.turn.at.elapsed < known.receipts.pace.answer_at();
        // Do not answer in a closed session: its two sides never agree again, and would answer each other for ever.
        let session = known.session_mut(id).filter(|session| !session.closed);
        let Some(session) = session else { return };
        // The peer may wait for numbers below our floor, which we never send any more: then it has to learn our floor and stop
        // waiting.
        let behind = receipt.through + 1 < session.ledger.floor();
        let differs = session.differs_from_our_word(receipt, message.headers.timestamp);
        if !behind && !differs && receipt.except.is_empty() {
            return;
        }
        // If a receipt of ours left within the last second, send this one later: otherwise two sides could answer each other's
        // receipts without a pause.
        if lately {
            session.window.owe();
        } else {
            self.send(&peer, id);
        }
    }
}
