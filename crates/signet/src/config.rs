//! The configuration of one agent: `config.toml` in its home.
//!
//! Only `[agent] agent` and `principal` have no default, and `signet init` writes them; every other
//! value may be left out. A key that is not known is refused, so that a misspelt one cannot be
//! silently without effect.

mod card;
mod changes;
mod error;
mod nats;
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
use nats::NatsSection;
pub use nats::{MailboxMode, NatsConfig, NatsLogin, ReplyPrefix};
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
#[serde(deny_unknown_fields, default)]
struct PeopleSection {
    sign: Option<Sign>,
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
const NO_WAY: &str = "without a NATS server another carrier has to be there: set `socket` in [carrier-socket], or name a server";

const TEMPLATE: &str = include_str!("config/template.toml");
