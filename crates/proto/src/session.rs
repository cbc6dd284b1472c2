//! A session between two agents: its replay window for what comes, its ledger for what goes.

mod flight;
mod ledger;
mod window;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::handshake::{Grant, Offer, Retry, Role};
use crate::headers::{CapabilityName, Layers, Tier};
use crate::ids::{Digest, KeyId, SessionId, Version};
use crate::keys::SealKey;
use crate::time::Timestamp;

pub use crate::handshake::SESSION_LIFE;
pub use flight::LastFlight;
pub use ledger::{
    Abandoned, AwaitingReceipt, Handed, Ledger, Misfit, OUTSTANDING, OUTSTANDING_BYTES, Overdue,
    Settled, Ways,
};
pub use window::{Hole, Slot, WINDOW, Window};

/// How many exceptions one receipt has room for.
pub const EXCEPTIONS: usize = 256;
/// How long the windows outlive the session: the longest life of a message, and a minute.
pub const WINDOW_LIFE: Duration = Duration::from_secs(7 * 24 * 3600 + 60);

/// One session, made by a finished handshake.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Session {
    /// The transcript hash of the handshake that made it.
    pub id: SessionId,
    /// Which side of the handshake we were.
    pub role: Role,
    /// The key that signs what the peer sends in it.
    pub peer_key: KeyId,
    /// The key of ours that signs what we send in it.
    pub own_key: KeyId,
    /// The serials of the certificate and of the key statement of ours that the peer got with it.
    pub own_serials: (u64, u64),
    /// The key to seal for the peer in it.
    #[serde(with = "crate::stored")]
    pub peer_sealing: SealKey,
    /// The skill layers that the peer has loaded.
    #[serde(with = "crate::stored")]
    pub peer_layers: Layers,
    /// The capabilities that the peer offers.
    pub offered: Vec<Offer>,
    /// What the peer's programs offer beside what its flight settled.
    #[serde(default)]
    pub(crate) beside: Beside,
    /// The trust-layer version chosen.
    pub version: Version,
    /// When flight 4 was signed.
    pub began: Timestamp,
    /// When it ends, judged at a message's `timestamp`.
    pub ends: Timestamp,
    /// Until when the peer's certificate and key statement last that made it.
    pub peer_until: Timestamp,
    /// What we accept from the peer.
    pub given: Grant,
    /// What the peer accepts from us.
    pub received: Grant,
    /// Whether the peer is known to have it too.
    pub confirmed: bool,
    /// Whether nothing more is sent in it.
    pub closed: bool,
    /// Whether another key of ours opened it than the one that signs now: it is still heard and
    /// receipted, and nothing new is sent in it. Follows from the identity, not from the log.
    #[serde(skip)]
    pub retired: bool,
    /// Whether we have a later certificate or key statement now: the peer has to get it.
    #[serde(skip)]
    pub stale: bool,
    /// Whether we offer or grant something else now than our flight said: the peer has to hear of it.
    /// Follows from the policy, not from the log.
    #[serde(skip)]
    pub outdated: bool,
    /// Whether the key of ours that opened it is gone. Follows from the identity too.
    #[serde(skip)]
    pub keyless: bool,
    /// When it was made, by the clock that nobody sets; unknown for one from before the start.
    #[serde(skip)]
    pub made: Option<Duration>,
    /// What came.
    pub window: Window,
    /// What went.
    pub ledger: Ledger,
    /// Our last flight, for a peer that missed it, and the flight that it answers.
    #[serde(with = "crate::stored")]
    pub last_flight: LastFlight,
    /// The hash of the flight that [`Session::last_flight`] answers.
    pub answers: Digest,
    /// B's resending of flight 4.
    #[serde(skip)]
    pub retry: Option<Retry>,
    /// When the peer was asked for numbers that are missing.
    #[serde(skip)]
    pub asked: Option<Timestamp>,
    /// When the peer is asked once more what came of what expired, by the clock that nobody sets.
    #[serde(skip)]
    pub asks_again: Option<Duration>,
}

