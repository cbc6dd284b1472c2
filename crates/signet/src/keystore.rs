//! The key store of one home: secret keys as PKCS#8 PEM (RFC 5958, RFC 8410), the certificates, and
//! the key statement.
//!
//! ```text
//! keys/signing.pem      Ed25519, signs messages          keys/certificate.json   signed by the root
//! keys/sealing.pem      X25519, opens sealed messages    keys/keys.json          signed by signing.pem
//! keys/control.pem      Ed25519, the person's: approves  keys/control.json       signed by the root
//! keys/audit.pem        X25519, the person's: reads the log's sealed copies
//! keys/root.pem         Ed25519, the person's own
//! keys/next-root.pem    Ed25519, its successor, committed to in the certificate
//! keys/card.pem         Ed25519, signs the agent's card and nothing else; made when the first is asked for
//! ```
//!
//! The person's four secrets are not needed to run: keep them elsewhere. Secrets that newer ones have
//! followed are named in [`RetiredKey`]. A change of keys goes by [`stage`] and [`adopt`].

mod bundle;
mod card;
mod create;
mod disk;
mod error;
mod issue;
mod offline_request;
mod openssh;
mod pem;
mod place;
mod retired;
mod rotate;
mod stage;
mod stash;
#[cfg(test)]
pub(crate) mod tests;

use std::path::Path;

use signet_json::Value;
use signet_proto::certificate::{Certificate, ControlCertificate, KeyStatement};
use signet_proto::draft::Identity;
use signet_proto::headers::Layers;
use signet_proto::keys::{SealSecret, SigningKey};
use signet_proto::time::Timestamp;
use zeroize::Zeroizing;

use crate::config::AgentConfig;
use crate::home::Home;
use crate::lock::HomeLock;
use crate::random;

pub use bundle::{Bundle, Passphrase};
pub use card::{CARD, card_key};
pub use create::{NewAgent, Recovered, Root, create, recover};
pub use error::KeystoreError;
pub use offline_request::{RootAnswer, RootRequest, clear_request, install, is_installed, request};
pub use openssh::{KeyFormat, convert, public_line};
pub use pem::{Algorithm, read as read_secret, read_signing_key};
use place::KeyFolder;
pub use retired::{RetiredKey, destroy_overdue, kept};
pub use rotate::{
    PersonKey, create_next_root, is_next as is_next_root, rotate_person, rotate_root,
    rotate_sealing, rotate_signing, take_control,
};
pub use stage::{KeyChange, adopt, stage};
pub use stash::{StashError, persons_names, stash};

/// Reads an X25519 key of a person from a file of theirs.
///
/// # Errors
/// Names the file and what is wrong with it.
pub fn read_seal_secret(path: &Path) -> Result<SealSecret, KeystoreError> {
    pem::read(path, pem::Algorithm::X25519).map(SealSecret::of)
}

/// The keys of one agent, which belong together.
#[derive(Debug)]
pub struct AgentKeys {
    /// Signs the agent's messages.
    pub signing: SigningKey,
    /// Signed them before: they sign receipts in the sessions that they opened.
    pub former: Vec<SigningKey>,
    /// Opens what is sealed for the agent.
    pub sealing: SealSecret,
    /// Open what was sealed for the agent before.
    pub older: Vec<SealSecret>,
    /// What the root key says of the agent.
    pub certificate: Certificate,
    /// What the signing key says of the sealing key.
    pub statement: KeyStatement,
    /// What the root key says of the person's own keys; absent in a home of an older release.
    pub control: Option<ControlCertificate>,
}

impl AgentKeys {
    /// Opens the key store of `home`, and holds certificates, statement, keys and configuration
    /// against each other. Whether the certificate is still valid is not looked at. Changes nothing:
    /// a change that is being adopted is read through.
    ///
    /// # Errors
    /// Names the file at fault. No text of it holds anything secret.
    pub fn open(home: &Home, agent: &AgentConfig) -> Result<Self, KeystoreError> {
        Self::read(&KeyFolder::present(home), agent).or_else(|error| {
            if stage::next(home).exists() {
                Self::read(&KeyFolder::staged(home), agent).map_err(|_| error)
            } else {
                Err(error)
            }
        })
    }

