//! signet-handlers: what handles an agent's messages, outside its daemon and without any key.
//!
//! ```text
//! agent.sock ── Worker ── Handler ──┬─ Command                 one process for each message
//!     receive, offer      one try   ├─ SimpleA2a, A2a, JsonRpc  POST to an agent        ┐ feature `foreign`,
//!     respond, reply                └─ Mcp                      a tool of an MCP server ┘ in signet-gateway alone
//!     acknowledge, fail
//! ```
//!
//! A [`Worker`] has a connection of its own: it takes a message under a lease, lets its [`Handler`] try it, and tells the
//! daemon how that ended. How a try failed is a [`Fault`]: a name that no message and no foreign program chose, because
//! it goes into the log. What the foreign side answers is read strictly ([`json`]) and within bounds of time and bytes.
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
mod call;
mod exec;
mod fault;
pub mod json;
mod task;
mod teller;
mod worker;

#[cfg(feature = "foreign")]
mod a2a;
#[cfg(feature = "foreign")]
mod config;
#[cfg(feature = "foreign")]
mod endpoint;
#[cfg(feature = "foreign")]
mod events;
#[cfg(feature = "foreign")]
#[doc(hidden)]
pub mod fuzzed;
#[cfg(feature = "foreign")]
mod http;
#[cfg(feature = "foreign")]
mod jsonrpc;
#[cfg(feature = "foreign")]
mod mcp;
#[cfg(feature = "foreign")]
mod run;
#[cfg(feature = "foreign")]
mod simple_a2a;
#[cfg(feature = "foreign")]
mod trace;

pub use call::Stopped;
pub use exec::{Command, Environment, look_up, run_to_end};
pub use fault::{Fault, LARGEST};
pub use task::{Done, Handler, Task, Trying};
pub use teller::Teller;
pub use worker::{Worker, work_all};

#[cfg(feature = "foreign")]
pub use config::{ConfigFault, Handlers, Kind, Section};
#[cfg(feature = "foreign")]
pub use run::{Ended, run, test};
#[cfg(feature = "foreign")]
pub use trace::{Trace, TraceFault};
