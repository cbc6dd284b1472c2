//! The ledger: what a sender remembers of one session until the peer's receipt.

mod anew;
mod misfit;
mod silence;
mod timing;
mod ways;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::carrier::CarrierId;
use crate::envelope::Message;
use crate::ids::{Digest, MessageId};
use crate::receipt::{MISSING, Receipt};
use crate::reject::Reason;
use crate::time::Timestamp;

use anew::Anew;
pub use misfit::Misfit;
pub use ways::Ways;

use silence::{FIRST_RESEND, Silence};
use timing::Question;

/// How far a sender may run ahead of its floor.
pub const OUTSTANDING: u64 = 4_096;
/// How many bytes of unreceipted messages a sender keeps in one session.
pub const OUTSTANDING_BYTES: usize = 16 * 1024 * 1024;

/// What a sender remembers of one session: what it sent and has no receipt for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ledger {
    next: u64,
    /// In rows of their own.
    #[serde(skip)]
    waiting: BTreeMap<u64, AwaitingReceipt>,
    #[serde(skip)]
    names: HashMap<MessageId, u64>,
    /// What expired without a receipt: a receipt that was signed before may come yet.
    given_up: BTreeMap<u64, GivenUp>,
    /// What the peer refused because our clock was ahead.
    #[serde(default)]
    anew: Anew,
    #[serde(skip)]
    bytes: usize,
    peer_through: u64,
    last_receipt: Option<Timestamp>,
    #[serde(skip)]
    due: Option<Timestamp>,
    /// When the peer is asked again about what its mailboxes are said to hold.
    #[serde(skip)]
    question: Question,
    #[serde(skip)]
    silence: Silence,
}

/// A message that waits for a receipt.
#[derive(Clone, Debug)]
pub struct AwaitingReceipt {
    message: Arc<Message>,
    resend: Timestamp,
    delay: Duration,
    /// By which carrier it went last.
    last: Option<CarrierId>,
    /// What each carrier said of it.
    handed: Vec<(CarrierId, Handed)>,
    /// When it goes out again although all carriers say that they hold it: it cannot wait for its turn for ever.
    presses: Option<Timestamp>,
    /// Whether it did.
    pressed: bool,
    /// Whether it has not gone out yet, because the peer is silent.
    is_held: bool,
    /// Whether an end of a silence has had it go out at the first pace again: that happens once.
    resumed: bool,
    /// Whether it certainly went to no carrier. After a start nobody can say: its line is written before it goes, and no line
    /// says that it went.
    never_left: bool,
}

/// A message that waits for no receipt any more, because its session is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abandoned {
    /// Its name.
    pub message_id: MessageId,
    /// Whether it certainly went to no carrier.
    pub never_left: bool,
}

/// Who has a message besides us, as far as a carrier told us since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handed {
    /// Nobody.
    No,
    /// It went out, and nothing says where to.
    Unconfirmed,
    /// A carrier has held it for the peer since then.
    Stored(Timestamp),
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct GivenUp {
    name: MessageId,
    hash: Digest,
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
    /// To be sent again, byte for byte, and by which carrier.
    pub resend: Vec<(Arc<Message>, CarrierId)>,
    /// To be given up: two minutes after its expiry no receipt had come.
    pub expired: Vec<MessageId>,
    /// To be given up at its expiry: it never left, so no receipt can come.
    pub unsent: Vec<MessageId>,
}

