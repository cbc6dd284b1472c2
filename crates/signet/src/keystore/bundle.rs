//! Everything that a person needs to begin again, in one file for a safe place.
//!
//! The file is PEM blocks (RFC 7468): the secrets as PKCS#8 (RFC 5958), encrypted by PBES2 (RFC 8018:
//! PBKDF2 with HMAC-SHA-256, then AES-256-CBC, which any OpenSSL opens) where there is a passphrase,
//! and the certificates. Which key is which follows from the certificates.

use std::path::Path;

use pkcs8::der::pem::{self as pem_text, LineEnding};
use pkcs8::pkcs5::pbes2;
use pkcs8::{EncryptedPrivateKeyInfo, PrivateKeyInfo, SecretDocument};
use signet_json::{Limits, Value};
use signet_proto::certificate::{Certificate, ControlCertificate};
use signet_proto::keys::{SealKey, SigningKey};
use zeroize::Zeroizing;

use super::pem::{self, Algorithm, ENCRYPTED_LABEL, LABEL};
use super::{AUDIT, AgentKeys, CONTROL, KeystoreError, NEXT_ROOT, ROOT, rotate};
use crate::files::private;
use crate::random;

/// What protects the secrets of a bundle.
pub struct Passphrase(Zeroizing<String>);

impl Passphrase {
    /// The first line of a private file.
    ///
    /// # Errors
    /// When it cannot be read, is not private, or is empty.
    pub fn read(path: &Path) -> Result<Self, KeystoreError> {
        let text = private::read(path)?;
        let line = text.lines().next().unwrap_or_default();
        if line.is_empty() {
            let path = path.to_owned();
            return Err(KeystoreError::NoPassphrase(path));
        }
        Ok(Self(Zeroizing::new(line.to_owned())))
    }
}

/// A person's secrets, and what was certified by them.
pub struct Bundle {
    /// Root and next root key, control and audit sealing key, older audit sealing keys.
    secrets: Vec<(Algorithm, Zeroizing<[u8; 32]>)>,
    /// The agent's certificate.
    pub certificate: Certificate,
    /// The control certificate.
    pub control: Option<ControlCertificate>,
}

impl Bundle {
    /// The secrets in `files`, for the agent of `keys`. What the certificates name must be there.
    ///
    /// # Errors
    /// `NotInBundle` says which key is missing.
    pub fn collect(keys: &AgentKeys, files: &[&Path]) -> Result<Self, KeystoreError> {
        let secrets = files.iter().map(|path| super::signing_or_sealing(path));
        let bundle = Self {
            secrets: secrets.collect::<Result<_, _>>()?,
            certificate: keys.certificate.clone(),
            control: keys.control.clone(),
        };
        // Check for missing keys now: a missing key would otherwise be found on the day when it is needed.
        bundle.prove_whole()?;
        Ok(bundle)
    }

    /// The text of the file.
    ///
    /// # Errors
    /// When the system gives no randomness.
    pub fn to_text(
        &self,
        passphrase: Option<&Passphrase>,
    ) -> Result<Zeroizing<String>, KeystoreError> {
        // Reserve room for all keys at once: a text that grows leaves copies of the secrets behind in freed memory.
        let mut text = Zeroizing::new(String::with_capacity(16 * 1024));
        text.push_str(PREFACE);
        for (algorithm, secret) in &self.secrets {
            let block = match passphrase {
                None => pem::encode(*algorithm, secret).ok_or(KeystoreError::Bundle)?,
                Some(passphrase) => encrypted(*algorithm, secret, passphrase)?,
            };
            text.push_str(&block);
        }
        push_json(&mut text, CERTIFICATE_LABEL, &self.certificate.to_value())?;
        if let Some(control) = &self.control {
            push_json(&mut text, CONTROL_LABEL, &control.to_value())?;
        }
        Ok(text)
    }

