//! `gateway.toml`: where the listener is, who may speak to it, and which of the doors behind it are open.
//!
//! A file below has the sections of its doors. What a section does not name has the default that docs/gateway.md says.

pub(crate) mod a2a;
pub(crate) mod carriers;
mod fit;
pub(crate) mod metrics;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use signet_files::{SettingFault, TomlFile};
use signet_text::word;

use crate::outgoing;
use crate::settings_file::{SettingsFault, SettingsFile, SettingsUnusable};

/// The whole file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct GatewayConfig {
    pub(crate) listen: Listen,
    pub(crate) limits: CallerLimits,
    pub(crate) tls: Option<Tls>,
    pub(crate) outgoing: outgoing::OutgoingSection,
    /// HTTP as a carrier; off when absent.
    pub(crate) inbox: Option<carriers::InboxSection>,
    /// A channel of Discord's; off when absent.
    pub(crate) discord: Option<carriers::DiscordSection>,
    pub(crate) rpc: RpcSection,
    pub(crate) mcp: McpSection,
    pub(crate) a2a: a2a::A2aSection,
    /// The numbers; off when absent.
    pub(crate) metrics: Option<metrics::MetricsSection>,
    /// The directory of the file, beside which what it names by a relative path lies.
    #[serde(skip)]
    pub(crate) beside: PathBuf,
}

/// Where the listener is, and whom it believes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct Listen {
    #[serde(deserialize_with = "address")]
    pub(crate) address: SocketAddr,
    /// By which names others call it, besides those of this machine itself.
    pub(crate) hosts: Vec<String>,
    /// The web pages whose scripts may call it.
    pub(crate) origins: Vec<String>,
    pub(crate) auth: Auth,
    /// The file of the tokens.
    pub(crate) tokens: PathBuf,
}

/// How callers prove who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Auth {
    /// By a token, or by a certificate that the file of the tokens names.
    Token,
    /// Not at all: on loopback alone.
    None,
}

/// How much callers may cost.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct CallerLimits {
    /// Connections at once. One more takes the place of the one that has been idle for the longest time.
    pub(crate) connections: usize,
    /// Seconds for the head of a request, and between two requests.
    pub(crate) header_seconds: u64,
    /// Seconds for its body.
    pub(crate) body_seconds: u64,
    /// Bytes of its body.
    pub(crate) body_bytes: usize,
    /// Requests of one token in a minute.
    pub(crate) requests_per_minute: u32,
    /// Requests of one token under way, streams among them.
    pub(crate) requests_at_once: usize,
}

/// The listener's own certificate.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Tls {
    /// The certificate and those between it and its root, in PEM.
    pub(crate) certificate: PathBuf,
    /// Its key, in PEM.
    pub(crate) key: PathBuf,
    /// Whose certificates callers may show in the place of a token, in PEM.
    pub(crate) client_ca: Option<PathBuf>,
}

/// `[rpc]` of gateway.toml.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct RpcSection {
    pub(crate) enabled: bool,
}

/// `[mcp]` of gateway.toml.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct McpSection {
    pub(crate) enabled: bool,
    /// The highest data tier that is sent and shown, whatever a token allows: what a client reads, its model's provider
    /// may read.
    pub(crate) tier: u8,
}

/// Why the file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigFault {
    #[error("there is no {}: the gateway is off", .0.display())]
    Absent(PathBuf),
    #[error("{}: {what}", path.display())]
    Unfit { path: PathBuf, what: String },
    #[error(transparent)]
    File(SettingsFault),
}

impl ConfigFault {
    /// What to do about it.
    pub(crate) fn next(&self) -> String {
        match self {
            Self::Absent(path) => format!(
                "echo '[listen]' > {}  # switches it on, at 127.0.0.1:8787 (docs/gateway.md has every key); then a \
                 token for each program: signet token make NAME",
                word(path)
            ),
            Self::File(fault) => fault.next(),
            Self::Unfit { .. } => "correct the file; docs/gateway.md has every key".to_owned(),
        }
    }
}

impl GatewayConfig {
    /// Reads the file.
    ///
    /// # Errors
    /// The first fault in it.
    pub(crate) fn load(path: &Path) -> Result<Self, ConfigFault> {
        let loaded = FILE.load(path, Self::parse);
        let mut config = loaded.map_err(|fault| match &fault.why {
            // Tell a missing file apart from a file that cannot be read: a missing file only means that the gateway is
            // off until the person writes it.
            SettingsUnusable::Unreadable(error) if error.kind() == io::ErrorKind::NotFound => {
                ConfigFault::Absent(path.to_owned())
            }
            SettingsUnusable::Unreadable(_)
            | SettingsUnusable::Open(_)
            | SettingsUnusable::Wrong(_) => ConfigFault::File(fault),
        })?;
        path.parent()
            .unwrap_or(Path::new("."))
            .clone_into(&mut config.beside);
        match config.unfit() {
            None => Ok(config),
            Some(what) => Err(ConfigFault::Unfit {
                path: path.to_owned(),
                what,
            }),
        }
    }

    /// Where a path of the file is.
    pub(crate) fn path(&self, path: &Path) -> PathBuf {
        self.beside.join(path)
    }

    pub(crate) fn parse(text: &str) -> Result<Self, SettingFault> {
        TomlFile::parse(text)?.read()
    }
}

const FILE: SettingsFile = SettingsFile {
    option: "--config",
    document: "docs/gateway.md",
    danger: "it says who is let in",
};

fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SocketAddr, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(|_| {
        D::Error::custom(format!(
            "`address` is an IP address and a port, such as \"127.0.0.1:8787\", and {text:?} is none"
        ))
    })
}

impl Default for Listen {
    fn default() -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 8787)),
            hosts: Vec::new(),
            origins: Vec::new(),
            auth: Auth::Token,
            tokens: PathBuf::from("gateway-tokens.toml"),
        }
    }
}

impl Default for CallerLimits {
    fn default() -> Self {
        Self {
            connections: 512,
            header_seconds: 15,
            body_seconds: 30,
            body_bytes: 1 << 20,
            requests_per_minute: 600,
            requests_at_once: 256,
        }
    }
}

impl Default for RpcSection {
    fn default() -> Self {
        Self { enabled: true }
    }
}

impl Default for McpSection {
    fn default() -> Self {
        Self {
            enabled: true,
            tier: 2,
        }
    }
}

impl CallerLimits {
    pub(crate) const fn header_time(&self) -> Duration {
        Duration::from_secs(self.header_seconds)
    }

    pub(crate) const fn body_time(&self) -> Duration {
        Duration::from_secs(self.body_seconds)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn an_empty_file_is_a_listener_on_loopback_that_wants_tokens() {
        let config = GatewayConfig::parse("").unwrap();
        assert!(config.listen.address.ip().is_loopback());
        assert_eq!((config.listen.auth, config.unfit()), (Auth::Token, None));
        assert!(config.rpc.enabled && config.mcp.enabled);
    }

    #[test]
    fn a_misspelt_key_is_refused_with_its_line() {
        let fault = GatewayConfig::parse("[listen]\nadress = \"127.0.0.1:1\"\n").unwrap_err();
        assert_eq!(
            format!("{fault}; {}", fault.next),
            "line 2: unknown key \"adress\" in [listen]; did you mean `address`?"
        );
        assert!(GatewayConfig::parse("[limits]\nconnections = -1\n").is_err());
    }

    /// What a section knows, and the whole file without one: who writes another key is told.
    fn known(head: &str) -> Vec<String> {
        let text = format!("{head}\nno-such-key-is-known = 1\n");
        let fault = GatewayConfig::parse(&text).unwrap_err();
        let known = fault.next.strip_prefix("known here: ").unwrap();
        let known = known.split(';').next().unwrap().split(", ");
        known.map(str::to_owned).collect()
    }

    #[test]
    fn every_key_is_in_a_table_of_the_documents() {
        // The pages have a table for each of these sections, whose rows name keys without the section: so a key of one
        // of these sections may also stand in a row without a section.
        let own = ["a2a", "discord", "inbox"];
        let pages = concat!(
            include_str!("../../../../docs/gateway.md"),
            include_str!("../../../../docs/a2a.md"),
            include_str!("../../../../docs/metrics.md")
        );
        let mut documented = BTreeSet::new();
        for row in pages.lines().filter_map(|row| row.strip_prefix("| `")) {
            let cell = row.split(" | ").next().unwrap();
            let mut section = "";
            for name in cell.split('`').step_by(2) {
                let named = name
                    .strip_prefix('[')
                    .and_then(|name| name.split_once("] "));
                let (of, key) = named.unwrap_or((section, name));
                section = of;
                documented.insert((section, key.split('.').next().unwrap()));
            }
        }
        for section in known("") {
            for key in known(&format!("[{section}]")) {
                let is_there = |section| documented.contains(&(section, key.as_str()));
                assert!(
                    is_there(&section) || own.contains(&section.as_str()) && is_there(""),
                    "`{key}` of [{section}] has no row in a table of docs/gateway.md, docs/a2a.md or docs/metrics.md"
                );
            }
        }
    }

    #[test]
    fn what_stands_twice_is_refused_with_where_the_first_stands() {
        for (text, told) in [
            (
                "[listen]\n[limits]\n[listen]\n",
                "[listen] stands twice, and first in line 1",
            ),
            (
                "[rpc]\nenabled = true\nenabled = false\n",
                "`enabled` in [rpc] stands twice, and first in line 2",
            ),
        ] {
            let fault = GatewayConfig::parse(text).unwrap_err();
            assert_eq!((fault.line, fault.what.as_str()), (3, told));
        }
    }

    #[test]
    fn an_address_by_name_or_without_a_port_is_refused_with_one_to_write() {
        for odd in ["localhost:8801", "127.0.0.1", "8787", ""] {
            let text = format!("[listen]\naddress = \"{odd}\"\n");
            let fault = GatewayConfig::parse(&text).unwrap_err();
            assert!(
                fault.line == 2 && fault.what.contains("127.0.0.1:8787"),
                "{odd}: {fault}"
            );
        }
    }

    #[test]
    fn without_a_file_it_says_what_to_write() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gateway.toml");
        let fault = GatewayConfig::load(&path).unwrap_err();
        assert!(matches!(fault, ConfigFault::Absent(_)));
        assert!(fault.next().contains("[listen]"));
        std::fs::write(&path, "").unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o666);
        std::fs::set_permissions(&path, mode).unwrap();
        let open = GatewayConfig::load(&path).unwrap_err();
        assert!(
            open.to_string().contains("everybody may write it"),
            "{open}"
        );
        assert_eq!(open.next(), format!("chmod o-w {}", path.display()));
    }
}
