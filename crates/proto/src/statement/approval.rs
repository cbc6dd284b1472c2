//! Approvals: a person decides whether a draft may leave.

use signet_json::{Map, Value};

use crate::certificate::members::{Members, sign_statement};
use crate::certificate::{CertificateError, ControlCertificate};
use crate::ids::{Digest, PrincipalId};
use crate::keys::{Purpose, SigningKey};
use crate::time::Timestamp;

/// What was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It may leave.
    Approved,
    /// It may not.
    Refused,
}

impl Decision {
    /// As the statement names it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::Refused => "refused",
        }
    }
}

/// A person's decision about one draft (`signet/1 approval`), with the control certificate under
/// which it was signed.
#[derive(Clone, Debug, PartialEq)]
pub struct Approval {
    /// The person.
    pub principal: PrincipalId,
    /// SHA-256(JCS(draft)): the draft as its log line holds it.
    pub draft: Digest,
    /// What was decided.
    pub decision: Decision,
    /// When.
    pub decided_at: Timestamp,
    /// Whose control key signed.
    pub control: ControlCertificate,
    value: Value,
}

impl Approval {
    /// A decision signed by the control `key` that `control` names.
    ///
    /// # Errors
    /// When the signature would not hold: `key` is not the one that `control` names.
    pub fn sign(
        draft: Digest,
        decision: Decision,
        now: Timestamp,
        control: &ControlCertificate,
        key: &SigningKey,
    ) -> Result<Self, CertificateError> {
        let mut members = Map::new();
        members.insert("type".into(), "approval".into());
        members.insert("principal-id".into(), control.principal.as_str().into());
        members.insert("draft".into(), draft.to_string().into());
        members.insert("decision".into(), decision.as_str().into());
        members.insert("decided-at".into(), now.to_string().into());
        Self::parse(&sign_statement(members, Purpose::Approval, key), control)
    }

    /// Reads a decision and verifies it under the control key.
    ///
    /// # Errors
    /// Names the member at fault, or says that the signature does not hold.
    pub fn parse(value: &Value, control: &ControlCertificate) -> Result<Self, CertificateError> {
        let members = Members::of(value, MEMBERS)?;
        if members.text("type")? != "approval" {
            return Err(CertificateError::Member("type"));
        }
        let approval = Self {
            principal: members.parsed("principal-id")?,
            draft: members.parsed("draft")?,
            decision: match members.text("decision")? {
                "approved" => Decision::Approved,
                "refused" => Decision::Refused,
                _ => return Err(CertificateError::Member("decision")),
            },
            decided_at: members.parsed("decided-at")?,
            control: control.clone(),
            value: value.clone(),
        };
        if approval.principal != control.principal || !control.covers(approval.decided_at) {
            return Err(CertificateError::Member("principal-id"));
        }
        members.verify(Purpose::Approval, &control.control_key)?;
        Ok(approval)
    }

    /// The statement as it is logged.
    pub fn to_value(&self) -> &Value {
        &self.value
    }
}

const MEMBERS: &[&str] = &[
    "type",
    "principal-id",
    "draft",
    "decision",
    "decided-at",
    "signature",
];
