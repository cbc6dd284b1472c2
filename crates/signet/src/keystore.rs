//! The key store of one home: secret keys as PKCS#8 PEM (RFC 5958, RFC 8410), the certificate, and
//! the key statement.
//!
//! ```text
//! keys/signing.pem      Ed25519, signs messages          keys/certificate.json   signed by the root
//! keys/sealing.pem      X25519, opens sealed messages    keys/keys.json          signed by signing.pem
//! keys/root.pem         Ed25519, the person's own; not needed to run: keep it elsewhere
//! keys/next-root.pem    Ed25519, its successor, committed to in the certificate; likewise
//! ```

mod create;
mod error;
mod pem;
#[cfg(test)]
mod tests;

use std::path::Path;

use signet_proto::certificate::{Certificate, KeyStatement};
use signet_proto::json::{self, Limits, Value};
use signet_proto::keys::{SealSecret, SigningKey};
use signet_proto::time::Timestamp;

use crate::config::AgentConfig;
use crate::home::Home;
use crate::lock::HomeLock;
use crate::private;

pub use create::{NewAgent, Root, create};
pub use error::KeystoreError;
pub use pem::read_signing_key;

/// Reads an X25519 key of a person from a file of theirs.
///
/// # Errors
/// Names the file and what is wrong with it.
pub fn read_seal_secret(path: &Path) -> Result<SealSecret, KeystoreError> {
    pem::read(path, pem::Algorithm::X25519).map(SealSecret::of)
}

/// The keys of one agent, which belong together.
#[derive(Debug)]
pub struct Keys {
    /// Signs the agent's messages.
    pub signing: SigningKey,
    /// Opens what is sealed for the agent.
    pub sealing: SealSecret,
    /// What the root key says of the agent.
    pub certificate: Certificate,
    /// What the signing key says of the sealing key.
    pub statement: KeyStatement,
}

impl Keys {
    /// Opens the key store of `home`, and holds certificate, statement, keys and configuration
    /// against each other. Whether the certificate is still valid is not looked at.
    ///
    /// # Errors
    /// Names the file at fault. No text of it holds anything secret.
    pub fn open(home: &Home, agent: &AgentConfig) -> Result<Self, KeystoreError> {
        for root in [ROOT, NEXT_ROOT].map(|name| home.key_file(name)) {
            if root.exists() {
                private::open(&root)?;
            }
        }
        let signing = pem::read_signing_key(&home.key_file(SIGNING))?;
        let sealing = SealSecret::of(pem::read(&home.key_file(SEALING), pem::Algorithm::X25519)?);
        let path = home.key_file(CERTIFICATE);
        let faulty = |source| KeystoreError::Certificate {
            path: path.clone(),
            source,
        };
        let certificate = Certificate::parse(&read_json(&path)?).map_err(faulty)?;
        if certificate.signing_key != *signing.public() {
            return Err(KeystoreError::ForeignCertificate { path });
        }
        if certificate.agent != agent.agent || certificate.principal != agent.principal {
            return Err(KeystoreError::OtherAgent {
                path,
                agent: certificate.agent.to_string(),
            });
        }
        if !agent.layers.is_subset_of(certificate.layers) {
            return Err(KeystoreError::Layers { path });
        }
        let statement = read_statement(home, &signing, &sealing, &certificate)?;
        Ok(Self {
            signing,
            sealing,
            certificate,
            statement,
        })
    }

    /// Makes a new key statement, with the serial after the last, once the old one is 30 days old;
    /// says whether it did. Only who holds the lock of the home may.
    ///
    /// # Errors
    /// When the statement cannot be signed or written; the old one then stays.
    pub fn renew_statement(
        &mut self,
        lock: &HomeLock,
        now: Timestamp,
    ) -> Result<bool, KeystoreError> {
        let path = lock.home().key_file(KEYS);
        let renewed = self.statement.renewed(now, &self.signing);
        let renewed = renewed.map_err(|source| KeystoreError::Certificate { path, source })?;
        let Some(statement) = renewed else {
            return Ok(false);
        };
        store_statement(lock, &statement)?;
        self.statement = statement;
        Ok(true)
    }
}

/// Writes a newer key statement in the place of the old one, durably.
///
/// # Errors
/// When it cannot be written; the old one then stays.
pub fn store_statement(lock: &HomeLock, statement: &KeyStatement) -> Result<(), KeystoreError> {
    let path = lock.home().key_file(KEYS);
    Ok(private::replace(&path, &json_file(statement.to_value()))?)
}

fn read_statement(
    home: &Home,
    signing: &SigningKey,
    sealing: &SealSecret,
    certificate: &Certificate,
) -> Result<KeyStatement, KeystoreError> {
    let path = home.key_file(KEYS);
    let faulty = |source| KeystoreError::Certificate {
        path: path.clone(),
        source,
    };
    let statement = KeyStatement::parse(&read_json(&path)?, signing.public()).map_err(faulty)?;
    if statement.agent != certificate.agent || statement.sealing_key != sealing.public() {
        return Err(KeystoreError::ForeignStatement { path });
    }
    Ok(statement)
}

fn read_json(path: &Path) -> Result<Value, KeystoreError> {
    let text = private::read(path)?;
    let malformed = |source| KeystoreError::Json {
        path: path.to_owned(),
        source,
    };
    json::parse(text.as_bytes(), Limits::MESSAGE).map_err(malformed)
}

/// The canonical text and a line feed.
fn json_file(value: &Value) -> Vec<u8> {
    let mut text = json::canonical(value);
    text.push(b'\n');
    text
}

const SIGNING: &str = "signing.pem";
const SEALING: &str = "sealing.pem";
const ROOT: &str = "root.pem";
const NEXT_ROOT: &str = "next-root.pem";
const CERTIFICATE: &str = "certificate.json";
const KEYS: &str = "keys.json";
