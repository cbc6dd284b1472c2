//! Approvals: a person decides whether a draft may leave.

use crate::certificate::ControlCertificate;
use crate::ids::{Digest, PrincipalId};
use crate::said::*;
use crate::time::Timestamp;
use crate::words::words;

words! {
    /// What was decided.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Decision {
        /// It may leave.
        Approved "approved",
        /// It may not.
        Refused "refused",
    }
}

parts! {
    Decision, |decision| decision.as_str(), |members, name| members.given(name, |value| Decision::of(value.as_str()?));
}

statement! {
    "approval" under Approval, beside control: ControlCertificate;

    /// A person's decision about one draft (`signet/1 approval`), with the control certificate under
    /// which it was signed.
    pub struct Approval {
        /// The person.
        "principal-id" principal: PrincipalId,
        /// SHA-256(JCS(draft)): the draft as its log line holds it.
        "draft" draft: Digest,
        /// What was decided.
        "decision" decision: Decision,
        /// When.
        "decided-at" decided_at: Timestamp,
    }

    fn holds(&self) -> Result<(), CertificateError> {
        self.control.speaks_for(&self.principal, self.decided_at)
    }
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
        let said = Self {
            principal: control.principal.clone(),
            draft,
            decision,
            decided_at: now,
            control: control.clone(),
            value: ReadValue::default(),
        };
        Self::parse(&said.signed(key), control)
    }

    /// Reads a decision and verifies it under the control key.
    ///
    /// # Errors
    /// Names the member at fault, or says that the signature does not hold.
    pub fn parse(value: &Value, control: &ControlCertificate) -> Result<Self, CertificateError> {
        let said = Self::read_beside(value, (control.clone(),))?;
        said.prove_under(&control.control_key)?;
        Ok(said)
    }
}
