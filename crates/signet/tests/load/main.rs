//! Daemons under load, one test after another: what they count and measure is their own.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub
)]

mod clients;
#[path = "../../benches/daemon/common/mod.rs"]
mod common;
mod flood;
mod growth;
mod hostile;
mod junk_in_front;
mod many;
mod peers;
mod played;
mod websocket;

use std::sync::{Mutex, MutexGuard, PoisonError};

use signet_testkit as house;

/// Held by a test as long as it runs. One that failed leaves the next its turn.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}
