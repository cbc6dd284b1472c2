//! New keys in the place of old ones: what belongs into each change. Nothing is written here.

use std::path::{Path, PathBuf};

use signet_proto::certificate::{Certificate, ControlCertificate, KeyStatement, next_serial};
use signet_proto::ids::Digest;
use signet_proto::keys::{SealKey, SealSecret, SigningKey, VerifyKey};
use signet_proto::time::Timestamp;

use super::issue::{PersonKeys, are_of_one, certificate_after, commitment, control_certificate};
use super::pem::{self, Algorithm};
use super::place::read_control;
use super::{
    AUDIT, AgentKeys, CERTIFICATE, CONTROL, CONTROL_CERTIFICATE, KEYS, KeyChange, KeystoreError,
    NEXT_ROOT, ROOT, SEALING, SIGNING, fresh_secret,
};

/// A new sealing key, and a statement of it. Needs no root key.
///
/// # Errors
/// When the system gives no randomness.
pub fn rotate_sealing(keys: &AgentKeys, now: Timestamp) -> Result<KeyChange, KeystoreError> {
    let secret = fresh_secret()?;
    let sealing = SealKey::of_secret(&secret);
    let statement = keys.statement.renewed(now, sealing, &keys.signing);
    let statement = statement.map_err(faulty(KEYS))?;
    let mut change = KeyChange::default();
    change.secret(SEALING, Algorithm::X25519, &secret)?;
    change.json(KEYS, &statement.to_value());
    Ok(change)
}

/// A new signing key, its certificate by the root key in the file `root`, and a statement of the
/// sealing key by the new key. With `next_root` the certificate commits to another next root.
///
/// # Errors
/// `OtherRoot` when the file holds another key than the one that certified the agent.
pub fn rotate_signing(
    keys: &AgentKeys,
    root: &Path,
    next_root: Option<&Path>,
    now: Timestamp,
) -> Result<KeyChange, KeystoreError> {
    let root = present_root(keys, root)?;
    let next = match next_root {
        Some(path) => successor(&root, path)?,
        None => keys.certificate.next_root,
    };
    let seed = fresh_secret()?;
    let signing = SigningKey::from_seed(&seed).map_err(|source| KeystoreError::Key {
        path: SIGNING.into(),
        source,
    })?;
    let public = signing.public().clone();
    let certificate = certificate_after(&keys.certificate, public, next, &root, now);
    let mut change = KeyChange::default();
    change.secret(SIGNING, Algorithm::Ed25519, &seed)?;
    let certificate = certificate.map_err(faulty(CERTIFICATE))?;
    change.json(CERTIFICATE, &certificate.to_value());
    change.json(KEYS, &restated(keys, &signing, now)?.to_value());
    Ok(change)
}

/// Which of the person's own keys to make anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PersonKey {
    /// The control key.
    Control,
    /// The audit sealing key.
    Audit,
}

/// A new control or audit sealing key, and the control certificate of it. A home without a control
/// certificate gets both keys.
///
/// # Errors
/// `OtherRoot`, as for the signing key.
pub fn rotate_person(
    keys: &AgentKeys,
    which: PersonKey,
    root: &Path,
    now: Timestamp,
) -> Result<KeyChange, KeystoreError> {
    let root = present_root(keys, root)?;
    let mut change = KeyChange::default();
    let old = keys.control.as_ref();
    let control = match old.filter(|_| which != PersonKey::Control) {
        Some(old) => old.control_key.clone(),
        None => new_control(&mut change)?,
    };
    let audit = match old.filter(|_| which != PersonKey::Audit) {
        Some(old) => old.audit_key,
        None => new_audit(&mut change)?,
    };
    let person = PersonKeys {
        control,
        audit,
        before: old.map(|old| old.serial),
    };
    let next = keys.certificate.next_root;
    let certificate = control_certificate(&keys.certificate.principal, &person, next, &root, now);
    let certificate = certificate.map_err(faulty(CONTROL_CERTIFICATE))?;
    change.json(CONTROL_CERTIFICATE, &certificate.to_value());
    Ok(change)
}

/// The next root key, in the file `root`, takes over: it certifies the agent and the person's own
/// keys anew, and commits to the key in `next`; the agent's keys stay. Without `next` the root keys are
/// those of this key store: they change their places, and a new next root key is made.
///
/// # Errors
/// `NotNextRoot` when the certificate does not commit to that key.
pub fn rotate_root(
    keys: &AgentKeys,
    root: &Path,
    next: Option<&Path>,
    now: Timestamp,
) -> Result<KeyChange, KeystoreError> {
    let seed = pem::read(root, Algorithm::Ed25519)?;
    let new = pem::signing_key(root, &seed)?;
    if !is_next(new.public(), &keys.certificate) {
        let path = root.to_owned();
        return Err(KeystoreError::NotNextRoot(path));
    }
    let mut change = KeyChange::default();
    let commits_to = match next {
        Some(next) => successor(&new, next)?,
        None => {
            let fresh = fresh_secret()?;
            // Put both secrets into one change: otherwise a crash in between could leave both files with the same key, or the
            // new root key without a next one.
            change.secret(ROOT, Algorithm::Ed25519, &seed)?;
            change.secret(NEXT_ROOT, Algorithm::Ed25519, &fresh)?;
            commitment(pem::signing_key(NEXT_ROOT.as_ref(), &fresh)?.public())
        }
    };
    let signing = keys.certificate.signing_key.clone();
    let certificate = certificate_after(&keys.certificate, signing, commits_to, &new, now);
    let certificate = certificate.map_err(faulty(CERTIFICATE))?;
    change.json(CERTIFICATE, &certificate.to_value());
    if let Some(old) = &keys.control {
        let certificate =
            control_certificate(&old.principal, &person_of(old), commits_to, &new, now);
        let certificate = certificate.map_err(faulty(CONTROL_CERTIFICATE))?;
        change.json(CONTROL_CERTIFICATE, &certificate.to_value());
    }
    Ok(change)
}

