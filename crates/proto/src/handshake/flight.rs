//! What flights say: a peer's is read once, with its certificate and its key statement proven.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Grant, Offer, names_twice};
use crate::certificate::{Certificate, KeyStatement, parse_versions};
use crate::envelope::Message;
use crate::headers::Layers;
use crate::ids::{Digest, SessionId, Version};
use crate::reject::Reason;
use crate::statement::Revocation;
use crate::stored::Stored;
use signet_json::Value;

/// How many revocations of one flight are read.
const REVOCATIONS: usize = 64;

/// The certificate and key statement that came with a flight, both proven.
#[derive(Clone, Debug, PartialEq)]
pub struct Credentials {
    /// Signed by the root that the agent-id is bound to.
    pub certificate: Certificate,
    /// Signed by the certificate's signing key.
    pub keys: KeyStatement,
}

impl Credentials {
    /// Reads and proves those of a flight that was taken before.
    ///
    /// # Errors
    /// `certificate-invalid` or `keys-invalid`, when a signature does not hold.
    pub(crate) fn recalled(flight: &Message) -> Result<Self, Reason> {
        let member = |name: &str| flight.body()?.get(name);
        let certificate = member("certificate").and_then(|value| Certificate::parse(value).ok());
        let certificate = certificate.ok_or(Reason::CertificateInvalid)?;
        let key = &certificate.signing_key;
        let keys = member("keys").and_then(|value| KeyStatement::parse(value, key).ok());
        let keys = keys.ok_or(Reason::KeysInvalid)?;
        Ok(Self { certificate, keys })
    }
}

/// What a peer's flight says, read once. A member that its flight does not have, or that cannot be read, counts as
/// absent: [`Handshake::admit`](super::Handshake::admit) says in which order that is a fault.
#[derive(Clone, Debug)]
pub struct Flight {
    pub(crate) credentials: Credentials,
    versions: Option<Vec<Version>>,
    layers: Result<Layers, Reason>,
    named: Vec<SessionId>,
    /// What flights 1 and 2 carry. Their signatures are not proven: only that of news is worth it.
    pub(crate) revocations: Vec<Revocation>,
    pub(super) choice: Option<Version>,
    transcript: Option<Digest>,
    pub(super) capabilities: Vec<Offer>,
    pub(super) grant: Option<Grant>,
    /// Whether flight 4 grants a session.
    pub(super) is_granted: bool,
}

impl Flight {
    /// Reads a flight whose credentials were proven.
    pub(crate) fn of(body: &Value, credentials: Credentials) -> Self {
        let list = |name: &str| {
            let list = body.get(name).and_then(Value::as_array);
            list.map_or(&[][..], Vec::as_slice).iter()
        };
        let text = |name: &str| body.get(name)?.as_str();
        let sessions = list("sessions").filter_map(|item| item.as_str()?.parse().ok());
        let revocations = list("revocations").take(REVOCATIONS);
        Self {
            credentials,
            versions: versions_in(body),
            layers: body
                .get("layers")
                .ok_or(Reason::InvalidShape)
                .and_then(Layers::try_from),
            named: sessions.map(SessionId).collect(),
            revocations: revocations
                .filter_map(|value| Revocation::read(value).ok())
                .collect(),
            choice: choice_in(body),
            transcript: text("transcript").and_then(|text| text.parse().ok()),
            capabilities: list("capabilities").filter_map(Offer::parse).collect(),
            grant: grant_in(body),
            is_granted: text("decision") == Some("granted"),
        }
    }

    /// Reads and proves a flight that was taken before: one of our log, or of a row. Whether its root is the one
    /// that its sender is bound to was judged when it came.
    ///
    /// # Errors
    /// As for `Credentials::recalled`.
    pub fn recalled(flight: &Message) -> Result<Self, Reason> {
        let credentials = Credentials::recalled(flight)?;
        let body = flight.body().ok_or(Reason::InvalidShape)?;
        Ok(Self::of(body, credentials))
    }

    /// The versions that flights 1 and 2 offer.
    pub(super) fn versions(&self) -> Result<&[Version], Reason> {
        self.versions.as_deref().ok_or(Reason::InvalidShape)
    }

    /// What flights 1 and 2 say of their sender.
    pub(super) fn opening(&self) -> Opening {
        Opening {
            named: self.named.clone(),
            // The default layers are never used: `admit_offer` has refused a flight whose layers cannot be read.
            layers: self.layers.unwrap_or_default(),
        }
    }

    /// What flights 1 and 2 offer must lie within the certificate and agree with the headers.
    pub(super) fn admit_offer(&self, message: &Message) -> Result<(), Reason> {
        let versions = self.versions()?;
        let certificate = &self.credentials.certificate;
        if !versions
            .iter()
            .all(|version| certificate.versions.contains(version))
        {
            return Err(Reason::VersionUnsupported);
        }
        if versions.first() != Some(&message.headers.version) {
            return Err(Reason::VersionMismatch);
        }
        match self.layers?.is_subset_of(certificate.layers) {
            true => Ok(()),
            false => Err(Reason::LayersExceedCertificate),
        }
    }

    pub(super) fn admit_transcript(&self, expected: Transcript) -> Result<(), Reason> {
        match self.transcript == Some(expected.0) {
            true => Ok(()),
            false => Err(Reason::TranscriptMismatch),
        }
    }

    /// A name that is offered twice would mean one thing to us and another to a person who reads it.
    pub(super) fn admit_capabilities(&self) -> Result<(), Reason> {
        match names_twice(&self.capabilities) {
            true => Err(Reason::InvalidShape),
            false => Ok(()),
        }
    }

    /// Both flights of one side carry the same certificate and key statement.
    pub(super) fn admit_same_credentials(&self, earlier: &Self) -> Result<(), Reason> {
        match self.credentials == earlier.credentials {
            true => Ok(()),
            false => Err(Reason::TranscriptMismatch),
        }
    }
}

pub(super) fn versions_in(body: &Value) -> Option<Vec<Version>> {
    body.get("versions").and_then(parse_versions)
}

pub(super) fn choice_in(body: &Value) -> Option<Version> {
    body.get("choice")?.as_str()?.parse().ok()
}

pub(super) fn grant_in(body: &Value) -> Option<Grant> {
    Grant::parse(body.get("grant")?)
}

/// A peer's flight that was taken: the message, and what it says. A row has the message alone, and it is proven again
/// when it is put back.
#[derive(Clone, Debug)]
pub(super) struct TakenFlight {
    pub(super) message: Arc<Message>,
    pub(super) flight: Arc<Flight>,
}

impl Stored for TakenFlight {
    fn to_stored(&self) -> Value {
        self.message.to_stored()
    }

    fn from_stored(value: &Value) -> Option<Self> {
        let message = Arc::from_stored(value)?;
        let flight = Flight::recalled(&message).ok()?;
        let flight = Arc::new(flight);
        Some(Self { message, flight })
    }
}

/// What the peer's flight 1 or 2 said of itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Opening {
    pub(super) named: Vec<SessionId>,
    #[serde(with = "crate::stored")]
    pub(super) layers: Layers,
}

/// The running hash over the flights: H(n) = SHA-256(H(n−1) ‖ hash of message n).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Transcript(pub(super) Digest);

impl Transcript {
    pub(super) fn start() -> Self {
        Self(Digest::of(&[b"signet/1 handshake"]))
    }

    pub(super) fn with(self, flight: &Message) -> Self {
        // Join the hashes without a separator: each has a fixed length, so no other pair of hashes gives the same bytes.
        Self(Digest::of(&[self.0.as_bytes(), flight.hash().as_bytes()]))
    }
}
