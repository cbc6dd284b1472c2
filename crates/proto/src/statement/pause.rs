//! Pause and resume: a person stops all their agents, and lets them go on.

use crate::certificate::ControlCertificate;
use crate::ids::PrincipalId;
use crate::said::*;
use crate::time::Timestamp;

statement! {
    "pause" under Pause, beside control: ControlCertificate;

    /// A person's word that their agents pause, or go on (`signet/1 pause`), with the control certificate
    /// under which it was signed. Its serial only rises, so that an old word cannot be repeated.
    pub struct PauseStatement {
        /// The person.
        "principal-id" principal: PrincipalId,
        /// Whether the agents pause (or resume).
        "paused" paused: bool,
        /// Rises with every pause and resume of this person.
        "serial" serial: u64,
        /// When it was signed.
        "issued-at" issued_at: Timestamp,
    }

    fn holds(&self) -> Result<(), CertificateError> {
        self.control.speaks_for(&self.principal, self.issued_at)
    }
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
        let said = Self {
            principal: control.principal.clone(),
            paused,
            serial,
            issued_at: now,
            control: control.clone(),
            value: ReadValue::default(),
        };
        Self::parse(&said.signed(key), control)
    }

    /// Reads a statement and verifies it under the control key.
    ///
    /// # Errors
    /// Names the member at fault, or says that the signature does not hold.
    pub fn parse(value: &Value, control: &ControlCertificate) -> Result<Self, CertificateError> {
        let said = Self::read_beside(value, (control.clone(),))?;
        said.prove_under(&control.control_key)?;
        Ok(said)
    }
}
