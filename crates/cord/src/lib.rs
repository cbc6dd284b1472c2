//! The cord: what `signet view` and the two programs that it starts, the reading room and the desk, say to each other.
//!
//! ```text
//! signet view ──┬── cord ── signet-view   listeners and narrowed connections go this way, each with its words
//!               └── cord ── signet-desk   "ready", "lost" and "end" come back
//! ```
//!
//! A cord is a pair of sockets that keep datagrams apart; the started program has its end as standard input. The launcher
//! believes nothing that comes back but these few words, and takes no file descriptor from anybody.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod cord;
mod words;

pub use cord::{Cord, CordError};
pub use words::{
    CordWord, DeskHome, EntryTicket, ListenAt, ProgramEnd, ReconnectedHome, RoomHome, ToDesk,
    ToRoom,
};
