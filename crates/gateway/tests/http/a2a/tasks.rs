//! How a task goes: more is asked for, it is refused, it waits for people or for an agent that is away.

use serde_json::json;

use super::client::{Scene, begins, code, id_of, says};

#[test]
fn an_agent_that_needs_more_gets_it_by_the_tasks_id_alone() {
    let scene = Scene::new("");
    let told = scene.gateway.v1("SendMessage", &says("m", "ask me"));
    let task = &told["result"]["task"];
    assert_eq!(
        task["status"]["state"], "TASK_STATE_INPUT_REQUIRED",
        "{told}"
    );
    assert_eq!(task["status"]["message"]["parts"][0]["text"], "which week?");
    let id = id_of(&told);
    let mut wrong = says("m2", "7");
    wrong["message"]["taskId"] = json!(id);
    wrong["message"]["contextId"] = json!("another");
    assert_eq!(code(&scene.gateway.v1("SendMessage", &wrong)), -32602);
    let mut more = says("m2", "7");
    more["message"]["taskId"] = json!(id);
    let told = scene.gateway.v1("SendMessage", &more);
    let done = &told["result"]["task"];
    assert_eq!(
        (&done["id"], &done["contextId"]),
        (&task["id"], &task["contextId"])
    );
    assert_eq!(done["status"]["state"], "TASK_STATE_COMPLETED", "{told}");
    let said: Vec<_> = done["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|said| &said["parts"][0]["text"])
        .collect();
    assert_eq!(said, ["ask me", "which week?", "7"]);
    let short = scene
        .gateway
        .v1("GetTask", &json!({"id": id, "historyLength": 1}));
    assert_eq!(short["result"]["history"].as_array().unwrap().len(), 1);
    assert_eq!(short["result"]["history"][0]["parts"][0]["text"], "7");
}

#[test]
fn an_agent_that_declines_rejects_the_task_in_its_own_words() {
    let scene = Scene::new("");
    let told = scene.gateway.v1("SendMessage", &says("m", "no"));
    let status = &told["result"]["task"]["status"];
    assert_eq!(status["state"], "TASK_STATE_REJECTED", "{told}");
    assert!(
        status["message"]["parts"][0]["text"]
            .as_str()
            .unwrap()
            .contains("not today")
    );
}

#[test]
fn what_the_policy_does_not_allow_is_a_rejected_task_that_says_why() {
    let scene = Scene::new("");
    let mut said = says("m", "hello");
    said["message"]["metadata"] = json!({"signet": {"capability": "no.such.thing"}});
    let told = scene.gateway.v1("SendMessage", &said);
    let status = &told["result"]["task"]["status"];
    assert_eq!(status["state"], "TASK_STATE_REJECTED", "{told}");
    let words = status["message"]["parts"][0]["text"].as_str().unwrap();
    assert!(words.contains("capability"), "{words}");
}

#[test]
fn an_agent_that_is_away_gives_a_task_that_waits_and_is_done_when_it_is_back() {
    let mut scene = Scene::new("[a2a]\nwait-seconds = 1\n");
    scene.agent = None;
    scene.bob.kill();
    let told = scene.gateway.v1("SendMessage", &says("m", "hello"));
    let task = id_of(&told);
    assert_eq!(
        told["result"]["task"]["status"]["state"], "TASK_STATE_SUBMITTED",
        "{told}"
    );
    scene.bob.start();
    let _agent = super::client::Agent::of(&scene.bob);
    scene.until(&task, "COMPLETED");
}

#[test]
fn a_call_that_need_not_wait_is_answered_before_the_agent_answers() {
    let scene = Scene::new("");
    let told = scene.gateway.v1("SendMessage", &begins("m", "wait"));
    let state = told["result"]["task"]["status"]["state"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        ["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"].contains(&state.as_str()),
        "{told}"
    );
    let old = json!({"message": {"messageId": "m3", "role": "user", "parts": [{"kind": "text", "text": "wait"}]},
        "configuration": {"blocking": false}});
    let told = scene.gateway.v03("message/send", &old);
    assert!(
        ["submitted", "working"].contains(&told["result"]["status"]["state"].as_str().unwrap())
    );
}

#[test]
fn a_task_of_tier_3_is_answered_and_leaves_no_word_in_the_file() {
    let scene = Scene::new("");
    let mut said = says("m", "VERY-SECRET-WORD");
    said["message"]["metadata"] = json!({"signet": {"tier": 3}});
    let told = scene.gateway.v1("SendMessage", &said);
    let task = &told["result"]["task"];
    if task["status"]["state"] == "TASK_STATE_COMPLETED" {
        assert_eq!(
            task["artifacts"][0]["parts"][0]["text"], "VERY-SECRET-WORD",
            "{told}"
        );
    }
    for name in ["gateway-a2a.db", "gateway-a2a.db-wal"] {
        let kept = std::fs::read(scene.alice.dir.join(name)).unwrap_or_default();
        assert!(
            !kept.windows(16).any(|part| part == b"VERY-SECRET-WORD"),
            "{name}"
        );
    }
}
