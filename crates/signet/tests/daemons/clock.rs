//! Real daemons whose clock stands outside their certificate, and the pace of their receipts.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use signet::config::Config;
use signet::keystore::{self, AgentKeys};
use signet_proto::time::Timestamp;

use crate::house::bus::{Sender, Watch};
use crate::house::pen::{Pen, seed, time, with};
use crate::house::{Home, House, eventually};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Stages the agent's next certificate, as a person makes it whose clock says `now`.
fn certify(home: &Home, now: Timestamp) {
    let place = signet::home::Home::at(&home.dir);
    let keys = AgentKeys::open(&place, &Config::load(&place).unwrap().agent).unwrap();
    let root = home.dir.join("keys/root.pem");
    let change = keystore::rotate_signing(&keys, &root, None, now).unwrap();
    keystore::stage(&place, &change).unwrap();
}

/// The lines of a log about what its agent sent, of that method.
fn sent(home: &Home, method: &str) -> usize {
    let folder = home.dir.join("audit").join(&home.agent);
    let files = std::fs::read_dir(folder).unwrap();
    let files = files.map(|file| file.unwrap().path());
    let logs = files.filter(|file| file.extension().is_some_and(|end| end == "jsonl"));
    let text: String = logs
        .map(|log| std::fs::read_to_string(log).unwrap())
        .collect();
    let lines = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let lines = lines.filter(|line| line["dir"] == "out");
    lines
        .filter(|line| method.is_empty() || line["message"]["method"] == method)
        .count()
}

fn verifies(home: &Home) {
    let log = home.dir.join("audit").join(&home.agent);
    home.done(&["audit", "verify", log.to_str().unwrap()]);
}

/// The answerer's clock is an hour ahead, and its answer is refused: whoever asked can see that there was one.
#[test]
fn an_answer_that_was_refused_for_its_time_is_told_to_whoever_asked() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let pen = Pen::made("agent-mallory", "mallory", &seed([9; 32]), |_| {});
    pen.introduced_to(&alice);
    let (mut sender, watch) = (Sender::new(&house), Watch::new(&house));
    let session = pen.meet(&mut sender, &watch, &alice);
    let asked = json!({"peer": pen.agent, "kind": "request", "body": {}});
    let asked = alice.call("send", &asked).unwrap();
    let id = asked["message-id"].as_str().unwrap();
    let answer = pen.answer(&alice.agent, id, &session, 2);
    let early = with(answer, "timestamp", time(3_600_000));
    let early = with(early, "expires-at", time(7_200_000));
    sender.send(&alice.subject(), &pen.sign(early));
    let shown = eventually("the refused answer shows", || {
        let shown = alice.call("message.status", &json!({"message-id": id}));
        let shown = shown.unwrap();
        shown.get("answer-refused").is_some().then_some(shown)
    });
    assert_eq!(shown["answer-refused"], "timestamp-in-future", "{shown}");
    let page = alice.done(&["status", id]);
    let told =
        "agent-mallory has it, and gave an answer that was refused here: timestamp-in-future";
    assert!(page.contains(told), "{page}");
    assert!(
        page.contains("compare the clocks of both machines"),
        "{page}"
    );
    let row = alice.json(&["status", id]).remove(0);
    assert_eq!(row["answer-refused"], "timestamp-in-future", "{row}");
    // Another answer is taken all the same, and then nothing of the refused one is left.
    let answer = pen.answer(&alice.agent, id, &session, 3);
    sender.send(&alice.subject(), &pen.sign(answer));
    eventually("the answer", || {
        let page = alice.done(&["status", id]);
        page.starts_with("answered: ").then_some(())
    });
    let row = alice.json(&["status", id]).remove(0);
    assert_eq!(row.get("answer-refused"), None, "{row}");
}

#[test]
fn before_its_certificate_begins_a_daemon_signs_nothing_and_says_why() {
    let house = House::new();
    let (mut alice, bob) = house.alice_and_bob();
    alice.ping(&bob);
    assert_eq!(
        alice.call("status", &json!({})).unwrap()["clock"],
        Value::Null
    );
    assert!(alice.stop().success());
    let now = signet::clock::now();
    certify(&alice, now.saturating_add(DAY));
    let before = sent(&alice, "");
    alice.start();
    let params = json!({"peer": bob.agent, "kind": "notification", "body": "x", "wait": 5.0});
    let queued = alice.call("send", &params).unwrap();
    assert_eq!(
        (&queued["state"], &queued["waits-for"]),
        (&json!("queued"), &json!("clock"))
    );
    let name = queued["message-id"].as_str().unwrap();
    assert!(alice.done(&["status", name]).contains("clock"));
    let page = alice.done(&["status"]);
    let begins = now.saturating_add(DAY).to_string();
    for part in [
        "CLOCK IS WRONG",
        &begins[..8],
        "timedatectl",
        "signet key rotate signing",
    ] {
        assert!(page.contains(part), "{page}");
    }
    bob.send(&alice, "notification", &json!("still read"))
        .unwrap();
    eventually("it is read and judged all the same", || {
        (alice
            .inbox()
            .iter()
            .any(|item| item["body"] == "still read"))
        .then_some(())
    });
    assert_eq!(sent(&alice, ""), before, "nothing is signed");
    certify(&alice, signet::clock::now());
    alice.call("keys.adopt", &json!({})).unwrap();
    eventually("what waited leaves", || {
        (bob.inbox().iter().any(|item| item["body"] == "x")).then_some(())
    });
    verifies(&alice);
    verifies(&bob);
}

#[test]
fn forty_notifications_one_after_another_wait_no_second_for_each_receipt() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    alice.ping(&bob);
    let (before, begun) = (sent(&bob, "agent.receipt"), Instant::now());
    for n in 0..40 {
        let params = json!({"peer": bob.agent, "kind": "notification", "body": n, "wait": 60.0});
        let told = alice.call("send", &params).unwrap();
        assert_eq!(told["state"], "received", "{told}");
    }
    assert!(sent(&bob, "agent.receipt") >= before + 40);
    // At one receipt a second the forty would take 39 s on every machine, so less than 30 s shows that nothing waits
    // for a second.
    assert!(
        begun.elapsed() < Duration::from_secs(30),
        "{:?}",
        begun.elapsed()
    );
}
