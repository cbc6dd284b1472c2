//! One `[[handler]]` as it is written: the keys of all, and those that its kind has besides.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use signet_api::OfferCapability;
use signet_files::{SettingFault, TomlTable, Within};
use signet_json::{Limits, parse_foreign};

use super::target::{CommandLine, Target};
use crate::doors::a2a::words::method::A2aVersion;
use crate::handle::a2a::{PartsForm, PushListener, Speaking};
use crate::outgoing::{Endpoint, Token};

/// What a handler of any kind may say.
#[derive(Deserialize)]
pub(super) struct CommonKeys {
    pub(super) capability: String,
    pub(super) kind: HandlerKind,
    #[serde(default = "usual_timeout", deserialize_with = "timeout")]
    pub(super) timeout: Duration,
    pub(super) parallel: Option<Within<u8, 1, 32>>,
    pub(super) tier: Option<Within<u8, 1, 4>>,
    offer: Option<bool>,
    schema: Option<String>,
    description: Option<String>,
}

/// What a handler is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum HandlerKind {
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

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct UrlKeys {
    url: String,
    token_file: Option<PathBuf>,
    token_env: Option<String>,
    ca: Option<PathBuf>,
    #[serde(default)]
    allow_cleartext: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct A2aKeys {
    version: Option<String>,
    #[serde(default)]
    parts: bool,
    #[serde(default)]
    stream: bool,
    push: Option<String>,
    push_url: Option<String>,
}

#[derive(Deserialize)]
struct HttpKeys {
    method: Option<String>,
}

#[derive(Deserialize)]
struct McpKeys {
    tool: String,
}

/// Where the messages of a handler go, from the keys that its kind has besides those of all.
pub(super) fn target(
    mut keys: TomlTable<'_, '_>,
    common: &CommonKeys,
    beside: &Path,
) -> Result<Target, SettingFault> {
    let target = match common.kind {
        HandlerKind::Exec => Target::Exec(program(&mut keys)?),
        HandlerKind::Mcp => {
            let tool = keys.take::<McpKeys>()?.tool;
            match keys.has("command") {
                true => Target::McpCommand(program(&mut keys)?, tool),
                false => Target::McpUrl(endpoint(&mut keys, beside)?.0, tool),
            }
        }
        HandlerKind::A2a => {
            let (endpoint, allow_cleartext) = endpoint(&mut keys, beside)?;
            let own: A2aKeys = keys.take()?;
            let version = A2aVersion::named(own.version.as_deref().unwrap_or("0.3"));
            let fault = "`version` is neither \"0.3\" nor \"1.0\"; 0.3 is usual";
            let speaking = Speaking {
                version: version.ok_or_else(|| keys.fault("version", fault))?,
                form: match own.parts {
                    true => PartsForm::Parts,
                    false => PartsForm::Text,
                },
                streams: own.stream,
                receiver: receiver(&keys, own, allow_cleartext)?.map(Arc::new),
                resting: Arc::default(),
            };
            Target::A2a(endpoint, speaking)
        }
        HandlerKind::SimpleA2a => Target::SimpleA2a(endpoint(&mut keys, beside)?.0),
        HandlerKind::Http => {
            let method = keys.take::<HttpKeys>()?.method;
            let method = method.unwrap_or_else(|| common.capability.clone());
            Target::Http(endpoint(&mut keys, beside)?.0, method)
        }
    };
    keys.end(" of this kind")?;
    Ok(target)
}

fn program(keys: &mut TomlTable<'_, '_>) -> Result<CommandLine, SettingFault> {
    let program: CommandLine = keys.take()?;
    let command = program.command.first();
    match command.is_some_and(|command| !command.is_empty()) {
        true => Ok(program),
        false => Err(keys.fault(
            "command",
            "this handler needs a `command`; write [\"/path/of/it\", \"argument\"]",
        )),
    }
}

/// The address, and whether messages may go beyond this machine in clear.
fn endpoint(keys: &mut TomlTable<'_, '_>, beside: &Path) -> Result<(Endpoint, bool), SettingFault> {
    let written: UrlKeys = keys.take()?;
    let token = match (written.token_file, written.token_env) {
        (Some(_), Some(_)) => {
            let what = "`token-file` and `token-env` are both there; give one";
            return Err(keys.fault("token-env", what));
        }
        (Some(path), None) => Some(Token::File(beside.join(path))),
        (None, Some(name)) => Some(Token::Variable(name)),
        (None, None) => None,
    };
    let ca = written.ca.map(|path| beside.join(path));
    let parsed = Endpoint::parse(&written.url, written.allow_cleartext, ca.as_deref(), token);
    let endpoint = parsed.map_err(|fault| keys.fault("url", fault.to_string()))?;
    Ok((endpoint, written.allow_cleartext))
}

/// Where the agent says that its task has moved.
fn receiver(
    keys: &TomlTable<'_, '_>,
    written: A2aKeys,
    allow_cleartext: bool,
) -> Result<Option<PushListener>, SettingFault> {
    let Some(listen) = written.push else {
        let what = "`push-url` needs a `push`: where this machine listens";
        return match written.push_url {
            Some(_) => Err(keys.fault("push-url", what)),
            None => Ok(None),
        };
    };
    let listen: SocketAddr = listen.parse().map_err(|_| {
        let what = "`push` is no address with a port; 127.0.0.1:8790 is usual";
        keys.fault("push", what)
    })?;
    if !listen.ip().is_loopback() && !allow_cleartext {
        let what = "`push` listens in clear beyond this machine; let it listen on 127.0.0.1 behind a proxy that speaks TLS \
                    and name that as `push-url`, or say `allow-cleartext = true`";
        return Err(keys.fault("push", what));
    }
    if let Some(url) = &written.push_url {
        let parsed = Endpoint::parse(url, allow_cleartext, None, None);
        parsed.map_err(|fault| {
            let what = fault.to_string().replacen("url", "push-url", 1);
            keys.fault("push-url", what)
        })?;
    }
    Ok(Some(PushListener::new(listen, written.push_url)))
}

impl CommonKeys {
    /// What peers are told, where they are told.
    pub(super) fn offer(&self, beside: &Path) -> Result<Option<OfferCapability>, &'static str> {
        let schema = self.schema.as_deref();
        let schema = schema.map(|schema| read_schema(schema, beside));
        let schema = schema.transpose()?;
        let offer = || OfferCapability {
            capability: self.capability.clone(),
            schema,
            description: self.description.clone(),
            // The daemon lets a program offer a capability up to tier 2 at most, so a handler with a higher tier, or with none,
            // offers tier 2.
            tier: Some(self.tier.map_or(2, |tier| tier.0.min(2))),
        };
        Ok(self.offer.unwrap_or(true).then(offer))
    }
}

/// The schema itself, or the file beside this one that holds it.
fn read_schema(schema: &str, beside: &Path) -> Result<Value, &'static str> {
    let fault = "`schema` is neither a JSON Schema nor a file that holds one; mend it";
    let text = match schema.trim_start().starts_with('{') {
        true => schema.to_owned(),
        false => std::fs::read_to_string(beside.join(schema)).map_err(|_| fault)?,
    };
    parse_foreign(text.as_bytes(), Limits::MESSAGE).map_err(|_| fault)
}

fn timeout<'de, D: Deserializer<'de>>(written: D) -> Result<Duration, D::Error> {
    let seconds = f64::deserialize(written).ok();
    let timeout = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let timeout = timeout.filter(|timeout| !timeout.is_zero() && *timeout <= LONGEST);
    let fault = "a number of seconds up to a day is expected; 60 is usual";
    timeout.ok_or_else(|| D::Error::custom(fault))
}

const fn usual_timeout() -> Duration {
    Duration::from_secs(60)
}

/// As long as a lease can be.
const LONGEST: Duration = Duration::from_secs(24 * 3600 - 60);
