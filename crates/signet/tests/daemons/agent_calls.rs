//! What a program of the agent relies on: it receives under a lease, answers once whatever is killed
//! meanwhile, offers what it can do while it is there, and hears what moves.

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use signet::control::{Client, ClientError};

use crate::house::{Home, House, PATIENCE, eventually, says, signet};

/// How often something is killed between receive and answer: the whole number takes long.
fn kills() -> usize {
    let asked = std::env::var("SIGNET_KILLS").ok();
    asked.and_then(|kills| kills.parse().ok()).unwrap_or(10)
}

fn receive(client: &mut Client, wait: f64) -> Option<Value> {
    let asked = json!({"wait": wait, "lease": 30.0});
    let received = client.raw("receive", &asked).unwrap();
    received["messages"].as_array()?.first().cloned()
}

fn respond(client: &mut Client, leased: &Value, body: &Value) -> Result<Value, ClientError> {
    client.raw("respond", &json!({"lease": leased["lease"], "body": body}))
}

/// `send` with a key; what the caller hears.
fn send(home: &Home, peer: &Home, key: &str, body: &Value, wait: f64) -> Value {
    let asked = json!({
        "peer": peer.agent, "kind": "request", "body": body, "key": key, "wait": wait,
    });
    home.call("send", &asked).unwrap()
}

fn reason_of(error: &ClientError) -> String {
    match error {
        ClientError::Refused(refused) => refused.reason().unwrap().to_string(),
        other => panic!("{other}"),
    }
}

/// How many lines of a log tell of a message, by what `which` says of them.
fn count(home: &Home, which: impl Fn(&Value) -> bool) -> usize {
    let log = home.log();
    log.iter().filter(|line| which(line)).count()
}

#[test]
fn whoever_waits_receives_what_comes_and_nobody_else_gets_it() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    alice.ping(&bob);
    let mut first = bob.client().unwrap();
    let waiting = std::thread::spawn(move || {
        let leased = receive(&mut first, 30.0);
        (first, leased, Instant::now())
    });
    std::thread::sleep(Duration::from_millis(300));
    let asked = Instant::now();
    let sent = send(&alice, &bob, "k", &json!("milk?"), 0.0);
    let (mut first, leased, woke) = waiting.join().unwrap();
    let leased = leased.unwrap();
    assert_eq!(leased["message-id"], sent["message-id"]);
    assert_eq!(leased["body"], "milk?");
    assert!(woke - asked < Duration::from_secs(10));
    let mut second = bob.client().unwrap();
    assert_eq!(receive(&mut second, 0.0), None);
    respond(&mut first, &leased, &json!("yes")).unwrap();
    let answered = send(&alice, &bob, "k", &json!("milk?"), 30.0);
    assert_eq!(answered["state"], "answered", "{answered}");
    assert_eq!(answered["answer"]["body"], "yes");
    let late = respond(&mut first, &leased, &json!("no")).unwrap_err();
    assert_eq!(reason_of(&late), "lease-ended");
}

#[test]
fn a_consumer_that_goes_leaves_its_message_to_the_next() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    send(&alice, &bob, "k", &json!(1), 0.0);
    let mut gone = bob.client().unwrap();
    let leased = receive(&mut gone, 30.0).unwrap();
    assert_eq!(leased["tries"], 1);
    let mut next = bob.client().unwrap();
    assert_eq!(receive(&mut next, 0.0), None);
    drop(gone);
    let again = receive(&mut next, 30.0).unwrap();
    assert_eq!(
        (&again["key"], &again["tries"]),
        (&leased["key"], &json!(2))
    );
    respond(&mut next, &again, &json!("done")).unwrap();
}

