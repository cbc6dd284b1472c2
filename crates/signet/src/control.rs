//! The control socket: how the command line talks to the daemon of the same home.
//!
//! Newline-delimited JSON-RPC 2.0 over a unix stream socket of mode 0660.
//!
//! ```text
//! client ── line ──> rpc::parse ── Call ──> the daemon's channel
//! client <── line ── rpc::answer <── reply / Notifier ──┘
//! ```

pub mod client;
mod connection;
mod places;
mod reply;
pub mod rpc;
pub mod server;
#[cfg(test)]
mod tests;

pub use client::{Client, ClientError};
pub(crate) use connection::PLACE_NEEDED;
pub use connection::{Call, Notifier};
pub use reply::{OUTCOME_UNKNOWN, Reply};
pub use rpc::RpcError;
pub use server::{Server, ServerError};
