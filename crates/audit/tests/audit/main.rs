//! The tests of the log, a file a subject; `faults` stands beside this binary, because it takes long, and
//! `alone`: nothing here may start another program.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub
)]

mod anchor;
mod attacks;
mod bundle;
mod bundle_by_hand;
mod bundle_lines;
mod bundle_told;
mod checkpoints;
#[path = "../common/mod.rs"]
mod common;
mod crash;
mod disk;
mod disk_answers;
mod errors;
mod filter;
mod forgeries;
mod golden;
mod in_place;
mod judged;
mod links;
mod log;
mod log_ends;
mod one_line;
mod opening;
mod opening_proofs;
mod pair;
mod pieces;
mod plain_files;
mod published;
mod reading;
mod reconcile;
mod reconcile_told;
mod reconcile_whole;
mod room;
mod tlog;
mod unread;
mod verify;
mod verify_clock;
mod verify_counts;
mod verify_decisions;
mod verify_heads;
mod verify_months;
mod verify_parties;
mod verify_roots;
mod verify_told;
mod verify_trust;
mod verify_words;
mod versions;
