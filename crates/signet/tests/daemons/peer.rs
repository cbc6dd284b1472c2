//! An agent without our daemon, written from docs/protocol.md in another language, against the daemon.

mod hand;

use serde_json::{Value, json};

use crate::house::bus::{Sender, Watch, sender};
use crate::house::log::messages;
use crate::house::pen::{Pen, seed};
use crate::house::{Home, House, eventually};
use hand::{AGENT, Hand};

/// What the daemon's log says of what came and went: each line once, and all of it proved.
fn verified(home: &Home) {
    home.walk();
    let log = home.dir.join("audit").join(&home.agent);
    let said = home.done(&["audit", "verify", log.to_str().unwrap()]);
    assert!(said.starts_with("OK"), "{said}");
}

/// Answers the next request that reaches the daemon's agent.
fn answer_next(home: &Home, body: &Value) -> Value {
    let request = eventually("a request arrives", || {
        let mut inbox = home.inbox().into_iter();
        inbox.find(|item| item["type"] == "request")
    });
    let params = json!({"message": {"message-id": request["message-id"]}, "body": body});
    home.call("respond", &params).unwrap();
    request
}

/// What the daemon's agent asks the peer, and what came of it.
fn ask(home: &Home, more: &Value) -> Value {
    let mut params = json!({"peer": AGENT, "kind": "request", "body": null, "wait": 30});
    for (name, value) in more.as_object().unwrap() {
        params[name] = value.clone();
    }
    home.call("send", &params).unwrap()
}

fn lines<'a>(log: &'a [Value], dir: &'a str, verdict: &'a str, method: &'a str) -> Vec<&'a Value> {
    let said = move |line: &&Value| line["method"] == method;
    messages(log, dir, verdict).filter(said).collect()
}

#[test]
fn a_peer_of_another_hand_begins_asks_in_clear_and_sealed_and_is_answered() {
    let house = House::new();
    let alice = hand::daemon(&house);
    let mut peer = Hand::of(&house, &alice);
    for tier in [1, 3] {
        let question =
            json!({"do": "ask", "to": alice.agent, "body": {"tier": tier}, "tier": tier});
        let request = std::thread::scope(|scope| {
            let asked = scope.spawn(|| peer.tell(&question));
            let request = answer_next(&alice, &json!({"evenings": ["Tue"]}));
            let answer = asked.join().unwrap();
            assert_eq!(answer["body"], json!({"evenings": ["Tue"]}), "{answer}");
            assert_eq!(answer["sealed"], tier == 3);
            request
        });
        assert_eq!(request["body"], json!({"tier": tier}));
        assert_eq!(request["sealed"] == true, tier == 3);
    }
    eventually("its receipt of the answers comes", || {
        (alice.standing(AGENT, "unconfirmed") == 0).then_some(())
    });
    let log = alice.log();
    assert_eq!(lines(&log, "in", "accepted", "agent.announce").len(), 1);
    assert!(lines(&log, "out", "sent", "agent.announce").is_empty());
    verified(&alice);
}

#[test]
fn a_peer_of_another_hand_is_begun_with_asked_pinged_and_declines() {
    let house = House::new();
    let alice = hand::daemon(&house);
    let mut peer = Hand::of(&house, &alice);
    for (tier, more) in [
        (1, json!({})),
        (2, json!({"capability": "calendar.free-busy"})),
        (4, json!({})),
    ] {
        let mut question = more.clone();
        question["body"] = json!({"n": tier});
        question["data-tier"] = tier.into();
        let asked = ask(&alice, &question);
        let body = json!({"you-asked": {"n": tier}});
        assert_eq!(asked["answer"]["body"], body, "{asked}");
        assert_eq!(asked["answer"]["sealed"] == true, tier == 4, "{asked}");
    }
    let pinged = ask(&alice, &json!({"kind": "ping"}));
    assert_eq!(pinged["state"], "answered", "{pinged}");
    for tier in [1, 3] {
        let asked = ask(&alice, &json!({"body": "decline", "data-tier": tier}));
        let error = &asked["answer"]["error"];
        assert_eq!(error["reason"], "declined", "{asked}");
        let words = [&error["message"], &asked["answer"]["summary"]];
        assert!(words.contains(&&json!("Not today.")), "{asked}");
        assert_eq!(error["message"] == "Not today.", tier == 1, "{asked}");
    }
    let served = peer.tell(&json!({"do": "look"}))["served"].clone();
    assert_eq!(served.as_array().unwrap().len(), 5);
    let log = alice.log();
    assert_eq!(lines(&log, "out", "sent", "agent.announce").len(), 1);
    assert!(lines(&log, "in", "accepted", "agent.announce").is_empty());
    verified(&alice);
}

