//! `[nats]`: how the NATS server is reached.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use signet_proto::ids::AgentId;
use signet_transport::SCHEMES;

use crate::files::private;

use super::ConfigError;
use super::section::Source;

/// How to reach the NATS server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NatsConfig {
    /// Server URLs; the environment variable `NATS_URL` (separated by commas) comes first.
    pub servers: Vec<String>,
    /// Whether servers are tried as well of which one of `servers` tells: those of its cluster.
    pub discovers_servers: bool,
    /// Where this agent's mail waits.
    pub mailbox: MailboxMode,
    /// The JetStream domain of the mailbox, where it is not that of the server.
    pub domain: Option<String>,
    /// Where answers to this agent come back.
    pub reply_prefix: ReplyPrefix,
    /// How to log in.
    pub login: NatsLogin,
    /// A file of root certificates to trust instead of the system's.
    pub tls_ca: Option<PathBuf>,
    /// The client's own certificate and its key.
    pub tls_client: Option<(PathBuf, PathBuf)>,
    /// Whether a server without TLS is refused.
    pub tls_required: bool,
}

/// Where an agent's mail waits while its daemon does not run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MailboxMode {
    /// In a JetStream mailbox, as `signet nats setup` makes it; core NATS while there is none.
    #[default]
    Jetstream,
    /// Nowhere but at its sender: core NATS, whatever the server offers.
    Core,
}

/// How the subjects begin at which answers to an agent come back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReplyPrefix {
    /// `_INBOX_<agent-id>`, which the servers permit that any release has configured.
    #[default]
    OneToken,
    /// `_INBOX.<agent-id>`: one entry of a hub's list, `_INBOX.*.>`, is then for all agents.
    TwoTokens,
}

impl ReplyPrefix {
    /// Its name in the configuration.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::OneToken => "one-token",
            Self::TwoTokens => "two-tokens",
        }
    }

    /// Whether it is that of an agent whose configuration says nothing of it.
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// That of this agent, without the dot behind it. Each agent has its own: under a shared `_INBOX` one agent could read the
    /// answers to another.
    pub(crate) fn of(self, agent: &AgentId) -> String {
        match self {
            Self::OneToken => format!("_INBOX_{agent}"),
            Self::TwoTokens => format!("_INBOX.{agent}"),
        }
    }
}

