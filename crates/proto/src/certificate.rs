//! Certificates and key statements (docs/protocol.md, Keys, principals, certificates).
//!
//! A principal's root key signs the certificate of each of the person's agents; the agent's signing
//! key signs a statement of its current sealing key. Both are JSON objects with a `signature` member
//! over the rest, so that a person can read them and any JCS library can check them.

mod control;
mod keys;

use crate::headers::Layers;
use crate::ids::{AgentId, Digest, PrincipalId, Version};
use crate::said::*;
use crate::time::Timestamp;

pub use crate::said::CertificateError;
pub(crate) use crate::said::parse_versions;
pub use control::{ControlCertificate, ControlRequest};
pub(crate) use keys::KEYS_LEEWAY;
pub use keys::{KEYS_LIFE, KEYS_ROTATE, KeyStatement, SEALING_AFTER};

statement! {
    "agent" under Certificate, asked by CertificateRequest, signed by "root-key" root;

    /// What a root key says of one agent. Exists only with a signature of its own `root-key` that holds;
    /// whether that root is *trusted* is for [`crate::trust`] to say. `Certificate::read` alone leaves the
    /// signature for later: who is looked up before, and a stranger costs no signature.
    pub struct Certificate {
        /// The agent it speaks of.
        "agent-id" agent: AgentId,
        /// The person it acts for.
        "principal-id" principal: PrincipalId,
        /// The key that signs the agent's messages.
        "signing-key" signing_key: VerifyKey,
        /// The highest skill layers that the agent may claim.
        "layers" layers: Layers,
        /// The trust-layer versions that the agent speaks, ascending.
        "versions" versions: Vec<Version>,
        /// Rises with every certificate of this agent.
        "serial" serial: u64,
        /// Not valid before.
        "not-before" not_before: Timestamp,
        /// Not valid after.
        "not-after" not_after: Timestamp,
        /// SHA-256 of the next root key (pre-rotation).
        "next-root" next_root: Digest,
    }

    fn holds(&self) -> Result<(), CertificateError> {
        ends_after(self.not_before, self.not_after)
    }
}

impl Certificate {
    /// Whether `time` lies between not-before and not-after, both included.
    pub fn covers(&self, time: Timestamp) -> bool {
        self.not_before <= time && time <= self.not_after
    }

    /// The lowest version the agent speaks.
    pub fn lowest_version(&self) -> Version {
        self.versions.first().copied().unwrap_or(Version::CURRENT)
    }
}

/// In an invitation.
impl StatementMember for Certificate {
    fn put(&self, name: &'static str, members: &mut Map<String, Value>) {
        members.insert(name.to_owned(), self.value.open());
    }

    fn of(members: &StatementMembers<'_>, name: &'static str) -> Result<Self, CertificateError> {
        Self::parse(members.value(name)?)
    }
}

fn ends_after(begin: Timestamp, end: Timestamp) -> Result<(), CertificateError> {
    match begin < end {
        true => Ok(()),
        false => Err(CertificateError::Member("not-after")),
    }
}

/// The serial of what is made at `now`: its second (Unix time), and more than the one `before`.
pub fn next_serial(before: Option<u64>, now: Timestamp) -> u64 {
    let second = u64::try_from(now.as_millis() / 1000).unwrap_or_default();
    second.max(before.map_or(1, |before| before.saturating_add(1)))
}
