//! The bodies of the flights.

use serde::{Deserialize, Serialize};
use signet_json::Value;

use super::{Grant, Offer, names_twice};
use crate::certificate::{Certificate, KeyStatement, parse_versions};
use crate::envelope::Message;
use crate::headers::Layers;
use crate::ids::{Digest, SessionId, Version};
use crate::reject::Reason;

/// The body of a flight that fits its schema.
pub(super) struct Body<'a>(&'a Value);

impl<'a> Body<'a> {
    pub(super) fn of(flight: &'a Message) -> Result<Self, Reason> {
        flight.body.as_ref().map(Self).ok_or(Reason::InvalidShape)
    }

    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        self.0.get(name)?.as_str()
    }

    pub(super) fn versions(&self) -> Result<Vec<Version>, Reason> {
        self.0
            .get("versions")
            .and_then(parse_versions)
            .ok_or(Reason::InvalidShape)
    }

    pub(super) fn choice(&self) -> Option<Version> {
        self.text("choice")?.parse().ok()
    }

    fn sessions(&self) -> Vec<SessionId> {
        let list = self
            .0
            .get("sessions")
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice);
        list.iter()
            .filter_map(|item| item.as_str()?.parse().ok().map(SessionId))
            .collect()
    }

    /// What flights 1 and 2 say of their sender.
    pub(super) fn opening(&self) -> Opening {
        let layers = self.0.get("layers").map(Layers::try_from);
        Opening {
            named: self.sessions(),
            layers: layers.and_then(Result::ok).unwrap_or_default(),
        }
    }

    /// The capabilities that flights 3 and 4 offer.
    pub(super) fn capabilities(&self) -> Vec<Offer> {
        let list = self.0.get("capabilities").and_then(Value::as_array);
        let list = list.map_or(&[][..], Vec::as_slice);
        list.iter().filter_map(Offer::parse).collect()
    }

    /// A name that is offered twice would mean one thing to us and another to a person who reads it.
    pub(super) fn admit_capabilities(&self) -> Result<(), Reason> {
        if names_twice(&self.capabilities()) {
            Err(Reason::InvalidShape)
        } else {
            Ok(())
        }
    }

    pub(super) fn grant(&self) -> Option<Grant> {
        Grant::parse(self.0.get("grant")?)
    }

    pub(super) fn credentials(&self) -> Option<(Certificate, KeyStatement)> {
        let certificate = Certificate::parse(self.0.get("certificate")?).ok()?;
        let keys = KeyStatement::parse(self.0.get("keys")?, &certificate.signing_key).ok()?;
        Some((certificate, keys))
    }

    /// What flights 1 and 2 offer must lie within the certificate and agree with the headers.
    pub(super) fn admit_offer(&self, flight: &Message) -> Result<(), Reason> {
        let versions = self.versions()?;
        let (certificate, _) = self.credentials().ok_or(Reason::CertificateInvalid)?;
        if !versions
            .iter()
            .all(|version| certificate.versions.contains(version))
        {
            return Err(Reason::VersionUnsupported);
        }
        if versions.first() != Some(&flight.headers.version) {
            return Err(Reason::VersionMismatch);
        }
        let layers = self
            .0
            .get("layers")
            .ok_or(Reason::InvalidShape)
            .and_then(Layers::try_from)?;
        if layers.is_subset_of(certificate.layers) {
            Ok(())
        } else {
            Err(Reason::LayersExceedCertificate)
        }
    }

    pub(super) fn admit_transcript(&self, expected: Transcript) -> Result<(), Reason> {
        let same = self.text("transcript") == Some(expected.0.to_string().as_str());
        if same {
            Ok(())
        } else {
            Err(Reason::TranscriptMismatch)
        }
    }

    /// Both flights of one side carry the same certificate and key statement.
    pub(super) fn admit_same_credentials(&self, earlier: &Message) -> Result<(), Reason> {
        let earlier = Body::of(earlier)?;
        let same = |name| self.0.get(name) == earlier.0.get(name);
        if same("certificate") && same("keys") {
            Ok(())
        } else {
            Err(Reason::TranscriptMismatch)
        }
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
        Self(Digest::of(&[self.0.as_bytes(), flight.hash().as_bytes()]))
    }
}
