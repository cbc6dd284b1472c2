//! Revocations: a root key takes back the certificates of one agent.

use signet_json::{Map, Value};

use crate::certificate::CertificateError;
use crate::certificate::members::{Members, sign_statement};
use crate::ids::{AgentId, PrincipalId};
use crate::keys::{Purpose, SigningKey, VerifyKey};
use crate::time::Timestamp;

/// A root key's word that an agent's certificates up to a serial are good no more
/// (`signet/1 revocation`). Revocations are a set: any order, each idempotent.
#[derive(Clone, Debug, PartialEq)]
pub struct Revocation {
    /// The person whose root signed.
    pub principal: PrincipalId,
    /// The agent whose certificates it takes back.
    pub agent: AgentId,
    /// It covers this serial and all lower ones.
    pub serial: u64,
    /// For people, 1 to 200 characters.
    pub why: String,
    /// When it was signed.
    pub revoked_at: Timestamp,
    /// The root key that signed.
    pub root: VerifyKey,
    value: Value,
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
        let mut members = Map::new();
        members.insert("type".into(), "revocation".into());
        members.insert("principal-id".into(), principal.as_str().into());
        members.insert("agent-id".into(), agent.as_str().into());
        members.insert("serial".into(), serial.into());
        members.insert("reason".into(), why.into());
        members.insert("revoked-at".into(), now.to_string().into());
        members.insert("root-key".into(), root.public().to_string().into());
        Self::parse(&sign_statement(members, Purpose::Revocation, root))
    }

    /// Reads a revocation and verifies the signature of its own root key.
    ///
    /// # Errors
    /// Names the member at fault, or says that the signature does not hold.
    pub fn parse(value: &Value) -> Result<Self, CertificateError> {
        let revocation = Self::read(value)?;
        revocation.prove()?;
        Ok(revocation)
    }

    /// Verifies the root's signature.
    pub(crate) fn prove(&self) -> Result<(), CertificateError> {
        Members::of(&self.value, MEMBERS)?.verify(Purpose::Revocation, &self.root)
    }

    /// Reads a revocation whose signature is not yet verified.
    pub(crate) fn read(value: &Value) -> Result<Self, CertificateError> {
        let members = Members::of(value, MEMBERS)?;
        if members.text("type")? != "revocation" {
            return Err(CertificateError::Member("type"));
        }
        let why = members.text("reason")?;
        if why.is_empty() || why.chars().count() > LONGEST_WHY {
            return Err(CertificateError::Member("reason"));
        }
        Ok(Self {
            principal: members.parsed("principal-id")?,
            agent: members.parsed("agent-id")?,
            serial: members.serial("serial")?,
            why: why.to_owned(),
            revoked_at: members.parsed("revoked-at")?,
            root: members.key("root-key")?,
            value: value.clone(),
        })
    }

    /// The statement as it is sent and logged.
    pub fn to_value(&self) -> &Value {
        &self.value
    }
}

const LONGEST_WHY: usize = 200;
const MEMBERS: &[&str] = &[
    "type",
    "principal-id",
    "agent-id",
    "serial",
    "reason",
    "revoked-at",
    "root-key",
    "signature",
];
