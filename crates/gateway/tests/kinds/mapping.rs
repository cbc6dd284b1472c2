//! What each kind makes of a message, and of its agent's answer.

use serde_json::{Value, json};

use crate::agent::{Agent, completed};
use crate::trial::{Came, KEY, Trial, message};

#[test]
fn a2a_sends_the_input_as_one_text_part_under_the_messages_own_id() {
    let agent = Agent::json(
        |request| json!({"jsonrpc": "2.0", "id": request["id"], "result": completed("sunny")}),
    );
    let mut trial = Trial::new(&format!("kind = \"a2a\"\nurl = \"{}\"", agent.url()));
    let came = trial.ask(json!({"query": "What is the weather?"}));
    assert_eq!(came, Came::Answer(json!("sunny")));
    let seen = agent.seen().pop().unwrap();
    assert_eq!(seen.line, "POST /agent HTTP/1.1");
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(seen.header("a2a-version"), Some("0.3"));
    assert_eq!(seen.header("signet-from"), Some("agent-alice-001"));
    assert_eq!(
        seen.json(),
        json!({
            "jsonrpc": "2.0", "id": KEY, "method": "message/send",
            "params": {
                "message": {
                    "kind": "message", "role": "user", "messageId": format!("msg-{KEY}"),
                    "parts": [{"kind": "text", "text": "{\"query\":\"What is the weather?\"}"}],
                    // SHA-256 of ["agent-alice-001","dinner"], 16 bytes of it.
                    "contextId": "61c42cbc5b0fc49c0820a95659696ae5",
                },
                "metadata": {"signet": {
                    "from": "agent-alice-001", "principal": "alice", "dataTier": 1, "try": 1,
                    "messageId": "01a1fe09-6436-70fa-9d7f-bbebac17c158", "capability": "test.cap",
                    "conversationId": "dinner",
                }},
            },
        })
    );
    trial.ask(json!("plain words"));
    let seen = agent.seen().pop().unwrap().json();
    assert_eq!(seen["params"]["message"]["parts"][0]["text"], "plain words");
}

#[test]
fn a2a_1_0_is_spoken_as_the_specification_has_it() {
    let agent = Agent::json(|request| {
        let task = json!({
            "id": "t", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"},
            "artifacts": [{"artifactId": "a", "parts": [{"data": {"evenings": ["Tue"]}}]}],
        });
        json!({"jsonrpc": "2.0", "id": request["id"], "result": {"task": task}})
    });
    let section = format!(
        "kind = \"a2a\"\nversion = \"1.0\"\nurl = \"{}\"",
        agent.url()
    );
    let came = Trial::new(&section).ask(json!({"week": 7}));
    assert_eq!(came, Came::Answer(json!({"evenings": ["Tue"]})));
    let seen = agent.seen().pop().unwrap();
    assert_eq!(seen.header("a2a-version"), Some("1.0"));
    let seen = seen.json();
    assert_eq!(seen["method"], "SendMessage");
    let message = &seen["params"]["message"];
    assert_eq!(message["role"], "ROLE_USER");
    assert_eq!(message["parts"], json!([{"text": "{\"week\":7}"}]));
    assert!(
        message.get("kind").is_none(),
        "strict readers of 1.0 refuse it"
    );
}

#[test]
fn a_task_that_is_not_done_at_once_is_asked_for_until_it_is() {
    let agent = Agent::json(|request| {
        let result = match request["method"].as_str().unwrap() {
            "message/send" => {
                json!({"kind": "task", "id": "t", "status": {"state": "submitted"}})
            }
            "tasks/get" if request["params"] == json!({"id": "t"}) => completed("late"),
            other => panic!("{other}"),
        };
        json!({"jsonrpc": "2.0", "id": request["id"], "result": result})
    });
    let mut trial = Trial::new(&format!("kind = \"a2a\"\nurl = \"{}\"", agent.url()));
    assert_eq!(trial.ask(json!({})), Came::Answer(json!("late")));
    assert_eq!(agent.seen().len(), 2);
}

#[test]
fn simple_a2a_keeps_its_own_form() {
    let agent = Agent::json(|request| {
        json!({
            "task_id": request["task_id"], "status": "success",
            "output": {"result": request["input"]["query"]}, "error": null,
        })
    });
    let mut trial = Trial::new(&format!("kind = \"simple-a2a\"\nurl = \"{}\"", agent.url()));
    let came = trial.ask(json!({"query": "x"}));
    assert_eq!(came, Came::Answer(json!({"result": "x"})));
    let seen = agent.seen().pop().unwrap().json();
    assert_eq!(seen, json!({"task_id": KEY, "input": {"query": "x"}}));
}

