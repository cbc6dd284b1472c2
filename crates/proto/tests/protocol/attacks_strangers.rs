//! Strangers who want a place, an answer or our time; they wait for a person, and the person's word
//! is kept.

use signet_proto::draft::Identity;
use signet_proto::node::{LocalError, Notice};

use crate::forge::{envelope, read, sign};
use crate::household::people::{DAY, announce, notices, pending, same};
use crate::household::{Agent, at, identity, key, published};

/// Bob, who knows Alice and Mallory.
fn bob() -> Agent {
    let mut bob = Agent::new("agent-bob", "bob");
    bob.knows(&Agent::new("agent-alice", "alice"));
    bob.knows(&Agent::new("agent-mallory", "mallory"));
    bob
}

fn stranger(n: usize) -> impl Fn() -> Identity + 'static {
    move || identity(&format!("agent-stranger-{n}"), &format!("stranger-{n}"))
}

/// The reason for which Bob refuses; he neither answers nor asks his person.
fn refused(bob: &mut Agent, bytes: &[u8], ms: i64) -> &'static str {
    let (before, waiting) = (bob.refusals().len(), pending(bob, ms));
    let effects = bob.hear(at(ms), bytes);
    assert_eq!(effects.len(), 0, "{effects:?}");
    assert_eq!(pending(bob, ms), waiting);
    assert_eq!(bob.refusals().len(), before + 1);
    same(&bob.node, &bob.retold(), at(ms));
    bob.refusals()[before]
}

#[test]
fn a_stranger_waits_for_the_person_and_is_not_answered() {
    let mut bob = bob();
    let flight = announce(stranger(1), &bob, 0);
    let effects = bob.hear(at(0), &flight);
    assert!(published(&effects).is_empty());
    let told = notices(&effects);
    assert!(matches!(told[..], [Notice::StrangerWaits(_)]), "{told:?}");
    assert_eq!(pending(&bob, 0), ["agent-stranger-1"]);
    assert_eq!(pending(&bob, DAY - 1).len(), 1);
    assert!(pending(&bob, DAY).is_empty(), "a day later it is forgotten");
    same(&bob.node, &bob.retold(), at(0));
}

#[test]
fn a_stranger_has_one_place_however_many_names_it_takes() {
    let mut bob = bob();
    for n in 0..5 {
        let agent = format!("agent-many-{n}");
        let flight = announce(move || identity(&agent, "many"), &bob, n);
        bob.hear(at(n), &flight);
    }
    assert_eq!(pending(&bob, 5), ["agent-many-0"]);
}

#[test]
fn sixteen_strangers_wait_and_the_next_ones_are_refused() {
    let mut bob = bob();
    for n in 0..30 {
        let flight = announce(stranger(n), &bob, 0);
        assert!(published(&bob.hear(at(0), &flight)).is_empty());
    }
    assert_eq!(pending(&bob, 0).len(), 16);
    let flight = announce(stranger(99), &bob, DAY);
    bob.hear(at(DAY), &flight);
    assert_eq!(
        pending(&bob, DAY),
        ["agent-stranger-99"],
        "their day is over"
    );
    same(&bob.node, &bob.retold(), at(DAY));
}

#[test]
fn an_announce_whose_signature_does_not_hold_waits_for_nobody() {
    let mut bob = bob();
    let flight = announce(stranger(1), &bob, 0);
    let eve = key("signing key 1 of agent-eve");
    let reason = refused(&mut bob, &sign(read(&flight), &eve), 0);
    assert_eq!(reason, "principal-unknown");
    let mut widened = read(&flight);
    envelope(&mut widened)["body"]["certificate"]["layers"] = serde_json::json!([0, 1, 2, 3, 4]);
    let stranger = identity("agent-stranger-1", "stranger-1").signing;
    let reason = refused(&mut bob, &sign(widened, &stranger), 0);
    assert_eq!(reason, "principal-unknown");
}

/// Two signatures are verified for each: a flood of forgeries costs a hundred a second, no more.
#[test]
fn at_most_fifty_strangers_are_verified_in_a_second() {
    let mut bob = bob();
    let eve = key("signing key 1 of agent-eve");
    for n in 0..50 {
        let flight = announce(stranger(n), &bob, 0);
        bob.hear(at(0), &sign(read(&flight), &eve));
    }
    let honest = announce(stranger(60), &bob, 0);
    assert_eq!(refused(&mut bob, &honest, 999), "principal-unknown");
    bob.hear(at(1_000), &honest);
    assert_eq!(pending(&bob, 1_000), ["agent-stranger-60"]);
}

#[test]
fn what_is_late_or_of_the_future_waits_for_nobody() {
    let mut bob = bob();
    let flight = announce(stranger(1), &bob, 600_000);
    assert_eq!(refused(&mut bob, &flight, 0), "principal-unknown");
    assert_eq!(refused(&mut bob, &flight, 1_000_000), "principal-unknown");
}

#[test]
fn whom_the_person_refused_does_not_ask_again() {
    let mut bob = bob();
    let flight = announce(stranger(1), &bob, 0);
    bob.hear(at(0), &flight);
    let agent = "agent-stranger-1".parse().unwrap();
    let outcome = bob.node.turn(at(1)).people().refuse(&agent, None).unwrap();
    bob.keep(at(1), outcome);
    assert!(pending(&bob, 1).is_empty());
    for ms in [2, DAY, 30 * DAY] {
        let flight = announce(stranger(1), &bob, ms);
        assert_eq!(refused(&mut bob, &flight, ms), "trust-withdrawn");
    }
    bob.restart(at(40 * DAY));
    let flight = announce(stranger(1), &bob, 40 * DAY);
    assert_eq!(refused(&mut bob, &flight, 40 * DAY), "trust-withdrawn");
    let other = announce(|| identity("agent-stranger-1", "somebody"), &bob, 40 * DAY);
    bob.hear(at(40 * DAY), &other);
    assert_eq!(
        pending(&bob, 40 * DAY),
        ["agent-stranger-1"],
        "another root may"
    );
}

#[test]
fn two_strangers_of_one_name_are_not_mistaken_for_each_other() {
    let mut bob = bob();
    for principal in ["one", "two"] {
        let flight = announce(move || identity("agent-twin", principal), &bob, 0);
        bob.hear(at(0), &flight);
    }
    let twin = "agent-twin".parse().unwrap();
    let error = bob
        .node
        .turn(at(1))
        .people()
        .approve(&twin, None)
        .unwrap_err();
    assert_eq!(error, LocalError::StrangerAmbiguous(twin.clone()));
    let root = key("root of two").public().id();
    let outcome = bob
        .node
        .turn(at(1))
        .people()
        .approve(&twin, Some(root))
        .unwrap();
    let effects = bob.keep(at(1), outcome);
    assert_eq!(published(&effects).len(), 1, "we announce ourselves");
    let bound = bob.node.trust().peer(&twin).unwrap().principal().unwrap();
    assert_eq!(bound.as_str(), "two");
    assert!(pending(&bob, 1).is_empty(), "the name is somebody's now");
    same(&bob.node, &bob.retold(), at(1));
}
