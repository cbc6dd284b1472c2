//! What others may write into our log: bytes of lines, and of strangers a number of lines a second.
//! What is over is counted, in one `flood` line a second.

use std::time::Duration;

use crate::budget::Bucket;
use crate::entry::{Entry, Flood};
use crate::ids::Digest;
use crate::time::Timestamp;

/// Lines a second that unproven input may cause.
const RATE: u32 = 100;
/// What a line costs …
const LINE: Duration = Duration::from_secs(1);
/// … and the lines at once after a quiet time.
const BURST: Duration = Duration::from_secs(1_000);
/// How long a flood is counted before its line is written.
const FLOOD_LINE: Duration = Duration::from_secs(1);
/// Bytes of lines that strangers may cause at once …
const STRANGERS_AT_ONCE: u32 = 8 * MIB;
/// … and a day.
const STRANGERS_A_DAY: u32 = 64 * MIB;
pub(super) const MIB: u32 = 1024 * 1024;
/// Seconds.
const DAY: u64 = 24 * 3600;
/// What stands in a line before its kind, at most: version, number, time and the hash of the line before.
const CHAIN: u64 = 160;

/// How many lines strangers may still cause.
#[derive(Debug, Default)]
pub struct LineAllowance(Bucket);

impl LineAllowance {
    /// How many lines are allowed at `now`.
    pub fn left(&mut self, now: Timestamp) -> u64 {
        self.0.work_off(now, RATE);
        BURST.saturating_sub(self.0.owed()).as_secs()
    }

    /// Whether one more line is allowed at `now`.
    pub fn spend(&mut self, now: Timestamp) -> bool {
        let allowed = self.left(now) > 0;
        if allowed {
            self.0.owe(LINE);
        }
        allowed
    }
}

/// How many bytes of lines something may cause: so many at once, and so many a day. The last line may
/// go over. Not lasting: a restart makes it whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meter {
    size: Duration,
    a_day: u32,
    /// A byte is a day's work of which as many are done in a day as are allowed.
    used: Bucket,
}

impl Meter {
    pub(super) fn new(at_once: u32, a_day: u32) -> Self {
        Self {
            size: days(at_once.into()),
            a_day,
            used: Bucket::default(),
        }
    }

    /// Whether one more line is allowed at `now`.
    pub(super) fn has_room(&mut self, now: Timestamp) -> bool {
        self.used.work_off(now, self.a_day);
        self.used.has_room(SOME, self.size)
    }

    /// Counts lines that were written.
    pub(super) fn spend(&mut self, bytes: u64) {
        self.used.owe(days(bytes));
    }

    /// Makes room for what something else calls for.
    pub(super) fn give_back(&mut self, bytes: u64) {
        self.used.forgive(days(bytes));
    }

    /// When there is room again, if there was none when it was last looked at.
    pub(super) fn room_at(&self) -> Option<Timestamp> {
        let room = || self.used.room_at(SOME, self.size, self.a_day);
        (!self.used.has_room(SOME, self.size)).then(|| Timestamp::EPOCH.saturating_add(room()))
    }
}

/// A line that begins within the budget may end beyond it, so only some of it has to have room.
const SOME: Duration = Duration::from_millis(1);

fn days(bytes: u64) -> Duration {
    Duration::from_secs(bytes.saturating_mul(DAY))
}

/// How many bytes of a log the lines of these entries take: their members, what the chain adds, and the
/// escapes that keep hidden characters from a terminal.
pub(super) fn weight<'e>(entries: impl IntoIterator<Item = &'e Entry>) -> u64 {
    let mut line = Vec::new();
    let mut weight = 0;
    for entry in entries {
        line.clear();
        entry.write(&mut line);
        // The log escapes hidden characters, which makes a line longer. Assume the worst: DEL becomes 6 bytes, a hidden
        // character of 2 bytes 6, and one of 4 bytes 12.
        let escapes = line.iter().map(|byte| match byte {
            0x7f => 5,
            0x80.. => 2,
            _ => 0,
        });
        weight += CHAIN + line.len() as u64 + escapes.sum::<u64>();
    }
    weight
}

