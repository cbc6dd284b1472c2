//! Points of the curve of RFC 8032 (5.1), added and doubled in variable time, for public values alone.
//!
//! The library's `EdwardsPoint` is the only way in: it says which bytes are a point. Its additions take nine multiplications of
//! coordinates; with one point out of a table they take seven, which the library has for itself alone. The coordinates are
//! elements of the field of 2^255 − 19 out of crrl.
//!
//! The formulas are those of Hisil, Wong, Carter and Dawson, Twisted Edwards Curves Revisited (2008), sections 3.1 and 3.3, for
//! a = −1. They hold for any two points of this curve, also for equal ones, the neutral one and those of low order: −1 is a square in
//! the field, and d is none.

use crrl::field::GF25519;
use curve25519_dalek::EdwardsPoint;

// Of the library's two forms for 64 bits, the one of five words (40 bytes) divides wrongly: with it no table would be right.
const _: () = assert!(size_of::<GF25519>() == 32);

/// d of the curve −x² + y² = 1 + d·x²·y²: −121665/121666.
const D: GF25519 = GF25519::w64be(
    0x5203_6cee_2b6f_fe73,
    0x8cc7_4079_7779_e898,
    0x0070_0a4d_4141_d8ab,
    0x75eb_4dca_1359_78a3,
);

/// x and y.
#[derive(Clone, Copy)]
pub(super) struct Affine {
    x: GF25519,
    y: GF25519,
}

/// x = X/Z and y = Y/Z: what is doubled or encoded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Projective {
    x: GF25519,
    y: GF25519,
    z: GF25519,
}

/// A sum before its last multiplications: x = E/G and y = H/F. It takes four of them to be added to, three to be doubled.
#[derive(Clone, Copy)]
pub(super) struct Completed {
    e: GF25519,
    f: GF25519,
    g: GF25519,
    h: GF25519,
}

/// A point of a table, as additions take it: (y + x)/2, (y − x)/2 and d·x·y.
pub(super) struct Niels {
    plus: GF25519,
    minus: GF25519,
    product: GF25519,
}

impl From<&EdwardsPoint> for Affine {
    fn from(point: &EdwardsPoint) -> Self {
        let bytes = point.compress().to_bytes();
        let is_odd = bytes.last().is_some_and(|last| last >> 7 == 1);
        // All 256 bits are taken; with 2^255 taken off where the sign is set, what is left is y.
        let sign = GF25519::w64be(u64::from(is_odd) << 63, 0, 0, 0);
        let y = GF25519::decode_reduce(&bytes) - sign;
        let square = y.square();
        // Of a point's y this is a square (RFC 8032, 5.1.3); the root that comes is the even one.
        let (root, _) = ((square - GF25519::ONE) / (D * square + GF25519::ONE)).sqrt();
        let x = if is_odd { -root } else { root };
        Self { x, y }
    }
}

impl Affine {
    /// All of these points, by one inversion for every two hundred. No point has a Z of 0.
    pub(super) fn all(points: &[Projective]) -> Vec<Self> {
        let mut inverses: Vec<GF25519> = points.iter().map(|point| point.z).collect();
        GF25519::batch_invert(&mut inverses);
        let both = points.iter().zip(inverses);
        both.map(|(point, inverse)| Self {
            x: point.x * inverse,
            y: point.y * inverse,
        })
        .collect()
    }

    /// The encoding of RFC 8032, 5.1.2.
    pub(super) fn encode(&self) -> [u8; 32] {
        let [odd, ..] = self.x.encode();
        let mut bytes = self.y.encode();
        if let Some(last) = bytes.last_mut() {
            *last |= odd << 7;
        }
        bytes
    }
}

impl From<&Affine> for Projective {
    fn from(point: &Affine) -> Self {
        Self {
            x: point.x,
            y: point.y,
            z: GF25519::ONE,
        }
    }
}

impl From<&Affine> for Completed {
    fn from(point: &Affine) -> Self {
        Self {
            e: point.x,
            f: GF25519::ONE,
            g: GF25519::ONE,
            h: point.y,
        }
    }
}

impl From<&Affine> for Niels {
    fn from(point: &Affine) -> Self {
        Self {
            plus: (point.y + point.x).half(),
            minus: (point.y - point.x).half(),
            product: D * point.x * point.y,
        }
    }
}

impl Projective {
    pub(super) fn doubled(&self) -> Completed {
        let (a, b) = (self.x.square(), self.y.square());
        let h = b + a;
        let g = b - a;
        Completed {
            e: (self.x + self.y).square() - h,
            f: self.z.square().mul2() - g,
            g,
            h,
        }
    }
}

impl Completed {
    /// The neutral point.
    pub(super) const NEUTRAL: Self = Self {
        e: GF25519::ZERO,
        f: GF25519::ONE,
        g: GF25519::ONE,
        h: GF25519::ONE,
    };

    pub(super) fn add(&mut self, other: &Niels) {
        let (z, c) = self.cross(&other.plus, &other.minus, &other.product);
        (self.f, self.g) = (z - c, z + c);
    }

    /// Adds the negative, whose x has the other sign.
    pub(super) fn subtract(&mut self, other: &Niels) {
        let (z, c) = self.cross(&other.minus, &other.plus, &other.product);
        (self.f, self.g) = (z + c, z - c);
    }

    /// E and H of the sum; Z, and what is taken off it and added to it for F and G.
    fn cross(&mut self, plus: &GF25519, minus: &GF25519, product: &GF25519) -> (GF25519, GF25519) {
        let (x, y) = (self.e * self.f, self.g * self.h);
        let (z, t) = (self.f * self.g, self.e * self.h);
        let (a, b) = ((y - x) * minus, (y + x) * plus);
        (self.e, self.h) = (b - a, b + a);
        (z, t * product)
    }

    pub(super) fn projective(&self) -> Projective {
        Projective {
            x: self.e * self.f,
            y: self.g * self.h,
            z: self.f * self.g,
        }
    }
}