#[test]
fn http_calls_the_method_with_the_body_as_its_parameters() {
    let agent = Agent::json(
        |request| json!({"jsonrpc": "2.0", "id": request["id"], "result": [request["method"], request["params"]]}),
    );
    let mut trial = Trial::new(&format!("kind = \"http\"\nurl = \"{}\"", agent.url()));
    assert_eq!(
        trial.ask(json!({"a": 1})).answer(),
        json!(["test.cap", {"a": 1}])
    );
    assert_eq!(
        trial.ask(json!([1, 2])).answer(),
        json!(["test.cap", [1, 2]])
    );
    assert_eq!(trial.ask(json!("x")).answer(), json!(["test.cap", ["x"]]));
    let section = format!(
        "kind = \"http\"\nmethod = \"add\"\nurl = \"{}\"",
        agent.url()
    );
    assert_eq!(
        Trial::new(&section).ask(json!([1])).answer(),
        json!(["add", [1]])
    );
}

#[test]
fn an_agents_error_is_a_refusal_for_whoever_asked_and_no_failed_try() {
    let error = |code: i64| json!({"code": code, "message": "no such\u{1b}[2J week"});
    for (status, code) in [
        ("200 OK", -32602),
        ("400 Bad Request", -32601),
        ("500 Oops", -32603),
    ] {
        let agent = Agent::raw(move |request, stream| {
            use std::io::Write as _;
            let body = json!({"jsonrpc": "2.0", "id": request.json()["id"], "error": error(code)});
            let bytes =
                crate::agent::answer(status, "application/json", body.to_string().as_bytes());
            stream.write_all(&bytes).unwrap();
        });
        for kind in ["a2a", "http"] {
            let mut trial = Trial::new(&format!("kind = \"{kind}\"\nurl = \"{}\"", agent.url()));
            let words = trial.ask(json!({})).declined();
            assert_eq!(
                words,
                format!("error {code}: no such\\u001b[2J week"),
                "{kind}"
            );
        }
    }
    let agent = Agent::json(
        |request| json!({"task_id": request["task_id"], "status": "error", "output": null, "error": "no week"}),
    );
    let mut trial = Trial::new(&format!("kind = \"simple-a2a\"\nurl = \"{}\"", agent.url()));
    assert_eq!(trial.ask(json!({})).declined(), "error: no week");
}

#[test]
fn what_is_above_the_handlers_tier_and_handoffs_never_reach_its_agent() {
    let agent = Agent::json(|_| Value::Null);
    let section = format!("kind = \"http\"\ntier = 2\nurl = \"{}\"", agent.url());
    let mut trial = Trial::new(&section);
    let mut secret = message(json!({"diagnosis": "x"}));
    secret.data_tier = 3;
    let words = trial.hand(&secret).declined();
    assert_eq!(words, "what handles this here takes data up to tier 2");
    let mut task = message(json!({}));
    task.message_type = "handoff".to_owned();
    assert_eq!(trial.hand(&task), Came::Nothing);
    assert!(agent.seen().is_empty());
}

#[test]
fn a_token_goes_in_its_header_and_is_read_anew_for_each_request() {
    let agent = Agent::json(|request| json!({"jsonrpc": "2.0", "id": request["id"], "result": 1}));
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("token"), "first\n").unwrap();
    let section = format!(
        "kind = \"http\"\ntoken-file = \"token\"\nurl = \"{}\"",
        agent.url()
    );
    let trace = signet_gateway::handle::Trace::off();
    let mut trial = Trial::within(dir.path(), &section, &trace);
    trial.ask(json!({})).answer();
    std::fs::write(dir.path().join("token"), "second\n").unwrap();
    trial.ask(json!({})).answer();
    std::fs::remove_file(dir.path().join("token")).unwrap();
    assert!(trial.ask(json!({})).fault().starts_with("no-token"));
    let sent: Vec<_> = agent.seen();
    let sent: Vec<_> = sent
        .iter()
        .filter_map(|seen| seen.header("authorization"))
        .collect();
    assert_eq!(sent, ["Bearer first", "Bearer second"]);
}
