//! What became of a line, taken into the report.

use signet_proto::entry::{Direction, Entry};
use signet_proto::envelope::Message;

use super::Walk;
use crate::chain::Head;
use crate::claim::Told;
use crate::frame::LineFrame;
use crate::verify::prove::{FollowedLine, Proof};
use crate::verify::report::LogFault;
use crate::verify::witness::SeenHead;

impl Walk<'_, '_> {
    /// What a line says about a message with the peer, when somebody is told.
    pub(super) fn tell(&mut self, frame: &LineFrame, entry: Option<&Entry>) -> Option<Told> {
        let teller = self.teller.as_mut()?;
        if self.tip.is_none() && frame.seq != 1 {
            teller.tell(Told::Begins(frame.ts));
        }
        let mut told = Told::by(frame.seq, frame.ts, entry?, &teller.peer);
        if let Some(Told::Sent(claim, head)) = &mut told {
            let place = claim.head.and_then(|head| self.recent.place(&head));
            // `place` counts from the first line that was given, which need not be the log's first: add that line's own number.
            let first = self.first.unwrap_or(1);
            *head = place.map(|place| (first + place).saturating_sub(1));
        }
        told
    }

    /// Takes a line into the report, in its order.
    pub(super) fn conclude(&mut self, line: FollowedLine, proof: Proof) {
        let report = &mut self.report;
        if line.misfit && report.faults.is_empty() {
            // This line does not fit to the line before it, so one of these two was changed: the log is proven only up to the
            // line before the two.
            report.head = self.sound[0];
        }
        let mut faults = line.faults;
        if let Some((teller, told)) = self.teller.as_mut().zip(line.told) {
            teller.tell(match told {
                Told::Came(claim, learned, _) => {
                    Told::Came(claim, learned, matches!(proof, Proof::Signed(..)))
                }
                told => told,
            });
        }
        match proof {
            Proof::Signed(message, direction) => {
                report.signed += 1;
                self.witness(&message, direction, line.seq);
            }
            Proof::WrongClock(message) => {
                report.signed += 1;
                report.note_wrong_clock(line.seq, &message);
                self.witness(&message, Direction::Out, line.seq);
            }
            // The line that certified the key may be in a part of the log that was not given: that is no fault.
            Proof::Uncertified if self.first != Some(1) => report.uncertified += 1,
            Proof::Uncertified => {
                faults.push("no line before certifies the key that signed the message".to_owned());
            }
            Proof::Skipped => report.skipped += 1,
            Proof::None => {}
        }
        for what in faults {
            self.fault(line.place, line.seq, &what);
        }
        let hash = line.hash;
        self.count(line.seq.map(|seq| Head { seq, hash }));
    }

    /// Counts a line whose faults were told; `head` is the line, where it can be read.
    pub(super) fn count(&mut self, head: Option<Head>) {
        self.report.lines += 1;
        let Some(head) = head else { return };
        self.report.first.get_or_insert(head.seq);
        if self.report.faults.is_empty() {
            self.sound = [self.sound[1], Some(head)];
            self.report.head = self.sound[1];
        }
    }

    fn witness(&mut self, message: &Message, direction: Direction, seq: Option<u64>) {
        let Some(testimony) = &mut self.testimony else {
            return;
        };
        let headers = &message.headers;
        let (ours, theirs) = match direction {
            Direction::In => (&headers.recipient_id, &headers.agent_id),
            Direction::Out => (&headers.agent_id, &headers.recipient_id),
        };
        // If the log's first line was not given, the first proven message shows whose log it is.
        testimony.agent.get_or_insert_with(|| ours.clone());
        if let (Direction::In, Some(head)) = (direction, headers.audit_head) {
            testimony.seen.push(SeenHead {
                sender: theirs.clone(),
                head,
                signed: headers.timestamp,
                seq: seq.unwrap_or_default(),
            });
        }
    }

    pub(super) fn fault(&mut self, line: u64, seq: Option<u64>, what: &str) {
        self.report.add(LogFault {
            file: self.file.clone(),
            line,
            seq,
            what: what.to_owned(),
        });
    }
}
