//! What comes from the network: one input in, exactly one verdict out.

use std::sync::Arc;

use crate::carrier::CarrierId;
use crate::entry::{Direction, Entry, Evidence, Ruling, Verdict};
use crate::envelope::{Claimed, Message, Method, Unparsed};
use crate::reject::Reason;
use crate::verify::{Beyond, Payload, Proven, Unproven};

use super::bytes::Paid;
use super::judged::Input;
use super::rule::ruled::{Rejected, Ruled};
use super::turn::Turn;
use super::{At, Disposition, Judged, Node, Outcome};

pub(super) use crate::time::CLOCK_TOLERANCE;

/// Why what waits for a revoked peer is refused.
pub(super) const PEER_REVOKED: &str = "peer-revoked";

impl Node {
    /// Judges one input from the network (checks V08 to V12; V01 to V07 came before).
    pub fn handle_inbound(&mut self, at: At, judged: Judged) -> Outcome {
        let mut turn = self.turn(at);
        turn.read_clock();
        turn.node.arrived_by = judged.carrier;
        // As long as no line tells of it and nobody serves it.
        turn.out.ruled = Some(Disposition::Counted);
        match judged.input {
            Input::Parsed(proven) => turn.judge_parsed(judged.bytes, judged.head, proven),
            Input::Unparsed(unparsed) => {
                turn.refuse_stranger(judged.bytes, judged.head, unparsed);
            }
            Input::Shed(hash) => turn.node.people.count(at.now, judged.bytes, hash),
        }
        turn.out.carrier = Some(&turn.node.arrived_by)
            .filter(|carrier| **carrier != CarrierId::NATS)
            .cloned();
        turn.out
    }

    /// What workers proved, by the present trust store: proven again when the standing of its sender has changed, and
    /// when the sender's certificate may have been renewed since.
    fn current(&self, proven: Proven) -> Proven {
        let again = match proven {
            Proven::Verified(verified) => {
                let peer = self.trust().peer(&verified.message().headers.agent_id);
                if peer.map_or(0, |peer| peer.epoch()) == verified.epoch() {
                    return Proven::Verified(verified);
                }
                verified.into_unverified()
            }
            Proven::Beyond(beyond) => beyond.into_unverified(),
            Proven::Unproven(_) => return proven,
        };
        again.verify(self.trust())
    }
}

impl Turn<'_> {
    fn judge_parsed(&mut self, bytes: u64, head: Vec<u8>, proven: Proven) {
        match self.node.current(proven) {
            Proven::Verified(verified) => match verified.payload {
                Ok(Payload::Poll(last)) => self.take_poll(bytes, &verified.message, last),
                _ => {
                    let ruled = self.node.rule(self.at.now, verified);
                    self.settle(bytes, ruled);
                }
            },
            Proven::Beyond(Beyond { message, reason }) => {
                // A copy of it is refused as one.
                let fresh = self.node.admit_fresh(&message);
                let fault = fresh.err().unwrap_or(reason).into();
                self.settle(bytes, Err(Rejected { message, fault }));
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
                if self.refuse_stranger(bytes, head, unparsed) {
                    self.people().consider_stranger(&message, reason);
                }
            }
        }
    }

    /// Writes down what was decided about a message that is its sender's, and lets follow what follows from it.
    fn settle(&mut self, bytes: u64, ruled: Result<Ruled, Rejected>) {
        // The line of a clock that was put back comes before, and the peer does not pay for it.
        let before = self.out.entries.len();
        let now = self.at.now;
        let (message, reason) = match &ruled {
            Ok(ruled) => (&ruled.message, None),
            Err(rejected) => (&rejected.message, Some(rejected.fault.reason)),
        };
        let message = Arc::clone(message);
        let peer = &message.headers.agent_id;
        let budgets = &mut self.node.peers.entry(peer).budgets;
        let paid = match reason.is_some_and(|reason| can_be_a_replay(&message, reason)) {
            true => Some(Paid::AsStrangers),
            false => budgets.bytes.admit(now, &message, reason.is_some()),
        };
        let Some(paid) = paid else {
            // It is not judged: what it says comes again, or was never to be taken.
            self.node.people.count(now, bytes, message.hash());
            return self.note_excess(peer);
        };
        match ruled.and_then(|ruled| self.people().obey(ruled)) {
            Ok(ruled) => self.accept(bytes, ruled, paid),
            Err(rejected) => self.reject(bytes, rejected, paid),
        }
        let budgets = &mut self.node.peers.entry(peer).budgets;
        let lines = self.out.entries.get(before..).unwrap_or_default();
        budgets.bytes.pay(paid, lines);
    }

    fn accept(&mut self, bytes: u64, mut ruled: Ruled, paid: Paid) {
        if let Some(task) = ruled.task.take() {
            self.write(task);
        }
        let copy = ruled.plaintext();
        // Sealed for our person. A copy that cannot be made costs the line its copy, not the message.
        let node = &mut self.node;
        let seal = |plaintext| node.me.identity().copy_of(plaintext, node.ids.rng()).ok()?;
        let copy = copy.and_then(seal);
        let message = &ruled.message;
        self.count_call(message, Ruling::Accepted);
        let entry = Outcome::verdict(bytes, message, Ruling::Accepted, copy, paid);
        self.out.ruled = Some(Disposition::Accepted);
        let by = self.node.arrived_by.clone();
        self.node.peers.entry(&message.headers.agent_id).heard_by = Some(by);
        self.write_ruled(entry, Some(&ruled));
        self.follow_accepted(ruled);
    }

    fn reject(&mut self, bytes: u64, rejected: Rejected, paid: Paid) {
        let Rejected { message, fault } = &rejected;
        let (now, ruling) = (self.at.now, Ruling::Rejected(fault.reason));
        self.count_call(message, ruling);
        let entry = Outcome::verdict(bytes, message, ruling, None, paid);
        // A stranger can replay what it overheard: such lines count against the strangers' budget.
        let is_strangers = can_be_a_replay(message, fault.reason);
        if is_strangers && !self.node.people.spend(now, &entry) {
            self.node.people.count(now, bytes, message.hash());
        } else {
            self.out.ruled = Some(Disposition::Refused);
            self.write(entry);
        }
        self.follow_refused(rejected, paid);
    }

    /// Says whether there was room for a line.
    fn refuse_stranger(&mut self, bytes: u64, head: Vec<u8>, unparsed: Unparsed) -> bool {
        let Unparsed {
            reason,
            hash,
            claimed,
        } = unparsed;
        let entry = Entry::Message(Verdict {
            direction: Direction::In,
            ruling: Ruling::Rejected(reason),
            bytes,
            hash,
            evidence: Evidence::Raw(head, claimed),
            copy: None,
        });
        if !self.node.people.spend(self.at.now, &entry) {
            self.node.people.count(self.at.now, bytes, hash);
            return false;
        }
        self.out.ruled = Some(Disposition::Refused);
        self.write(entry);
        true
    }
}

/// Whether anybody could have sent such a message again that was refused.
fn can_be_a_replay(message: &Message, reason: Reason) -> bool {
    let is_flight = message.form.method().is_some_and(Method::is_handshake);
    is_flight || reason == Reason::Duplicate
}
