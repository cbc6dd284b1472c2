//! Our own clock, and what the log says of time: what happens when the clock is put back.

use std::time::Duration;

use crate::time::{CLOCK_TOLERANCE, Timestamp};

/// Which time it is, by our clock and by our log.
#[derive(Debug)]
pub struct Clock {
    /// The time of the last line.
    written: Timestamp,
    /// The clock as it was last read: behind the last line's time after it was put back.
    read: Timestamp,
    /// How long we have run, as of the last input; unknown while the log is told again.
    elapsed: Option<Duration>,
    /// How long we had run when the log had been told again, and the time of its last line.
    resumed: (Duration, Timestamp),
    /// The time of the last call that a peer's hops hold: no two have the same.
    stepped: Timestamp,
}

impl Default for Clock {
    fn default() -> Self {
        let never = Timestamp::from_millis(0);
        Self {
            written: never,
            read: never,
            elapsed: None,
            resumed: (Duration::ZERO, never),
            stepped: never,
        }
    }
}

impl Clock {
    /// The time of the last line.
    pub(super) fn written(&self) -> Timestamp {
        self.written
    }

    /// The clock as it was last read.
    pub(super) fn last_read(&self) -> Timestamp {
        self.read
    }

    /// How long we have run, as of the last input; unknown while the log is told again.
    pub(super) fn elapsed(&self) -> Option<Duration> {
        self.elapsed
    }

    /// How long we had run when the log had been told again.
    pub(super) fn resumed(&self) -> Duration {
        self.resumed.0
    }

    /// We have run so long, as of this input.
    pub(super) fn run(&mut self, elapsed: Duration) {
        self.elapsed = Some(elapsed);
    }

    /// The clock stands there.
    pub(super) fn read(&mut self, now: Timestamp) {
        self.read = now;
    }

    /// Whether the clock was put back by more than a minute since it was last read.
    pub fn was_put_back(&self, now: Timestamp) -> bool {
        now.saturating_add(CLOCK_TOLERANCE) < self.read
    }

    /// When something must be done about the clock: at once, if it was put back.
    pub(super) fn due(&self, now: Timestamp) -> Option<Timestamp> {
        self.was_put_back(now).then_some(now)
    }

    /// A line is written while the clock stands at `clock`, or told again. Gives the line's own time, which is
    /// never before that of the line above it.
    pub(super) fn pass_line(&mut self, clock: Timestamp) -> Timestamp {
        // While the clock is behind the time of the log's newest line, new lines bear that time and not the clock's. A replay
        // cannot learn the clock from such lines: so leave `read` as it is.
        if clock > self.written {
            self.read = self.read.max(clock);
        }
        self.advance_to(clock);
        self.written
    }

    /// No later line bears an earlier time.
    pub(super) fn advance_to(&mut self, time: Timestamp) {
        self.written = self.written.max(time);
    }

    /// A line says that our clock was put back, and by how much it is behind the line's own time.
    pub(super) fn apply(&mut self, line: Timestamp, difference_ms: i64) -> Timestamp {
        self.read = Timestamp::from_millis(line.as_millis().saturating_add(difference_ms));
        self.read
    }

    /// The log has been told again.
    pub(super) fn resume(&mut self, elapsed: Duration) {
        self.resumed = (elapsed, self.written);
    }

    /// How long ago something happened, whatever the clock was set to since: `since` is how long we had run
    /// then. What happened before the start, at `line` by the log, is as old as the log said, and as we are.
    pub(super) fn age(
        &self,
        since: Option<Duration>,
        line: Timestamp,
        elapsed: Duration,
    ) -> Duration {
        let (resumed, written) = self.resumed;
        match since {
            Some(since) => elapsed.saturating_sub(since),
            None => elapsed.saturating_sub(resumed) + written.since(line),
        }
    }

    /// The time of a line, or the next moment after the call before: the log's time stands still while the
    /// clock is behind it, and calls have an order all the same.
    pub(super) fn next_step(&mut self, now: Timestamp) -> Timestamp {
        let next = self.stepped.saturating_add(Duration::from_nanos(1));
        self.stepped = now.max(next);
        self.stepped
    }

    /// Puts back the time of the last line.
    pub(super) fn put_back(&mut self, written: Timestamp) {
        (self.written, self.read) = (written, written);
    }

    /// Puts back the time of the last call that a peer's hops hold.
    pub(super) fn put_back_step(&mut self, newest: Timestamp) {
        self.stepped = newest;
    }
}

/// A time later than the last one that was signed, for what a peer takes only in order. One that lies
/// too far ahead was signed by a wrong clock, and no peer took it.
pub(super) fn after(now: Timestamp, last: Option<Timestamp>) -> Timestamp {
    let last = last.filter(|last| *last <= now.saturating_add(CLOCK_TOLERANCE));
    last.map_or(now, |last| {
        // The new time has to be later than `last`, or the peer would refuse it: add a millisecond, the smallest step that a
        // signed time shows.
        now.max(last.saturating_add(Duration::from_millis(1)))
    })
}
