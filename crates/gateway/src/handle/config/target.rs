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

/// A command, and the variables of our environment that it finds beside the usual ones.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct CommandLine {
    #[serde(default)]
    pub(super) command: Vec<String>,
    #[serde(default)]
    pub(super) env: Vec<String>,
}

/// Where a message goes.
#[derive(Debug)]
pub(super) enum Target {
    Exec(CommandLine),
    A2a(Endpoint, Speaking),
    SimpleA2a(Endpoint),
    Http(Endpoint, String),
    McpCommand(CommandLine, String),
    McpUrl(Endpoint, String),
}

impl Target {
    /// What tries its messages, each within `timeout`.
    pub(super) fn handler(&self, timeout: Duration, trace: &Trace) -> Box<dyn Handler> {
        let trace = trace.clone();
        match self {
            Self::Exec(CommandLine { command, env }) => Box::new(Command {
                command: command.iter().map(OsString::from).collect(),
                home: None,
                timeout,
                environment: Environment::Only(env.clone()),
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
            Self::McpCommand(CommandLine { command, env }, tool) => Box::new(Mcp {
                server: McpServer::Stdio(ServerStdio::new(
                    command.clone(),
                    Environment::Only(env.clone()),
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
