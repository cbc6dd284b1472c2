//! What an agent or a server says while it works reaches whoever asked, as data, and settles nothing.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use signet_testkit::{Home, House, eventually};

use crate::agent::{Agent, completed, ok};
use crate::{Handling, alice_and_bob, ask, offered};

/// Words that would drive a terminal, and how they may be passed on.
const WORDS: [&str; 2] = ["half\u{1b}[2J\nof it", "half\\u001b[2J of it"];

/// Asks, and gives what is known of the request as soon as the peer has said something of it.
fn asked(alice: &Home, bob: &Home, capability: &str) -> (String, Value) {
    offered(alice, bob, capability);
    let sent = ask(alice, bob, capability, &json!({"week": 7}), 0.0);
    let id = sent["message-id"].as_str().unwrap().to_owned();
    let told = eventually("progress comes", || {
        let status = alice
            .call("message.status", &json!({"message-id": id}))
            .unwrap();
        status["progress"]["note"].is_string().then_some(status)
    });
    (id, told)
}

fn answer_of(alice: &Home, request: &str) -> Value {
    eventually("the answer comes", || {
        let mut inbox = alice.inbox().into_iter();
        inbox.find(|item| item["in-reply-to"] == request)
    })
}

#[test]
fn what_a_tool_of_an_mcp_server_says_of_its_progress_is_passed_on() {
    let house = House::new();
    let (alice, bob) = alice_and_bob(&house);
    let done = Arc::new(AtomicBool::new(false));
    let waits = Arc::clone(&done);
    let server = Agent::raw(move |request, stream| {
        let request = request.json();
        let rpc = |result: Value| json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
        let greeting = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "t", "version": "1"}});
        if request["method"] != "tools/call" {
            let _ = stream.write_all(&ok(&rpc(greeting).to_string()));
            return;
        }
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n");
        let token = &request["params"]["_meta"]["progressToken"];
        // The first notification has the progress token of another call: the handler must not pass it on.
        for (token, message) in [(&json!("another"), "not this"), (token, WORDS[0])] {
            let params =
                json!({"progressToken": token, "progress": 1, "total": 2, "message": message});
            let told =
                json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
            let _ = stream.write_all(format!("data: {told}\n\n").as_bytes());
        }
        while !waits.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let last = rpc(json!({"content": [{"type": "text", "text": "well"}]}));
        let _ = stream.write_all(format!("data: {last}\n\n").as_bytes());
    });
    let file = format!(
        "[[handler]]\ncapability = \"test.mcp\"\nkind = \"mcp\"\ntool = \"t\"\nurl = \"{}\"\n",
        server.url()
    );
    let _handling = Handling::start(&bob, &file);
    let (request, told) = asked(&alice, &bob, "test.mcp");
    assert_eq!(told["progress"]["note"], WORDS[1], "{told}");
    assert_eq!(told["state"], "received", "it settles nothing: {told}");
    done.store(true, Ordering::SeqCst);
    assert_eq!(answer_of(&alice, &request)["body"], "well");
}

#[test]
fn what_an_agent_of_a2a_says_of_its_task_is_passed_on() {
    let house = House::new();
    let (alice, bob) = alice_and_bob(&house);
    let done = Arc::new(AtomicBool::new(false));
    let waits = Arc::clone(&done);
    let agent = Agent::json(move |request| {
        let said = json!({"role": "agent", "parts": [{"kind": "text", "text": WORDS[0]}]});
        let working =
            json!({"kind": "task", "id": "t", "status": {"state": "working", "message": said}});
        let result = match waits.load(Ordering::SeqCst) {
            true => completed("well"),
            false => working,
        };
        json!({"jsonrpc": "2.0", "id": request["id"], "result": result})
    });
    let file = format!(
        "[[handler]]\ncapability = \"test.a2a\"\nkind = \"a2a\"\nurl = \"{}\"\n",
        agent.url()
    );
    let _handling = Handling::start(&bob, &file);
    let (request, told) = asked(&alice, &bob, "test.a2a");
    assert_eq!(told["progress"]["note"], WORDS[1], "{told}");
    done.store(true, Ordering::SeqCst);
    assert_eq!(answer_of(&alice, &request)["body"], "well");
}
