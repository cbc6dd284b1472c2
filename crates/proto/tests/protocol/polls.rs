//! Polls: a peer that can only dial out proves itself, and is told what is kept for it; whoever overheard it, and
//! whoever is not that peer, is told nothing.

use serde_json::{Value, json};
use signet_proto::carrier::CarrierId;
use signet_proto::draft::{Draft, Stamp};
use signet_proto::entry::Entry;
use signet_proto::envelope::Method;
use signet_proto::ids::{SessionId, Version};
use signet_proto::node::{Disposition, Judged, LocalError, Outcome, Polled};

use crate::forge::{headers, id, read, reason, sign};
use crate::household::{Agent, alice_and_bob, at, identity};

const HOUR: i64 = 3_600_000;

/// What Bob, who keeps, makes of bytes that came over HTTP.
fn hear(bob: &mut Agent, ms: i64, bytes: &[u8]) -> Outcome {
    let judged = Judged::of(bytes, bob.node.trust()).by(CarrierId::HTTP);
    bob.node.turn(at(ms)).handle_inbound(judged)
}

/// A poll of Alice's for Bob.
fn poll(alice: &mut Agent, bob: &Agent, ms: i64) -> Vec<u8> {
    let signed = alice
        .node
        .turn(at(ms))
        .peers()
        .poll(&bob.id(), None)
        .unwrap();
    signed.bytes().to_vec()
}

fn is_served(outcome: &Outcome) -> bool {
    assert!(outcome.effects.is_empty(), "a poll publishes nothing");
    assert_eq!(
        outcome.polled.is_some(),
        outcome.ruled == Some(Disposition::Accepted)
    );
    outcome.polled.is_some()
}

/// The poll with its headers or its body changed, and signed again by its sender.
fn changed(bytes: &[u8], change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut message = read(bytes);
    change(&mut message);
    sign(message, &identity("agent-alice", "alice").signing)
}

#[test]
fn a_peer_that_polls_is_told_who_it_is_and_leaves_no_line() {
    let (mut alice, mut bob) = alice_and_bob();
    let last = id("the last that it has");
    let signed = alice
        .node
        .turn(at(1_000))
        .peers()
        .poll(&bob.id(), Some(last))
        .unwrap();
    let before = bob.log.len();
    let outcome = hear(&mut bob, 1_010, signed.bytes());
    assert!(outcome.entries.is_empty());
    let expected = Polled {
        peer: alice.id(),
        after: Some(last),
    };
    assert_eq!(outcome.polled, Some(expected));
    assert_eq!(bob.log.len(), before);
    // A second poll within the same millisecond bears a later time, and so is served and is no copy.
    let again = poll(&mut alice, &bob, 1_000);
    assert!(is_served(&hear(&mut bob, 1_011, &again)));
}

#[test]
fn polls_are_in_the_log_as_counts_an_hour_apart_and_at_the_end() {
    let (mut alice, mut bob) = alice_and_bob();
    let mut bytes = 0;
    for n in 0..5 {
        let poll = poll(&mut alice, &bob, 1_000 + n);
        bytes += poll.len() as u64;
        assert!(is_served(&hear(&mut bob, 1_000 + n, &poll)));
    }
    let counted = |outcome: Outcome| -> Vec<(u64, u64)> {
        let entries = outcome.entries.into_iter();
        let floods = entries.filter_map(|entry| match entry {
            Entry::Flood(flood) => Some((flood.count, flood.bytes)),
            _ => None,
        });
        floods.collect()
    };
    assert!(counted(bob.node.turn(at(HOUR - 1_000)).handle_timeout()).is_empty());
    let due = bob.node.poll_timeout(at(HOUR)).unwrap();
    assert!(due <= at(HOUR + 1_000).now, "{due}");
    assert_eq!(
        counted(bob.node.turn(at(HOUR + 1_000)).handle_timeout()),
        [(5, bytes)]
    );
    let last = poll(&mut alice, &bob, HOUR + 2_000);
    assert!(is_served(&hear(&mut bob, HOUR + 2_000, &last)));
    assert_eq!(counted(bob.node.handle_stop()), [(1, last.len() as u64)]);
}

