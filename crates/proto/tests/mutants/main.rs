//! The tests once more as one binary, for `make mutants`: a mutant costs one compilation, not one for each file.
//! Not part of `cargo test` (`test = false`); the state space of `tests/model` is left out, it takes a minute.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::duplicate_mod,
    missing_docs,
    dead_code
)]

#[path = "../attacks.rs"]
mod attacks;
#[path = "../attacks_flights.rs"]
mod attacks_flights;
#[path = "../attacks_floods.rs"]
mod attacks_floods;
#[path = "../attacks_handoff.rs"]
mod attacks_handoff;
#[path = "../attacks_policy.rs"]
mod attacks_policy;
#[path = "../attacks_revocation.rs"]
mod attacks_revocation;
#[path = "../attacks_seal.rs"]
mod attacks_seal;
#[path = "../attacks_shed.rs"]
mod attacks_shed;
#[path = "../attacks_strangers.rs"]
mod attacks_strangers;
#[path = "../attacks_transcript.rs"]
mod attacks_transcript;
#[path = "../attacks_trust.rs"]
mod attacks_trust;
#[path = "../bounds.rs"]
mod bounds;
#[path = "../budgets_and_hops.rs"]
mod budgets_and_hops;
#[path = "../conversation.rs"]
mod conversation;
#[path = "../handoff.rs"]
mod handoff;
#[path = "../handshake.rs"]
mod handshake;
#[path = "../key_change.rs"]
mod key_change;
#[path = "../mutants_trust.rs"]
mod mutants_trust;
#[path = "../policy.rs"]
mod policy;
#[path = "../properties.rs"]
mod properties;
#[path = "../recall.rs"]
mod recall;
#[path = "../seal.rs"]
mod seal;
#[path = "../secrets.rs"]
mod secrets;
#[path = "../sessions.rs"]
mod sessions;
#[path = "../tamper.rs"]
mod tamper;
#[path = "../transcript.rs"]
mod transcript;
#[path = "../trust.rs"]
mod trust;
#[path = "../withdrawal.rs"]
mod withdrawal;
