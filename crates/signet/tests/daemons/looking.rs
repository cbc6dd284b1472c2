//! A connection that only looks, in the hands of whoever took over the program that it was handed to.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;

use serde_json::{Value, json};
use signet::control::{Client, ClientError};
use signet_api::{Call, Reason};

use super::quarantine::fail_tries;
use crate::house::{Home, House, PATIENCE, eventually};

const SEALED: &str = "a word under seal";
const OPEN: &str = "a word in clear";

/// A connection to the person's socket, lowered before it is handed over.
fn onlooker(home: &Home) -> Client {
    let mut client = home.client().unwrap();
    let lowered = client.raw("look", &json!({})).unwrap();
    assert_eq!(lowered["tier"], 2);
    client
}

fn reason_of(said: &Result<Value, ClientError>) -> Option<Reason> {
    match said {
        Err(ClientError::Refused(error)) => error.reason().cloned(),
        _ => None,
    }
}

fn tells(from: &Home, to: &Home, body: &str, tier: u8) -> String {
    let sent = json!({
        "peer": to.agent, "kind": "notification", "body": body, "summary": body, "data-tier": tier, "wait": 60.0
    });
    let sent = from.call("send", &sent).unwrap();
    assert_eq!(sent["state"], "received", "{sent}");
    sent["message-id"].as_str().unwrap().to_owned()
}

/// Alice has of each kind one in clear and one under seal: in the inbox, in the quarantine, set aside, as a draft, as a task.
struct Scene {
    _house: House,
    alice: Home,
    bob: Home,
    _others: [Home; 2],
    sealed_draft: String,
    sealed_task: String,
    open_task: String,
}

fn scene() -> Scene {
    let house = House::new();
    let mut homes = ["alice", "bob", "dan", "carol"].map(|who| house.home(who));
    for home in &homes {
        home.configure("# tier = 2", "tier = 4");
    }
    house.acquaint(&[&homes[0], &homes[1], &homes[2]]);
    for home in &mut homes {
        home.start();
    }
    let [alice, bob, dan, carol] = homes;
    alice.ping(&bob);
    alice.ping(&dan);
    for (tier, body) in [(1, OPEN), (3, SEALED)] {
        let failed = tells(&bob, &alice, body, tier);
        fail_tries(&alice, &failed, 5, "it cannot be read");
        tells(&bob, &alice, body, tier);
        tells(&dan, &alice, body, tier);
    }
    alice.done(&["trust", "withdraw", &dan.agent]);
    carol
        .send(&alice, "notification", &json!("let me in"))
        .unwrap();
    eventually("carol asks to be known", || {
        let status = alice.call("status", &json!({})).ok()?;
        (status["pending"] == 1).then_some(())
    });
    let hands = |goal: &str, tier: u8| {
        let handed = json!({"peer": bob.agent, "goal": goal, "data-tier": tier, "wait": 60.0});
        let handed = alice.call("handoff.send", &handed).unwrap();
        handed["task"].as_str().unwrap().to_owned()
    };
    let (open_task, sealed_task) = (hands(OPEN, 1), hands(SEALED, 3));
    let secret = json!({
        "peer": bob.agent, "kind": "notification", "body": SEALED, "summary": SEALED, "data-tier": 4, "key": "once"
    });
    let waits = alice.call("send", &secret).unwrap();
    let plain = json!({"peer": carol.agent, "kind": "notification", "body": OPEN, "summary": OPEN});
    assert_eq!(
        alice.call("send", &plain).unwrap()["waits-for"],
        "introduction"
    );
    Scene {
        sealed_draft: waits["message-id"].as_str().unwrap().to_owned(),
        _house: house,
        alice,
        bob,
        _others: [dan, carol],
        sealed_task,
        open_task,
    }
}

impl Scene {
    /// Each call that an onlooker has, with parameters as they have to be.
    fn params(&self, method: &str) -> Value {
        match method {
            "handoff.show" => json!({"task": self.open_task}),
            "message.status" => json!({"message-id": self.sealed_draft}),
            "message.find" => json!({"key": "once"}),
            "peer.show" => json!({"peer": self.bob.agent}),
            "policy.check" => json!({"peer": self.bob.agent, "tier": 4}),
            _ => json!({}),
        }
    }

    /// The log without what only counts attempts.
    fn done(&self) -> Vec<Value> {
        let lines = self.alice.log().into_iter();
        lines.filter(|line| line["kind"] != "attempt").collect()
    }
}

#[test]
fn a_captured_onlooker_is_refused_every_call_but_those_that_are_listed_and_sees_no_sealed_word() {
    let scene = scene();
    let mut taken = onlooker(&scene.alice);
    let before = scene.done().len();
    for method in Call::METHODS {
        let said = taken.raw(method.name, &scene.params(method.name));
        if !method.is_for_onlookers() {
            assert_eq!(
                reason_of(&said),
                Some(Reason::NotForThisSocket),
                "{method:?}: {said:?}"
            );
            continue;
        }
        let text = match &said {
            Ok(answer) => answer.to_string(),
            // Only `message.status` of our own sealed message is refused here: its tier is beyond the onlooker's
            // ceiling.
            Err(_) => {
                assert_eq!(
                    reason_of(&said),
                    Some(Reason::BeyondCeiling),
                    "{method:?}: {said:?}"
                );
                assert_eq!(method.name, "message.status");
                continue;
            }
        };
        assert!(!text.contains(SEALED), "{}: {text}", method.name);
    }
    let listens = scene.done();
    assert_eq!(listens.len(), before, "{:?}", listens.last());
}

