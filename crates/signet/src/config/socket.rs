//! `[control]`, `[agent-socket]` and `[carrier-socket]`: where the daemon listens, who may connect, and how far they reach.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use signet_proto::carrier::CarrierId;
use signet_proto::ids::AgentId;
use signet_proto::policy::HIGHEST_TIER;

use super::ConfigError;
use super::routes::own_addresses;
use super::section::Section;
use crate::home::Home;
use crate::reach::{May, Reach};

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
pub(super) fn control(root: &Section<'_>, home: &Home) -> Result<(PathBuf, Access), ConfigError> {
    let section = root.section("control", &["socket", "mode", "group"])?;
    let path = home.join(section.text("socket")?.unwrap_or("control.sock"));
    Ok((fitting(path)?, access(&section)?))
}

/// `[agent-socket]`; none where nobody set its path and the home's own is too long for one.
pub(super) fn agent(
    root: &Section<'_>,
    home: &Home,
    control: &Path,
) -> Result<Option<AgentSocket>, ConfigError> {
    let section = root.section("agent-socket", AGENT_KEYS)?;
    let path = match section.text("socket")? {
        Some(path) => fitting(home.join(path))?,
        None => match fitting(home.join("agent.sock")) {
            Ok(path) => path,
            Err(_) => return Ok(None),
        },
    };
    if path == control {
        let fault = "it is the person's own socket; whoever opens that one may do everything";
        return Err(section.bad("socket", fault));
    }
    Ok(Some(AgentSocket {
        path,
        access: access(&section)?,
        reach: reach(&section)?,
    }))
}

/// `[carrier-socket]`; none where nobody set its path.
pub(super) fn carrier(
    root: &Section<'_>,
    home: &Home,
    others: &[&Path],
) -> Result<Option<CarrierSocket>, ConfigError> {
    let section = root.section("carrier-socket", CARRIER_KEYS)?;
    let (names, addresses) = (carriers(&section)?, own_addresses(&section)?);
    let (access, reach) = (access(&section)?, reach(&section)?);
    let Some(path) = section.text("socket")? else {
        return Ok(None);
    };
    let path = fitting(home.join(path))?;
    if others.contains(&path.as_path()) {
        let fault = "it is another socket of this agent; whoever opens that one may do more";
        return Err(section.bad("socket", fault));
    }
    Ok(Some(CarrierSocket {
        path,
        access,
        reach,
        carriers: names,
        addresses,
    }))
}

fn carriers(section: &Section<'_>) -> Result<Vec<CarrierId>, ConfigError> {
    let known = [CarrierId::HTTP, CarrierId::DISCORD];
    let Some(texts) = section.texts("carriers")? else {
        return Ok(vec![CarrierId::HTTP]);
    };
    let of = |text: &String| known.iter().find(|known| known.as_str() == text).cloned();
    let names: Option<BTreeSet<CarrierId>> = texts.iter().map(of).collect();
    let names = names.filter(|names| !names.is_empty() && names.len() == texts.len());
    let bad = || section.bad("carriers", "a list of \"http\" and \"discord\" is expected");
    Ok(names.ok_or_else(bad)?.into_iter().collect())
}

/// `[audit]`: who may read the log. A group that is named is meant to.
pub(super) fn of_log(section: &Section<'_>) -> Result<Access, ConfigError> {
    let group = section.text("group")?.map(str::to_owned);
    let mode = section.number("mode", 0..=0o777)?;
    match (mode, &group) {
        (None, None) => Ok(Access { mode: 0o600, group }),
        (Some(0o600), None) => Ok(Access { mode: 0o600, group }),
        (None | Some(0o640), _) => Ok(Access { mode: 0o640, group }),
        (Some(0o600), Some(_)) => Err(section.bad("mode", "a group reads with mode 0o640 only")),
        (Some(_), _) => Err(section.bad("mode", "0o600 or 0o640 is expected")),
    }
}

fn reach(section: &Section<'_>) -> Result<Reach, ConfigError> {
    let id = |text: &String| text.parse::<AgentId>().ok();
    let peers = match section.texts("peers")? {
        None => None,
        Some(peers) => {
            let peers: Option<BTreeSet<AgentId>> = peers.iter().map(id).collect();
            let bad = || section.bad("peers", "a list of agent-ids is expected");
            Some(peers.ok_or_else(bad)?)
        }
    };
    Ok(Reach {
        peers,
        tier: section
            .small("tier", 1..=HIGHEST_TIER)?
            .unwrap_or(HIGHEST_TIER),
        may: match section.text("may")? {
            None | Some("send") => May::Send,
            Some("read") => May::Read,
            Some(_) => return Err(section.bad("may", "\"send\" or \"read\" is expected")),
        },
    })
}

fn access(section: &Section<'_>) -> Result<Access, ConfigError> {
    let mode = section.number("mode", 0..=0o777)?.unwrap_or(DEFAULT_MODE);
    if !MODES.contains(&mode) {
        return Err(section.bad("mode", "0o600 or 0o660 is expected"));
    }
    let group = section.text("group")?.map(str::to_owned);
    Ok(Access { mode, group })
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
/// Whoever is neither the daemon's user nor in the group is refused in any case.
const MODES: [u32; 2] = [0o600, 0o660];
const AGENT_KEYS: &[&str] = &["socket", "mode", "group", "peers", "tier", "may"];
const CARRIER_KEYS: &[&str] = &[
    "socket",
    "mode",
    "group",
    "peers",
    "tier",
    "may",
    "carriers",
    "addresses",
];
