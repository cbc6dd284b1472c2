//! One budget for what comes one after the other: so much at once, and then at a steady rate (GCRA).

use std::time::Duration;

/// A token bucket that counts work, each piece by the time that it takes. It holds a `size` of work that waits, and works off
/// `rate` seconds of it each second.
///
/// It keeps what is owed beside when that was looked at, rather than when all of it will be done: whoever waits for that time
/// would wait an hour longer after a clock was put back by an hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bucket {
    owed: Duration,
    /// Since any beginning that the caller keeps to.
    seen: Duration,
}

impl Bucket {
    /// Works off what is owed until `now`. Returns for how much more there was time.
    pub fn work_off(&mut self, now: impl Into<Duration>, rate: u32) -> Duration {
        let now = now.into();
        let done = now.saturating_sub(self.seen).saturating_mul(rate);
        let idle = done.saturating_sub(self.owed);
        self.owed = self.owed.saturating_sub(done);
        // Set `seen` to `now` even if the clock was put back and `now` is earlier: otherwise nothing of what is owed would be
        // worked off until the clock has caught up.
        self.seen = now;
        idle
    }

    /// Adds work, whether there is room for it or not.
    pub fn owe(&mut self, work: Duration) {
        self.owed = self.owed.saturating_add(work);
    }

    /// Takes work back.
    pub fn forgive(&mut self, work: Duration) {
        self.owed = self.owed.saturating_sub(work);
    }

    /// What is owed since it was last looked at.
    #[must_use]
    pub const fn owed(self) -> Duration {
        self.owed
    }

    /// Whether so much more work has room, since it was last looked at.
    #[must_use]
    pub fn has_room(self, work: Duration, size: Duration) -> bool {
        self.owed.saturating_add(work) <= size
    }

    /// From when on so much more work has room.
    #[must_use]
    pub fn room_at(self, work: Duration, size: Duration, rate: u32) -> Duration {
        // A rate of 0 does not occur, but nothing here ensures that: avoid a division by zero.
        let rate = rate.max(1);
        // Round the division up: rounded down, the result could be a time at which there is no room yet.
        let up = Duration::from_nanos(u64::from(rate - 1));
        let all = self.owed.saturating_add(work).saturating_add(up) / rate;
        self.seen.saturating_add(all).saturating_sub(size / rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn so_much_passes_at_once_and_then_at_the_rate() {
        let (mut bucket, now, size) = (Bucket::default(), 100 * SECOND, 8 * SECOND);
        assert_eq!(bucket.work_off(now, 2), 200 * SECOND);
        for _ in 0..8 {
            assert!(bucket.has_room(SECOND, size));
            bucket.owe(SECOND);
        }
        assert!(!bucket.has_room(SECOND, size));
        let free = bucket.room_at(SECOND, size, 2);
        assert_eq!(free, now + SECOND / 2);
        assert_eq!(bucket.work_off(free, 2), Duration::ZERO);
        assert!(bucket.has_room(SECOND, size));
        assert_eq!(bucket.owed(), 7 * SECOND);
    }

    #[test]
    fn a_clock_that_is_put_back_costs_nothing_that_was_not_used() {
        let mut bucket = Bucket::default();
        bucket.work_off(1000 * SECOND, 1);
        bucket.owe(2 * SECOND);
        bucket.work_off(10 * SECOND, 1);
        assert_eq!(bucket.room_at(SECOND, SECOND, 1), 12 * SECOND);
    }

    #[test]
    fn there_is_room_at_the_time_that_was_told() {
        let (mut bucket, work) = (Bucket::default(), 60 * SECOND);
        bucket.work_off(SECOND, 7);
        bucket.owe(500 * SECOND);
        let free = bucket.room_at(work, 420 * SECOND, 7);
        bucket.work_off(free, 7);
        assert!(bucket.has_room(work, 420 * SECOND));
    }
}
