//! One `[[handler]]` of the file.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::FutureExt as _;
use serde::Deserialize;
use serde_json::Value;
use signet_api::OfferCapability;

use crate::a2a::{A2a, Version};
use crate::endpoint::{Endpoint, Token};
use crate::exec::Command;
use crate::json::{self, Limits};
use crate::jsonrpc::JsonRpc;
use crate::mcp::{Mcp, Server, Stdio, Streamable};
use crate::simple_a2a::SimpleA2a;
use crate::trace::Trace;
use crate::worker::Worker;
use crate::{Done, Fault, Handler, Task, Trying};

/// A handler as it may be run.
#[derive(Debug)]
pub struct Section {
    capability: String,
    kind: Kind,
    target: Target,
    timeout: Duration,
    parallel: u8,
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
enum Target {
    Exec(Vec<String>),
    A2a(Endpoint, Version),
    SimpleA2a(Endpoint),
    Http(Endpoint, String),
    McpCommand(Vec<String>, String),
    McpUrl(Endpoint, String),
}

/// A section as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Written {
    capability: String,
    kind: Kind,
    timeout: Option<f64>,
    parallel: Option<u8>,
    tier: Option<u8>,
    offer: Option<bool>,
    schema: Option<String>,
    description: Option<String>,
    command: Option<Vec<String>>,
    url: Option<String>,
    version: Option<String>,
    method: Option<String>,
    tool: Option<String>,
    token_file: Option<PathBuf>,
    token_env: Option<String>,
    ca: Option<PathBuf>,
    #[serde(default)]
    allow_cleartext: bool,
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

    /// How long one try may take.
    pub const fn timeout(&self) -> Duration {
        self.timeout
    }

    /// What it offers while it is connected.
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
            }),
            Target::A2a(endpoint, version) => Box::new(A2a {
                endpoint: endpoint.clone(),
                version: *version,
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
                server: Server::Stdio(Stdio::new(command.clone())),
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
        let parallel = written.parallel.unwrap_or(4);
        if !(1..=32).contains(&parallel) {
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

impl Written {
    fn target(&self, beside: &Path) -> Result<Target, String> {
        let allowed: &[&str] = match (self.kind, &self.command) {
            (Kind::Exec, _) => &["command"],
            (Kind::A2a, _) => &["url", "version"],
            (Kind::SimpleA2a, _) => &["url"],
            (Kind::Http, _) => &["url", "method"],
            (Kind::Mcp, Some(_)) => &["command", "tool"],
            (Kind::Mcp, None) => &["url", "tool"],
        };
        self.has_only(allowed)?;
        let tool = || {
            self.tool
                .clone()
                .ok_or("kind mcp needs a `tool`; name one of the server's")
        };
        match (self.kind, &self.command) {
            (Kind::Exec, _) => Ok(Target::Exec(self.program()?)),
            (Kind::Mcp, Some(_)) => Ok(Target::McpCommand(self.program()?, tool()?)),
            (Kind::Mcp, None) => Ok(Target::McpUrl(self.endpoint(beside)?, tool()?)),
            (Kind::A2a, _) => {
                let name = self.version.as_deref().unwrap_or("0.3");
                let version = Version::named(name);
                let version =
                    version.ok_or("`version` is neither \"0.3\" nor \"1.0\"; 0.3 is usual")?;
                Ok(Target::A2a(self.endpoint(beside)?, version))
            }
            (Kind::SimpleA2a, _) => Ok(Target::SimpleA2a(self.endpoint(beside)?)),
            (Kind::Http, _) => {
                let method = self.method.as_ref().unwrap_or(&self.capability).clone();
                Ok(Target::Http(self.endpoint(beside)?, method))
            }
        }
    }

    fn has_only(&self, allowed: &[&str]) -> Result<(), String> {
        let is_url = allowed.contains(&"url");
        let found = [
            (
                "command",
                self.command.is_some(),
                allowed.contains(&"command"),
            ),
            ("url", self.url.is_some(), is_url),
            (
                "version",
                self.version.is_some(),
                allowed.contains(&"version"),
            ),
            ("method", self.method.is_some(), allowed.contains(&"method")),
            ("tool", self.tool.is_some(), allowed.contains(&"tool")),
            ("token-file", self.token_file.is_some(), is_url),
            ("token-env", self.token_env.is_some(), is_url),
            ("ca", self.ca.is_some(), is_url),
            ("allow-cleartext", self.allow_cleartext, is_url),
        ];
        match found.iter().find(|(_, is_there, may)| *is_there && !may) {
            Some((key, ..)) => Err(format!("this handler takes no `{key}`; leave it out")),
            None => Ok(()),
        }
    }

    fn program(&self) -> Result<Vec<String>, String> {
        let command = self.command.clone().unwrap_or_default();
        match command.first().is_some_and(|program| !program.is_empty()) {
            true => Ok(command),
            false => Err(
                "this handler needs a `command`; write [\"/path/of/it\", \"argument\"]".to_owned(),
            ),
        }
    }

    fn endpoint(&self, beside: &Path) -> Result<Endpoint, String> {
        let url = self.url.as_deref();
        let url =
            url.ok_or("this handler needs a `url`; write for example http://127.0.0.1:9000/")?;
        let token = match (&self.token_file, &self.token_env) {
            (Some(_), Some(_)) => {
                return Err("`token-file` and `token-env` are both there; give one".to_owned());
            }
            (Some(path), None) => Some(Token::File(beside.join(path))),
            (None, Some(name)) => Some(Token::Variable(name.clone())),
            (None, None) => None,
        };
        let ca = self.ca.as_ref().map(|path| beside.join(path));
        let parsed = Endpoint::parse(url, self.allow_cleartext, ca.as_deref(), token);
        parsed.map_err(|fault| fault.to_string())
    }

    /// What peers are told, where they are told.
    fn offer(&self, beside: &Path) -> Result<Option<OfferCapability>, String> {
        let schema = self
            .schema
            .as_deref()
            .map(|schema| read_schema(schema, beside));
        let schema = schema.transpose()?;
        let offer = || OfferCapability {
            capability: self.capability.clone(),
            schema,
            description: self.description.clone(),
            // A program offers tier 2 at most.
            tier: Some(self.tier.unwrap_or(2).min(2)),
        };
        Ok(self.offer.unwrap_or(true).then(offer))
    }
}

/// The schema itself, or the file beside this one that holds it.
fn read_schema(schema: &str, beside: &Path) -> Result<Value, String> {
    let fault =
        || "`schema` is neither a JSON Schema nor a file that holds one; mend it".to_owned();
    let text = match schema.trim_start().starts_with('{') {
        true => schema.to_owned(),
        false => std::fs::read_to_string(beside.join(schema)).map_err(|_| fault())?,
    };
    json::parse(text.as_bytes(), Limits::BODY).map_err(|_| fault())
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
}

/// What the daemon would refuse to send has failed here, by the same name with a daemon and without one.
fn sendable(done: Done) -> Result<Done, Fault> {
    if let Done::Answer(body) = &done {
        json::parse(body.to_string().as_bytes(), Limits::BODY)?;
    }
    Ok(done)
}

/// As long as a lease can be.
const LONGEST: Duration = Duration::from_secs(24 * 3600 - 60);
