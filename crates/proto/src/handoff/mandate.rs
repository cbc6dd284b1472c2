//! Mandates: one agent's signed word that another may act for a task.

use std::collections::BTreeSet;

use super::{Authority, MOST_CAPABILITIES, TaskId};
use crate::headers::CapabilityName;
use crate::ids::{AgentId, Digest};
use crate::said::*;
use crate::time::Timestamp;

statement! {
    "handoff" under Handoff, asked by MandateRequest;

    /// What `from` gives to `to` for one task (`signet/1 handoff`). It proves nothing before
    /// [`Chain`](super::Chain) has judged it, with the certificate that names `from`'s key.
    pub struct Mandate {
        /// The task.
        "task" task: TaskId,
        /// Who gives.
        "from" from: AgentId,
        /// Who may act, and nobody else.
        "to" to: AgentId,
        /// Within which limits.
        "capabilities" + "tier" + "depth" + "not-after" authority: Authority,
        /// The hash of the mandate under which `from` holds the task; none for whoever began it.
        "parent" parent: Option<Digest>,
        /// When it was signed.
        "issued-at" issued_at: Timestamp,
    }

    fn holds(&self) -> Result<(), CertificateError> {
        match self.authority.is_well_formed(self.issued_at) {
            true => Ok(()),
            false => Err(CertificateError::Member("not-after")),
        }
    }
}

impl Mandate {
    /// Reads a mandate whose signature is not yet verified.
    ///
    /// # Errors
    /// Names the member at fault.
    pub(super) fn read(value: &Value) -> Result<Self, CertificateError> {
        Self::read_beside(value, ())
    }

    /// Verifies the signature under the key of `from`.
    pub(super) fn prove(&self, key: &VerifyKey) -> Result<(), CertificateError> {
        self.prove_under(key)
    }

    /// SHA-256(JCS(mandate with its signature)): what the next mandate names as its `parent`.
    pub fn hash(&self) -> Digest {
        Digest::of(&[self.value.bytes()])
    }
}

/// Four members of its mandate.
impl StatementMember for Authority {
    fn of(
        members: &StatementMembers<'_>,
        capabilities: &'static str,
    ) -> Result<Self, CertificateError> {
        let small = |value: &Value| u8::try_from(value.as_u64()?).ok();
        Ok(Self {
            capabilities: StatementMember::of(members, capabilities)?,
            tier: members.given("tier", small)?,
            depth: members.given("depth", small)?,
            not_after: StatementMember::of(members, "not-after")?,
        })
    }

    fn put(&self, capabilities: &'static str, members: &mut Map<String, Value>) {
        self.capabilities.put(capabilities, members);
        members.insert("tier".to_owned(), self.tier.into());
        members.insert("depth".to_owned(), self.depth.into());
        self.not_after.put("not-after", members);
    }
}

parts! {
    TaskId, |task| task.to_string(), |members, name| members.parsed(name);
    BTreeSet<CapabilityName>, |names| texts(names), |members, name| members.given(name, read_names);
}

/// Names of capabilities, each once.
fn read_names(value: &Value) -> Option<BTreeSet<CapabilityName>> {
    let names = value.as_array()?;
    let names = Some(names).filter(|names| names.len() <= MOST_CAPABILITIES)?;
    let known: BTreeSet<_> = names
        .iter()
        .map(|name| name.as_str()?.parse().ok())
        .collect::<Option<_>>()?;
    (known.len() == names.len()).then_some(known)
}
