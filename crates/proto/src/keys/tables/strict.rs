//! The rule of ed25519-dalek's `verify_strict`, with a table in place of its multiplication.
//!
//! Both accept exactly where S < L, neither A nor R is of small order, and S·B − k·A encodes to the bytes of R. The last makes
//! R canonical, and a canonical R is of small order where its bytes are one of eight: R is never decoded here. That A is not of
//! small order is known since [`super::VerifyKey`] was made.

use curve25519_dalek::constants::{ED25519_BASEPOINT_POINT, EIGHT_TORSION};
use ed25519_dalek::VerifyingKey;
use sha2::{Digest as _, Sha512};

use super::comb::{BaseComb, KeyComb, PublicScalar, sum_of_both};
use crate::keys::Purpose;

/// What every key's verdict needs: multiples of the base point B, and the encodings of the points of small order.
pub(super) struct BaseTable {
    comb: BaseComb,
    small_order: [[u8; 32]; 8],
}

impl BaseTable {
    pub(super) fn new() -> Self {
        Self {
            comb: BaseComb::of(&ED25519_BASEPOINT_POINT),
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
    comb: KeyComb,
}

impl KeyTable {
    /// The table of a key that is not of small order.
    pub(super) fn of(key: &VerifyingKey) -> Self {
        Self {
            key: key.to_bytes(),
            comb: KeyComb::of(&-key.to_edwards()),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.comb.bytes()
    }

    /// Whether the signature holds over the purpose's label and the parts.
    pub(super) fn holds(
        &self,
        base: &BaseTable,
        purpose: Purpose,
        parts: &[&[u8]],
        signature: &[u8; 64],
    ) -> bool {
        self.accepts(base, purpose.label(), parts, signature)
    }

    /// Whether it holds over all of that, joined.
    pub(super) fn accepts(
        &self,
        base: &BaseTable,
        label: &[u8],
        parts: &[&[u8]],
        signature: &[u8; 64],
    ) -> bool {
        let [r, s] = halves(signature);
        let Some(s) = PublicScalar::canonical(s) else {
            return false;
        };
        // Check only R for small order, and not the key: a key of small order never becomes a `VerifyKey`.
        if base.small_order.contains(&r) {
            return false;
        }
        let k = self.challenge(&r, label, parts);
        let sum = sum_of_both(&self.comb, &k, &base.comb, &s);
        sum.is_some_and(|sum| sum.compress().to_bytes() == r)
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
