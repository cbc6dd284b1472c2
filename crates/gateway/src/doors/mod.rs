//! The doors: each lets one kind of caller in, and asks the daemon for it.
//!
//! | door | for |
//! |---|---|
//! | `mcp` | clients of the Model Context Protocol, by pipes and at `/mcp` |
//! | `a2a` | clients of A2A, at `/a2a` |
//! | `rpc` | programs that know the calls of the daemon, at `/rpc` |
//! | `inbox` | gateways of peers, at the inbox: HTTP as a carrier |
//! | `discord` | a channel, as a carrier |
//!
//! What comes in by the last two goes to `carrier.sock`, and they begin together (`carriers`).

pub(crate) mod a2a;
pub(crate) mod carriers;
pub(crate) mod discord;
pub(crate) mod inbox;
pub(crate) mod mcp;
pub(crate) mod rpc;
