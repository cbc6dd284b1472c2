//! A session between two agents: its replay window for what comes, its ledger for what goes.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::envelope::Message;
use crate::handshake::{Grant, Retry, Role};
use crate::ids::{Digest, KeyId, MessageId, SessionId, Version};
use crate::receipt::{Exception, Receipt};
use crate::reject::Reason;
use crate::time::Timestamp;

/// How many sequence numbers a receiver remembers in each session and direction.
pub const WINDOW: u64 = 8_192;
/// How far a sender may run ahead of its floor.
pub const OUTSTANDING: u64 = 4_096;
/// How many bytes of unreceipted messages a sender keeps in one session.
pub const OUTSTANDING_BYTES: usize = 16 * 1024 * 1024;
/// How many exceptions one receipt has room for.
pub const EXCEPTIONS: usize = 256;
/// The longest life of a session; keys and certificates may end it earlier.
pub const SESSION_LIFE: Duration = Duration::from_secs(30 * 24 * 3600);
/// How long the windows outlive the session: the longest life of a message, and a minute.
pub const WINDOW_LIFE: Duration = Duration::from_secs(7 * 24 * 3600 + 60);

/// One session, made by a finished handshake.
#[derive(Clone, Debug)]
pub struct Session {
    /// The transcript hash of the handshake that made it.
    pub id: SessionId,
    /// Which side of the handshake we were.
    pub role: Role,
    /// The key that signs what the peer sends in it.
    pub peer_key: KeyId,
    /// The trust-layer version chosen.
    pub version: Version,
    /// When flight 4 was signed.
    pub began: Timestamp,
    /// When it ends, judged at a message's `timestamp`.
    pub ends: Timestamp,
    /// What we accept from the peer.
    pub given: Grant,
    /// What the peer accepts from us.
    pub received: Grant,
    /// Whether the peer is known to have it too.
    pub confirmed: bool,
    /// Whether nothing more is sent in it.
    pub closed: bool,
    /// What came.
    pub window: Window,
    /// What went.
    pub ledger: Ledger,
    /// Our last flight, for a peer that missed it, and the flight that it answers.
    pub last_flight: Arc<Message>,
    /// The hash of the flight that [`Session::last_flight`] answers.
    pub answers: Digest,
    /// B's resending of flight 4.
    pub retry: Option<Retry>,
}

impl Session {
    /// Whether a new message may go out in it at `now`.
    pub fn is_open_for_sending(&self, now: Timestamp) -> bool {
        self.confirmed && !self.closed && now < self.ends
    }

    /// When two thirds of its life are over.
    pub fn renewal(&self) -> Timestamp {
        self.began
            .saturating_add(self.ends.since(self.began) / 3 * 2)
    }
}

/// What a receiver remembers of one session's sequence numbers.
#[derive(Clone, Debug, Default)]
pub struct Window {
    base: u64,
    slots: VecDeque<Option<Slot>>,
    through: u64,
    through_hash: Option<Digest>,
    exceptions: BTreeMap<u64, Exception>,
    given_up: Vec<(u64, u64)>,
    peer_floor: u64,
    unreported: u64,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    hash: Digest,
    refused: Option<Reason>,
}

impl Window {
    /// Whether a number is new (check V10).
    ///
    /// # Errors
    /// `duplicate`, `sequence-reuse` or `sequence-below-window`.
    pub fn admit(&self, sequence: u64, hash: Digest) -> Result<(), Reason> {
        if sequence < self.base.max(1) {
            return Err(Reason::SequenceBelowWindow);
        }
        match self.slot(sequence) {
            None => Ok(()),
            Some(slot) if slot.hash == hash => Err(Reason::Duplicate),
            Some(_) => Err(Reason::SequenceReuse),
        }
    }

    /// Remembers a number that was judged; a refusal consumes it too.
    pub fn record(&mut self, sequence: u64, hash: Digest, refused: Option<Reason>) {
        let newest = self.base + self.slots.len() as u64;
        if sequence >= newest + WINDOW {
            self.slots.clear();
            self.base = sequence + 1 - WINDOW;
        }
        self.base = self.base.max(1);
        while self.base + (self.slots.len() as u64) <= sequence {
            self.slots.push_back(None);
        }
        if let Some(slot) = sequence
            .checked_sub(self.base)
            .and_then(|at| self.slots.get_mut(at as usize))
        {
            *slot = Some(Slot { hash, refused });
        }
        while self.slots.len() as u64 > WINDOW {
            self.slots.pop_front();
            self.base += 1;
        }
        self.unreported += 1;
        self.advance();
    }

