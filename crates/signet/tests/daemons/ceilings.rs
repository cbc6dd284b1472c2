//! What a program of the agent is not to have, and asks for by a way around: by the history, by an offer, by a lease.

use std::time::Duration;

use serde_json::{Value, json};
use signet::control::{Client, ClientError};

use crate::house::{Home, House, PATIENCE, eventually};

/// A program at the agent's socket.
fn program(home: &Home) -> Client {
    Client::connect(&home.dir.join("agent.sock"), PATIENCE).unwrap()
}

fn history(home: &Home) -> String {
    let told = program(home).raw("history", &json!({})).unwrap();
    told["messages"].to_string()
}

fn reason_of(refused: Result<Value, ClientError>) -> String {
    match refused {
        Err(ClientError::Refused(error)) => error.reason().unwrap().to_string(),
        other => panic!("{other:?}"),
    }
}

/// Sends it, and waits until the other side has it.
fn tells(from: &Home, to: &Home, body: &str) {
    let sent = json!({"peer": to.agent, "kind": "notification", "body": body, "wait": 30.0});
    let sent = from.call("send", &sent).unwrap();
    assert_eq!(sent["state"], "received", "{sent}");
}

#[test]
fn what_a_pause_keeps_from_the_agent_its_history_keeps_as_well() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    tells(&bob, &alice, "long before");
    let receive = json!({"wait": 30.0});
    let mut worker = program(&alice);
    let received = worker.raw("receive", &receive).unwrap();
    let lease = json!({"lease": received["messages"][0]["lease"]});
    worker.raw("acknowledge", &lease).unwrap();
    alice.done(&["pause"]);
    tells(&bob, &alice, "in the pause");
    let seen = history(&alice);
    assert!(seen.contains("long before"), "what it had: {seen}");
    assert!(!seen.contains("in the pause"), "{seen}");
    let persons = alice.call("history", &json!({})).unwrap().to_string();
    assert!(persons.contains("in the pause"), "{persons}");
    alice.done(&["resume"]);
    assert!(history(&alice).contains("in the pause"));
}

#[test]
fn what_a_withdrawal_sets_aside_the_history_does_not_show_and_what_the_agent_had_it_shows() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    tells(&bob, &alice, "taken before");
    let mut worker = program(&alice);
    let received = worker.raw("receive", &json!({"wait": 30.0})).unwrap();
    let lease = json!({"lease": received["messages"][0]["lease"]});
    worker.raw("acknowledge", &lease).unwrap();
    tells(&bob, &alice, "set aside");
    assert!(history(&alice).contains("set aside"));
    alice.done(&["trust", "revoke", &bob.agent]);
    let seen = history(&alice);
    assert!(
        seen.contains("taken before") && !seen.contains("set aside"),
        "{seen}"
    );
    // The message stays hidden when the agent is trusted again: only the person may read what was set aside.
    alice.done(&["trust", "approve", &bob.agent]);
    let seen = history(&alice);
    assert!(
        seen.contains("taken before") && !seen.contains("set aside"),
        "{seen}"
    );
}

/// Alice, Bob, whose programs may offer lamps and whose socket has to do with Alice alone, and Carol.
fn with_lamps(house: &House) -> [Home; 3] {
    let mut homes = ["alice", "bob", "carol"].map(|who| house.home(who));
    homes[1].configure("# allow = []", "allow = [\"lamp.*\"]\nlinger-seconds = 0");
    homes[1].configure(
        "[agent-socket]",
        "[agent-socket]\npeers = [\"agent-alice\"]",
    );
    {
        let [alice, bob, carol] = &homes;
        house.acquaint(&[alice, bob, carol]);
    }
    for home in &mut homes {
        home.start();
    }
    let [alice, bob, carol] = homes;
    alice.ping(&bob);
    carol.ping(&bob);
    [alice, bob, carol]
}

#[test]
fn an_offer_reaches_the_peers_of_its_program_and_no_other_is_served() {
    let house = House::new();
    let [alice, bob, carol] = with_lamps(&house);
    let mut worker = program(&bob);
    let lamp = json!({"capability": "lamp.switch", "description": "a word for Alice alone"});
    worker.raw("offer", &lamp).unwrap();
    let known = |home: &Home| home.standing("agent-bob", "capabilities").to_string();
    eventually("alice hears of the lamp", || {
        known(&alice)
            .contains("a word for Alice alone")
            .then_some(())
    });
    std::thread::sleep(Duration::from_secs(2));
    assert!(!known(&carol).contains("lamp"), "{}", known(&carol));
    let to = json!({"peer": bob.agent, "kind": "request", "capability": "lamp.switch", "body": 1, "wait": 20.0});
    let refused = carol.call("send", &to);
    let is_refused = match &refused {
        Err(ClientError::Refused(error)) => format!("{error:?}").contains("capability-not-granted"),
        Ok(sent) => sent["state"] == "refused",
        Err(_) => false,
    };
    assert!(is_refused, "{refused:?}");
    // A connection that is narrowed further offers to fewer still.
    let mut narrow = program(&bob);
    narrow
        .raw("narrow", &json!({"peers": [], "tier": 1}))
        .unwrap();
    narrow
        .raw("offer", &json!({"capability": "lamp.read"}))
        .unwrap();
    std::thread::sleep(Duration::from_secs(2));
    assert!(!known(&alice).contains("lamp.read"), "{}", known(&alice));
}

#[test]
fn an_offer_has_so_many_words_and_none_where_the_person_approves_what_leaves() {
    let house = House::new();
    let (mut alice, bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    alice.configure("# allow = []", "allow = [\"lamp.*\"]");
    alice.configure("[approve]", "[approve]\ntiers = [1]");
    alice.start();
    let mut worker = program(&alice);
    let long = json!({"capability": "lamp.a", "schema": {"title": "x".repeat(20 << 10)}});
    let refused = format!("{:?}", worker.raw("offer", &long).unwrap_err());
    assert!(refused.contains("8 KiB"), "{refused}");
    for words in [
        json!({"capability": "lamp.a", "description": "the pin is 1234"}),
        json!({"capability": "lamp.a", "schema": {"title": "the pin is 1234"}}),
    ] {
        assert_eq!(reason_of(worker.raw("offer", &words)), "offer-refused");
    }
    worker
        .raw("offer", &json!({"capability": "lamp.a"}))
        .unwrap();
}

#[test]
fn a_lease_is_of_no_use_on_a_connection_that_is_narrowed_to_nobody() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    tells(&bob, &alice, "for whoever has to do with bob");
    let mut worker = program(&alice);
    let received = worker.raw("receive", &json!({"wait": 30.0})).unwrap();
    let lease = received["messages"][0]["lease"].clone();
    let mut narrow = program(&alice);
    narrow
        .raw("narrow", &json!({"peers": [], "tier": 1}))
        .unwrap();
    for (method, params) in [
        ("acknowledge", json!({"lease": lease})),
        ("fail", json!({"lease": lease, "reason": "x"})),
        ("extend", json!({"lease": lease, "seconds": 1})),
        ("respond", json!({"lease": lease, "body": 1})),
    ] {
        let refused = reason_of(narrow.raw(method, &params));
        assert_eq!(refused, "beyond-ceiling", "{method}");
    }
    worker.raw("acknowledge", &json!({"lease": lease})).unwrap();
}
