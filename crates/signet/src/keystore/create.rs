//! Making the key store of a new agent, or of an old one again.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;

use signet_json::Value;
use signet_proto::certificate::{
    Certificate, CertificateRequest, ControlCertificate, KEYS_LIFE, KeyStatement, next_serial,
};
use signet_proto::headers::Layers;
use signet_proto::ids::{AgentId, PrincipalId, Version};
use signet_proto::keys::{SealKey, SigningKey};
use signet_proto::time::Timestamp;

use super::issue::{self, PersonKeys};
use super::pem::{self, Algorithm};
use super::{
    AUDIT, Bundle, CERTIFICATE, CONTROL, CONTROL_CERTIFICATE, KEYS, KeystoreError, NEXT_ROOT, ROOT,
    SEALING, SIGNING, fresh_secret, json_file, rotate,
};
use crate::files::private;
use crate::home::Home;

/// The agent to make keys for.
#[derive(Clone, Debug)]
pub struct NewAgent {
    /// The id of the agent.
    pub agent: AgentId,
    /// The person it acts for.
    pub principal: PrincipalId,
    /// Whose root key certifies it.
    pub root: Root,
}

/// Where the person's root key is.
#[derive(Clone, Debug)]
pub enum Root {
    /// There is none yet: it and its successor are made, in the new key store.
    New,
    /// The root key of the person's other agents. It is used, and not copied.
    Existing {
        /// The root key.
        root: PathBuf,
        /// The next root key, whose hash the certificate carries.
        next: PathBuf,
        /// The person's control certificate, which is copied: their agents share those keys.
        control: PathBuf,
    },
}

/// An agent to make again from what a person kept.
pub struct Recovered<'a> {
    /// The id of the agent: the old one, or another.
    pub agent: AgentId,
    /// The bundle that the person kept.
    pub bundle: &'a Bundle,
}

/// Makes the key store of a new agent in `home`, whose directory exists. Overwrites nothing.
///
/// # Errors
/// When a root key cannot be read or a file not be made; what was made until then stays.
pub fn create(home: &Home, new: NewAgent, now: Timestamp) -> Result<Certificate, KeystoreError> {
    let directory = create_directory(home)?;
    let (root, next_root) = match &new.root {
        Root::New => (
            create_signing_key(home, ROOT)?,
            create_signing_key(home, NEXT_ROOT)?,
        ),
        Root::Existing { root, next, .. } => {
            (pem::read_signing_key(root)?, pem::read_signing_key(next)?)
        }
    };
    // Refuse a root key that is its own successor: once it is stolen, no other key could take its place.
    if root.public() == next_root.public() {
        return Err(KeystoreError::SameRoot);
    }
    let signing = create_signing_key(home, SIGNING)?;
    let request = CertificateRequest {
        agent: new.agent.clone(),
        principal: new.principal.clone(),
        signing_key: signing.public().clone(),
        layers: Layers::of(&[0, 1, 2, 3]),
        versions: Version::SPOKEN.to_vec(),
        serial: next_serial(None, now),
        not_before: issue::begins(now),
        not_after: issue::ends(now),
        next_root: issue::commitment(next_root.public()),
    };
    let certificate = request.sign(&root).map_err(rotate::faulty(CERTIFICATE))?;
    let control = match &new.root {
        Root::New => create_control(home, &certificate, &root, now)?,
        Root::Existing { control, .. } => rotate::control_of(&certificate, control)?,
    };
    create_json(home, CERTIFICATE, &certificate.to_value())?;
    create_json(home, CONTROL_CERTIFICATE, &control.to_value())?;
    create_statement(home, &new.agent, now, &signing)?;
    private::sync_directory_of(&directory)?;
    Ok(certificate)
}

/// Makes the key store of an agent again, in `home`, whose directory exists: the same person, new
/// signing and sealing keys, a higher serial. The person's own secrets stay in the file that they
/// came from.
///
/// # Errors
/// When a file cannot be made.
pub fn recover(
    home: &Home,
    from: &Recovered<'_>,
    now: Timestamp,
) -> Result<Certificate, KeystoreError> {
    let directory = create_directory(home)?;
    let root = from.bundle.root().ok_or(KeystoreError::Bundle)?;
    let signing = create_signing_key(home, SIGNING)?;
    let old = &from.bundle.certificate;
    let request = CertificateRequest {
        agent: from.agent.clone(),
        principal: old.principal.clone(),
        signing_key: signing.public().clone(),
        layers: old.layers,
        versions: issue::versions_after(old),
        serial: next_serial(Some(old.serial), now),
        not_before: issue::begins(now),
        not_after: issue::ends(now),
        // Commit to the same next root key as the old certificate: peers know the hash of that key from the old certificate,
        // and the bundle holds the key.
        next_root: old.next_root,
    };
    let certificate = request.sign(&root).map_err(rotate::faulty(CERTIFICATE))?;
    create_json(home, CERTIFICATE, &certificate.to_value())?;
    if let Some(control) = &from.bundle.control {
        let keys = rotate::person_of(control);
        let next = old.next_root;
        let renewed = issue::control_certificate(&old.principal, &keys, next, &root, now);
        let renewed = renewed.map_err(rotate::faulty(CONTROL_CERTIFICATE))?;
        create_json(home, CONTROL_CERTIFICATE, &renewed.to_value())?;
    }
    create_statement(home, &from.agent, now, &signing)?;
    private::sync_directory_of(&directory)?;
    Ok(certificate)
}

fn create_directory(home: &Home) -> Result<PathBuf, KeystoreError> {
    let directory = home.join("keys");
    let made = std::fs::DirBuilder::new().mode(0o700).create(&directory);
    made.map_err(private::at(&directory))?;
    Ok(directory)
}

fn create_control(
    home: &Home,
    certificate: &Certificate,
    root: &SigningKey,
    now: Timestamp,
) -> Result<ControlCertificate, KeystoreError> {
    let control = create_signing_key(home, CONTROL)?;
    let secret = fresh_secret()?;
    pem::create(&home.key_file(AUDIT), Algorithm::X25519, &secret)?;
    let keys = PersonKeys {
        control: control.public().clone(),
        audit: SealKey::of_secret(&secret),
        before: None,
    };
    let (principal, next) = (&certificate.principal, certificate.next_root);
    issue::control_certificate(principal, &keys, next, root, now)
        .map_err(rotate::faulty(CONTROL_CERTIFICATE))
}

fn create_statement(
    home: &Home,
    agent: &AgentId,
    now: Timestamp,
    signing: &SigningKey,
) -> Result<(), KeystoreError> {
    let secret = fresh_secret()?;
    pem::create(&home.key_file(SEALING), Algorithm::X25519, &secret)?;
    // Take the serial from the clock: the serials of a lost home are not known, and peers refuse a serial that falls.
    let (sealing, serial) = (SealKey::of_secret(&secret), next_serial(None, now));
    let end = now.saturating_add(KEYS_LIFE);
    let statement = KeyStatement::sign(agent, sealing, serial, end, signing);
    create_json(
        home,
        KEYS,
        &statement.map_err(rotate::faulty(KEYS))?.to_value(),
    )
}

fn create_signing_key(home: &Home, name: &str) -> Result<SigningKey, KeystoreError> {
    let path = home.key_file(name);
    let seed = fresh_secret()?;
    pem::create(&path, Algorithm::Ed25519, &seed)?;
    pem::signing_key(&path, &seed)
}

fn create_json(home: &Home, name: &str, value: &Value) -> Result<(), KeystoreError> {
    Ok(private::create(&home.key_file(name), &json_file(value))?)
}
