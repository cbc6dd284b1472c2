//! signet-handlers: what handles an agent's messages, outside its daemon and without any key.
//!
//! ```text
//! agent.sock ── Worker ── Handler ──┬─ Command    one process for each message
//!     receive, offer      one try   └─ …          what signet-gateway speaks foreign protocols with
//!     respond
//!     acknowledge, fail
//! ```
//!
//! A [`Worker`] has a connection of its own: it takes a message under a lease, lets its [`Handler`] try it, and tells the
//! daemon how that ended. How a try failed is a [`Fault`]: a name that no message and no foreign program chose, because
//! it goes into the log. What the foreign side answers is read strictly ([`signet_json`]) and within bounds of time and bytes.
//!
//! The crate talks to the agent's socket alone. It never decides about trust, and holds no copy of anything after a try.
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

mod absence;
pub mod answer;
mod attempt;
mod call;
mod ending;
mod exec;
mod fault;
mod teller;
mod worker;

pub use attempt::{Attempt, Done, Handler, Trying};
pub use call::Stopped;
pub use exec::{Command, Environment, ProcessGroup, look_up, run_to_end};
pub use fault::{Fault, LARGEST};
pub use teller::Teller;
pub use worker::{Worker, work_all};