#[test]
fn kills_of_daemon_agent_and_both_answer_each_request_once() {
    let house = House::new();
    let (mut alice, mut bob) = house.alice_and_bob();
    let mut asked = BTreeMap::new();
    for number in 0..kills() {
        let key = format!("order-{number}");
        let body = json!({ "order": number });
        let sent = send(&alice, &bob, &key, &body, 0.0);
        let mut agent = bob.client().unwrap();
        let leased = receive(&mut agent, 60.0).unwrap();
        assert_eq!(leased["body"], body);
        match number % 4 {
            0 => bob.kill(),
            1 => drop(agent),
            2 => {
                drop(agent);
                bob.kill();
            }
            _ => alice.kill(),
        }
        if number % 4 == 3 {
            alice.start();
            let agent = &mut bob.client().unwrap();
            // Bob's daemon may still count the message as leased to the first connection, and hands out nothing: then
            // answer under that lease.
            let again = receive(agent, 60.0).unwrap_or(leased.clone());
            assert_eq!(again["key"], leased["key"]);
            respond(agent, &again, &json!({ "done": number })).unwrap();
        } else {
            if number % 4 != 1 {
                bob.start();
            }
            let mut agent = bob.client().unwrap();
            let again = receive(&mut agent, 60.0).unwrap();
            assert_eq!(
                again["key"], leased["key"],
                "the same message under the same key"
            );
            respond(&mut agent, &again, &json!({ "done": number })).unwrap();
            assert_eq!(receive(&mut agent, 0.0), None, "and no other");
        }
        // The caller lost its connection and calls again.
        let answered = send(&alice, &bob, &key, &body, 60.0);
        assert_eq!(answered["message-id"], sent["message-id"], "{answered}");
        assert_eq!(answered["state"], "answered", "{answered}");
        asked.insert(sent["message-id"].as_str().unwrap().to_owned(), number);
    }
    bob.stop();
    alice.stop();
    for (id, number) in asked {
        let taken = |line: &Value| line["verdict"] == "accepted" && line["id"] == *id;
        assert_eq!(count(&bob, taken), 1, "request {number} came once");
        let sent = |line: &Value| line["verdict"] == "sent" && line["id"] == *id;
        assert_eq!(count(&alice, sent), 1, "request {number} was sent once");
        let answers = |line: &Value| {
            line["verdict"] == "accepted"
                && line["in-reply-to"] == *id
                && line["type"] == "response"
        };
        assert_eq!(
            count(&alice, answers),
            1,
            "request {number} was answered once"
        );
    }
    for home in [&alice, &bob] {
        let log = home.dir.join("audit").join(&home.agent);
        let proven = home.done(&["audit", "verify", log.to_str().unwrap()]);
        assert!(proven.starts_with("OK"), "{proven}");
    }
}

#[test]
fn a_call_of_an_earlier_release_is_answered_with_what_to_call_instead() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let mut agent = Client::connect(&alice.dir.join("agent.sock"), PATIENCE).unwrap();
    for (gone, instead) in [
        ("reply", "; call respond "),
        ("inbox.acknowledge", "; call acknowledge "),
        ("inbox.start", "; call receive, "),
        ("inbox.fail", "; call fail "),
        ("inbox.keep", "; call acknowledge "),
    ] {
        let refused = agent.raw(gone, &json!({"message-id": "x"})).unwrap_err();
        assert_eq!(reason_of(&refused), "call-gone", "{gone}");
        let said = refused.to_string();
        assert!(said.contains(gone) && said.contains(instead), "{said}");
    }
    for both in [
        json!({}),
        json!({"lease": "x", "messages": []}),
        json!({"messages": [], "keep": true}),
    ] {
        assert!(agent.raw("acknowledge", &both).is_err(), "{both}");
    }
}

#[test]
fn a_key_with_other_words_is_refused() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    let first = send(&alice, &bob, "k", &json!("milk"), 0.0);
    let other = json!({"peer": bob.agent, "kind": "request", "body": "cheese", "key": "k"});
    let refused = alice.call("send", &other).unwrap_err();
    assert_eq!(reason_of(&refused), "key-reused");
    let find = |key: &str| alice.call("message.find", &json!({"key": key})).unwrap();
    let found = find("k");
    assert_eq!(found["message-id"], first["message-id"], "{found}");
    assert_eq!(find("l"), json!({}));
    assert!(
        refused
            .to_string()
            .contains(first["message-id"].as_str().unwrap())
    );
}

