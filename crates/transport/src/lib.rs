//! Moves opaque bytes between this agent and a NATS server.
//!
//! ```text
//!              ┌──────────────── supervisor (link.rs, session.rs) ────┐
//!  NATS ──────▶│ connect, back off, subscribe, prove, cap size, watch │──▶ Inbox::receive
//!       ◀──────┤                                                      │
//!              └────────── Nats::publish, flush, drain ───────────────┘
//! ```
//!
//! * [`Nats`] sends and stops, [`Inbox`] receives [`Arrival`]s (`nats.rs`).
//! * [`Config`], [`Login`], [`Tls`]: how to reach the server (`config.rs`).
//! * [`Backoff`]: how long to wait before the next try (`backoff.rs`).
//! * [`Error`]: what went wrong and what to do about it (`error.rs`).
//!
//! What this crate does not do:
//!
//! * It reads neither JSON nor message keys; subjects and NATS credentials are opaque to it.
//! * It trusts nothing: whatever arrives is bytes from a stranger until `signet-proto` says otherwise.
//! * It promises no delivery. Core NATS is at most once, [`Nats::publish`] returning `Ok` says that the
//!   bytes stand in the connection's queue, and [`Nats::flush`] that they were given to the socket. The
//!   state of a message comes from signed receipts alone.
//! * It never answers: the reply subject of an arriving NATS message is ignored, and so are its NATS
//!   headers.

#![forbid(unsafe_code)]

mod arrival;
mod backlog;
mod backoff;
mod config;
mod confirm;
mod connection;
mod drained;
mod error;
mod handle;
mod link;
mod mailbox;
mod nats;
mod outlet;
mod session;
mod setup;
mod signals;
mod standing;
mod store;

pub use arrival::Arrival;
pub use backoff::Backoff;
pub use config::{Config, Login, Mailbox, STREAM, Secret, Tls};
pub use confirm::{Confirmation, Storage};
pub use error::Error;
pub use handle::{Handle, Settlement};
pub use nats::{Inbox, Nats};
pub use setup::{Difference, Done, Made, Place, Report, set_up};
