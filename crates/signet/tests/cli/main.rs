//! The command line: homes, keys, files, and what it prints; with a daemon where a command needs one.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub
)]

mod allocator;
mod audit_open;
mod audit_prove;
mod broken_homes;
mod cli_init;
mod cli_key;
mod cli_policy;
mod completion;
mod digest;
mod exit_codes;
mod hints;
mod hub;
mod install;
mod mistakes;
mod pages;
mod pasted;
mod prove;
mod questions;
mod show;
mod terminal;
mod units;

use signet_testkit as house;
