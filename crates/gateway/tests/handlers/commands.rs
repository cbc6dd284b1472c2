//! `signet handler test` and `signet handler trace`, and what is said of a file that cannot be used.

use serde_json::{Value, json};
use signet_testkit::{House, eventually, says};

use crate::agent::Agent;
use crate::{Handling, alice_and_bob, ask, offered};

fn file(agent: &Agent) -> String {
    format!(
        "[[handler]]\ncapability = \"test.rpc\"\nkind = \"http\"\nmethod = \"look\"\nurl = \"{}\"\n",
        agent.url()
    )
}

#[test]
fn a_handler_is_tried_without_a_peer_and_without_a_daemon() {
    let house = House::new();
    let bob = house.home("bob");
    let agent = Agent::json(|request| match request["params"]["week"].as_u64() {
        Some(7) => json!({"jsonrpc": "2.0", "id": request["id"], "result": "\u{1b}[2Jfree"}),
        Some(_) => json!({"jsonrpc": "2.0", "id": "another", "result": 1}),
        None => {
            json!({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32602, "message": "no week"}})
        }
    });
    std::fs::write(bob.dir.join("handlers.toml"), file(&agent)).unwrap();
    let told = bob.done(&["handler", "test", "test.rpc", "{\"week\": 7}"]);
    let lines: Vec<&str> = told.lines().collect();
    let sent: Value = serde_json::from_str(lines[0].strip_prefix("sent: ").unwrap()).unwrap();
    assert_eq!(
        (&sent["method"], &sent["params"]),
        (&json!("look"), &json!({"week": 7}))
    );
    assert!(
        lines[1].starts_with("heard: {") && !told.contains('\u{1b}'),
        "{told}"
    );
    assert_eq!(lines[2], "{\"answered\":\"\\u001b[2Jfree\"}");
    let told = bob.done(&["handler", "test", "test.rpc", "{}"]);
    assert!(
        told.ends_with("{\"declined\":\"error -32602: no week\"}\n"),
        "{told}"
    );
    let output = bob.cli(&["handler", "test", "test.rpc", "{\"week\": 8}"]);
    let said = says(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("wrong-id") && said.contains("next:"),
        "{said}"
    );
    let said = bob.fails(2, &["handler", "test", "test.other", "{}"]);
    assert!(said.contains("no handler of `test.other`"), "{said}");
    let said = bob.fails(2, &["handler", "test", "test.rpc", "{week}"]);
    assert!(said.contains("not JSON"), "{said}");
}

#[test]
fn a_file_that_is_missing_or_wrong_is_named_with_its_line() {
    let house = House::new();
    let bob = house.home("bob");
    let said = bob.fails(2, &["handle"]);
    assert!(
        said.contains("handlers.toml") && said.contains("next:"),
        "{said}"
    );
    let wrong = "[[handler]]\ncapability = \"a\"\nkind = \"http\"\nurrl = \"http://127.0.0.1/\"\n";
    std::fs::write(bob.dir.join("handlers.toml"), wrong).unwrap();
    let said = bob.fails(2, &["handle"]);
    assert!(said.contains("line 4") && said.contains("urrl"), "{said}");
}

#[test]
fn the_trace_of_a_running_handler_is_switched_on_shown_and_switched_off() {
    let house = House::new();
    let (alice, bob) = alice_and_bob(&house);
    let agent = Agent::json(
        |request| json!({"jsonrpc": "2.0", "id": request["id"], "result": request["params"]}),
    );
    let _handling = Handling::start(&bob, &file(&agent));
    offered(&alice, &bob, "test.rpc");
    let said = bob.fails(1, &["handler", "trace", "show"]);
    assert!(said.contains("nothing is traced"), "{said}");
    bob.done(&["handler", "trace", "on"]);
    let told = ask(
        &alice,
        &bob,
        "test.rpc",
        &json!({"x": "\u{1b}]0;title\u{7}"}),
        60.0,
    );
    assert!(told["answer"]["body"].is_object(), "{told}");
    let shown = eventually("both ways are traced", || {
        let shown = bob.done(&["handler", "trace", "show"]);
        (shown.lines().count() == 2).then_some(shown)
    });
    assert!(
        !shown.contains('\u{1b}') && shown.contains("\"way\":\"sent\""),
        "{shown}"
    );
    bob.done(&["handler", "trace", "off"]);
    assert!(!bob.dir.join("handlers.trace").exists());
    let output = bob.cli(&["handler", "trace", "show"]);
    assert!(says(&output).contains("nothing is traced"));
}
