//! Decisions of trust: a person signs the very call that they ask of a daemon.

use std::time::Duration;

use crate::certificate::ControlCertificate;
use crate::ids::{AgentId, Digest, PrincipalId};
use crate::said::*;
use crate::time::Timestamp;
use signet_json::canonical;

/// A call of a daemon's control socket: what a person decides.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Whose daemon is asked.
    pub agent: &'a AgentId,
    /// The name of the call.
    pub call: &'a str,
    /// Its parameters, without the statement.
    pub params: &'a Value,
}

impl Asked<'_> {
    /// SHA-256(JCS(params)).
    fn digest(&self) -> Digest {
        Digest::of(&[&canonical(self.params)])
    }
}

statement! {
    "decision" under Decision;

    /// A person's word that a call is theirs (`signet/1 decision`).
    pub struct DecisionStatement {
        /// The person.
        "principal-id" principal: PrincipalId,
        /// Whose daemon is asked.
        "agent-id" agent: AgentId,
        /// The name of the call.
        "call" call: String,
        /// SHA-256(JCS(params)): its parameters, without the statement.
        "params" params: Digest,
        /// When.
        "issued-at" issued_at: Timestamp,
    }
}

impl DecisionStatement {
    /// The word for `asked`, signed by the control `key` that `control` names.
    ///
    /// # Errors
    /// When the signature would not hold: `key` is not the one that `control` names.
    pub fn sign(
        asked: Asked<'_>,
        now: Timestamp,
        control: &ControlCertificate,
        key: &SigningKey,
    ) -> Result<Self, CertificateError> {
        let said = Self {
            principal: control.principal.clone(),
            agent: asked.agent.clone(),
            call: asked.call.to_owned(),
            params: asked.digest(),
            issued_at: now,
            value: ReadValue::default(),
        };
        Self::verify(&said.signed(key), asked, now, control)
    }

    /// Reads a word about `asked`, and verifies it under the control key: for this agent, this call and these
    /// parameters, and said within [`LIFE`] of `now`.
    ///
    /// # Errors
    /// Names the member at fault, or says that the signature does not hold.
    pub fn verify(
        value: &Value,
        asked: Asked<'_>,
        now: Timestamp,
        control: &ControlCertificate,
    ) -> Result<Self, CertificateError> {
        let said = Self::read_beside(value, ())?;
        // The decision has to be dated within `LIFE` before or after now. `since` gives zero if its argument is the later time:
        // so call it in both directions and take the larger span.
        let apart = now.since(said.issued_at).max(said.issued_at.since(now));
        let in_time = apart < LIFE && control.covers(said.issued_at);
        let fits = [
            ("agent-id", said.agent == *asked.agent),
            ("call", said.call == asked.call),
            ("params", said.params == asked.digest()),
            ("principal-id", said.principal == control.principal),
            ("issued-at", in_time),
        ];
        match fits.into_iter().find(|(_, holds)| !holds) {
            Some((name, _)) => Err(CertificateError::Member(name)),
            None => said.prove_under(&control.control_key).map(|()| said),
        }
    }
}

/// How long a word may be used, and how far the clocks of who signs and who verifies may differ.
pub const LIFE: Duration = Duration::from_secs(300);
