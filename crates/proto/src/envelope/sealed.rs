//! A sealed box, as a message carries it: what it holds, [`seal`](crate::seal) says.

use std::fmt;

use crypto_box::{PublicKey, SecretKey};
use rand_core::CryptoRngCore;
use signet_json::{Map, Value};
use zeroize::Zeroizing;

use crate::ids::{decode_base64url, encode_base64url};
use crate::keys::{SealKey, SealSecret};
use crate::reject::Reason;

/// A sealed box, and the key that it names as its own.
#[derive(Clone, PartialEq, Eq)]
pub struct Sealed {
    /// Only compared with keys of our own, never computed with: it needs no proof of its form.
    to: [u8; 32],
    bytes: Vec<u8>,
}

impl Sealed {
    /// Seals `plaintext` for `to` under an ephemeral key of `rng`.
    ///
    /// # Errors
    /// `too-large`: longer than the cipher takes, 256 GiB.
    pub fn seal(
        to: SealKey,
        plaintext: &[u8],
        rng: &mut impl CryptoRngCore,
    ) -> Result<Self, Reason> {
        let bytes = PublicKey::from_bytes(*to.as_bytes())
            .seal(rng, plaintext)
            .map_err(|_| Reason::TooLarge)?;
        let to = *to.as_bytes();
        Ok(Self { to, bytes })
    }

    /// The plaintext. The ephemeral key inside the box passes the gate of [`SealKey`] before
    /// anything is computed with it.
    ///
    /// # Errors
    /// `unsealable`: not for this key, changed on the way, or made with a key that is none.
    pub fn open(&self, secret: &SealSecret) -> Result<Zeroizing<Vec<u8>>, Reason> {
        let ephemeral = self.bytes.first_chunk::<32>().ok_or(Reason::Unsealable)?;
        SealKey::try_from(*ephemeral).map_err(|_| Reason::Unsealable)?;
        if !self.is_for(secret.public()) {
            return Err(Reason::Unsealable);
        }
        SecretKey::from_bytes(*secret.expose())
            .unseal(&self.bytes)
            .map(Zeroizing::new)
            .map_err(|_| Reason::Unsealable)
    }

    /// Whether it names this key.
    pub fn is_for(&self, key: SealKey) -> bool {
        self.to == *key.as_bytes()
    }

    /// The box: 32 bytes of an ephemeral public key, 16 of a tag, and the ciphertext.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// `{ "to": "x25519:…", "box": "…" }`
    pub fn to_value(&self) -> Value {
        let mut members = Map::new();
        members.insert("to".into(), self.name_of_key().into());
        members.insert("box".into(), encode_base64url(&self.bytes).into());
        Value::Object(members)
    }

    /// Reads it from those two members and no others.
    ///
    /// # Errors
    /// `invalid-shape`.
    pub fn parse(value: &Value) -> Result<Self, Reason> {
        let members = value.as_object().filter(|members| members.len() == 2);
        let text = |name: &str| members?.get(name)?.as_str();
        let decode = |text: &str| decode_base64url(text).ok();
        let to = text("to").and_then(|text| decode(text.strip_prefix("x25519:")?));
        let bytes = text("box").and_then(decode);
        match (to.map(<[u8; 32]>::try_from), bytes) {
            (Some(Ok(to)), Some(bytes)) if bytes.len() >= OVERHEAD => Ok(Self { to, bytes }),
            _ => Err(Reason::InvalidShape),
        }
    }

    fn name_of_key(&self) -> String {
        format!("x25519:{}", encode_base64url(&self.to))
    }
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (to, bytes) = (self.name_of_key(), self.bytes.len());
        write!(f, "Sealed(to {to}, {bytes} bytes)")
    }
}

/// What a box is longer than its plaintext: an ephemeral key and a tag.
const OVERHEAD: usize = 32 + 16;
