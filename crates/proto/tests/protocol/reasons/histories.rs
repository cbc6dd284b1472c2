//! More of what Bob's agent knows before the input comes: pasts that show one rule each.

use serde_json::{Value, json};
use signet_proto::certificate::{KEYS_LIFE, KeyStatement};
use signet_proto::draft::Identity;
use signet_proto::envelope::Method;
use signet_proto::headers::Tier;
use signet_proto::ids::{MessageId, SessionId};
use signet_proto::node::{Content, Sending};
use signet_proto::policy::Policy;

use super::stages::{self, Log};
use crate::forge::{envelope, headers, in_session, message, read, recipient, sign};
use crate::household::people::revocation;
use crate::household::{Agent, alice_and_bob, at, identity, identity_with, key, published, settle};

/// What inputs need to know of these pasts.
pub struct More {
    /// The session of Alice's first signing key, and the one of her second.
    pub of_first_key: SessionId,
    pub of_second_key: SessionId,
    /// Bob's sessions with Alice and with Carol, and what he asked Alice.
    pub with_alice: SessionId,
    pub with_carol: SessionId,
    pub asked_alice: MessageId,
    /// Where Bob has said three things to Alice, and their names.
    pub spoken: SessionId,
    pub said: Vec<MessageId>,
    /// Carol's flight 2 to Bob's announce, and her flight 4 where he has sent flight 3.
    pub verify: Value,
    pub trust: Value,
}

