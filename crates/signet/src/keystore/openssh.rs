//! Ed25519 keys in the form of OpenSSH: an existing one can be somebody's root key.

use std::path::Path;

use signet_proto::keys::SealSecret;
use ssh_key::private::Ed25519Keypair;
use ssh_key::{LineEnding, PrivateKey, PublicKey};

use super::pem::{self, Algorithm};
use super::{KeystoreError, signing_or_sealing};
use crate::files::private;

/// The form of a private key file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyFormat {
    /// As `ssh-keygen` writes it.
    Openssh,
    /// As signet and OpenSSL write it.
    Pkcs8,
}

/// Writes the key in the file `from` to the new file `to`, in another form.
///
/// # Errors
/// When it cannot be read, or has no such form: OpenSSH knows no X25519 keys.
pub fn convert(from: &Path, form: KeyFormat, to: &Path) -> Result<(), KeystoreError> {
    let (algorithm, secret) = signing_or_sealing(from)?;
    match (form, algorithm) {
        (KeyFormat::Pkcs8, _) => pem::create(to, algorithm, &secret),
        (KeyFormat::Openssh, Algorithm::Ed25519) => {
            let key = PrivateKey::from(Ed25519Keypair::from_seed(&secret));
            let text = key.to_openssh(LineEnding::LF);
            let text = text.map_err(|_| no_form(from))?;
            Ok(private::create(to, text.as_bytes())?)
        }
        (KeyFormat::Openssh, Algorithm::X25519) => Err(no_form(from)),
    }
}

/// The public half of the key in the file `path`: an OpenSSH line for Ed25519, the wire form for
/// X25519, which OpenSSH does not know.
///
/// # Errors
/// When it cannot be read.
pub fn public_line(path: &Path) -> Result<String, KeystoreError> {
    let (algorithm, secret) = signing_or_sealing(path)?;
    if algorithm == Algorithm::X25519 {
        return Ok(SealSecret::of(secret).public().to_string());
    }
    let public = PublicKey::from(Ed25519Keypair::from_seed(&secret).public);
    public.to_openssh().map_err(|_| no_form(path))
}

fn no_form(path: &Path) -> KeystoreError {
    KeystoreError::NoOpensshForm(path.to_owned())
}