#[test]
fn whoever_overheard_a_poll_is_told_nothing_for_a_copy() {
    let (mut alice, mut bob) = alice_and_bob();
    let (first, second) = (poll(&mut alice, &bob, 1_000), poll(&mut alice, &bob, 2_000));
    assert!(is_served(&hear(&mut bob, 2_000, &second)));
    for copy in [&second, &first] {
        let outcome = hear(&mut bob, 2_100, copy);
        assert!(!is_served(&outcome));
        assert_eq!(outcome.ruled, Some(Disposition::Counted));
    }
    // However often copies of a poll come, they cost one log line a second.
    for n in 0..5_000 {
        hear(&mut bob, 2_200 + n / 100, &second);
    }
    let flood = bob.node.turn(at(4_000)).handle_timeout();
    assert_eq!(flood.entries.len(), 1, "{:?}", flood.entries);
}

#[test]
fn a_copy_from_before_the_keepers_start_is_told_nothing() {
    let (mut alice, mut bob) = alice_and_bob();
    let overheard = poll(&mut alice, &bob, 1_000);
    assert!(is_served(&hear(&mut bob, 1_000, &overheard)));
    bob.restart(at(5_000));
    assert!(
        !is_served(&hear(&mut bob, 6_000, &overheard)),
        "it remembers nothing, and gives nothing"
    );
    let fresh = poll(&mut alice, &bob, 7_000);
    assert!(is_served(&hear(&mut bob, 7_000, &fresh)));
}

#[test]
fn a_poll_lives_a_minute_and_no_clock_makes_it_live_longer() {
    let (mut alice, mut bob) = alice_and_bob();
    let late = poll(&mut alice, &bob, 1_000);
    assert!(!is_served(&hear(&mut bob, 61_000, &late)));
    let early = poll(&mut alice, &bob, 300_000);
    assert!(
        !is_served(&hear(&mut bob, 200_000, &early)),
        "its time lies ahead"
    );
    let long = changed(&poll(&mut alice, &bob, 400_000), |message| {
        let until = at(400_000 + 61_000).now.to_string();
        headers(message)["expires-at"] = until.into();
    });
    assert!(
        !is_served(&hear(&mut bob, 400_000, &long)),
        "it would live too long"
    );
    let never = changed(&poll(&mut alice, &bob, 500_000), |message| {
        let then = headers(message)["timestamp"].clone();
        headers(message)["expires-at"] = then;
    });
    assert!(!is_served(&hear(&mut bob, 499_990, &never)));
}

/// A clock that is put back keeps its peer waiting for minutes, not for as long as it was ahead.
#[test]
fn after_a_clock_was_put_back_the_next_polls_are_served_again() {
    let (mut alice, mut bob) = alice_and_bob();
    let ahead = poll(&mut alice, &bob, 100_000);
    assert!(
        is_served(&hear(&mut bob, 50_000, &ahead)),
        "within the tolerance"
    );
    let back = alice
        .node
        .turn(at(51_000))
        .peers()
        .poll(&bob.id(), None)
        .unwrap();
    assert!(
        is_served(&hear(&mut bob, 51_000, back.bytes())),
        "its own last poll was later: this one is, too"
    );
}

#[test]
fn only_the_peer_itself_polls_and_only_for_its_keeper() {
    let (mut alice, mut bob) = alice_and_bob();
    let bytes = poll(&mut alice, &bob, 1_000);
    // Mallory holds a copy and no key.
    let mallory = crate::household::key("mallory");
    let forged = sign(read(&bytes), &mallory);
    let refused = hear(&mut bob, 1_000, &forged);
    assert!(!is_served(&refused));
    assert_eq!(
        reason(&refused.entries).unwrap().name(),
        "signature-invalid"
    );
    let mut carol = Agent::new("agent-carol", "carol");
    carol.knows(&bob);
    let stranger = carol
        .node
        .turn(at(1_000))
        .peers()
        .poll(&bob.id(), None)
        .unwrap();
    let refused = hear(&mut bob, 1_000, stranger.bytes());
    assert_eq!(reason(&refused.entries).unwrap().name(), "agent-unknown");
    // A poll that was signed for Bob gets nothing from Carol.
    carol.knows(&alice);
    let misled = hear(&mut carol, 1_000, &bytes);
    assert_eq!(reason(&misled.entries).unwrap().name(), "wrong-recipient");
    // Once Alice is no longer trusted, her polls get nothing.
    bob.node
        .turn(at(1_100))
        .people()
        .withdraw(&alice.id())
        .unwrap();
    let refused = hear(&mut bob, 1_200, &bytes);
    assert!(!is_served(&refused));
    assert_eq!(reason(&refused.entries).unwrap().name(), "trust-withdrawn");
}