/// The logs by name, and what inputs need to know of them.
pub fn build() -> (Vec<(&'static str, Log)>, More) {
    let (two_keys, of_first_key, of_second_key) = two_keys();
    let (two_peers, with_alice, with_carol, asked_alice) = two_peers();
    let (spoken, session, said) = spoken();
    let heard = receipt_came(&spoken, session, 5_000, json!({"through": 2, "floor": 2}));
    let announced = announced_to_a_newer_agent();
    let shaken = flight_3_sent("agent-carol", "carol");
    let logs = vec![
        ("later-keys", later_keys()),
        ("skipped", skipped(&spoken, session)),
        ("two-keys", two_keys),
        ("two-peers", two_peers),
        ("receipted", heard),
        ("spoken", spoken),
        (
            "announced-to-a-lower-id",
            announced_to("agent-alice", "alice"),
        ),
        ("announced-to-a-newer-agent", announced.log),
        ("flight-3-sent", shaken.log),
        (
            "flight-3-sent-to-a-lower-id",
            flight_3_sent("agent-alice", "alice").log,
        ),
        ("carol-revoked-by-alice", carol_revoked_by_alice()),
    ];
    let more = More {
        of_first_key,
        of_second_key,
        with_alice,
        with_carol,
        asked_alice,
        spoken: session,
        said,
        verify: announced.flight,
        trust: shaken.flight,
    };
    (logs, more)
}

fn tell() -> Sending {
    Sending::Notification(Content {
        body: json!({"week": "2026-W07"}),
        data_tier: Some(Tier::Public),
        ..Content::default()
    })
}

fn newest(agent: &Agent, peer: &str, ms: i64) -> SessionId {
    let standing = agent.node.standing(&recipient(peer), at(ms).now);
    standing.session.unwrap()
}

/// Alice under a key, with a key statement of that serial.
pub fn alice_under(key: u64, keys: u64) -> Identity {
    let mut alice = identity_with("agent-alice", "alice", key, |_| {});
    alice.keys = KeyStatement::sign(
        alice.agent(),
        alice.keys.sealing_key,
        keys,
        at(0).now.saturating_add(KEYS_LIFE),
        &alice.signing,
    )
    .unwrap();
    alice
}

/// A session that Alice's second key statement opened.
fn later_keys() -> Log {
    let mut alice = Agent::with(|| (alice_under(1, 2), Policy::default()));
    let mut bob = Agent::new("agent-bob", "bob");
    talk(&mut alice, &mut bob);
    bob.log
}

/// Alice tells Bob something, by a handshake.
fn talk(alice: &mut Agent, bob: &mut Agent) {
    alice.knows(bob);
    bob.knows(alice);
    let outcome = alice
        .node
        .turn(at(0))
        .sent()
        .send(&bob.id(), tell())
        .unwrap()
        .outcome;
    let effects = alice.keep(at(0), outcome);
    settle(at(0), &mut [alice, bob], effects);
    assert!(alice.refusals().is_empty() && bob.refusals().is_empty());
}

/// Alice opened a session under one key, and another under the next; both are held.
fn two_keys() -> (Log, SessionId, SessionId) {
    let (mut alice, mut bob) = alice_and_bob();
    talk_again(&mut alice, &mut bob);
    let first = newest(&bob, "agent-alice", 1);
    let mut renewed = alice_under(2, 2);
    renewed.former = vec![identity("agent-alice", "alice").signing];
    let outcome = alice.node.turn(at(2_000)).me().adopt(renewed);
    let effects = alice.keep(at(2_000), outcome);
    settle(at(2_000), &mut [&mut alice, &mut bob], effects);
    let second = newest(&bob, "agent-alice", 2_001);
    assert_ne!(first, second, "the new key made a new session");
    assert!(bob.refusals().is_empty());
    (bob.log, first, second)
}

/// [`talk`], of two who know each other.
fn talk_again(alice: &mut Agent, bob: &mut Agent) {
    let outcome = alice
        .node
        .turn(at(0))
        .sent()
        .send(&bob.id(), tell())
        .unwrap()
        .outcome;
    let effects = alice.keep(at(0), outcome);
    settle(at(0), &mut [alice, bob], effects);
}

/// Bob has a session with Alice and one with Carol, and asked Alice something.
fn two_peers() -> (Log, SessionId, SessionId, MessageId) {
    let (mut alice, mut bob) = alice_and_bob();
    let mut carol = Agent::new("agent-carol", "carol");
    talk_again(&mut alice, &mut bob);
    talk(&mut carol, &mut bob);
    let asking = Sending::Request(Content {
        body: json!({"week": "2026-W07"}),
        data_tier: Some(Tier::Public),
        ..Content::default()
    });
    let sent = bob
        .node
        .turn(at(1))
        .sent()
        .send(&alice.id(), asking)
        .unwrap();
    let (asked, outcome) = (sent.id, sent.outcome);
    bob.keep(at(1), outcome);
    let sessions = ["agent-alice", "agent-carol"].map(|peer| newest(&bob, peer, 1));
    (bob.log, sessions[0], sessions[1], asked)
}

/// Bob has told Alice three things, and she has said nothing of them.
fn spoken() -> (Log, SessionId, Vec<MessageId>) {
    let (mut alice, mut bob) = alice_and_bob();
    talk_again(&mut alice, &mut bob);
    let session = newest(&bob, "agent-alice", 0);
    let said = (1..=3).map(|ms| {
        let sent = bob
            .node
            .turn(at(ms))
            .sent()
            .send(&alice.id(), tell())
            .unwrap();
        let (name, outcome) = (sent.id, sent.outcome);
        bob.keep(at(ms), outcome);
        name
    });
    let said = said.collect();
    (bob.log, session, said)
}

/// Alice's receipt in that session.
pub fn receipt(session: SessionId, ms: i64, body: &Value) -> Value {
    let alice = identity("agent-alice", "alice");
    let name = format!("receipt at {ms}");
    let place = Some((session, 9));
    let mut value = in_session(&alice, "agent-bob", Method::Notification, &name, ms, place);
    value["method"] = "agent.receipt".into();
    headers(&mut value).remove("sequence");
    envelope(&mut value).remove("summary");
    envelope(&mut value)["body"] = body.clone();
    value
}

fn receipt_came(log: &Log, session: SessionId, ms: i64, body: Value) -> Log {
    let mut bob = stages::bob(log);
    let alice = identity("agent-alice", "alice");
    bob.hear(at(ms), &sign(receipt(session, ms, &body), &alice.signing));
    assert!(bob.refusals().is_empty());
    log.iter().cloned().chain(bob.log).collect()
}

/// Alice gave the numbers 2 to 4 up, and Bob knows it.
fn skipped(log: &Log, session: SessionId) -> Log {
    let given_up = json!({"through": 0, "floor": 5, "given-up": [[2, 4]]});
    receipt_came(log, session, 5_000, given_up)
}

/// What Bob has begun with Carol.
struct Begun {
    log: Log,
    flight: Value,
}

/// Carol, who speaks nothing that Bob speaks.
pub fn carol_of_another_version() -> Identity {
    identity_with("agent-carol", "carol", 1, |request| {
        request.versions = vec!["2.0.0".parse().unwrap()];
    })
}

/// Bob announced to Carol who speaks nothing that he speaks; and what she would have answered else.
fn announced_to_a_newer_agent() -> Begun {
    let mut bob = Agent::new("agent-bob", "bob");
    let newer = Agent::with(|| (carol_of_another_version(), Policy::default()));
    bob.knows(&newer);
    let outcome = bob
        .node
        .turn(at(0))
        .sent()
        .send(&newer.id(), tell())
        .unwrap()
        .outcome;
    let (_, announce) = published(&bob.keep(at(0), outcome)).remove(0);
    let mut honest = Agent::new("agent-carol", "carol");
    honest.knows(&bob);
    let (_, verify) = published(&honest.hear(at(0), &announce)).remove(0);
    Begun {
        log: bob.log,
        flight: read(&verify),
    }
}

/// Bob announced, took flight 2 and sent flight 3; and flight 4.
fn flight_3_sent(agent: &str, principal: &str) -> Begun {
    let mut bob = Agent::new("agent-bob", "bob");
    let mut other = Agent::new(agent, principal);
    bob.knows(&other);
    other.knows(&bob);
    let outcome = bob
        .node
        .turn(at(0))
        .sent()
        .send(&other.id(), tell())
        .unwrap()
        .outcome;
    let (_, announce) = published(&bob.keep(at(0), outcome)).remove(0);
    let (_, verify) = published(&other.hear(at(0), &announce)).remove(0);
    let (_, capability) = published(&bob.hear(at(0), &verify)).remove(0);
    let (_, trust) = published(&other.hear(at(0), &capability)).remove(0);
    Begun {
        log: bob.log,
        flight: read(&trust),
    }
}

fn announced_to(agent: &str, principal: &str) -> Log {
    let mut bob = Agent::new("agent-bob", "bob");
    bob.knows(&Agent::new(agent, principal));
    let to = recipient(agent);
    let outcome = bob
        .node
        .turn(at(0))
        .sent()
        .send(&to, tell())
        .unwrap()
        .outcome;
    bob.keep(at(0), outcome);
    bob.log
}

/// Alice's root key took Carol's agent back, as if it were Alice's.
fn carol_revoked_by_alice() -> Log {
    let mut bob = Agent::new("agent-bob", "bob");
    bob.knows(&Agent::new("agent-alice", "alice"));
    bob.knows(&Agent::new("agent-carol", "carol"));
    let alice = identity("agent-alice", "alice");
    let word = revocation("alice", "agent-carol", 9).to_value();
    let mut order = message(&alice, "agent-bob", Method::Revoke, "order", 0);
    envelope(&mut order)["body"] = json!({ "revocation": word });
    bob.hear(at(0), &sign(order, &key("signing key 1 of agent-alice")));
    assert!(bob.refusals().is_empty());
    bob.log
}
