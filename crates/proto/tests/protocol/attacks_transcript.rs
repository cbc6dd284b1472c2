//! The classic attacks on an authenticated handshake, each test named after the attack.

use std::sync::Arc;

use serde_json::json;
use signet_proto::carrier::CarrierId;
use signet_proto::certificate::KeyStatement;
use signet_proto::draft::Identity;
use signet_proto::keys::SealSecret;
use signet_proto::node::{Effect, Sending};
use signet_proto::policy::Policy;
use zeroize::Zeroizing;

use crate::forge;
use crate::household::forger::name;
use crate::household::net::{message_of, resign};
use crate::household::{Agent, alice_and_bob, at, identity, identity_with, published};

type Bytes = Arc<[u8]>;

fn first(effects: &[Effect]) -> Bytes {
    Arc::clone(&published(effects)[0].1)
}

fn announce(from: &mut Agent, to: &Agent) -> Bytes {
    let sent = from.node.turn(at(0)).sent().send(&to.id(), Sending::Ping);
    let effects = from.keep(at(0), sent.unwrap().outcome);
    first(&effects)
}

fn has_session(agent: &Agent, peer: &Agent) -> bool {
    let standing = agent.node.standing(&peer.id(), at(9).now);
    standing.session.is_some()
}

fn alices_identity() -> Identity {
    identity("agent-alice", "alice")
}

#[test]
fn transcript_stripping() {
    let (mut alice, mut bob) = alice_and_bob();
    let one = announce(&mut alice, &bob);
    let two = first(&bob.hear(at(1), &one));
    let three = first(&alice.hear(at(2), &two));
    for member in [None, Some(json!(null)), Some(json!(""))] {
        let mut value = forge::read(&three);
        let body = value["params"]["body"].as_object_mut().unwrap();
        body.remove("transcript");
        body.extend(member.map(|member| ("transcript".to_owned(), member)));
        let stripped = forge::sign(value, &alices_identity().signing);
        assert!(published(&bob.hear(at(3), &stripped)).is_empty());
    }
    assert!(!has_session(&bob, &alice));
    assert_eq!(bob.refusals(), ["invalid-shape"; 3]);
}

#[test]
fn a_second_flight_for_an_earlier_announce() {
    let (mut alice, mut bob) = alice_and_bob();
    let earlier = announce(&mut alice, &bob);
    let answer = first(&bob.hear(at(1), &earlier));
    // Alice restarts and announces again: she has to refuse the answer to her earlier announce.
    alice.restart(at(10));
    let outcome = alice
        .node
        .turn(at(10))
        .carriers()
        .connected(&CarrierId::NATS);
    let again = first(&alice.keep(at(10), outcome));
    assert_ne!(again, earlier);
    assert!(published(&alice.hear(at(11), &answer)).is_empty());
    assert_eq!(alice.refusals(), ["transcript-mismatch"]);
    let two = first(&bob.hear(at(12), &again));
    assert!(!published(&alice.hear(at(13), &two)).is_empty());
}

fn of_versions(agent: &'static str, principal: &'static str, versions: &'static [&str]) -> Agent {
    Agent::with(move || {
        let versions = versions.iter().map(|v| v.parse().unwrap()).collect();
        let identity = identity_with(agent, principal, 1, |request| request.versions = versions);
        (identity, Policy::default())
    })
}

