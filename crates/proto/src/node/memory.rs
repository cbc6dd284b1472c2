//! The one place where lasting state changes: by entries, live and from the log alike.

mod ours;

pub(super) use ours::unknown;

use std::sync::Arc;

use crate::entry::{ClockLine, Direction, Entry, Evidence, Ruling, TrustChange, Verdict};
use crate::envelope::{Form, Message, Method};
use crate::handshake::{Established, Handshake, Retry, Role};
use crate::headers::Headers;
use crate::ids::{AgentId, Digest, MessageId, SessionId};
use crate::reject::{PeerReason, Reason};
use crate::session::{Ledger, Misfit, Session, Slot, Window};
use crate::time::Timestamp;
use crate::verify::Payload;

use super::rule::ruled::Ruled;
use super::{Lost, Node, State};

/// What an entry changed that somebody waits to hear of.
#[derive(Debug, Default)]
pub(super) struct Changed {
    pub(super) established: Option<Box<Established>>,
    /// What moved of our messages.
    pub(super) fates: Vec<Fate>,
    /// Whose log was put back to an older copy, as a receipt of that peer's shows.
    pub(super) misfit: Option<(AgentId, Misfit)>,
    pub(super) renewed: Option<TrustChange>,
}

/// A message of ours, and where it is now.
pub(super) type Fate = (AgentId, MessageId, State);

/// When a line counts.
#[derive(Clone, Copy)]
pub(super) struct LineTime {
    /// Its own time, which never goes back: what is remembered goes by it.
    now: Timestamp,
    /// The clock, which may be behind it: timers go by that.
    clock: Timestamp,
}

impl Node {
    /// Tells the node again what it once said: one line of its log, in order.
    pub fn recall(&mut self, ts: Timestamp, entry: &Entry) {
        self.apply(ts, entry, None);
    }

    /// A line that says nothing to the node was written at that time: no later line bears an earlier one.
    pub fn pass_time(&mut self, ts: Timestamp) {
        self.clock.advance_to(ts);
    }

    /// A line's time is never before that of the line above it, whatever the clock was set to: what is
    /// remembered goes by the line's, and timers, which no start remembers, by the clock. `ruled` is the message of
    /// the line, where it was ruled on just now.
    pub(super) fn apply(
        &mut self,
        clock: Timestamp,
        entry: &Entry,
        ruled: Option<&Ruled>,
    ) -> Changed {
        let now = self.clock.pass_line(clock);
        match entry {
            Entry::Message(verdict) => {
                return self.apply_message(LineTime { now, clock }, verdict, ruled);
            }
            Entry::Genesis(own) => self.apply_genesis(now, own),
            Entry::Trust(line) if line.certificate.agent == *self.me.identity().agent() => {
                self.apply_own(now, &line.certificate)
            }
            Entry::Trust(line) => {
                return self.apply_trust(now, line.change, &line.certificate);
            }
            Entry::Revoked(revocation) => return self.apply_revocation(now, revocation),
            Entry::Pause(statement) => {
                self.people.apply_pause(statement, self.inbox.arrivals());
            }
            Entry::Approval(line) => self.apply_approval(line),
            Entry::Draft(line) => self.apply_draft(now, line),
            Entry::Outcome(line) => return self.apply_outcome(now, line),
            Entry::Handoff(line) => self.tasks.apply(now, line),
            Entry::Alarm(line) => self.alarms.apply(now, line),
            Entry::Hole(line) => {
                let link = self.peers.get_mut(&line.peer);
                link.into_iter().for_each(|link| link.apply_hole(line));
            }
            Entry::Clock(ClockLine {
                peer,
                difference_ms,
            }) if peer == self.me.identity().agent() => {
                let clock = self.clock.apply(now, *difference_ms);
                for link in self.peers.values_mut() {
                    link.put_clock_back(clock);
                }
            }
            Entry::Attempt(_)
            | Entry::Clock(_)
            | Entry::Flood(_)
            | Entry::Gap(_)
            | Entry::Rebuilt(_) => {}
            Entry::Loss(_) => return self.forget_sessions(now),
        }
        Changed::default()
    }

