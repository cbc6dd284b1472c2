//! Households with virtual time, a hostile network, wrong clocks and crashes, from a seed.
#![allow(
    unreachable_pub,
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod agent;
mod broker;
mod cast;
mod disk;
mod faults;
#[path = "../household/mod.rs"]
mod household;
mod index;
mod invariants;
mod limits;
mod mood;
mod restored;
mod runs;
mod sabotage;
mod tale;
mod trace;
mod workload;
mod world;
