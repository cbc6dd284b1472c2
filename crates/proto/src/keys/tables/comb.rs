//! Multiples of a public point, laid out as a comb, and sums of them: in variable time, for public values alone.
//!
//! An odd number below 2^n is a sum of ±1·2^i for all i < n (Hamburg, Fast and compact elliptic-curve cryptography, 2012,
//! section 3.3). The teeth of a comb stand eight bits apart, so that the bytes of a number are what they account for. A block of
//! the comb holds every sum of ±1·2^(8·tooth) of its point whose highest sign is plus, so one look and one addition or
//! subtraction account for as many bits as there are teeth, and the doublings between two looks are shared by all blocks and by
//! both points.
//!
//! The sums are exact for whole numbers, not for numbers modulo the order of the base point: a point with a part of low order
//! is multiplied as the library does it.

use curve25519_dalek::{EdwardsPoint, Scalar};

use super::point::{Affine, Completed, Niels, Projective};

/// Bits of a byte, and so the looks at each block.
const STEPS: usize = 8;

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

    /// The signs of the number, or of the next one where it is even, as `bytes` bytes: 1 for plus. Since the sum of 2^i for all
    /// i < n is 2^n − 1, they are the bits of (number + 2^n − 1) / 2: the number's own from the second on, and a highest 1.
    fn signs(&self, bytes: usize) -> impl Iterator<Item = u8> {
        let own = self.0.to_bytes();
        (0..bytes).map(move |index| {
            let byte = |index: usize| own.get(index).copied().unwrap_or_default();
            let highest = u8::from(index + 1 == bytes) << 7;
            byte(index) >> 1 | byte(index + 1) << 7 | highest
        })
    }
}

/// Multiples of one point: `BLOCKS` times 2^(`TEETH` − 1) of them, for numbers of `TEETH` · `BLOCKS` bytes.
pub(super) struct Comb<const TEETH: usize, const BLOCKS: usize> {
    point: Niels,
    blocks: [Vec<Niels>; BLOCKS],
}

/// Of a key: 4 blocks of 128 sums of 8 multiples: 48 KiB.
pub(super) type KeyComb = Comb<8, 4>;
/// Of the base point: 3 blocks of 1,024 sums of 11 multiples: 288 KiB, which stay in a core's second cache beside some keys'.
/// With these two, a signature is 56 additions, and 7 doublings that both points share.
pub(super) type BaseComb = Comb<11, 3>;

/// A multiple, and its double.
type Tooth = [Affine; 2];

/// Which teeth are plus: a bit for each, for each step of each block.
type Looks<const BLOCKS: usize> = [[u16; STEPS]; BLOCKS];

impl<const TEETH: usize, const BLOCKS: usize> Comb<TEETH, BLOCKS> {
    const BYTES: usize = {
        // Cover at least 253 bits, those of a scalar: an even one counts as the next odd number, which may be the order L.
        assert!(TEETH * BLOCKS >= 32 && TEETH <= 16);
        TEETH * BLOCKS
    };

    /// The multiples of `point`.
    pub(super) fn of(point: &EdwardsPoint) -> Self {
        let point = Affine::from(point);
        let mut next = Projective::from(&point);
        // Each tooth, and its double behind it.
        let mut teeth = Vec::with_capacity(Self::BYTES * 2);
        for _ in 0..Self::BYTES {
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

    fn looks(number: &PublicScalar) -> Looks<BLOCKS> {
        let mut signs = number.signs(Self::BYTES);
        std::array::from_fn(|_| {
            let mut teeth = [[0; 8]; 2];
            let teeth_and_none = teeth.as_flattened_mut().iter_mut();
            for (tooth, signs) in teeth_and_none.zip(signs.by_ref().take(TEETH)) {
                *tooth = signs;
            }
            let [low, high] = teeth.map(u64::from_le_bytes);
            std::array::from_fn(|step| u16::from_le_bytes([column(low, step), column(high, step)]))
        })
    }

    /// Adds what one step says of each block. The sum stays where it is: moved from call to call, it was copied for each
    /// addition.
    fn add(&self, sum: &mut Completed, looks: &Looks<BLOCKS>, step: usize) -> Option<()> {
        let half = 1 << (TEETH - 1);
        for (sums, steps) in self.blocks.iter().zip(looks) {
            let teeth = steps.get(step).copied().map(usize::from)?;
            // Half the table is enough: it holds only the sums whose highest term is added. For a sum whose highest term is
            // subtracted, look up the sum with all signs turned, and subtract that.
            match teeth & half {
                0 => sum.subtract(sums.get(half - 1 - teeth)?),
                _ => sum.add(sums.get(teeth - half)?),
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

/// `k` times the point of `key`, and `s` times that of `base`. None never happens: a look is below the number of sums.
pub(super) fn sum_of_both(
    key: &KeyComb,
    k: &PublicScalar,
    base: &BaseComb,
    s: &PublicScalar,
) -> Option<Projective> {
    let (key_looks, base_looks) = (KeyComb::looks(k), BaseComb::looks(s));
    let mut sum = Completed::NEUTRAL;
    for step in (0..STEPS).rev() {
        key.add(&mut sum, &key_looks, step)?;
        base.add(&mut sum, &base_looks, step)?;
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
