//! MCP: the daemon's calls as tools and its records as resources, for a client at our pipes or at `/mcp`.

pub(crate) mod http;
mod message;
mod progress;
mod receipts;
mod resources;
pub(crate) mod server;
mod stdio;
pub(crate) mod tools;