#[test]
fn an_onlooker_sees_what_is_in_clear_and_of_a_sealed_draft_for_whom_it_is_and_how_large() {
    let scene = scene();
    let mut looks = onlooker(&scene.alice);
    let mut ask = |method: &str| looks.raw(method, &scene.params(method)).unwrap();
    for method in ["inbox.list", "inbox.aside", "quarantine.list"] {
        let listed = ask(method)["messages"].as_array().unwrap().clone();
        assert_eq!(listed.len(), 1, "{method}: {listed:?}");
        assert_eq!(listed[0]["body"], OPEN, "{method}");
    }
    assert_eq!(ask("handoff.list")["tasks"][0]["goal"], OPEN);
    assert_eq!(ask("handoff.show")["goal"], OPEN);
    let drafts = ask("drafts.list")["drafts"].as_array().unwrap().clone();
    let of = |tier: u8| {
        drafts
            .iter()
            .find(|draft| draft["data-tier"] == tier)
            .unwrap()
    };
    assert_eq!(
        (&of(1)["body"], &of(1)["summary"]),
        (&json!(OPEN), &json!(OPEN))
    );
    assert!(of(1).get("size").is_none());
    let sealed = of(4);
    assert_eq!(sealed["peer"], scene.bob.agent.as_str());
    assert_eq!(sealed["message-id"], scene.sealed_draft.as_str());
    assert_eq!(sealed["size"], json!(SEALED).to_string().len());
    for withheld in ["summary", "body", "capability", "draft", "hash"] {
        assert!(sealed[withheld].is_null(), "{withheld}: {sealed}");
    }
    assert_eq!(ask("trust.pending")["pending"][0]["agent"], "agent-carol");
    assert_eq!(ask("trust.list").as_array().unwrap().len(), 2);
    assert_eq!(ask("peer.list").as_array().unwrap().len(), 2);
    assert_eq!(ask("peer.show")["peer"], scene.bob.agent.as_str());
    let status = ask("status");
    assert_eq!(
        (&status["drafts"], &status["pending"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(ask("pause.show")["paused"], false);
    assert_eq!(ask("alarms.list")["alarms"], json!([]));
    assert_eq!(ask("policy.check")["allowed"], true);
    assert!(ask("policy.show")["tiers"].is_array());
    assert!(ask("outbox.list")["waiting"].is_u64());
    assert_eq!(ask("message.find")["message-id"], Value::Null);
    assert!(
        !ask("attention.follow")["attention"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    let sealed_task = looks.raw("handoff.show", &json!({"task": scene.sealed_task}));
    assert_eq!(reason_of(&sealed_task), Some(Reason::BeyondCeiling));
    // The person's own connections are as they were.
    assert!(
        scene
            .alice
            .call("drafts.list", &json!({}))
            .unwrap()
            .to_string()
            .contains(SEALED)
    );
}

#[test]
fn nothing_that_an_onlooker_asks_gives_back_what_was_taken_away() {
    let house = House::new();
    let (alice, _bob) = house.alice_and_bob();
    let mut stream = UnixStream::connect(alice.dir.join("control.sock")).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut answers = BufReader::new(stream.try_clone().unwrap());
    let call = |id: u8, method: &str, params: Value| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    // All in one line, so that none waits for the answer of the one before it.
    let at_once = json!([
        call(1, "look", json!({})),
        call(2, "narrow", json!({"tier": 4})),
        call(3, "look", json!({})),
        call(4, "trust.revoke", json!({"peer": "agent-bob"})),
        call(5, "reload", json!({})),
        call(6, "history", json!({})),
        call(7, "status", json!({})),
    ]);
    stream.write_all(format!("{at_once}\n").as_bytes()).unwrap();
    let mut line = String::new();
    answers.read_line(&mut line).unwrap();
    let answered: Vec<Value> = serde_json::from_str(&line).unwrap();
    let of = |id: u8| answered.iter().find(|answer| answer["id"] == id).unwrap();
    assert_eq!(of(1)["result"]["tier"], 2);
    for id in 2..=6 {
        assert_eq!(
            of(id)["error"]["data"]["reason"],
            "not-for-this-socket",
            "{}",
            of(id)
        );
    }
    assert_eq!(of(7)["result"]["agent"], "agent-alice");
    assert_eq!(
        alice.call("trust.list", &json!({})).unwrap()[0]["trust"],
        "trusted"
    );
}

#[test]
fn an_onlooker_that_follows_the_inbox_is_told_of_no_sealed_message() {
    let house = House::new();
    let mut homes = ["alice", "bob"].map(|who| house.home(who));
    for home in &homes {
        home.configure("# tier = 2", "tier = 4");
    }
    house.acquaint(&[&homes[0], &homes[1]]);
    for home in &mut homes {
        home.start();
    }
    let [alice, bob] = homes;
    alice.ping(&bob);
    let mut looks = onlooker(&alice);
    looks.raw("inbox.follow", &json!({})).unwrap();
    tells(&bob, &alice, SEALED, 3);
    tells(&bob, &alice, OPEN, 1);
    let told = looks.notifications().next().unwrap().unwrap();
    assert_eq!(told.params["body"], OPEN, "{:?}", told.params);
}

#[test]
fn the_agents_socket_does_not_look_as_the_person_does() {
    let house = House::new();
    let (alice, _bob) = house.alice_and_bob();
    let mut agent = Client::connect(&alice.dir.join("agent.sock"), PATIENCE).unwrap();
    let said = agent.raw("look", &json!({}));
    assert_eq!(reason_of(&said), Some(Reason::NotForThisSocket));
}
