//! The configuration of one agent: `config.toml` in its home.
//!
//! Only `[agent] agent` and `principal` have no default, and `signet init` writes them; every other
//! value may be left out. A key that is not known is refused, so that a misspelt one cannot be
//! silently without effect.

mod card;
mod changes;
mod error;
mod notify;
mod policy;
mod routes;
mod section;
mod socket;
#[cfg(test)]
mod tests;

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use signet_files::{ReadFault, TomlFile};
use signet_proto::headers::Layers;
use signet_proto::ids::{AgentId, PrincipalId};
use signet_proto::policy::Policy;

use crate::files::private;
use crate::group;
use crate::home::Home;

pub use card::CardConfig;
pub use changes::Changes;
pub use error::ConfigError;
pub use notify::NotifyCommand;
pub use routes::PeerCarriers;
pub(crate) use routes::routes_of;
use section::Source;
pub use socket::{Access, AgentSocket, CarrierSocket};

/// Everything that can be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// `[agent]`: who this is.
    pub agent: AgentConfig,
    /// `[nats]`: how to reach the others.
    pub nats: NatsConfig,
    /// `[audit] dir` and the agent's id: the directory of its log.
    pub audit_dir: PathBuf,
    /// `[audit] mode` and `group`: who may read the log besides the daemon's own user.
    pub audit_access: Access,
    /// `[control] socket`: where the daemon listens for its person.
    pub control_socket: PathBuf,
    /// `[control] mode` and `group`: who may open it.
    pub control_access: Access,
    /// `[people] sign`: which decisions need the person's signature.
    pub people_sign: Sign,
    /// `[notify] command`: what tells the person that something waits for them.
    pub notify: Option<NotifyCommand>,
    /// `[card]`: what agents that speak A2A read of this one.
    pub card: Option<CardConfig>,
    /// `[agent-socket]`: where the daemon listens for its agent, and how far the agent reaches.
    pub agent_socket: Option<AgentSocket>,
    /// `[carrier-socket]`: where programs that carry bytes find the daemon, if they may at all.
    pub carrier_socket: Option<CarrierSocket>,
    /// `carriers` of `[[peer]]`, and what invitations said: where peers are found.
    pub carriers: PeerCarriers,
    /// `[tiers]`, `[grant]`, `[[peer]]` and `[[capability]]`: what this agent offers, and what it
    /// accepts from whom.
    pub policy: Policy,
}

/// Who the agent is; the certificate has to say the same.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentConfig {
    /// The agent's id.
    pub agent: AgentId,
    /// The person it acts for.
    pub principal: PrincipalId,
    /// The skill layers that it has loaded.
    #[serde(default = "usual_layers")]
    pub layers: Layers,
}

/// How to reach the NATS server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NatsConfig {
    /// Server URLs; the environment variable `NATS_URL` (separated by commas) comes first.
    pub servers: Vec<String>,
    /// Where this agent's mail waits.
    pub mailbox: MailboxMode,
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

/// Which decisions need the person's signature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sign {
    /// None: whoever opens the person's socket decides.
    #[default]
    #[serde(rename = "none")]
    Nothing,
    /// Every decision about trust.
    All,
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

impl Config {
    /// Reads the configuration of `home`, and looks at the modes of the secret files it names.
    ///
    /// # Errors
    /// Names the key and the line at fault, or the file that others can read.
    pub fn load(home: &Home) -> Result<Self, ConfigError> {
        let text = Self::text(home)?;
        let config = Self::parse(&text, home, std::env::var("NATS_URL").ok().as_deref())?;
        // Open the secret files now, and not when NATS connects: a file that others can
        // read then makes the start or the reload fail.
        for secret in config.nats.secret_files() {
            private::open(secret)?;
        }
        let carriers = PeerCarriers::kept(home)?.with(config.carriers);
        Ok(Self { carriers, ..config })
    }

    /// The text of the configuration of `home`, if nobody but its owner can change it.
    ///
    /// # Errors
    /// Names the file.
    pub fn text(home: &Home) -> Result<String, ConfigError> {
        read(&home.config_file(), CONFIG_BYTES)
    }

    /// Reads the text of a configuration; `nats_url` is the value of the environment variable.
    ///
    /// # Errors
    /// Names the key and the line at fault.
    pub fn parse(text: &str, home: &Home, nats_url: Option<&str>) -> Result<Self, ConfigError> {
        let file = TomlFile::parse(text)?;
        let written: Sections = file.read()?;
        // Refuse empty texts: an empty path, as in `dir = ""`, would mean the home itself, and put the log straight into it.
        file.refuse_empty()?;
        let source = Source { file: &file, home };
        let agent = written.agent.clone();
        let agent = agent.ok_or_else(|| file.missing("agent.agent"))?;
        let nats = written.nats.read(source, nats_url)?;
        let policy = written.policy(source)?;
        let audit_dir = home.join(written.audit.dir.as_deref().unwrap_or("audit"));
        let audit_access = written.audit.access(source)?;
        let (control_socket, control_access) = written.control.read(source)?;
        let agent_socket = written.agent_socket.read(source, &control_socket)?;
        // The daemon knows a caller's role by the socket alone, so no two sockets may share a path.
        let agent_path = agent_socket.as_ref().map(|socket| socket.path.as_path());
        let others: Vec<&Path> = agent_path
            .into_iter()
            .chain([control_socket.as_path()])
            .collect();
        let carrier_socket = written.carrier_socket.read(source, &others)?;
        if nats.servers.is_empty() && carrier_socket.is_none() {
            return Err(source.bad("nats.servers", NO_WAY));
        }
        let usual_sign = || usual_sign(home, &control_access, agent_socket.as_ref());
        Ok(Self {
            people_sign: written.people.sign.unwrap_or_else(usual_sign),
            carriers: PeerCarriers::written(&written.peer, source)?,
            notify: written.notify.read(source)?,
            card: written.card.read(source)?,
            policy,
            audit_dir: audit_dir.join(agent.agent.as_str()),
            audit_access,
            agent_socket,
            carrier_socket,
            control_socket,
            control_access,
            agent,
            nats,
        })
    }

