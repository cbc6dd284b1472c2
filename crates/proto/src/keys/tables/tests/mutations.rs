//! Signatures, and what somebody may make of them, by chance.

use curve25519_dalek::constants::EIGHT_TORSION;
use curve25519_dalek::{EdwardsPoint, Scalar};
use rand_chacha::ChaCha20Rng;
use rand_core::{RngCore as _, SeedableRng as _};

use super::super::strict::OpenCheck;
use super::{Both, SignedWords, beyond, misspelt, order, plus, scalar, signed};

/// Keys with every part of low order, some signatures of each, and what somebody may make of them.
struct Mutations {
    dice: ChaCha20Rng,
    keys: Vec<(Both, Vec<SignedWords>)>,
    spellings: Vec<[u8; 32]>,
    /// The signatures that are settled next, all at once, with their verdicts.
    open: Vec<(OpenCheck, bool)>,
}

impl Mutations {
    fn new(seed: u64) -> Self {
        let mut dice = ChaCha20Rng::seed_from_u64(seed);
        let keys = (0..32).map(|n| {
            let secret = scalar(&mut dice);
            let both = Both::of(EdwardsPoint::mul_base(&secret) + EIGHT_TORSION[n % 8]);
            // Three of every four signatures have to be valid even if the key has a part of low order: try nonces until
            // the signature is valid. Keep every fourth signature as it comes, valid or not.
            let signatures = (0..32).map(|number| {
                let mut made = (Vec::new(), [0; 64]);
                for of_nonce in 0..32 {
                    let nonce = scalar(&mut dice);
                    made = signed(&mut dice, &both.key, (secret, nonce), of_nonce % 8);
                    if number % 4 == 0 || both.accepts(&made.0, &made.1) {
                        break;
                    }
                }
                made
            });
            let signatures = signatures.collect();
            (both, signatures)
        });
        let keys = keys.collect();
        let mut spellings = misspelt();
        spellings.extend(EIGHT_TORSION.map(|point| point.compress().to_bytes()));
        Self {
            dice,
            keys,
            spellings,
            open: Vec::new(),
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.dice.next_u64() as usize % bound
    }

    /// Judges one more, and says whether it was accepted.
    fn next(&mut self) -> bool {
        let (key, other) = (self.below(self.keys.len()), self.below(32));
        let (mut message, mut signature) = self.keys[key].1[other].clone();
        let (r, s) = signature.split_at_mut(32);
        match self.below(12) {
            0 | 1 => {}
            2 | 3 => signature[self.below(64)] ^= 1 << self.below(8),
            4 => {
                let at = self.below(message.len().max(1));
                message
                    .get_mut(at)
                    .into_iter()
                    .for_each(|byte| *byte ^= 1 << (other % 8));
            }
            5 => {
                let spelling = self.below(self.spellings.len());
                r.copy_from_slice(&self.spellings[spelling]);
            }
            6 => signature = beyond(&signature, 1 + other % 8),
            7 => self.dice.fill_bytes(s),
            8 => self.dice.fill_bytes(r),
            9 => r.swap_with_slice(s),
            10 => {
                let near = [
                    Scalar::ZERO,
                    Scalar::ONE,
                    -Scalar::ONE,
                    scalar(&mut self.dice),
                ];
                let near = near[other % 4].to_bytes();
                s.copy_from_slice(&if other < 16 {
                    near
                } else {
                    plus(near, &order())
                });
            }
            _ => (0..4).for_each(|_| signature[self.below(64)] ^= 1 << self.below(8)),
        }
        let both = &self.keys[key].0;
        let accepted = both.accepts(&message, &signature);
        let open = both.open(&message, &signature);
        self.open.extend(open.map(|open| (open, accepted)));
        if self.dice.next_u32().is_multiple_of(24) {
            self.settle();
        }
        accepted
    }

    /// A signature that shares the last step with others gets the verdict that it gets alone.
    fn settle(&mut self) {
        let (open, verdicts): (Vec<OpenCheck>, Vec<bool>) = self.open.drain(..).unzip();
        let open: Vec<&OpenCheck> = open.iter().collect();
        assert_eq!(OpenCheck::hold(&open), verdicts);
    }
}

fn mutated(seed: u64, times: u64) -> u64 {
    let mut mutations = Mutations::new(seed);
    let accepted = (0..times).map(|_| u64::from(mutations.next())).sum();
    mutations.settle();
    accepted
}

#[test]
fn thousands_of_mutations_get_one_verdict() {
    let accepted = mutated(20, 6_000);
    assert!((500..2_000).contains(&accepted), "{accepted}");
}

/// Ten minutes of one core: `cargo test --workspace --lib -- --ignored ten_million_mutations --nocapture`.
#[test]
#[ignore = "takes ten minutes"]
fn ten_million_mutations_get_one_verdict() {
    let mut accepted = 0;
    for part in 1..=100 {
        accepted += mutated(1_000 + part, 100_000);
        println!("{part} times 100,000 judged, {accepted} accepted, none differs");
    }
}
