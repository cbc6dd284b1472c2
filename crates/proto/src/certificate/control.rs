//! A person's control certificate: the keys with which they decide and read.

use super::ends_after;
use crate::ids::{Digest, PrincipalId};
use crate::keys::SealKey;
use crate::said::*;
use crate::time::Timestamp;

statement! {
    "control" under Certificate, asked by ControlRequest, signed by "root-key" root;

    /// What a root key says of the person's own two keys: the control key, which approves, pauses and
    /// resumes, and the audit sealing key, to which sealed messages are sealed once more in the log.
    ///
    /// Exists only with a signature of its own `root-key` that holds; only the root of an agent's own
    /// principal is ever asked for it, so it is not sent to other people.
    pub struct ControlCertificate {
        /// The person.
        "principal-id" principal: PrincipalId,
        /// Signs approvals, pause and resume.
        "control-key" control_key: VerifyKey,
        /// Reads the log's sealed copies; its secret is the person's.
        "audit-key" audit_key: SealKey,
        /// Rises with every control certificate of this person.
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

impl ControlCertificate {
    /// Whether `time` lies between not-before and not-after, both included.
    pub fn covers(&self, time: Timestamp) -> bool {
        self.not_before <= time && time <= self.not_after
    }

    /// Whether the person whom it names may have signed something at `time` with its control key.
    pub(crate) fn speaks_for(
        &self,
        principal: &PrincipalId,
        time: Timestamp,
    ) -> Result<(), CertificateError> {
        match self.principal == *principal && self.covers(time) {
            true => Ok(()),
            false => Err(CertificateError::Member("principal-id")),
        }
    }
}
