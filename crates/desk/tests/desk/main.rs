//! The desk of `signet view`, as a browser sees it and as others try to, beside real daemons.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub
)]

mod browser;
mod changed;
mod decisions;
mod hostile;
mod launcher;
mod life;
mod other_pages;
mod other_users;
mod scene;
mod sealed;

use signet_testkit as house;
