//! The transport against a real NATS server: core NATS and JetStream's mailboxes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod cluster;
mod hostile_hub;
mod leaf;
mod mailbox;
mod many;
mod nats;
mod played;
mod readers;
mod reading;
mod stores;
mod versions;
mod websocket;
