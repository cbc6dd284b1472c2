//! signet-api: what a program may ask of the daemon of its agent, and what it hears.
//!
//! ```text
//! program ── client::Client::call(&Send { … }) ──▶ one line of JSON-RPC ──▶ Call::parse ──▶ daemon
//!         ◀─────────────────── Sent ────────────── one line of JSON-RPC ◀── Sent
//! ```
//!
//! [`Call`] is the table of all calls: a line for each, with its name on the wire, its parameters, its answer,
//! and whose call it is. The types hold texts where the protocol has ids, times and keys: the daemon reads them
//! strictly, and a program needs no cryptography to speak to it. `schemas/api.schema.json` says the same for
//! other languages.
//!
//! The crate knows nothing of keys, of the log and of the network. What may be sealed on the wire stands in
//! the open here, so requests and answers do not print themselves.
#![forbid(unsafe_code)]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing
    )
)]

#[macro_use]
mod quiet;
#[macro_use]
mod words;

mod agent;
mod attention;
mod call;
mod card;
mod carrier;
mod ceiling;
pub mod client;
mod draft;
mod error;
mod inbox;
mod look;
mod message;
mod metrics;
mod named;
mod outbox;
mod params;
mod peer;
mod policy;
mod quarantine;
mod request;
mod role;
pub mod rpc;
#[cfg(test)]
mod schema;
mod send;
mod status;
mod task;
mod trust;

pub use agent::*;
pub use attention::*;
pub use call::{Call, Effect, Method};
pub use card::*;
pub use carrier::*;
pub use ceiling::{Ceiling, CeilingExceeded, May};
pub use client::{Client, ClientError, Notification};
pub use draft::*;
pub use error::{ApiError, Details, Reason, Refusal};
pub use inbox::*;
pub use look::*;
pub use message::*;
pub use metrics::*;
pub use named::Named;
pub use outbox::*;
pub use params::Params;
pub use peer::*;
pub use policy::*;
pub use quarantine::*;
pub use request::{Decides, Request};
pub use role::Role;
pub use send::*;
pub use status::*;
pub use task::*;
pub use trust::*;

/// The JSON Schema (draft 2020-12) of every call, its answer and its errors, as `signet schema api` prints it.
pub const SCHEMA: &str = include_str!("../../../schemas/api.schema.json");