/// Makes the successor of the root key in the file `root`, in a new file beside it.
///
/// # Errors
/// `NotNextRoot` when that is not the key that takes over; then none is made.
pub fn create_next_root(
    keys: &AgentKeys,
    root: &Path,
    now: Timestamp,
) -> Result<PathBuf, KeystoreError> {
    let path = root.to_owned();
    if !is_next(pem::read_signing_key(root)?.public(), &keys.certificate) {
        return Err(KeystoreError::NotNextRoot(path));
    }
    let serial = next_serial(Some(keys.certificate.serial), now);
    // Put the serial into the name: the file of an earlier rotation may still stand there, and a new key overwrites no file.
    let path = path.with_file_name(format!("next-root-{serial}.pem"));
    let seed = fresh_secret()?;
    pem::create(&path, Algorithm::Ed25519, &seed)?;
    Ok(path)
}

/// The control certificate in the file `path`, made in another home of the same person.
///
/// # Errors
/// `OtherPerson` when it is not theirs.
pub fn take_control(keys: &AgentKeys, path: &Path) -> Result<KeyChange, KeystoreError> {
    let control = control_of(&keys.certificate, path)?;
    let mut change = KeyChange::default();
    change.json(CONTROL_CERTIFICATE, &control.to_value());
    Ok(change)
}

/// Whether `certificate` commits to `root` as the next root key.
pub fn is_next(root: &VerifyKey, certificate: &Certificate) -> bool {
    commitment(root) == certificate.next_root
}

/// The control certificate in the file `path`, of the same person and root as `certificate`.
pub(super) fn control_of(
    certificate: &Certificate,
    path: &Path,
) -> Result<ControlCertificate, KeystoreError> {
    let path = path.to_owned();
    match read_control(&path)? {
        None => Err(KeystoreError::NoControl(path)),
        Some(control) if are_of_one(&control, certificate) => Ok(control),
        Some(_) => Err(KeystoreError::OtherPerson(path)),
    }
}

/// The keys that a control certificate names, for the next one.
pub(super) fn person_of(control: &ControlCertificate) -> PersonKeys {
    PersonKeys {
        control: control.control_key.clone(),
        audit: control.audit_key,
        before: Some(control.serial),
    }
}

/// The statement of the same sealing key by another signing key. It ends when the old one does: a new
/// signing key is no reason for a sealing key to live longer.
pub(super) fn restated(
    keys: &AgentKeys,
    signing: &SigningKey,
    now: Timestamp,
) -> Result<KeyStatement, KeystoreError> {
    let old = &keys.statement;
    let serial = next_serial(Some(old.serial), now);
    KeyStatement::sign(&old.agent, old.sealing_key, serial, old.not_after, signing)
        .map_err(faulty(KEYS))
}

/// A new control key, in `change`.
pub(super) fn new_control(change: &mut KeyChange) -> Result<VerifyKey, KeystoreError> {
    let seed = fresh_secret()?;
    change.secret(CONTROL, Algorithm::Ed25519, &seed)?;
    Ok(pem::signing_key(CONTROL.as_ref(), &seed)?.public().clone())
}

/// A new audit sealing key, in `change`.
pub(super) fn new_audit(change: &mut KeyChange) -> Result<SealKey, KeystoreError> {
    let secret = fresh_secret()?;
    change.secret(AUDIT, Algorithm::X25519, &secret)?;
    Ok(SealSecret::of(secret).public())
}

/// What `root` commits to with the key in the file `next`, which has to be another one.
pub(super) fn successor(root: &SigningKey, next: &Path) -> Result<Digest, KeystoreError> {
    let next = pem::read_signing_key(next)?;
    if next.public() == root.public() {
        return Err(KeystoreError::SameRoot);
    }
    Ok(commitment(next.public()))
}

fn present_root(keys: &AgentKeys, path: &Path) -> Result<SigningKey, KeystoreError> {
    let root = pem::read_signing_key(path)?;
    if *root.public() == keys.certificate.root {
        return Ok(root);
    }
    let path = path.to_owned();
    Err(if is_next(root.public(), &keys.certificate) {
        KeystoreError::StillNextRoot(path)
    } else {
        KeystoreError::OtherRoot(path)
    })
}

pub(super) fn faulty(
    name: &'static str,
) -> impl FnOnce(signet_proto::certificate::CertificateError) -> KeystoreError {
    move |source| KeystoreError::Certificate {
        path: name.into(),
        source,
    }
}
