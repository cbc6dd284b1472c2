//! What comes from the network: one input in, exactly one verdict out.

use std::sync::Arc;

use crate::carrier::CarrierId;
use crate::draft::Draft;
use crate::entry::{Direction, Entry, Evidence, Ruling, Verdict};
use crate::envelope::{Claimed, Form, KeptIn, Message, Method, Unparsed};
use crate::ids::Digest;
use crate::reject::{PeerReason, Reason};
use crate::verify::{Beyond, Payload, Proven, Unproven};

use super::answers::failure;
use super::judged::Input;
use super::peers::Paid;
use super::rule::ruled::{Accepted, Rejected, Ruled};
use super::turn::Turn;
use super::{Disposition, Judged, Outcome};

/// One input from the network on its way to its verdict.
pub(super) struct Arrival<'t, 'n> {
    turn: &'t mut Turn<'n>,
    bytes: u64,
}

impl<'t, 'n> Arrival<'t, 'n> {
    pub(super) fn judge(turn: &'t mut Turn<'n>, judged: Judged) {
        // Note the carrier before the input is judged: the answer goes out by the
        // carrier that brought the input (protocol.md, section 11).
        turn.node.peers.arrive_by(judged.carrier);
        // Report this input as counted only, until a line of the log says what was decided about it.
        turn.out.ruled = Some(Disposition::Counted);
        let bytes = judged.bytes;
        let mut arrival = Arrival { turn, bytes };
        match judged.input {
            Input::Parsed(proven) => arrival.judge_proven(judged.head, proven),
            // Drop the result, which says whether the log had room for a line: only the introduction of a stranger depends on
            // that, and bytes that did not parse cannot ask for one.
            Input::Unparsed(unparsed) => drop(arrival.refuse_stranger(judged.head, unparsed)),
            Input::Shed(hash) => arrival.count(hash),
        }
        let by = arrival.turn.node.peers.arrived_by();
        // Name no carrier if it is NATS: a log line without the member `carrier` is about NATS (protocol.md, section 12).
        let carrier = Some(by).filter(|carrier| **carrier != CarrierId::NATS);
        arrival.turn.out.carrier = carrier.cloned();
    }

    /// What workers proved, by the present trust store: proven again when the standing of its sender has changed, and
    /// when the sender's certificate may have been renewed since.
    fn current(&self, proven: Proven) -> Proven {
        let again = match proven {
            Proven::Verified(verified) => {
                let peer = self
                    .turn
                    .node
                    .trust()
                    .peer(&verified.message().headers.agent_id);
                if peer.map_or(0, |peer| peer.epoch()) == verified.epoch() {
                    return Proven::Verified(verified);
                }
                verified.into_unverified()
            }
            Proven::Beyond(beyond) => beyond.into_unverified(),
            Proven::Unproven(_) => return proven,
        };
        again.verify_again(self.turn.node.trust())
    }

    fn judge_proven(&mut self, head: Vec<u8>, proven: Proven) {
        match self.current(proven) {
            // A poll has no sequence number, no log line and no receipt: `take_poll` judges it by rules of its own, without the
            // checks V08 to V12 of docs/protocol.md.
            Proven::Verified(verified) => match verified.payload {
                Ok(Payload::Poll(last)) => {
                    self.turn
                        .peers()
                        .take_poll(self.bytes, &verified.message, last)
                }
                _ => {
                    let ruled = self.turn.node.judge(self.turn.at.now).rule(verified);
                    self.settle(ruled);
                }
            },
            Proven::Beyond(Beyond { message, reason }) => {
                // Ask first whether the message is a copy (V08): a copy of a message that was refused before is answered by a
                // receipt again, whatever the reason was.
                let fresh = self.turn.node.judge(self.turn.at.now).admit_fresh(&message);
                let fault = fresh.err().unwrap_or(reason).into();
                self.settle(Err(Rejected { message, fault }));
            }
            Proven::Unproven(Unproven { message, reason }) => {
                let unparsed = Unparsed {
                    reason,
                    hash: message.hash(),
                    claimed: Claimed {
                        agent: Some(message.headers.agent_id.clone()),
                        message_type: Some(message.headers.message_type),
                    },
                };
                // Introduce the sender only if the strangers' budget had room for a log line: a flood of strangers must not
                // flood the person with questions.
                if self.refuse_stranger(head, unparsed) {
                    self.turn.people().consider_stranger(&message, reason);
                }
            }
        }
    }

