//! Tests of the log that start other programs, or count what their process has: one after another. A program that is
//! being started holds the locks of its parent for a moment, so that no other test could open its log again meanwhile.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub,
    dead_code
)]

#[path = "../common/mod.rs"]
mod common;
mod cost;
mod hostile;
#[path = "../audit/pair.rs"]
mod pair;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Held by a test as long as it runs. One that failed leaves the next its turn.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}
