//! Messages caught on the bus and sent again: to the same inbox, to another, after a restart, too late,
//! too old, redirected. Each is refused by name, and nothing happens twice.

use serde_json::{Value, json};

use crate::house::bus::{Sender, Watch, sender};
use crate::house::pen::{Pen, time, with};
use crate::house::{Home, House, eventually};

/// Alice's request to Bob, as it stood on the bus, and its message-id.
fn caught(watch: &Watch, alice: &Home, bob: &Home) -> (String, Vec<u8>) {
    let mark = watch.mark();
    let id = alice.send(bob, "request", &json!({"pay": 100})).unwrap();
    let (_, bytes) = watch.find(mark, |message| {
        message["id"] == id.as_str() && sender(message) == alice.agent
    });
    eventually("it arrives", || {
        bob.inbox()
            .iter()
            .any(|item| item["message-id"] == id.as_str())
            .then_some(())
    });
    (id, bytes)
}

fn refused(home: &Home, sender: &mut Sender, input: &[u8], reason: &str) {
    let line = home.hears(sender, input);
    assert_eq!(
        (&line["verdict"], &line["reason"]),
        (&json!("rejected"), &json!(reason)),
        "{line}"
    );
}

#[test]
fn replayed_to_the_same_inbox_before_and_after_the_answer_and_a_restart() {
    let house = House::new();
    let (alice, mut bob) = house.alice_and_bob();
    let (mut sender, watch) = (Sender::new(&house), Watch::new(&house));
    let (id, bytes) = caught(&watch, &alice, &bob);
    refused(&bob, &mut sender, &bytes, "duplicate");
    assert_eq!(bob.inbox().len(), 1);
    bob.kill();
    bob.start();
    refused(&bob, &mut sender, &bytes, "duplicate");
    assert_eq!(bob.inbox().len(), 1);
    bob.call(
        "respond",
        &json!({"message": {"message-id": id}, "body": {}}),
    )
    .unwrap();
    let (_, answer) = watch.find(0, |message| {
        message["result"]["headers"]["in-reply-to"] == id.as_str()
    });
    eventually("the answer arrives", || {
        (alice.inbox().len() == 1).then_some(())
    });
    refused(&bob, &mut sender, &bytes, "duplicate");
    refused(&alice, &mut sender, &answer, "duplicate");
    bob.kill();
    bob.start();
    refused(&bob, &mut sender, &bytes, "duplicate");
    assert_eq!((bob.inbox().len(), alice.inbox().len()), (0, 1));
}

#[test]
fn replayed_or_redirected_to_a_third_agent() {
    let house = House::new();
    let (mut alice, mut bob, mut carol) =
        (house.home("alice"), house.home("bob"), house.home("carol"));
    house.acquaint(&[&alice, &bob, &carol]);
    for home in [&mut alice, &mut bob, &mut carol] {
        home.start();
    }
    alice.ping(&carol);
    let (mut sender, watch) = (Sender::new(&house), Watch::new(&house));
    let (_, bytes) = caught(&watch, &alice, &bob);
    refused(&carol, &mut sender, &bytes, "wrong-recipient");
    let redirected = with(
        serde_json::from_slice(&bytes).unwrap(),
        "recipient-id",
        carol.agent.as_str(),
    );
    refused(
        &carol,
        &mut sender,
        &signet_json::canonical(&redirected),
        "signature-invalid",
    );
    // Even signed anew with Alice's key the message is refused: its session is not one of hers with Carol.
    let pen = Pen::of(&alice);
    refused(
        &carol,
        &mut sender,
        &pen.sign(without_signature(redirected)),
        "session-unknown",
    );
    assert!(carol.inbox().is_empty());
}

fn without_signature(mut message: Value) -> Value {
    message["params"]
        .as_object_mut()
        .unwrap()
        .remove("signature");
    message
}

#[test]
fn the_flights_of_a_handshake_replayed() {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    let (mut sender, watch) = (Sender::new(&house), Watch::new(&house));
    alice.start();
    bob.start();
    alice.ping(&bob);
    let session = bob.standing(&alice.agent, "session");
    let flights: Vec<(String, Vec<u8>)> = watch
        .seen()
        .into_iter()
        .filter(|(_, bytes)| {
            let message: Value = serde_json::from_slice(bytes).unwrap_or_default();
            ["announce", "verify", "capability", "trust"]
                .iter()
                .any(|flight| message["method"] == format!("agent.{flight}"))
        })
        .collect();
    assert!(flights.len() >= 4);
    for round in ["live", "restarted"] {
        for (subject, bytes) in &flights {
            let home = if *subject == bob.subject() {
                &bob
            } else {
                &alice
            };
            refused(home, &mut sender, bytes, "duplicate");
        }
        assert_eq!(bob.standing(&alice.agent, "session"), session, "{round}");
        assert_eq!(alice.standing(&bob.agent, "session"), session, "{round}");
        alice.ping(&bob);
        for home in [&mut alice, &mut bob] {
            home.kill();
            home.start();
        }
    }
}

#[test]
fn below_the_window_and_out_of_its_time() {
    let house = House::new();
    let (mut bob, mallory) = (house.home("bob"), house.home("mallory"));
    house.acquaint(&[&bob, &mallory]);
    bob.start();
    let (mut sender, watch) = (Sender::new(&house), Watch::new(&house));
    let pen = Pen::of(&mallory);
    let session = pen.meet(&mut sender, &watch, &bob);
    let to = bob.agent.clone();
    let next = |sequence| pen.notification(&to, &session, sequence);
    let taken = pen.sign(next(2));
    let held_back = pen.sign(next(3));
    assert_eq!(bob.hears(&mut sender, &taken)["verdict"], "accepted");
    assert_eq!(
        bob.hears(&mut sender, &pen.sign(next(20_000)))["verdict"],
        "accepted"
    );
    for _ in ["live", "restarted"] {
        refused(&bob, &mut sender, &taken, "duplicate");
        assert_eq!(bob.inbox().len(), 2);
        bob.kill();
        bob.start();
    }
    refused(&bob, &mut sender, &held_back, "sequence-below-window");
    let old = with(
        with(next(20_001), "timestamp", "1999-12-31T23:59:59.000Z"),
        "expires-at",
        "2000-01-01T23:59:59.000Z",
    );
    refused(&bob, &mut sender, &pen.sign(old), "certificate-expired");
    let late = with(
        with(next(20_002), "timestamp", time(-120_000)),
        "expires-at",
        time(-60_000),
    );
    refused(&bob, &mut sender, &pen.sign(late), "expired");
    assert_eq!(bob.inbox().len(), 2);
    bob.walk();
}
