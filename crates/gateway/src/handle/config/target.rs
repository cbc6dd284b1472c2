//! Where the messages of one `[[handler]]` go, by its kind.

use std::ffi::OsString;
use std::time::Duration;

use serde::Deserialize;
use signet_handlers::{Command, Environment, Handler};

use crate::handle::a2a::{A2a, Speaking};
use crate::handle::jsonrpc::JsonRpc;
use crate::handle::mcp::{Mcp, McpServer, ServerStdio, Streamable};
use crate::handle::simple_a2a::SimpleA2a;
use crate::handle::trace::Trace;
use crate::outgoing::Endpoint;

/// What a handler is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HandlerKind {
    /// A command for each message.
    Exec,
    /// An agent that speaks A2A over JSON-RPC.
    A2a,
    /// An agent that takes `{task_id, input}`.
    SimpleA2a,
    /// A method of a JSON-RPC server.
    Http,
    /// A tool of an MCP server.
    Mcp,
}

/// Where a message goes.
#[derive(Debug)]
pub(super) enum Target {
    Exec(Vec<String>),
    A2a(Endpoint, Speaking),
    SimpleA2a(Endpoint),
    Http(Endpoint, String),
    McpCommand(Vec<String>, String),
    McpUrl(Endpoint, String),
}

impl Target {
    /// What tries its messages, each within `timeout`; its command finds `env` of our environment beside the usual.
    pub(super) fn handler(
        &self,
        timeout: Duration,
        env: &[String],
        trace: &Trace,
    ) -> Box<dyn Handler> {
        let trace = trace.clone();
        match self {
            Self::Exec(command) => Box::new(Command {
                command: command.iter().map(OsString::from).collect(),
                home: None,
                timeout,
                environment: Environment::Only(env.to_vec()),
            }),
            Self::A2a(endpoint, speaking) => Box::new(A2a {
                endpoint: endpoint.clone(),
                speaking: speaking.clone(),
                trace,
            }),
            Self::SimpleA2a(endpoint) => Box::new(SimpleA2a {
                endpoint: endpoint.clone(),
                trace,
            }),
            Self::Http(endpoint, method) => Box::new(JsonRpc {
                endpoint: endpoint.clone(),
                method: method.clone(),
                trace,
            }),
            Self::McpCommand(command, tool) => Box::new(Mcp {
                server: McpServer::Stdio(ServerStdio::new(
                    command.clone(),
                    Environment::Only(env.to_vec()),
                )),
                tool: tool.clone(),
                trace,
            }),
            Self::McpUrl(endpoint, tool) => Box::new(Mcp {
                server: McpServer::Streamable(Streamable::new(endpoint.clone())),
                tool: tool.clone(),
                trace,
            }),
        }
    }

    /// What leaves this machine is not sealed any more at its other end: nothing sensitive, unless a person says so.
    pub(super) fn usual_tier(&self) -> u8 {
        match self {
            Self::Exec(_) | Self::McpCommand(..) => 4,
            Self::A2a(endpoint, _)
            | Self::SimpleA2a(endpoint)
            | Self::Http(endpoint, _)
            | Self::McpUrl(endpoint, _) => match endpoint.is_loopback() {
                true => 4,
                false => 2,
            },
        }
    }
}
