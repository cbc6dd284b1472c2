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

mod agent;
mod call;
pub mod client;
mod draft;
mod error;
mod inbox;
mod message;
mod outbox;
mod peer;
mod policy;
mod quarantine;
#[cfg(test)]
mod schema;
mod send;
mod status;
mod task;
mod trust;

pub use agent::{
    AcknowledgeLease, ExtendLease, Extended, Fail, History, Leased, ListHistory, Moved,
    OfferCapability, Offered, Part, Progress, ProgressState, Progressed, Receive, Received,
    Respond, Said, Subscribe, Subscribed,
};
pub use call::{Call, Decides, Effect, Method, Request, Role};
pub use client::{Client, ClientError, Notification};
pub use draft::{
    DecideDraft, Decided, Decision, Draft, Drafts, DropDraft, Dropped, ListDrafts, Pausing,
    ShowPause, TellPause,
};
pub use error::{ApiError, Details, Reason, Refusal};
pub use inbox::{
    Acknowledge, Acknowledged, FailTry, Failed, FollowInbox, Inbox, KeepMessage, Kept, ListAside,
    ListInbox, SetAside, StartTry, Started, Waiting,
};
pub use message::{Failure, Message, Name};
pub use outbox::{ListOutbox, Outbox, Outgoing, ShowMessage, ToldProgress};
pub use peer::{AddPeer, Bound, ListPeers, Offer, Peer, ShowPeer, ShownPeer};
pub use policy::{
    Answered, By, Capability, Check, CheckPolicy, Finding, Given, Grant, OwnGrant, PeerPolicy,
    Policy, Rule, Sends, ShowPolicy, Tier, Way,
};
pub use quarantine::{
    DropMessage, DroppedMessage, ListQuarantine, Quarantine, Quarantined, Retried, RetryMessage,
};
pub use send::{Kind, Replied, Reply, Send, Sent, State, WaitsFor, Whose};
pub use status::{
    AdoptKeys, Adopted, Clock, LogHead, Private, Refusing, Reload, Reloaded, ShowStatus, Status,
};
pub use task::{
    AcceptTask, Authority, DecidedTask, DeclineTask, Direction, ListTasks, ReportState, ReportTask,
    SendHandoff, ShowTask, ShownTask, Step, Task, TaskState, TaskWithChain, Tasks,
};
pub use trust::{
    Alarm, Alarms, ApproveStranger, ClearAlarms, ListAlarms, ListPending, ListTrust, Pending,
    RefuseStranger, ReplaceRoot, Revoked, RootAlarm, Stranger, StrangerDecided, TakeRevocation,
    Trust, TrustedPeer, Withdraw, Withdrawn,
};

/// The JSON Schema (draft 2020-12) of every call, its answer and its errors, as `signet schema api` prints it.
pub const SCHEMA: &str = include_str!("../../../schemas/api.schema.json");