    /// Reads the file `path`.
    ///
    /// # Errors
    /// `Bundle` when it is none, `WrongPassphrase`, `NotInBundle` when a key is missing in it.
    pub fn read(path: &Path, passphrase: Option<&Passphrase>) -> Result<Self, KeystoreError> {
        let text = private::read(path)?;
        let (mut secrets, mut certificate, mut control) = (Vec::new(), None, None);
        for block in blocks(&text) {
            match pem_text::decode_label(block.as_bytes()).map_err(|_| KeystoreError::Bundle)? {
                LABEL | ENCRYPTED_LABEL => secrets.push(decoded(block, passphrase)?),
                CERTIFICATE_LABEL => certificate = Some(certified(block, Certificate::parse)?),
                CONTROL_LABEL => control = Some(certified(block, ControlCertificate::parse)?),
                _ => return Err(KeystoreError::Bundle),
            }
        }
        let bundle = Self {
            secrets,
            certificate: certificate.ok_or(KeystoreError::Bundle)?,
            control,
        };
        bundle.prove_whole()?;
        Ok(bundle)
    }

    /// Writes the secrets as single key files into an existing directory. Overwrites nothing.
    ///
    /// # Errors
    /// When a file cannot be made; those that were made until then stay.
    pub fn write_keys(&self, directory: &Path) -> Result<(), KeystoreError> {
        let mut spare = 0;
        for (algorithm, secret) in &self.secrets {
            let name = match self.name_of(*algorithm, secret) {
                Some(name) => name.to_owned(),
                None => {
                    spare += 1;
                    format!("audit-old-{spare}.pem")
                }
            };
            pem::create(&directory.join(name), *algorithm, secret)?;
        }
        Ok(())
    }

    /// The key file of a secret that the certificates name.
    fn name_of(&self, algorithm: Algorithm, secret: &Zeroizing<[u8; 32]>) -> Option<&'static str> {
        let control = self.control.as_ref();
        if algorithm == Algorithm::X25519 {
            let public = SealKey::of_secret(secret);
            return control
                .filter(|control| control.audit_key == public)
                .map(|_| AUDIT);
        }
        let key = SigningKey::from_seed(secret).ok()?;
        if *key.public() == self.certificate.root {
            Some(ROOT)
        } else if rotate::is_next(key.public(), &self.certificate) {
            Some(NEXT_ROOT)
        } else {
            control
                .filter(|control| control.control_key == *key.public())
                .map(|_| CONTROL)
        }
    }

    /// The root key that signed the certificate.
    pub(super) fn root(&self) -> Option<SigningKey> {
        self.secrets
            .iter()
            .filter(|(algorithm, _)| *algorithm == Algorithm::Ed25519)
            .filter_map(|(_, seed)| SigningKey::from_seed(seed).ok())
            .find(|key| *key.public() == self.certificate.root)
    }

    /// The next root key, control key and audit sealing keys are the person's, and stay in the file.
    fn prove_whole(&self) -> Result<(), KeystoreError> {
        let names = self.secrets.iter();
        let names = names.map(|(algorithm, secret)| self.name_of(*algorithm, secret));
        let names: Vec<_> = names.collect();
        let roots = [(ROOT, "root key"), (NEXT_ROOT, "next root key")];
        let others = [(CONTROL, "control key"), (AUDIT, "audit sealing key")];
        let others = others.into_iter().filter(|_| self.control.is_some());
        let mut needed = roots.into_iter().chain(others);
        if let Some((_, which)) = needed.find(|(name, _)| !names.contains(&Some(*name))) {
            return Err(KeystoreError::NotInBundle(which));
        }
        match &self.control {
            Some(control) if control.root != self.certificate.root => Err(
                KeystoreError::NotInBundle("control certificate of the present root key"),
            ),
            // Without a control certificate, a key that the agent's certificate does not name must be a control or audit key:
            // the file has lost the control certificate that named it.
            None if names.contains(&None) => Err(KeystoreError::Bundle),
            _ => Ok(()),
        }
    }
}

