//! The ledger: what a sender remembers of one session until the peer's receipt.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use crate::envelope::Message;
use crate::ids::{Digest, MessageId};
use crate::receipt::{MISSING, Receipt};
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
    names: HashMap<MessageId, u64>,
    /// What expired without a receipt: a receipt that was signed before may come yet.
    given_up: BTreeMap<u64, GivenUp>,
    bytes: usize,
    peer_through: u64,
    last_receipt: Option<Timestamp>,
    due: Option<Timestamp>,
    /// The latest time at which the peer is known to have signed anything.
    heard: Timestamp,
    /// The oldest publication that the broker holds and the peer has perhaps not seen.
    oldest_stored: Option<Timestamp>,
}

/// A message that waits for a receipt.
#[derive(Clone, Debug)]
pub struct Waiting {
    message: Arc<Message>,
    resend: Timestamp,
    delay: Duration,
    handed: Handed,
}

/// Who has a message besides us, as far as we were told since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handed {
    /// Nobody.
    No,
    /// It went out, and nothing says where to.
    Unconfirmed,
    /// The peer's mailbox has had it since then.
    Stored(Timestamp),
}

#[derive(Clone, Copy, Debug)]
struct GivenUp {
    name: MessageId,
    hash: Digest,
    expired: Timestamp,
}

/// What a receipt said of one message of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// The message.
    pub message_id: MessageId,
    /// Why it was refused, by name; `None` when it was taken.
    pub refused: Option<String>,
}

/// What time asks of a ledger.
#[derive(Clone, Debug, Default)]
pub struct Overdue {
    /// To be sent again, byte for byte.
    pub resend: Vec<Arc<Message>>,
    /// To be given up: two minutes after its expiry no receipt had come.
    pub expired: Vec<MessageId>,
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
            names: HashMap::new(),
            given_up: BTreeMap::new(),
            bytes: 0,
            peer_through: 0,
            last_receipt: None,
            due: None,
            heard: Timestamp::from_millis(0),
            oldest_stored: None,
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

    /// What waits for a receipt, by number.
    pub fn waiting(&self) -> impl ExactSizeIterator<Item = (u64, &Waiting)> {
        self.waiting
            .iter()
            .map(|(number, waiting)| (*number, waiting))
    }

    /// What waits for a receipt, by name.
    pub fn find(&self, name: MessageId) -> Option<&Waiting> {
        self.waiting.get(self.names.get(&name)?)
    }

    /// Remembers a message that went out under `sequence`.
    pub fn record(&mut self, sequence: u64, message: Arc<Message>, at: Timestamp) {
        self.next = self.next.max(sequence + 1);
        self.bytes += message.canonical().len();
        let resend = at.saturating_add(FIRST_RESEND);
        self.due = Some(self.due.map_or(resend, |due| due.min(resend)));
        self.names.insert(message.headers.message_id, sequence);
        let waiting = Waiting {
            message,
            resend,
            delay: FIRST_RESEND,
            handed: Handed::No,
        };
        self.waiting.insert(sequence, waiting);
    }

    /// The network took a message of that name: the peer's mailbox, or nobody that says so. Says
    /// whether it waits here.
    pub fn handed(&mut self, name: MessageId, handed: Handed) -> bool {
        let number = self.names.get(&name);
        let Some(waiting) = number.and_then(|number| self.waiting.get_mut(number)) else {
            return false;
        };
        waiting.handed = handed;
        if let Handed::Stored(at) = handed {
            self.oldest_stored = Some(self.oldest_stored.map_or(at, |oldest| oldest.min(at)));
        }
        true
    }

    /// The peer signed something at `signed_at`. What its mailbox held by then, and no receipt covers
    /// in time, goes out again.
    pub fn hear(&mut self, signed_at: Timestamp) {
        self.heard = self.heard.max(signed_at);
        if self
            .oldest_stored
            .is_some_and(|at| is_heard(self.heard, at))
        {
            self.oldest_stored = None;
            self.due = Some(Timestamp::from_millis(0));
        }
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
            let ours = self.hash_of(number);
            ours.zip(hash).is_some_and(|(ours, theirs)| ours != theirs)
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
        let covered = std::mem::replace(&mut self.waiting, kept);
        let late = self.given_up.split_off(&(receipt.through + 1));
        let late = std::mem::replace(&mut self.given_up, late);
        for waiting in covered.values() {
            self.forget(waiting);
        }
        // Once the word of our giving up can have come, `through` passes a number that never did.
        let late = late.into_iter().filter(|(_, old)| signed_at < old.expired);
        let late = late.map(|(number, old)| (number, old.name));
        let covered = covered.into_iter();
        let covered = covered.map(|(number, waiting)| (number, waiting.message.headers.message_id));
        let all = covered.chain(late);
        all.filter_map(|(number, name)| settled(receipt, number, name))
            .collect()
    }

    /// Takes out the message of that name, which was answered: an answer is worth a receipt.
    pub fn answered(&mut self, name: MessageId) {
        self.take(name);
    }

