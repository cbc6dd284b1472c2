//! signet-proto decides, from bytes and a time, what a message means and what may be done about it.
//!
//! ```text
//! bytes ─▶ Unverified ─▶ Verified ─▶ Node ─▶ Outcome { entries, effects }
//!          envelope      verify      │
//!                                    └ session · handshake · policy · receipt
//! ```
//!
//! Everything that comes from outside enters through [`envelope::Unverified::parse`]; identifiers
//! and times become the types of [`ids`] and [`time`] once, at that boundary. [`node::Node`] judges,
//! and says what to write down and what to do; it never does it itself.
//!
//! This crate reads no clock, no randomness, no file and no socket: they are arguments. The numbered
//! checks (V01 …) are those of `docs/protocol.md`.

#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing)]

pub mod budget;
pub mod card;
pub mod carrier;
pub mod certificate;
pub mod draft;
pub mod entry;
pub mod envelope;
pub mod handoff;
pub mod handshake;
pub mod headers;
pub mod ids;
pub mod keys;
mod method;
pub mod node;
pub mod policy;
pub mod progress;
pub mod receipt;
pub mod reject;
mod said;
pub mod schema;
pub mod seal;
pub mod session;
pub mod statement;
mod stored;
pub mod time;
pub mod trust;
pub mod verify;
mod words;
