//! Private keys of curve 25519 as PKCS#8 PEM: version 1, as RFC 8410 has it and OpenSSL reads it.

use std::path::Path;

use pkcs8::der::Decode as _;
use pkcs8::der::asn1::OctetStringRef;
use pkcs8::{AlgorithmIdentifierRef, LineEnding, ObjectIdentifier, PrivateKeyInfo, SecretDocument};
use signet_proto::keys::SigningKey;
use zeroize::Zeroizing;

use super::KeystoreError;
use crate::private;

/// What a private key is for (RFC 8410 section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    Ed25519,
    X25519,
}

impl Algorithm {
    const fn name(self) -> &'static str {
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

/// Reads the 32 secret bytes of `path`.
pub(super) fn read(
    path: &Path,
    algorithm: Algorithm,
) -> Result<Zeroizing<[u8; 32]>, KeystoreError> {
    let text = private::read(path)?;
    let malformed = || KeystoreError::Pem {
        path: path.to_owned(),
        kind: algorithm.name(),
    };
    let (label, document) = SecretDocument::from_pem(&text).map_err(|_| malformed())?;
    let info: PrivateKeyInfo<'_> = document.decode_msg().map_err(|_| malformed())?;
    let fits = label == LABEL
        && info.algorithm.oid == algorithm.oid()
        && info.algorithm.parameters.is_none();
    let secret = OctetStringRef::from_der(info.private_key).map_err(|_| malformed())?;
    let secret = secret.as_bytes().try_into().map_err(|_| malformed())?;
    if fits {
        Ok(Zeroizing::new(secret))
    } else {
        Err(malformed())
    }
}

/// Reads an Ed25519 key to sign with.
pub fn read_signing_key(path: &Path) -> Result<SigningKey, KeystoreError> {
    let seed = read(path, Algorithm::Ed25519)?;
    SigningKey::from_seed(&seed).map_err(|source| KeystoreError::Key {
        path: path.to_owned(),
        source,
    })
}

/// Makes the file `path` of 32 secret bytes. Never overwrites.
pub(super) fn create(
    path: &Path,
    algorithm: Algorithm,
    secret: &[u8; 32],
) -> Result<(), KeystoreError> {
    let unwritable = |_| KeystoreError::Pem {
        path: path.to_owned(),
        kind: algorithm.name(),
    };
    let mut octets = Zeroizing::new([0; 34]);
    octets[..2].copy_from_slice(&OCTET_STRING_OF_32);
    octets[2..].copy_from_slice(secret);
    let algorithm_id = AlgorithmIdentifierRef {
        oid: algorithm.oid(),
        parameters: None,
    };
    let info = PrivateKeyInfo::new(algorithm_id, octets.as_slice());
    let document = SecretDocument::encode_msg(&info).map_err(unwritable)?;
    let text = document.to_pem(LABEL, LineEnding::LF).map_err(unwritable)?;
    Ok(private::create(path, text.as_bytes())?)
}

const LABEL: &str = "PRIVATE KEY";
/// Tag and length of `CurvePrivateKey ::= OCTET STRING` (RFC 8410 section 7).
const OCTET_STRING_OF_32: [u8; 2] = [0x04, 32];