    /// The end of our log is lost, and with it what came in each session: a copy of a message that was taken would
    /// be taken again. So no session from before is heard or spoken in any more, and whoever had one is met anew.
    fn forget_sessions(&mut self, now: Timestamp) -> Changed {
        let known: Vec<_> = self.peers.names().cloned().collect();
        let mut lost = Vec::new();
        for peer in known {
            let is_trusted = self.trust().trusted(&peer).is_some();
            let link = self.peers.entry(&peer);
            let mut sessions = std::mem::take(&mut link.sessions);
            link.handshake = Handshake::default();
            link.greets |= is_trusted && !sessions.is_empty();
            link.next_announce = None;
            let abandoned = sessions
                .iter_mut()
                .flat_map(|session| session.ledger.abandon());
            lost.extend(unknown(&peer, abandoned.collect(), Lost::SessionLost));
        }
        self.note_fates(now, lost)
    }

    fn apply_message(
        &mut self,
        time: LineTime,
        verdict: &Verdict,
        ruled: Option<&Ruled>,
    ) -> Changed {
        let now = time.now;
        match (verdict.direction, verdict.ruling, &verdict.evidence) {
            (Direction::In, Ruling::Accepted, Evidence::Whole(message)) => {
                let Some(ruled) = ruled else {
                    let payload = Payload::recalled(message);
                    return self.apply_accepted(time, message, payload.as_ref());
                };
                return self.apply_accepted(time, message, Some(&ruled.payload));
            }
            (Direction::Out, Ruling::Sent, Evidence::Whole(message)) => {
                return self.apply_sent(time, message);
            }
            (Direction::In, Ruling::Rejected(reason), Evidence::Whole(message)) => {
                let method = message.form.method();
                self.apply_refused(now, &message.headers, method, verdict.hash, reason);
            }
            // Its line keeps no method, so none may count now either.
            (Direction::In, Ruling::Rejected(reason), Evidence::Headers(message)) => {
                self.apply_refused(now, &message.headers, None, verdict.hash, reason);
            }
            (Direction::In, Ruling::Rejected(reason), Evidence::Withheld(headers, _)) => {
                if let Ok(headers) = Headers::parse(headers) {
                    self.apply_refused(now, &headers, None, verdict.hash, reason);
                }
            }
            _ => {}
        }
        Changed::default()
    }

    /// `payload` is what it carries; `None` where that changes nothing by itself.
    fn apply_accepted(
        &mut self,
        time: LineTime,
        message: &Arc<Message>,
        payload: Option<&Payload>,
    ) -> Changed {
        let LineTime { now, clock } = time;
        let headers = &message.headers;
        let peer = headers.agent_id.clone();
        let link = self.peers.entry(&peer);
        link.names
            .insert(headers.message_id, message.hash(), headers.expires_at, now);
        link.hear();
        let place = headers.session.zip(headers.sequence);
        if let Some((id, sequence)) = place
            && let Some(session) = link.session_mut(id)
        {
            confirm(session);
            let slot = judged(headers, message.hash(), None);
            session.window.record(sequence, slot);
        }
        match payload {
            Some(Payload::Flight(flight)) => {
                if message.form.method() == Some(Method::Announce) {
                    link.heard_announce = Some(headers.timestamp);
                }
                let established = link.handshake.take(message, flight, clock, now);
                return self.establish(&peer, established, time);
            }
            Some(Payload::Receipt(receipt)) => return self.apply_receipt(time, message, receipt),
            Some(Payload::Revocation(_) | Payload::Pause(_) | Payload::Poll(_)) | None => {}
            Some(Payload::Answer) => self.apply_answer(now, message),
            Some(Payload::Progress(told)) => self.sent.apply_progress(message, told.as_ref()),
            Some(Payload::Offers(offers)) => self.peers.entry(&peer).apply_offer(message, offers),
            Some(Payload::Ping) => self.sent.apply_ping(message),
            Some(Payload::Call) => {
                let at = self.clock.next_step(now);
                let came = self.clock.elapsed();
                self.peers.entry(&peer).trail.note_step(at, came, message);
                self.inbox.insert(message);
            }
        }
        Changed::default()
    }

    fn apply_answer(&mut self, now: Timestamp, message: &Arc<Message>) {
        let Some(request) = message.headers.in_reply_to else {
            return;
        };
        let (mut fates, mut is_pong) = (Vec::new(), false);
        if let Some(open) = self.sent.apply_answer(request) {
            is_pong = open.is_ping();
            let link = self.peers.entry(open.peer());
            for session in &mut link.sessions {
                session.ledger.answered(request);
            }
            fates.push((open.peer().clone(), request, answered(&message.form)));
        }
        if !is_pong {
            self.inbox.insert(message);
        }
        // Whoever waits hears of it by the answer itself.
        self.note_fates(now, fates);
    }

