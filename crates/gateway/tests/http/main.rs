//! The gateway's listener and the rooms behind it, over real sockets.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod carriers;
mod carrying;
mod daemon;
mod discord;
mod households;
mod peer;
mod wire;