/// What a peer's programs offer for a while.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Beside {
    /// The number of the message that said so.
    sequence: u64,
    names: Vec<CapabilityName>,
}

impl Session {
    /// What the peer's flight of the handshake offered.
    pub(crate) fn settled_offers(&self) -> impl Iterator<Item = &Offer> {
        let settled = |offer: &&Offer| !self.beside.names.contains(&offer.name);
        self.offered.iter().filter(settled)
    }

    /// The names of what the peer offers and grants for what is said in that tier.
    pub fn offers_for(&self, tier: Tier) -> Vec<CapabilityName> {
        let granted = &self.received.capabilities;
        let offered = self.offered.iter();
        let offered = offered.filter(|offer| granted.contains(&offer.name) && tier <= offer.tier);
        offered.map(|offer| offer.name.clone()).collect()
    }

    /// Takes all that the peer offers beside that: the offer of the highest number counts.
    pub(crate) fn take_offer(&mut self, sequence: u64, offers: Vec<Offer>) {
        if sequence <= self.beside.sequence {
            return;
        }
        // Each offer lists everything that the peer's programs offer now, so it replaces the offer before: remove the
        // capabilities that the offer before named.
        let before = std::mem::take(&mut self.beside.names);
        self.offered.retain(|offer| !before.contains(&offer.name));
        let granted = &mut self.received.capabilities;
        granted.retain(|name| !before.contains(name));
        let names: Vec<_> = offers.iter().map(|offer| offer.name.clone()).collect();
        // An offer also grants the capabilities that it names (protocol.md, Offers).
        granted.extend(names.iter().cloned());
        self.offered.extend(offers);
        self.beside = Beside { sequence, names };
    }

    /// What the peer accepts from us by its flight alone.
    fn settled_grant(&self) -> Grant {
        let mut grant = self.received.clone();
        let beside = &self.beside.names;
        grant.capabilities.retain(|name| !beside.contains(name));
        grant
    }

    /// All but what has rows of its own.
    pub(crate) fn bare(&self) -> Self {
        Self {
            window: self.window.bare(),
            ledger: self.ledger.bare(),
            ..self.clone()
        }
    }

    /// Whether a new message may go out in it at `now`.
    pub fn is_open_for_sending(&self, now: Timestamp) -> bool {
        self.is_open() && !self.retired && now < self.ends
    }

    /// Whether both sides have it and neither closed it for sending, whether or not it has ended.
    pub(crate) fn is_open(&self) -> bool {
        self.confirmed && !self.closed
    }

    /// Whether a new session with the peer can end later. `own_until` is when our certificate or key
    /// statement ends.
    pub(crate) fn can_be_outlasted(&self, own_until: Timestamp) -> bool {
        own_until.min(self.peer_until) > self.ends
    }

    /// Whether nothing that a person decides changed between this session and `other`.
    pub fn has_terms_of(&self, other: &Self) -> bool {
        let keys = self.peer_key == other.peer_key && self.own_key == other.own_key;
        // `settled_grant` leaves out the capabilities that the peer's programs offer, since those change without a person's
        // decision.
        let grants = self.given == other.given && self.settled_grant() == other.settled_grant();
        keys && grants && self.version == other.version && self.peer_layers == other.peer_layers
    }

    /// When the peer said something in it last, as far as is remembered; at least when it began.
    pub fn heard(&self) -> Timestamp {
        let judged = self.window.slots().map(|(_, slot)| slot.signed_at).max();
        let said = judged.max(self.ledger.last_receipt());
        said.map_or(self.began, |said| said.max(self.began))
    }

    /// When two thirds of its life are over.
    pub fn renewal(&self) -> Timestamp {
        self.began
            .saturating_add(self.ends.since(self.began) / 3 * 2)
    }
}
