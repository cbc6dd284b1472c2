//! Attacks on the handshake, each test named after the attack.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use signet_proto::node::{Effect, Sending};
use signet_proto::policy::Policy;

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

/// A flight signed anew by its sender, with one member of the body set.
fn with(flight: &[u8], sender: (&str, &str), member: &str, value: Value) -> Bytes {
    resign(
        &identity(sender.0, sender.1),
        &message_of(flight),
        |draft, _| {
            draft.message_id = name(1);
            draft.body.as_mut().unwrap()[member] = value;
        },
    )
}

const ALICE: (&str, &str) = ("agent-alice", "alice");
const BOB: (&str, &str) = ("agent-bob", "bob");

#[test]
fn a_transcript_of_other_flights() {
    let (mut alice, mut bob) = alice_and_bob();
    let other = json!("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
    let one = announce(&mut alice, &bob);
    let two = first(&bob.hear(at(1), &one));
    alice.hear(at(2), &with(&two, BOB, "transcript", other.clone()));
    let three = first(&alice.hear(at(2), &two));
    bob.hear(at(3), &with(&three, ALICE, "transcript", other.clone()));
    let four = first(&bob.hear(at(3), &three));
    alice.hear(at(4), &with(&four, BOB, "transcript", other));
    alice.hear(at(4), &four);
    assert_eq!(alice.refusals(), ["transcript-mismatch"; 2]);
    assert_eq!(bob.refusals(), ["transcript-mismatch"]);
    let session = |agent: &Agent, peer: &Agent| agent.node.standing(&peer.id(), at(5).now).session;
    assert!(session(&alice, &bob).is_some(), "the true flights stand");
}

#[test]
fn a_third_flight_with_another_certificate_than_the_first() {
    let (mut alice, mut bob) = alice_and_bob();
    let one = announce(&mut alice, &bob);
    let two = first(&bob.hear(at(1), &one));
    let three = first(&alice.hear(at(2), &two));
    let newer = identity_with("agent-alice", "alice", 2, |_| {});
    let turned = resign(&newer, &message_of(&three), |draft, _| {
        let body = draft.body.as_mut().unwrap();
        body["certificate"] = newer.certificate.to_value();
        body["keys"] = newer.keys.to_value();
    });
    assert!(published(&bob.hear(at(3), &turned)).is_empty());
    assert_eq!(bob.refusals(), ["transcript-mismatch"]);
}

fn of_versions(agent: &'static str, principal: &'static str, versions: &'static [&str]) -> Agent {
    Agent::with(move || {
        let versions = versions.iter().map(|v| v.parse().unwrap()).collect();
        let identity = identity_with(agent, principal, 1, |request| request.versions = versions);
        (identity, Policy::default())
    })
}

#[test]
fn a_choice_of_version_below_the_best_or_never_offered() {
    for (choice, offered) in [("1.0.0", true), ("1.2.0", false)] {
        let versions = &["1.0.0", "1.1.0"];
        let mut alice = of_versions("agent-alice", "alice", versions);
        let mut bob = of_versions("agent-bob", "bob", versions);
        alice.knows(&bob);
        bob.knows(&alice);
        let one = announce(&mut alice, &bob);
        let two = first(&bob.hear(at(1), &one));
        assert_eq!(message_of(&two).body().unwrap()["choice"], "1.1.0");
        let low = resign(bob.node.identity(), &message_of(&two), |draft, _| {
            draft.message_id = name(1);
            draft.body.as_mut().unwrap()["choice"] = json!(choice);
        });
        assert!(published(&alice.hear(at(2), &low)).is_empty());
        assert_eq!(alice.refusals(), ["version-downgrade"], "{offered}");
    }
}

#[test]
fn two_agents_without_a_common_version_end_it_and_say_so() {
    let mut alice = of_versions("agent-alice", "alice", &["1.0.0"]);
    let mut bob = of_versions("agent-bob", "bob", &["2.0.0"]);
    alice.knows(&bob);
    bob.knows(&alice);
    let one = announce(&mut alice, &bob);
    let two = first(&bob.hear(at(1), &one));
    let effects = alice.hear(at(2), &two);
    let refused = |effect: &Effect| matches!(effect, Effect::Settle { state, .. } if state.as_str() == "refused");
    assert!(effects.iter().any(refused), "{effects:?}");
    for agent in [&alice, &bob] {
        assert_eq!(agent.node.poll_timeout(at(2)), None, "nothing goes on");
    }
}

#[test]
fn an_announce_that_is_older_than_one_that_was_heard() {
    let (mut alice, mut bob) = alice_and_bob();
    let one = announce(&mut bob, &alice);
    alice.hear(at(10), &one);
    for earlier in [0, 1, 1_000] {
        let old = resign(
            &identity(BOB.0, BOB.1),
            &message_of(&one),
            |draft, stamp| {
                draft.message_id = name(earlier);
                stamp.now = stamp.now.saturating_sub(Duration::from_millis(earlier));
            },
        );
        assert!(published(&alice.hear(at(10), &old)).is_empty());
    }
    assert_eq!(alice.refusals(), ["announce-stale"; 3]);
    alice.restart(at(20));
    let old = resign(&identity(BOB.0, BOB.1), &message_of(&one), |draft, _| {
        draft.message_id = name(50);
    });
    alice.hear(at(21), &old);
    assert_eq!(
        alice.refusals(),
        ["announce-stale"; 4],
        "nor after a restart"
    );
}

#[test]
fn flights_that_nobody_awaits() {
    let (mut alice, mut bob) = alice_and_bob();
    let one = announce(&mut alice, &bob);
    let two = first(&bob.hear(at(1), &one));
    let three = first(&alice.hear(at(2), &two));
    let four = first(&bob.hear(at(3), &three));
    let (mut alice, mut bob) = alice_and_bob();
    for (agent, flight) in [(0, &two), (1, &three), (0, &four)] {
        let agent = [&mut alice, &mut bob][agent].hear(at(4), flight);
        assert!(agent.is_empty());
    }
    assert_eq!(alice.refusals(), ["handshake-unexpected"; 2]);
    assert_eq!(bob.refusals(), ["handshake-unexpected"]);
}

#[test]
fn a_flight_that_lives_too_long_or_carries_a_number() {
    let (mut alice, mut bob) = alice_and_bob();
    let one = announce(&mut bob, &alice);
    let long = resign(&identity(BOB.0, BOB.1), &message_of(&one), |draft, _| {
        draft.life = Duration::from_secs(301);
    });
    let numbered = resign(&identity(BOB.0, BOB.1), &message_of(&one), |_, stamp| {
        stamp.sequence = Some(1);
    });
    for flight in [&long, &numbered] {
        assert!(published(&alice.hear(at(1), flight)).is_empty());
    }
    assert_eq!(alice.refusals(), ["lifetime-too-long", "header-invalid"]);
}
