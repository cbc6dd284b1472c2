//! `signet gateway`, as programs call it: bytes on a socket, beside real daemons over a real NATS server.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    unreachable_pub,
    dead_code,
    missing_docs
)]

mod a2a;
#[path = "../kinds/agent.rs"]
mod agent;
mod authority;
mod carriers;
mod carrying;
mod certificates;
mod client;
mod daemon;
mod discord;
#[path = "../../src/doors/inbox/framing.rs"]
mod framing;
mod households;
mod kept_back;
mod listener;
mod mcp;
mod metrics;
mod openapi;
mod peer;
mod polls;
mod prometheus;
mod proxied;
mod rpc;
mod starts;
mod tls;
mod tokens;
mod trusted;
mod waits;
mod wire;