#[test]
fn version_downgrade_by_an_attacker_who_strikes_versions_from_the_offer() {
    let mut alice = of_versions("agent-alice", "alice", &["1.0.0", "1.1.0"]);
    let mut bob = of_versions("agent-bob", "bob", &["1.0.0", "1.1.0"]);
    alice.knows(&bob);
    bob.knows(&alice);
    let one = announce(&mut alice, &bob);
    let text = String::from_utf8(one.to_vec()).unwrap();
    // Strike the version from the offer alone: the certificate has a signature of its own, and stays as it is.
    let offer = r#""versions":["1.0.0","1.1.0"]}"#;
    let place = text.rfind(offer).unwrap();
    let rest = &text[place + offer.len()..];
    let struck = format!(r#"{}"versions":["1.0.0"]}}{rest}"#, &text[..place]);
    assert!(published(&bob.hear(at(1), struck.as_bytes())).is_empty());
    assert_eq!(bob.refusals(), ["signature-invalid"]);
}

#[test]
fn reflection() {
    let (mut alice, bob) = alice_and_bob();
    let one = announce(&mut alice, &bob);
    assert!(published(&alice.hear(at(1), &one)).is_empty());
    // The announce names Alice herself as its recipient, and her own key signs it: she refuses this one too, as
    // reflected.
    let to_herself = resign(&alices_identity(), &message_of(&one), |draft, _| {
        draft.recipient = alice.id();
    });
    assert!(published(&alice.hear(at(1), &to_herself)).is_empty());
    assert_eq!(alice.refusals(), ["wrong-recipient", "reflected"]);
}

/// Carol wants Bob to believe that he talks to her, while it is Alice who talks to him.
#[test]
fn unknown_key_share() {
    let (mut alice, mut bob) = alice_and_bob();
    let carol = Agent::new("agent-carol", "carol");
    let carols = identity("agent-carol", "carol");
    bob.knows(&carol);
    let one = announce(&mut alice, &bob);
    // Alice's first flight under Carol's signature, with Alice's certificate and keys, and with Carol's.
    let hers = resign(&carols, &message_of(&one), |draft, _| {
        draft.message_id = name(1)
    });
    assert!(published(&bob.hear(at(1), &hers)).is_empty());
    let as_her_own = resign(&carols, &message_of(&one), |draft, _| {
        let body = draft.body.as_mut().unwrap();
        draft.message_id = name(2);
        body["certificate"] = carols.certificate.to_value();
    });
    assert!(published(&bob.hear(at(1), &as_her_own)).is_empty());
    assert_eq!(bob.refusals(), ["certificate-invalid", "keys-invalid"]);
    // Bob's honest answer to Carol's own announce, with Alice's nonce, is of no use towards Alice.
    let honest = resign(&carols, &message_of(&one), |draft, _| {
        let body = draft.body.as_mut().unwrap();
        draft.message_id = name(3);
        body["certificate"] = carols.certificate.to_value();
        body["keys"] = carols.keys.to_value();
    });
    let to_carol = first(&bob.hear(at(2), &honest));
    assert!(published(&alice.hear(at(3), &to_carol)).is_empty());
    assert_eq!(alice.refusals(), ["wrong-recipient"]);
    assert!(!has_session(&alice, &bob) && !has_session(&bob, &alice));
}

/// Carol's sealing key in Alice's announce: what Bob seals for Alice would be for Carol.
#[test]
fn key_substitution_on_announce() {
    let (mut alice, mut bob) = alice_and_bob();
    let one = announce(&mut alice, &bob);
    let carols = identity("agent-carol", "carol");
    let secret = SealSecret::of(Zeroizing::new([5; 32]));
    let until = carols.keys.not_after;
    let claimed = KeyStatement::sign(&alice.id(), secret.public(), 9, until, &carols.signing);
    let with_keys = |keys: &KeyStatement, n: u64| {
        resign(&alices_identity(), &message_of(&one), |draft, _| {
            draft.message_id = name(n);
            draft.body.as_mut().unwrap()["keys"] = keys.to_value();
        })
    };
    // Alice's key signs both flights, and Bob refuses them for their key statements: Carol's key signed the first
    // statement, and the second one is about Carol.
    let other = KeyStatement::sign(
        &carols.certificate.agent,
        secret.public(),
        9,
        until,
        &alices_identity().signing,
    );
    for flight in [
        with_keys(&claimed.unwrap(), 1),
        with_keys(&other.unwrap(), 2),
    ] {
        assert!(published(&bob.hear(at(1), &flight)).is_empty());
    }
    // An attacker without Alice's key for flights changes the key statement on the way: the flight's own signature no
    // longer holds.
    let text = String::from_utf8(one.to_vec()).unwrap();
    let keys =
        |of: &Identity| String::from_utf8(signet_json::canonical(&of.keys.to_value())).unwrap();
    let newer = KeyStatement::sign(
        &alice.id(),
        secret.public(),
        2,
        until,
        &alices_identity().signing,
    );
    let newer = signet_json::canonical(&newer.unwrap().to_value());
    let mine = keys(&alices_identity());
    assert!(text.contains(&mine));
    let swapped = text.replace(&mine, std::str::from_utf8(&newer).unwrap());
    assert!(published(&bob.hear(at(1), swapped.as_bytes())).is_empty());
    assert_eq!(
        bob.refusals(),
        ["keys-invalid", "keys-invalid", "signature-invalid"]
    );
}
