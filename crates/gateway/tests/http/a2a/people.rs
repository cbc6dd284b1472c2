//! Tasks that wait for people.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use signet_testkit::{Home, House, eventually};

use super::client::{Agent, Gateway, Scene, id_of, says};

/// Alice with a gateway and Bob with an agent, who may say everything to each other.
pub(super) fn confidants() -> Scene {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    for home in [&alice, &bob] {
        home.configure("# tier = 2", "tier = 4");
    }
    house.acquaint(&[&alice, &bob]);
    alice.start();
    bob.start();
    bob.ping(&alice);
    Scene {
        gateway: Gateway::start(&alice, ""),
        agent: Some(Agent::of(&bob)),
        alice,
        bob,
        house,
    }
}

fn secret(id: &str) -> Value {
    let mut said = says(id, "the pin is 1234");
    said["message"]["metadata"] = json!({"signet": {"tier": 4}});
    said
}

/// The draft that waits for the person of that home.
fn waits(home: &Home) -> String {
    eventually("a draft waits for its person", || {
        let drafts = home.json(&["drafts"]);
        let id = drafts.first()?["message-id"].as_str()?.to_owned();
        Some(id)
    })
}

#[test]
fn a_message_that_waits_for_its_person_is_a_task_that_says_so_until_the_person_has_decided() {
    let scene = confidants();
    let asked = Instant::now();
    let told = scene.gateway.v1("SendMessage", &secret("m"));
    assert!(
        asked.elapsed() < Duration::from_secs(15),
        "no client waits for a person at its end of a connection"
    );
    let status = &told["result"]["task"]["status"];
    assert_eq!(status["state"], "TASK_STATE_SUBMITTED", "{told}");
    let words = status["message"]["parts"][0]["text"].as_str().unwrap();
    assert!(words.contains("approval of this side's person"), "{words}");
    let task = id_of(&told);
    let old = scene.gateway.v03("tasks/get", &json!({"id": task}));
    assert_eq!(old["result"]["status"]["state"], "submitted", "{old}");
    assert!(scene.bob.inbox().is_empty(), "nothing left before");
    scene.alice.done(&["approve", &waits(&scene.alice)]);
    // Bob's answer has tier 4 as well: it waits as a draft until Bob's person approves it.
    scene.bob.done(&["approve", &waits(&scene.bob)]);
    let done = scene.until(&task, "COMPLETED");
    assert_eq!(
        done["artifacts"][0]["parts"],
        json!([{"text": "the pin is 1234"}])
    );
    assert!(done["status"].get("message").is_none(), "it waits no more");
}

#[test]
fn a_message_that_its_person_drops_is_a_rejected_task() {
    let scene = confidants();
    let task = id_of(&scene.gateway.v1("SendMessage", &secret("m")));
    let draft = waits(&scene.alice);
    scene.alice.done(&["drafts", "drop", &draft]);
    let over = eventually("the task is over", || {
        let told = scene.gateway.v1("GetTask", &json!({"id": task}));
        let state = told["result"]["status"]["state"].as_str()?.to_owned();
        (state != "TASK_STATE_SUBMITTED").then_some(told)
    });
    let status = &over["result"]["status"];
    assert_eq!(status["state"], "TASK_STATE_REJECTED", "{over}");
    let words = status["message"]["parts"][0]["text"].as_str().unwrap();
    assert!(words.starts_with("not sent"), "{words}");
    assert!(scene.bob.inbox().is_empty());
}
