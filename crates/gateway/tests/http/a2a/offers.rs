//! Messages that name no capability: whose they are.

use serde_json::{Value, json};
use signet_testkit::log::header;
use signet_testkit::{House, eventually};

use super::client::{Agent, Gateway, Scene, begins, id_of, says};

/// Bob's programs may offer what they want, for as long as they are connected and no longer, and nobody has
/// spoken yet.
pub(super) fn strangers_so_far() -> Scene {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    bob.configure(
        "[offer]",
        "[offer]\nallow = [\"test.*\"]\nlinger-seconds = 0",
    );
    house.acquaint(&[&alice, &bob]);
    alice.start();
    bob.start();
    Scene {
        gateway: Gateway::start(&alice, ""),
        agent: Some(Agent::offering(&bob, "test.talk")),
        alice,
        bob,
        house,
    }
}

#[test]
fn the_first_message_of_all_is_for_the_only_capability_that_is_offered() {
    let scene = strangers_so_far();
    let told = scene.gateway.v1("SendMessage", &says("m", "hello"));
    let status = &told["result"]["task"]["status"];
    assert_eq!(status["state"], "TASK_STATE_COMPLETED", "{told}");
    // The gateway pinged Bob to begin a session. Nobody reads the answer to this ping, so it must not stay in the
    // inbox.
    let log = scene.alice.log();
    let ping = log
        .iter()
        .find(|line| header(line, "capability") == "signet.ping");
    let ping = &ping.unwrap()["id"];
    eventually("the ping is answered", || {
        let log = scene.alice.log();
        let mut accepted = log.iter().filter(|line| line["verdict"] == "accepted");
        accepted
            .any(|line| line["in-reply-to"] == *ping)
            .then_some(())
    });
    let inbox = scene.alice.inbox();
    assert!(
        inbox.iter().all(|message| message["in-reply-to"] != *ping),
        "{inbox:?}"
    );
}

/// Bob's person offers two capabilities, and nobody has spoken yet.
fn strangers_of_several() -> Scene {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    bob.configure(
        "# allow = []",
        "[[capability]]\nname = \"door.open\"\n[[capability]]\nname = \"door.shut\"\n",
    );
    house.acquaint(&[&alice, &bob]);
    alice.start();
    bob.start();
    Scene {
        gateway: Gateway::start(&alice, ""),
        agent: None,
        alice,
        bob,
        house,
    }
}

/// A message that names no capability is refused, and hears what there is.
fn names_both(scene: &Scene, told: &Value) {
    let id = id_of(told);
    let done = scene.until(&id, "REJECTED");
    let words = done["status"]["message"]["parts"][0]["text"].as_str();
    let words = words.unwrap();
    for word in ["capability-needed", "door.open", "door.shut"] {
        assert!(words.contains(word), "{word}: {words}");
    }
}

#[test]
fn what_is_said_to_an_agent_that_offers_several_is_refused_and_names_them_also_as_the_first_of_all()
{
    let scene = strangers_of_several();
    names_both(
        &scene,
        &scene.gateway.v1("SendMessage", &says("m", "hello")),
    );
    names_both(
        &scene,
        &scene.gateway.v1("SendMessage", &says("n", "hello")),
    );
    let log = scene.bob.log();
    let mut requests = log.iter().filter(|line| line["type"] == "request");
    assert!(
        requests.all(|line| header(line, "capability") == "signet.ping"),
        "nothing of it left"
    );
}

#[test]
fn what_waits_for_an_agent_that_is_away_and_offers_several_is_refused_and_names_them() {
    let mut scene = strangers_of_several();
    scene.bob.stop();
    let told = scene.gateway.v1("SendMessage", &begins("m", "hello"));
    scene.bob.start();
    names_both(&scene, &told);
}

#[test]
fn what_is_said_to_a_program_that_is_away_is_for_it_when_it_is_back() {
    let mut scene = strangers_so_far();
    scene.bob.ping(&scene.alice);
    let offers = |scene: &Scene| {
        let shown = json!({"peer": scene.bob.agent});
        let shown = scene.alice.call("peer.show", &shown).unwrap();
        shown["capabilities"].as_array().map_or(0, Vec::len)
    };
    eventually("the offer is told", || (offers(&scene) == 1).then_some(()));
    let told = scene.gateway.v1("SendMessage", &says("m", "hello"));
    assert_eq!(
        told["result"]["task"]["status"]["state"],
        "TASK_STATE_COMPLETED"
    );
    scene.agent = None;
    eventually("the offer ends", || (offers(&scene) == 0).then_some(()));
    // Bob's offer has ended, but the gateway's database remembers it: the new gateway still knows for which capability
    // the next message is.
    scene.gateway.kill();
    scene.gateway = Gateway::start(&scene.alice, "");
    let task = id_of(&scene.gateway.v1("SendMessage", &begins("n", "for later")));
    let words = eventually("the task says why it waits", || {
        let told = scene.gateway.v1("GetTask", &json!({"id": task}));
        let words = &told["result"]["status"]["message"]["parts"][0]["text"];
        words.as_str().map(str::to_owned)
    });
    assert!(words.contains("is away"), "{words}");
    let given_up = id_of(&scene.gateway.v1("SendMessage", &begins("o", "not at all")));
    scene.gateway.v1("CancelTask", &json!({"id": given_up}));
    scene.agent = Some(Agent::offering(&scene.bob, "test.talk"));
    let done = scene.until(&task, "COMPLETED");
    assert_eq!(
        done["artifacts"][0]["parts"],
        json!([{"text": "for later"}])
    );
    let log = format!("{:?}", scene.bob.log());
    assert!(!log.contains("not at all"), "what was given up is not sent");
}

#[test]
fn what_comes_before_the_program_of_a_daemon_that_starts_again_is_for_it_all_the_same() {
    let mut scene = strangers_so_far();
    let told = scene.gateway.v1("SendMessage", &says("m", "hello"));
    let state = &told["result"]["task"]["status"]["state"];
    assert_eq!(state, "TASK_STATE_COMPLETED", "{told}");
    // Bob's daemon is stopped before its agent's program goes, so Alice's daemon still counts on the offer and sends
    // the message. Bob's daemon starts without the program and refuses the message.
    scene.bob.stop();
    scene.agent = None;
    let task = id_of(&scene.gateway.v1("SendMessage", &begins("n", "for later")));
    scene.bob.start();
    eventually("it was refused", || {
        let log = format!("{:?}", scene.bob.log());
        log.contains("capability-not-granted").then_some(())
    });
    scene.agent = Some(Agent::offering(&scene.bob, "test.talk"));
    let done = scene.until(&task, "COMPLETED");
    let said = &done["artifacts"][0]["parts"];
    assert_eq!(*said, json!([{"text": "for later"}]));
}

#[test]
fn a_message_that_asks_for_no_capability_says_that_a_person_may_answer_it() {
    let mut scene = Scene::new("");
    scene.agent = None;
    let task = id_of(&scene.gateway.v1("SendMessage", &begins("m", "hello")));
    let words = eventually("the task says why it rests", || {
        let told = scene.gateway.v1("GetTask", &json!({"id": task}));
        let words = &told["result"]["status"]["message"]["parts"][0]["text"];
        words.as_str().map(str::to_owned)
    });
    assert!(words.contains("asks for no capability"), "{words}");
    scene.agent = Some(Agent::of(&scene.bob));
    let done = scene.until(&task, "COMPLETED");
    assert!(done["status"].get("message").is_none(), "{done}");
}
