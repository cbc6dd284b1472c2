//! Key statements: an agent's signing key names its sealing key (`signet/1 keys`).

use std::time::Duration;

use super::next_serial;
use crate::ids::AgentId;
use crate::keys::SealKey;
use crate::said::*;
use crate::time::Timestamp;

/// How long a key statement lasts; it is rotated after [`KEYS_ROTATE`].
pub const KEYS_LIFE: Duration = Duration::from_secs(45 * 24 * 3600);
/// The age at which a new key statement is made.
pub const KEYS_ROTATE: Duration = Duration::from_secs(30 * 24 * 3600);
/// How much longer than [`KEYS_LIFE`] one may last in a peer's eyes: for clocks that differ.
pub(crate) const KEYS_LEEWAY: Duration = Duration::from_secs(3600);
/// How long a sealing key outlives its statement: the longest life of a message, and a minute.
pub const SEALING_AFTER: Duration = Duration::from_secs(7 * 24 * 3600 + 60);

statement! {
    "keys" under Keys;

    /// What an agent's signing key says of its sealing key (`signet/1 keys`).
    pub struct KeyStatement {
        /// The agent that states it.
        "agent-id" agent: AgentId,
        /// The X25519 key to seal for.
        "sealing-key" sealing_key: SealKey,
        /// Rises with every statement of this agent.
        "serial" serial: u64,
        /// Not valid after; a session ends no later.
        "not-after" not_after: Timestamp,
    }
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
        let said = Self {
            agent: agent.clone(),
            sealing_key,
            serial,
            not_after,
            value: ReadValue::default(),
        };
        Self::parse(&said.signed(key), key.public())
    }

    /// Whether it is [`KEYS_ROTATE`] old, so that a new sealing key and a statement of it are due. So they
    /// are when it was made by a clock that was ahead: peers take none that lasts longer than it may.
    pub fn is_due(&self, now: Timestamp) -> bool {
        let made = self.not_after.saturating_sub(KEYS_LIFE);
        now >= made.saturating_add(KEYS_ROTATE) || made > now.saturating_add(KEYS_LEEWAY)
    }

    /// The statement after this one, of a new sealing key. The serial is the second of `now`, so that
    /// a home restored from an old copy does not fall behind, and higher than this one in any case.
    ///
    /// # Errors
    /// When the statement would not parse.
    pub fn renewed(
        &self,
        now: Timestamp,
        sealing_key: SealKey,
        key: &SigningKey,
    ) -> Result<Self, CertificateError> {
        let serial = next_serial(Some(self.serial), now);
        let end = now.saturating_add(KEYS_LIFE);
        Self::sign(&self.agent, sealing_key, serial, end, key)
    }

    /// Reads a statement and verifies it under the agent's signing key.
    ///
    /// # Errors
    /// Names the member at fault, or says that the signature does not hold.
    pub fn parse(value: &Value, key: &VerifyKey) -> Result<Self, CertificateError> {
        let said = Self::read_beside(value, ())?;
        said.prove_under(key)?;
        Ok(said)
    }
}
