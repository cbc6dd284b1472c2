//! Junk in front of the queue, a stranger's and a peer's, does not hold up another peer's mail.

use std::time::Instant;

use serde_json::json;

use crate::house::bus::{Sender, Watch};
use crate::house::pen::{Pen, seed, with};
use crate::house::{Home, House, eventually};

const JUNK: usize = 6_000;

/// Alice asks, Bob's agent answers, and the answer arrives: how many milliseconds it took.
fn mail_goes_through(alice: &Home, bob: &Home) -> u128 {
    let start = Instant::now();
    let id = alice
        .send(bob, "request", &json!({"urgent": true}))
        .unwrap();
    eventually("alice's request stands in bob's inbox", || {
        bob.inbox()
            .iter()
            .any(|item| item["message-id"] == id.as_str())
            .then_some(())
    });
    bob.call(
        "respond",
        &json!({"message": {"message-id": id}, "body": {}}),
    )
    .unwrap();
    eventually("bob's answer stands in alice's inbox", || {
        alice
            .inbox()
            .iter()
            .any(|item| item["in-reply-to"] == id.as_str())
            .then_some(())
    });
    start.elapsed().as_millis()
}

#[test]
fn a_strangers_junk() {
    let _turn = crate::turn();
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    alice.ping(&bob);
    let mut sender = Sender::new(&house);
    let stranger = Pen::made("agent-nobody", "nobody", &seed([1; 32]), |_| {});
    for number in 0..JUNK {
        let junk = stranger.request(&bob.agent, &"A".repeat(43), number as u64 + 1);
        sender.put(&bob.subject(), &stranger.sign(junk));
    }
    sender.flush();
    println!(
        "behind a stranger's {JUNK}: {} ms",
        mail_goes_through(&alice, &bob)
    );
    assert!(
        bob.refusals()
            .iter()
            .all(|reason| reason == "agent-unknown")
    );
}

#[test]
fn a_peers_refused_calls() {
    let _turn = crate::turn();
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    alice.ping(&bob);
    let mallory = house.home("mallory");
    let pen = Pen::of(&mallory);
    pen.introduced_to(&bob);
    let (mut sender, watch) = (Sender::new(&house), Watch::new(&house));
    let session = pen.meet(&mut sender, &watch, &bob);
    // Mallory receipts none of Bob's refusals, and sends more requests than Bob may have answers without a receipt.
    for number in 0..JUNK {
        let call = pen.request(&bob.agent, &session, number as u64 + 2);
        sender.put(
            &bob.subject(),
            &pen.sign(with(call, "capability", "doors.open")),
        );
        if number % 200 == 0 {
            sender.flush();
        }
    }
    sender.flush();
    let took = mail_goes_through(&alice, &bob);
    let refused = bob
        .refusals()
        .iter()
        .filter(|reason| *reason == "capability-not-granted")
        .count();
    println!("behind a peer's {JUNK}, of which {refused} were refused by then: {took} ms");
    assert!(refused > 1_000, "{refused}");
    // After a restart Mallory's refused requests must not hold up Alice's mail either.
    let mut bob = bob;
    bob.kill();
    bob.start();
    println!("after a restart: {} ms", mail_goes_through(&alice, &bob));
    bob.walk();
}
