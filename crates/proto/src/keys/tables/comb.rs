//! Multiples of a public point, laid out as a comb, and sums of them: in variable time, for public values alone.
//!
//! An odd number below 2^n is a sum of ±1·2^i for all i < n (Hamburg, Fast and compact elliptic-curve cryptography, 2012,
//! section 3.3). A block of the comb holds every sum of ±1·2^(spacing·tooth) of its point whose highest sign is plus, so one look
//! and one addition or subtraction account for as many bits as there are teeth, and the doublings between two looks are shared
//! by all blocks and by both points.
//!
//! The sums are exact for whole numbers, not for numbers modulo the order of the base point: a point with a part of low order
//! is multiplied as the library does it.

use curve25519_dalek::traits::Identity as _;
use curve25519_dalek::{EdwardsPoint, Scalar};

/// The most bits that a comb may cover; scalars have 253.
const BITS: usize = 288;

/// A number that everybody may know: the half S of a signature, or the hash k. Neither a seed nor a nonce becomes one.
pub(super) struct PublicScalar(Scalar);

impl PublicScalar {
    /// S of a signature; none unless it is below the order L of the base point.
    pub(super) fn canonical(bytes: [u8; 32]) -> Option<Self> {
        Option::from(Scalar::from_canonical_bytes(bytes)).map(Self)
    }

    /// A hash of 64 bytes modulo L.
    pub(super) fn reduced(hash: &[u8; 64]) -> Self {
        Self(Scalar::from_bytes_mod_order_wide(hash))
    }

    fn is_even(&self) -> bool {
        self.0.as_bytes().first().is_some_and(|byte| byte & 1 == 0)
    }

    /// The signs of the number, or of the next one where it is even, as `bits` bits: 1 for plus. Since the sum of 2^i for all
    /// i < n is 2^n − 1, they are the bits of (number + 2^n − 1) / 2: the number's own from the second on, and a highest 1.
    fn signs(&self, bits: usize) -> [u8; BITS / 8] {
        let own = self.0.as_bytes();
        let next = own.iter().skip(1).chain([&0]);
        let shifted = own.iter().zip(next);
        let mut shifted = shifted.map(|(byte, next)| byte >> 1 | next << 7);
        std::array::from_fn(|index| {
            let highest = u8::from((bits - 1) / 8 == index) << ((bits - 1) % 8);
            shifted.next().unwrap_or_default() | highest
        })
    }
}

/// Multiples of one point: `BLOCKS` times 2^(`TEETH` − 1) of them, for numbers below 2^(`TEETH` · `BLOCKS` · `SPACING`).
pub(super) struct Comb<const TEETH: usize, const BLOCKS: usize, const SPACING: usize> {
    point: EdwardsPoint,
    blocks: [Vec<EdwardsPoint>; BLOCKS],
}

/// Of a key: 4 blocks of 128 sums of 8 multiples, 2^8 apart: 80 KiB.
pub(super) type KeyComb = Comb<8, 4, 8>;
/// Of the base point: 3 blocks of 1,024 sums of 11 multiples, 2^8 apart: 480 KiB, which stay in a core's second cache beside
/// some keys'. With these two, a signature is 64 additions, 8 of them doublings that both points share.
pub(super) type BaseComb = Comb<11, 3, 8>;
/// The spacing of both.
const STEPS: usize = 8;

/// Which teeth are plus: a bit for each, for each step of each block.
type Looks<const BLOCKS: usize, const SPACING: usize> = [[u16; SPACING]; BLOCKS];

impl<const TEETH: usize, const BLOCKS: usize, const SPACING: usize> Comb<TEETH, BLOCKS, SPACING> {
    const COVERED: usize = {
        let covered = TEETH * BLOCKS * SPACING;
        // Cover at least 253 bits: an even scalar counts as the next odd number, which may be the group order L. `looks` reads
        // 4 bytes, shifted by up to 7 bits: so a spacing has at most 25 of their 32 bits, and behind the last covered byte 3
        // more bytes (24 bits) must exist.
        assert!(covered >= 253 && covered <= BITS - 24 && SPACING <= 25);
        covered
    };

