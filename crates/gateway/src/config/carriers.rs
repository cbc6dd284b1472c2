//! `[inbox]` and `[discord]` of gateway.toml: the carriers that this program moves, and what they lack to begin.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use data_encoding::HEXLOWER_PERMISSIVE;
use serde::Deserialize;
use url::Url;

/// `[inbox]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct InboxSection {
    /// The name of the carrier, as the daemon's configuration has it.
    pub(crate) carrier: String,
    /// Envelopes from one network address in a minute.
    pub(crate) envelopes_per_minute: u32,
    /// Bytes that may wait for the daemon.
    pub(crate) queue_bytes: usize,
    /// Seconds between two polls of a peer that had nothing.
    pub(crate) poll_seconds: u64,
    /// How the gateway of a peer proves itself, by the peer's name.
    pub(crate) peers: BTreeMap<String, PeerSection>,
}

/// `[inbox.peers.<agent>]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct PeerSection {
    /// The SHA-256 of the only certificate that is believed there, in hex, or of several while one is renewed; the trusted
    /// roots decide when absent.
    pub(crate) certificate: Option<Pins>,
}

/// The certificates that are believed at a peer's address, and no others.
#[derive(Clone, Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "a certificate's SHA-256 has 64 digits of hex, with colons or without"
)]
pub(crate) enum Pins {
    One(Fingerprint),
    Several(Vec<Fingerprint>),
}

impl Pins {
    /// The hashes. An empty list has none, so that no certificate is believed.
    pub(crate) fn hashes(&self) -> Arc<[[u8; 32]]> {
        match self {
            Self::One(Fingerprint(hash)) => [*hash].into(),
            Self::Several(all) => all.iter().map(|Fingerprint(hash)| *hash).collect(),
        }
    }
}

/// The SHA-256 of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Fingerprint(pub(crate) [u8; 32]);

impl TryFrom<String> for Fingerprint {
    type Error = &'static str;

    /// Takes colons as well, which `openssl x509 -fingerprint -sha256` prints.
    fn try_from(text: String) -> Result<Self, Self::Error> {
        let digits: String = text.chars().filter(|symbol| *symbol != ':').collect();
        let hash = HEXLOWER_PERMISSIVE.decode(digits.as_bytes()).ok();
        let hash = hash.and_then(|hash| hash.try_into().ok());
        hash.map(Self)
            .ok_or("a certificate's SHA-256 has 64 digits of hex, with colons or without")
    }
}

impl Default for InboxSection {
    fn default() -> Self {
        Self {
            carrier: "http".to_owned(),
            envelopes_per_minute: 1_200,
            queue_bytes: 8 << 20,
            poll_seconds: 5,
            peers: BTreeMap::new(),
        }
    }
}

/// `[discord]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct DiscordSection {
    /// The id of the channel.
    pub(crate) channel: String,
    /// The file with the bot's token; the credential `discord-token` of the service when absent.
    #[serde(default)]
    pub(crate) token_file: Option<PathBuf>,
    /// Which messages are shown.
    #[serde(default)]
    pub(crate) shows: Shows,
    /// The name of the carrier, as the daemon's configuration has it; without one the channel is only written.
    #[serde(default)]
    pub(crate) carrier: Option<String>,
    /// Seconds between two looks at the channel.
    #[serde(default = "five")]
    pub(crate) poll_seconds: u64,
    /// Where Discord is.
    #[serde(default = "discord")]
    pub(crate) base_url: String,
    /// The file that remembers how far the channel was read and shown, beside the configuration.
    #[serde(default = "state")]
    pub(crate) state_file: PathBuf,
}

/// Which messages a channel shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Shows {
    /// Of tiers 1 and 2.
    #[default]
    Open,
    /// Of every tier: what is sealed stays sealed.
    All,
    /// None.
    Nothing,
}

impl DiscordSection {
    /// The first setting that cannot be what the person wants, in words.
    pub(crate) fn unfit(&self) -> Option<String> {
        self.id().err().or_else(|| self.base().err())
    }

    pub(crate) fn id(&self) -> Result<u64, String> {
        let id = self.channel.parse();
        id.map_err(|_| "`channel` under [discord] is the id of a channel: digits alone".to_owned())
    }

    pub(crate) fn base(&self) -> Result<Url, String> {
        let base = Url::parse(&self.base_url).ok();
        let base = base.filter(|base| matches!(base.scheme(), "http" | "https"));
        base.ok_or_else(|| {
            "`base-url` under [discord] begins with https://; without it the gateway calls Discord's own".to_owned()
        })
    }
}

impl Shows {
    pub(crate) const fn has(self, tier: u8) -> bool {
        match self {
            Self::Open => tier <= 2,
            Self::All => true,
            Self::Nothing => false,
        }
    }
}

/// What is lacking to begin.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Lacking {
    #[error("{0}")]
    Discord(String),
    #[error(
        "[inbox] and [discord] carry messages by the daemon's carrier socket, and there is none"
    )]
    Socket,
    #[error(
        "[metrics] shows numbers that the daemon tells at its carrier socket, and there is none"
    )]
    NumbersSocket,
}

impl Lacking {
    /// What to do about it.
    pub(crate) const fn next(&self) -> &'static str {
        match self {
            Self::Discord(_) => {
                "correct [discord] in gateway.toml, or the file that it names; docs/gateway.md has every key"
            }
            Self::Socket | Self::NumbersSocket => {
                "set `socket` under [carrier-socket] of the daemon's config.toml, and start the daemon again"
            }
        }
    }
}

fn discord() -> String {
    "https://discord.com/api/v10".to_owned()
}

const fn five() -> u64 {
    5
}

fn state() -> PathBuf {
    PathBuf::from("discord.json")
}