#[test]
fn what_comes_again_because_a_receipt_was_lost_acts_once_on_both_sides() {
    let house = House::new();
    let alice = hand::daemon(&house);
    let mut peer = Hand::of(&house, &alice);
    ask(&alice, &json!({"kind": "ping"}));

    // The peer's receipts are lost: the daemon sends the same bytes again, and the agent is told once.
    peer.tell(&json!({"do": "set", "lose": 2}));
    let said = ask(&alice, &json!({"kind": "notification", "body": "once"}));
    assert_eq!(said["state"], "received", "{said}");
    let looked = peer.tell(&json!({"do": "look"}));
    let served = looked["served"].as_array().unwrap().iter();
    let served = served.filter(|one| one["body"] == "once");
    assert_eq!(
        (served.count(), &looked["lost"]),
        (1, &json!(0)),
        "{looked}"
    );
    let verdicts = looked["verdicts"].as_array().unwrap();
    assert!(verdicts.iter().any(|one| one[2] == "duplicate"), "{looked}");

    // The daemon's receipts are lost, and copies of a request go out: it is asked once.
    peer.tell(&json!({"do": "set", "deaf": 3}));
    let question = json!({"do": "ask", "to": alice.agent, "body": "only once"});
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| peer.tell(&question));
        answer_next(&alice, &json!("yes"));
        assert_eq!(asked.join().unwrap()["body"], "yes");
    });
    for _ in 0..3 {
        peer.tell(&json!({"do": "again"}));
    }
    eventually("the copies are recognised", || {
        let refusals = alice.refusals();
        (refusals
            .iter()
            .filter(|reason| *reason == "duplicate")
            .count()
            >= 3)
            .then_some(())
    });
    assert!(alice.inbox().iter().all(|item| item["type"] != "request"));
    let log = alice.log();
    assert_eq!(lines(&log, "in", "accepted", "agent.request").len(), 1);
    verified(&alice);
}

#[test]
fn what_is_forged_replayed_or_a_strangers_is_refused_on_both_sides_and_changes_nothing() {
    let house = House::new();
    let alice = hand::daemon(&house);
    let watch = Watch::new(&house);
    let mut bus = Sender::new(&house);
    let mut peer = Hand::of(&house, &alice);
    ask(&alice, &json!({"body": {"n": 1}}));
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| peer.tell(&json!({"do": "ask", "to": alice.agent, "body": 1})));
        answer_next(&alice, &json!(2));
        assert_eq!(asked.join().unwrap()["body"], 2);
    });

    let subject = format!("agent.{AGENT}.inbox");
    let (overheard, bytes) = watch.find(0, |message| {
        message["method"] == "agent.request" && sender(message) == alice.agent
    });
    let mut forged = overheard;
    forged["params"]["body"] = json!({"n": 2});
    bus.send(&subject, forged.to_string().as_bytes());
    bus.send(&subject, &bytes);
    let stranger = Pen::made("agent-mallory", "mallory", &seed([0x5a; 32]), |_| {});
    bus.send(&subject, &stranger.sign(stranger.announce(AGENT)));
    let twin = Pen::made(&alice.agent, &alice.principal, &seed([0x5b; 32]), |_| {});
    bus.send(&subject, &twin.sign(twin.announce(AGENT)));
    let looked = eventually("the peer has judged all of it", || {
        let looked = peer.tell(&json!({"do": "look"}));
        let verdicts = looked["verdicts"].as_array().unwrap().iter();
        let said: Vec<&Value> = verdicts.map(|verdict| &verdict[2]).collect();
        let wanted = [
            "signature-invalid",
            "duplicate",
            "principal-unknown",
            "root-changed",
        ];
        let all = wanted
            .iter()
            .all(|reason| said.iter().any(|word| *word == reason));
        all.then(|| looked.clone())
    });
    assert_eq!(looked["served"].as_array().unwrap().len(), 1, "{looked}");

    peer.tell(&json!({"do": "forge"}));
    eventually(
        "the daemon refuses what was changed under a signature",
        || {
            let refusals = alice.refusals();
            refusals
                .iter()
                .any(|reason| reason == "signature-invalid")
                .then_some(())
        },
    );
    let log = alice.log();
    assert_eq!(lines(&log, "in", "accepted", "agent.request").len(), 1);
    // The session goes on as if nothing had come.
    assert_eq!(
        ask(&alice, &json!({"body": 3}))["answer"]["body"],
        json!({"you-asked": 3})
    );
    verified(&alice);
}

#[test]
fn the_published_vectors_hold_for_a_peer_of_another_hand() {
    let vectors = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors");
    let mut check = hand::python();
    check
        .arg(hand::example("peer.py"))
        .args(["--vectors", vectors]);
    let checked = check.output().unwrap();
    let said = String::from_utf8_lossy(&checked.stdout);
    let fault = String::from_utf8_lossy(&checked.stderr);
    assert!(
        checked.status.success(),
        "{said}{fault}examples/python/peer.py judges an input of vectors/ otherwise: it lacks a check, and perhaps \
         docs/protocol.md a sentence"
    );
}

/// An agent that leaves a check out passes no longer: the script takes each of them out of the example in turn.
#[test]
fn each_check_that_an_agent_leaves_out_is_noticed_by_the_published_vectors() {
    let vectors = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors");
    let mut script = hand::python();
    script.arg(hand::example("leave_out.py")).arg(vectors);
    let output = script.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let fault = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{fault}");
    let checks = said.split_whitespace().rev().nth(3);
    let checks: usize = checks.unwrap().parse().unwrap();
    assert!(checks >= 180, "{checks} checks are read out of the source");
}

#[test]
fn minus_zero_in_a_body_does_not_break_its_signature_in_another_language() {
    let text = "[-0.0,0.0,-1.5,1e-7]";
    let says = "import json, sys; sys.path.insert(0, sys.argv[1]); import wire; \
                sys.stdout.write(wire.spell(json.loads(sys.argv[2])))";
    let mut command = hand::python();
    command.args(["-c", says]).arg(hand::example("")).arg(text);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let value = signet_json::parse(text.as_bytes(), signet_json::Limits::MESSAGE);
    let ours = signet_json::canonical(&value.unwrap());
    assert_eq!(output.stdout, ours);
    assert!(ours.starts_with(b"[0,0,"));
}
