//! Revocations: a root key takes back the certificates of one agent.

use crate::ids::{AgentId, PrincipalId};
use crate::said::*;
use crate::time::Timestamp;

statement! {
    "revocation" under Revocation, signed by "root-key" root;

    /// A root key's word that an agent's certificates up to a serial are good no more
    /// (`signet/1 revocation`). Revocations are a set: any order, each idempotent.
    pub struct Revocation {
        /// The person whose root signed.
        "principal-id" principal: PrincipalId,
        /// The agent whose certificates it takes back.
        "agent-id" agent: AgentId,
        /// It covers this serial and all lower ones.
        "serial" serial: u64,
        /// For people, 1 to 200 characters.
        "reason" why: String,
        /// When it was signed.
        "revoked-at" revoked_at: Timestamp,
    }

    fn holds(&self) -> Result<(), CertificateError> {
        match (1..=LONGEST_WHY).contains(&self.why.chars().count()) {
            true => Ok(()),
            false => Err(CertificateError::Member("reason")),
        }
    }
}

impl Revocation {
    /// A revocation signed by `root`.
    ///
    /// # Errors
    /// When it would not parse: the reason is empty or too long.
    pub fn sign(
        principal: &PrincipalId,
        agent: &AgentId,
        serial: u64,
        why: &str,
        now: Timestamp,
        root: &SigningKey,
    ) -> Result<Self, CertificateError> {
        let said = Self {
            principal: principal.clone(),
            agent: agent.clone(),
            serial,
            why: why.to_owned(),
            revoked_at: now,
            root: root.public().clone(),
            value: ReadValue::default(),
        };
        Self::parse(&said.signed(root))
    }
}

const LONGEST_WHY: usize = 200;
