//! What two agents have to say to each other, and what must be true of their logs then.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::bus::{Watch, sender};
use crate::log::{envelope, header, is_ping, messages, unfinished};
use crate::{Home, eventually};

/// Answers what wants an answer, declines every seventh, and takes the rest.
pub fn finish(home: &Home) {
    // A test may kill the daemon at any moment, and the call then fails: the next call of `finish` answers what is left.
    let Ok(page) = home.call("inbox.list", &json!({})) else {
        return;
    };
    for item in page["messages"].as_array().unwrap() {
        let name = json!({"from": item["from"], "message-id": item["message-id"]});
        let number = &item["body"]["number"];
        let (call, said) = match (item["type"] == "request", number.as_u64().unwrap_or(0) % 7) {
            (true, 0) => ("respond", json!({"message": name, "decline": "no"})),
            (true, _) => ("respond", json!({"message": name, "body": {"re": number}})),
            (false, _) => ("acknowledge", json!({"messages": [name]})),
        };
        if home.call(call, &said).is_err() {
            return;
        }
    }
}

/// Nobody is killed any more: everything comes to its end.
pub fn settle(alice: &Home, bob: &Home) {
    eventually("everything is answered or receipted", || {
        finish(alice);
        finish(bob);
        let quiet = |home: &Home, peer: &Home| {
            let none = |member: &str| home.standing(&peer.agent, member) == 0;
            none("waiting") && none("unconfirmed") && home.inbox().is_empty()
        };
        (quiet(alice, bob) && quiet(bob, alice)).then_some(())
    });
    nothing_is_missing_at_the_end(alice, bob);
    nothing_is_missing_at_the_end(bob, alice);
}

pub fn nothing_is_missing_at_the_end(asker: &Home, answerer: &Home) {
    let (asked, answered) = (asker.walk(), answerer.walk());
    assert!(
        unfinished(&answered, true).is_empty(),
        "pings without an answer: {:?}",
        unfinished(&answered, true)
    );
    let mut times: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for line in messages(&answered, "in", "accepted") {
        *times
            .entry((header(line, "agent-id"), header(line, "message-id")))
            .or_default() += 1;
    }
    let twice: Vec<_> = times.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "taken twice: {twice:?}");
    let heard: BTreeSet<&str> = messages(&asked, "in", "accepted")
        .map(|line| header(line, "in-reply-to"))
        .collect();
    let request = |line: &&Value| line["type"] == "request" || is_ping(line);
    for line in messages(&asked, "out", "sent").filter(request) {
        assert!(
            heard.contains(header(line, "message-id")),
            "asked and never answered: {line}"
        );
    }
    let answers = messages(&answered, "out", "sent")
        .map(|line| header(line, "in-reply-to"))
        .filter(|request| *request != "-");
    let mut once = BTreeSet::new();
    for request in answers {
        assert!(once.insert(request), "answered twice: {request}");
    }
}

/// What one side took, the other side's log says that it sent: the line was durable before the bytes left.
pub fn nothing_without_a_line(one: &Home, other: &Home) {
    for (taker, giver) in [(one, other), (other, one)] {
        let (taken, given) = (taker.log(), giver.log());
        let given: BTreeSet<&str> = messages(&given, "out", "sent")
            .map(|line| line["sha256"].as_str().unwrap())
            .collect();
        for line in messages(&taken, "in", "accepted") {
            assert!(
                given.contains(line["sha256"].as_str().unwrap()),
                "never sent, by its sender's log: {line}"
            );
        }
    }
}

/// Whatever this agent ever said on the wire that it has, its log has. How many receipts there were.
pub fn receipts_hold(watch: &Watch, receiver: &Home) -> usize {
    every_receipt_holds(watch.since(0), receiver)
}

/// The same of the receipts that `peer` took, by its log: also while nobody could listen.
pub fn receipts_taken_hold(receiver: &Home, peer: &Home) -> usize {
    let log = peer.log();
    let taken = messages(&log, "in", "accepted").map(|line| line["message"].clone());
    every_receipt_holds(taken.collect(), receiver)
}

/// Of every number up to a receipt's `through` there is a line, unless the receipt calls it missing.
fn every_receipt_holds(said: Vec<Value>, receiver: &Home) -> usize {
    let log = receiver.log();
    let mut has: BTreeMap<&str, BTreeSet<u64>> = BTreeMap::new();
    // Count lines of refused messages as well: a receipt promises a line for every number, accepted or refused.
    for line in log.iter().filter(|line| line["dir"] == "in") {
        if let Some(number) = envelope(line)["headers"]["sequence"].as_u64() {
            has.entry(header(line, "session"))
                .or_default()
                .insert(number);
        }
    }
    let receipts = said.into_iter().filter(|message| {
        sender(message) == receiver.agent && message["method"] == "agent.receipt"
    });
    let mut count = 0;
    for receipt in receipts {
        let (headers, body) = (&receipt["params"]["headers"], &receipt["params"]["body"]);
        let has = has.get(headers["session"].as_str().unwrap());
        let except = body["except"].as_array().cloned().unwrap_or_default();
        let missing = |number| {
            except
                .iter()
                .any(|one| one["sequence"] == number && one["reason"] == "missing")
        };
        for number in 1..=body["through"].as_u64().unwrap() {
            let is_there = has.is_some_and(|has| has.contains(&number)) || missing(number);
            assert!(is_there, "{number} is receipted and lost: {receipt}");
        }
        count += 1;
    }
    count
}
