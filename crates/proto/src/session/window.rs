//! The replay window: what a receiver remembers of one session's sequence numbers (check V10).

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::EXCEPTIONS;
use crate::ids::Digest;
use crate::receipt::{Exception, Receipt};
use crate::reject::Reason;
use crate::time::Timestamp;

/// How many sequence numbers a receiver remembers in each session and direction.
pub const WINDOW: u64 = 8_192;

/// What a receiver remembers of one session's sequence numbers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Window {
    base: u64,
    /// In rows of their own.
    #[serde(skip)]
    slots: VecDeque<Option<Slot>>,
    through: u64,
    through_hash: Option<Digest>,
    exceptions: BTreeMap<u64, Exception>,
    /// What the peer gave up and `through` has not passed.
    given_up: Vec<(u64, u64)>,
    /// What the peer gave up and has not heard of from us, by its newest word.
    asked: Vec<(u64, u64)>,
    peer_floor: u64,
    /// Whether anything was judged that no receipt of ours tells.
    #[serde(default, skip_serializing_if = "is_told")]
    untold: bool,
    /// The timestamp of our last receipt. Rows have it of the last to the peer alone.
    #[serde(skip)]
    said: Option<Timestamp>,
    #[serde(skip)]
    unreported: u64,
    #[serde(skip)]
    owes: bool,
    /// Up to here a person was told of what is missing.
    told_through: u64,
}

/// What was judged under one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    /// The message's hash.
    pub hash: Digest,
    /// Its timestamp.
    pub signed_at: Timestamp,
    /// Why it was refused.
    pub refused: Option<Reason>,
}

/// Numbers that never came, and nobody gave up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hole {
    /// The first.
    pub from: u64,
    /// The last.
    pub to: u64,
    /// The timestamp of the next message after them.
    pub next_signed_at: Timestamp,
}

impl Window {
    /// Whether a number is new (check V10).
    ///
    /// # Errors
    /// `duplicate`, `sequence-reuse` or `sequence-below-window`; `expired` for one that its sender gave
    /// up and has heard of that it never came.
    pub fn admit(&self, sequence: u64, hash: Digest) -> Result<(), Reason> {
        // Numbers begin at 1, but before the first message `base` is still 0. Compare with at least 1, so that the number 0 is
        // refused.
        if sequence < self.base.max(1) {
            return Err(Reason::SequenceBelowWindow);
        }
        match self.slot(sequence) {
            None if sequence <= self.through => Err(Reason::Expired),
            None => Ok(()),
            Some(slot) if slot.hash == hash => Err(Reason::Duplicate),
            Some(_) => Err(Reason::SequenceReuse),
        }
    }