    /// Writes down what was decided about a message that is its sender's, and lets follow what follows from it.
    fn settle(&mut self, ruled: Result<Ruled, Rejected>) {
        // Note where this message's log lines begin: the peer's budget pays for these, and not for an earlier line about our
        // own clock.
        let before = self.turn.out.entries.len();
        let now = self.turn.at.now;
        let (message, reason) = match &ruled {
            Ok(ruled) => (&ruled.message, None),
            Err(rejected) => (&rejected.message, Some(rejected.fault.reason)),
        };
        let message = Arc::clone(message);
        let peer = &message.headers.agent_id;
        let link = self.turn.node.peers.entry(peer);
        // Note the time of a refused message too: its signature was verified, so it is the peer itself that named this time.
        link.hear_time(now, message.headers.timestamp);
        let paid = match reason.is_some_and(|reason| can_be_a_replay(&message, reason)) {
            true => Some(Paid::AsStrangers),
            false => link.bytes().admit(now, &message, reason.is_some()),
        };
        let Some(paid) = paid else {
            // The peer's budget has no room for a log line: count the message and drop its verdict `ruled`. Nothing is lost: a
            // later receipt repeats what this one says, and everything else is sent again (table in `peers/bytes.rs`).
            self.count(message.hash());
            return self.turn.peers().note_excess(peer);
        };
        match ruled.and_then(|ruled| self.turn.people().obey(ruled)) {
            Ok(ruled) => self.accept(ruled, paid),
            Err(rejected) => self.reject(rejected, paid),
        }
        let lines = self.turn.out.entries.get(before..).unwrap_or_default();
        self.turn.node.peers.entry(peer).bytes().pay(paid, lines);
    }

    fn accept(&mut self, mut ruled: Ruled, paid: Paid) {
        if let Some(task) = ruled.task.take() {
            self.turn.write(task);
        }
        let copy = ruled.plaintext();
        // Seal the content once more, for our person's audit key: by this copy the person can read the message in the log. An
        // agent without a control certificate has no such key, and takes the message without a copy.
        let node = &mut *self.turn.node;
        let seal = |plaintext| node.me.identity().copy_of(plaintext, node.ids.rng()).ok()?;
        let copy = copy.and_then(seal);
        let message = &ruled.message;
        self.turn.peers().count_call(message, Ruling::Accepted);
        let entry = Outcome::verdict(self.bytes, message, Ruling::Accepted, copy, paid);
        self.turn.out.ruled = Some(Disposition::Accepted);
        let by = self.turn.node.peers.arrived_by().clone();
        // Note the carrier of accepted messages only: otherwise a message
        // replayed by another carrier could divert our receipts.
        let peer = self.turn.node.peers.entry(&message.headers.agent_id);
        peer.hear_by(by);
        self.turn.write_ruled(entry, Some(&ruled));
        self.follow_accepted(ruled);
    }

    fn reject(&mut self, rejected: Rejected, paid: Paid) {
        let Rejected { message, fault } = &rejected;
        let (now, ruling) = (self.turn.at.now, Ruling::Rejected(fault.reason));
        self.turn.peers().count_call(message, ruling);
        let entry = Outcome::verdict(self.bytes, message, ruling, None, paid);
        // A stranger may have replayed this message: count its log line against the strangers' budget, and not against the
        // peer's.
        let is_strangers = can_be_a_replay(message, fault.reason);
        if is_strangers && !self.turn.node.people.spend(now, &entry) {
            self.count(message.hash());
        } else {
            self.turn.out.ruled = Some(Disposition::Refused);
            self.turn.write(entry);
        }
        self.follow_refused(rejected, paid);
    }

