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

mod backlog;
mod backoff;
mod config;
mod error;
mod link;
mod nats;
mod session;
mod signals;

pub use backoff::Backoff;
pub use config::{Config, Login, Secret, Tls};
pub use error::Error;
pub use nats::{Arrival, Inbox, Nats};