    /// The multiples of `point`.
    pub(super) fn of(point: &EdwardsPoint) -> Self {
        let mut next = *point;
        let blocks = std::array::from_fn(|_| {
            let teeth: [EdwardsPoint; TEETH] = std::array::from_fn(|_| {
                let tooth = next;
                next = doubled(&next, SPACING);
                tooth
            });
            sums(&teeth)
        });
        Self {
            point: *point,
            blocks,
        }
    }

    /// Bytes of its points.
    pub(super) fn bytes(&self) -> usize {
        let points: usize = self.blocks.iter().map(Vec::capacity).sum();
        points * size_of::<EdwardsPoint>()
    }

    fn looks(number: &PublicScalar) -> Looks<BLOCKS, SPACING> {
        let signs = number.signs(Self::COVERED);
        let mut looks = [[0; SPACING]; BLOCKS];
        let mut at = 0;
        for steps in &mut looks {
            for tooth in 0..TEETH {
                let bytes = signs.get(at / 8..).and_then(<[u8]>::first_chunk);
                let span = bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes)) >> (at % 8);
                for (step, look) in steps.iter_mut().enumerate() {
                    *look |= u16::from(span >> step & 1 == 1) << tooth;
                }
                at += SPACING;
            }
        }
        looks
    }

    /// Adds what one step says of each block. The sum stays where it is: moved from call to call, its 160 bytes were copied for
    /// each addition.
    fn add(
        &self,
        sum: &mut EdwardsPoint,
        looks: &Looks<BLOCKS, SPACING>,
        step: usize,
    ) -> Option<()> {
        let half = 1 << (TEETH - 1);
        for (sums, steps) in self.blocks.iter().zip(looks) {
            let teeth = steps.get(step).copied().map(usize::from)?;
            // Half the table is enough: it holds only the sums whose highest term is added. For a sum whose highest term is
            // subtracted, look up the sum with all signs turned, and subtract that.
            match teeth & half {
                0 => *sum -= sums.get(half - 1 - teeth)?,
                _ => *sum += sums.get(teeth - half)?,
            }
        }
        Some(())
    }

    /// Takes off what an even number has been taken for more.
    fn even(&self, sum: EdwardsPoint, number: &PublicScalar) -> EdwardsPoint {
        match number.is_even() {
            true => sum - self.point,
            false => sum,
        }
    }
}

/// `k` times the point of `key`, and `s` times that of `base`. None never happens: a look is below the number of sums.
pub(super) fn sum_of_both(
    key: &KeyComb,
    k: &PublicScalar,
    base: &BaseComb,
    s: &PublicScalar,
) -> Option<EdwardsPoint> {
    let (key_looks, base_looks) = (KeyComb::looks(k), BaseComb::looks(s));
    let mut sum = EdwardsPoint::identity();
    for step in (0..STEPS).rev() {
        sum = sum + sum;
        key.add(&mut sum, &key_looks, step)?;
        base.add(&mut sum, &base_looks, step)?;
    }
    Some(base.even(key.even(sum, k), s))
}

/// Every sum of the teeth, each plus or minus and the highest plus: the bits of a sum's place say which others are plus.
fn sums(teeth: &[EdwardsPoint]) -> Vec<EdwardsPoint> {
    let Some((highest, others)) = teeth.split_last() else {
        return Vec::new();
    };
    // Reserve the exact room: a vector that grows step by step could take twice the memory, and the most tables that there may
    // be (`TableBudget`) is chosen by the size of one table.
    let mut sums = Vec::with_capacity(1 << others.len());
    sums.push(others.iter().fold(*highest, |sum, tooth| sum - tooth));
    for tooth in others {
        let twice = tooth + tooth;
        let turned: Vec<EdwardsPoint> = sums.iter().map(|sum| sum + twice).collect();
        sums.extend(turned);
    }
    sums
}

/// The point times 2^`times`.
fn doubled(point: &EdwardsPoint, times: usize) -> EdwardsPoint {
    let by_eight = (0..times / 3).fold(*point, |point, _| point.mul_by_cofactor());
    (0..times % 3).fold(by_eight, |point, _| point + point)
}
