//! What lines of the log change between us and one peer.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use crate::draft::Identity;
use crate::envelope::{Message, Method};
use crate::handshake::{Established, Flight, Offer, Retry, Role};
use crate::headers::Headers;
use crate::ids::{Digest, MessageId, SessionId};
use crate::receipt::Receipt;
use crate::reject::Reason;
use crate::session::{Abandoned, LastFlight, Ledger, Misfit, Session, Settled, Slot, Window};
use crate::time::{CLOCK_TOLERANCE, Timestamp};

use super::Peer;

/// What a receipt of the peer's says of our messages.
pub(in crate::node) enum ReceiptEffect {
    /// What became of these.
    Settled(Vec<Settled>),
    /// One side's log was put back to an older copy: nobody can say any more where these are. The misfit is told once
    /// of a session.
    Misfit(Option<Misfit>, Vec<Abandoned>),
}

impl Peer {
    /// A message of the peer's was accepted.
    pub(in crate::node) fn apply_accepted(
        &mut self,
        now: Timestamp,
        clock: Timestamp,
        message: &Message,
    ) {
        let headers = &message.headers;
        let hash = message.hash();
        self.names
            .insert(headers.message_id, hash, headers.expires_at, now);
        for session in &mut self.sessions {
            // Tell the ledger of every session that the peer speaks, and not only that of this message's session: while a peer
            // is silent, each ledger sends it copies ever more rarely.
            session.ledger.hear(clock);
        }
        if let Some((id, sequence)) = headers.session.zip(headers.sequence)
            && let Some(session) = self.session_mut(id)
        {
            confirm(session);
            session.window.record(sequence, judged(headers, hash, None));
        }
    }

    /// A flight of the peer's was accepted. Gives back the session that it made.
    pub(in crate::node) fn apply_flight(
        &mut self,
        message: &Arc<Message>,
        flight: &Arc<Flight>,
        clock: Timestamp,
        now: Timestamp,
    ) -> Option<Established> {
        if message.form.method() == Some(Method::Announce) {
            self.heard_announce = Some(message.headers.timestamp);
        }
        self.handshake.take(message, flight, clock, now)
    }

    /// A request of ours was answered.
    pub(in crate::node) fn apply_answer(&mut self, request: MessageId) {
        for session in &mut self.sessions {
            session.ledger.answered(request);
        }
    }

    /// A message of the peer's was refused.
    pub(in crate::node) fn apply_refused(
        &mut self,
        now: Timestamp,
        headers: &Headers,
        hash: Digest,
        reason: Reason,
    ) {
        let place = headers.session.zip(headers.sequence);
        let place = place.and_then(|(id, sequence)| {
            let admitted = self.session(id)?.window.admit(sequence, hash);
            Some((id, sequence, admitted))
        });
        // A notification or response that is refused because its timestamp lies in the future has used up its number. It may
        // come again, signed anew under another number: keep its message-id free for that.
        let may_come_anew = matches!(place, Some((.., Ok(()))))
            && reason == Reason::TimestampInFuture
            && !headers.message_type.is_answered();
        // Keep a message-id for the message that bore it first: otherwise a copy of that message would be taken for another
        // message.
        if !may_come_anew && self.names.hash_of(headers.message_id).is_none() {
            self.names
                .insert(headers.message_id, hash, headers.expires_at, now);
        }
        let Some((id, sequence, admitted)) = place else {
            return;
        };
        let Some(session) = self.session_mut(id) else {
            return;
        };
        match admitted {
            Ok(()) => {
                confirm(session);
                let slot = judged(headers, hash, Some(reason));
                session.window.record(sequence, slot);
            }
            Err(Reason::SequenceReuse) => session.window.note_reuse(sequence),
            Err(Reason::Expired) => session.window.note_late(sequence),
            // Note nothing in the window: a copy was judged before, and of numbers below the window nothing is remembered.
            Err(_) => {}
        }
    }

