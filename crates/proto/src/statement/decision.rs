//! Decisions of trust: a person signs the very call that they ask of a daemon.

use std::time::Duration;

use signet_json::{Map, Value, canonical};

use crate::certificate::members::{Members, sign_statement};
use crate::certificate::{CertificateError, ControlCertificate};
use crate::ids::{AgentId, Digest, PrincipalId};
use crate::keys::{Purpose, SigningKey};
use crate::time::Timestamp;

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

/// A person's word that a call is theirs (`signet/1 decision`).
#[derive(Clone, Debug, PartialEq)]
pub struct DecisionStatement {
    /// The person.
    pub principal: PrincipalId,
    /// When.
    pub issued_at: Timestamp,
    value: Value,
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
        let mut members = Map::new();
        members.insert("type".into(), "decision".into());
        members.insert("principal-id".into(), control.principal.as_str().into());
        members.insert("agent-id".into(), asked.agent.as_str().into());
        members.insert("call".into(), asked.call.into());
        members.insert("params".into(), asked.digest().to_string().into());
        members.insert("issued-at".into(), now.to_string().into());
        let value = sign_statement(members, Purpose::Decision, key);
        Self::verify(&value, asked, now, control)
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
        let members = Members::of(value, MEMBERS)?;
        let fits = |name: &'static str, holds: bool| match holds {
            true => Ok(()),
            false => Err(CertificateError::Member(name)),
        };
        fits("type", members.text("type")? == "decision")?;
        fits(
            "agent-id",
            members.parsed::<AgentId>("agent-id")? == *asked.agent,
        )?;
        fits("call", members.text("call")? == asked.call)?;
        fits(
            "params",
            members.parsed::<Digest>("params")? == asked.digest(),
        )?;
        let said = Self {
            principal: members.parsed("principal-id")?,
            issued_at: members.parsed("issued-at")?,
            value: value.clone(),
        };
        fits("principal-id", said.principal == control.principal)?;
        let apart = now.since(said.issued_at).max(said.issued_at.since(now));
        let in_time = apart < LIFE && control.covers(said.issued_at);
        fits("issued-at", in_time)?;
        members.verify(Purpose::Decision, &control.control_key)?;
        Ok(said)
    }

    /// The statement as it goes over the socket.
    pub fn to_value(&self) -> &Value {
        &self.value
    }
}

/// How long a word may be used, and how far the clocks of who signs and who verifies may differ.
pub const LIFE: Duration = Duration::from_secs(300);
const MEMBERS: &[&str] = &[
    "type",
    "principal-id",
    "agent-id",
    "call",
    "params",
    "issued-at",
    "signature",
];