    /// Notes that a number was seen with two hashes; the peer learns it from the next receipt.
    pub fn note_reuse(&mut self, sequence: u64) {
        self.unreported += 1;
        let Some(slot) = self.slot_mut(sequence) else {
            return;
        };
        slot.refused = slot.refused.or(Some(Reason::SequenceReuse));
        let slot = *slot;
        let room = sequence <= self.through && self.exceptions.len() < EXCEPTIONS;
        if let Some(exception) = slot.exception().filter(|_| room) {
            self.exceptions.entry(sequence).or_insert(exception);
        }
    }

    /// Takes the peer's word about what it still may send and what it gave up.
    pub fn take_floor(&mut self, floor: Option<u64>, given_up: &[(u64, u64)]) {
        if let Some(floor) = floor {
            self.peer_floor = self.peer_floor.max(floor);
            self.exceptions = self.exceptions.split_off(&self.peer_floor);
        }
        let before = self.through;
        for (from, to) in given_up {
            let news = *to > self.through && from <= to && !self.given_up.contains(&(*from, *to));
            if news && self.given_up.len() < EXCEPTIONS {
                self.given_up.push((*from, *to));
            }
        }
        self.advance();
        let through = self.through;
        self.given_up.retain(|(_, to)| *to > through);
        if through > before {
            self.unreported += 1;
        }
    }

    /// Notes that the peer should hear from us, though nothing new came.
    pub fn owe(&mut self) {
        self.unreported += 1;
    }

    /// How much was judged since the last receipt.
    pub fn unreported(&self) -> u64 {
        self.unreported
    }

    /// The highest number up to which everything is judged or given up.
    pub fn through(&self) -> u64 {
        self.through
    }

    /// Whether anything at all came.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Our half of a receipt.
    pub fn receipt(&self) -> Receipt {
        Receipt {
            through: self.through,
            hash: self.through_hash,
            except: self
                .exceptions
                .iter()
                .map(|(number, exception)| (*number, exception.clone()))
                .collect(),
            floor: None,
            given_up: Vec::new(),
        }
    }

    /// Notes that a receipt went out.
    pub fn reported(&mut self) {
        self.unreported = 0;
    }

    fn slot(&self, sequence: u64) -> Option<Slot> {
        let at = sequence.checked_sub(self.base)?;
        self.slots.get(usize::try_from(at).ok()?).copied().flatten()
    }

    fn slot_mut(&mut self, sequence: u64) -> Option<&mut Slot> {
        let at = sequence.checked_sub(self.base)?;
        self.slots.get_mut(usize::try_from(at).ok()?)?.as_mut()
    }

    /// Moves `through` as far as everything is judged or given up. The cost is bounded by the window,
    /// however long a range the peer claims to have given up.
    fn advance(&mut self) {
        loop {
            let next = self.through + 1;
            let slot = self.slot(next);
            let (to, exception) = match (slot, self.given_up_to(next)) {
                (Some(slot), _) => (next, slot.exception()),
                // Below its floor the peer wants to hear of no number.
                (None, Some(to)) if next < self.peer_floor => (to.min(self.peer_floor - 1), None),
                (None, Some(_)) => (next, Some(Exception::missing())),
                (None, None) => return,
            };
            if let Some(exception) = exception.filter(|_| next >= self.peer_floor) {
                if self.exceptions.len() >= EXCEPTIONS {
                    return;
                }
                self.exceptions.insert(next, exception);
            }
            self.through = to;
            self.through_hash = slot.map(|slot| slot.hash);
        }
    }

    /// How far the peer gave up, from `next` on, without a number that came all the same.
    fn given_up_to(&self, next: u64) -> Option<u64> {
        let mut ranges = self.given_up.iter();
        let (_, to) = ranges.find(|(from, to)| (*from..=*to).contains(&next))?;
        let from = next.max(self.base);
        let start = usize::try_from(from - self.base).unwrap_or(usize::MAX);
        let judged = self.slots.iter().skip(start).position(Option::is_some);
        Some(judged.map_or(*to, |at| (*to).min(from + at as u64 - 1)))
    }
}

impl Slot {
    fn exception(self) -> Option<Exception> {
        let reason = self.refused?;
        Some(Exception {
            reason: reason.name().to_owned(),
            hash: (reason == Reason::SequenceReuse).then_some(self.hash),
        })
    }
}

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
