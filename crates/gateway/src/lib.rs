//! signet-gateway: what speaks foreign protocols for an agent. It holds no key.
//!
//! ```text
//! a client of MCP ── stdio ──▶ doors::mcp: stdio ──▶ rmcp ──▶ server ──▶ tools, resources ──▶ daemon::Daemon ──▶ agent.sock
//!                 ◀── shown::Shown: structured content, and the same as one line of JSON ──
//!
//! callers ── HTTP ──▶ listener: connections, gate, tokens ──▶ doors, a module each ──▶ daemon::Daemon, narrowed ──▶ agent.sock
//!                                                                 └──▶ outgoing: guard, one request
//! peers' gateways ── HTTP ──▶ doors::inbox ──▶ carrier.sock      doors::discord ──▶ carrier.sock
//! agent.sock ──▶ handle: handlers of a file ──▶ outgoing, processes
//! ```
//!
//! A gateway is a process of its own: whoever takes it over can do what the agent's socket allows, and reads no
//! key out of its memory. It knows [`signet_api`], and of the protocol how a message
//! is verified; neither the log nor NATS.
//!
//! What other agents wrote stands in members called `untrusted` and nowhere else. Whatever leaves passes
//! [`shown::Shown`], which lets no character out that a terminal would obey or a reader would not see.
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

pub mod cli;
mod config;
// The files of `conformance` (for the conformance example alone) and `fuzzed` (for the fuzz targets) lie outside src:
// no program is built with these two modules.
#[cfg(feature = "conformance")]
#[path = "../examples/conformance/listen.rs"]
pub mod conformance;
mod context;
mod daemon;
mod doors;
mod fault;
#[cfg(any(test, feature = "fuzzed"))]
#[doc(hidden)]
#[path = "../fuzzed/mod.rs"]
pub mod fuzzed;
pub mod handle;
mod hint;
mod listener;
mod lock;
mod outgoing;
mod pages;
mod random;
mod rate;
mod say;
mod scope;
mod serve;
mod settings_file;
pub mod shown;
mod stamp;
mod tokens;
