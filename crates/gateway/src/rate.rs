//! How fast somebody may call: so many at once, and then one each pause.

use std::time::{Duration, Instant};

use signet_proto::budget::Bucket;

/// How much may come, and how much has come lately.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RateBucket {
    /// For which the bucket flows back by one.
    pause: Duration,
    /// What a full bucket holds: as many pauses as may come at once.
    size: Duration,
    made: Instant,
    /// The pauses that were taken, by the time since the bucket was made.
    taken: Bucket,
}

impl RateBucket {
    /// A full bucket of so many in a minute, and so many of them, 8 at least, at once.
    pub(crate) fn full(per_minute: u32, at_once: u32, now: Instant) -> Self {
        // `max(1)` avoids a division by zero: `signet token make` refuses a rate of 0, but a person may write 0 into the file.
        let pause = MINUTE / per_minute.max(1);
        Self::of(pause, pause * at_once.max(8), now)
    }

    /// A full bucket of that size.
    pub(crate) fn of(pause: Duration, size: Duration, now: Instant) -> Self {
        Self {
            pause,
            size,
            made: now,
            taken: Bucket::default(),
        }
    }

    /// Takes so many. More than the bucket ever holds pass once it is full, and are paid for afterwards.
    ///
    /// # Errors
    /// How long it is until there are so many.
    pub(crate) fn take(&mut self, count: u32, now: Instant) -> Result<(), Duration> {
        let now = now.saturating_duration_since(self.made);
        self.taken.work_off(now, 1);
        let cost = self.pause.saturating_mul(count);
        let needed = cost.min(self.size);
        if !self.taken.has_room(needed, self.size) {
            let free = self.taken.room_at(needed, self.size, 1);
            return Err(free.saturating_sub(now));
        }
        self.taken.owe(cost);
        Ok(())
    }

    /// When it is full again.
    pub(crate) fn full_at(&self) -> Instant {
        self.made + self.taken.room_at(self.size, self.size, 1)
    }
}

const MINUTE: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_then_the_rate_holds() {
        let start = Instant::now();
        let mut bucket = RateBucket::full(60, 6, start);
        let burst = (0..100)
            .take_while(|_| bucket.take(1, start).is_ok())
            .count();
        assert_eq!(burst, 8);
        assert!(!bucket.take(1, start).unwrap_err().is_zero());
        let later = start + Duration::from_secs(1);
        assert!(bucket.take(1, later).is_ok() && bucket.take(1, later).is_err());
        let mut taken = 0;
        for second in 2..62 {
            let now = start + Duration::from_secs(second);
            taken += (0..10).filter(|_| bucket.take(1, now).is_ok()).count();
        }
        assert_eq!(taken, 60);
    }
}
