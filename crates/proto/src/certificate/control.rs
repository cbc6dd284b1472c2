//! A person's control certificate: the keys with which they decide and read.

use signet_json::{Map, Value};

use super::CertificateError;
use super::members::{Members, sign_statement};
use crate::ids::{Digest, PrincipalId};
use crate::keys::{Purpose, SealKey, SigningKey, VerifyKey};
use crate::time::Timestamp;

/// What a root key says of the person's own two keys: the control key, which approves, pauses and
/// resumes, and the audit sealing key, to which sealed messages are sealed once more in the log.
///
/// Exists only with a signature of its own `root-key` that holds; only the root of an agent's own
/// principal is ever asked for it, so it is not sent to other people.
#[derive(Clone, Debug, PartialEq)]
pub struct ControlCertificate {
    /// The person.
    pub principal: PrincipalId,
    /// Signs approvals, pause and resume.
    pub control_key: VerifyKey,
    /// Reads the log's sealed copies; its secret is the person's.
    pub audit_key: SealKey,
    /// Rises with every control certificate of this person.
    pub serial: u64,
    /// Not valid before.
    pub not_before: Timestamp,
    /// Not valid after.
    pub not_after: Timestamp,
    /// The root key that signed.
    pub root: VerifyKey,
    value: Value,
}

/// What a root key is asked to say of the person's own keys.
#[derive(Clone, Debug)]
pub struct ControlRequest {
    /// See [`ControlCertificate::principal`].
    pub principal: PrincipalId,
    /// See [`ControlCertificate::control_key`].
    pub control_key: VerifyKey,
    /// See [`ControlCertificate::audit_key`].
    pub audit_key: SealKey,
    /// See [`ControlCertificate::serial`].
    pub serial: u64,
    /// See [`ControlCertificate::not_before`].
    pub not_before: Timestamp,
    /// See [`ControlCertificate::not_after`].
    pub not_after: Timestamp,
    /// SHA-256 of the next root key (pre-rotation).
    pub next_root: Digest,
}

impl ControlRequest {
    /// The certificate, signed by `root`.
    ///
    /// # Errors
    /// When the request itself would not parse (an end before the start).
    pub fn sign(self, root: &SigningKey) -> Result<ControlCertificate, CertificateError> {
        let mut members = Map::new();
        members.insert("type".into(), "control".into());
        members.insert("principal-id".into(), self.principal.as_str().into());
        members.insert("control-key".into(), self.control_key.to_string().into());
        members.insert("audit-key".into(), self.audit_key.to_string().into());
        members.insert("serial".into(), self.serial.into());
        members.insert("not-before".into(), self.not_before.to_string().into());
        members.insert("not-after".into(), self.not_after.to_string().into());
        members.insert("root-key".into(), root.public().to_string().into());
        members.insert("next-root".into(), self.next_root.to_string().into());
        ControlCertificate::parse(&sign_statement(members, Purpose::Certificate, root))
    }
}

impl ControlCertificate {
    /// Reads a control certificate and verifies the signature of its own root key.
    ///
    /// # Errors
    /// Names the member at fault, or says that the signature does not hold.
    pub fn parse(value: &Value) -> Result<Self, CertificateError> {
        let members = Members::of(value, MEMBERS)?;
        if members.text("type")? != "control" {
            return Err(CertificateError::Member("type"));
        }
        members.parsed::<Digest>("next-root")?;
        let certificate = Self {
            principal: members.parsed("principal-id")?,
            control_key: members.key("control-key")?,
            audit_key: members.seal_key("audit-key")?,
            serial: members.serial("serial")?,
            not_before: members.parsed("not-before")?,
            not_after: members.parsed("not-after")?,
            root: members.key("root-key")?,
            value: value.clone(),
        };
        if certificate.not_after <= certificate.not_before {
            return Err(CertificateError::Member("not-after"));
        }
        members.verify(Purpose::Certificate, &certificate.root)?;
        Ok(certificate)
    }

    /// The certificate as it is kept, sent and logged.
    pub fn to_value(&self) -> &Value {
        &self.value
    }

    /// Whether `time` lies between not-before and not-after, both included.
    pub fn covers(&self, time: Timestamp) -> bool {
        self.not_before <= time && time <= self.not_after
    }
}

const MEMBERS: &[&str] = &[
    "type",
    "principal-id",
    "control-key",
    "audit-key",
    "serial",
    "not-before",
    "not-after",
    "root-key",
    "next-root",
    "signature",
];
