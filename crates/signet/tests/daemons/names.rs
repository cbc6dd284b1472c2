//! What people type of a message-id: its beginning, wherever a message is named.

use serde_json::json;

use crate::house::{Home, House, eventually};
use crate::quarantine::fail_tries;

/// A message of Alice's that has arrived.
fn arrived(alice: &Home, bob: &Home, kind: &str) -> String {
    let id = alice.send(bob, kind, &json!({"week": 7})).unwrap();
    eventually("it arrives", || {
        let mut inbox = bob.inbox().into_iter();
        inbox.find(|item| item["message-id"] == *id)
    });
    id
}

/// So much of an id that no other message of this test begins like it.
fn beginning<'i>(id: &'i str, others: &[&str]) -> &'i str {
    let length = (8..=id.len()).find(|length| {
        let start = &id[..*length];
        others.iter().all(|other| !other.starts_with(start))
    });
    &id[..length.unwrap()]
}

#[test]
fn the_beginning_of_an_id_is_enough_to_answer_to_look_and_to_be_done_with_one() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    let one = arrived(&alice, &bob, "request");
    let two = arrived(&alice, &bob, "notification");
    let three = arrived(&alice, &bob, "notification");
    let start = beginning(&two, &[&one, &three]);
    assert_eq!(
        bob.done(&["inbox", "done", start]),
        "done: it has left the inbox\n"
    );
    let left: Vec<_> = bob
        .inbox()
        .into_iter()
        .map(|item| item["message-id"].clone())
        .collect();
    assert_eq!(left, [json!(one), json!(three)], "the others stay");

    // Ids begin with their time, and these messages were made within the same minute: so six characters fit them all.
    let said = bob.fails(2, &["reply", &one[..6], "{}"]);
    assert!(said.contains(&one) && said.contains(&three), "{said}");
    assert!(
        bob.fails(2, &["inbox", "done", &one[..3]])
            .contains("too short")
    );
    assert!(
        bob.fails(1, &["inbox", "done", "ffffffff"])
            .contains("message-unknown")
    );
    assert!(
        bob.fails(1, &["inbox", "done", &two])
            .contains("message-unknown")
    );
    assert_eq!(bob.inbox().len(), 2, "nothing was taken meanwhile");

    let start = beginning(&one, &[&two, &three]);
    bob.done(&["reply", start, "{\"evening\": \"Tue\"}"]);
    eventually("the answer", || alice.inbox().into_iter().next());
    let shown = alice.done(&["status", start]);
    assert!(shown.starts_with("answered: "), "{shown}");
    assert_eq!(bob.json(&["inbox", "done", &three])[0]["acknowledged"], 1);
}

#[test]
fn the_beginning_of_an_id_is_enough_in_the_quarantine() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    let id = arrived(&alice, &bob, "request");
    fail_tries(&bob, &id, 5, "exit status 1");
    assert!(bob.inbox().is_empty());
    assert!(
        bob.fails(1, &["quarantine", "retry", "ffffffff"])
            .contains("message-unknown")
    );
    bob.done(&["quarantine", "retry", &id[..8]]);
    assert_eq!(bob.inbox()[0]["message-id"], *id);
}