    /// Brings the key store of a locked home in order at a start, then does what [`AgentKeys::upkeep`]
    /// does: what an interrupted command began to stage is destroyed.
    ///
    /// # Errors
    /// As [`AgentKeys::upkeep`].
    pub fn settle(
        lock: &HomeLock,
        agent: &AgentConfig,
        now: Timestamp,
    ) -> Result<Self, KeystoreError> {
        stage::discard_unfinished(lock)?;
        Self::upkeep(lock, agent, now)
    }

    /// Brings the key store of a locked home up to `now`, then opens it: adopts a staged change or
    /// the rest of one, destroys old secrets whose time is over, makes a new sealing key when the
    /// old one is 30 days old.
    ///
    /// # Errors
    /// As [`AgentKeys::open`], and when a file cannot be written; what was there before then stays.
    pub fn upkeep(
        lock: &HomeLock,
        agent: &AgentConfig,
        now: Timestamp,
    ) -> Result<Self, KeystoreError> {
        match adopt(lock, agent, now) {
            // `adopt` has destroyed a staged change that does not fit: go on with the present keys, which it has left as they
            // were.
            Err(error @ KeystoreError::Unfit { .. }) => tracing::warn!(%error, "not adopted"),
            adopted => drop(adopted?),
        }
        destroy_overdue(lock, now)?;
        let keys = Self::open(lock.home(), agent)?;
        // Sign no statement of a new sealing key outside of the certificate's dates, because peers refuse such a statement.
        // Either the clock is wrong then, or the certificate has ended.
        if !keys.statement.is_due(now) || !keys.certificate.covers(now) {
            return Ok(keys);
        }
        // Stage this change like every other: key and statement then come into force together,
        // even if the machine stops in between.
        stage(lock.home(), &rotate_sealing(&keys, now)?)?;
        adopt(lock, agent, now)?;
        Self::open(lock.home(), agent)
    }

    /// Who we are to the node, with these skill layers loaded.
    pub fn into_identity(self, layers: Layers) -> Identity {
        let mut secrets = vec![self.sealing];
        secrets.extend(self.older);
        Identity {
            certificate: self.certificate,
            keys: self.statement,
            signing: self.signing,
            former: self.former,
            layers,
            secrets,
            control: self.control,
        }
    }

    fn read(place: &KeyFolder<'_>, agent: &AgentConfig) -> Result<Self, KeystoreError> {
        Self::read_files(place, agent).map_err(KeystoreError::of_a_home)
    }

    fn read_files(place: &KeyFolder<'_>, agent: &AgentConfig) -> Result<Self, KeystoreError> {
        place.prove_private()?;
        let signing = pem::read_signing_key(&place.file(SIGNING))?;
        let sealing = pem::read(&place.file(SEALING), Algorithm::X25519)?;
        let certificate = place.certificate()?;
        let path = place.file(CERTIFICATE);
        if certificate.signing_key != *signing.public() {
            return Err(KeystoreError::ForeignCertificate(path));
        }
        if certificate.agent != agent.agent || certificate.principal != agent.principal {
            return Err(KeystoreError::OtherAgent {
                path,
                agent: certificate.agent.to_string(),
            });
        }
        if !agent.layers.is_subset_of(certificate.layers) {
            return Err(KeystoreError::Layers(path));
        }
        let sealing = SealSecret::of(sealing);
        let statement = place.statement(&certificate)?;
        if statement.agent != certificate.agent || statement.sealing_key != sealing.public() {
            let path = place.file(KEYS);
            return Err(KeystoreError::ForeignStatement(path));
        }
        let (mut former, mut older) = (place.former()?, place.older()?);
        // The service manager may hand over the same key that the home holds: leave that key out here, because it is
        // in use and not a former one.
        former.retain(|key| key.public() != signing.public());
        older.retain(|secret| secret.public() != sealing.public());
        Ok(Self {
            control: place.control_of(&certificate)?,
            former,
            older,
            signing,
            sealing,
            certificate,
            statement,
        })
    }

