//! Which task of an agent of A2A a message is for, and whose answer comes back.

use std::io::Write as _;
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::agent::{Agent, ok};
use crate::trial::{Came, Trial, message};

fn section(agent: &Agent, more: &str) -> String {
    format!(
        "kind = \"a2a\"\nversion = \"1.0\"\nurl = \"{}\"\n{more}",
        agent.url()
    )
}

fn answer(to: &mut TcpStream, request: &Value, member: &str, value: Value) {
    let mut body = json!({"jsonrpc": "2.0", "id": request["id"]});
    body[member] = value;
    let _ = to.write_all(&ok(&body.to_string()));
}

fn task(id: &str, state: &str, text: &str) -> Value {
    let said = json!({"messageId": "s", "role": "ROLE_AGENT", "parts": [{"text": text}]});
    json!({"id": id, "contextId": "c", "status": {"state": format!("TASK_STATE_{state}"), "message": said}})
}

#[test]
fn the_answer_to_another_task_than_was_asked_about_is_nobodys() {
    let mut nameless = task("t-1", "COMPLETED", "another peer's secret");
    nameless.as_object_mut().unwrap().remove("id");
    for other in [
        task("t-2", "COMPLETED", "another peer's secret"),
        json!({"task": task("t-2", "COMPLETED", "another peer's secret")}),
        task("t-2", "WORKING", "another peer's secret"),
        json!({"message": {"taskId": "t-2", "role": "ROLE_AGENT", "parts": [{"text": "another peer's secret"}]}}),
        // These two name no task, so nobody can tell whether they are for this message: they are refused like those of
        // another task.
        nameless,
        json!({"message": {"role": "ROLE_AGENT", "parts": [{"text": "another peer's secret"}]}}),
    ] {
        let agent = Agent::raw(move |request, to| {
            let request = request.json();
            let result = match request["method"].as_str().unwrap() {
                "SendMessage" => json!({"task": task("t-1", "WORKING", "soon")}),
                _ => other.clone(),
            };
            answer(to, &request, "result", result);
        });
        let fault = Trial::new(&section(&agent, "")).ask(json!("x")).fault();
        assert!(
            fault.starts_with("wrong-task") && !fault.contains("secret"),
            "{fault}"
        );
    }
}

#[test]
fn an_event_of_another_task_in_a_stream_is_nobodys() {
    let begun = json!({"task": task("t-1", "WORKING", "soon")});
    let done = json!({"state": "TASK_STATE_COMPLETED"});
    for other in [
        json!({"artifactUpdate": {"taskId": "t-2", "artifact": {"artifactId": "a", "parts": [{"text": "secret"}]}}}),
        json!({"statusUpdate": {"taskId": "t-2", "status": done}}),
        json!({"task": task("t-2", "COMPLETED", "secret")}),
        json!({"message": {"taskId": "t-2", "role": "ROLE_AGENT", "parts": [{"text": "secret"}]}}),
    ] {
        let begun = begun.clone();
        let agent = Agent::raw(move |request, to| {
            let id = request.json()["id"].clone();
            let _ = to.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n");
            for result in [&begun, &other] {
                let response = json!({"jsonrpc": "2.0", "id": id, "result": result});
                let _ = to.write_all(format!("data: {response}\n\n").as_bytes());
            }
        });
        let fault = Trial::new(&section(&agent, "stream = true"))
            .ask(json!("x"))
            .fault();
        assert!(
            fault.starts_with("wrong-task") && !fault.contains("secret"),
            "{fault}"
        );
    }
}

/// An agent that says by its answer in which context it was asked, and for which task.
fn remembers() -> Agent {
    Agent::json(|request| {
        let message = &request["params"]["message"];
        let parts = json!([{"data": {"context": message["contextId"], "task": message["taskId"]}}]);
        let message = json!({"messageId": "s", "role": "ROLE_AGENT", "parts": parts});
        json!({"jsonrpc": "2.0", "id": request["id"], "result": {"message": message}})
    })
}