    /// Gives up the message of that name, which expired. Says whether it waited here.
    pub fn give_up(&mut self, name: MessageId) -> bool {
        let Some((number, waiting)) = self.take(name) else {
            return false;
        };
        while self.given_up.len() >= REMEMBERED {
            self.given_up.pop_first();
        }
        let old = GivenUp {
            name,
            hash: waiting.message.hash(),
            expired: waiting.message.headers.expires_at,
        };
        self.given_up.insert(number, old);
        true
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

    /// What to send again at `now`, and, once our own mailbox is `drained`, what to give up because it
    /// expired: a receipt may wait there.
    pub fn overdue(&mut self, now: Timestamp, drained: bool) -> Overdue {
        let mut overdue = Overdue::default();
        if self.due.is_none_or(|due| now < due) {
            return overdue;
        }
        for waiting in self.waiting.values_mut() {
            let end = waiting.message.headers.expires_at;
            // After a clock was set back no timer lies further ahead than it ever would.
            waiting.resend = waiting.resend.min(now.saturating_add(LAST_RESEND));
            if drained && now >= end.saturating_add(GIVE_UP) {
                overdue.expired.push(waiting.message.headers.message_id);
            } else if now >= waiting.resend && !waiting.is_parked(self.heard) {
                if now < end {
                    overdue.resend.push(Arc::clone(&waiting.message));
                    waiting.handed = Handed::No;
                }
                waiting.delay = (waiting.delay * 2).min(LAST_RESEND);
                waiting.resend = now.saturating_add(waiting.delay);
            }
        }
        self.look_ahead(now);
        overdue
    }

    /// The connection is back: what neither a receipt covers nor a mailbox holds goes out now, and
    /// then at the first pace.
    pub fn hasten(&mut self, now: Timestamp) {
        for waiting in self.waiting.values_mut() {
            waiting.resend = waiting.resend.min(now);
            waiting.delay = FIRST_RESEND / 2;
        }
        self.due = Some(now);
    }

    /// Something changed that [`Ledger::overdue`] should look at.
    pub fn wake(&mut self, now: Timestamp) {
        self.due = Some(now);
    }

    /// The mailboxes lost what they held.
    pub fn lose_stored(&mut self) {
        for waiting in self.waiting.values_mut() {
            waiting.handed = Handed::No;
        }
        self.oldest_stored = None;
    }

    /// When [`Ledger::overdue`] next has something to say.
    pub fn due(&self) -> Option<Timestamp> {
        self.due.filter(|_| !self.waiting.is_empty())
    }

    /// Everything that waits, when the session is closed for good.
    pub fn abandon(&mut self) -> Vec<MessageId> {
        (self.bytes, self.names) = (0, HashMap::new());
        self.given_up.clear();
        std::mem::take(&mut self.waiting)
            .into_values()
            .map(|waiting| waiting.message.headers.message_id)
            .collect()
    }

    fn hash_of(&self, number: u64) -> Option<Digest> {
        let waiting = self.waiting.get(&number);
        let waiting = waiting.map(|waiting| waiting.message.hash());
        waiting.or_else(|| self.given_up.get(&number).map(|old| old.hash))
    }

    fn take(&mut self, name: MessageId) -> Option<(u64, Waiting)> {
        let number = *self.names.get(&name)?;
        let waiting = self.waiting.remove(&number)?;
        self.forget(&waiting);
        Some((number, waiting))
    }

    fn forget(&mut self, waiting: &Waiting) {
        let length = waiting.message.canonical().len();
        self.bytes = self.bytes.saturating_sub(length);
        self.names.remove(&waiting.message.headers.message_id);
    }

    fn look_ahead(&mut self, now: Timestamp) {
        let heard = self.heard;
        let soon = now.saturating_add(FIRST_RESEND);
        let next = |waiting: &Waiting| match waiting.is_parked(heard) {
            true => soon.max(waiting.message.headers.expires_at.saturating_add(GIVE_UP)),
            false => waiting.resend,
        };
        self.due = self.waiting.values().map(next).min();
        let stored = self
            .waiting
            .values()
            .filter(|waiting| waiting.is_parked(heard));
        self.oldest_stored = stored.filter_map(Waiting::stored).min();
    }
}

impl Waiting {
    /// The message.
    pub fn message(&self) -> &Arc<Message> {
        &self.message
    }

    /// Who has it.
    pub fn handed(&self) -> Handed {
        self.handed
    }

    /// Whether the peer's mailbox holds it and the peer has perhaps not looked since: another copy
    /// would only fill the mailbox.
    fn is_parked(&self, heard: Timestamp) -> bool {
        self.stored().is_some_and(|at| !is_heard(heard, at))
    }

    fn stored(&self) -> Option<Timestamp> {
        match self.handed {
            Handed::Stored(at) => Some(at),
            Handed::No | Handed::Unconfirmed => None,
        }
    }
}

/// Whether what was stored `at` that time could have been receipted by what the peer signed since.
fn is_heard(heard: Timestamp, at: Timestamp) -> bool {
    heard > at.saturating_add(FIRST_RESEND)
}

fn settled(receipt: &Receipt, number: u64, message_id: MessageId) -> Option<Settled> {
    // `sequence-reuse` with our own hash: ours was taken, another message with its number was not.
    let mut except = receipt.except.iter();
    let refused = except.find(|(known, exception)| *known == number && exception.hash.is_none());
    let refused = refused.map(|(_, exception)| exception.reason.clone());
    (refused.as_deref() != Some(MISSING)).then_some(Settled {
        message_id,
        refused,
    })
}

/// How many numbers that were given up are remembered.
const REMEMBERED: usize = OUTSTANDING as usize;