    /// Whether these keys may take the place of `present`: no serial falls, and none is used twice.
    fn follows(&self, present: &Self) -> Result<(), String> {
        let (mine, theirs) = (&self.certificate, &present.certificate);
        // An interrupted adoption has moved some files, which both sets then share: so allow an equal serial where both sets
        // hold the same certificate or statement.
        let rises = |new: u64, old: u64, same: bool| new > old || (new == old && same);
        if mine.principal != theirs.principal {
            return Err("the certificate is another person's".to_owned());
        }
        if !rises(mine.serial, theirs.serial, mine == theirs) {
            return Err("the serial of the certificate does not rise".to_owned());
        }
        let known_root = mine.root == theirs.root || rotate::is_next(&mine.root, theirs);
        if !known_root {
            return Err("the root key is neither the present nor the next one".to_owned());
        }
        let (mine, theirs) = (&self.statement, &present.statement);
        if !rises(mine.serial, theirs.serial, mine == theirs) {
            return Err("the serial of the key statement does not rise".to_owned());
        }
        match (&self.control, &present.control) {
            (Some(mine), Some(theirs)) if !rises(mine.serial, theirs.serial, mine == theirs) => {
                Err("the serial of the control certificate does not rise".to_owned())
            }
            // All else may follow. A staged set without a control certificate takes none away: the present one stays.
            _ => Ok(()),
        }
    }
}

/// Destroys the key store of a home, and the keys of its checkpoints: nobody signs as this agent any more.
///
/// # Errors
/// When a file cannot be destroyed; the others then wait for the next time.
pub fn destroy_all(home: &Home) -> Result<(), KeystoreError> {
    disk::destroy_directory(&home.join("keys"))?;
    Ok(disk::destroy_directory(&home.join("checkpoint-keys"))?)
}

/// Whether a staged change of keys waits to be adopted.
pub fn is_waiting(home: &Home) -> bool {
    stage::next(home).exists()
}

/// A secret key from the operating system.
fn fresh_secret() -> Result<Zeroizing<[u8; 32]>, KeystoreError> {
    random::bytes()
        .map(Zeroizing::new)
        .map_err(KeystoreError::Randomness)
}

/// The secret in a file that may hold a key of either kind.
fn signing_or_sealing(path: &Path) -> Result<(Algorithm, Zeroizing<[u8; 32]>), KeystoreError> {
    match pem::read(path, Algorithm::Ed25519) {
        Ok(seed) => Ok((Algorithm::Ed25519, seed)),
        // Try the other algorithm only where the file is no key of the first: a file that others can read stays refused.
        Err(error @ KeystoreError::Pem { .. }) => pem::read(path, Algorithm::X25519)
            .map(|secret| (Algorithm::X25519, secret))
            .map_err(|_| error),
        Err(error) => Err(error),
    }
}

/// The canonical text and a line feed.
fn json_file(value: &Value) -> Vec<u8> {
    let mut text = signet_json::canonical(value);
    text.push(b'\n');
    text
}

/// The keys that the service manager may hand over as credentials of these names, where the home has none.
const HANDED_OVER: [&str; 2] = [SIGNING, SEALING];
/// The key file of the signing key.
pub const SIGNING: &str = "signing.pem";
/// The key file of the sealing key.
pub const SEALING: &str = "sealing.pem";
/// The key file of the person's control key.
pub const CONTROL: &str = "control.pem";
/// The key file of the person's audit sealing key.
pub const AUDIT: &str = "audit.pem";
/// The key file of the person's root key.
pub const ROOT: &str = "root.pem";
/// The key file of its successor.
pub const NEXT_ROOT: &str = "next-root.pem";
/// The agent's certificate.
pub const CERTIFICATE: &str = "certificate.json";
/// The control certificate.
pub const CONTROL_CERTIFICATE: &str = "control.json";
/// The key statement.
pub const KEYS: &str = "keys.json";
