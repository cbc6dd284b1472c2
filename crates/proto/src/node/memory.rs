//! The one place where lasting state changes: by entries, live and from the log alike. Each part changes its own state;
//! here stands which parts an entry concerns, and in which order.

use std::collections::HashSet;
use std::sync::Arc;

use crate::draft::Draft;
use crate::entry::{
    ClockLine, Did, Direction, DraftLine, Entry, Evidence, OutcomeLine, Ruling, TrustChange,
    Verdict,
};
use crate::envelope::{Form, KeptIn, Message, Method};
use crate::handshake::Established;
use crate::headers::Headers;
use crate::ids::{AgentId, Digest, MessageId};
use crate::receipt::Receipt;
use crate::reject::{PeerReason, Reason};
use crate::session::{Abandoned, Misfit};
use crate::time::Timestamp;
use crate::verify::Payload;

use super::peers::ReceiptEffect;
use super::rule::ruled::Ruled;
use super::tasks::TaskAnswer;
use super::{Lost, Node, State};

/// What an entry changed that somebody waits to hear of.
#[derive(Debug, Default)]
pub(super) struct Changed {
    pub(super) established: Option<Box<Established>>,
    /// What moved of our messages.
    pub(super) fates: Vec<Fate>,
    /// The messages that waited for receipts and certainly never left, and as what each ends: by a line of its own, since the
    /// log does not say so otherwise.
    pub(super) unsent: Vec<Fate>,
    /// Whose log was put back to an older copy, as a receipt of that peer's shows.
    pub(super) misfit: Option<(AgentId, Misfit)>,
    pub(super) renewed: Option<TrustChange>,
}

/// A message of ours, and where it is now.
pub(super) type Fate = (AgentId, MessageId, State);

/// An entry on its way into memory, and when it counts.
pub(super) struct Line<'n> {
    pub(super) node: &'n mut Node,
    /// The line's own time, which never goes back, whatever the clock was set to: what is remembered goes by it.
    pub(super) now: Timestamp,
    /// The clock, which may be behind it: timers go by that, and no start remembers them.
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

    /// `ruled` is the message of the line, where it was ruled on just now.
    pub(super) fn apply(
        &mut self,
        clock: Timestamp,
        entry: &Entry,
        ruled: Option<&Ruled>,
    ) -> Changed {
        let now = self.clock.pass_line(clock);
        let node = self;
        Line { node, now, clock }.apply(entry, ruled)
    }
}

