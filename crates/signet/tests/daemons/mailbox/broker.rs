//! The broker dies with its disk in the middle of the traffic. `SIGNET_BROKER_ROUNDS` makes it longer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;

use super::all_arrive_once;
use crate::house::{Home, House};

const ROUNDS: usize = 3;

#[test]
fn the_broker_killed_and_its_store_deleted_in_mid_traffic() {
    let rounds = std::env::var("SIGNET_BROKER_ROUNDS");
    let rounds = rounds.map_or(ROUNDS, |text| text.parse().unwrap());
    let mut house = House::with_jetstream();
    let (alice, bob) = house.alice_and_bob_with_mailboxes();
    alice.ping(&bob);
    let over = AtomicBool::new(false);
    let (to_bob, to_alice) = std::thread::scope(|scope| {
        let (alice, bob, over) = (&alice, &bob, &over);
        let talking = [(alice, bob), (bob, alice)]
            .map(|(from, to)| scope.spawn(move || talk(from, to, over)));
        for round in 0..rounds {
            std::thread::sleep(Duration::from_millis(300 + 97 * (round as u64 % 7)));
            house.server.kill();
            house.server.lose_store();
            house.server.restart();
            std::thread::sleep(Duration::from_millis(53 * (round as u64 % 5)));
            house.set_up(&[alice, bob]);
            alice.has_mailbox(true);
            bob.has_mailbox(true);
        }
        over.store(true, Ordering::Relaxed);
        let [to_bob, to_alice] = talking.map(|thread| thread.join().unwrap());
        (to_bob, to_alice)
    });
    assert!(
        to_bob.len() > 10 * rounds && to_alice.len() > 10 * rounds,
        "little was said"
    );
    all_arrive_once(&alice, &bob, &to_bob);
    all_arrive_once(&bob, &alice, &to_alice);
    println!(
        "{rounds} rounds, {} and {} messages",
        to_bob.len(),
        to_alice.len()
    );
}

/// The ids of what was sent. The daemon runs all the time: it takes every message.
fn talk(from: &Home, to: &Home, over: &AtomicBool) -> Vec<String> {
    let mut sent = Vec::new();
    while !over.load(Ordering::Relaxed) {
        let body = json!({"number": sent.len()});
        sent.push(from.send(to, "notification", &body).unwrap());
        std::thread::sleep(Duration::from_millis(10));
    }
    sent
}
