//! What the parts of the HTTP carrier share.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use data_encoding::{BASE64URL_NOPAD, HEXLOWER_PERMISSIVE};
use serde::Deserialize;
use signet_proto::trust::TrustView;
use tokio::sync::Semaphore;

use super::counts::Counts;
use super::desk::Desk;
use super::outbound::Lanes;
use super::pace::Pace;
use super::poll_places::PollPlaces;
use super::queue::Queue;
use crate::context::Context;

/// `[inbox]` of the configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct Section {
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
    /// Their hashes; none of an empty list, which believes nobody.
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

    /// As `openssl x509 -fingerprint -sha256` prints it, too.
    fn try_from(text: String) -> Result<Self, Self::Error> {
        let digits: String = text.chars().filter(|symbol| *symbol != ':').collect();
        let hash = HEXLOWER_PERMISSIVE.decode(digits.as_bytes()).ok();
        let hash = hash.and_then(|hash| hash.try_into().ok());
        hash.map(Self)
            .ok_or("a certificate's SHA-256 has 64 digits of hex, with colons or without")
    }
}

/// The HTTP carrier of one agent.
pub(crate) struct Room {
    pub(crate) context: Arc<Context>,
    pub(crate) section: Section,
    /// `carrier.sock`.
    pub(crate) socket: PathBuf,
    pub(crate) queue: Queue,
    pub(crate) pace: Mutex<Pace>,
    /// Where bodies are read.
    pub(crate) desk: Desk,
    pub(crate) counts: Counts,
    pub(crate) lanes: Lanes,
    /// Threads that verify at once.
    pub(crate) judges: Semaphore,
    /// Polls that wait.
    pub(crate) poll_places: PollPlaces,
    view: RwLock<Option<Arc<TrustView>>>,
    is_up: AtomicBool,
}

impl Room {
    pub(crate) fn of(context: &Arc<Context>, section: &Section, socket: PathBuf) -> Arc<Self> {
        Arc::new(Self {
            context: Arc::clone(context),
            queue: Queue::of(section.queue_bytes),
            pace: Mutex::new(Pace::per_minute(section.envelopes_per_minute)),
            desk: Desk::of(DESK),
            counts: Counts::default(),
            lanes: Lanes::default(),
            judges: Semaphore::new(JUDGES),
            poll_places: PollPlaces::at(&socket, context.config.limits.connections),
            view: RwLock::default(),
            is_up: AtomicBool::new(false),
            section: section.clone(),
            socket,
        })
    }

    /// The newest snapshot of the trust store, while the daemon takes what comes.
    pub(crate) fn view(&self) -> Option<Arc<TrustView>> {
        let view = self.view.read().unwrap_or_else(PoisonError::into_inner);
        view.clone().filter(|_| self.is_up.load(Ordering::Acquire))
    }

    /// Verifies by this snapshot from now on.
    pub(crate) fn see(&self, view: TrustView) {
        let mut known = self.view.write().unwrap_or_else(PoisonError::into_inner);
        *known = Some(Arc::new(view));
        self.is_up.store(true, Ordering::Release);
    }

    /// The daemon is away: nothing is taken until it is back.
    pub(crate) fn lose(&self) {
        self.is_up.store(false, Ordering::Release);
        self.queue.give_up();
    }
}

impl Default for Section {
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

/// Bytes as the daemon's socket has them.
pub(crate) fn encode(bytes: &[u8]) -> String {
    BASE64URL_NOPAD.encode(bytes)
}

/// The bytes of what the daemon says.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    BASE64URL_NOPAD.decode(text.as_bytes()).ok()
}

/// How long the daemon may take to rule: a slow disk is slow.
pub(crate) const PROMPT: Duration = Duration::from_secs(30);
const JUDGES: usize = 4;
/// Bytes of bodies that are being read at once.
const DESK: usize = 32 << 20;
