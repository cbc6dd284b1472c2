//! A handshake that is interrupted between its flights: by a clock, by a start, by copies of what was said before.

use std::sync::Arc;

use signet_proto::entry::{Direction, Entry};
use signet_proto::envelope::Method;
use signet_proto::node::{Effect, Sending};
use signet_proto::policy::Policy;

use crate::household::forger::name;
use crate::household::net::{message_of, resign};
use crate::household::{Agent, alice_and_bob, at, identity, identity_with, published};

type Bytes = Arc<[u8]>;

/// How long a flight lives, in ms.
const FLIGHT: i64 = 300_000;

fn first(effects: &[Effect]) -> Bytes {
    Arc::clone(&published(effects)[0].1)
}

fn methods(effects: &[Effect]) -> Vec<Method> {
    let flights = published(effects).into_iter();
    let method = |bytes: &Bytes| message_of(bytes).form.method();
    flights.filter_map(|(_, bytes)| method(&bytes)).collect()
}

fn announce(from: &mut Agent, to: &Agent) -> Bytes {
    let sent = from.node.turn(at(0)).sent().send(&to.id(), Sending::Ping);
    let effects = from.keep(at(0), sent.unwrap().outcome);
    first(&effects)
}

/// Another flight 1 of Alice's, signed at that time.
fn announced_at(one: &[u8], ms: i64, n: u64) -> Bytes {
    let alice = identity("agent-alice", "alice");
    resign(&alice, &message_of(one), |draft, stamp| {
        draft.message_id = name(n);
        stamp.now = at(ms).now;
    })
}

fn is_under_way(agent: &Agent, peer: &Agent, ms: i64) -> bool {
    agent.node.standing(&peer.id(), at(ms).now).handshake
}

/// Alice and Bob, whose certificate ends at that time.
fn with_bob_until(ms: i64) -> (Agent, Agent) {
    let mut alice = Agent::new("agent-alice", "alice");
    let mut bob = Agent::with(move || {
        let identity = identity_with("agent-bob", "bob", 1, |request| {
            request.not_after = at(ms).now;
        });
        (identity, Policy::default())
    });
    alice.knows(&bob);
    bob.knows(&alice);
    (alice, bob)
}

#[test]
fn a_copy_of_a_flight_is_answered_by_the_bytes_that_answered_it_and_never_by_later_ones() {
    let (mut alice, mut bob) = alice_and_bob();
    let one = announce(&mut alice, &bob);
    let two = first(&bob.hear(at(1), &one));
    let three = first(&alice.hear(at(2), &two));
    let again = alice.hear(at(2_000), &two);
    assert_eq!(published(&again), [(bob.id(), Arc::clone(&three))]);
    // Bob says nothing more, and Alice begins anew.
    let ticks = (3..60).map(|second| alice.tick(at(second * 1_000)));
    let sent: Vec<_> = ticks.flat_map(|effects| published(&effects)).collect();
    let is_later =
        |bytes: &Bytes| *bytes != one && message_of(bytes).form.method() == Some(Method::Announce);
    let (_, later) = sent.iter().find(|(_, bytes)| is_later(bytes)).unwrap();
    let ms = 60_000;
    let later_two = first(&bob.hear(at(ms), later));
    let copy = bob.hear(at(ms + 2_000), &one);
    assert!(published(&copy).is_empty(), "that handshake is over");
    let copy = bob.hear(at(ms + 4_000), later);
    assert_eq!(first(&copy), later_two);
    let later_three = first(&alice.hear(at(ms + 5_000), &later_two));
    assert_ne!(later_three, three);
    let copy = alice.hear(at(ms + 7_000), &two);
    assert!(published(&copy).is_empty(), "that handshake is over");
}

/// Bob, whose log ends with Alice's flight 3.
fn cut_behind_flight_3() -> (Agent, Agent) {
    let (mut alice, mut bob) = alice_and_bob();
    let one = announce(&mut alice, &bob);
    let two = first(&bob.hear(at(1), &one));
    let three = first(&alice.hear(at(2), &two));
    bob.hear(at(3), &three);
    let is_flight_3 = |entry: &Entry| match entry {
        Entry::Message(verdict) => {
            let message = verdict.message();
            let method = message.and_then(|message| message.form.method());
            verdict.direction == Direction::In && method == Some(Method::Capability)
        }
        _ => false,
    };
    let place = bob.log.iter().position(|(_, entry)| is_flight_3(entry));
    bob.log.truncate(place.unwrap() + 1);
    (alice, bob)
}

#[test]
fn a_start_answers_the_third_flight_as_long_as_it_lives() {
    for (ms, lives) in [(10, true), (2 + FLIGHT - 1, true), (2 + FLIGHT, false)] {
        let (mut alice, mut bob) = cut_behind_flight_3();
        let effects = bob.restart(at(ms));
        let trusts = methods(&effects).contains(&Method::Trust);
        assert_eq!(trusts, lives, "{ms}");
        assert!(!is_under_way(&bob, &alice, ms), "{ms}");
        if ms == 10 {
            alice.hear(at(ms), &first(&effects));
            let session = alice.node.standing(&bob.id(), at(ms).now).session;
            assert!(session.is_some());
        }
    }
}

#[test]
fn while_flight_4_cannot_be_signed_only_an_announce_behind_flight_3_begins_anew() {
    let (mut alice, mut bob) = with_bob_until(2_500);
    let one = announce(&mut alice, &bob);
    let two = first(&bob.hear(at(1), &one));
    let three = first(&alice.hear(at(1_000), &two));
    assert!(published(&bob.hear(at(3_000), &three)).is_empty());
    assert!(is_under_way(&bob, &alice, 3_000));
    bob.hear(at(3_001), &announced_at(&one, 500, 1));
    assert_eq!(bob.refusals(), ["announce-stale"], "flight 3 is newer");
    bob.hear(at(3_002), &announced_at(&one, 1_001, 2));
    assert_eq!(bob.refusals(), ["announce-stale"]);
}

#[test]
fn an_initiator_that_cannot_sign_its_next_flight_is_free_to_begin_anew() {
    let (mut alice, mut bob) = with_bob_until(1_500);
    let one = announce(&mut bob, &alice);
    let two = first(&alice.hear(at(1_000), &one));
    assert!(is_under_way(&bob, &alice, 1_000));
    assert!(published(&bob.hear(at(2_000), &two)).is_empty());
    assert_eq!(bob.refusals(), <[&str; 0]>::default());
    assert!(!is_under_way(&bob, &alice, 2_000));
}

#[test]
fn a_copy_of_flight_3_is_answered_by_its_flight_4_as_long_as_that_lives() {
    let (mut alice, mut bob) = alice_and_bob();
    let one = announce(&mut alice, &bob);
    let two = first(&bob.hear(at(1), &one));
    let three = first(&alice.hear(at(2), &two));
    let four = first(&bob.hear(at(3), &three));
    for (ms, expected) in [
        (2_000, Some(&four)),
        (2 + FLIGHT, Some(&four)),
        (3 + FLIGHT, None),
    ] {
        let mut copy = alice_and_bob().1;
        copy.log.clone_from(&bob.log);
        copy.restart(at(1_000));
        let again = published(&copy.hear(at(ms), &three));
        let again = again.iter().map(|(_, bytes)| bytes).next();
        assert_eq!(again, expected, "{ms}");
    }
}
