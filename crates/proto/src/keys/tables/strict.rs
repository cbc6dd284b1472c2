//! The rule of ed25519-dalek's `verify_strict`, with a table in place of its multiplication.
//!
//! Both accept exactly where S < L, neither A nor R is of small order, and S·B − k·A encodes to the bytes of R. The last makes
//! R canonical, and a canonical R is of small order where its bytes are one of eight: R is never decoded here. That A is not of
//! small order is known since [`super::VerifyKey`] was made.

use curve25519_dalek::constants::{ED25519_BASEPOINT_POINT, EIGHT_TORSION};
use curve25519_dalek::edwards::CompressedEdwardsY;
use sha2::{Digest as _, Sha512};

use super::comb::{Comb, PublicScalar, sum_of_both};
use super::point::{Affine, Projective};

/// What every key's verdict needs: multiples of the base point B, and the encodings of the points of small order.
pub(super) struct BaseTable {
    comb: Comb,
    small_order: [[u8; 32]; 8],
}

impl BaseTable {
    pub(super) fn new() -> Self {
        Self {
            comb: Comb::of(&ED25519_BASEPOINT_POINT),
            small_order: EIGHT_TORSION.map(|point| point.compress().to_bytes()),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.comb.bytes()
    }
}

/// Multiples of −A, the negative of a public key's point.
pub(super) struct KeyTable {
    key: [u8; 32],
    comb: Comb,
}

/// A signature of which the sum S·B − k·A is known, and whether it encodes to the bytes of R is not yet.
#[derive(Clone, Debug)]
pub(crate) struct OpenCheck {
    pub(super) key: [u8; 32],
    r: [u8; 32],
    sum: Projective,
}

impl OpenCheck {
    /// Whether each of these signatures holds. To encode a point takes the inverse of one of its coordinates: all of them are
    /// found by one inversion, which is a sixth of the time that a signature takes alone.
    pub(super) fn hold(open: &[&Self]) -> Vec<bool> {
        let sums: Vec<Projective> = open.iter().map(|check| check.sum).collect();
        let both = Affine::all(&sums).into_iter().zip(open);
        both.map(|(sum, check)| sum.encode() == check.r).collect()
    }
}

impl KeyTable {
    /// The table of a key that is not of small order; none for bytes that are no point.
    pub(super) fn of(key: [u8; 32]) -> Option<Self> {
        let point = CompressedEdwardsY(key).decompress()?;
        Some(Self {
            key,
            comb: Comb::of(&-point),
        })
    }

    pub(super) fn bytes(&self) -> usize {
        self.comb.bytes()
    }

    /// Begins to verify the signature over label and parts, joined; none where it cannot hold.
    pub(super) fn begin(
        &self,
        base: &BaseTable,
        label: &[u8],
        parts: &[&[u8]],
        signature: &[u8; 64],
    ) -> Option<OpenCheck> {
        let [r, s] = halves(signature);
        let s = PublicScalar::canonical(s)?;
        // Check only R for small order, and not the key: a key of small order never becomes a `VerifyKey`.
        if base.small_order.contains(&r) {
            return None;
        }
        let k = self.challenge(&r, label, parts);
        let sum = sum_of_both(&self.comb, &k, &base.comb, &s)?;
        Some(OpenCheck {
            key: self.key,
            r,
            sum,
        })
    }

    /// k = SHA-512(R, A, M) mod L (RFC 8032, 5.1.7), over the parts of M as they lie.
    fn challenge(&self, r: &[u8; 32], label: &[u8], parts: &[&[u8]]) -> PublicScalar {
        let mut hash = Sha512::new_with_prefix(r);
        hash.update(self.key);
        hash.update(label);
        parts.iter().for_each(|part| hash.update(part));
        PublicScalar::reduced(&hash.finalize().into())
    }
}

/// R and S.
fn halves(signature: &[u8; 64]) -> [[u8; 32]; 2] {
    let signature = ed25519_dalek::Signature::from_bytes(signature);
    [*signature.r_bytes(), *signature.s_bytes()]
}