impl Line<'_> {
    fn apply(mut self, entry: &Entry, ruled: Option<&Ruled>) -> Changed {
        let now = self.now;
        match entry {
            Entry::Message(verdict) => return self.apply_message(verdict, ruled),
            Entry::Genesis(own) => self.apply_genesis(own),
            // A line of the kind `trust` about our own agent records our own certificate: do not make a peer of ourselves.
            Entry::Trust(line) if line.certificate.agent == *self.node.me.identity().agent() => {
                self.apply_own(&line.certificate)
            }
            Entry::Trust(line) => return self.apply_trust(line.change, &line.certificate),
            Entry::Revoked(revocation) => return self.apply_revocation(revocation),
            Entry::Pause(statement) => {
                let arrivals = self.node.inbox.arrivals();
                self.node.people.apply_pause(statement, arrivals);
            }
            Entry::Approval(line) => {
                // `entry` marks the peer as changed, so that the agenda finds out again when something is due with it.
                self.node.peers.entry(&line.peer);
                self.node.sent.apply_approval(line);
            }
            Entry::Draft(line) => self.apply_draft(line),
            Entry::Outcome(line) => return self.apply_outcome(line),
            Entry::Handoff(line) => self.node.tasks.apply(now, line),
            Entry::Alarm(line) => self.node.alarms.apply(now, line),
            Entry::Hole(line) => {
                if let Some(peer) = self.node.peers.get_mut(&line.peer) {
                    peer.apply_hole(line);
                }
            }
            Entry::Clock(ClockLine {
                peer,
                difference_ms,
            }) if peer == self.node.me.identity().agent() => {
                let clock = self.node.clock.apply(now, *difference_ms);
                self.node.peers.put_clock_back(clock);
            }
            // Name every kind here and use no `_`: a new kind of log line does not compile until somebody says what it changes.
            Entry::Attempt(_)
            | Entry::Clock(_)
            | Entry::Flood(_)
            | Entry::Gap(_)
            | Entry::Rebuilt(_) => {}
            Entry::Loss(_) => return self.forget_sessions(),
        }
        Changed::default()
    }

    /// The end of our log is lost, and with it what came in each session: a copy of a message that was taken would
    /// be taken again. So no session from before is heard or spoken in any more, and whoever had one is met anew.
    fn forget_sessions(mut self) -> Changed {
        let known: Vec<_> = self.node.peers.known().names().cloned().collect();
        let mut changed = Changed::default();
        for name in known {
            let is_trusted = self.node.trust().trusted(&name).is_some();
            let abandoned = self.node.peers.entry(&name).forget_sessions(is_trusted);
            let mut lost = self.note_lost(&name, abandoned, Lost::SessionLost);
            changed.fates.append(&mut lost.fates);
            changed.unsent.append(&mut lost.unsent);
        }
        changed
    }

    fn apply_message(self, verdict: &Verdict, ruled: Option<&Ruled>) -> Changed {
        match (verdict.direction, verdict.ruling, &verdict.evidence) {
            (Direction::In, Ruling::Accepted, Evidence::Whole(message)) => {
                let Some(ruled) = ruled else {
                    // There is no `ruled` when the log is replayed: the message was judged before its line was written, so only
                    // read its payload again.
                    let payload = Payload::recalled(message);
                    return self.apply_accepted(message, payload.as_ref());
                };
                return self.apply_accepted(message, Some(&ruled.payload));
            }
            (Direction::Out, Ruling::Sent, Evidence::Whole(message)) => {
                return self.apply_sent(message);
            }
            (Direction::In, Ruling::Rejected(reason), Evidence::Whole(message)) => {
                let method = message.form.method();
                self.apply_refused(&message.headers, method, verdict.hash, reason);
            }
            // A replay reads this line as `Withheld`, and knows no method there, since lines of version 1 have none:
            // name none here either, or a replay would have another result. A flight comes here only with tier 3 or 4
            // (`can_be_a_replay`): V10 refuses it in every handshake, so its id may be noted as seen.
            (Direction::In, Ruling::Rejected(reason), Evidence::Headers(message)) => {
                self.apply_refused(&message.headers.as_written(), None, verdict.hash, reason);
            }
            (Direction::In, Ruling::Rejected(reason), Evidence::Withheld(headers, _)) => {
                if let Ok(headers) = Headers::parse(headers) {
                    self.apply_refused(&headers, None, verdict.hash, reason);
                }
            }
            // No other line of a message has an effect: unproven input belongs to no peer, and a copy repeats a message of an
            // earlier line.
            _ => {}
        }
        Changed::default()
    }

    /// `payload` is what it carries; `None` where that changes nothing by itself.
    fn apply_accepted(mut self, message: &Arc<Message>, payload: Option<&Payload>) -> Changed {
        let name = &message.headers.agent_id;
        let peer = self.node.peers.entry(name);
        peer.apply_accepted(self.now, self.clock, message);
        match payload {
            Some(Payload::Flight(flight)) => {
                let established = peer.apply_flight(message, flight, self.clock, self.now);
                return self.establish(name, established);
            }
            Some(Payload::Receipt(receipt)) => return self.apply_receipt(message, receipt),
            Some(Payload::Revocation(_) | Payload::Pause(_) | Payload::Poll(_)) | None => {}
            Some(Payload::Answer) => self.apply_answer(message),
            Some(Payload::Progress(told)) => self
                .node
                .sent
                .requests_mut()
                .apply_progress(message, told.as_ref()),
            Some(Payload::Offers(offers)) => peer.apply_offer(message, offers),
            Some(Payload::Ping) => self.node.sent.apply_ping(message),
            Some(Payload::Call) => {
                let at = self.node.clock.next_step(self.now);
                let elapsed = self.node.clock.elapsed();
                self.node.peers.known_mut().note_step(at, elapsed, message);
                self.node.inbox.insert(message);
            }
        }
        Changed::default()
    }

    fn apply_answer(&mut self, message: &Arc<Message>) {
        let Some(request) = message.headers.in_reply_to else {
            return;
        };
        let open = self.node.sent.requests_mut().apply_answer(request);
        if let Some(open) = &open {
            self.node.peers.entry(open.peer()).apply_answer(request);
        }
        // The answer to a ping goes to the program that waits for it, and not into the inbox (protocol.md, section 9).
        if !open.as_ref().is_some_and(|open| open.is_ping()) {
            self.node.inbox.insert(message);
        }
        if let Some(open) = open {
            // Drop the returned `Changed`, which would tell the program that waits for this request what became of it: that
            // program gets the answer itself.
            self.note_fates(vec![(
                open.peer().clone(),
                request,
                answered(&message.form),
            )]);
        }
    }

    fn apply_refused(
        self,
        headers: &Headers,
        method: Option<Method>,
        hash: Digest,
        reason: Reason,
    ) {
        // Do not note a refused flight as seen: the peer sends the same bytes again, and they may fit the handshake by then
        // (V08).
        if method.is_some_and(Method::is_handshake) {
            return;
        }
        self.node.sent.requests_mut().apply_refused(headers, reason);
        let peer = self.node.peers.entry(&headers.agent_id);
        peer.apply_refused(self.now, headers, hash, reason);
    }

    /// Takes the session that a handshake ended in, and closes those that the peer no longer holds.
    fn establish(mut self, name: &AgentId, established: Option<Established>) -> Changed {
        let Some(established) = established else {
            return Changed::default();
        };
        let Node { trust, .. } = &mut *self.node;
        trust.raise_lowest_version(name, established.lowest_version);
        // The flight's own log line has to renew the certificate: if a second line did, and a crash cut off that second line,
        // the session would lack the key that signs in it.
        let renewed = self.renew(&established.certificate);
        let Node {
            trust,
            peers,
            clock,
            me,
            ..
        } = &mut *self.node;
        // Raise the serial of the key statement after the renewal, which sets it back to 0 if the certificate has a new signing
        // key.
        trust.raise_keys_serial(name, established.keys_serial);
        // `elapsed` is unknown while the log is replayed: `retire_sessions` compares the sessions with our keys when the replay
        // is over.
        let lives = clock.elapsed().map(|elapsed| (elapsed, me.identity()));
        let peer = peers.entry(name);
        let abandoned = peer.establish(&established, self.now, self.clock, lives);
        Changed {
            renewed,
            established: Some(Box::new(established)),
            ..self.note_lost(name, abandoned, Lost::SessionLost)
        }
    }

    fn apply_sent(mut self, message: &Arc<Message>) -> Changed {
        let (headers, form) = (&message.headers, &message.form);
        let name = &headers.recipient_id;
        let peer = self.node.peers.entry(name);
        let anew = match form.kept() {
            KeptIn::Handshake => {
                let established = peer.apply_sent_flight(message, self.clock);
                return self.establish(name, established);
            }
            KeptIn::Receipts => {
                peer.apply_sent_receipt(headers);
                return Changed::default();
            }
            KeptIn::Offers => {
                peer.offers_mut().apply_told(self.now, message);
                peer.apply_sent(message, self.clock)
            }
            KeptIn::Inbox | KeptIn::Request | KeptIn::Orders | KeptIn::Nowhere => {
                peer.apply_sent(message, self.clock)
            }
        };
        self.node.sent.drafts_mut().remove(name, headers.message_id);
        // A message that was signed anew is under way again: forget that its earlier form ended as refused.
        if anew {
            self.node
                .sent
                .results_mut()
                .forget(name, headers.message_id);
            return Changed::default();
        }
        let method = form.method();
        let begins = !form.belongs_to_request() && method != Some(Method::Offer);
        if begins && headers.conversation_id.is_some() {
            let at = self.node.clock.next_step(self.now);
            self.node.peers.known_mut().note_own_step(at, message);
        }
        if method.is_some_and(Method::is_call) {
            self.node.sent.requests_mut().apply_sent(headers);
        }
        self.answer_request(headers, form);
        Changed::default()
    }

    /// A request of the peer's is answered, where the message is an answer.
    fn answer_request(&mut self, headers: &Headers, form: &Form) {
        // Only a response answers a request: calls and progress may name a message in `in-reply-to` as well.
        let Some(request) = headers.in_reply_to.filter(|_| form.method().is_none()) else {
            return;
        };
        let answer = TaskAnswer::by(headers.message_id, form);
        let peer = &headers.recipient_id;
        self.node.inbox.remove(peer, request);
        self.node.sent.forget_ping(peer, request);
        (self.node.tasks).answered(self.now, peer, request, answer);
    }

    fn apply_receipt(mut self, message: &Message, receipt: &Receipt) -> Changed {
        let name = &message.headers.agent_id;
        let peer = self.node.peers.entry(name);
        match peer.apply_receipt(self.now, self.clock, message, receipt) {
            ReceiptEffect::Settled(settled) => {
                let settled = settled.into_iter().map(|settled| {
                    let heard = |name: String| PeerReason::in_receipt(&name).as_str().to_owned();
                    let refused = settled.refused.map(heard);
                    let state = refused.map_or(State::Received, State::Refused);
                    (name.clone(), settled.message_id, state)
                });
                self.note_fates(settled.collect())
            }
            ReceiptEffect::Misfit(misfit, abandoned) => Changed {
                misfit: misfit.map(|misfit| (name.clone(), misfit)),
                ..self.note_lost(name, abandoned, Lost::RestoredBackup)
            },
        }
    }

    fn apply_draft(&mut self, line: &DraftLine) {
        let life = std::time::Duration::from_secs(line.life);
        let Ok(stored) = Draft::parse(line.message.clone(), life) else {
            return;
        };
        let message = stored.message();
        // An answer that waits for approval settles nothing yet: if the person refuses it, the request still needs an answer.
        if line.approve.is_none() {
            self.answer_request(&message.headers, &message.form);
        }
        let Node {
            peers, sent, me, ..
        } = &mut *self.node;
        peers.entry(&line.peer);
        sent.apply_draft(me.identity(), self.now, line, stored);
    }

    fn apply_outcome(mut self, line: &OutcomeLine) -> Changed {
        let (now, name, message) = (self.now, &line.peer, line.message_id);
        let Node {
            peers, sent, inbox, ..
        } = &mut *self.node;
        let state = match line.what {
            Did::DraftExpired | Did::Expired => State::Expired,
            Did::DraftRefused => State::RefusedHere(line.reason.clone().unwrap_or_default()),
            Did::AnswerFailed => {
                sent.forget_ping(name, message);
                return Changed::default();
            }
            Did::Acknowledged
            | Did::Started
            | Did::Failed
            | Did::SetAside
            | Did::Kept
            | Did::Retried
            | Did::Dropped => {
                inbox.apply(now, line);
                return Changed::default();
            }
        };
        // A message that was signed and never left has a number, which is given up like that of one that expired.
        peers.entry(name).give_up(message);
        if line.what != Did::Expired {
            sent.requests_mut().never_left(message);
            sent.drafts_mut().remove(name, message);
            inbox.draft_ended();
            // A handoff that never left ends its task here: no peer knows of the task, so no report will ever end it.
            self.node.tasks.never_left(now, name, message);
        }
        self.note_fates(vec![(name.clone(), message, state)])
    }

    /// The session of these messages is gone. Nobody can say whether the peer has them, unless they certainly never left: they
    /// end by lines of their own, and count as unknown until then, as they do at a start.
    pub(super) fn note_lost(
        &mut self,
        peer: &AgentId,
        abandoned: Vec<Abandoned>,
        why: Lost,
    ) -> Changed {
        let fate = |it: &Abandoned, state| (peer.clone(), it.message_id, state);
        let lost = abandoned.iter().map(|it| fate(it, State::Unknown(why)));
        let mut changed = self.note_fates(lost.collect());
        let unsent = abandoned.iter().filter(|it| it.never_left);
        let ended = State::RefusedHere(why.as_str().to_owned());
        changed.unsent = unsent.map(|it| fate(it, ended.clone())).collect();
        let never_left: HashSet<_> = changed.unsent.iter().map(|(_, name, _)| *name).collect();
        changed
            .fates
            .retain(|(_, name, _)| !never_left.contains(name));
        changed
    }

    /// Remembers where messages of ours are, and tells which of them moved.
    pub(super) fn note_fates(&mut self, mut fates: Vec<Fate>) -> Changed {
        fates.retain(|(peer, name, state)| {
            self.node.peers.entry(peer);
            (self.node.sent.results_mut()).note(self.now, peer, *name, state)
        });
        Changed {
            fates,
            ..Changed::default()
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