    /// Remembers a number that was judged; a refusal consumes it too.
    pub fn record(&mut self, sequence: u64, judged: Slot) {
        let newest = self.base + self.slots.len() as u64;
        // If the peer jumps beyond the window, begin the window anew: otherwise each number in between, up to 2^53−1, would
        // take a slot.
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
            *slot = Some(judged);
        }
        while self.slots.len() as u64 > WINDOW {
            self.slots.pop_front();
            self.base += 1;
        }
        self.note_news();
        self.advance();
    }

    /// Notes that a number was seen with two hashes; the peer learns it from the next receipt.
    pub fn note_reuse(&mut self, sequence: u64) {
        self.note_news();
        let Some(slot) = self.slot_mut(sequence) else {
            return;
        };
        slot.refused = slot.refused.or(Some(Reason::SequenceReuse));
        let slot = *slot;
        // The exceptions of a receipt are the numbers up to `through` that were not accepted. `advance` adds a higher number
        // when `through` reaches it: until then the number must take none of the limited room.
        let room = sequence <= self.through && self.exceptions.len() < EXCEPTIONS;
        if let Some(exception) = slot.exception().filter(|_| room) {
            self.exceptions.entry(sequence).or_insert(exception);
        }
    }

    /// Notes that a number came after all that its sender gave up: it stays given up.
    pub fn note_late(&mut self, sequence: u64) {
        self.note_news();
        if self.is_awaited(sequence) && self.exceptions.len() < EXCEPTIONS {
            let exception = Exception {
                reason: Reason::Expired.name().to_owned(),
                hash: None,
            };
            self.exceptions.entry(sequence).or_insert(exception);
        }
    }

    /// Takes the peer's word about what it still may send and what it gave up. Of what it gave up it
    /// hears from us what came of it: not everything that no receipt covered in time was lost.
    pub fn take_floor(&mut self, floor: Option<u64>, given_up: &[(u64, u64)]) {
        // The floor is the lowest number that the peer still sends. Take its newest floor even if that is lower than the last
        // one: the peer may have restored an older copy of its log.
        self.peer_floor = floor.unwrap_or(self.peer_floor);
        // Skip a range that runs backwards: it names no number, but would take one of the `EXCEPTIONS` places.
        let ranges = given_up.iter().filter(|(from, to)| from <= to);
        self.asked = ranges.take(EXCEPTIONS).copied().collect();
        let (asked, floor) = (&self.asked, self.peer_floor);
        // Drop an exception below the floor that the peer does not ask for. Keep one with a hash in any case: by it the peer
        // learns that it sent two messages under one number, and which of them we took.
        self.exceptions.retain(|number, exception| {
            exception.hash.is_some() || *number >= floor || is_among(asked, *number)
        });
        let before = self.through;
        for range in &self.asked {
            let news = range.1 > self.through && !self.given_up.contains(range);
            if news && self.given_up.len() < EXCEPTIONS {
                self.given_up.push(*range);
            }
        }
        self.advance();
        let through = self.through;
        self.given_up.retain(|(_, to)| *to > through);
        if through > before || self.asked.iter().any(|(from, _)| *from <= through) {
            self.owe();
        }
    }

    /// Notes that the peer should hear from us, though nothing new came.
    pub fn owe(&mut self) {
        self.owes = true;
    }

    /// Whether the peer should hear from us, though nothing new came.
    pub fn owes(&self) -> bool {
        self.owes
    }

    /// How much was judged since the last receipt, as far as the rows did not say it.
    pub fn unreported(&self) -> u64 {
        self.unreported
    }

    /// Whether anything was judged that no receipt of ours tells, before a start too.
    pub fn is_untold(&self) -> bool {
        self.untold
    }

    /// The timestamp of our last receipt.
    pub fn said(&self) -> Option<Timestamp> {
        self.said
    }

    /// Puts back the timestamp of our last receipt.
    pub(crate) fn put_back_said(&mut self, said: Option<Timestamp>) {
        self.said = said;
    }

    /// Whether the peer's newest receipt shows that it has our word on all that was judged: the lowest number that it
    /// may still send is above all of it, and it asks for none.
    pub fn is_heard(&self) -> bool {
        self.base + (self.slots.len() as u64) <= self.peer_floor && self.asked.is_empty()
    }

    /// The lowest number that the peer may still send, by its newest receipt; 0 before the first.
    pub fn peer_floor(&self) -> u64 {
        self.peer_floor
    }

    /// The highest number up to which everything is judged or given up.
    pub fn through(&self) -> u64 {
        self.through
    }

    /// Whether anything at all came.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The lowest numbers that are missing below one that came, unless a person was told of them.
    pub fn hole(&self) -> Option<Hole> {
        let from = self.through.max(self.told_through) + 1;
        let start = usize::try_from(from.checked_sub(self.base)?).ok()?;
        let rest = self.slots.iter().skip(start);
        let missing = rest.clone().take_while(|slot| slot.is_none()).count();
        let next = rest.skip(missing).find_map(|slot| *slot)?;
        (missing > 0).then_some(Hole {
            from,
            to: from + missing as u64 - 1,
            next_signed_at: next.signed_at,
        })
    }

    /// A person was told that the numbers up to `to` are missing.
    pub fn tell_through(&mut self, to: u64) {
        self.told_through = self.told_through.max(to);
    }

    /// All but what is remembered by number.
    pub(crate) fn bare(&self) -> Self {
        Self {
            base: self.base,
            slots: VecDeque::new(),
            through: self.through,
            through_hash: self.through_hash,
            exceptions: self.exceptions.clone(),
            given_up: self.given_up.clone(),
            asked: self.asked.clone(),
            peer_floor: self.peer_floor,
            untold: self.untold,
            said: self.said,
            unreported: 0,
            owes: false,
            told_through: self.told_through,
        }
    }

    /// What is remembered, by number.
    pub(crate) fn slots(&self) -> impl Iterator<Item = (u64, &Slot)> {
        let slots = (self.base..).zip(&self.slots);
        slots.filter_map(|(number, slot)| Some((number, slot.as_ref()?)))
    }

    /// Puts back what was remembered of a number of this window.
    pub(crate) fn put_back(&mut self, number: u64, slot: Slot) {
        // Ignore a number outside of the window: a damaged row must not make the window longer than `WINDOW`.
        let at = number.checked_sub(self.base).filter(|at| *at < WINDOW);
        let Some(at) = at.and_then(|at| usize::try_from(at).ok()) else {
            return;
        };
        while self.slots.len() <= at {
            self.slots.push_back(None);
        }
        if let Some(place) = self.slots.get_mut(at) {
            *place = Some(slot);
        }
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

    /// Notes that a receipt went out, signed then.
    pub fn reported(&mut self, said: Timestamp) {
        (self.untold, self.said) = (false, Some(said));
        self.give_up_report();
    }

    /// Notes that no receipt can be made of this: only the next news, or the next start, tries it again.
    pub fn give_up_report(&mut self) {
        (self.unreported, self.owes) = (0, false);
    }

    fn note_news(&mut self) {
        self.unreported += 1;
        self.untold = true;
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
            let (to, exception) = match slot {
                Some(slot) => (next, slot.exception()),
                None => match self.given_up_to(next) {
                    Some((to, known)) => (to, known.then(Exception::missing)),
                    None => return,
                },
            };
            if let Some(exception) = exception.filter(|_| self.is_awaited(next)) {
                // `through` must not pass a number whose exception does not fit into the receipt: the peer would think that we
                // have taken its message.
                if self.exceptions.len() >= EXCEPTIONS {
                    return;
                }
                self.exceptions.insert(next, exception);
            }
            self.through = to;
            self.through_hash = slot.map(|slot| slot.hash);
        }
    }

    /// Whether the peer still wants to hear what came of a number.
    fn is_awaited(&self, number: u64) -> bool {
        number >= self.peer_floor || is_among(&self.asked, number)
    }

    /// How far the peer gave up, from `next` on, in one step: one number where the peer wants to hear
    /// of it and the window knows that it did not come, and else up to such a one, or one that came.
    fn given_up_to(&self, next: u64) -> Option<(u64, bool)> {
        let mut ranges = self.given_up.iter();
        let (_, to) = ranges.find(|(from, to)| (*from..=*to).contains(&next))?;
        let from = next.max(self.base);
        if next == from && self.is_awaited(next) {
            return Some((next, true));
        }
        let start = usize::try_from(from - self.base).unwrap_or(usize::MAX);
        let judged = self.slots.iter().skip(start).position(Option::is_some);
        let judged = judged.map(|at| from + at as u64);
        let asked = self.asked.iter().map(|(begin, _)| (*begin).max(from));
        let stops = asked.chain(judged).chain([self.peer_floor.max(from)]);
        let stop = stops.filter(|stop| *stop > next).min();
        Some((stop.map_or(*to, |stop| (*to).min(stop - 1)), false))
    }
}

/// The value that most rows have is left out of them.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands the member over by reference"
)]
fn is_told(untold: &bool) -> bool {
    !untold
}

fn is_among(ranges: &[(u64, u64)], number: u64) -> bool {
    let mut ranges = ranges.iter();
    ranges.any(|(from, to)| (*from..=*to).contains(&number))
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