#[test]
fn a_poll_with_a_session_a_number_or_a_secret_tier_is_none() {
    let (mut alice, mut bob) = alice_and_bob();
    let hostile: [fn(&mut Value); 4] = [
        |message| {
            headers(message).insert(
                "session".into(),
                SessionId(signet_proto::ids::Digest([3; 32]))
                    .to_string()
                    .into(),
            );
        },
        |message| {
            headers(message).insert("sequence".into(), 1.into());
        },
        |message| {
            headers(message).insert("data-tier".into(), 3.into());
        },
        |message| message["params"]["body"] = json!({"after": "not an id"}),
    ];
    for (n, change) in hostile.into_iter().enumerate() {
        let ms = 1_000 + i64::try_from(n).unwrap();
        let bytes = changed(&poll(&mut alice, &bob, ms), change);
        assert!(!is_served(&hear(&mut bob, ms, &bytes)), "{n}");
    }
    assert!(is_served(&{
        let honest = poll(&mut alice, &bob, 5_000);
        hear(&mut bob, 5_000, &honest)
    }));
}

/// A poll says who is there, and nothing about any number: nothing is settled, resent or given up by it.
#[test]
fn a_poll_moves_no_message() {
    let (mut alice, mut bob) = alice_and_bob();
    let poll = poll(&mut alice, &bob, 1_000);
    let before: Vec<_> = bob.node.snapshot(at(1_000).now).rows();
    assert!(is_served(&hear(&mut bob, 1_000, &poll)));
    let after = bob.node.snapshot(at(1_000).now).rows();
    let told = |rows: Vec<signet_proto::node::Row>| -> Vec<_> {
        let rows = rows.into_iter();
        rows.map(|row| (row.table, row.key, row.value)).collect()
    };
    assert_eq!(told(after), told(before));
}

#[test]
fn nobody_polls_a_stranger_or_one_that_is_trusted_no_more() {
    let (mut alice, bob) = alice_and_bob();
    let carol = Agent::new("agent-carol", "carol");
    let refused = alice.node.turn(at(0)).peers().poll(&carol.id(), None);
    assert_eq!(refused.unwrap_err(), LocalError::PeerUnknown(carol.id()));
    alice.node.turn(at(0)).people().withdraw(&bob.id()).unwrap();
    let refused = alice.node.turn(at(0)).peers().poll(&bob.id(), None);
    assert_eq!(refused.unwrap_err(), LocalError::PeerRevoked(bob.id()));
}

/// An agent of the release before has no such method: it says so in its log, and does nothing.
#[test]
fn the_method_has_the_form_that_the_schema_says() {
    let (alice, bob) = alice_and_bob();
    let draft = Draft::call(Method::Poll, bob.id(), id("poll"), json!({"since": 1}));
    let stamp = Stamp {
        now: at(0).now,
        session: None,
        sequence: None,
        audit_head: None,
        version: Version::CURRENT,
    };
    let refused = draft.sign(alice.node.identity(), stamp).unwrap_err();
    assert_eq!(refused.name(), "invalid-shape");
}

#[test]
fn a_poll_of_a_clock_that_is_a_minute_ahead_is_served_and_none_from_further_ahead() {
    for (ahead, served) in [(60_000, true), (60_001, false)] {
        let (mut alice, mut bob) = alice_and_bob();
        let poll = poll(&mut alice, &bob, 1_000 + ahead);
        assert_eq!(is_served(&hear(&mut bob, 1_000, &poll)), served, "{ahead}");
    }
}