#[test]
fn progress_is_told_to_whoever_follows_the_request() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    let sent = send(&alice, &bob, "k", &json!("long work"), 0.0);
    let mut agent = bob.client().unwrap();
    let leased = receive(&mut agent, 30.0).unwrap();
    let mut follower = alice.client().unwrap();
    let followed = json!({"message": sent["message-id"]});
    eventually("the request is received", || {
        let subscribed = alice.call("subscribe", &followed).unwrap();
        (subscribed["state"] == "received").then_some(())
    });
    follower.raw("subscribe", &followed).unwrap();
    let where_it_is = |wanted: bool| {
        let shown = alice.call("message.status", &json!({"message-id": sent["message-id"]}));
        shown.ok().filter(|shown| shown["taken"] == wanted)
    };
    let name = json!({"from": leased["from"], "message-id": leased["message-id"]});
    let part = json!({"index": 0, "last": false, "body": ["Tue"]});
    let told = json!({"message": name, "state": "working", "note": "half", "part": part});
    agent.raw("progress", &told).unwrap();
    let shown = eventually("alice's daemon knows", || where_it_is(true));
    assert_eq!(shown["progress"]["note"], "half");
    respond(&mut agent, &leased, &json!("all")).unwrap();
    let mut heard = follower.notifications().map(Result::unwrap);
    let progress = heard
        .find(|told| told.method == "message.progress")
        .unwrap();
    assert_eq!(progress.params["body"]["note"], "half");
    assert_eq!(progress.params["in-reply-to"], sent["message-id"]);
    let answer = heard
        .find(|told| told.method == "conversation.message")
        .unwrap();
    assert_eq!(answer.params["body"], "all");
}

#[test]
fn a_request_that_nobody_takes_is_shown_so_to_whoever_asked() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    let sent = send(&alice, &bob, "k", &json!("anybody?"), 0.0);
    let id = sent["message-id"].as_str().unwrap();
    let said = eventually("it is received", || {
        let said = alice.done(&["status", id]);
        said.starts_with("received").then_some(said)
    });
    assert!(said.contains("nobody there has taken it yet"), "{said}");
    let mut agent = bob.client().unwrap();
    receive(&mut agent, 30.0).unwrap();
    // If the answer takes longer than a second, Bob's daemon tells Alice's by itself that its agent has taken the
    // request.
    eventually("it is taken", || {
        let said = alice.done(&["status", id]);
        said.contains("its agent works on it").then_some(())
    });
}

/// Alice and Bob, whose programs may offer lamps on the terms of `more`.
fn with_lamps(house: &House, more: &str) -> (Home, Home) {
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    bob.configure("# allow = []", &format!("allow = [\"lamp.*\"]\n{more}"));
    alice.start();
    bob.start();
    alice.ping(&bob);
    (alice, bob)
}

/// A program of Bob's offers it, until Alice knows.
fn offer_the_lamp(program: &mut Client, alice: &Home) {
    let lamp = json!({"capability": "lamp.switch", "schema": {"required": ["on"]}});
    program.raw("offer", &lamp).unwrap();
    eventually("alice hears of the lamp", || {
        (offered(alice) == ["lamp.switch"]).then_some(())
    });
}

/// The names of what Bob offers, as Alice knows it.
fn offered(alice: &Home) -> Vec<Value> {
    let shown = alice.standing("agent-bob", "capabilities");
    let names = shown.as_array().unwrap().iter();
    names.map(|one| one["name"].clone()).collect()
}

#[test]
fn what_came_while_agent_and_program_were_away_waits_for_the_program() {
    let house = House::new();
    let (alice, mut bob) = with_lamps(&house, "");
    let mut program = bob.client().unwrap();
    offer_the_lamp(&mut program, &alice);
    bob.kill();
    drop(program);
    let asked = json!({
        "peer": bob.agent, "kind": "request", "capability": "lamp.switch", "body": {"on": true},
    });
    let id = alice.call("send", &asked).unwrap()["message-id"].clone();
    bob.start();
    // The daemon takes what waits for it before the program is back.
    eventually("it is received", || {
        let shown = alice.call("message.status", &json!({"message-id": id}));
        (shown.unwrap()["state"] == "received").then_some(())
    });
    let mut program = bob.client().unwrap();
    offer_the_lamp(&mut program, &alice);
    let wants = json!({"wait": 30.0, "capabilities": ["lamp.switch"]});
    let received = program.raw("receive", &wants).unwrap();
    assert_eq!(received["messages"][0]["body"], json!({"on": true}));
    assert_eq!(bob.refusals(), Vec::<String>::new());
}

