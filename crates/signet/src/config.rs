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

use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

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
use section::{Document, Section};
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentConfig {
    /// The agent's id.
    pub agent: AgentId,
    /// The person it acts for.
    pub principal: PrincipalId,
    /// The skill layers that it has loaded.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MailboxMode {
    /// In a JetStream mailbox, as `signet nats setup` makes it; core NATS while there is none.
    #[default]
    Jetstream,
    /// Nowhere but at its sender: core NATS, whatever the server offers.
    Core,
}

/// Which decisions need the person's signature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sign {
    /// None: whoever opens the person's socket decides.
    #[default]
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
        let document = Document::parse(text)?;
        let root = document.root(ROOT_KEYS)?;
        let agent = AgentConfig::read(&root.section("agent", &["agent", "principal", "layers"])?)?;
        let nats = NatsConfig::read(&root.section("nats", NATS_KEYS)?, home, nats_url)?;
        let audit = root.section("audit", &["dir", "mode", "group"])?;
        let audit_dir = home
            .join(audit.text("dir")?.unwrap_or("audit"))
            .join(agent.agent.as_str());
        let (control_socket, control_access) = socket::control(&root, home)?;
        let agent_socket = socket::agent(&root, home, &control_socket)?;
        let agent_path = agent_socket.as_ref().map(|socket| socket.path.as_path());
        let others: Vec<&Path> = agent_path
            .into_iter()
            .chain([control_socket.as_path()])
            .collect();
        let carrier_socket = socket::carrier(&root, home, &others)?;
        if nats.servers.is_empty() && carrier_socket.is_none() {
            let section = root.section("nats", NATS_KEYS)?;
            return Err(section.bad("servers", NO_WAY));
        }
        let people = root.section("people", &["sign"])?;
        Ok(Self {
            people_sign: people_sign(&people, home, &control_access, agent_socket.as_ref())?,
            agent_socket,
            carrier_socket,
            carriers: PeerCarriers::written(&root)?,
            control_socket,
            control_access,
            notify: notify::command(&root)?,
            card: card::card(&root)?,
            policy: policy::policy(&root, home)?,
            audit_access: socket::of_log(&audit)?,
            audit_dir,
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

impl AgentConfig {
    fn read(section: &Section<'_>) -> Result<Self, ConfigError> {
        Ok(Self {
            agent: section.required("agent")?,
            principal: section.required("principal")?,
            layers: section
                .layers("layers")?
                .unwrap_or(Layers::of(&[0, 1, 2, 3])),
        })
    }
}

impl NatsConfig {
    fn read(section: &Section<'_>, home: &Home, url: Option<&str>) -> Result<Self, ConfigError> {
        let tls = section.section("tls", &["ca", "cert", "key", "required"])?;
        let tls_client = match (tls.file("cert", home)?, tls.file("key", home)?) {
            (Some(cert), Some(key)) => Some((cert, key)),
            (None, None) => None,
            (Some(_), None) => return Err(tls.bad("cert", "it needs `key` beside it")),
            (None, Some(_)) => return Err(tls.bad("key", "it needs `cert` beside it")),
        };
        Ok(Self {
            servers: servers(section, url)?,
            mailbox: mailbox(section)?,
            login: NatsLogin::read(section, home)?,
            tls_ca: tls.file("ca", home)?,
            tls_required: tls.flag("required")?.unwrap_or(false),
            tls_client,
        })
    }

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

impl NatsLogin {
    fn read(section: &Section<'_>, home: &Home) -> Result<Self, ConfigError> {
        let file = |key| section.file(key, home);
        let user = section.text("user")?.map(str::to_owned);
        match (file("creds")?, file("nkey")?, user, file("password_file")?) {
            // What `signet nats key` made is meant to be used.
            (None, None, None, None) if home.nats_seed().exists() => {
                Ok(Self::Nkey(home.nats_seed()))
            }
            (None, None, None, None) => {
                let handed = private::credential(NATS_SEED);
                Ok(handed.map_or(Self::None, Self::Nkey))
            }
            (Some(creds), None, None, None) => Ok(Self::Creds(creds)),
            (None, Some(nkey), None, None) => Ok(Self::Nkey(nkey)),
            (None, None, Some(user), Some(password_file)) => Ok(Self::User {
                user,
                password_file,
            }),
            (None, None, Some(_), None) => {
                Err(section.bad("user", "it needs `password_file` beside it"))
            }
            (None, None, None, Some(_)) => {
                Err(section.bad("password_file", "it needs `user` beside it"))
            }
            (Some(_), ..) => Err(section.bad("creds", ONE_LOGIN)),
            (None, Some(_), ..) => Err(section.bad("nkey", ONE_LOGIN)),
        }
    }
}

/// A group of the agent's own, neither the daemon's nor that of the person's socket, keeps it off the latter.
/// Without one, agent and person share a user id: nothing but the person's key tells their decisions apart.
fn people_sign(
    section: &Section<'_>,
    home: &Home,
    control: &Access,
    agent: Option<&AgentSocket>,
) -> Result<Sign, ConfigError> {
    // That of the home: root, who looks at it, reads the same answer as the daemon.
    let own = std::fs::metadata(home.path()).map(|facts| facts.gid());
    let own = own.unwrap_or_else(|_| rustix::process::getegid().as_raw());
    let number = |group: &Option<String>| match group {
        None => Some(own),
        Some(name) => group::number_of(name),
    };
    let agent = agent.and_then(|socket| number(&socket.access.group));
    let apart = agent.is_some_and(|agent| agent != own && number(&control.group) != Some(agent));
    match section.text("sign")? {
        None if apart => Ok(Sign::Nothing),
        None => Ok(Sign::All),
        Some("none") => Ok(Sign::Nothing),
        Some("all") => Ok(Sign::All),
        Some(_) => Err(section.bad("sign", "\"all\" or \"none\" is expected")),
    }
}

fn mailbox(section: &Section<'_>) -> Result<MailboxMode, ConfigError> {
    match section.text("mailbox")? {
        None | Some("jetstream") => Ok(MailboxMode::Jetstream),
        Some("core") => Ok(MailboxMode::Core),
        Some(_) => Err(section.bad("mailbox", "\"jetstream\" or \"core\" is expected")),
    }
}

fn servers(section: &Section<'_>, url: Option<&str>) -> Result<Vec<String>, ConfigError> {
    let written = section.texts("servers")?;
    if let Some(urls) = url.filter(|urls| !urls.trim().is_empty()) {
        return Ok(urls.split(',').map(|url| url.trim().to_owned()).collect());
    }
    let Some(servers) = written else {
        return Ok(vec![DEFAULT_SERVER.to_owned()]);
    };
    let known = |server: &String| server.starts_with("nats://") || server.starts_with("tls://");
    if !servers.iter().all(known) {
        return Err(section.bad(
            "servers",
            "use URLs such as \"nats://127.0.0.1:4222\" or \"tls://…\"",
        ));
    }
    // Whoever may read the configuration may not therefore read the password.
    if servers.iter().any(|server| server.contains('@')) {
        return Err(section.bad(
            "servers",
            "put the login into `user` and `password_file`, not into the URL",
        ));
    }
    Ok(servers)
}

/// Reads at most `most` bytes of a file that only its owner can change.
fn read(path: &Path, most: u64) -> Result<String, ConfigError> {
    let failed = |source| ConfigError::Io {
        path: path.to_owned(),
        source,
    };
    let facts = std::fs::metadata(path).map_err(failed)?;
    // A pipe in its place would hold up a daemon that reads it anew.
    if !facts.is_file() {
        return Err(failed(std::io::ErrorKind::InvalidInput.into()));
    }
    let mode = std::os::unix::fs::MetadataExt::mode(&facts) & 0o7777;
    if mode & 0o022 != 0 {
        return Err(ConfigError::Writable {
            path: path.to_owned(),
            mode,
        });
    }
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    file.take(most).read_to_string(&mut text).map_err(failed)?;
    Ok(text)
}

const ROOT_KEYS: &[&str] = &[
    "agent",
    "nats",
    "audit",
    "control",
    "agent-socket",
    "carrier-socket",
    "people",
    "notify",
    "card",
    "tiers",
    "approve",
    "grant",
    "peer",
    "capability",
    "offer",
];
/// No person writes a longer one.
const CONFIG_BYTES: u64 = 16 * 1024 * 1024;
const NATS_KEYS: &[&str] = &[
    "servers",
    "mailbox",
    "creds",
    "nkey",
    "user",
    "password_file",
    "tls",
];
/// The nkey seed, as the service manager may hand it over.
const NATS_SEED: &str = "nats.nk";
const DEFAULT_SERVER: &str = "nats://127.0.0.1:4222";
const NO_WAY: &str = "without a NATS server another carrier has to be there: set `socket` in [carrier-socket], or name a server";
const ONE_LOGIN: &str = "use only one of `creds`, `nkey`, and `user` with `password_file`";

const TEMPLATE: &str = r#"# The configuration of one signet agent. What stands as a comment is the default.
# Paths are relative to this directory.

[agent]
agent = "AGENT"
principal = "PRINCIPAL"
# layers = [0, 1, 2, 3]

[nats]
# servers = ["nats://127.0.0.1:4222"]    # the environment variable NATS_URL comes first; []: no NATS at all
# mailbox = "jetstream"                  # what `signet nats setup` made; "core": never ask for one
# One login, or none; the files must be readable by you alone:
# creds = "nats.creds"
# nkey = "nats.nk"                       # by itself, when `signet nats key` has made it
# user = "AGENT"
# password_file = "nats.password"

[nats.tls]
# ca = "ca.pem"
# cert = "client.pem"
# key = "client-key.pem"
# required = false

[audit]
# dir = "audit"                          # the log is in audit/AGENT/
# mode = 0o640                           # the group may read the log, and nothing else; 0o600 when absent
# group = "signet-audit"                 # that of the log's directory, when absent

# The person's socket: whoever opens it decides about trust, approvals and keys.
[control]
# socket = "control.sock"
# mode = 0o660
# group = "signet"                       # the daemon's own, when absent

# The skill layers that a peer must have for each tier. `signet policy show` says what follows.
[tiers]
# public = [0]
# household = [0, 1]
# sensitive = [0, 1, 2]
# restricted = [0, 1, 2, 3]

# A message of these tiers leaves only when its person approves it: `signet drafts`.
[approve]
# tiers = [4]

# What every trusted peer may send; a [[peer]] of its own may say otherwise.
[grant]
# tier = 4                               # the most; the table above decides besides
# capabilities = ["calendar.free-busy"]  # every one that is offered, when absent
# messages-per-minute = 120
# conversation-messages-per-minute = 60

# [[peer]]
# id = "agent-bob-001"
# tier = 2
# capabilities = ["calendar.free-busy"]
# messages-per-minute = 30
# carriers = ["nats", "https://house.example/agent/agent-bob-001/inbox"]   # the first that is up; "poll": it polls us

# What programs of this agent may offer: names, or beginnings with a star.
[offer]
# allow = []
# linger-seconds = 300  # an offer stands so long after its program has gone, and after a start of the daemon

# What this agent offers to its peers; as many as there are. The schema is a file beside this one, or
# the JSON Schema itself: requests whose body does not fit are refused.
# [[capability]]
# name = "calendar.free-busy"
# tier = 2
# description = "Tells when there is time"
# schema = """{"type": "object", "required": ["week"]}"""

# The agent's socket: it sends, answers and hands off, and decides nothing for the person.
[agent-socket]
# socket = "agent.sock"
# mode = 0o660
# group = "signet-agent"                 # the daemon's own, when absent
# peers = ["agent-bob-001"]              # everybody, when absent
# tier = 4                               # the highest that it sees and sends
# may = "send"                           # "read": it only looks

# The socket of programs that carry messages by HTTP and the like (signet-gateway): none when `socket` is absent.
# They hand bytes over, and decide nothing.
[carrier-socket]
# socket = "carrier.sock"
# mode = 0o660
# group = "signet-gateway"               # the daemon's own, when absent
# carriers = ["http"]                    # and "discord"
# addresses = ["https://house.example/agent/AGENT/inbox"]   # for invitations; ["poll"]: it can only dial out
# peers = ["agent-bob-001"]              # for whom anything leaves by it; everybody, when absent
# tier = 4                               # the highest that leaves by it
# may = "send"                           # "read": it takes the trust store, and what may be shown

# Which decisions about trust need the person's control key: "all", so that nobody else decides them on the
# person's socket (keep keys/control.pem elsewhere), or "none". When absent: "none" where the agent's socket
# has a group of its own, "all" where agent and person share a user id.
[people]
# sign = "all"

# What tells you that a stranger waits, a draft, an alarm, a message in quarantine, the end of the certificate: a
# program and its arguments, which reads one JSON object on its standard input. None when absent.
[notify]
# command = ["/usr/local/bin/tell-me"]

# The card by which agents that speak A2A learn of this agent, signed with a key of its own (keys/card.pem); served by
# signet-gateway. There is none without `url`.
[card]
# url = "https://agents.example"         # where the gateway is reached
# name = "Alice's agent"                 # the agent's id, when absent
# description = "Asks and answers for Alice"
# auth = "token"                         # "mtls", "none": as in gateway.toml
# push = true
# require-extension = false
"#;
