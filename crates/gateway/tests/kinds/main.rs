//! Handlers of every kind: against agents that behave, and against agents that do not.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub
)]

mod agent;
mod checklist;
mod docs;
mod faults;
mod guide;
mod mapping;
mod mcp_stdio;
#[path = "../../../testkit/src/port.rs"]
mod port;
mod tasks;
mod tls;
mod trace;
mod trial;
mod updates;
