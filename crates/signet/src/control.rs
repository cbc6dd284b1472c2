//! The control socket: how programs of this machine talk to the daemon of the same home.
//!
//! Newline-delimited JSON-RPC 2.0 over a unix stream socket of mode 0660. What can be asked, and the other end
//! of the socket, are [`signet_api`].
//!
//! ```text
//! client ── line ──> signet_api::rpc::read ── RawCall ──> the daemon's channel ──> signet_api::Call::parse
//! client <── line ── Id::answer <── reply / Notifier ──┘
//! ```

mod address;
mod caller;
mod connection;
mod reply;
pub mod server;
mod slots;
#[cfg(test)]
mod tests;

pub use address::{Address, ServerError};
pub use caller::{Narrowing, SocketCaller};
pub use connection::{Notifier, RawCall};
pub use reply::{CallAnswer, ReplySender, text_of_note};
pub use server::ControlServer;
pub use signet_api::{ApiError, Client, ClientError};
