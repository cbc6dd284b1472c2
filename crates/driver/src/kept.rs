//! What lies in a home's `keys`, as a thief reads it: without the checks of the daemon.

use std::path::Path;

use data_encoding::BASE64;
use serde_json::Value;
use signet_proto::certificate::{Certificate, KeyStatement};
use signet_proto::draft::Identity;
use signet_proto::keys::{SealSecret, SigningKey};
use zeroize::Zeroizing;

use crate::DriverError;

/// The key that signs in `keys/<name>`.
///
/// # Errors
/// `Io`, or `Kept` where it is no such key.
pub fn signing_key(home: &Path, name: &str) -> Result<SigningKey, DriverError> {
    let seed = secret(home, name)?;
    SigningKey::from_seed(&seed).map_err(|_| unfit(home, name, "a key to sign with"))
}

/// The key that opens what is sealed, in `keys/<name>`.
///
/// # Errors
/// `Io`, or `Kept` where it is no such key.
pub fn seal_secret(home: &Path, name: &str) -> Result<SealSecret, DriverError> {
    secret(home, name).map(SealSecret::of)
}

/// The certificate of the home's agent.
///
/// # Errors
/// `Io`, or `Kept` where it is none.
pub fn certificate(home: &Path) -> Result<Certificate, DriverError> {
    let name = "certificate.json";
    Certificate::parse(&document(home, name)?).map_err(|_| unfit(home, name, "a certificate"))
}

/// All that somebody needs who wants to sign as the home's agent. It opens nothing that is sealed.
///
/// # Errors
/// `Io`, or `Kept` where a file does not hold what it should.
pub fn identity(home: &Path) -> Result<Identity, DriverError> {
    let certificate = certificate(home)?;
    let name = "keys.json";
    let keys = KeyStatement::parse(&document(home, name)?, &certificate.signing_key);
    Ok(Identity {
        layers: certificate.layers,
        keys: keys.map_err(|_| unfit(home, name, "a key statement"))?,
        certificate,
        signing: signing_key(home, "signing.pem")?,
        former: Vec::new(),
        secrets: Vec::new(),
        control: None,
    })
}

/// The JSON in `keys/<name>`.
///
/// # Errors
/// `Io`, or `Kept` where it is no JSON.
pub fn document(home: &Path, name: &str) -> Result<Value, DriverError> {
    let path = home.join("keys").join(name);
    let bytes = std::fs::read(&path).map_err(DriverError::io(&path))?;
    serde_json::from_slice(&bytes).map_err(|_| unfit(home, name, "JSON"))
}

/// The last 32 bytes of a PKCS#8 document are the secret ones (RFC 8410).
fn secret(home: &Path, name: &str) -> Result<Zeroizing<[u8; 32]>, DriverError> {
    let path = home.join("keys").join(name);
    let text = std::fs::read_to_string(&path).map_err(DriverError::io(&path))?;
    let text = Zeroizing::new(text);
    let lines = text.lines().filter(|line| !line.starts_with("-----"));
    let inner = Zeroizing::new(lines.collect::<String>());
    let document = BASE64.decode(inner.as_bytes()).ok().map(Zeroizing::new);
    let secret = document.and_then(|document| document.last_chunk().copied());
    let secret = secret.ok_or_else(|| unfit(home, name, "a private key as PEM"))?;
    Ok(Zeroizing::new(secret))
}

fn unfit(home: &Path, name: &str, what: &'static str) -> DriverError {
    let path = home.join("keys").join(name);
    DriverError::Kept { path, what }
}
