//! Making the key store of a new agent.

use std::path::PathBuf;
use std::time::Duration;

use signet_proto::certificate::{Certificate, CertificateRequest, KEYS_LIFE, KeyStatement};
use signet_proto::headers::Layers;
use signet_proto::ids::{AgentId, Digest, PrincipalId, Version};
use signet_proto::keys::{SealKey, SigningKey};
use signet_proto::time::Timestamp;
use zeroize::Zeroizing;

use super::pem::{self, Algorithm};
use super::{CERTIFICATE, KEYS, KeystoreError, NEXT_ROOT, ROOT, SEALING, SIGNING, json_file};
use crate::home::Home;
use crate::private;

/// The agent to make keys for.
#[derive(Clone, Debug)]
pub struct NewAgent {
    /// Its id.
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
        /// Its successor, whose hash the certificate carries.
        next: PathBuf,
    },
}

/// Makes the key store of a new agent in `home`, whose directory exists. Overwrites nothing.
///
/// # Errors
/// When a root key cannot be read or a file not be made; what was made until then stays.
pub fn create(home: &Home, new: NewAgent, now: Timestamp) -> Result<Certificate, KeystoreError> {
    let directory = home.join("keys");
    let failed = |source| {
        KeystoreError::File(private::PrivateError::Io {
            path: directory.clone(),
            source,
        })
    };
    std::fs::create_dir(&directory).map_err(failed)?;
    let (root, next_root) = match &new.root {
        Root::New => (
            create_signing_key(home, ROOT)?,
            create_signing_key(home, NEXT_ROOT)?,
        ),
        Root::Existing { root, next } => {
            (pem::read_signing_key(root)?, pem::read_signing_key(next)?)
        }
    };
    if root.public() == next_root.public() {
        return Err(KeystoreError::SameRoot);
    }
    let signing = create_signing_key(home, SIGNING)?;
    let certificate = certify(home, &new, now, &signing, (&root, &next_root))?;
    create_statement(home, &new.agent, now, &signing)?;
    private::sync_directory_of(&directory)?;
    Ok(certificate)
}

fn certify(
    home: &Home,
    new: &NewAgent,
    now: Timestamp,
    signing: &SigningKey,
    (root, next_root): (&SigningKey, &SigningKey),
) -> Result<Certificate, KeystoreError> {
    let path = home.key_file(CERTIFICATE);
    let request = CertificateRequest {
        agent: new.agent.clone(),
        principal: new.principal.clone(),
        signing_key: signing.public().clone(),
        layers: Layers::of(&[0, 1, 2, 3]),
        versions: vec![Version::CURRENT],
        serial: first_serial(now),
        not_before: now.saturating_sub(CLOCK_SKEW),
        not_after: now.saturating_add(CERTIFICATE_LIFE),
        next_root: Digest::of(&[next_root.public().as_bytes()]),
    };
    let faulty = |source| KeystoreError::Certificate {
        path: path.clone(),
        source,
    };
    let certificate = request.sign(root).map_err(faulty)?;
    private::create(&path, &json_file(certificate.to_value()))?;
    Ok(certificate)
}

fn create_statement(
    home: &Home,
    agent: &AgentId,
    now: Timestamp,
    signing: &SigningKey,
) -> Result<(), KeystoreError> {
    let path = home.key_file(KEYS);
    let secret = random()?;
    pem::create(&home.key_file(SEALING), Algorithm::X25519, &secret)?;
    let end = now.saturating_add(KEYS_LIFE);
    let sealing = SealKey::of_secret(&secret);
    let statement =
        KeyStatement::sign(agent, sealing, first_serial(now), end, signing).map_err(|source| {
            KeystoreError::Certificate {
                path: path.clone(),
                source,
            }
        })?;
    Ok(private::create(&path, &json_file(statement.to_value()))?)
}

fn create_signing_key(home: &Home, name: &str) -> Result<SigningKey, KeystoreError> {
    let path = home.key_file(name);
    let seed = random()?;
    pem::create(&path, Algorithm::Ed25519, &seed)?;
    SigningKey::from_seed(&seed).map_err(|source| KeystoreError::Key { path, source })
}

/// Serials only rise: the second of the making lets an agent that lost its home be made again.
fn first_serial(now: Timestamp) -> u64 {
    u64::try_from(now.as_millis() / 1000)
        .unwrap_or_default()
        .max(1)
}

/// 32 bytes from the operating system.
fn random() -> Result<Zeroizing<[u8; 32]>, KeystoreError> {
    let mut bytes = Zeroizing::new([0_u8; 32]);
    let failed = |errno: rustix::io::Errno| KeystoreError::Randomness(errno.into());
    let filled =
        rustix::rand::getrandom(bytes.as_mut_slice(), rustix::rand::GetRandomFlags::empty());
    // getrandom(2) gives up to 256 bytes whole, or fails.
    match filled.map_err(failed)? {
        32 => Ok(bytes),
        _ => Err(KeystoreError::Randomness(
            std::io::ErrorKind::UnexpectedEof.into(),
        )),
    }
}

const CERTIFICATE_LIFE: Duration = Duration::from_secs(365 * 24 * 3600);
/// A certificate begins this long before it is made, so that a peer whose clock is slow takes it.
const CLOCK_SKEW: Duration = Duration::from_secs(5 * 60);
