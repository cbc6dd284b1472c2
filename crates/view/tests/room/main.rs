//! The reading room as a browser meets it: the real program, in its cage, over real logs.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod cage;
mod cord;
mod diary;
mod doors;
mod follow;
mod hostile;
mod pages;
mod program;
mod seek;
