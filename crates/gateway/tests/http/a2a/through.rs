//! A2A at both ends: what a client says to the gateway of Alice reaches an agent of A2A behind the daemon of Bob, and what
//! that says comes back, with nothing lost on the way.

use std::io::Write as _;
use std::net::TcpStream;
use std::process::{Child, Stdio};

use serde_json::{Value, json};
use signet_testkit::{House, eventually};

use super::client::{Gateway, Scene, id_of};
use crate::agent::{Agent, ok};

/// `signet handle` of a home.
struct Handling(Child);

impl Drop for Handling {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Alice with a gateway, and Bob with that agent of A2A behind him.
fn scene(agent: &Agent, more: &str) -> (Scene, Handling) {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    bob.configure("# allow = []", "allow = [\"test.*\"]");
    house.acquaint(&[&alice, &bob]);
    alice.start();
    bob.start();
    bob.ping(&alice);
    let file = format!(
        "[[handler]]\ncapability = \"test.talk\"\nkind = \"a2a\"\nurl = \"{}\"\n{more}",
        agent.url()
    );
    std::fs::write(bob.dir.join("handlers.toml"), file).unwrap();
    let mut command = bob.command(&["handle"]);
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin");
    let command = command.stdin(Stdio::null()).stdout(Stdio::null());
    let handling = Handling(command.stderr(Stdio::inherit()).spawn().unwrap());
    eventually("the capability is offered", || {
        let shown = alice
            .call("peer.show", &json!({"peer": bob.agent}))
            .unwrap();
        shown["capabilities"]
            .to_string()
            .contains("test.talk")
            .then_some(())
    });
    let scene = Scene {
        gateway: Gateway::start(&alice, ""),
        agent: None,
        alice,
        bob,
        house,
    };
    (scene, handling)
}

fn all_parts() -> Value {
    json!([
        {"text": "see"}, {"raw": "AAE=", "filename": "f.bin", "mediaType": "application/x"},
        {"url": "https://x.example/a", "mediaType": "text/html"}, {"data": {"week": 7}},
        {"data": [1, 2]}, {"text": "# x", "mediaType": "text/markdown"},
    ])
}

/// An agent of 1.0 that gives back the parts it was given.
fn echo() -> Agent {
    Agent::json(|request| {
        let parts = &request["params"]["message"]["parts"];
        let task = json!({"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"},
            "artifacts": [{"artifactId": "a", "parts": parts}]});
        json!({"jsonrpc": "2.0", "id": request["id"], "result": {"task": task}})
    })
}

#[test]
fn files_links_data_and_texts_reach_the_agent_and_come_back_as_the_same_parts() {
    let agent = echo();
    let (scene, _handling) = scene(&agent, "version = \"1.0\"\nparts = true\n");
    for (number, parts) in [
        all_parts(),
        json!([{"text": "{\"week\":7}"}]),
        json!([{"data": {"week": 7}}]),
        json!([{"data": {"parts": [{"text": "x"}]}}]),
        json!([{"raw": "AAE=", "filename": "f.bin"}]),
    ]
    .into_iter()
    .enumerate()
    {
        let said = json!({"message": {"messageId": format!("m{number}"), "role": "ROLE_USER", "parts": parts}});
        let told = scene.gateway.v1("SendMessage", &said);
        let seen = agent.seen().pop().unwrap().json();
        assert_eq!(seen["params"]["message"]["parts"], parts);
        let task = &told["result"]["task"];
        assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{told}");
        assert_eq!(task["artifacts"][0]["parts"], parts, "{told}");
    }
}

#[test]
fn what_the_agent_streams_is_streamed_to_the_client_while_it_works() {
    let (hold, held) = std::sync::mpsc::channel::<()>();
    let held = std::sync::Mutex::new(held);
    let agent = Agent::raw(move |request, stream| {
        let request = request.json();
        assert_eq!(request["method"], "SendStreamingMessage");
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n");
        let said = json!({"messageId": "s", "role": "ROLE_AGENT", "parts": [{"text": "counting"}]});
        let status = json!({"state": "TASK_STATE_WORKING", "message": said});
        event(
            stream,
            &request,
            json!({"task": {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_SUBMITTED"}}}),
        );
        event(
            stream,
            &request,
            json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": status}}),
        );
        let part = |text: &str, append: bool| {
            json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "append": append,
            "artifact": {"artifactId": "a", "parts": [{"text": text}]}}})
        };
        event(stream, &request, part("one ", false));
        let _ = held.lock().unwrap().recv();
        event(stream, &request, part("two", true));
        let done = json!({"state": "TASK_STATE_COMPLETED"});
        event(
            stream,
            &request,
            json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": done}}),
        );
    });
    let (scene, _handling) = scene(&agent, "version = \"1.0\"\nparts = true\nstream = true\n");
    let said =
        json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "count"}]}});
    let mut events = scene.gateway.stream("SendStreamingMessage", &said, "");
    let mut seen = Vec::new();
    let mut task = Value::Null;
    while let Some((_, told)) = events.next() {
        if task.is_null() {
            task = json!(id_of(&told));
        }
        let result = told["result"].clone();
        if result["artifactUpdate"]["artifact"]["parts"] == json!([{"text": "one "}]) {
            // The first piece has crossed both daemons while the agent still waits: let the agent go on.
            hold.send(()).unwrap();
        }
        seen.push(result);
    }
    let notes: Vec<&Value> = seen
        .iter()
        .map(|one| &one["statusUpdate"]["status"]["message"]["parts"][0]["text"])
        .collect();
    assert!(notes.contains(&&json!("counting")), "{seen:?}");
    let last = seen.last().unwrap();
    assert_eq!(
        last["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED",
        "{seen:?}"
    );
    let done = scene.gateway.v1("GetTask", &json!({"id": task}));
    assert_eq!(
        done["result"]["artifacts"][0]["parts"],
        json!([{"text": "one "}, {"text": "two"}])
    );
}

