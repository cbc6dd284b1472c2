//! `signet mcp`, as a client of MCP starts it: raw JSON-RPC on its two streams, beside real daemons over a real NATS
//! server.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod client;
mod conversation;
mod hostile;
mod install;
mod life;
mod revisions;
