//! Certificates and key statements (docs/protocol.md, Keys, principals, certificates).
//!
//! A principal's root key signs the certificate of each of the person's agents; the agent's signing
//! key signs a statement of its current sealing key. Both are JSON objects with a `signature` member
//! over the rest, so that a person can read them and any JCS library can check them.

mod control;
mod keys;
pub(crate) mod members;

use crate::headers::Layers;
use crate::ids::{AgentId, Digest, PrincipalId, Version};
use crate::keys::{KeyError, Purpose, SigningKey, VerifyKey};
use crate::time::Timestamp;

pub use control::{ControlCertificate, ControlRequest};
pub(crate) use keys::KEYS_LEEWAY;
pub use keys::{KEYS_LIFE, KEYS_ROTATE, KeyStatement, SEALING_AFTER};
use members::{Members, sign_statement};
use signet_json::{Map, Value};

/// The certificate or key statement is not what it claims to be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// A member is absent, unknown or of the wrong form.
    #[error("the member `{0}` is absent, unknown or malformed; ask its owner to export it again")]
    Member(&'static str),
    /// A key inside is unusable.
    #[error("the member `{0}`: {1}")]
    Key(&'static str, KeyError),
    /// The signature does not hold.
    #[error("the signature does not hold; the file was changed or is forged")]
    Signature,
}

/// What a root key says of one agent. Exists only with a signature of its own `root-key` that holds;
/// whether that root is *trusted* is for [`crate::trust`] to say.
#[derive(Clone, Debug, PartialEq)]
pub struct Certificate {
    /// The agent it speaks of.
    pub agent: AgentId,
    /// The person it acts for.
    pub principal: PrincipalId,
    /// The key that signs the agent's messages.
    pub signing_key: VerifyKey,
    /// The highest skill layers that the agent may claim.
    pub layers: Layers,
    /// The trust-layer versions that the agent speaks, ascending.
    pub versions: Vec<Version>,
    /// Rises with every certificate of this agent.
    pub serial: u64,
    /// Not valid before.
    pub not_before: Timestamp,
    /// Not valid after.
    pub not_after: Timestamp,
    /// The root key that signed.
    pub root: VerifyKey,
    /// SHA-256 of the next root key (pre-rotation).
    pub next_root: Digest,
    value: Value,
}

/// What a root key is asked to certify.
#[derive(Clone, Debug)]
pub struct CertificateRequest {
    /// See [`Certificate::agent`].
    pub agent: AgentId,
    /// See [`Certificate::principal`].
    pub principal: PrincipalId,
    /// See [`Certificate::signing_key`].
    pub signing_key: VerifyKey,
    /// See [`Certificate::layers`].
    pub layers: Layers,
    /// See [`Certificate::versions`].
    pub versions: Vec<Version>,
    /// See [`Certificate::serial`].
    pub serial: u64,
    /// See [`Certificate::not_before`].
    pub not_before: Timestamp,
    /// See [`Certificate::not_after`].
    pub not_after: Timestamp,
    /// See [`Certificate::next_root`].
    pub next_root: Digest,
}

impl CertificateRequest {
    /// The certificate, signed by `root`.
    ///
    /// # Errors
    /// When the request itself would not parse (no versions, an end before the start).
    pub fn sign(self, root: &SigningKey) -> Result<Certificate, CertificateError> {
        let mut members = Map::new();
        members.insert("type".into(), "agent".into());
        members.insert("agent-id".into(), self.agent.as_str().into());
        members.insert("principal-id".into(), self.principal.as_str().into());
        members.insert("signing-key".into(), self.signing_key.to_string().into());
        members.insert("layers".into(), self.layers.to_value());
        members.insert(
            "versions".into(),
            self.versions
                .iter()
                .map(|v| Value::from(v.to_string()))
                .collect(),
        );
        members.insert("serial".into(), self.serial.into());
        members.insert("not-before".into(), self.not_before.to_string().into());
        members.insert("not-after".into(), self.not_after.to_string().into());
        members.insert("root-key".into(), root.public().to_string().into());
        members.insert("next-root".into(), self.next_root.to_string().into());
        Certificate::parse(&sign_statement(members, Purpose::Certificate, root))
    }
}

impl Certificate {
    /// Reads a certificate and verifies the signature of its own root key.
    ///
    /// # Errors
    /// Names the member at fault, or says that the signature does not hold.
    pub fn parse(value: &Value) -> Result<Self, CertificateError> {
        let certificate = Self::read(value)?;
        certificate.prove()?;
        Ok(certificate)
    }

    /// Verifies the root's signature.
    pub(crate) fn prove(&self) -> Result<(), CertificateError> {
        Members::of(&self.value, MEMBERS)?.verify(Purpose::Certificate, &self.root)
    }

    /// Reads a certificate whose signature is not yet verified: who is looked up before, and a
    /// stranger costs no signature.
    pub(crate) fn read(value: &Value) -> Result<Self, CertificateError> {
        let members = Members::of(value, MEMBERS)?;
        if members.text("type")? != "agent" {
            return Err(CertificateError::Member("type"));
        }
        let root = members.key("root-key")?;
        let certificate = Self {
            agent: members.parsed("agent-id")?,
            principal: members.parsed("principal-id")?,
            signing_key: members.key("signing-key")?,
            layers: members
                .value("layers")?
                .try_into()
                .map_err(|_| CertificateError::Member("layers"))?,
            versions: members.versions("versions")?,
            serial: members.serial("serial")?,
            not_before: members.parsed("not-before")?,
            not_after: members.parsed("not-after")?,
            next_root: members.parsed("next-root")?,
            value: value.clone(),
            root,
        };
        if certificate.not_after <= certificate.not_before {
            return Err(CertificateError::Member("not-after"));
        }
        Ok(certificate)
    }

    /// The certificate as it is sent and logged.
    pub fn to_value(&self) -> &Value {
        &self.value
    }

    /// Whether `time` lies between not-before and not-after, both included.
    pub fn covers(&self, time: Timestamp) -> bool {
        self.not_before <= time && time <= self.not_after
    }

    /// The lowest version the agent speaks.
    pub fn lowest_version(&self) -> Version {
        self.versions.first().copied().unwrap_or(Version::CURRENT)
    }
}

/// The serial of what is made at `now`: its second (Unix time), and more than the one `before`.
pub fn next_serial(before: Option<u64>, now: Timestamp) -> u64 {
    let second = u64::try_from(now.as_millis() / 1000).unwrap_or_default();
    second.max(before.map_or(1, |before| before.saturating_add(1)))
}

/// Trust-layer versions as they stand in certificates and flights: 1 to 16, strictly ascending.
pub(crate) fn parse_versions(value: &Value) -> Option<Vec<Version>> {
    let items = value
        .as_array()
        .filter(|items| (1..=16).contains(&items.len()))?;
    let versions: Vec<Version> = items
        .iter()
        .map(|item| item.as_str()?.parse().ok())
        .collect::<Option<_>>()?;
    versions.is_sorted_by(|a, b| a < b).then_some(versions)
}

const MEMBERS: &[&str] = &[
    "type",
    "agent-id",
    "principal-id",
    "signing-key",
    "layers",
    "versions",
    "serial",
    "not-before",
    "not-after",
    "root-key",
    "next-root",
    "signature",
];
