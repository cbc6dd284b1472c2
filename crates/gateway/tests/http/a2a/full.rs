//! A daemon whose disk is full: it refuses every call but `status`, and so says nothing about what was asked.

use serde_json::{Value, json};
use signet_testkit::eventually;

use super::broken::Between;
use super::client::{Gateway, Scene, begins, code, id_of, says};
use super::people::confidants;

/// The same gateway, behind a disk that can fill up.
fn behind_a_disk(scene: &mut Scene, more: &str) -> Between {
    scene.gateway.kill();
    let between = Between::before(&scene.alice.dir);
    scene.gateway = Gateway::start_at(&scene.alice, more, &between.socket);
    between
}

/// Every call that a full disk refuses.
fn all(call: &str) -> bool {
    call != "status"
}

fn acknowledging(call: &str) -> bool {
    call == "acknowledge"
}

fn of_tier_3(mut said: Value) -> Value {
    said["message"]["metadata"] = json!({"signet": {"tier": 3}});
    said
}

#[test]
fn while_the_disk_is_full_the_own_card_stays_signed_and_no_known_agent_is_unknown() {
    let more = "[a2a]\npeer-cards = true\n";
    let mut scene = Scene::new(more);
    let card = "[card]\nurl = \"https://a.example\"\n";
    scene.alice.configure("[card]\n", card);
    scene.alice.done(&["reload"]);
    let between = behind_a_disk(&mut scene, more);
    let own = || scene.gateway.get("/.well-known/agent-card.json", "").json();
    let bobs = || {
        let path = "/a2a/agent-bob/.well-known/agent-card.json";
        scene.gateway.get(path, "")
    };
    let signed = own();
    assert!(signed["signatures"].is_array(), "{signed}");
    between.fill(all);
    assert_eq!(own(), signed);
    let told = bobs();
    assert_eq!(told.status, 503, "{}", told.body);
    assert_eq!(told.json()["error"]["reason"], "busy", "{}", told.body);
    let told = scene.gateway.v1("SendMessage", &says("m", "hello"));
    assert_eq!(code(&told), -32603, "{told}");
    let words = told["error"]["message"].as_str().unwrap();
    assert!(words.contains("disk-full") && words.contains("nothing was sent"));
    between.room();
    assert_eq!(own(), signed);
    assert_eq!(bobs().status, 200);
    let told = scene.gateway.v1("SendMessage", &says("m", "hello"));
    let state = &told["result"]["task"]["status"]["state"];
    assert_eq!(state, "TASK_STATE_COMPLETED", "{told}");
}

#[test]
fn what_a_full_disk_hides_from_a_gateway_that_was_killed_is_found_when_there_is_room() {
    let mut scene = confidants();
    let between = behind_a_disk(&mut scene, "");
    between
        .loses
        .store(true, std::sync::atomic::Ordering::SeqCst);
    let said = of_tier_3(begins("m", "a secret"));
    let task = id_of(&scene.gateway.v1("SendMessage", &said));
    eventually("the daemon has the message, and its answer", || {
        (scene.alice.inbox().len() == 1).then_some(())
    });
    scene.gateway.kill();
    between.fill(all);
    scene.gateway = Gateway::start_at(&scene.alice, "", &between.socket);
    between.until_refused("message.find");
    between.room();
    let done = scene.until(&task, "COMPLETED");
    let said = &done["artifacts"][0]["parts"];
    assert_eq!(*said, json!([{"text": "a secret"}]));
}

#[test]
fn an_answer_that_a_full_disk_kept_in_the_inbox_leaves_it_when_there_is_room() {
    let mut scene = Scene::new("");
    let between = behind_a_disk(&mut scene, "");
    between.fill(acknowledging);
    let told = scene.gateway.v1("SendMessage", &says("m", "hello"));
    let state = &told["result"]["task"]["status"]["state"];
    assert_eq!(state, "TASK_STATE_COMPLETED", "{told}");
    between.until_refused("acknowledge");
    between.room();
    eventually("the answer has left the inbox", || {
        scene.alice.inbox().is_empty().then_some(())
    });
}

#[test]
fn an_answer_that_is_not_kept_leaves_the_inbox_when_it_is_shown_again_after_the_disk_was_full() {
    let mut scene = confidants();
    let between = behind_a_disk(&mut scene, "");
    between.fill(acknowledging);
    let said = of_tier_3(says("m", "a secret"));
    let task = id_of(&scene.gateway.v1("SendMessage", &said));
    scene.until(&task, "COMPLETED");
    between.until_refused("acknowledge");
    assert_eq!(scene.alice.inbox().len(), 1);
    between.room();
    scene.until(&task, "COMPLETED");
    assert!(scene.alice.inbox().is_empty());
}
