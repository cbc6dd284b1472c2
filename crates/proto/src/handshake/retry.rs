//! When a flight goes out again.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{HALF_OPEN, START_AGAIN};
use crate::time::Timestamp;

/// When to send the same flight again: after 1, 2, 4 … s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    #[serde(skip, default = "long_ago")]
    next: Timestamp,
    #[serde(skip, default = "at_once")]
    delay: Duration,
    #[serde(skip, default = "long_ago")]
    until: Timestamp,
}

impl Retry {
    /// From `now` on, for as long as a handshake may stay half open.
    pub(crate) fn from(now: Timestamp) -> Self {
        Self::until(now, HALF_OPEN)
    }

    /// From `now` on, for `patience`.
    pub(super) fn until(now: Timestamp, patience: Duration) -> Self {
        let delay = Duration::from_secs(1);
        Self {
            next: now.saturating_add(delay),
            delay,
            until: now.saturating_add(patience),
        }
    }

    /// When it is due, or over.
    pub fn due(&self) -> Timestamp {
        self.next.min(self.until)
    }

    /// Whether to send now; moves to the next time.
    pub(crate) fn strike(&mut self, now: Timestamp) -> bool {
        // After our clock was set back, `until` and `next` may lie too far ahead: cap each at the latest value that it could be
        // given now.
        self.until = self.until.min(now.saturating_add(HALF_OPEN));
        self.next = self.next.min(now.saturating_add(self.delay));
        if now < self.next || now >= self.until {
            return false;
        }
        self.delay *= 2;
        self.next = now.saturating_add(self.delay);
        true
    }

    /// The way is open again: what is under way goes out now, and then at the first pace.
    pub(crate) fn hasten(&mut self, now: Timestamp) {
        self.next = self.next.min(now);
        // Begin with the shortest wait again, one second. Set half of it, since `strike` doubles the delay when it sends.
        self.delay = Duration::from_millis(500);
    }

    /// When the other side has probably lost its half: both may start again then.
    pub(crate) fn stale_at(&self) -> Timestamp {
        self.until.saturating_sub(HALF_OPEN - START_AGAIN)
    }

    pub(crate) fn is_over(&self, now: Timestamp) -> bool {
        now >= self.until
    }
}

/// What a row does not hold: a start begins to send anew.
fn long_ago() -> Timestamp {
    Timestamp::from_millis(0)
}

fn at_once() -> Duration {
    Duration::from_secs(1)
}
