//! More messages than a peer takes in a minute: they wait for their turn.

use serde_json::{Value, json};
use signet_testkit::House;

use super::client::{Agent, Gateway, Scene, begins, id_of};

#[test]
fn messages_beyond_the_budget_of_a_minute_wait_and_none_is_refused() {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    bob.configure(
        "\nmessages-per-minute = 1000000",
        "\nmessages-per-minute = 20",
    );
    house.acquaint(&[&alice, &bob]);
    alice.start();
    bob.start();
    bob.ping(&alice);
    let scene = Scene {
        gateway: Gateway::start(&alice, ""),
        agent: Some(Agent::of(&bob)),
        alice,
        bob,
        house,
    };
    let begin = |number: usize| {
        id_of(
            &scene
                .gateway
                .v1("SendMessage", &begins(&format!("m{number}"), "hello")),
        )
    };
    let tasks: Vec<String> = (0..26).map(begin).collect();
    let statuses = || -> Vec<Value> {
        let status = |task: &String| {
            scene.gateway.v1("GetTask", &json!({"id": task}))["result"]["status"].clone()
        };
        tasks.iter().map(status).collect()
    };
    let now = format!("{:?}", statuses());
    assert!(now.contains("only so many messages a minute"), "{now}");
    for task in &tasks {
        scene.until(task, "COMPLETED");
    }
}
