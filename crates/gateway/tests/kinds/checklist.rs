//! The migration guide's validation checklist, point by point: what an agent does that breaks the point, and what becomes
//! of it here. The points on requests are those of the agent: there our own request is held against them.

use serde_json::{Value, json};

use crate::agent::{Agent, completed};
use crate::guide::{AFTER, Example};
use crate::trial::{Came, KEY, Trial};

/// What an a2a handler makes of an agent that answers so.
fn answered(answer: impl Fn(&Value) -> Value + Send + Sync + 'static) -> Came {
    let agent = Agent::json(answer);
    let mut trial = Trial::new(&format!("kind = \"a2a\"\nurl = \"{}\"", agent.url()));
    trial.ask(json!({"query": "x"}))
}

fn with(change: impl Fn(&mut Value) + Send + Sync + 'static) -> Came {
    answered(move |request| {
        let mut answer =
            json!({"jsonrpc": "2.0", "id": request["id"], "result": completed("well")});
        change(&mut answer);
        answer
    })
}

fn request(body: Value) -> Value {
    let agent = Agent::json(
        |request| json!({"jsonrpc": "2.0", "id": request["id"], "result": completed("x")}),
    );
    Trial::new(&format!("kind = \"a2a\"\nurl = \"{}\"", agent.url()))
        .ask(body)
        .answer();
    agent.seen().pop().unwrap().json()
}

#[test]
fn request_agent_accepts_json_rpc_2_0_requests() {
    for name in AFTER {
        if let Some(example) = Example::start(name) {
            let mut trial = Trial::new(&format!("kind = \"a2a\"\nurl = \"{}\"", example.url()));
            trial.ask(json!({"query": "x"})).answer();
        }
    }
}

#[test]
fn request_jsonrpc_field_equals_2_0() {
    assert_eq!(request(json!({}))["jsonrpc"], "2.0");
}

#[test]
fn request_method_field_equals_message_send() {
    assert_eq!(request(json!({}))["method"], "message/send");
}

#[test]
fn request_input_stands_in_params_message_parts() {
    let sent = request(json!({"query": "x"}));
    let message = &sent["params"]["message"];
    assert_eq!(
        (&message["role"], &message["messageId"]),
        (&json!("user"), &json!(format!("msg-{KEY}")))
    );
    assert_eq!(message["parts"].as_array().unwrap().len(), 1);
    assert_eq!(message["parts"][0]["kind"], "text");
}

#[test]
fn request_input_is_serialized_json() {
    let sent = request(json!({"query": "x", "n": [1, null]}));
    let text = sent["params"]["message"]["parts"][0]["text"]
        .as_str()
        .unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(text).unwrap(),
        json!({"query": "x", "n": [1, null]})
    );
}

#[test]
fn request_input_may_be_plain_text() {
    let sent = request(json!("What is the weather?"));
    assert_eq!(
        sent["params"]["message"]["parts"][0]["text"],
        "What is the weather?"
    );
    for name in AFTER {
        if name == "after.go" {
            // after.go expects a query in every request, and dies without one: ask it nothing here.
            continue;
        }
        if let Some(example) = Example::start(name) {
            let mut trial = Trial::new(&format!("kind = \"a2a\"\nurl = \"{}\"", example.url()));
            assert_eq!(
                trial.ask(json!("plain")).answer(),
                json!({"result": "Processed: "}),
                "{name}"
            );
        }
    }
}

#[test]
fn response_includes_jsonrpc_2_0() {
    assert_eq!(with(|_| ()), Came::Answer(json!("well")));
    let fault = with(|answer| answer["jsonrpc"] = json!("1.0")).fault();
    assert!(fault.starts_with("wrong-shape"), "{fault}");
    let fault = with(|answer| drop(answer.as_object_mut().unwrap().remove("jsonrpc"))).fault();
    assert!(fault.starts_with("wrong-shape"), "{fault}");
}

#[test]
fn response_includes_the_id_of_the_request() {
    for id in [json!("another"), json!(null), json!(1)] {
        let fault = with(move |answer| answer["id"] = id.clone()).fault();
        assert!(fault.starts_with("wrong-id"), "{fault}");
    }
}

