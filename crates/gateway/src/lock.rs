//! Locks that a panic does not close.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes a lock whether or not a thread panicked while it held it. What the gateway guards by locks is counts and tables whose
/// every change is whole: refusing to look at them after a panic would turn one failed request into a gateway that serves nobody.
pub(crate) trait Locked<T> {
    /// Waits for the lock.
    fn locked(&self) -> MutexGuard<'_, T>;
}

impl<T> Locked<T> for Mutex<T> {
    fn locked(&self) -> MutexGuard<'_, T> {
        self.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
