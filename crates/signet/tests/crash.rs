//! kill -9 at random during traffic: the log is the truth, and nothing that was answered is missing
//! from it. `SIGNET_SEED` repeats a run, `SIGNET_KILLS` makes it longer.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use std::collections::BTreeSet;
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use signet_testkit::bus::{Sender, Watch};
use signet_testkit::log::unfinished;
use signet_testkit::pen::{Pen, with};
use signet_testkit::traffic::{
    finish, nothing_without_a_line, receipts_hold, receipts_taken_hold, settle,
};
use signet_testkit::{self as house, Dice, Home, House, StopAtEnd};

const KILLS: u64 = 50;
/// So many with one pair of homes: logs grow, and each kill reads them whole.
const KILLS_OF_A_PAIR: u64 = 10;

#[test]
fn killed_fifty_times_during_traffic() {
    let number =
        |name: &str, default| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    let (seed, kills) = (number("SIGNET_SEED", 1), number("SIGNET_KILLS", KILLS));
    println!("SIGNET_SEED={seed} SIGNET_KILLS={kills}");
    let mut left = kills;
    for round in 0..kills.div_ceil(KILLS_OF_A_PAIR) {
        let now = left.min(KILLS_OF_A_PAIR);
        left -= now;
        kill_during_traffic(seed.wrapping_add(round), now);
    }
}

/// Daemons and broker are killed in mid-traffic; then everything comes to its end.
fn kill_during_traffic(seed: u64, kills: u64) {
    let mut dice = Dice(seed);
    let mut house = House::with_jetstream();
    let (alice, bob) = house.alice_and_bob_with_mailboxes();
    alice.ping(&bob);
    let watch = Watch::at(&house, &["agent.*.inbox".to_owned()]);
    let pair = [RwLock::new(alice), RwLock::new(bob)];
    let over = AtomicBool::new(false);
    let sent = AtomicU64::new(0);
    let mut broker_kills = 0;
    std::thread::scope(|scope| {
        let _stop = StopAtEnd(&over);
        for side in [0, 1] {
            let (pair, over, sent) = (&pair, &over, &sent);
            scope.spawn(move || talk(pair, side, over, sent, seed));
            scope.spawn(move || answer(&pair[side], over));
        }
        for _ in 0..kills {
            std::thread::sleep(Duration::from_millis(dice.below(200)));
            if dice.below(8) == 0 {
                house.server.restart();
                broker_kills += 1;
                continue;
            }
            kill_and_restart(&pair[dice.below(2) as usize]);
            nothing_without_a_line(&pair[0].read().unwrap(), &pair[1].read().unwrap());
        }
        over.store(true, Ordering::Relaxed);
    });
    let [alice, bob] = pair.map(|home| home.into_inner().unwrap());
    settle(&alice, &bob);
    for home in [&alice, &bob] {
        let log = home.dir.join("audit").join(&home.agent);
        home.done(&["audit", "verify", log.to_str().unwrap()]);
        receipts_hold(&watch, home);
    }
    let receipts = receipts_taken_hold(&alice, &bob) + receipts_taken_hold(&bob, &alice);
    assert!(receipts > 0);
    println!(
        "seed {seed}: {kills} kills, {broker_kills} of them of the broker, {receipts} receipts hold, {} messages sent, {} and {} lines",
        sent.load(Ordering::Relaxed),
        alice.walk().len(),
        bob.walk().len()
    );
}

/// Killed while others are calling it; only the start is left to ourselves.
fn kill_and_restart(victim: &RwLock<Home>) {
    let pid = victim.read().unwrap().pid();
    house::kill(pid, rustix::process::Signal::KILL);
    let mut home = victim.write().unwrap();
    home.kill();
    restart(&mut home);
}

/// A group of lines is one write; a crash can leave the first half of it.
#[test]
fn a_ping_whose_answer_was_torn_off_is_answered_at_the_start() {
    let house = House::new();
    let (mut bob, mallory) = (house.home("bob"), house.home("mallory"));
    house.acquaint(&[&bob, &mallory]);
    bob.start();
    let (mut sender, watch) = (Sender::new(&house), Watch::new(&house));
    let pen = Pen::of(&mallory);
    let session = pen.meet(&mut sender, &watch, &bob);
    let ping = with(
        pen.request(&bob.agent, &session, 2),
        "capability",
        "signet.ping",
    );
    let id = ping["id"].clone();
    assert_eq!(
        bob.hears(&mut sender, &pen.sign(ping))["verdict"],
        "accepted"
    );
    let answer = |message: &Value| message["result"]["headers"]["in-reply-to"] == id;
    watch.find(0, answer);
    bob.kill();
    bob.tear_after(|line| line["message"]["id"] == id);
    let mark = watch.mark();
    bob.start();
    watch.find(mark, answer);
    let log = bob.walk();
    assert!(
        unfinished(&log, true).is_empty(),
        "{:?}",
        unfinished(&log, true)
    );
    assert!(
        log.iter().any(|line| line["kind"] == "recovery"),
        "the start says what it set aside"
    );
}

/// Starts the daemon and holds its inbox against its log, while nobody answers.
fn restart(home: &mut Home) {
    home.start();
    let log = home.walk();
    let inbox: BTreeSet<String> = home
        .inbox()
        .iter()
        .map(|item| item["message-id"].as_str().unwrap().to_owned())
        .collect();
    let waiting = unfinished(&log, false);
    assert!(
        waiting.is_subset(&inbox),
        "accepted, without outcome, and not performed again: {:?}",
        waiting.difference(&inbox)
    );
    let later = unfinished(&home.log(), false);
    assert!(
        inbox.is_subset(&later),
        "finished, and performed again: {:?}",
        inbox.difference(&later)
    );
}

fn talk(pair: &[RwLock<Home>; 2], side: usize, over: &AtomicBool, sent: &AtomicU64, seed: u64) {
    let mut dice = Dice(seed ^ ((side as u64 + 1) << 32));
    let peer = pair[1 - side].read().unwrap().agent.clone();
    while !over.load(Ordering::Relaxed) {
        let kind = ["request", "notification", "ping"][dice.below(3) as usize];
        let number = sent.fetch_add(1, Ordering::Relaxed);
        let call = json!({"peer": peer, "kind": kind, "body": {"number": number}});
        // A daemon that was just killed does not answer.
        let _ = pair[side].read().unwrap().call("send", &call);
        std::thread::sleep(Duration::from_millis(dice.below(20)));
    }
}

fn answer(home: &RwLock<Home>, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        finish(&home.read().unwrap());
        std::thread::sleep(Duration::from_millis(10));
    }
}