#[test]
fn success_responses_include_a_result_object() {
    for result in [json!("well"), json!([1]), json!(null)] {
        let fault = with(move |answer| answer["result"] = result.clone()).fault();
        assert!(fault.starts_with("wrong-shape"), "{fault}");
    }
    let fault = with(|answer| drop(answer.as_object_mut().unwrap().remove("result"))).fault();
    assert!(fault.starts_with("wrong-shape"), "{fault}");
}

#[test]
fn result_includes_the_state_completed() {
    for state in ["success", "done", "Completed", "COMPLETED", ""] {
        let fault = with(move |answer| answer["result"]["status"]["state"] = json!(state)).fault();
        assert!(fault.starts_with("unknown-state"), "{state}: {fault}");
    }
}

#[test]
fn result_includes_artifacts_with_parts() {
    let fault = with(|answer| answer["result"]["artifacts"] = json!([{"name": "x"}])).fault();
    assert!(fault.starts_with("wrong-shape"), "{fault}");
    let fault = with(|answer| {
        answer["result"]["artifacts"] = json!([]);
        answer["result"]["history"] = json!([]);
    });
    let fault = fault.fault();
    assert!(fault.starts_with("no-output"), "{fault}");
}

#[test]
fn result_includes_a_history_with_roles_and_parts() {
    // Without an artifact, the output is the agent's last message in the history.
    let came = with(|answer| answer["result"]["artifacts"] = json!([]));
    assert_eq!(came, Came::Answer(json!("well")));
    for item in [
        json!({"parts": []}),
        json!({"role": "agent"}),
        json!("text"),
    ] {
        let fault = with(move |answer| answer["result"]["history"] = json!([item])).fault();
        assert!(fault.starts_with("wrong-shape"), "{fault}");
    }
}

#[test]
fn each_part_has_a_kind_and_a_text() {
    for part in [
        json!({"kind": "text"}),
        json!({"kind": "text", "text": 1}),
        json!({"kind": "odd", "text": "x"}),
        json!("x"),
    ] {
        let fault =
            with(move |answer| answer["result"]["artifacts"][0]["parts"] = json!([part])).fault();
        assert!(fault.starts_with("wrong-shape"), "{fault}");
    }
}

#[test]
fn error_responses_use_an_error_object_instead_of_a_result() {
    let fault = with(|answer| answer["error"] = json!({"code": -32603, "message": "x"})).fault();
    assert!(fault.starts_with("wrong-shape"), "{fault}");
    let words = answered(
        |request| json!({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32603, "message": "x"}}),
    );
    assert_eq!(words, Came::Declined("error -32603: x".to_owned()));
}

#[test]
fn an_error_object_includes_code_and_message() {
    for error in [
        json!({"code": -32603}),
        json!({"message": "x"}),
        json!({"code": "-32603", "message": "x"}),
        json!("x"),
    ] {
        let fault =
            answered(move |request| json!({"jsonrpc": "2.0", "id": request["id"], "error": error}))
                .fault();
        assert!(fault.starts_with("wrong-shape"), "{fault}");
    }
}

/// -32600, -32601, -32602 and -32603: the asker reads each with its words.
#[test]
fn every_error_code_reaches_whoever_asked_with_its_message() {
    for code in [-32700, -32600, -32601, -32602, -32603] {
        let came = answered(
            move |request| json!({"jsonrpc": "2.0", "id": request["id"], "error": {"code": code, "message": "Invalid params"}}),
        );
        assert_eq!(
            came,
            Came::Declined(format!("error {code}: Invalid params"))
        );
    }
}

#[test]
fn error_scenarios_of_the_guides_agents_are_refusals_with_their_words() {
    // after.py takes a text or an object. A list makes it fail inside, and it answers with an error and status 500.
    if let Some(example) = Example::start("after.py") {
        let mut trial = Trial::new(&format!("kind = \"a2a\"\nurl = \"{}\"", example.url()));
        let words = trial.ask(json!([1, 2])).declined();
        assert!(
            words.starts_with("error -32603: Internal error: "),
            "{words}"
        );
    }
}
