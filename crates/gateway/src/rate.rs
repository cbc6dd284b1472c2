//! A token bucket, kept as one time: when it will be full again. Taking from it moves that time on, and what is beyond the size
//! of the bucket has to be waited for (the generic cell rate algorithm).

use std::time::{Duration, Instant};

/// How much may come, and how much has come lately.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RateBucket {
    /// For which the bucket flows back by one.
    pause: Duration,
    /// What a full bucket holds: as many pauses as may come at once.
    size: Duration,
    full_at: Instant,
}

impl RateBucket {
    /// A full bucket of so many in a minute, and so many of them, 8 at least, at once.
    pub(crate) fn full(per_minute: u32, at_once: u32, now: Instant) -> Self {
        let pause = MINUTE / per_minute.max(1);
        Self::of(pause, pause * at_once.max(8), now)
    }

    /// A full bucket of that size.
    pub(crate) const fn of(pause: Duration, size: Duration, now: Instant) -> Self {
        Self {
            pause,
            size,
            full_at: now,
        }
    }

    /// Takes so many. More than the bucket ever holds pass once it is full, and are paid for afterwards.
    ///
    /// # Errors
    /// How long it is until there are so many.
    pub(crate) fn take(&mut self, count: u32, now: Instant) -> Result<(), Duration> {
        let (from, cost) = (self.full_at.max(now), self.pause.saturating_mul(count));
        let needed = from.duration_since(now) + cost.min(self.size);
        match needed.checked_sub(self.size) {
            Some(missing) if !missing.is_zero() => Err(missing),
            _ => {
                self.full_at = from + cost;
                Ok(())
            }
        }
    }

    /// When it is full again.
    pub(crate) const fn full_at(&self) -> Instant {
        self.full_at
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
