//! Multiples of a public point, laid out as a comb, and sums of them: in variable time, for public values alone.
//!
//! An odd number below 2^n is a sum of ±1·2^i for all i < n (Hamburg, Fast and compact elliptic-curve cryptography, 2012,
//! section 3.3). A block of the comb stands for 64 of these bits, and its eight teeth for the lowest bit of each byte of them: it
//! holds every sum of ±1·2^(8·tooth) of its point whose highest sign is plus. So one look at a block and one addition or subtraction
//! account for eight bits, and the seven doublings between the looks are shared by all blocks and by both points.
//!
//! The sums are exact for whole numbers, not for numbers modulo the order of the base point: a point with a part of low order
//! is multiplied as the library does it.

use curve25519_dalek::{EdwardsPoint, Scalar};

use super::point::{Affine, Completed, Niels, Projective};

/// Words of a scalar. A comb covers all 256 bits of it: an even one counts as the next odd number, which may be the order L.
const BLOCKS: usize = 4;
/// Bytes of a word.
const TEETH: usize = 8;
/// Bits of a byte.
const STEPS: usize = 8;
/// How many sums a block holds: those whose highest term is added. For a sum whose highest term is subtracted, the sum with all
/// signs turned is looked up and subtracted.
const SUMS: usize = 1 << (TEETH - 1);

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

    /// The signs of the number, or of the next one where it is even, as words: 1 for plus. Since the sum of 2^i for all i < n is
    /// 2^n − 1, they are the bits of (number + 2^n − 1) / 2: the number's own from the second on, and a highest 1.
    fn signs(&self) -> [u64; BLOCKS] {
        let (words, _) = self.0.as_bytes().as_chunks();
        let (mut signs, mut above) = ([0; BLOCKS], 1);
        for (signs, word) in signs.iter_mut().zip(words).rev() {
            let word = u64::from_le_bytes(*word);
            *signs = above << 63 | word >> 1;
            above = word & 1;
        }
        signs
    }
}

/// Multiples of one point: 48 KiB. The base point's and those of nine keys fill the 512 KiB of a core's second cache.
pub(super) struct Comb {
    point: Niels,
    blocks: [Vec<Niels>; BLOCKS],
}

/// A multiple, and its double.
type Tooth = [Affine; 2];

impl Comb {
    /// The multiples of `point`.
    pub(super) fn of(point: &EdwardsPoint) -> Self {
        let point = Affine::from(point);
        let mut next = Projective::from(&point);
        // Each tooth, and its double behind it.
        let mut teeth = Vec::with_capacity(TEETH * BLOCKS * 2);
        for _ in 0..TEETH * BLOCKS {
            teeth.push(next);
            let mut doubled = next.doubled();
            teeth.push(doubled.projective());
            for _ in 1..STEPS {
                doubled = doubled.projective().doubled();
            }
            next = doubled.projective();
        }
        let teeth = Affine::all(&teeth);
        let (teeth, _) = teeth.as_chunks();
        let mut blocks = teeth.chunks(TEETH).map(sums);
        let blocks = std::array::from_fn(|_| blocks.next().unwrap_or_default());
        Self {
            point: Niels::from(&point),
            blocks,
        }
    }

    /// Bytes of its points.
    pub(super) fn bytes(&self) -> usize {
        let points: usize = self.blocks.iter().map(Vec::capacity).sum();
        points * size_of::<Niels>()
    }

    /// Adds what one step says of each block. None never happens: a look is below the number of sums.
    fn add(&self, sum: &mut Completed, signs: &[u64; BLOCKS], step: usize) -> Option<()> {
        for (sums, signs) in self.blocks.iter().zip(signs) {
            let teeth = usize::from(column(*signs, step));
            match teeth & SUMS {
                0 => sum.subtract(sums.get(SUMS - 1 - teeth)?),
                _ => sum.add(sums.get(teeth - SUMS)?),
            }
        }
        Some(())
    }

    /// Takes off what an even number has been taken for more.
    fn even(&self, sum: &mut Completed, number: &PublicScalar) {
        if number.is_even() {
            sum.subtract(&self.point);
        }
    }
}

/// `k` times the point of `key`, and `s` times that of `base`: 64 additions, one more for each even number, and 7 doublings.
/// None never happens, as of an addition.
pub(super) fn sum_of_both(
    key: &Comb,
    k: &PublicScalar,
    base: &Comb,
    s: &PublicScalar,
) -> Option<Projective> {
    let (of_k, of_s) = (k.signs(), s.signs());
    let mut sum = Completed::NEUTRAL;
    for step in (0..STEPS).rev() {
        key.add(&mut sum, &of_k, step)?;
        base.add(&mut sum, &of_s, step)?;
        if step > 0 {
            sum = sum.projective().doubled();
        }
    }
    key.even(&mut sum, k);
    base.even(&mut sum, s);
    Some(sum.projective())
}

/// Bit `step` of each of eight bytes, the first's the lowest. The product has the bits of what is multiplied in its highest
/// byte, and nothing is carried into that.
fn column(bytes: u64, step: usize) -> u8 {
    let bits = bytes >> step & 0x0101_0101_0101_0101;
    let [.., column] = bits.wrapping_mul(0x0102_0408_1020_4080).to_le_bytes();
    column
}

/// Every sum of the teeth, each plus or minus and the highest plus: the bits of a sum's place say which others are plus.
fn sums(teeth: &[Tooth]) -> Vec<Niels> {
    let Some(([highest, _], others)) = teeth.split_last() else {
        return Vec::new();
    };
    let mut least = Completed::from(highest);
    for [tooth, _] in others {
        least.subtract(&Niels::from(tooth));
    }
    let mut sums = vec![least];
    for [_, twice] in others {
        let twice = Niels::from(twice);
        let mut turned = sums.clone();
        turned.iter_mut().for_each(|sum| sum.add(&twice));
        sums.append(&mut turned);
    }
    let sums: Vec<Projective> = sums.iter().map(Completed::projective).collect();
    // Exactly the room that is needed: the most tables that there may be (`TableBudget`) is chosen by the size of one table.
    Affine::all(&sums).iter().map(Niels::from).collect()
}