fn encrypted(
    algorithm: Algorithm,
    secret: &[u8; 32],
    passphrase: &Passphrase,
) -> Result<Zeroizing<String>, KeystoreError> {
    // Draw salt and IV anew for each key: with the same salt and IV, the file would show which keys begin alike.
    let salt: [u8; 16] = random::bytes().map_err(KeystoreError::Randomness)?;
    let iv: [u8; 16] = random::bytes().map_err(KeystoreError::Randomness)?;
    let document = pem::document(algorithm, secret).ok_or(KeystoreError::Bundle)?;
    let failed = |_| KeystoreError::Bundle;
    let parameters = pbes2::Parameters::pbkdf2_sha256_aes256cbc(ITERATIONS, &salt, &iv);
    let parameters = parameters.map_err(|_| KeystoreError::Bundle)?;
    let info: PrivateKeyInfo<'_> = document.decode_msg().map_err(|_| KeystoreError::Bundle)?;
    let sealed = info.encrypt_with_params(parameters, passphrase.0.as_bytes());
    sealed
        .map_err(|_| KeystoreError::Bundle)?
        .to_pem(ENCRYPTED_LABEL, LineEnding::LF)
        .map_err(failed)
}

fn decoded(
    block: &str,
    passphrase: Option<&Passphrase>,
) -> Result<(Algorithm, Zeroizing<[u8; 32]>), KeystoreError> {
    let (label, document) = SecretDocument::from_pem(block).map_err(|_| KeystoreError::Bundle)?;
    if label == LABEL {
        return pem::decode(&document).ok_or(KeystoreError::Bundle);
    }
    let passphrase = passphrase.ok_or(KeystoreError::PassphraseNeeded)?;
    let info: EncryptedPrivateKeyInfo<'_> =
        document.decode_msg().map_err(|_| KeystoreError::Bundle)?;
    let opened = info
        .decrypt(passphrase.0.as_bytes())
        .map_err(|_| KeystoreError::WrongPassphrase)?;
    // A wrong passphrase has one chance in 256 of a valid padding by accident: if the result is no key, report a wrong
    // passphrase too.
    pem::decode(&opened).ok_or(KeystoreError::WrongPassphrase)
}

fn push_json(text: &mut String, label: &str, value: &Value) -> Result<(), KeystoreError> {
    let bytes = signet_json::canonical(value);
    let block = pem_text::encode_string(label, LineEnding::LF, &bytes);
    text.push_str(&block.map_err(|_| KeystoreError::Bundle)?);
    Ok(())
}

/// What a block certifies. A block that is damaged is a fault of the file, and never counts as absent.
fn certified<T, E>(
    block: &str,
    parse: impl FnOnce(&Value) -> Result<T, E>,
) -> Result<T, KeystoreError> {
    let (_, bytes) = pem_text::decode_vec(block.as_bytes()).map_err(|_| KeystoreError::Bundle)?;
    let value = signet_json::parse(&bytes, Limits::MESSAGE).map_err(|_| KeystoreError::Bundle)?;
    parse(&value).map_err(|_| KeystoreError::Bundle)
}

/// The PEM blocks of a text, each from its first line to its last; what stands between is for people.
fn blocks(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n')
        .scan(0, |at, line| {
            let start = *at;
            *at += line.len();
            Some((start, *at, line))
        })
        .scan(None, |from, (start, end, line)| {
            if line.starts_with("-----BEGIN ") {
                *from = Some(start);
            }
            let whole = from.filter(|_| line.starts_with("-----END "));
            if whole.is_some() {
                *from = None;
            }
            Some(whole.map(|from| (from, end)))
        })
        .flatten()
        .filter_map(|(from, end)| text.get(from..end))
}

const CERTIFICATE_LABEL: &str = "SIGNET CERTIFICATE";
const CONTROL_LABEL: &str = "SIGNET CONTROL CERTIFICATE";
/// What OWASP asks for PBKDF2 with HMAC-SHA-256.
const ITERATIONS: u32 = 600_000;
const PREFACE: &str = "\
A person's signet keys: root, next root, control and audit sealing key, and their certificates.
Whoever has this file (and its passphrase, if it has one) is this person. Keep it off every machine.
`signet key recover FILE --home NEW --agent ID` makes an agent from it.

";
