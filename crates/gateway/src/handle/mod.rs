//! What comes to the agent, handled by a file: commands, and agents and servers that speak foreign protocols.
//!
//! ```text
//! signet_handlers::Worker ── Handler ──┬─ SimpleA2a, A2a, JsonRpc   POST to an agent
//!                                      └─ Mcp                       a tool of an MCP server, by its pipes or by POST
//! ```
//!
//! What the other side answers is read strictly and within bounds of time and bytes. How a try failed is a
//! [`signet_handlers::Fault`]: a name that no message and no foreign program chose, because it goes into the log.

pub(crate) mod a2a;
mod command;
mod config;
pub(crate) mod events;
mod http;
pub(crate) mod jsonrpc;
pub(crate) mod mcp;
pub(crate) mod simple_a2a;
mod trace;
mod trial;

pub(crate) use command::{HandlerCommand, HandlersArgs, handle, handler};
pub use config::{HandlerSection, Handlers};
pub use trace::{Trace, TraceFault};