/// How to log in to the NATS server. The key of a login never signs messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum NatsLogin {
    /// Not at all.
    #[default]
    None,
    /// With a credentials file.
    Creds(PathBuf),
    /// With a file that holds an nkey seed.
    Nkey(PathBuf),
    /// With a name, and a file that holds the password.
    User {
        /// The name.
        user: String,
        /// The file; [`private::read`] gives the password.
        password_file: PathBuf,
    },
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct NatsSection {
    servers: Option<Vec<String>>,
    discover: Option<bool>,
    mailbox: MailboxMode,
    domain: Option<String>,
    reply_prefix: ReplyPrefix,
    creds: Option<String>,
    nkey: Option<String>,
    user: Option<String>,
    // Earlier releases wrote this key with an underscore, and their configurations are still read.
    #[serde(alias = "password_file")]
    password_file: Option<String>,
    tls: TlsSection,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct TlsSection {
    ca: Option<String>,
    cert: Option<String>,
    key: Option<String>,
    required: bool,
}

impl NatsSection {
    pub(super) fn read(
        &self,
        source: Source<'_>,
        url: Option<&str>,
    ) -> Result<NatsConfig, ConfigError> {
        let tls = &self.tls;
        let path = |written: &Option<String>| written.as_ref().map(|path| source.path(path));
        let tls_client = match (path(&tls.cert), path(&tls.key)) {
            (Some(cert), Some(key)) => Some((cert, key)),
            (None, None) => None,
            (Some(_), None) => return Err(source.bad("nats.tls.cert", "it needs `key` beside it")),
            (None, Some(_)) => return Err(source.bad("nats.tls.key", "it needs `cert` beside it")),
        };
        Ok(NatsConfig {
            servers: self.servers(source, url)?,
            discovers_servers: self.discover.unwrap_or(true),
            mailbox: self.mailbox,
            domain: self.domain(source)?,
            reply_prefix: self.reply_prefix,
            login: self.login(source)?,
            tls_ca: path(&tls.ca),
            tls_required: tls.required,
            tls_client,
        })
    }

    /// One token of a subject: the questions to JetStream have it in their subjects.
    fn domain(&self, source: Source<'_>) -> Result<Option<String>, ConfigError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        match &self.domain {
            Some(name) if name.is_empty() || name.len() > 64 || !name.chars().all(plain) => {
                Err(source.bad("nats.domain", NO_DOMAIN))
            }
            domain => Ok(domain.clone()),
        }
    }

    fn login(&self, source: Source<'_>) -> Result<NatsLogin, ConfigError> {
        let bad = |key, fault| Err(source.bad(key, fault));
        match (&self.creds, &self.nkey, &self.user, &self.password_file) {
            // No login is configured, but the home holds a NATS key,
            // such as `signet nats key` makes: log in with that key.
            (None, None, None, None) if source.home.nats_seed().exists() => {
                Ok(NatsLogin::Nkey(source.home.nats_seed()))
            }
            (None, None, None, None) => {
                // The home has no NATS key: log in with the key that the service manager hands over as a
                // credential, if there is one.
                let handed = private::credential(NATS_SEED);
                Ok(handed.map_or(NatsLogin::None, NatsLogin::Nkey))
            }
            (Some(creds), None, None, None) => Ok(NatsLogin::Creds(source.path(creds))),
            (None, Some(nkey), None, None) => Ok(NatsLogin::Nkey(source.path(nkey))),
            (None, None, Some(user), Some(password)) => Ok(NatsLogin::User {
                user: user.clone(),
                password_file: source.path(password),
            }),
            (None, None, Some(_), None) => bad("nats.user", "it needs `password-file` beside it"),
            (None, None, None, Some(_)) => bad("nats.password-file", "it needs `user` beside it"),
            (Some(_), ..) => bad("nats.creds", ONE_LOGIN),
            (None, Some(_), ..) => bad("nats.nkey", ONE_LOGIN),
        }
    }

    fn servers(&self, source: Source<'_>, url: Option<&str>) -> Result<Vec<String>, ConfigError> {
        if let Some(urls) = url.filter(|urls| !urls.trim().is_empty()) {
            return Ok(urls.split(',').map(|url| url.trim().to_owned()).collect());
        }
        let Some(servers) = &self.servers else {
            return Ok(vec![DEFAULT_SERVER.to_owned()]);
        };
        let known = |server: &String| SCHEMES.iter().any(|scheme| server.starts_with(scheme));
        let fault = match servers.iter().all(known) {
            false => {
                "use URLs such as \"nats://127.0.0.1:4222\" or \"tls://…\", over a WebSocket \"wss://…\""
            }
            // Refuse a login in the URL: the configuration may be readable by people who must not see the password.
            true if servers.iter().any(|server| server.contains('@')) => {
                "put the login into `user` and `password-file`, not into the URL"
            }
            true => return Ok(servers.clone()),
        };
        Err(source.bad("nats.servers", fault))
    }
}

impl NatsConfig {
    pub(super) fn secret_files(&self) -> impl Iterator<Item = &Path> {
        let login = match &self.login {
            NatsLogin::None => None,
            NatsLogin::Creds(file) | NatsLogin::Nkey(file) => Some(file),
            NatsLogin::User { password_file, .. } => Some(password_file),
        };
        let key = self.tls_client.as_ref().map(|(_, key)| key);
        login.into_iter().chain(key).map(PathBuf::as_path)
    }
}

const NO_DOMAIN: &str = "write the name that the server has as `domain` in its `jetstream` block: at most 64 letters, digits, - and _";
/// The nkey seed, as the service manager may hand it over.
const NATS_SEED: &str = "nats.nk";
const DEFAULT_SERVER: &str = "nats://127.0.0.1:4222";
const ONE_LOGIN: &str = "use only one of `creds`, `nkey`, and `user` with `password-file`";
