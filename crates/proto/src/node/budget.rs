//! What others may write into our log: bytes of lines, and of strangers a number of lines a second.
//! What is over is counted, in one `flood` line a second.

use std::time::Duration;

use crate::entry::{Entry, Flood};
use crate::ids::Digest;
use crate::time::Timestamp;

/// Lines a second that unproven input may cause.
const RATE: u64 = 100;
/// Lines at once after a quiet time.
const BURST: u64 = 1_000;
/// How long a flood is counted before its line is written.
const FLOOD_LINE: Duration = Duration::from_secs(1);
/// Bytes of lines that strangers may cause at once …
const STRANGERS_AT_ONCE: u64 = 8 * MIB;
/// … and a day.
const STRANGERS_A_DAY: u64 = 64 * MIB;
pub(super) const MIB: u64 = 1024 * 1024;
/// Milliseconds.
const DAY: u64 = 24 * 3600 * 1000;
/// What stands in a line before its kind, at most: version, number, time and the hash of the line before.
const CHAIN: u64 = 160;

/// How many lines strangers may still cause: a token bucket.
#[derive(Debug)]
pub struct Allowance {
    millitokens: u64,
    refilled: Option<Timestamp>,
}

impl Default for Allowance {
    fn default() -> Self {
        Self {
            millitokens: BURST * 1000,
            refilled: None,
        }
    }
}

impl Allowance {
    /// How many lines are allowed at `now`.
    pub fn left(&mut self, now: Timestamp) -> u64 {
        let elapsed = self
            .refilled
            .map_or(Duration::ZERO, |before| now.since(before));
        let earned = u64::try_from(elapsed.as_millis())
            .unwrap_or(u64::MAX)
            .saturating_mul(RATE);
        self.millitokens = self.millitokens.saturating_add(earned).min(BURST * 1000);
        self.refilled = Some(now);
        self.millitokens / 1000
    }

    /// Whether one more line is allowed at `now`.
    pub fn spend(&mut self, now: Timestamp) -> bool {
        let allowed = self.left(now) > 0;
        if allowed {
            self.millitokens -= 1000;
        }
        allowed
    }
}

/// How many bytes of lines something may cause: so many at once, and so many a day. The last line may
/// go over. Not lasting: a restart makes it whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meter {
    at_once: u64,
    a_day: u64,
    /// What is used, times the milliseconds of a day.
    used: u64,
    seen: Option<Timestamp>,
}

impl Meter {
    pub(super) const fn new(at_once: u64, a_day: u64) -> Self {
        Self {
            at_once,
            a_day,
            used: 0,
            seen: None,
        }
    }

    /// Whether one more line is allowed at `now`.
    pub(super) fn has_room(&mut self, now: Timestamp) -> bool {
        let elapsed = self.seen.map_or(Duration::ZERO, |seen| now.since(seen));
        let elapsed = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        self.used = self.used.saturating_sub(elapsed.saturating_mul(self.a_day));
        self.seen = Some(now);
        self.over() == 0
    }

    /// Counts lines that were written.
    pub(super) fn spend(&mut self, bytes: u64) {
        self.used = self.used.saturating_add(bytes.saturating_mul(DAY));
    }

    /// Makes room for what something else calls for.
    pub(super) fn give_back(&mut self, bytes: u64) {
        self.used = self.used.saturating_sub(bytes.saturating_mul(DAY));
    }

    /// When there is room again, if there was none when it was last looked at.
    pub(super) fn room_at(&self) -> Option<Timestamp> {
        let seen = self.seen.filter(|_| self.over() > 0)?;
        let wait = self.over().div_ceil(self.a_day.max(1));
        Some(seen.saturating_add(Duration::from_millis(wait)))
    }

    fn over(&self) -> u64 {
        let room = self.at_once.saturating_mul(DAY);
        self.used.saturating_add(1).saturating_sub(room)
    }
}

/// How many bytes of a log the lines of these entries take: their members, what the chain adds, and the
/// escapes that keep hidden characters from a terminal.
pub(super) fn weight<'e>(entries: impl IntoIterator<Item = &'e Entry>) -> u64 {
    let mut line = Vec::new();
    let mut weight = 0;
    for entry in entries {
        line.clear();
        entry.write(&mut line);
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
    allowance: Allowance,
    bytes: Meter,
    flood: Option<(Timestamp, Flood)>,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            allowance: Allowance::default(),
            bytes: Meter::new(STRANGERS_AT_ONCE, STRANGERS_A_DAY),
            flood: None,
        }
    }
}

impl Budget {
    /// Whether a line is allowed at `now`; it is paid then.
    pub(super) fn spend(&mut self, now: Timestamp, entry: &Entry) -> bool {
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