    /// Says whether there was room for a line.
    fn refuse_stranger(&mut self, head: Vec<u8>, unparsed: Unparsed) -> bool {
        let Unparsed {
            reason,
            hash,
            claimed,
        } = unparsed;
        let entry = Entry::Message(Verdict {
            direction: Direction::In,
            ruling: Ruling::Rejected(reason),
            bytes: self.bytes,
            hash,
            evidence: Evidence::Raw(head, claimed),
            copy: None,
        });
        if !self.turn.node.people.spend(self.turn.at.now, &entry) {
            self.count(hash);
            return false;
        }
        self.turn.out.ruled = Some(Disposition::Refused);
        self.turn.write(entry);
        true
    }

    /// Counts the input: no line tells of it alone.
    fn count(&mut self, hash: Digest) {
        let now = self.turn.at.now;
        self.turn.node.people.count(now, self.bytes, hash);
    }

    fn follow_accepted(&mut self, ruled: Ruled) {
        let message = Arc::clone(&ruled.message);
        match (&ruled.payload, message.form.kept()) {
            (Payload::Flight(_), _) => self.turn.flights().follow_flight(&message),
            (Payload::Receipt(receipt), _) => self.turn.receipts().answer(&message, receipt),
            (Payload::Ping, _) => self.turn.answer_ping(&message),
            (_, KeptIn::Inbox | KeptIn::Request) => {
                if is_about_clocks(&message.form) {
                    self.turn.alarms().note_clock(&message);
                }
                // During a pause the message stays in the inbox; the resume hands it to our agent.
                if !self.turn.node.people.pausing().is_paused() {
                    self.turn.hand_over(Accepted::of(ruled));
                }
            }
            (_, KeptIn::Offers | KeptIn::Orders | KeptIn::Nowhere) => {}
            // Never reached: receipts and flights were matched above by their payloads.
            (_, KeptIn::Receipts | KeptIn::Handshake) => {}
        }
        // This message may have confirmed its session or, if it is a receipt, made room in it: send the drafts that waited for
        // the one or the other.
        if message.headers.session.is_some() {
            self.turn.drafts().release(&message.headers.agent_id);
        }
    }

    fn follow_refused(&mut self, rejected: Rejected, paid: Paid) {
        let Rejected { message, fault } = &rejected;
        if fault.reason == Reason::TimestampInFuture {
            self.turn.alarms().note_clock(message);
        }
        match fault.reason {
            Reason::Duplicate => self.turn.copies().answer_copy(message),
            Reason::SessionUnknown => self.turn.copies().answer_unknown_session(message),
            Reason::Expired | Reason::TimestampInFuture
                if message.form == Form::Call(Method::Announce) =>
            {
                self.turn.copies().answer_late_announce(message);
            }
            Reason::HandshakeUnexpected | Reason::TranscriptMismatch => {
                self.turn.alarms().suspect_copy_by_flight(message);
            }
            // Send no error about a reused number or message-id: the peer would think that the error is about its earlier
            // message of that number or id.
            Reason::SequenceReuse => self.turn.alarms().alarm_of_reuse(message),
            Reason::MessageIdReuse => {}
            Reason::SequenceBelowWindow | Reason::SessionEnded | Reason::HandshakeRequired => {}
            // A peer that is over its budget for refused messages gets no error: the next receipt names the refusal.
            _ if paid == Paid::Withheld => {}
            _ if message.form.method().is_some_and(Method::is_call) => {
                let form = failure(fault);
                let id = self.turn.node.ids.fresh(self.turn.at.now);
                // If the error can neither leave nor wait, drop it: the next receipt names the refusal as well.
                let answer = Draft::answer(form, message, id, None);
                let _ = self.turn.sent().dispatch(answer, None);
            }
            // JSON-RPC answers calls alone: send no error about any other message. The next receipt names a refused message
            // that has a number; flights, receipts and orders, which have none, get no answer.
            _ => {}
        }
    }
}

fn is_about_clocks(form: &Form) -> bool {
    form.refusal() == Some(PeerReason::Known(Reason::TimestampInFuture))
}

/// Whether anybody could have sent such a message again that was refused.
fn can_be_a_replay(message: &Message, reason: Reason) -> bool {
    let is_flight = message.form.method().is_some_and(Method::is_handshake);
    is_flight || reason == Reason::Duplicate
}
