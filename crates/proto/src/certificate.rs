//! Certificates and key statements (docs/protocol.md, Keys, principals, certificates).
//!
//! A principal's root key signs the certificate of each of the person's agents; the agent's signing
//! key signs a statement of its current sealing key. Both are JSON objects with a `signature` member
//! over the rest, so that a person can read them and any JCS library can check them.

use std::time::Duration;

use crate::headers::Layers;
use crate::ids::{AgentId, Digest, PrincipalId, Version, decode_base64url, encode_base64url};
use crate::json::{Map, Value, canonical};
use crate::keys::{KeyError, Purpose, SealKey, SigningKey, VerifyKey};
use crate::time::Timestamp;

/// How long a key statement lasts; it is rotated after [`KEYS_ROTATE`].
pub const KEYS_LIFE: Duration = Duration::from_secs(45 * 24 * 3600);
/// The age at which a new key statement is made.
pub const KEYS_ROTATE: Duration = Duration::from_secs(30 * 24 * 3600);

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
        let members = Members::of(
            value,
            &[
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
            ],
        )?;
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
        members.verify(Purpose::Certificate, &certificate.root)?;
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

/// What an agent's signing key says of its sealing key (`signet/1 keys`).
#[derive(Clone, Debug, PartialEq)]
pub struct KeyStatement {
    /// The agent that states it.
    pub agent: AgentId,
    /// The X25519 key to seal for.
    pub sealing_key: SealKey,
    /// Rises with every statement of this agent.
    pub serial: u64,
    /// Not valid after; a session ends no later.
    pub not_after: Timestamp,
    value: Value,
}

impl KeyStatement {
    /// A statement signed by the agent's `key`.
    ///
    /// # Errors
    /// When the statement would not parse.
    pub fn sign(
        agent: &AgentId,
        sealing_key: SealKey,
        serial: u64,
        not_after: Timestamp,
        key: &SigningKey,
    ) -> Result<Self, CertificateError> {
        let mut members = Map::new();
        members.insert("type".into(), "keys".into());
        members.insert("agent-id".into(), agent.as_str().into());
        members.insert("sealing-key".into(), sealing_key.to_string().into());
        members.insert("serial".into(), serial.into());
        members.insert("not-after".into(), not_after.to_string().into());
        Self::parse(&sign_statement(members, Purpose::Keys, key), key.public())
    }

    /// The next statement, once this one is [`KEYS_ROTATE`] old: the same sealing key, the next serial.
    ///
    /// # Errors
    /// When the statement would not parse.
    pub fn renewed(
        &self,
        now: Timestamp,
        key: &SigningKey,
    ) -> Result<Option<Self>, CertificateError> {
        let made = self.not_after.saturating_sub(KEYS_LIFE);
        if now < made.saturating_add(KEYS_ROTATE) {
            return Ok(None);
        }
        let (serial, end) = (self.serial.saturating_add(1), now.saturating_add(KEYS_LIFE));
        Self::sign(&self.agent, self.sealing_key, serial, end, key).map(Some)
    }

    /// Reads a statement and verifies it under the agent's signing key.
    ///
    /// # Errors
    /// Names the member at fault, or says that the signature does not hold.
    pub fn parse(value: &Value, key: &VerifyKey) -> Result<Self, CertificateError> {
        let members = Members::of(
            value,
            &[
                "type",
                "agent-id",
                "sealing-key",
                "serial",
                "not-after",
                "signature",
            ],
        )?;
        if members.text("type")? != "keys" {
            return Err(CertificateError::Member("type"));
        }
        let statement = Self {
            agent: members.parsed("agent-id")?,
            sealing_key: members
                .text("sealing-key")?
                .parse()
                .map_err(|error| CertificateError::Key("sealing-key", error))?,
            serial: members.serial("serial")?,
            not_after: members.parsed("not-after")?,
            value: value.clone(),
        };
        members.verify(Purpose::Keys, key)?;
        Ok(statement)
    }

    /// The statement as it is sent.
    pub fn to_value(&self) -> &Value {
        &self.value
    }
}

fn sign_statement(mut members: Map<String, Value>, purpose: Purpose, key: &SigningKey) -> Value {
    let unsigned = canonical(&Value::Object(members.clone()));
    let signature = key.sign(purpose, &[&unsigned]);
    members.insert("signature".into(), encode_base64url(&signature).into());
    Value::Object(members)
}

struct Members<'a>(&'a Map<String, Value>);

impl<'a> Members<'a> {
    fn of(value: &'a Value, known: &[&'static str]) -> Result<Self, CertificateError> {
        let members = value.as_object().ok_or(CertificateError::Member("type"))?;
        if members.keys().any(|name| !known.contains(&name.as_str())) {
            return Err(CertificateError::Member("(an unknown one)"));
        }
        Ok(Self(members))
    }

    fn value(&self, name: &'static str) -> Result<&'a Value, CertificateError> {
        self.0.get(name).ok_or(CertificateError::Member(name))
    }

    fn text(&self, name: &'static str) -> Result<&'a str, CertificateError> {
        self.value(name)?
            .as_str()
            .ok_or(CertificateError::Member(name))
    }

    fn parsed<T: std::str::FromStr>(&self, name: &'static str) -> Result<T, CertificateError> {
        self.text(name)?
            .parse()
            .map_err(|_| CertificateError::Member(name))
    }

    fn key(&self, name: &'static str) -> Result<VerifyKey, CertificateError> {
        self.text(name)?
            .parse()
            .map_err(|error| CertificateError::Key(name, error))
    }

    fn serial(&self, name: &'static str) -> Result<u64, CertificateError> {
        self.value(name)?
            .as_u64()
            .filter(|serial| *serial > 0)
            .ok_or(CertificateError::Member(name))
    }

    fn versions(&self, name: &'static str) -> Result<Vec<Version>, CertificateError> {
        parse_versions(self.value(name)?).ok_or(CertificateError::Member(name))
    }

    fn verify(&self, purpose: Purpose, key: &VerifyKey) -> Result<(), CertificateError> {
        let signature = decode_base64url(self.text("signature")?)
            .ok()
            .and_then(|bytes| <[u8; 64]>::try_from(bytes).ok())
            .ok_or(CertificateError::Member("signature"))?;
        let mut unsigned = self.0.clone();
        unsigned.remove("signature");
        let signed = canonical(&Value::Object(unsigned));
        if key.verify(purpose, &[&signed], &signature) {
            Ok(())
        } else {
            Err(CertificateError::Signature)
        }
    }
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
