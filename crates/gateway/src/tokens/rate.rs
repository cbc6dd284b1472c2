//! A token bucket: so many requests in a minute, and so many of them at once.

use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    /// For one request.
    pause: Duration,
    size: Duration,
    /// When it would be full again.
    full_at: Instant,
}

impl Bucket {
    pub(crate) fn full(per_minute: u32, at_once: u32, now: Instant) -> Self {
        let pause = Duration::from_secs(60) / per_minute.max(1);
        Self {
            pause,
            size: pause * at_once.max(8),
            full_at: now,
        }
    }

    /// Takes one.
    ///
    /// # Errors
    /// Seconds until there is one, 1 at least.
    pub(crate) fn take(&mut self, now: Instant) -> Result<(), u64> {
        let next = self.full_at.max(now) + self.pause;
        match next.duration_since(now).checked_sub(self.size) {
            Some(missing) if !missing.is_zero() => Err(missing.as_secs() + 1),
            _ => {
                self.full_at = next;
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_then_the_rate_holds() {
        let start = Instant::now();
        let mut bucket = Bucket::full(60, 6, start);
        let burst = (0..100).take_while(|_| bucket.take(start).is_ok()).count();
        assert_eq!(burst, 8);
        assert!(bucket.take(start).unwrap_err() >= 1);
        let later = start + Duration::from_secs(1);
        assert!(bucket.take(later).is_ok() && bucket.take(later).is_err());
        let mut taken = 0;
        for second in 2..62 {
            let now = start + Duration::from_secs(second);
            taken += (0..10).filter(|_| bucket.take(now).is_ok()).count();
        }
        assert_eq!(taken, 60);
    }
}
