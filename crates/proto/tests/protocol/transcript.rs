//! The transcript by an independent hand: SHA-256 and a foreign canonicaliser over the bytes on the
//! wire, line by line as docs/formal/handshake_keys.pv has it.

use std::sync::Arc;

use data_encoding::BASE64URL_NOPAD;
use serde_json::Value;
use sha2::{Digest, Sha256};
use signet_proto::node::{Effect, Sending};

use crate::household::{Agent, alice_and_bob, at, published};

type Bytes = Arc<[u8]>;

fn first(effects: &[Effect]) -> Bytes {
    Arc::clone(&published(effects)[0].1)
}

/// Alice's and Bob's four flights, and the session that each then has.
fn four_flights() -> ([Bytes; 4], [Option<String>; 2]) {
    let (mut alice, mut bob) = alice_and_bob();
    let sent = alice.node.turn(at(0)).sent().send(&bob.id(), Sending::Ping);
    let one = first(&alice.keep(at(0), sent.unwrap().outcome));
    let two = first(&bob.hear(at(1), &one));
    let three = first(&alice.hear(at(2), &two));
    let four = first(&bob.hear(at(3), &three));
    let receipt = first(&alice.hear(at(4), &four));
    bob.hear(at(5), &receipt);
    let session = |agent: &Agent, peer: &Agent| {
        let standing = agent.node.standing(&peer.id(), at(6).now);
        standing.session.map(|id| id.to_string())
    };
    let sessions = [session(&alice, &bob), session(&bob, &alice)];
    ([one, two, three, four], sessions)
}

/// h(message n with its signature): SHA-256 of its RFC 8785 form.
fn hash_of(flight: &[u8]) -> [u8; 32] {
    let value: Value = serde_json::from_slice(flight).unwrap();
    let canonical = serde_json_canonicalizer::to_vec(&value).unwrap();
    Sha256::digest(&canonical).into()
}

fn extend(transcript: [u8; 32], flight: &[u8]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(transcript);
    hash.update(hash_of(flight));
    hash.finalize().into()
}

fn member(flight: &[u8], name: &str) -> Value {
    let value: Value = serde_json::from_slice(flight).unwrap();
    value["params"]["body"][name].clone()
}

#[test]
fn each_flight_names_the_ones_before_it_and_the_session_names_all_four() {
    let (flights, sessions) = four_flights();
    let mut transcript: [u8; 32] = Sha256::digest(b"signet/1 handshake").into();
    for (n, flight) in flights.iter().enumerate() {
        let named = member(flight, "transcript");
        let expected = BASE64URL_NOPAD.encode(&transcript);
        let expected = if n == 0 { Value::Null } else { expected.into() };
        assert_eq!(named, expected, "flight {}", n + 1);
        transcript = extend(transcript, flight);
    }
    let h4 = BASE64URL_NOPAD.encode(&transcript);
    assert_eq!(sessions, [Some(h4.clone()), Some(h4)]);
}

#[test]
fn the_hash_of_a_flight_covers_its_signature() {
    let ([one, two, ..], _) = four_flights();
    let mut value: Value = serde_json::from_slice(&one).unwrap();
    value["params"].as_object_mut().unwrap().remove("signature");
    let start: [u8; 32] = Sha256::digest(b"signet/1 handshake").into();
    let without = extend(start, &serde_json::to_vec(&value).unwrap());
    let named = member(&two, "transcript");
    assert_ne!(named, BASE64URL_NOPAD.encode(&without));
}

#[test]
fn the_members_stand_where_the_model_has_them() {
    let (flights, _) = four_flights();
    let methods = ["announce", "verify", "capability", "trust"];
    for (n, (flight, method)) in flights.iter().zip(methods).enumerate() {
        let value: Value = serde_json::from_slice(flight).unwrap();
        let headers = &value["params"]["headers"];
        let (from, to) = [("agent-alice", "agent-bob"), ("agent-bob", "agent-alice")][n % 2];
        assert_eq!(value["method"], format!("agent.{method}"));
        assert_eq!(
            (&headers["agent-id"], &headers["recipient-id"]),
            (&from.into(), &to.into())
        );
        for name in ["certificate", "keys"] {
            assert_eq!(
                member(flight, name),
                member(&flights[n % 2], name),
                "{method}"
            );
        }
        assert_eq!(member(flight, "nonce").is_string(), n < 2, "{method}");
        assert_eq!(member(flight, "certificate").get("sealing-key"), None);
        assert_eq!(member(flight, "keys")["agent-id"], from);
    }
    assert_ne!(member(&flights[0], "nonce"), member(&flights[1], "nonce"));
}
