//! X25519 keys to seal for, and their secrets.

use std::fmt;

use curve25519_dalek::MontgomeryPoint;
use zeroize::Zeroizing;

use super::{KeyError, key_bytes};
use crate::ids::encode_base64url;

/// An X25519 public key (RFC 7748) to seal for: canonical, on the curve, free of torsion.
///
/// The crypto_box crate checks none of these, so a received key passes here before anything is
/// sealed to it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SealKey([u8; 32]);

impl SealKey {
    /// The 32 bytes of RFC 7748.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The public key of 32 secret bytes.
    pub fn of_secret(secret: &[u8; 32]) -> Self {
        Self(MontgomeryPoint::mul_base_clamped(*secret).to_bytes())
    }

    /// The key of that text, which this agent checked when it took it: the order of the point is not computed again, which
    /// takes longer than a signature's verification.
    ///
    /// # Errors
    /// `Encoding`: it is no text of a key.
    pub(crate) fn kept(text: &str) -> Result<Self, KeyError> {
        let bare = text.strip_prefix("x25519:").ok_or(KeyError::Encoding)?;
        Ok(Self(key_bytes(bare)?))
    }
}

impl TryFrom<[u8; 32]> for SealKey {
    type Error = KeyError;

    fn try_from(bytes: [u8; 32]) -> Result<Self, KeyError> {
        // An X25519 key is one coordinate, which two points of the curve share. Either point serves (sign 0 names one of them),
        // since the checks below are about the order, which is the same for both.
        let point = MontgomeryPoint(bytes)
            .to_edwards(0)
            .ok_or(KeyError::NotAPoint)?;
        if point.to_montgomery().to_bytes() != bytes {
            return Err(KeyError::NotAPoint);
        }
        if point.is_small_order() || !point.is_torsion_free() {
            return Err(KeyError::LowOrder);
        }
        Ok(Self(bytes))
    }
}

impl std::str::FromStr for SealKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let bare = text.strip_prefix("x25519:").ok_or(KeyError::Encoding)?;
        Self::try_from(key_bytes(bare)?)
    }
}

impl fmt::Display for SealKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "x25519:{}", encode_base64url(&self.0))
    }
}

impl fmt::Debug for SealKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SealKey({self})")
    }
}

/// An X25519 secret key. It cannot print itself and is wiped when dropped.
pub struct SealSecret {
    secret: Zeroizing<[u8; 32]>,
    public: SealKey,
}

impl SealSecret {
    /// The key of 32 secret bytes.
    pub fn of(secret: Zeroizing<[u8; 32]>) -> Self {
        let public = SealKey::of_secret(&secret);
        Self { secret, public }
    }

    /// The 32 secret bytes.
    pub fn expose(&self) -> &[u8; 32] {
        &self.secret
    }

    /// The public half.
    pub const fn public(&self) -> SealKey {
        self.public
    }
}

impl fmt::Debug for SealSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SealSecret(public {})", self.public)
    }
}
