//! One mailbox, a daemon of today and one of a release before: they read it by the same durable consumer. Run by `make older`.

use serde_json::{Value, json};

use super::second::{is_read_by, refused};
use super::{all_arrive_once, stored};
use crate::house::{Home, House, eventually};
use crate::older::older;

#[test]
#[ignore = "make older"]
fn todays_daemon_of_the_same_id_waits_while_one_of_the_release_before_reads_the_mailbox() {
    let (house, alice, mut bob) = alice_and_an_older_bob();
    let mut twin = house.made("twin", "agent-bob", "carol", &[]);
    twin.start();
    is_read_by(&twin, "other");
    let sent = notes(&alice, &bob, 50);
    all_arrive_once(&alice, &bob, &sent);
    assert_eq!(refused(&twin), 0, "the twin saw none of it");
    bob.stop();
    is_read_by(&twin, "own");
}

#[test]
#[ignore = "make older"]
fn mail_that_waited_for_the_release_before_is_read_by_todays_program() {
    let (_house, alice, mut bob) = alice_and_an_older_bob();
    let mut sent = notes(&alice, &bob, 5);
    all_arrive_once(&alice, &bob, &sent);
    bob.stop();
    let waiting = notes(&alice, &bob, 20);
    eventually("the mailbox says that it holds them", || {
        stored(&alice, &bob, waiting.len()).then_some(())
    });
    sent.extend(waiting);
    bob.run_by(crate::house::signet());
    bob.start();
    bob.has_mailbox(true);
    all_arrive_once(&alice, &bob, &sent);
}

#[test]
#[ignore = "make older"]
fn the_setup_of_either_release_leaves_the_mailbox_of_the_other_as_it_is() {
    let (house, alice, mut bob) = alice_and_an_older_bob();
    bob.stop();
    let mut sent = notes(&alice, &bob, 20);
    eventually("the mailbox says that it holds them", || {
        stored(&alice, &bob, 20).then_some(())
    });
    house.set_up(&[&bob, &alice]);
    house.set_up(&[&alice, &bob]);
    bob.start();
    bob.has_mailbox(true);
    sent.extend(notes(&alice, &bob, 5));
    all_arrive_once(&alice, &bob, &sent);
}

/// Bob's program is that of the release before; the mailboxes are made by today's.
fn alice_and_an_older_bob() -> (House, Home, Home) {
    let house = House::with_jetstream();
    let (mut alice, mut bob) = (house.home("alice"), house.home_by(&older(), "bob"));
    house.acquaint(&[&alice, &bob]);
    house.set_up(&[&alice, &bob]);
    alice.start();
    bob.start();
    bob.has_mailbox(true);
    alice.ping(&bob);
    (house, alice, bob)
}

/// The ids of so many notifications.
fn notes(from: &Home, to: &Home, count: usize) -> Vec<String> {
    let note = |n: usize| -> Value { json!({ "n": n }) };
    let sent = (0..count).map(|n| from.send(to, "notification", &note(n)));
    sent.collect::<Result<_, _>>().unwrap()
}
