//! Boxes go both ways between this crate and libsodium, freshly made each time.
//!
//! `make test` runs it with a python that has PyNaCl, which `scripts/pynacl` names or makes.

use std::io::Write as _;
use std::process::{Command, Stdio};

use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use rand_core::RngCore as _;
use serde_json::{Value, json};
use signet_proto::draft::{Draft, Stamp};
use signet_proto::envelope::Method;
use signet_proto::headers::Tier;
use signet_proto::ids::{Digest, SessionId, Version};
use signet_proto::keys::SealSecret;
use signet_proto::seal::{Opened, Sealed};
use zeroize::Zeroizing;

use crate::forge;
use crate::household::{self, audit_secret, identity, rng};

/// What PyNaCl makes of boxes and the secrets that open them: plaintexts, and boxes of its own.
fn ask(cases: &[(&SealSecret, &[u8])]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let python = std::env::var_os("PYNACL").unwrap_or_else(|| "python3".into());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/protocol/pynacl/open.py");
    let mut child = Command::new(python)
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let hex = |bytes: &[u8]| HEXLOWER.encode(bytes);
    let case = |(secret, bytes): &(&SealSecret, &[u8])| json!({"secret": hex(secret.expose()), "box": hex(bytes)});
    let input: Value = cases.iter().map(case).collect();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.to_string().as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "PyNaCl refuses one of our boxes");
    let answers: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let bytes = |value: &Value| HEXLOWER.decode(value.as_str().unwrap().as_bytes()).unwrap();
    let answer = |answer: &Value| (bytes(&answer["plaintext"]), bytes(&answer["box"]));
    answers.iter().map(answer).collect()
}

/// A box of somebody else, as it would come in a message.
fn received(bytes: &[u8], to: &SealSecret) -> Sealed {
    let text = BASE64URL_NOPAD.encode(bytes);
    Sealed::parse(&json!({"to": to.public().to_string(), "box": text})).unwrap()
}

#[test]
#[ignore = "needs a python with PyNaCl: make test"]
fn libsodium_opens_our_boxes_and_we_open_those_of_libsodium() {
    let mut rng = rng();
    let mut cases = Vec::new();
    for length in [
        0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 1_000, 65_536, 180_000,
    ] {
        let mut key = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *key);
        let secret = SealSecret::of(key);
        let mut plain = vec![0; length];
        rng.fill_bytes(&mut plain);
        let sealed = Sealed::seal(secret.public(), &plain, &mut rng).unwrap();
        cases.push((secret, plain, sealed));
    }
    let asked: Vec<_> = cases
        .iter()
        .map(|(secret, _, sealed)| (secret, sealed.bytes()))
        .collect();
    let answers = ask(&asked);
    assert_eq!(answers.len(), cases.len());
    for ((secret, plain, _), (opened, theirs)) in cases.iter().zip(&answers) {
        assert_eq!(opened, plain);
        assert_eq!(*received(theirs, secret).open(secret).unwrap(), *plain);
    }
}

#[test]
#[ignore = "needs a python with PyNaCl: make test"]
fn libsodium_reads_a_sealed_message_and_its_copy() {
    let (alice, bob) = (
        identity("agent-alice", "alice"),
        identity("agent-bob", "bob"),
    );
    let body = json!({"what": "Grüße an 東京"});
    let mut draft = Draft::call(
        Method::Request,
        bob.agent().clone(),
        forge::id("m"),
        body.clone(),
    );
    draft.data_tier = Tier::Restricted;
    let stamp = Stamp {
        now: household::at(0).now,
        session: Some(SessionId(Digest([3; 32]))),
        sequence: Some(1),
        audit_head: None,
        version: Version::CURRENT,
    };
    let (secret, audit) = (&bob.secrets[0], audit_secret("alice"));
    let (signed, copy) = draft
        .seal_and_sign(&alice, stamp, secret.public(), &mut rng())
        .unwrap();
    let message = signed.message();
    let (sealed, copy) = (message.sealed.as_ref().unwrap(), copy.unwrap());
    let answers = ask(&[(secret, sealed.bytes()), (&audit, copy.bytes())]);
    assert_eq!(answers[0].0, answers[1].0, "the same plaintext");
    for (plain, _) in &answers {
        let opened = Opened::parse(plain, &message.headers).unwrap();
        assert_eq!(opened.body.as_ref(), Some(&body));
        let read: Value = serde_json::from_slice(plain).unwrap();
        assert_eq!(signet_json::canonical(&read), *plain);
    }
}
