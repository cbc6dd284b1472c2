//! What a finished handshake gives: all that a session needs.

use std::sync::Arc;

use super::flight::{Credentials, Flight, Opening, Transcript, grant_in};
use super::{Grant, Offer, Role, SESSION_LIFE};
use crate::certificate::Certificate;
use crate::envelope::Message;
use crate::headers::Layers;
use crate::ids::{Digest, KeyId, SessionId, Version};
use crate::keys::SealKey;
use crate::time::Timestamp;

/// What a finished handshake gives: all that a session needs.
#[derive(Clone, Debug)]
pub struct Established {
    /// H4.
    pub id: SessionId,
    /// Our side.
    pub role: Role,
    /// The version chosen.
    pub version: Version,
    /// When flight 4 was signed.
    pub began: Timestamp,
    /// The first not-after of either side's certificate and key statement, or 30 days.
    pub ends: Timestamp,
    /// The first not-after of the peer's certificate and key statement.
    pub peer_until: Timestamp,
    /// What we accept from the peer.
    pub given: Grant,
    /// What the peer accepts from us.
    pub received: Grant,
    /// Our last flight.
    pub last_flight: Arc<Message>,
    /// The hash of the flight that it answers.
    pub answers: Digest,
    /// The capabilities that the peer offers, with their schemas: for people, never compiled.
    pub offered: Vec<Offer>,
    /// The skill layers that the peer has loaded, within its certificate's.
    pub peer_layers: Layers,
    /// The key that the peer's sealed messages are sealed to.
    pub peer_sealing: SealKey,
    /// The key of ours that signed our flights.
    pub own_key: KeyId,
    /// The serials of the certificate and of the key statement in our flights.
    pub own_serials: (u64, u64),
    /// The peer's certificate.
    pub certificate: Certificate,
    /// The serial of the peer's key statement.
    pub keys_serial: u64,
    /// The lowest version that the peer offers.
    pub lowest_version: Version,
    /// The sessions that the peer said it holds.
    pub named: Vec<SessionId>,
}

/// Our last flight, the hash of the flight that it answers, and the peer's flight with its grant.
pub(super) struct Last {
    pub(super) flight: Arc<Message>,
    pub(super) answers: Digest,
    pub(super) granted: Arc<Flight>,
}

pub(super) fn established(
    role: Role,
    version: Version,
    transcript: Transcript,
    last: Last,
    trust: &Message,
    opening: Opening,
) -> Option<Established> {
    // We signed this flight ourselves, so its members are read without a proof.
    let mine = last.flight.body()?;
    let serial = |of: &str| mine.get(of)?.get("serial")?.as_u64();
    let until =
        |of: &str| -> Option<Timestamp> { mine.get(of)?.get("not-after")?.as_str()?.parse().ok() };
    let own_until = until("certificate")?.min(until("keys")?);
    let theirs = last.granted;
    let Credentials { certificate, keys } = theirs.credentials.clone();
    let offered = theirs.capabilities.clone();
    let began = trust.headers.timestamp;
    let peer_until = certificate.not_after.min(keys.not_after);
    Some(Established {
        id: SessionId(transcript.0),
        role,
        version,
        began,
        ends: began
            .saturating_add(SESSION_LIFE)
            .min(own_until)
            .min(peer_until),
        peer_until,
        given: grant_in(mine)?,
        // A grant counts only for capabilities that its sender offers in the same flight (protocol.md, Grants).
        received: theirs.grant.clone()?.within(&offered),
        own_key: last.flight.headers.key_id,
        last_flight: Arc::clone(&last.flight),
        answers: last.answers,
        keys_serial: keys.serial,
        lowest_version: certificate.lowest_version(),
        offered,
        peer_layers: opening.layers,
        peer_sealing: keys.sealing_key,
        own_serials: (serial("certificate")?, serial("keys")?),
        certificate,
        named: opening.named,
    })
}
