//! Keys that are safe to use once they exist: every constructor performs its check.

mod sealing;
mod tables;

use std::fmt;

use ed25519_dalek::{Signature, Signer as _, VerifyingKey};
use zeroize::Zeroizing;

use crate::ids::{Digest, KeyId, decode_base64url, encode_base64url};

pub use sealing::{SealKey, SealSecret};
pub use tables::{KeyTables, TableBudget};
pub(crate) use tables::{OpenCheck, SignatureCheck};

/// What a signature is for. Its label is the first line of the bytes signed, so that no signature
/// made for one purpose holds for another (docs/protocol.md, Signature).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A message on the wire.
    Message,
    /// A certificate, signed by a root key.
    Certificate,
    /// A key statement, signed by an agent's signing key.
    Keys,
    /// A revocation, signed by a root key.
    Revocation,
    /// A person's decision about a draft, signed by a control key.
    Approval,
    /// Pause or resume, signed by a control key.
    Pause,
    /// A person's decision about trust, signed by a control key.
    Decision,
    /// A mandate of a handoff, signed by an agent's signing key.
    Handoff,
    /// An invitation, signed by an agent's signing key.
    Invitation,
    /// What nobody else can compute of a caller's key: never shown, only hashed.
    ClientKey,
}

impl Purpose {
    /// The first line of the signed bytes, with its line feed.
    pub const fn label(self) -> &'static [u8] {
        match self {
            Self::Message => b"signet/1 message\n",
            Self::Certificate => b"signet/1 certificate\n",
            Self::Keys => b"signet/1 keys\n",
            Self::Revocation => b"signet/1 revocation\n",
            Self::Approval => b"signet/1 approval\n",
            Self::Pause => b"signet/1 pause\n",
            Self::Decision => b"signet/1 decision\n",
            Self::Handoff => b"signet/1 handoff\n",
            Self::Invitation => b"signet/1 invitation\n",
            Self::ClientKey => b"signet/1 client-key\n",
        }
    }
}

/// The key is not one that signet uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Not 32 bytes as 43 base64url characters.
    #[error("not a key: 43 base64url characters without padding are expected")]
    Encoding,
    /// Not a canonical point of the curve.
    #[error("not a canonical point of the curve; the key is corrupt or was made to deceive")]
    NotAPoint,
    /// A point of low order, or with a part of low order.
    #[error("a key with a low-order part; it was made to deceive, ask its owner for another")]
    LowOrder,
}

/// An Ed25519 public key (RFC 8032): canonical and not of low order.
#[derive(Clone, PartialEq, Eq)]
pub struct VerifyKey {
    key: VerifyingKey,
    id: KeyId,
}

impl VerifyKey {
    /// `key-id`: `ed25519:` and the SHA-256 of the key.
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// The 32 bytes of RFC 8032.
    pub fn as_bytes(&self) -> &[u8; 32] {
        self.key.as_bytes()
    }

    /// Whether `signature` holds, strictly, over the purpose's label and then `parts`.
    pub fn verify(&self, purpose: Purpose, parts: &[&[u8]], signature: &[u8; 64]) -> bool {
        // Verify strictly: a signature that some verifiers take and others refuse would let two agents disagree about what was
        // said.
        let signed = labelled(purpose, parts);
        self.key
            .verify_strict(&signed, &Signature::from_bytes(signature))
            .is_ok()
    }
}

impl TryFrom<[u8; 32]> for VerifyKey {
    type Error = KeyError;

    fn try_from(bytes: [u8; 32]) -> Result<Self, KeyError> {
        let key = VerifyingKey::from_bytes(&bytes).map_err(|_| KeyError::NotAPoint)?;
        // The library accepts a second encoding of a few points: refuse it, since one key would then have two key ids.
        let canonical = key.to_edwards().compress().to_bytes() == bytes;
        if !canonical {
            return Err(KeyError::NotAPoint);
        }
        // Refuse a key of small order: one signature for such a key can be valid for many messages.
        if key.is_weak() {
            return Err(KeyError::LowOrder);
        }
        Ok(Self {
            key,
            id: KeyId::of_key(&bytes),
        })
    }
}

impl std::str::FromStr for VerifyKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        Self::try_from(key_bytes(text)?)
    }
}

impl fmt::Display for VerifyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&encode_base64url(self.as_bytes()))
    }
}

impl fmt::Debug for VerifyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VerifyKey({self})")
    }
}

/// An Ed25519 secret key. It cannot print itself and is wiped when dropped.
pub struct SigningKey {
    key: ed25519_dalek::SigningKey,
    public: VerifyKey,
}

impl SigningKey {
    /// The key of a 32-byte seed (RFC 8032, 5.1.5).
    ///
    /// # Errors
    /// `LowOrder` never happens for an honest seed; it is reported rather than assumed.
    pub fn from_seed(seed: &Zeroizing<[u8; 32]>) -> Result<Self, KeyError> {
        let key = ed25519_dalek::SigningKey::from_bytes(seed);
        let public = VerifyKey::try_from(key.verifying_key().to_bytes())?;
        Ok(Self { key, public })
    }

    /// The public half.
    pub fn public(&self) -> &VerifyKey {
        &self.public
    }

    /// Signs the purpose's label and then `parts`.
    pub fn sign(&self, purpose: Purpose, parts: &[&[u8]]) -> [u8; 64] {
        self.key.sign(&labelled(purpose, parts)).to_bytes()
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey(public {})", self.public)
    }
}

/// The first 132 bits of SHA-256(`signet/1 fingerprint` LF key) as 12 words of the BIP-39 English
/// list, for two people to read out to each other.
pub fn fingerprint(key: &VerifyKey) -> String {
    let digest = Digest::of(&[b"signet/1 fingerprint\n", key.as_bytes()]);
    let words = bip39::Language::English.word_list();
    let mut bits = digest
        .as_bytes()
        .iter()
        .flat_map(|byte| (0..8).rev().map(move |i| usize::from(byte >> i & 1)));
    let mut out = Vec::with_capacity(12);
    for _ in 0..12 {
        let index = bits.by_ref().take(11).fold(0, |sum, bit| sum * 2 + bit);
        out.extend(words.get(index).copied());
    }
    out.join(" ")
}

fn labelled(purpose: Purpose, parts: &[&[u8]]) -> Vec<u8> {
    let mut signed = Vec::with_capacity(
        purpose.label().len() + parts.iter().map(|part| part.len()).sum::<usize>(),
    );
    signed.extend_from_slice(purpose.label());
    for part in parts {
        signed.extend_from_slice(part);
    }
    signed
}

fn key_bytes(text: &str) -> Result<[u8; 32], KeyError> {
    let bytes = decode_base64url(text).map_err(|_| KeyError::Encoding)?;
    bytes.try_into().map_err(|_| KeyError::Encoding)
}