#[test]
fn a_request_that_names_nothing_is_for_the_only_offer_and_of_several_the_error_names_them() {
    let house = House::new();
    let (alice, bob) = with_lamps(&house, "");
    let mut program = bob.client().unwrap();
    offer_the_lamp(&mut program, &alice);
    let asked = json!({"peer": bob.agent, "kind": "request", "body": {"on": true}, "key": "k"});
    let id = alice.call("send", &asked).unwrap()["message-id"].clone();
    let wants = json!({"wait": 30.0, "capabilities": ["lamp.switch"]});
    let received = program.raw("receive", &wants).unwrap();
    assert_eq!(received["messages"][0]["message-id"], id);
    let mut for_people = asked.clone();
    (for_people["for-people"], for_people["key"]) = (json!(true), json!("p"));
    let theirs = alice.call("send", &for_people).unwrap()["message-id"].clone();
    eventually("it is for Bob's people", || {
        let mut inbox = bob.inbox().into_iter();
        inbox.find(|one| one["message-id"] == theirs && one.get("capability").is_none())
    });
    program
        .raw("offer", &json!({"capability": "lamp.dim"}))
        .unwrap();
    eventually("Alice knows of both", || {
        (offered(&alice).len() == 2).then_some(())
    });
    // The first call made again, with the same key, is still the same message, though the offer is no longer the only
    // one.
    assert_eq!(alice.call("send", &asked).unwrap()["message-id"], id);
    let mut other = asked;
    other["key"] = json!("l");
    let refused = alice.call("send", &other).unwrap_err();
    assert_eq!(reason_of(&refused), "capability-needed");
    let told = refused.to_string();
    assert!(!told.contains("--"), "a program has no options: {told}");
    let said = alice.fails(1, &["send", "agent-bob", "--request", "{}"]);
    for words in ["lamp.dim", "lamp.switch", "--capability", "--for-people"] {
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn the_first_request_of_two_that_never_met_is_answered_by_the_only_offer() {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    bob.configure("# allow = []", "allow = [\"lamp.*\"]\n");
    bob.start();
    let mut program = bob.client().unwrap();
    let lamp = json!({"capability": "lamp.switch"});
    program.raw("offer", &lamp).unwrap();
    alice.start();
    let asked = json!({"peer": bob.agent, "kind": "request", "body": {}});
    let id = alice.call("send", &asked).unwrap()["message-id"].clone();
    let wants = json!({"wait": 30.0, "capabilities": ["lamp.switch"]});
    let received = program.raw("receive", &wants).unwrap();
    assert_eq!(received["messages"][0]["message-id"], id);
    let answer = json!({"lease": received["messages"][0]["lease"], "body": {"lit": true}});
    program.raw("respond", &answer).unwrap();
    eventually("Alice has the answer", || {
        let mut inbox = alice.inbox().into_iter();
        inbox.find(|one| one["in-reply-to"] == id && one["body"]["lit"] == json!(true))
    });
    let log = alice.dir.join("audit").join(&alice.agent);
    alice.done(&["audit", "verify", log.to_str().unwrap()]);
}

#[test]
fn the_first_request_to_a_peer_of_several_offers_names_them() {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    bob.configure(
        "# allow = []",
        "[[capability]]\nname = \"door.open\"\n[[capability]]\nname = \"door.shut\"\n",
    );
    bob.start();
    alice.start();
    let said = alice.fails(1, &["send", "agent-bob", "--request", "{}"]);
    for words in [
        "capability-needed",
        "door.open",
        "door.shut",
        "--capability",
        "--for-people",
    ] {
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn a_program_whose_first_request_names_no_capability_is_told_those_that_there_are() {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    bob.configure(
        "# allow = []",
        "[[capability]]\nname = \"door.open\"\n[[capability]]\nname = \"door.shut\"\n",
    );
    alice.start();
    let mut asked =
        json!({"peer": bob.agent, "kind": "request", "body": {}, "key": "k", "wait": 0.0});
    let queued = alice.call("send", &asked).unwrap();
    assert_eq!(queued["state"], "queued");
    bob.start();
    asked["wait"] = json!(30.0);
    // The same refusal is told to a call that waits, to the same call made again, and to a later look.
    let waited = alice.call("send", &asked).unwrap();
    let again = alice.call("send", &asked).unwrap();
    let name = json!({"message-id": queued["message-id"]});
    let looked = alice.call("message.status", &name).unwrap();
    for told in [waited, again, looked] {
        assert_eq!(
            (&told["state"], &told["reason"], &told["by"]),
            (
                &json!("refused"),
                &json!("capability-needed"),
                &json!("self")
            ),
        );
        assert_eq!(told["offers"], json!(["door.open", "door.shut"]), "{told}");
    }
    let id = queued["message-id"].as_str().unwrap();
    let said = alice.done(&["status", id]);
    assert!(
        said.contains("door.open, door.shut") && said.contains("--capability"),
        "{said}"
    );
}

#[test]
fn what_a_program_offers_can_be_asked_for_while_it_is_there() {
    let house = House::new();
    let (alice, bob) = with_lamps(&house, "linger-seconds = 0");
    let mut program = bob.client().unwrap();
    let begun = Instant::now();
    offer_the_lamp(&mut program, &alice);
    assert!(begun.elapsed() < Duration::from_secs(10));
    let ask = |body: Value| {
        let asked = json!({
            "peer": bob.agent, "kind": "request", "capability": "lamp.switch", "body": body,
        });
        alice.call("send", &asked)
    };
    ask(json!({"on": true})).unwrap();
    let wants = json!({"wait": 30.0, "capabilities": ["lamp.switch"]});
    let received = program.raw("receive", &wants).unwrap();
    assert_eq!(received["messages"][0]["body"], json!({"on": true}));
    let other = program.raw("offer", &json!({"capability": "door.open"}));
    assert_eq!(reason_of(&other.unwrap_err()), "offer-refused");
    drop(program);
    eventually("the lamp is gone", || {
        offered(&alice).is_empty().then_some(())
    });
    assert_eq!(
        reason_of(&ask(json!({"on": true})).unwrap_err()),
        "capability-not-granted"
    );
}

#[test]
fn history_is_what_was_said_and_nothing_that_was_sealed() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    for (tier, body) in [(1, "first"), (3, "the diagnosis"), (2, "second")] {
        let asked = json!({
            "peer": bob.agent, "kind": "notification", "body": body, "data-tier": tier,
            "conversation-id": "dinner", "wait": 30.0,
        });
        assert_eq!(alice.call("send", &asked).unwrap()["state"], "received");
    }
    for home in [&alice, &bob] {
        let told = home
            .call("history", &json!({"conversation": "dinner"}))
            .unwrap();
        let messages = told["messages"].as_array().unwrap();
        let bodies: Vec<_> = messages.iter().map(|one| one["body"].clone()).collect();
        assert_eq!(bodies, ["second", "first"], "the newest first");
        assert!(!told.to_string().contains("diagnosis"));
        let before = json!({"conversation": "dinner", "before": messages[0]["line"]});
        let told = home.call("history", &before).unwrap();
        assert_eq!(told["messages"].as_array().unwrap().len(), 1);
    }
}

/// `signet handle` of a home, with a shell script.
fn handle(home: &Home, options: &[&str], script: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_signet"));
    command.arg("handle").args(options);
    command.args(["--", "/bin/sh", "-c", script]);
    command.env_clear().env("PATH", "/usr/bin:/bin");
    command.env("SIGNET_HOME", &home.dir);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(Stdio::null()).spawn().unwrap()
}

/// Kills it when the test is over, however it ends.
struct Handling(Child);

impl Drop for Handling {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn handlers_that_hang_crash_babble_flood_or_answer_twice_cost_one_message_each() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    let script = r#"input=$(cat)
        case $input in
          *hang*) sleep 60;;
          *crash*) kill -SEGV $$;;
          *garbage*) echo 'not json';;
          *flood*) head -c 10485760 /dev/zero | tr '\0' 'x';;
          *twice*) echo 1; echo 2;;
          *) echo '"well"';;
        esac"#;
    let faults = [("hang", "timed out"), ("crash", "signal 11")];
    let unsendable = [
        ("garbage", "its answer is not JSON"),
        ("flood", "its answer is over 240 KiB"),
        ("twice", "answered-twice: it gave more than one answer"),
    ];
    for (fault, _) in faults.iter().chain(&unsendable) {
        send(&alice, &bob, fault, &json!(fault), 0.0);
    }
    let _handling = Handling(handle(&bob, &["--parallel", "8", "--timeout", "1"], script));
    let good = send(&alice, &bob, "good", &json!("good"), 60.0);
    assert_eq!(good["answer"]["body"], "well", "{good}");
    // An answer that can never be sent ends its request after one try: the handler would give the same answer each
    // time.
    for (fault, why) in unsendable {
        let ended = send(&alice, &bob, fault, &json!(fault), 60.0);
        let (error, body) = (&ended["answer"]["error"], &ended["answer"]["body"]);
        assert_eq!(
            (&error["reason"], &body["state"]),
            (&json!("declined"), &json!("failed"))
        );
        assert!(error["message"].as_str().unwrap().ends_with(why), "{ended}");
        let begun = |line: &Value| line["what"] == "started" && line["id"] == ended["message-id"];
        assert_eq!(count(&bob, begun), 1, "{fault}");
    }
    let listed = eventually("both are set aside", || {
        let listed = bob.call("quarantine.list", &json!({})).unwrap();
        (listed["waiting"] == faults.len()).then_some(listed)
    });
    for (fault, why) in faults {
        let messages = listed["messages"].as_array().unwrap();
        let shelved = messages.iter().find(|one| one["body"] == fault).unwrap();
        assert_eq!(shelved["failed"], why, "{fault}");
    }
    let good = send(&alice, &bob, "another", &json!("good"), 60.0);
    assert_eq!(
        good["state"], "answered",
        "the daemon and the handlers go on: {good}"
    );
    assert_eq!(bob.call("status", &json!({})).unwrap()["inbox"], 0);
}

