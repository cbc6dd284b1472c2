//! What a root key signs: certificates of the agent, and of the person's own keys.

use std::collections::BTreeSet;
use std::time::Duration;

use signet_proto::certificate::{
    Certificate, CertificateError, CertificateRequest, ControlCertificate, ControlRequest,
    next_serial,
};
use signet_proto::ids::{Digest, PrincipalId, Version};
use signet_proto::keys::{SealKey, SigningKey, VerifyKey};
use signet_proto::time::Timestamp;

/// The certificate that follows `old` for the same agent: another key, a higher serial, another year.
pub(super) fn certificate_after(
    old: &Certificate,
    signing_key: VerifyKey,
    next_root: Digest,
    root: &SigningKey,
    now: Timestamp,
) -> Result<Certificate, CertificateError> {
    let request = CertificateRequest {
        agent: old.agent.clone(),
        principal: old.principal.clone(),
        signing_key,
        layers: old.layers,
        versions: versions_after(old),
        serial: next_serial(Some(old.serial), now),
        not_before: begins(now),
        not_after: ends(now),
        next_root,
    };
    request.sign(root)
}

/// What this release speaks, and what the old certificate lists beside it: a newer release may have made it.
pub(super) fn versions_after(old: &Certificate) -> Vec<Version> {
    let listed = old.versions.iter().copied();
    let all: BTreeSet<_> = listed.chain(Version::SPOKEN).collect();
    all.into_iter().collect()
}

/// Whether both certificates are of one person, by one root key.
pub(super) fn are_of_one(control: &ControlCertificate, certificate: &Certificate) -> bool {
    control.root == certificate.root && control.principal == certificate.principal
}

/// The person's own keys, as a control certificate names them.
pub(super) struct PersonKeys {
    pub(super) control: VerifyKey,
    pub(super) audit: SealKey,
    /// The serial of the control certificate before.
    pub(super) before: Option<u64>,
}

/// A control certificate for a year.
pub(super) fn control_certificate(
    principal: &PrincipalId,
    keys: &PersonKeys,
    next_root: Digest,
    root: &SigningKey,
    now: Timestamp,
) -> Result<ControlCertificate, CertificateError> {
    let request = ControlRequest {
        principal: principal.clone(),
        control_key: keys.control.clone(),
        audit_key: keys.audit,
        serial: next_serial(keys.before, now),
        not_before: begins(now),
        not_after: ends(now),
        next_root,
    };
    request.sign(root)
}

/// A certificate begins a little before it is made, so that a peer whose clock is slow takes it.
pub(super) fn begins(now: Timestamp) -> Timestamp {
    now.saturating_sub(CLOCK_SKEW)
}

/// A certificate ends a year after it is made.
pub(super) fn ends(now: Timestamp) -> Timestamp {
    now.saturating_add(CERTIFICATE_LIFE)
}

/// What a certificate commits to: the hash of the root key that may follow.
pub(super) fn commitment(next_root: &VerifyKey) -> Digest {
    Digest::of(&[next_root.as_bytes()])
}

const CERTIFICATE_LIFE: Duration = Duration::from_secs(365 * 24 * 3600);
const CLOCK_SKEW: Duration = Duration::from_secs(5 * 60);