    /// Remembers where messages of ours are, and tells which of them moved.
    pub(super) fn note_fates(&mut self, now: Timestamp, mut fates: Vec<Fate>) -> Changed {
        fates.retain(|(peer, name, state)| {
            self.peers.entry(peer);
            self.sent.note_result(now, peer, *name, state)
        });
        Changed {
            fates,
            ..Changed::default()
        }
    }

    fn apply_refused(
        &mut self,
        now: Timestamp,
        headers: &Headers,
        method: Option<Method>,
        hash: Digest,
        reason: Reason,
    ) {
        // A refused flight is not "judged": its copy is judged anew, under the strangers' budget.
        if method.is_some_and(Method::is_handshake) {
            return;
        }
        self.sent.apply_refused(headers, reason);
        let link = self.peers.entry(&headers.agent_id);
        let place = headers.session.zip(headers.sequence);
        let place = place.and_then(|(id, sequence)| Some((link.session(id)?, sequence)));
        let admitted = place.map(|(session, sequence)| session.window.admit(sequence, hash));
        // Its number is used up, so that this form is never taken: another may bear its name.
        let may_come_anew = admitted == Some(Ok(()))
            && reason == Reason::TimestampInFuture
            && !headers.message_type.is_answered();
        if !may_come_anew && link.names.hash_of(headers.message_id).is_none() {
            link.names
                .insert(headers.message_id, hash, headers.expires_at, now);
        }
        let (Some(id), Some(sequence)) = (headers.session, headers.sequence) else {
            return;
        };
        let Some(session) = link.session_mut(id) else {
            return;
        };
        match session.window.admit(sequence, hash) {
            Ok(()) => {
                confirm(session);
                session
                    .window
                    .record(sequence, judged(headers, hash, Some(reason)));
            }
            Err(Reason::SequenceReuse) => session.window.note_reuse(sequence),
            Err(Reason::Expired) => session.window.note_late(sequence),
            Err(_) => {}
        }
    }

    /// Takes the session that a handshake ended in, and closes those that the peer no longer holds.
    fn establish(
        &mut self,
        peer: &AgentId,
        established: Option<Established>,
        time: LineTime,
    ) -> Changed {
        let Some(established) = established else {
            return Changed::default();
        };
        self.trust
            .raise_lowest_version(peer, established.lowest_version);
        // With the flight itself, so that no torn tail parts the session from the key that signs in it.
        let renewed = self.renew(&established.certificate);
        self.trust.raise_keys_serial(peer, established.keys_serial);
        let elapsed = self.clock.elapsed();
        let link = self.peers.entry(peer);
        let mut abandoned = Vec::new();
        for session in &mut link.sessions {
            if !established.named.contains(&session.id) && !session.closed {
                session.closed = true;
                abandoned.append(&mut session.ledger.abandon());
            }
        }
        let mut session = session_of(&established, time.clock);
        session.made = elapsed;
        // What the log tells is compared with our keys when all of it has been told.
        if elapsed.is_some() {
            session.judge_by(self.me.identity());
        }
        let link = self.peers.entry(peer);
        abandoned.append(&mut link.add(session, time.now));
        link.next_announce = None;
        link.flown_by = None;
        link.silence = std::time::Duration::ZERO;
        let lost = unknown(peer, abandoned, Lost::SessionLost);
        Changed {
            renewed,
            established: Some(Box::new(established)),
            ..self.note_fates(time.now, lost)
        }
    }
}

/// Where a request is that was answered in this form: our agent's peer said no, or its daemon did.
fn answered(form: &Form) -> State {
    match form.refusal() {
        None | Some(PeerReason::Known(Reason::Declined)) => State::Answered,
        Some(refused) => State::Refused(refused.as_str().to_owned()),
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
        confirmed: initiator,
        closed: false,
        retired: false,
        stale: false,
        outdated: false,
        keyless: false,
        made: None,
        window: Window::default(),
        ledger: Ledger::default(),
        last_flight: Arc::clone(&established.last_flight),
        answers: established.answers,
        retry: (!initiator).then(|| Retry::from(clock)),
        asked: None,
    }
}

/// The peer spoke in the session, so it has it; flight 4 need not be sent again.
fn confirm(session: &mut Session) {
    session.confirmed = true;
    session.retry = None;
}