#[test]
fn one_conversation_of_a_peer_is_one_context_and_no_other_peer_gets_into_it() {
    let agent = remembers();
    let mut trial = Trial::new(&section(&agent, ""));
    let mut context_of = |from: &str, conversation: Option<&str>| {
        let mut said = message(json!("x"));
        said.from = from.to_owned();
        said.conversation_id = conversation.map(str::to_owned);
        trial.hand(&said).answer()["context"].clone()
    };
    let alices = context_of("agent-alice", Some("dinner"));
    assert!(
        alices.as_str().is_some_and(|name| name.len() == 32),
        "{alices}"
    );
    assert_eq!(context_of("agent-alice", Some("dinner")), alices);
    for (from, conversation) in [
        ("agent-alice", Some("lunch")),
        ("agent-eve", Some("dinner")),
        ("agent-alic", Some("edinner")),
        ("agent-alice", None),
    ] {
        assert_ne!(
            context_of(from, conversation),
            alices,
            "{from} {conversation:?}"
        );
    }
    assert_eq!(context_of("agent-alice", None), Value::Null);
}

#[test]
fn a_task_that_waits_for_more_goes_on_with_the_next_message_of_its_conversation() {
    let agent = Agent::raw(|request, to| {
        let request = request.json();
        let message = &request["params"]["message"];
        match (
            message["parts"][0]["text"].as_str().unwrap(),
            message["taskId"].as_str(),
        ) {
            ("forget", Some(_)) => {
                let gone = json!({"code": -32001, "message": "Task not found"});
                answer(to, &request, "error", gone);
            }
            ("week 7", Some("t-1")) => {
                answer(
                    to,
                    &request,
                    "result",
                    json!({"task": task("t-1", "COMPLETED", "booked")}),
                );
            }
            (_, None) => {
                let asks = task("t-1", "INPUT_REQUIRED", "which week?");
                answer(to, &request, "result", json!({ "task": asks }));
            }
            other => panic!("{other:?}"),
        }
    });
    let mut trial = Trial::new(&section(&agent, ""));
    let rests = Came::Unfinished(
        "input-required: which week?".to_owned(),
        json!({"state": "input-required", "parts": [{"text": "which week?"}]}),
    );
    assert_eq!(trial.ask(json!("book")), rests);
    assert_eq!(trial.ask(json!("week 7")), Came::Answer(json!("booked")));
    assert_eq!(trial.ask(json!("book another")), rests);
    assert_eq!(
        trial.ask(json!("forget")),
        rests,
        "what the agent forgot is begun anew"
    );
    assert_eq!(agent.seen().len(), 5);
}

#[test]
fn what_a_client_said_beside_its_parts_stands_beside_them_at_the_agent() {
    let agent = Agent::json(|request| {
        let mut message = request["params"]["message"].clone();
        message.as_object_mut().unwrap().retain(|name, _| {
            ["metadata", "extensions", "referenceTaskIds", "parts"].contains(&name.as_str())
        });
        let parts = json!([{ "data": message }]);
        let message = json!({"messageId": "s", "role": "ROLE_AGENT", "parts": parts});
        json!({"jsonrpc": "2.0", "id": request["id"], "result": {"message": message}})
    });
    let beside =
        json!({"metadata": {"trace": "7"}, "extensions": ["urn:x"], "referenceTaskIds": ["t-9"]});
    let first =
        json!({"text": "hi", "metadata": {"urn:signet:a2a:request:1": {"message": beside}}});
    let came = Trial::new(&section(&agent, "")).ask(json!({ "parts": [first] }));
    let mut wanted = beside;
    wanted["parts"] = json!([{"text": "hi"}]);
    assert_eq!(came, Came::Answer(wanted));
}

#[test]
fn a_command_that_cannot_answer_in_a_message_has_no_other_try() {
    for (script, reason) in [
        ("echo not json", "its answer is not JSON"),
        (
            "head -c 300000 /dev/zero | tr '\\0' 'x'",
            "its answer is over 240 KiB",
        ),
        ("echo 1; echo 2", "answered-twice"),
    ] {
        let section = format!("kind = \"exec\"\ncommand = [\"/bin/sh\", \"-c\", {script:?}]");
        let fault = Trial::new(&section).unsendable(json!({}));
        assert!(fault.starts_with(reason), "{script}: {fault}");
    }
}
