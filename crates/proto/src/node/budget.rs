//! What strangers may cost: a line each up to a budget, then one `flood` line a second.

use std::time::Duration;

use crate::entry::Flood;
use crate::ids::Digest;
use crate::time::Timestamp;

/// Lines a second that unproven input may cause.
const RATE: u64 = 100;
/// Lines at once after a quiet time.
const BURST: u64 = 1_000;
/// How long a flood is counted before its line is written.
const FLOOD_LINE: Duration = Duration::from_secs(1);

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

/// The allowance, and the count of what it turned away.
#[derive(Debug, Default)]
pub(super) struct Budget {
    allowance: Allowance,
    flood: Option<(Timestamp, Flood)>,
}

impl Budget {
    /// Whether one more line is allowed at `now`.
    pub(super) fn spend(&mut self, now: Timestamp) -> bool {
        self.allowance.spend(now)
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
