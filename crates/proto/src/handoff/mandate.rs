//! Mandates: one agent's signed word that another may act for a task.

use signet_json::{Map, Value, canonical};

use super::{Authority, MOST_CAPABILITIES, TaskId};
use crate::certificate::CertificateError;
use crate::certificate::members::{Members, sign_statement};
use crate::ids::{AgentId, Digest};
use crate::keys::{Purpose, SigningKey, VerifyKey};
use crate::time::Timestamp;

/// What `from` gives to `to` for one task (`signet/1 handoff`). It proves nothing before
/// [`Chain`](super::Chain) has judged it, with the certificate that names `from`'s key.
#[derive(Clone, Debug, PartialEq)]
pub struct Mandate {
    /// The task.
    pub task: TaskId,
    /// Who gives.
    pub from: AgentId,
    /// Who may act, and nobody else.
    pub to: AgentId,
    /// Within which limits.
    pub authority: Authority,
    /// The hash of the mandate under which `from` holds the task; none for whoever began it.
    pub parent: Option<Digest>,
    /// When it was signed.
    pub issued_at: Timestamp,
    value: Value,
}

/// What a mandate is to say.
#[derive(Clone, Debug)]
pub struct MandateRequest {
    /// See [`Mandate::task`].
    pub task: TaskId,
    /// See [`Mandate::from`].
    pub from: AgentId,
    /// See [`Mandate::to`].
    pub to: AgentId,
    /// See [`Mandate::authority`].
    pub authority: Authority,
    /// See [`Mandate::parent`].
    pub parent: Option<Digest>,
    /// See [`Mandate::issued_at`].
    pub issued_at: Timestamp,
}

impl MandateRequest {
    /// The mandate, signed by `key`, the signing key of `from`.
    ///
    /// # Errors
    /// When it would not be read: an authority beyond its bounds, or over 30 days.
    pub fn sign(self, key: &SigningKey) -> Result<Mandate, CertificateError> {
        let names = self.authority.capabilities.iter();
        let mut members = Map::new();
        members.insert("type".into(), "handoff".into());
        members.insert("task".into(), self.task.to_string().into());
        members.insert("from".into(), self.from.as_str().into());
        members.insert("to".into(), self.to.as_str().into());
        members.insert(
            "capabilities".into(),
            names.map(|name| Value::from(name.as_str())).collect(),
        );
        members.insert("tier".into(), self.authority.tier.into());
        members.insert("depth".into(), self.authority.depth.into());
        members.insert(
            "not-after".into(),
            self.authority.not_after.to_string().into(),
        );
        if let Some(parent) = self.parent {
            members.insert("parent".into(), parent.to_string().into());
        }
        members.insert("issued-at".into(), self.issued_at.to_string().into());
        Mandate::read(&sign_statement(members, Purpose::Handoff, key))
    }
}

impl Mandate {
    /// Reads a mandate whose signature is not yet verified.
    ///
    /// # Errors
    /// Names the member at fault.
    pub(super) fn read(value: &Value) -> Result<Self, CertificateError> {
        let members = Members::of(value, MEMBERS)?;
        if members.text("type")? != "handoff" {
            return Err(CertificateError::Member("type"));
        }
        members.text("signature")?;
        let mandate = Self {
            task: members.parsed("task")?,
            from: members.parsed("from")?,
            to: members.parsed("to")?,
            authority: read_authority(&members)?,
            parent: match value.get("parent") {
                Some(_) => Some(members.parsed("parent")?),
                None => None,
            },
            issued_at: members.parsed("issued-at")?,
            value: value.clone(),
        };
        if mandate.authority.is_well_formed(mandate.issued_at) {
            Ok(mandate)
        } else {
            Err(CertificateError::Member("not-after"))
        }
    }

    /// Verifies the signature under the key of `from`.
    pub(super) fn prove(&self, key: &VerifyKey) -> Result<(), CertificateError> {
        Members::of(&self.value, MEMBERS)?.verify(Purpose::Handoff, key)
    }

    /// SHA-256(JCS(mandate with its signature)): what the next mandate names as its `parent`.
    pub fn hash(&self) -> Digest {
        Digest::of(&[&canonical(&self.value)])
    }

    /// The mandate as it is sent and logged.
    pub fn to_value(&self) -> &Value {
        &self.value
    }
}

fn read_authority(members: &Members<'_>) -> Result<Authority, CertificateError> {
    let small = |name: &'static str| {
        let number = members.value(name)?.as_u64();
        let number = number.and_then(|number| u8::try_from(number).ok());
        number.ok_or(CertificateError::Member(name))
    };
    let names = members
        .value("capabilities")?
        .as_array()
        .filter(|names| names.len() <= MOST_CAPABILITIES)
        .ok_or(CertificateError::Member("capabilities"))?;
    let capabilities = names
        .iter()
        .map(|name| name.as_str()?.parse().ok())
        .collect::<Option<std::collections::BTreeSet<_>>>()
        .filter(|known| known.len() == names.len())
        .ok_or(CertificateError::Member("capabilities"))?;
    Ok(Authority {
        capabilities,
        tier: small("tier")?,
        depth: small("depth")?,
        not_after: members.parsed("not-after")?,
    })
}

const MEMBERS: &[&str] = &[
    "type",
    "task",
    "from",
    "to",
    "capabilities",
    "tier",
    "depth",
    "not-after",
    "parent",
    "issued-at",
    "signature",
];