    /// The configuration that `signet init` writes: what has no default, and the rest as comments.
    pub fn template(agent: &AgentId, principal: &PrincipalId) -> String {
        TEMPLATE
            .replace("AGENT", agent.as_str())
            .replace("PRINCIPAL", principal.as_str())
    }
}

/// The whole file as it is written.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct Sections {
    agent: Option<AgentConfig>,
    nats: NatsSection,
    audit: socket::AuditSection,
    control: socket::ControlSection,
    agent_socket: socket::AgentSection,
    carrier_socket: socket::CarrierSection,
    people: PeopleSection,
    notify: notify::NotifySection,
    card: card::CardSection,
    tiers: policy::TiersSection,
    approve: policy::ApproveSection,
    grant: policy::GrantSection,
    peer: Vec<policy::PeerKeys>,
    capability: Vec<policy::CapabilityKeys>,
    offer: policy::OfferSection,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct NatsSection {
    servers: Option<Vec<String>>,
    mailbox: MailboxMode,
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

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct PeopleSection {
    sign: Option<Sign>,
}

impl NatsSection {
    fn read(&self, source: Source<'_>, url: Option<&str>) -> Result<NatsConfig, ConfigError> {
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
            mailbox: self.mailbox,
            login: self.login(source)?,
            tls_ca: path(&tls.ca),
            tls_required: tls.required,
            tls_client,
        })
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
        let known = |server: &String| server.starts_with("nats://") || server.starts_with("tls://");
        let fault = match servers.iter().all(known) {
            false => "use URLs such as \"nats://127.0.0.1:4222\" or \"tls://…\"",
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
    fn secret_files(&self) -> impl Iterator<Item = &Path> {
        let login = match &self.login {
            NatsLogin::None => None,
            NatsLogin::Creds(file) | NatsLogin::Nkey(file) => Some(file),
            NatsLogin::User { password_file, .. } => Some(password_file),
        };
        let key = self.tls_client.as_ref().map(|(_, key)| key);
        login.into_iter().chain(key).map(PathBuf::as_path)
    }
}

/// A group of the agent's own, neither the daemon's nor that of the person's socket, keeps it off the latter.
/// Without one, agent and person share a user id: nothing but the person's key tells their decisions apart.
fn usual_sign(home: &Home, control: &Access, agent: Option<&AgentSocket>) -> Sign {
    // For a socket without a configured group, take the group of the home's directory and not that of this process: so root,
    // who may look at the home, gets the same answer as the daemon.
    let own = std::fs::metadata(home.path()).map(|facts| facts.gid());
    // A home that does not exist yet will be made by this process, and get its group.
    let own = own.unwrap_or_else(|_| rustix::process::getegid().as_raw());
    let number = |group: &Option<String>| match group {
        None => Some(own),
        Some(name) => group::number_of(name),
    };
    let agent = agent.and_then(|socket| number(&socket.access.group));
    let apart = agent.is_some_and(|agent| agent != own && number(&control.group) != Some(agent));
    match apart {
        true => Sign::Nothing,
        false => Sign::All,
    }
}

fn usual_layers() -> Layers {
    Layers::of(&[0, 1, 2, 3])
}

/// At most `most` bytes of a file that only its owner can change.
fn read(path: &Path, most: u64) -> Result<String, ConfigError> {
    signet_files::read(path, most, 0o022).map_err(|fault| {
        let path = path.to_owned();
        match fault {
            ReadFault::Writable(mode) => ConfigError::Writable { path, mode },
            ReadFault::Io(source) => ConfigError::Io { path, source },
        }
    })
}

/// No person writes a longer one.
const CONFIG_BYTES: u64 = 16 * 1024 * 1024;
/// The nkey seed, as the service manager may hand it over.
const NATS_SEED: &str = "nats.nk";
const DEFAULT_SERVER: &str = "nats://127.0.0.1:4222";
const NO_WAY: &str = "without a NATS server another carrier has to be there: set `socket` in [carrier-socket], or name a server";
const ONE_LOGIN: &str = "use only one of `creds`, `nkey`, and `user` with `password-file`";

const TEMPLATE: &str = include_str!("config/template.toml");