#[test]
fn a_typo_of_a_command_is_said_at_once_and_costs_no_message_a_try() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    send(&alice, &bob, "t", &json!("x"), 0.0);
    eventually("it waits", || bob.inbox().first().cloned());
    for typo in ["./typo", "no-such-command"] {
        let mut command = Command::new(signet());
        command
            .args(["handle", "--home"])
            .arg(&bob.dir)
            .args(["--", typo]);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let said = says(&output);
        assert!(said.contains(&format!("{typo} cannot be run")), "{said}");
    }
    // If the command vanishes while the handler runs, the handler gives the message back as `unbegun`: that does not
    // count as a try.
    let mut program = bob.client().unwrap();
    let lease = receive(&mut program, 10.0).unwrap();
    let given_back =
        json!({"lease": lease["lease"], "reason": "cannot be run: not found", "unbegun": true});
    let told = program.raw("fail", &given_back).unwrap();
    assert_eq!(told["quarantined"], false);
    let again = receive(&mut program, 10.0).unwrap();
    assert_eq!((&again["tries"], &lease["tries"]), (&json!(1), &json!(1)));
}

#[test]
fn a_handler_that_is_killed_leaves_its_message_to_the_next() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    let mut first = Handling(handle(
        &bob,
        &["--parallel", "1"],
        "cat > /dev/null; sleep 60",
    ));
    let sent = send(&alice, &bob, "k", &json!("slow"), 0.0);
    eventually("it begins", || {
        let begun = |line: &Value| line["what"] == "started" && line["id"] == sent["message-id"];
        (count(&bob, begun) == 1).then_some(())
    });
    first.0.kill().unwrap();
    first.0.wait().unwrap();
    let _second = Handling(handle(&bob, &["--parallel", "1"], "cat"));
    let answered = send(&alice, &bob, "k", &json!("slow"), 60.0);
    assert_eq!(answered["state"], "answered", "{answered}");
    assert_eq!(answered["answer"]["body"]["tries"], 2);
    let key = answered["answer"]["body"]["key"].as_str().unwrap();
    assert!(key.starts_with("agent-alice/"), "{key}");
    assert!(
        answered["answer"]["body"].get("lease").is_none(),
        "that is the holder's alone"
    );
}

#[test]
fn the_same_call_after_its_answer_was_taken_brings_the_answer_again() {
    let house = House::new();
    let (mut alice, bob) = house.alice_and_bob();
    send(&alice, &bob, "k", &json!("milk?"), 0.0);
    let mut agent = bob.client().unwrap();
    let leased = receive(&mut agent, 30.0).unwrap();
    respond(&mut agent, &leased, &json!("yes")).unwrap();
    let answered = send(&alice, &bob, "k", &json!("milk?"), 30.0);
    assert_eq!(answered["answer"]["body"], "yes", "{answered}");
    let taken = json!({"messages": [
        {"from": bob.agent, "message-id": answered["answer"]["message-id"]},
    ]});
    alice.call("acknowledge", &taken).unwrap();
    assert_eq!(alice.inbox().len(), 0);
    for _ in 0..2 {
        let again = send(&alice, &bob, "k", &json!("milk?"), 30.0);
        assert_eq!(again["state"], "answered", "{again}");
        assert_eq!(again["answer"], answered["answer"]);
        alice.stop();
        alice.start();
    }
}
