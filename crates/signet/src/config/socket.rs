//! `[control]`, `[agent-socket]` and `[carrier-socket]`: where the daemon listens, who may connect, and how far they reach.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use signet_api::May;
use signet_proto::carrier::CarrierId;
use signet_proto::headers::Tier;
use signet_proto::ids::AgentId;

use super::ConfigError;
use super::routes::own_addresses;
use super::section::{Source, WrittenTier};
use crate::reach::Reach;

/// Who may open a socket, besides the daemon's own user and root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The mode of the socket's file.
    pub mode: u32,
    /// Its group, a name or a number; the daemon's own when absent.
    pub group: Option<String>,
}

/// The agent's socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentSocket {
    /// Where it is.
    pub path: PathBuf,
    /// Who may open it.
    pub access: Access,
    /// How far its callers reach.
    pub reach: Reach,
}

/// The socket of programs that carry bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarrierSocket {
    /// Where it is.
    pub path: PathBuf,
    /// Who may open it.
    pub access: Access,
    /// How far its callers reach.
    pub reach: Reach,
    /// The carriers that they may attach to.
    pub carriers: Vec<CarrierId>,
    /// Where others reach this agent by HTTP, for its invitations.
    pub addresses: Vec<String>,
}

/// `[control]`: the person's socket, which has no ceiling.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ControlSection {
    socket: Option<String>,
    #[serde(deserialize_with = "mode")]
    mode: Option<u32>,
    group: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct AgentSection {
    socket: Option<String>,
    #[serde(deserialize_with = "mode")]
    mode: Option<u32>,
    group: Option<String>,
    peers: Option<BTreeSet<AgentId>>,
    tier: Option<WrittenTier>,
    may: Option<May>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct CarrierSection {
    socket: Option<String>,
    #[serde(deserialize_with = "mode")]
    mode: Option<u32>,
    group: Option<String>,
    peers: Option<BTreeSet<AgentId>>,
    tier: Option<WrittenTier>,
    may: Option<May>,
    carriers: Option<Vec<String>>,
    addresses: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct AuditSection {
    pub(super) dir: Option<String>,
    mode: Option<u32>,
    group: Option<String>,
}

impl ControlSection {
    pub(super) fn read(self, source: Source<'_>) -> Result<(PathBuf, Access), ConfigError> {
        let path = source.path(self.socket.as_deref().unwrap_or("control.sock"));
        Ok((fitting(path)?, access(self.mode, self.group)))
    }
}

impl AgentSection {
    /// None where nobody set its path and the home's own is too long for one.
    pub(super) fn read(
        self,
        source: Source<'_>,
        control: &Path,
    ) -> Result<Option<AgentSocket>, ConfigError> {
        let path = match &self.socket {
            Some(path) => fitting(source.path(path))?,
            None => match fitting(source.path("agent.sock")) {
                Ok(path) => path,
                // The default path is too long where the home's own path is long. Nobody
                // configured it, so go on without this socket.
                Err(_) => return Ok(None),
            },
        };
        if path == control {
            let fault = "it is the person's own socket; whoever opens that one may do everything";
            return Err(source.bad("agent-socket.socket", fault));
        }
        Ok(Some(AgentSocket {
            path,
            access: access(self.mode, self.group),
            reach: reach(self.peers, self.tier, self.may),
        }))
    }
}

impl CarrierSection {
    /// None where nobody set its path.
    pub(super) fn read(
        self,
        source: Source<'_>,
        others: &[&Path],
    ) -> Result<Option<CarrierSocket>, ConfigError> {
        // Check the values even where no socket is set, so that a misspelt value is reported now, and not when somebody sets
        // the socket.
        let carriers = carriers(self.carriers);
        let fault = "a list of \"http\" and \"discord\" is expected";
        let carriers = carriers.ok_or_else(|| source.bad("carrier-socket.carriers", fault))?;
        let addresses = own_addresses(self.addresses, source)?;
        let Some(path) = &self.socket else {
            return Ok(None);
        };
        let path = fitting(source.path(path))?;
        if others.contains(&path.as_path()) {
            let fault = "it is another socket of this agent; whoever opens that one may do more";
            return Err(source.bad("carrier-socket.socket", fault));
        }
        Ok(Some(CarrierSocket {
            path,
            access: access(self.mode, self.group),
            reach: reach(self.peers, self.tier, self.may),
            carriers,
            addresses,
        }))
    }
}

impl AuditSection {
    /// Who may read the log. A group that is named is meant to.
    pub(super) fn access(&self, source: Source<'_>) -> Result<Access, ConfigError> {
        let bad = |fault| Err(source.bad("audit.mode", fault));
        let mode = match (self.mode, &self.group) {
            (None | Some(0o600), None) => 0o600,
            (None | Some(0o640), _) => 0o640,
            (Some(0o600), Some(_)) => return bad("a group reads with mode 0o640 only"),
            (Some(_), _) => return bad("0o600 or 0o640 is expected"),
        };
        let group = self.group.clone();
        Ok(Access { mode, group })
    }
}

fn carriers(written: Option<Vec<String>>) -> Option<Vec<CarrierId>> {
    let known = [CarrierId::HTTP, CarrierId::DISCORD];
    let Some(texts) = written else {
        return Some(vec![CarrierId::HTTP]);
    };
    let of = |text: &String| known.iter().find(|known| known.as_str() == text).cloned();
    let names: Option<BTreeSet<CarrierId>> = texts.iter().map(of).collect();
    // Refuse an unknown name, a name given twice, and an empty list: an agent with an empty list and without a NATS server
    // would have no carrier at all.
    let names = names.filter(|names| !names.is_empty() && names.len() == texts.len());
    Some(names?.into_iter().collect())
}

fn reach(peers: Option<BTreeSet<AgentId>>, tier: Option<WrittenTier>, may: Option<May>) -> Reach {
    Reach {
        peers: peers.map(Arc::new),
        tier: tier.map_or(Tier::Restricted, |tier| tier.0).number(),
        may: may.unwrap_or(May::Send),
    }
}

fn access(mode: Option<u32>, group: Option<String>) -> Access {
    let mode = mode.unwrap_or(DEFAULT_MODE);
    Access { mode, group }
}

/// The mode of a socket. Whoever is neither the daemon's user nor in the group is refused in any case.
fn mode<'de, D: Deserializer<'de>>(written: D) -> Result<Option<u32>, D::Error> {
    match u32::deserialize(written) {
        Ok(mode @ (0o600 | 0o660)) => Ok(Some(mode)),
        _ => Err(D::Error::custom("0o600 or 0o660 is expected")),
    }
}

fn fitting(path: PathBuf) -> Result<PathBuf, ConfigError> {
    let length = path.as_os_str().len();
    match length > SUN_PATH_MAX {
        true => Err(ConfigError::SocketPath { path, length }),
        false => Ok(path),
    }
}

/// `sun_path` of unix(7), without its final zero byte.
const SUN_PATH_MAX: usize = 107;
const DEFAULT_MODE: u32 = 0o660;
