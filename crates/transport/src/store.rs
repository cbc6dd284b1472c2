//! What this side remembers of the broker's store from one connection to the next, to notice its loss.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

#[derive(Debug, Default)]
pub(crate) struct Store {
    /// When our consumer was made, in nanoseconds since 1970.
    created: Mutex<Option<i128>>,
    /// The highest sequence that a confirmation named.
    highest: AtomicU64,
    /// Counts the losses: a handle of one era must not settle a message of the next, whose numbers begin
    /// anew.
    era: AtomicU64,
    /// Until when mail is read one by one.
    careful: Mutex<Option<Instant>>,
}

impl Store {
    pub(crate) fn era(&self) -> u64 {
        self.era.load(Ordering::Acquire)
    }

    /// A connection broke while mail was read. Mail itself can do that, each time that it is delivered, and what
    /// is delivered behind it is lost with the connection and counts as delivered: so that it does not go
    /// under in the end, it is read one by one until what was lost has come again.
    pub(crate) fn broke(&self, now: Instant) {
        *self.careful.lock().unwrap_or_else(PoisonError::into_inner) = Some(now + CAREFUL);
    }

    pub(crate) fn is_careful(&self, now: Instant) -> bool {
        let careful = self.careful.lock().unwrap_or_else(PoisonError::into_inner);
        careful.is_some_and(|until| now < until)
    }

    /// Whether the consumer is another one than before.
    pub(crate) fn is_lost_by(&self, created: i128) -> bool {
        let mut known = self.created.lock().unwrap_or_else(PoisonError::into_inner);
        let lost = known
            .replace(created)
            .is_some_and(|before| before != created);
        if lost {
            self.highest.store(0, Ordering::Release);
            self.era.fetch_add(1, Ordering::AcqRel);
        }
        lost
    }

    /// Whether the stream counts from a lower number than before: it confirms in the order of its numbers.
    pub(crate) fn is_behind(&self, sequence: u64) -> bool {
        let lost = self.highest.swap(sequence, Ordering::AcqRel) >= sequence;
        if lost {
            self.era.fetch_add(1, Ordering::AcqRel);
        }
        lost
    }
}

/// The first redelivery comes after 30 s.
const CAREFUL: Duration = Duration::from_secs(45);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_consumer_or_a_falling_number_is_a_loss_told_once() {
        let store = Store::default();
        assert!(!store.is_lost_by(5) && !store.is_lost_by(5));
        assert!(!store.is_behind(7) && !store.is_behind(9));
        assert!(store.is_lost_by(6), "made anew");
        assert!(!store.is_behind(1), "the loss was told already");
        assert_eq!(store.era(), 1);
        assert!(store.is_behind(1) && !store.is_behind(2));
        assert_eq!(store.era(), 2);
    }
}
