//! One `[[handler]]` as it is written: which keys a kind has, and what each has to be.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use signet_api::OfferCapability;
use signet_json::{Limits, parse_foreign};

use super::target::{HandlerKind, Target};
use crate::doors::a2a::words::method::A2aVersion;
use crate::handle::a2a::{PartsForm, PushListener, Speaking};
use crate::outgoing::{Endpoint, Token};

/// A section as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct WrittenSection {
    pub(super) capability: String,
    pub(super) kind: HandlerKind,
    pub(super) timeout: Option<f64>,
    pub(super) parallel: Option<u8>,
    pub(super) tier: Option<u8>,
    offer: Option<bool>,
    schema: Option<String>,
    description: Option<String>,
    command: Option<Vec<String>>,
    pub(super) env: Option<Vec<String>>,
    url: Option<String>,
    version: Option<String>,
    #[serde(default)]
    parts: bool,
    #[serde(default)]
    stream: bool,
    push: Option<String>,
    push_url: Option<String>,
    method: Option<String>,
    tool: Option<String>,
    token_file: Option<PathBuf>,
    token_env: Option<String>,
    ca: Option<PathBuf>,
    #[serde(default)]
    allow_cleartext: bool,
}

impl WrittenSection {
    pub(super) fn target(&self, beside: &Path) -> Result<Target, String> {
        let allowed: &[&str] = match (self.kind, &self.command) {
            (HandlerKind::Exec, _) => &["command", "env"],
            (HandlerKind::A2a, _) => &["url", "version", "parts", "stream", "push", "push-url"],
            (HandlerKind::SimpleA2a, _) => &["url"],
            (HandlerKind::Http, _) => &["url", "method"],
            (HandlerKind::Mcp, Some(_)) => &["command", "env", "tool"],
            (HandlerKind::Mcp, None) => &["url", "tool"],
        };
        self.has_only(allowed)?;
        let tool = || {
            self.tool
                .clone()
                .ok_or("kind mcp needs a `tool`; name one of the server's")
        };
        match (self.kind, &self.command) {
            (HandlerKind::Exec, _) => Ok(Target::Exec(self.program()?)),
            (HandlerKind::Mcp, Some(_)) => Ok(Target::McpCommand(self.program()?, tool()?)),
            (HandlerKind::Mcp, None) => Ok(Target::McpUrl(self.endpoint(beside)?, tool()?)),
            (HandlerKind::A2a, _) => {
                let name = self.version.as_deref().unwrap_or("0.3");
                let version = A2aVersion::named(name);
                let version =
                    version.ok_or("`version` is neither \"0.3\" nor \"1.0\"; 0.3 is usual")?;
                let speaking = Speaking {
                    version,
                    form: if self.parts {
                        PartsForm::Parts
                    } else {
                        PartsForm::Text
                    },
                    streams: self.stream,
                    receiver: self.receiver()?.map(Arc::new),
                    resting: Arc::default(),
                };
                Ok(Target::A2a(self.endpoint(beside)?, speaking))
            }
            (HandlerKind::SimpleA2a, _) => Ok(Target::SimpleA2a(self.endpoint(beside)?)),
            (HandlerKind::Http, _) => {
                let method = self.method.as_ref().unwrap_or(&self.capability).clone();
                Ok(Target::Http(self.endpoint(beside)?, method))
            }
        }
    }

    fn has_only(&self, allowed: &[&str]) -> Result<(), String> {
        let written = [
            ("command", self.command.is_some()),
            ("env", self.env.is_some()),
            ("url", self.url.is_some()),
            ("version", self.version.is_some()),
            ("parts", self.parts),
            ("stream", self.stream),
            ("push", self.push.is_some()),
            ("push-url", self.push_url.is_some()),
            ("method", self.method.is_some()),
            ("tool", self.tool.is_some()),
            ("token-file", self.token_file.is_some()),
            ("token-env", self.token_env.is_some()),
            ("ca", self.ca.is_some()),
            ("allow-cleartext", self.allow_cleartext),
        ];
        // Whatever has an address may say how it is proved and how we prove ourselves.
        let may = |key: &str| {
            let key = if OF_URL.contains(&key) { "url" } else { key };
            allowed.contains(&key)
        };
        let odd = written
            .iter()
            .find(|(key, is_there)| *is_there && !may(key));
        match odd {
            Some((key, _)) => Err(format!("this handler takes no `{key}`; leave it out")),
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

    /// Where the agent says that its task has moved.
    fn receiver(&self) -> Result<Option<PushListener>, String> {
        let Some(listen) = &self.push else {
            return match self.push_url {
                Some(_) => Err("`push-url` needs a `push`: where this machine listens".to_owned()),
                None => Ok(None),
            };
        };
        let listen: SocketAddr = listen
            .parse()
            .map_err(|_| "`push` is no address with a port; 127.0.0.1:8790 is usual")?;
        if !listen.ip().is_loopback() && !self.allow_cleartext {
            return Err(
                "`push` listens in clear beyond this machine; let it listen on 127.0.0.1 behind a proxy that speaks TLS \
                 and name that as `push-url`, or say `allow-cleartext = true`"
                    .to_owned(),
            );
        }
        if let Some(url) = &self.push_url {
            let parsed = Endpoint::parse(url, self.allow_cleartext, None, None);
            parsed.map_err(|fault| fault.to_string().replacen("url", "push-url", 1))?;
        }
        Ok(Some(PushListener::new(listen, self.push_url.clone())))
    }

    /// What peers are told, where they are told.
    pub(super) fn offer(&self, beside: &Path) -> Result<Option<OfferCapability>, String> {
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

/// The keys that go with `url`.
const OF_URL: [&str; 4] = ["token-file", "token-env", "ca", "allow-cleartext"];

/// The schema itself, or the file beside this one that holds it.
fn read_schema(schema: &str, beside: &Path) -> Result<Value, String> {
    let fault =
        || "`schema` is neither a JSON Schema nor a file that holds one; mend it".to_owned();
    let text = match schema.trim_start().starts_with('{') {
        true => schema.to_owned(),
        false => std::fs::read_to_string(beside.join(schema)).map_err(|_| fault())?,
    };
    parse_foreign(text.as_bytes(), Limits::MESSAGE).map_err(|_| fault())
}
