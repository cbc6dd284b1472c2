//! Jittered exponential back-off.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

/// The waits between tries: each twice the one before, from 100 ms to 30 s, and each shortened at random by
/// up to half, so that many agents do not come back to a restarted server in the same instant.
#[derive(Debug, Clone)]
pub struct Backoff {
    next: Duration,
}

impl Backoff {
    /// A back-off whose first wait is at most 100 ms.
    #[must_use]
    pub fn new() -> Self {
        Self { next: FIRST }
    }

    /// How long to wait before the next try.
    pub fn wait(&mut self) -> Duration {
        let longest = self.next;
        self.next = (longest * 2).min(LAST);
        longest - longest.mul_f64(fraction() / 2.0)
    }

    /// After a success: the next wait is a first one again.
    pub fn reset(&mut self) {
        self.next = FIRST;
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self::new()
    }
}

/// A number in 0 .. 1. The standard library's hash keys are random enough for jitter, which is no secret.
pub(crate) fn fraction() -> f64 {
    let bits = RandomState::new().build_hasher().finish() >> 40;
    bits as f64 / f64::from(1_u32 << 24)
}

const FIRST: Duration = Duration::from_millis(100);
const LAST: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_thirty_seconds_and_stay_above_half() {
        let mut backoff = Backoff::new();
        let mut longest = FIRST;
        for _ in 0..20 {
            let wait = backoff.wait();
            assert!(wait <= longest, "{wait:?} is longer than {longest:?}");
            assert!(
                wait >= longest / 2,
                "{wait:?} is shorter than half of {longest:?}"
            );
            longest = (longest * 2).min(LAST);
        }
        assert_eq!(longest, LAST);
    }

    #[test]
    fn waits_differ_and_begin_anew_after_a_success() {
        let firsts: std::collections::HashSet<_> = (0..20).map(|_| Backoff::new().wait()).collect();
        assert!(firsts.len() > 1, "no jitter");
        let mut backoff = Backoff::new();
        for _ in 0..10 {
            backoff.wait();
        }
        backoff.reset();
        assert!(backoff.wait() <= FIRST);
    }
}