impl Default for Ledger {
    fn default() -> Self {
        Self {
            next: 1,
            waiting: BTreeMap::new(),
            names: HashMap::new(),
            given_up: BTreeMap::new(),
            anew: Anew::default(),
            bytes: 0,
            peer_through: 0,
            last_receipt: None,
            due: None,
            question: Question::default(),
            silence: Silence::default(),
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
    pub fn waiting(&self) -> impl ExactSizeIterator<Item = (u64, &AwaitingReceipt)> {
        self.waiting
            .iter()
            .map(|(number, waiting)| (*number, waiting))
    }

    /// Remembers a message that went out under `sequence`.
    pub fn record(&mut self, sequence: u64, message: Arc<Message>, at: Timestamp) {
        // A start records waiting messages after it has read `next`: if they lowered `next`, a number would come twice.
        self.next = self.next.max(sequence + 1);
        self.bytes += message.canonical().len();
        let resend = at.saturating_add(FIRST_RESEND);
        self.due = Some(self.due.map_or(resend, |due| due.min(resend)));
        self.names.insert(message.headers.message_id, sequence);
        let waiting = AwaitingReceipt {
            message,
            resend,
            delay: FIRST_RESEND,
            last: None,
            handed: Vec::new(),
            presses: None,
            pressed: false,
            is_held: false,
            resumed: false,
            never_left: false,
        };
        self.waiting.insert(sequence, waiting);
    }

    /// A message of that name goes out by a carrier.
    pub(crate) fn sent_by(&mut self, name: MessageId, carrier: &CarrierId) {
        let number = self.names.get(&name);
        if let Some(waiting) = number.and_then(|number| self.waiting.get_mut(number)) {
            waiting.last = Some(carrier.clone());
        }
    }

    /// A carrier took a message of that name: it holds it, or says nothing more. Says whether it waits here.
    pub fn handed(&mut self, name: MessageId, carrier: &CarrierId, handed: Handed) -> bool {
        let number = self.names.get(&name).copied().unwrap_or_default();
        let Some(waiting) = self.waiting.get_mut(&number) else {
            return false;
        };
        waiting.hand(carrier, handed);
        if let Handed::Stored(at) = handed {
            // Keep the time of the next copy once it is set: forged confirmations could put it off, and hold the message back.
            waiting.presses = waiting.presses.or(timing::presses_at(waiting, number, at));
            let asks = self.question.waits_from(at);
            let asks = asks.min(waiting.presses.unwrap_or(asks));
            self.due = Some(self.due.map_or(asks, |due| due.min(asks)));
            self.end_silence(at);
        }
        true
    }

    /// Moves every message that the receipt speaks of out of the ledger.
    pub fn settle(&mut self, receipt: &Receipt, signed_at: Timestamp) -> Vec<Settled> {
        if !self.is_news(signed_at) {
            return Vec::new();
        }
        self.last_receipt = Some(signed_at);
        self.peer_through = self.peer_through.max(receipt.through);
        let kept = self.waiting.split_off(&(receipt.through + 1));
        let covered = std::mem::replace(&mut self.waiting, kept);
        let late = self.given_up.split_off(&(receipt.through + 1));
        let late = std::mem::replace(&mut self.given_up, late);
        for (number, waiting) in &covered {
            // Keep a message that was refused as dated in the future, to sign it anew: `forget` drops its marks later.
            if refusal(receipt, *number) == Some(Reason::TimestampInFuture.name()) {
                self.anew.keep(*number, &waiting.message);
            }
            self.forget(*number, waiting);
        }
        // Leave out a message that we gave up and that the peer names as missing: its caller was told that it expired, and that
        // stays true.
        let late = late.into_iter();
        let late = late.filter(|(number, _)| !is_missing(receipt, *number));
        let late = late.map(|(number, old)| (number, old.name));
        let covered = covered.into_iter();
        let covered = covered.map(|(number, waiting)| (number, waiting.message.headers.message_id));
        let all = covered.chain(late);
        all.map(|(number, name)| settled(receipt, number, name))
            .collect()
    }

    /// Our clock was put back: what the peer signed after `latest` was signed by a clock as wrong as ours,
    /// and orders nothing any more.
    pub(crate) fn put_back(&mut self, latest: Timestamp) {
        self.last_receipt = self.last_receipt.filter(|last| *last <= latest);
        let waiting = self.waiting.iter();
        let waiting = waiting.map(|(number, waiting)| (*number, &*waiting.message));
        self.anew.ripen(latest, waiting);
    }

    /// Whether a receipt signed at that time says more than those before it.
    pub fn is_news(&self, signed_at: Timestamp) -> bool {
        self.last_receipt.is_none_or(|last| signed_at > last)
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
        let hash = waiting.message.hash();
        self.given_up.insert(number, GivenUp { name, hash });
        // Forget the messages whose numbers are below the peer's window by now: the peer can no longer say whether they came.
        let told = self.next.saturating_sub(super::WINDOW);
        self.given_up = self.given_up.split_off(&told);
        true
    }

    /// Whether something expired of which the peer has not said yet what came of it.
    pub fn has_given_up(&self) -> bool {
        !self.given_up.is_empty()
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

    /// Everything that waits, when the session is closed for good.
    pub fn abandon(&mut self) -> Vec<Abandoned> {
        (self.bytes, self.names) = (0, HashMap::new());
        self.given_up.clear();
        self.anew.abandon();
        std::mem::take(&mut self.waiting)
            .into_values()
            .map(|waiting| Abandoned {
                message_id: waiting.message.headers.message_id,
                never_left: waiting.never_left,
            })
            .collect()
    }

    /// All but what waits.
    pub(crate) fn bare(&self) -> Self {
        Self {
            next: self.next,
            given_up: self.given_up.clone(),
            anew: self.anew.clone(),
            peer_through: self.peer_through,
            last_receipt: self.last_receipt,
            ..Self::default()
        }
    }

    /// When the newest receipt of the peer's was signed.
    pub fn last_receipt(&self) -> Option<Timestamp> {
        self.last_receipt
    }

    fn hash_of(&self, number: u64) -> Option<Digest> {
        let waiting = self.waiting.get(&number);
        let waiting = waiting.map(|waiting| waiting.message.hash());
        waiting.or_else(|| self.given_up.get(&number).map(|old| old.hash))
    }

    fn take(&mut self, name: MessageId) -> Option<(u64, AwaitingReceipt)> {
        let number = *self.names.get(&name)?;
        let waiting = self.waiting.remove(&number)?;
        self.forget(number, &waiting);
        Some((number, waiting))
    }

    fn forget(&mut self, number: u64, waiting: &AwaitingReceipt) {
        let length = waiting.message.canonical().len();
        self.bytes = self.bytes.saturating_sub(length);
        let name = waiting.message.headers.message_id;
        self.names.remove(&name);
        self.anew.forget(number, name);
    }
}

impl AwaitingReceipt {
    /// The message.
    pub fn message(&self) -> &Arc<Message> {
        &self.message
    }

    /// Who has it, of all that its carriers said the most.
    pub fn handed(&self) -> Handed {
        let said = self.handed.iter().map(|(_, handed)| *handed);
        said.max_by_key(|handed| match handed {
            Handed::No => 0,
            Handed::Unconfirmed => 1,
            Handed::Stored(_) => 2,
        })
        .unwrap_or(Handed::No)
    }
}

fn is_missing(receipt: &Receipt, number: u64) -> bool {
    let mut except = receipt.except.iter();
    except.any(|(known, exception)| *known == number && exception.reason == MISSING)
}

fn settled(receipt: &Receipt, number: u64, message_id: MessageId) -> Settled {
    Settled {
        message_id,
        refused: refusal(receipt, number).map(str::to_owned),
    }
}

fn refusal(receipt: &Receipt, number: u64) -> Option<&str> {
    // An exception with a hash means that the peer took our message, which has that
    // hash, and refused another message with the same number.
    let mut except = receipt.except.iter();
    let refused = except.find(|(known, exception)| *known == number && exception.hash.is_none());
    refused.map(|(_, exception)| exception.reason.as_str())
}

/// How many numbers that were given up are remembered.
const REMEMBERED: usize = OUTSTANDING as usize;
