//! What one peer may write into our log, in bytes of lines: so that nobody who was let in can fill our disk.
//!
//! | what | over it |
//! |---|---|
//! | its mail that is refused | headers and hash are kept; over a second budget it is counted, and not judged |
//! | its receipts | counted, not judged: a later one says it all again |
//! | decrees | counted, not judged: they are told again daily |
//! | flights, ours to it among them | counted, not judged: they come again |
//! | our receipts to it | the next one waits |
//!
//! Accepted mail is bounded by the calls a minute that the peer was granted.

use crate::entry::{Entry, Ruling};
use crate::envelope::{KeptIn, Message};
use crate::time::Timestamp;

use crate::node::budget::{MIB, Meter, weight};

/// The budgets of one peer. Not lasting: a restart makes them whole.
#[derive(Clone, Debug)]
pub(in crate::node) struct Bytes {
    refused: Meter,
    withheld: Meter,
    receipts: Meter,
    decrees: Meter,
    flights: Meter,
    /// Our receipts to it.
    told: Meter,
}

impl Default for Bytes {
    fn default() -> Self {
        Self {
            refused: Meter::new(4 * MIB, 16 * MIB),
            withheld: Meter::new(8 * MIB, 64 * MIB),
            receipts: Meter::new(4 * MIB, 64 * MIB),
            decrees: Meter::new(MIB, 8 * MIB),
            flights: Meter::new(8 * MIB, 64 * MIB),
            told: Meter::new(4 * MIB, 64 * MIB),
        }
    }
}

/// What a message of a peer's is to its budgets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::node) enum Paid {
    /// As strangers' input is: anybody can send a copy of it.
    AsStrangers,
    /// By the calls a minute that the peer was granted.
    Mail,
    Refused,
    /// As refused, with its headers alone.
    Withheld,
    Receipt,
    Decree,
    Flight,
}

impl Bytes {
    /// By what a message is paid that would be judged so; `None` when there is no room for its line.
    pub(in crate::node) fn admit(
        &mut self,
        now: Timestamp,
        message: &Message,
        is_refused: bool,
    ) -> Option<Paid> {
        if is_refused {
            let (whole, headers) = (self.refused.has_room(now), self.withheld.has_room(now));
            return match (whole, headers) {
                (true, _) => Some(Paid::Refused),
                (false, true) => Some(Paid::Withheld),
                (false, false) => None,
            };
        }
        let (paid, meter) = match message.form.kept() {
            KeptIn::Receipts => (Paid::Receipt, &mut self.receipts),
            KeptIn::Orders => (Paid::Decree, &mut self.decrees),
            KeptIn::Handshake => (Paid::Flight, &mut self.flights),
            KeptIn::Inbox | KeptIn::Request | KeptIn::Offers | KeptIn::Nowhere => {
                return Some(Paid::Mail);
            }
        };
        meter.has_room(now).then_some(paid)
    }

    /// Pays the lines that a message caused. Those that our own mail has when it leaves in a new session are
    /// not the peer's, and our flights and receipts are paid where they are made.
    pub(in crate::node) fn pay(&mut self, paid: Paid, lines: &[Entry]) {
        let meter = match paid {
            Paid::AsStrangers => return,
            // Each message of the peer's that is taken needs a receipt of ours: give the cost of one receipt back to `told`,
            // the budget for our receipts, so that a busy peer does not use it up.
            Paid::Mail => return self.told.give_back(RECEIPT),
            Paid::Refused => return self.refused.spend(weight(lines)),
            Paid::Withheld => return self.withheld.spend(weight(lines)),
            Paid::Receipt => &mut self.receipts,
            Paid::Decree => &mut self.decrees,
            Paid::Flight => &mut self.flights,
        };
        let theirs = lines.iter().filter(|line| line.is_paid_by_peer());
        meter.spend(weight(theirs));
    }

    /// Notes a message of ours that goes out to the peer.
    pub(in crate::node) fn note_sent(&mut self, line: &Entry) {
        let Entry::Message(verdict) = line else {
            return;
        };
        let sent = verdict.message().filter(|_| verdict.ruling == Ruling::Sent);
        match sent.map(|message| message.form.kept()) {
            Some(KeptIn::Receipts) => self.told.spend(weight([line])),
            Some(KeptIn::Handshake) => self.flights.spend(weight([line])),
            Some(KeptIn::Orders) => {}
            // The peer has to send a receipt for this message: give the cost of one receipt back to the budget for the peer's
            // receipts, so that we do not refuse what we asked for.
            Some(KeptIn::Inbox | KeptIn::Request | KeptIn::Offers | KeptIn::Nowhere) | None => {
                self.receipts.give_back(RECEIPT);
            }
        }
    }

    /// Whether a receipt of ours may go out at `now`.
    pub(in crate::node) fn may_tell(&mut self, now: Timestamp) -> bool {
        self.told.has_room(now)
    }

    /// From when on a receipt of ours may go out, if not at once.
    pub(in crate::node) fn tells_at(&self) -> Option<Timestamp> {
        self.told.room_at()
    }
}

/// What each message adds to the room for the receipts of it.
const RECEIPT: u64 = 2 * 1024;
