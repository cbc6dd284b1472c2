//! One `[[handler]]` of the file.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use serde::Deserialize;
use serde_json::Value;
use signet_api::OfferCapability;

use super::written::Written;
use crate::handle::a2a::{A2a, Form, Receiver, Resting, Version};
use crate::handle::endpoint::Endpoint;
use crate::handle::jsonrpc::JsonRpc;
use crate::handle::mcp::{Mcp, Server, Stdio, Streamable};
use crate::handle::simple_a2a::SimpleA2a;
use crate::handle::trace::Trace;
use signet_handlers::Worker;
use signet_handlers::answer;
use signet_handlers::{Command, Environment};
use signet_handlers::{Done, Fault, Handler, Task, Trying};
use signet_json::Limits;

/// A handler as it may be run.
#[derive(Debug)]
pub struct Section {
    capability: String,
    kind: Kind,
    target: Target,
    timeout: Duration,
    /// 0 until it is known what the others leave, where the file does not say it.
    parallel: u8,
    /// The variables of our environment that its command finds beside the usual ones.
    env: Vec<String>,
    /// The highest data tier that it is given.
    tier: u8,
    offer: Option<OfferCapability>,
}

/// What a handler is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
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

/// How an agent of A2A is spoken to.
#[derive(Clone, Debug)]
pub(super) struct Speaking {
    pub(super) version: Version,
    pub(super) form: Form,
    pub(super) streams: bool,
    pub(super) receiver: Option<Arc<Receiver>>,
    pub(super) resting: Arc<Resting>,
}

impl Section {
    /// The capability that it handles.
    pub fn capability(&self) -> &str {
        &self.capability
    }

    /// What it is.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// How many messages it handles at once.
    pub const fn parallel(&self) -> u8 {
        self.parallel
    }

    /// As many at once as the others leave, up to the usual, where the file does not say it.
    pub(super) fn take_share(&mut self, left: u8) {
        if self.parallel == 0 {
            self.parallel = left.clamp(1, USUAL_PARALLEL);
        }
    }

    /// How long one try may take.
    pub const fn timeout(&self) -> Duration {
        self.timeout
    }

    /// What it offers to peers.
    pub const fn offer(&self) -> Option<&OfferCapability> {
        self.offer.as_ref()
    }

    /// One worker of it, with a handler of its own.
    pub fn worker(&self, socket: &Path, trace: &Trace, once: bool) -> Worker {
        Worker {
            socket: socket.to_owned(),
            handler: self.handler(trace),
            timeout: self.timeout,
            capabilities: Some(vec![self.capability.clone()]),
            offer: self.offer.clone(),
            once,
            stops: false,
        }
    }

    /// What tries its messages.
    pub fn handler(&self, trace: &Trace) -> Box<dyn Handler> {
        let trace = trace.clone();
        let inner: Box<dyn Handler> = match &self.target {
            Target::Exec(command) => Box::new(Command {
                command: command.iter().map(OsString::from).collect(),
                home: None,
                timeout: self.timeout,
                environment: Environment::Only(self.env.clone()),
            }),
            Target::A2a(endpoint, speaking) => Box::new(A2a {
                endpoint: endpoint.clone(),
                version: speaking.version,
                form: speaking.form,
                streams: speaking.streams,
                receiver: speaking.receiver.clone(),
                resting: Arc::clone(&speaking.resting),
                trace,
            }),
            Target::SimpleA2a(endpoint) => Box::new(SimpleA2a {
                endpoint: endpoint.clone(),
                trace,
            }),
            Target::Http(endpoint, method) => Box::new(JsonRpc {
                endpoint: endpoint.clone(),
                method: method.clone(),
                trace,
            }),
            Target::McpCommand(command, tool) => Box::new(Mcp {
                server: Server::Stdio(Stdio::new(
                    command.clone(),
                    Environment::Only(self.env.clone()),
                )),
                tool: tool.clone(),
                trace,
            }),
            Target::McpUrl(endpoint, tool) => Box::new(Mcp {
                server: Server::Streamable(Streamable::new(endpoint.clone())),
                tool: tool.clone(),
                trace,
            }),
        };
        Box::new(Within {
            tier: self.tier,
            inner,
        })
    }

    pub(super) fn read(written: Written, beside: &Path) -> Result<Self, String> {
        if written.capability.is_empty() {
            return Err("`capability` is empty; name what is handled".to_owned());
        }
        let offer = written.offer(beside)?;
        let timeout = written.timeout.unwrap_or(60.0);
        let timeout = Duration::try_from_secs_f64(timeout).ok();
        let timeout = timeout.filter(|timeout| !timeout.is_zero() && *timeout <= LONGEST);
        let timeout =
            timeout.ok_or("`timeout` is not a number of seconds up to a day; 60 is usual")?;
        let parallel = written.parallel.unwrap_or(0);
        if written.parallel.is_some() && !(1..=32).contains(&parallel) {
            return Err("`parallel` is not between 1 and 32; 4 is usual".to_owned());
        }
        let target = written.target(beside)?;
        let tier = written.tier.unwrap_or_else(|| target.usual_tier());
        if !(1..=4).contains(&tier) {
            return Err(
                "`tier` is not between 1 and 4; write the highest that it may see".to_owned(),
            );
        }
        Ok(Self {
            capability: written.capability,
            kind: written.kind,
            target,
            timeout,
            parallel,
            env: written.env.unwrap_or_default(),
            tier,
            offer,
        })
    }
}

impl Target {
    /// What leaves this machine is not sealed any more at its other end: nothing sensitive, unless a person says so.
    fn usual_tier(&self) -> u8 {
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

/// Holds a handler to what it may see, and keeps handoffs for whoever may decide about them.
struct Within {
    tier: u8,
    inner: Box<dyn Handler>,
}

impl Handler for Within {
    fn handle<'a>(&'a mut self, task: &'a Task<'a>) -> Trying<'a> {
        let (message, tier) = (task.message, self.tier);
        let ruled = match message.data_tier > tier {
            _ if message.is_handoff() => Some(Done::Nothing),
            true => Some(Done::Declined(format!(
                "what handles this here takes data up to tier {tier}"
            ))),
            false => None,
        };
        match ruled {
            Some(done) => async { Ok(done) }.boxed_local(),
            None => async { sendable(self.inner.handle(task).await?) }.boxed_local(),
        }
    }

    fn look(&self) -> Result<(), Fault> {
        self.inner.look()
    }
}

/// What the daemon would refuse to send has failed here, by the same name with a daemon and without one.
fn sendable(done: Done) -> Result<Done, Fault> {
    let fits = |body: &Value| answer::read(body.to_string().as_bytes(), Limits::MESSAGE).map(drop);
    Ok(match done {
        Done::Answer(body) => {
            fits(&body).map_err(Fault::of_answer)?;
            Done::Answer(body)
        }
        // Its words are cut short for its sender; what no message holds of them is left out.
        Done::Unfinished { text, mut body } if fits(&body).is_err() => {
            body.as_object_mut().map(|members| members.remove("parts"));
            Done::Unfinished { text, body }
        }
        other => other,
    })
}

/// Messages at once of a handler that does not say it.
const USUAL_PARALLEL: u8 = 4;
/// As long as a lease can be.
const LONGEST: Duration = Duration::from_secs(24 * 3600 - 60);