fn event(stream: &mut TcpStream, request: &Value, result: Value) {
    let response = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
    let _ = stream.write_all(format!("data: {response}\n\n").as_bytes());
}

#[test]
fn an_agent_that_fails_or_wants_more_or_a_login_gives_its_state_to_the_task() {
    for state in [
        "INPUT_REQUIRED",
        "AUTH_REQUIRED",
        "FAILED",
        "REJECTED",
        "CANCELED",
    ] {
        let agent = Agent::raw(move |request, stream| {
            let said =
                json!({"messageId": "s", "role": "ROLE_AGENT", "parts": [{"text": "which week?"}]});
            let task = json!({"id": "t", "contextId": "c", "status": {"state": format!("TASK_STATE_{state}"), "message": said}});
            let body =
                json!({"jsonrpc": "2.0", "id": request.json()["id"], "result": {"task": task}});
            let _ = stream.write_all(&ok(&body.to_string()));
        });
        let (scene, _handling) = scene(&agent, "version = \"1.0\"\n");
        let said = json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "book"}]}});
        let told = scene.gateway.v1("SendMessage", &said);
        let status = &told["result"]["task"]["status"];
        assert_eq!(status["state"], format!("TASK_STATE_{state}"), "{told}");
        assert_eq!(status["message"]["parts"], json!([{"text": "which week?"}]));
        if state != "INPUT_REQUIRED" {
            continue;
        }
        // The next message of the same client continues the task "t" of the agent, in the context of the first message.
        let first = agent.seen().pop().unwrap().json()["params"]["message"].clone();
        let task = id_of(&told);
        let more = json!({"message": {"messageId": "n", "taskId": task, "role": "ROLE_USER", "parts": [{"text": "week 7"}]}});
        scene.gateway.v1("SendMessage", &more);
        let next = agent.seen().pop().unwrap().json()["params"]["message"].clone();
        assert_eq!(
            (&next["taskId"], &first["taskId"]),
            (&json!("t"), &Value::Null)
        );
        assert_eq!(next["contextId"], first["contextId"]);
        assert!(next["contextId"].is_string(), "{next}");
    }
}

#[test]
fn several_artifacts_and_what_stands_beside_the_parts_cross_both_daemons() {
    let agent = Agent::json(|request| {
        let message = &request["params"]["message"];
        let said = json!({"metadata": message["metadata"], "extensions": message["extensions"],
            "referenceTaskIds": message["referenceTaskIds"], "parts": message["parts"]});
        let task = json!({"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"}, "artifacts": [
            {"artifactId": "a", "name": "The first", "parts": [{"text": "one"}]},
            {"artifactId": "b", "parts": [{"data": said}]},
        ]});
        json!({"jsonrpc": "2.0", "id": request["id"], "result": {"task": task}})
    });
    let (scene, _handling) = scene(&agent, "version = \"1.0\"\n");
    let said = json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}],
        "metadata": {"trace": {"id": 7}}, "extensions": ["urn:example"], "referenceTaskIds": ["t-9"]}});
    let told = scene.gateway.v1("SendMessage", &said);
    let artifacts = &told["result"]["task"]["artifacts"];
    let first = json!({"artifactId": "a", "name": "The first", "parts": [{"text": "one"}]});
    assert_eq!(artifacts[0], first, "{told}");
    let beside = &artifacts[1]["parts"][0]["data"];
    for member in ["metadata", "extensions", "referenceTaskIds", "parts"] {
        assert_eq!(beside[member], said["message"][member], "{told}");
    }
}

#[test]
fn what_the_program_there_cannot_handle_says_that_a_person_has_it() {
    let agent = Agent::json(|_| json!("no JSON-RPC"));
    let (scene, _handling) = scene(&agent, "version = \"1.0\"\n");
    let said = json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]},
        "configuration": {"returnImmediately": true}});
    let task = id_of(&scene.gateway.v1("SendMessage", &said));
    let words = eventually("the task says whom it waits for", || {
        let told = scene.gateway.v1("GetTask", &json!({"id": task}));
        let words = told["result"]["status"]["message"]["parts"][0]["text"].as_str();
        words
            .filter(|words| words.contains("waits for a person of the other side"))
            .map(str::to_owned)
    });
    assert!(!words.contains("wrong-shape"), "{words}");
    let id = scene.bob.json(&["quarantine", "list"])[0]["message-id"].clone();
    let shown = scene.alice.done(&["status", id.as_str().unwrap()]);
    assert!(shown.contains("it waits for a person there"), "{shown}");
}