    /// Takes the session that a handshake ended in, and closes those that the peer no longer holds. `times` are the
    /// line's and the clock's; `lives` is how long we have run and who we are, unless the log is told again. Gives
    /// back what was unreceipted in the sessions that went.
    pub(in crate::node) fn establish(
        &mut self,
        established: &Established,
        now: Timestamp,
        clock: Timestamp,
        lives: Option<(Duration, &Identity)>,
    ) -> Vec<Abandoned> {
        let mut abandoned = Vec::new();
        for session in &mut self.sessions {
            if !established.named.contains(&session.id) && !session.closed {
                session.closed = true;
                abandoned.append(&mut session.ledger.abandon());
            }
        }
        let mut session = session_of(established, clock);
        if let Some((elapsed, own)) = lives {
            session.made = Some(elapsed);
            session.judge_by(own);
        }
        abandoned.append(&mut self.add(session, now));
        self.next_announce = None;
        self.ways.flown_by = None;
        self.silence = Duration::ZERO;
        abandoned
    }

    /// A flight of ours goes out. Gives back the session that it made.
    pub(in crate::node) fn apply_sent_flight(
        &mut self,
        message: &Arc<Message>,
        clock: Timestamp,
    ) -> Option<Established> {
        if message.form.method() == Some(Method::Announce) {
            self.announced = Some(message.headers.timestamp);
            self.greets = false;
        }
        self.handshake.sent(message, clock)
    }

    /// A receipt of ours goes out.
    pub(in crate::node) fn apply_sent_receipt(&mut self, headers: &Headers) {
        self.receipts.signed_at = Some(headers.timestamp);
        if let Some(session) = headers.session.and_then(|id| self.session_mut(id)) {
            session.window.reported(headers.timestamp);
        }
    }

    /// Another message of ours goes out. Says whether it did before, and was refused because our clock was ahead: that
    /// is no longer its end.
    pub(in crate::node) fn apply_sent(&mut self, message: &Arc<Message>, clock: Timestamp) -> bool {
        let headers = &message.headers;
        let name = headers.message_id;
        let mut anew = false;
        // Look in every session: a message that is signed anew may leave in a newer session than the one in which it was
        // refused.
        for session in &mut self.sessions {
            anew |= session.ledger.takes_anew(name);
        }
        if let Some(session) = headers.session.and_then(|id| self.session_mut(id)) {
            let number = headers.sequence.unwrap_or_default();
            session.ledger.record(number, Arc::clone(message), clock);
            if anew {
                session.ledger.note_second(name);
            }
        }
        anew
    }

    /// A receipt of the peer's was accepted.
    pub(in crate::node) fn apply_receipt(
        &mut self,
        now: Timestamp,
        clock: Timestamp,
        message: &Message,
        receipt: &Receipt,
    ) -> ReceiptEffect {
        let signed_at = message.headers.timestamp;
        let session = message.headers.session;
        let Some(session) = session.and_then(|id| self.session_mut(id)) else {
            return ReceiptEffect::Settled(Vec::new());
        };
        confirm(session);
        let ledger = &mut session.ledger;
        if ledger.is_overtaken(receipt, signed_at, session.began) {
            return ReceiptEffect::Settled(Vec::new());
        }
        // Take the peer's word about its own numbers first: it is valid even if the peer's word about our numbers does not fit.
        if ledger.is_news(signed_at) {
            let floor = receipt.floor;
            session.window.take_floor(floor, &receipt.given_up);
        }
        if let Some(misfit) = ledger.misfit(receipt, signed_at) {
            let closed = mem::replace(&mut session.closed, true);
            return ReceiptEffect::Misfit((!closed).then_some(misfit), ledger.abandon());
        }
        let before = ledger.peer_through();
        ledger.pass_time(now);
        let settled = ledger.settle(receipt, signed_at);
        if ledger.peer_through() > before {
            ledger.covered(clock);
        }
        ReceiptEffect::Settled(settled)
    }

    /// What an accepted offer changes: in the newest session alone, and only if none that was numbered
    /// higher came before it.
    pub(in crate::node) fn apply_offer(&mut self, message: &Message, offers: &[Offer]) {
        let headers = &message.headers;
        let newest = self.sessions.last_mut();
        let newest = newest.filter(|session| Some(session.id) == headers.session);
        if let Some((session, number)) = newest.zip(headers.sequence) {
            session.take_offer(number, offers.to_vec());
        }
    }

    /// The life of a message of ours ended, and no receipt came.
    pub(in crate::node) fn give_up(&mut self, message: MessageId) {
        for session in &mut self.sessions {
            session.ledger.give_up(message);
        }
    }

    /// Our person trusts the peer: it is announced to at once, and greeted where they had been asked.
    pub(in crate::node) fn apply_bound(&mut self, approved: bool) {
        self.next_announce = None;
        self.greets |= approved;
    }

