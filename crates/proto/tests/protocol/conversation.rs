//! The straight path between two nodes, with virtual time.

use serde_json::json;
use signet_proto::node::{Content, Effect, Sending};

use crate::household::{Agent, alice_and_bob, at, settle};

fn request(body: serde_json::Value) -> Sending {
    Sending::Request(Content {
        body,
        summary: Some("Asks for free evenings".into()),
        ..Content::default()
    })
}

fn ask(alice: &mut Agent, bob: &mut Agent, ms: i64) -> signet_proto::ids::MessageId {
    let sent = alice
        .node
        .turn(at(ms))
        .sent()
        .send(&bob.id(), request(json!({"week": "2026-W07"})))
        .unwrap();
    let (name, outcome) = (sent.id, sent.outcome);
    let effects = alice.keep(at(ms), outcome);
    settle(at(ms), &mut [alice, bob], effects);
    name
}

#[test]
fn a_first_request_makes_a_session_and_is_answered() {
    let (mut alice, mut bob) = alice_and_bob();
    let name = ask(&mut alice, &mut bob, 0);
    assert_eq!(
        bob.node.inbox().len(),
        1,
        "alice: {:?} bob: {:?}",
        alice.refusals(),
        bob.refusals()
    );
    let answer = Content {
        body: json!({"evenings": ["Tue"]}),
        ..Content::default()
    };
    let (_, outcome) = bob
        .node
        .turn(at(5))
        .sent()
        .reply(None, name, Ok(answer))
        .unwrap();
    let effects = bob.keep(at(5), outcome);
    let effects = settle(at(5), &mut [&mut alice, &mut bob], effects);
    let Some(Effect::Answer(accepted)) = effects
        .iter()
        .find(|effect| matches!(effect, Effect::Answer(_)))
    else {
        panic!("no answer came: {effects:?}")
    };
    assert_eq!(
        accepted.message().body(),
        Some(&json!({"evenings": ["Tue"]}))
    );
    assert_eq!(
        bob.node.inbox().len(),
        0,
        "an answered request is done with"
    );
    assert!(alice.refusals().is_empty() && bob.refusals().is_empty());
    let standing = (
        alice.node.standing(&bob.id(), at(6).now),
        bob.node.standing(&alice.id(), at(6).now),
    );
    assert!(standing.0.session.is_some());
    assert_eq!(standing.0.session, standing.1.session, "one common session");
}

#[test]
fn a_restart_from_the_log_keeps_the_session_and_refuses_the_replay() {
    let (mut alice, mut bob) = alice_and_bob();
    let name = ask(&mut alice, &mut bob, 0);
    let before = bob.node.standing(&alice.id(), at(6).now);
    let effects = bob.restart(at(10));
    settle(at(10), &mut [&mut alice, &mut bob], effects);
    assert_eq!(
        bob.node.standing(&alice.id(), at(6).now).session,
        before.session
    );
    assert_eq!(
        bob.node.inbox().named(name).count(),
        1,
        "what was not acknowledged is delivered again"
    );
}

#[test]
fn a_ping_is_answered_by_the_daemon_itself() {
    let (mut alice, mut bob) = alice_and_bob();
    let outcome = alice
        .node
        .turn(at(0))
        .sent()
        .send(&bob.id(), Sending::Ping)
        .unwrap()
        .outcome;
    let effects = alice.keep(at(0), outcome);
    let effects = settle(at(0), &mut [&mut alice, &mut bob], effects);
    assert!(
        effects
            .iter()
            .any(|effect| matches!(effect, Effect::Pong(_))),
        "{:?}",
        bob.refusals()
    );
    assert!(alice.node.inbox().is_empty(), "it is for whoever waits");
}

#[test]
fn receipts_settle_what_was_sent() {
    let (mut alice, mut bob) = alice_and_bob();
    ask(&mut alice, &mut bob, 0);
    assert_eq!(alice.node.standing(&bob.id(), at(0).now).unconfirmed, 1);
    let effects = bob.tick(at(2_000));
    let effects = settle(at(2_000), &mut [&mut alice, &mut bob], effects);
    assert!(
        effects
            .iter()
            .any(|effect| matches!(effect, Effect::Settle { .. })),
        "{effects:?}"
    );
    assert_eq!(alice.node.standing(&bob.id(), at(2_000).now).unconfirmed, 0);
}
