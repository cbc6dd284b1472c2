//! The ledger: what a sender remembers of one session until the peer's receipt.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::envelope::Message;
use crate::ids::{Digest, MessageId};
use crate::receipt::Receipt;
use crate::time::Timestamp;

/// How far a sender may run ahead of its floor.
pub const OUTSTANDING: u64 = 4_096;
/// How many bytes of unreceipted messages a sender keeps in one session.
pub const OUTSTANDING_BYTES: usize = 16 * 1024 * 1024;

/// What a sender remembers of one session: what it sent and has no receipt for.
#[derive(Clone, Debug)]
pub struct Ledger {
    next: u64,
    waiting: BTreeMap<u64, Waiting>,
    bytes: usize,
    peer_through: u64,
    last_receipt: Option<Timestamp>,
    due: Option<Timestamp>,
}

#[derive(Clone, Debug)]
struct Waiting {
    message: Arc<Message>,
    resend: Timestamp,
    delay: Duration,
}

/// What a receipt said of one message of ours.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// The message.
    pub message: Arc<Message>,
    /// Why it was refused, by name; `None` when it was taken.
    pub refused: Option<String>,
}

/// The first resend of an unreceipted message comes after this; then the delay doubles.
const FIRST_RESEND: Duration = Duration::from_secs(5);
const LAST_RESEND: Duration = Duration::from_secs(300);
/// A number is given up this long after its message expired.
const GIVE_UP: Duration = Duration::from_secs(120);

impl Default for Ledger {
    fn default() -> Self {
        Self {
            next: 1,
            waiting: BTreeMap::new(),
            bytes: 0,
            peer_through: 0,
            last_receipt: None,
            due: None,
        }
    }
}

impl Ledger {
    /// The number of the next message, unless too much waits for a receipt.
    pub fn next(&self) -> Option<u64> {
        let room = self.next - self.floor() < OUTSTANDING && self.bytes < OUTSTANDING_BYTES;
        room.then_some(self.next)
    }

    /// The lowest number neither receipted nor given up.
    pub fn floor(&self) -> u64 {
        self.waiting
            .first_key_value()
            .map_or(self.next, |(number, _)| *number)
    }

    /// How many messages wait for a receipt.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Remembers a message that went out under `sequence`.
    pub fn record(&mut self, sequence: u64, message: Arc<Message>, at: Timestamp) {
        self.next = self.next.max(sequence + 1);
        self.bytes += message.canonical().len();
        let resend = at.saturating_add(FIRST_RESEND);
        self.due = Some(self.due.map_or(resend, |due| due.min(resend)));
        self.waiting.insert(
            sequence,
            Waiting {
                message,
                resend,
                delay: FIRST_RESEND,
            },
        );
    }

    /// Whether a receipt fits what we sent. One that does not shows that one side was restored from
    /// an old copy.
    pub fn fits(&self, receipt: &Receipt, signed_at: Timestamp) -> bool {
        if receipt.through >= self.next {
            return false;
        }
        let fell = receipt.through < self.peer_through
            && self.last_receipt.is_some_and(|last| last < signed_at);
        let seen = receipt.except.iter();
        let seen = seen.map(|(number, exception)| (*number, exception.hash));
        let mut seen = seen.chain([(receipt.through, receipt.hash)]);
        let differs = |(number, hash): (u64, Option<Digest>)| {
            let ours = self.waiting.get(&number);
            ours.zip(hash)
                .is_some_and(|(ours, theirs)| ours.message.hash() != theirs)
        };
        !fell && !seen.any(differs)
    }

    /// Moves every message that the receipt speaks of out of the ledger.
    pub fn settle(&mut self, receipt: &Receipt, signed_at: Timestamp) -> Vec<Settled> {
        if self.last_receipt.is_some_and(|last| signed_at <= last) {
            return Vec::new();
        }
        self.last_receipt = Some(signed_at);
        self.peer_through = self.peer_through.max(receipt.through);
        let kept = self.waiting.split_off(&(receipt.through + 1));
        let settled = std::mem::replace(&mut self.waiting, kept);
        self.bytes = self
            .waiting
            .values()
            .map(|waiting| waiting.message.canonical().len())
            .sum();
        // `sequence-reuse` with our own hash: ours was taken, another message with its number was not.
        let refused = |number: u64| {
            let mut except = receipt.except.iter();
            except.find(|(known, exception)| *known == number && exception.hash.is_none())
        };
        settled
            .into_iter()
            .map(|(number, waiting)| Settled {
                message: waiting.message,
                refused: refused(number).map(|(_, exception)| exception.reason.clone()),
            })
            .collect()
    }

    /// Takes out the message of that name, which was answered: an answer is worth a receipt.
    pub fn answered(&mut self, name: MessageId) {
        let number = self
            .waiting
            .iter()
            .find(|(_, waiting)| waiting.message.headers.message_id == name);
        let Some(number) = number.map(|(number, _)| *number) else {
            return;
        };
        if let Some(waiting) = self.waiting.remove(&number) {
            self.bytes = self.bytes.saturating_sub(waiting.message.canonical().len());
        }
    }

    /// Our word about our own numbers, for a receipt: the floor, and as given up all below it that the
    /// peer has not told us of. What it has judged all the same stands in its window.
    pub fn word(&self) -> (u64, Vec<(u64, u64)>) {
        let (floor, from) = (self.floor(), self.peer_through + 1);
        let given_up = (from < floor).then(|| (from, floor - 1));
        (floor, given_up.into_iter().collect())
    }

    /// The highest number that the peer has told us it has judged.
    pub fn peer_through(&self) -> u64 {
        self.peer_through
    }

    /// What to send again at `now`, and what to give up because it expired.
    pub fn overdue(&mut self, now: Timestamp) -> (Vec<Arc<Message>>, Vec<Arc<Message>>) {
        let (mut resend, mut expired) = (Vec::new(), Vec::new());
        if self.due.is_none_or(|due| now < due) {
            return (resend, expired);
        }
        self.waiting.retain(|_, waiting| {
            let end = waiting.message.headers.expires_at;
            if now >= end.saturating_add(GIVE_UP) {
                self.bytes = self.bytes.saturating_sub(waiting.message.canonical().len());
                expired.push(Arc::clone(&waiting.message));
                return false;
            }
            if now >= waiting.resend {
                if now < end {
                    resend.push(Arc::clone(&waiting.message));
                }
                waiting.delay = (waiting.delay * 2).min(LAST_RESEND);
                waiting.resend = now.saturating_add(waiting.delay);
            }
            true
        });
        self.due = self.waiting.values().map(|waiting| waiting.resend).min();
        (resend, expired)
    }

    /// The connection is back: what no receipt covers goes out now, and then at the first pace.
    pub fn hasten(&mut self, now: Timestamp) {
        for waiting in self.waiting.values_mut() {
            waiting.resend = waiting.resend.min(now);
            waiting.delay = FIRST_RESEND / 2;
        }
        self.due = Some(now);
    }

    /// When [`Ledger::overdue`] next has something to say.
    pub fn due(&self) -> Option<Timestamp> {
        self.due.filter(|_| !self.waiting.is_empty())
    }

    /// Everything that waits, when the session is closed for good.
    pub fn abandon(&mut self) -> Vec<Arc<Message>> {
        self.bytes = 0;
        std::mem::take(&mut self.waiting)
            .into_values()
            .map(|waiting| waiting.message)
            .collect()
    }
}
