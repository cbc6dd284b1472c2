//! Pause and resume: a person stops all their agents, and lets them go on.

use signet_json::{Map, Value};

use crate::certificate::members::{Members, sign_statement};
use crate::certificate::{CertificateError, ControlCertificate};
use crate::ids::PrincipalId;
use crate::keys::{Purpose, SigningKey};
use crate::time::Timestamp;

/// A person's word that their agents pause, or go on (`signet/1 pause`), with the control certificate
/// under which it was signed. Its serial only rises, so that an old word cannot be repeated.
#[derive(Clone, Debug, PartialEq)]
pub struct PauseStatement {
    /// The person.
    pub principal: PrincipalId,
    /// Whether the agents pause (or resume).
    pub paused: bool,
    /// Rises with every pause and resume of this person.
    pub serial: u64,
    /// When it was signed.
    pub issued_at: Timestamp,
    /// Whose control key signed.
    pub control: ControlCertificate,
    value: Value,
}

impl PauseStatement {
    /// A statement signed by the control `key` that `control` names.
    ///
    /// # Errors
    /// When the signature would not hold: `key` is not the one that `control` names.
    pub fn sign(
        paused: bool,
        serial: u64,
        now: Timestamp,
        control: &ControlCertificate,
        key: &SigningKey,
    ) -> Result<Self, CertificateError> {
        let mut members = Map::new();
        members.insert("type".into(), "pause".into());
        members.insert("principal-id".into(), control.principal.as_str().into());
        members.insert("paused".into(), paused.into());
        members.insert("serial".into(), serial.into());
        members.insert("issued-at".into(), now.to_string().into());
        Self::parse(&sign_statement(members, Purpose::Pause, key), control)
    }

    /// Reads a statement and verifies it under the control key.
    ///
    /// # Errors
    /// Names the member at fault, or says that the signature does not hold.
    pub fn parse(value: &Value, control: &ControlCertificate) -> Result<Self, CertificateError> {
        let members = Members::of(value, MEMBERS)?;
        if members.text("type")? != "pause" {
            return Err(CertificateError::Member("type"));
        }
        let statement = Self {
            principal: members.parsed("principal-id")?,
            paused: members
                .value("paused")?
                .as_bool()
                .ok_or(CertificateError::Member("paused"))?,
            serial: members.serial("serial")?,
            issued_at: members.parsed("issued-at")?,
            control: control.clone(),
            value: value.clone(),
        };
        if statement.principal != control.principal || !control.covers(statement.issued_at) {
            return Err(CertificateError::Member("principal-id"));
        }
        members.verify(Purpose::Pause, &control.control_key)?;
        Ok(statement)
    }

    /// The statement as it is sent and logged.
    pub fn to_value(&self) -> &Value {
        &self.value
    }
}

const MEMBERS: &[&str] = &[
    "type",
    "principal-id",
    "paused",
    "serial",
    "issued-at",
    "signature",
];
