//! Daemons whose mail waits in JetStream: nothing lost, nothing twice, whoever dies.

mod broker;
mod cli;
mod older;
mod permissions;
mod second;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::house::log::{header, messages};
use crate::house::{Home, House, eventually};

#[test]
fn what_is_sent_while_the_daemon_is_away_waits_for_it() {
    let house = House::with_jetstream();
    let (alice, mut bob) = house.alice_and_bob_with_mailboxes();
    alice.ping(&bob);
    bob.stop();
    let sent: Vec<String> = (0..20)
        .map(|n| {
            alice
                .send(&bob, "notification", &json!({ "n": n }))
                .unwrap()
        })
        .collect();
    eventually("the mailbox says that it holds them", || {
        stored(&alice, &bob, sent.len()).then_some(())
    });
    bob.start();
    bob.has_mailbox(true);
    all_arrive_once(&alice, &bob, &sent);
    assert!(
        alice
            .done(&["status"])
            .contains("connected, with a mailbox")
    );
}

#[test]
fn a_notification_that_the_mailbox_holds_is_no_failure_and_is_not_waited_for() {
    let house = House::with_jetstream();
    let (alice, mut bob) = house.alice_and_bob_with_mailboxes();
    alice.ping(&bob);
    bob.stop();
    let begun = Instant::now();
    let said = alice.done(&["send", &bob.agent, "--notify", "{}"]);
    assert!(
        said.starts_with("the mailbox of agent-bob holds it: "),
        "{said}"
    );
    let took = begun.elapsed();
    assert!((2.0..20.0).contains(&took.as_secs_f64()), "{took:?}");
    let sent = alice
        .json(&["send", &bob.agent, "--notify", "{}"])
        .remove(0);
    assert_eq!(
        (&sent["state"], &sent["stored"]),
        (&json!("published"), &json!(true))
    );
    // With `--wait` the command does not end early because the mailbox holds the message: it waits the 3 s for an
    // answer, and fails.
    let args = ["send", &bob.agent, "--notify", "{}", "--wait", "3"];
    assert!(alice.fails(3, &args).contains("no-answer: "));
    bob.start();
    eventually("all three arrive", || {
        (bob.inbox().len() == 3).then_some(())
    });
}

/// The way from nothing to a mailbox, and back to core NATS when somebody deletes it.
#[test]
fn without_a_mailbox_the_daemon_says_so_and_serves_and_takes_one_when_it_is_made() {
    let house = House::with_jetstream();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    alice.start();
    bob.start();
    bob.has_mailbox(false);
    alice.ping(&bob);
    let said = bob.said();
    assert!(
        said.contains("no mailbox")
            && said.contains(&format!("signet doctor --home {}", bob.dir.display())),
        "{said}"
    );
    let status = bob.done(&["status"]);
    let next = format!(
        "signet nats setup --home {} agent-bob --server {}",
        bob.dir.display(),
        house.server.url()
    );
    assert!(
        status.contains("no mailbox") && status.contains(&next),
        "{status}"
    );
    let said = house.set_up(&[&alice, &bob]);
    for line in ["stream AGENT_INBOX: created", "consumer agent-bob: created"] {
        assert!(said.contains(line), "{said}");
    }
    alice.has_mailbox(true);
    bob.has_mailbox(true);
    alice.ping(&bob);
    let said = house.set_up(&[&alice, &bob]);
    assert_eq!(said.matches("as it should be").count(), 3, "{said}");
}

/// The line is durable, the acknowledgement never arrives: the server refuses it.
#[test]
fn killed_between_the_line_and_the_ack_the_message_comes_again_and_is_recognised() {
    let mut house = House::with_jetstream();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    let mute = |config: String| {
        let own = |line: &&str| !(line.contains("$JS.ACK") && line.contains("agent-bob"));
        config
            .lines()
            .filter(own)
            .map(|line| format!("{line}\n"))
            .collect()
    };
    house.guard(&[&alice, &bob], mute);
    house.set_up_as_admin(&[&alice, &bob]);
    alice.start();
    bob.start();
    bob.has_mailbox(true);
    alice.ping(&bob);
    let sent = alice
        .send(&bob, "notification", &json!({"once": true}))
        .unwrap();
    let line = eventually("it is durable", || {
        let log = bob.log();
        let mut taken = messages(&log, "in", "accepted");
        taken
            .find(|line| header(line, "message-id") == sent)
            .cloned()
    });
    bob.kill();
    house.guard(&[&alice, &bob], |config| config);
    bob.start();
    bob.has_mailbox(true);
    // Bob's daemon was killed before it told the mailbox that it has the message: after 30 s without that word the
    // mailbox delivers again.
    eventually("the copy is seen", || {
        let log = bob.log();
        let mut copies = messages(&log, "in", "rejected");
        copies.find(|copy| copy["reason"] == "duplicate" && copy["sha256"] == line["sha256"])?;
        Some(())
    });
    all_arrive_once(&alice, &bob, &[sent]);
}

/// How many of ours to that peer its mailbox holds.
fn stored(home: &Home, peer: &Home, expected: usize) -> bool {
    let waiting = home.standing(&peer.agent, "unconfirmed").as_u64().unwrap();
    usize::try_from(waiting).unwrap() >= expected
}

/// Every one of them stands once in the log as accepted and once in the inbox.
pub fn all_arrive_once(from: &Home, to: &Home, sent: &[String]) {
    let start = Instant::now();
    let count = |lines: &[Value], id: &str| {
        messages(lines, "in", "accepted")
            .filter(|line| header(line, "message-id") == id)
            .count()
    };
    eventually("everything arrives", || {
        let log = to.log();
        let missing = sent.iter().filter(|id| count(&log, id) == 0).count();
        (missing == 0).then_some(())
    });
    eventually("everything is receipted", || {
        (from.standing(&to.agent, "unconfirmed") == 0).then_some(())
    });
    let (log, inbox) = (between_two_writes(to), to.inbox());
    for id in sent {
        assert_eq!(count(&log, id), 1, "{id}, after {:?}", start.elapsed());
        let listed = inbox
            .iter()
            .filter(|item| item["message-id"] == id.as_str())
            .count();
        assert_eq!(listed, 1, "{id} in the inbox");
    }
}

/// The log between two writes.
fn between_two_writes(home: &Home) -> Vec<Value> {
    std::thread::sleep(Duration::from_millis(100));
    home.log()
}