/// The allowance, and the count of what it turned away.
#[derive(Debug)]
pub(super) struct Budget {
    allowance: LineAllowance,
    bytes: Meter,
    flood: Option<(Timestamp, Flood)>,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            allowance: LineAllowance::default(),
            bytes: Meter::new(STRANGERS_AT_ONCE, STRANGERS_A_DAY),
            flood: None,
        }
    }
}

impl Budget {
    /// Whether a line is allowed at `now`; it is paid then.
    pub(super) fn spend(&mut self, now: Timestamp, entry: &Entry) -> bool {
        // Ask the bytes' budget first: `allowance.spend` uses up one of the allowed lines at once, and a line that is not
        // written for want of bytes must not use up any.
        let allowed = self.bytes.has_room(now) && self.allowance.spend(now);
        if allowed {
            self.bytes.spend(weight([entry]));
        }
        allowed
    }

    /// Pays a line that follows from one that was allowed.
    pub(super) fn pay(&mut self, entry: &Entry) {
        self.bytes.spend(weight([entry]));
    }

    /// Counts an input that was over the budget.
    pub(super) fn count(&mut self, now: Timestamp, bytes: u64, hash: Digest) {
        let (_, flood) = self.flood.get_or_insert((
            now,
            Flood {
                count: 0,
                bytes: 0,
                hash: Digest([0; 32]),
            },
        ));
        flood.count += 1;
        flood.bytes += bytes;
        flood.hash = Digest::of(&[flood.hash.as_bytes(), hash.as_bytes()]);
    }

    /// When the flood line is due.
    pub(super) fn due(&self) -> Option<Timestamp> {
        self.flood
            .as_ref()
            .map(|(since, _)| since.saturating_add(FLOOD_LINE))
    }

    /// The clock was put back: the line comes a second from now at the latest.
    pub(super) fn put_back(&mut self, now: Timestamp) {
        if let Some((since, _)) = &mut self.flood {
            *since = (*since).min(now);
        }
    }

    /// The flood line, when it is due.
    pub(super) fn overdue(&mut self, now: Timestamp) -> Option<Flood> {
        if self.due().is_some_and(|due| due <= now) {
            self.flush()
        } else {
            None
        }
    }

    /// The flood line, now: at a clean stop.
    pub(super) fn flush(&mut self) -> Option<Flood> {
        self.flood.take().map(|(_, flood)| flood)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::CauseLine;

    fn line(cause: String) -> Entry {
        Entry::Gap(CauseLine { cause })
    }

    /// A stranger would fill the disk sixfold with what is counted as one byte each.
    #[test]
    fn hidden_characters_are_paid_as_the_escapes_that_the_log_writes() {
        for (hidden, escaped) in [("\u{7f}", 6), ("\u{85}", 6), ("\u{e0001}", 12)] {
            let cost = weight([&line(hidden.repeat(1_000))]) - weight([&line(String::new())]);
            assert!(cost >= 1_000 * escaped, "{hidden:?}: {cost}");
            let mut written = Vec::new();
            signet_text::write_escaped(hidden.as_bytes(), &mut written);
            assert_eq!(written.len() as u64, escaped, "{hidden:?}");
        }
        let plain = weight([&line("x".repeat(1_000))]) - weight([&line(String::new())]);
        assert_eq!(plain, 1_000);
    }

    #[test]
    fn what_follows_from_a_strangers_line_is_paid_by_strangers_too() {
        let (mut budget, now) = (Budget::default(), Timestamp::EPOCH);
        let follows = line("x".repeat(MIB as usize));
        for _ in 0..STRANGERS_AT_ONCE / MIB {
            budget.pay(&follows);
        }
        assert!(!budget.spend(now, &line(String::new())));
    }

    #[test]
    fn a_flood_counted_by_a_clock_that_was_ahead_is_written_a_second_after_it_was_put_back() {
        let now = Timestamp::from_millis(1_000);
        let ahead = now.saturating_add(Duration::from_secs(24 * 3600));
        let mut budget = Budget::default();
        budget.count(ahead, 5, Digest([1; 32]));
        budget.put_back(now);
        let due = now.saturating_add(FLOOD_LINE);
        assert_eq!(budget.due(), Some(due));
        assert!(budget.overdue(due).is_some());
    }
}
