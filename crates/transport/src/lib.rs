//! Moves opaque bytes between this agent and a NATS server.
//!
//! ```text
//!              ┌──────── supervisor (link.rs, connection.rs) ─────────┐
//!              │ connect, back off, find out what there is, watch     │
//!  NATS ──────▶│   session.rs: subscribe the inbox, prove             │──▶ Inbox::receive
//!   or mailbox │   mailbox.rs: pull batches, tell when drained        │
//!       ◀──────┤                                                      │
//!              └── Nats::publish, settle, flush, stop_reading, drain ─┘
//! ```
//!
//! * [`Nats`] sends, settles and stops, [`NatsInbox`] receives (`nats.rs`) [`Arrival`]s (`arrival.rs`).
//! * [`Handle`] and [`Settlement`]: what the mailbox hears of a message (`handle.rs`).
//! * [`Readership`]: whether another program reads the mailbox as well (`readers.rs`).
//! * [`Confirmation`] and [`Storage`]: what a peer's mailbox says of one of ours (`confirm.rs`).
//! * [`set_up`]: makes the mailboxes of a household (`setup.rs`).
//! * [`inspect`]: looks at a server as an agent sees it (`inspect.rs`).
//! * [`ConnectionConfig`], [`Login`], [`NatsTls`]: how to reach the server (`config.rs`).
//! * [`Backoff`]: how long to wait before the next try (`backoff.rs`).
//! * [`Error`]: what went wrong and what to do about it (`error.rs`).
//!
//! What this crate does not do:
//!
//! * It reads neither JSON nor message keys; subjects and NATS credentials are opaque to it.
//! * It trusts nothing: whatever arrives is bytes from a stranger until `signet-proto` says otherwise.
//! * It promises no delivery. [`Nats::publish`] returning `Ok` says that the bytes stand in the connection's
//!   queue, and [`Nats::flush`] that they were given to the socket. A [`Confirmation`] says that a broker has
//!   them, which may lose them. The state of a message comes from signed receipts alone.
//! * It recognises no copies: a mailbox delivers at least once, and no `Nats-Msg-Id` is sent, since a guessed
//!   one would suppress somebody else's message.
//! * It never answers: the reply subject of an arriving NATS message is ignored, and so are its NATS
//!   headers.

#![forbid(unsafe_code)]

mod arrival;
mod backlog;
mod backoff;
mod caution;
mod config;
mod confirm;
mod connection;
mod drained;
mod error;
mod handle;
mod inspect;
mod link;
mod live;
mod mailbox;
mod nats;
mod outlet;
mod place;
mod pulls;
mod readers;
mod refusal;
mod servers;
mod session;
mod setup;
mod signals;
mod standing;
mod store;
mod user;
mod wanted;

pub use arrival::Arrival;
pub use backoff::Backoff;
pub use config::{ConnectionConfig, Login, NatsTls, SCHEMES, Secret};
pub use confirm::{Confirmation, Storage};
pub use error::Error;
pub use handle::{Handle, Settlement};
pub use inspect::{
    HeldMail, InboxAnswer, Inspection, MailboxServers, NoMailbox, Replica, ReplicaState,
    ServerFacts, StoreUse, inspect,
};
pub use nats::{Nats, NatsInbox};
pub use place::{Mailbox, STREAM};
pub use readers::Readership;
pub use setup::{Made, SetupReport, SetupStep, set_up};
pub use user::{is_user, new_user, user_of_seed};
pub use wanted::{AgentPlace, SettingDifference, StreamOptions};
