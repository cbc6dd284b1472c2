//! Private keys of curve 25519 as PKCS#8 PEM: version 1, as RFC 8410 has it and OpenSSL reads it. An
//! Ed25519 key may also stand in OpenSSH's own form.

use std::path::Path;

use pkcs8::der::asn1::OctetStringRef;
use pkcs8::{AlgorithmIdentifierRef, LineEnding, ObjectIdentifier, PrivateKeyInfo, SecretDocument};
use signet_proto::keys::SigningKey;
use ssh_key::PrivateKey;
use ssh_key::private::KeypairData;
use zeroize::Zeroizing;

use super::KeystoreError;
use crate::files::private;

/// The algorithm of a private key, which says what it is for (RFC 8410 section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Signs.
    Ed25519,
    /// Opens what is sealed.
    X25519,
}

impl Algorithm {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Ed25519 => "Ed25519",
            Self::X25519 => "X25519",
        }
    }

    const fn oid(self) -> ObjectIdentifier {
        match self {
            Self::Ed25519 => ObjectIdentifier::new_unwrap("1.3.101.112"),
            Self::X25519 => ObjectIdentifier::new_unwrap("1.3.101.110"),
        }
    }
}

/// Reads the 32 secret bytes of the private file `path`.
///
/// # Errors
/// When it is not private, not such a key, or encrypted.
pub fn read(path: &Path, algorithm: Algorithm) -> Result<Zeroizing<[u8; 32]>, KeystoreError> {
    let text = private::read(path)?;
    let malformed = || malformed(path, algorithm);
    if is_openssh(&text) {
        let seed = openssh_seed(&text, path)?;
        return seed
            .filter(|_| algorithm == Algorithm::Ed25519)
            .ok_or_else(malformed);
    }
    let (label, document) = SecretDocument::from_pem(&text).map_err(|_| malformed())?;
    // Tell an encrypted key from a malformed one: the person is told how to decrypt a copy.
    if label == ENCRYPTED_LABEL {
        let path = path.to_owned();
        return Err(KeystoreError::Encrypted(path));
    }
    match decode(&document) {
        Some((found, secret)) if label == LABEL && found == algorithm => Ok(secret),
        _ => Err(malformed()),
    }
}

/// The file is no key of that kind.
pub(super) fn malformed(path: &Path, algorithm: Algorithm) -> KeystoreError {
    KeystoreError::Pem {
        path: path.to_owned(),
        kind: algorithm.name(),
    }
}

/// Whether a key file is in the form of OpenSSH.
fn is_openssh(text: &str) -> bool {
    text.trim_start()
        .starts_with("-----BEGIN OPENSSH PRIVATE KEY-----")
}

/// The seed in the text of an OpenSSH key, `None` when it is no Ed25519 key.
fn openssh_seed(text: &str, path: &Path) -> Result<Option<Zeroizing<[u8; 32]>>, KeystoreError> {
    let key = PrivateKey::from_openssh(text);
    let key = key.map_err(|_| malformed(path, Algorithm::Ed25519))?;
    if key.is_encrypted() {
        let path = path.to_owned();
        return Err(KeystoreError::EncryptedSsh(path));
    }
    Ok(match key.key_data() {
        KeypairData::Ed25519(pair) => Some(Zeroizing::new(pair.private.to_bytes())),
        _ => None,
    })
}

/// Reads an Ed25519 key to sign with.
///
/// # Errors
/// As [`read`].
pub fn read_signing_key(path: &Path) -> Result<SigningKey, KeystoreError> {
    signing_key(path, &read(path, Algorithm::Ed25519)?)
}

/// The key of a seed that was read from `path`.
pub(super) fn signing_key(
    path: &Path,
    seed: &Zeroizing<[u8; 32]>,
) -> Result<SigningKey, KeystoreError> {
    SigningKey::from_seed(seed).map_err(|source| KeystoreError::Key {
        path: path.to_owned(),
        source,
    })
}

/// Makes the file `path` of 32 secret bytes, whole or not at all. Never overwrites.
pub(super) fn create(
    path: &Path,
    algorithm: Algorithm,
    secret: &[u8; 32],
) -> Result<(), KeystoreError> {
    let text = encode(algorithm, secret).ok_or_else(|| malformed(path, algorithm))?;
    Ok(private::create_whole(path, text.as_bytes())?)
}

/// The PEM text of 32 secret bytes.
pub(super) fn encode(algorithm: Algorithm, secret: &[u8; 32]) -> Option<Zeroizing<String>> {
    document(algorithm, secret)?
        .to_pem(LABEL, LineEnding::LF)
        .ok()
}

/// The PKCS#8 document of 32 secret bytes.
pub(super) fn document(algorithm: Algorithm, secret: &[u8; 32]) -> Option<SecretDocument> {
    let mut octets = Zeroizing::new([0; 34]);
    octets[..2].copy_from_slice(&OCTET_STRING_OF_32);
    octets[2..].copy_from_slice(secret);
    let algorithm_id = AlgorithmIdentifierRef {
        oid: algorithm.oid(),
        parameters: None,
    };
    SecretDocument::encode_msg(&PrivateKeyInfo::new(algorithm_id, octets.as_slice())).ok()
}

/// The algorithm of a PKCS#8 document, and its 32 secret bytes.
pub(super) fn decode(document: &SecretDocument) -> Option<(Algorithm, Zeroizing<[u8; 32]>)> {
    use pkcs8::der::Decode as _;
    let info: PrivateKeyInfo<'_> = document.decode_msg().ok()?;
    let algorithm = [Algorithm::Ed25519, Algorithm::X25519]
        .into_iter()
        .find(|known| known.oid() == info.algorithm.oid)?;
    let secret = OctetStringRef::from_der(info.private_key).ok()?;
    let secret = Zeroizing::new(secret.as_bytes().try_into().ok()?);
    info.algorithm
        // RFC 8410, section 3, forbids parameters of the algorithm: refuse a key file that has any.
        .parameters
        .is_none()
        .then_some((algorithm, secret))
}

/// The label of a PKCS#8 key (RFC 7468 section 10).
pub(super) const LABEL: &str = "PRIVATE KEY";
/// The label of an encrypted one (RFC 7468 section 11).
pub(super) const ENCRYPTED_LABEL: &str = "ENCRYPTED PRIVATE KEY";
/// Tag and length of `CurvePrivateKey ::= OCTET STRING` (RFC 8410 section 7).
const OCTET_STRING_OF_32: [u8; 2] = [0x04, 32];
