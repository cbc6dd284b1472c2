//! What this side remembers of the broker's store from one connection to the next, to notice its loss.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

#[derive(Debug, Default)]
pub(crate) struct Store {
    /// When our consumer was made, in nanoseconds since 1970.
    created: Mutex<Option<i128>>,
    /// The highest sequence that a confirmation named.
    highest: AtomicU64,
    /// Counts the losses: a handle of one era must not settle a message of the next, whose numbers begin
    /// anew.
    era: AtomicU64,
}

impl Store {
    pub(crate) fn era(&self) -> u64 {
        self.era.load(Ordering::Acquire)
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