    /// No session from before is heard or spoken in any more. Where `greets`, whoever had one is met anew. Gives back
    /// what was unreceipted in them.
    pub(in crate::node) fn forget_sessions(&mut self, greets: bool) -> Vec<Abandoned> {
        let greets = greets && !self.sessions.is_empty();
        self.greets |= greets;
        self.next_announce = None;
        self.end_sessions()
    }

    /// The peer is trusted no more. Gives back what was unreceipted.
    pub(in crate::node) fn cut(&mut self) -> Vec<Abandoned> {
        self.greets = false;
        self.end_sessions()
    }

    fn end_sessions(&mut self) -> Vec<Abandoned> {
        self.handshake = Default::default();
        self.end_those(|_| true)
    }

    /// Ends some sessions. Gives back what was unreceipted in them.
    pub(in crate::node) fn end_those(
        &mut self,
        which: impl Fn(&Session) -> bool,
    ) -> Vec<Abandoned> {
        let ended = self.sessions.extract_if(.., |session| which(session));
        let abandoned = ended.map(|mut session| session.ledger.abandon());
        abandoned.flatten().collect()
    }

    /// Our clock was put back to `clock`. What peers signed in the time to come, when both clocks were wrong, is
    /// no longer the last word: what they sign now is newer. A handshake that was half done then is begun anew.
    pub(super) fn put_clock_back(&mut self, clock: Timestamp) {
        let latest = clock.saturating_add(CLOCK_TOLERANCE);
        let announced = self.announced;
        self.announced = announced.map(|last| if last > latest { clock } else { last });
        self.heard_announce = self.heard_announce.filter(|heard| *heard <= latest);
        self.handshake = Default::default();
        for session in &mut self.sessions {
            session.ledger.put_back(latest);
            session.asked = session.asked.map(|asked| asked.min(clock));
        }
    }
}

fn judged(headers: &Headers, hash: Digest, refused: Option<Reason>) -> Slot {
    let signed_at = headers.timestamp;
    Slot {
        hash,
        signed_at,
        refused,
    }
}

fn session_of(established: &Established, clock: Timestamp) -> Session {
    let initiator = established.role == Role::Initiator;
    Session {
        id: SessionId(established.id.0),
        role: established.role,
        peer_key: established.certificate.signing_key.id(),
        own_key: established.own_key,
        own_serials: established.own_serials,
        peer_sealing: established.peer_sealing,
        peer_layers: established.peer_layers,
        offered: established.offered.clone(),
        beside: Default::default(),
        version: established.version,
        began: established.began,
        ends: established.ends,
        peer_until: established.peer_until,
        given: established.given.clone(),
        received: established.received.clone(),
        // Flight 4 confirms the session for A, the initiator; B waits for A's first message in it (protocol.md, section 6).
        confirmed: initiator,
        closed: false,
        retired: false,
        stale: false,
        outdated: false,
        keyless: false,
        made: None,
        window: Window::default(),
        ledger: Ledger::default(),
        last_flight: LastFlight::of(&established.last_flight),
        answers: established.answers,
        // B's flight 4 may be lost: `retry` tells B, the responder, when to send it again. A has the session only once flight
        // 4 came, and has no flight to send again.
        retry: (!initiator).then(|| Retry::from(clock)),
        asked: None,
        asks_again: None,
    }
}

/// The peer spoke in the session, so it has it; flight 4 need not be sent again.
fn confirm(session: &mut Session) {
    session.confirmed = true;
    session.retry = None;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The next announce is dated after the last one: one of a clock that was ahead would put it into the peer's future, and
    /// one that the peer took must not be forgotten, or the next would be a step back.
    #[test]
    fn an_announce_of_the_time_to_come_holds_back_no_other_and_one_that_a_peer_took_still_counts() {
        let clock = Timestamp::from_millis(10_000_000);
        let latest = clock.saturating_add(CLOCK_TOLERANCE);
        let beyond = Timestamp::from_millis(latest.as_millis() + 1);
        for (announced, kept) in [
            (clock.saturating_add(24 * CLOCK_TOLERANCE), clock),
            (beyond, clock),
            (latest, latest),
            (
                Timestamp::from_millis(5_000_000),
                Timestamp::from_millis(5_000_000),
            ),
        ] {
            let mut peer = Peer {
                announced: Some(announced),
                ..Peer::default()
            };
            peer.put_clock_back(clock);
            assert_eq!(peer.announced, Some(kept));
        }
    }
}
