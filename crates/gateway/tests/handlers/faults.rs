//! Each kind against one fault each, with a peer's message behind every one: that message is set aside with a reason of one
//! name, and nobody else waits for it.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use signet_testkit::{House, eventually};

use crate::agent::{Agent, Request, answer, completed, ok};
use crate::{Handling, alice_and_bob, ask, offered};

/// What a message asks its agent to do, and what is then said of the message.
const FAULTS: [(&str, &str); 8] = [
    ("slow", "timed out"),
    ("hang up", "cut-short"),
    ("wrong id", "wrong-id"),
    ("wrong shape", "wrong-shape"),
    ("wrong content type", "wrong-content-type"),
    ("500", "http-status: 500"),
    ("10 MB", "too-large"),
    ("twice", "answered-twice"),
];

const KINDS: [&str; 4] = ["a2a", "simple-a2a", "http", "mcp"];

fn misbehave(kind: &'static str, request: &Request, stream: &mut TcpStream) {
    let value = request.json();
    let good = good(kind, &value);
    let is_greeting = kind == "mcp" && value["method"] != "tools/call";
    let text = String::from_utf8_lossy(&request.body).into_owned();
    let fault = FAULTS
        .iter()
        .find(|(fault, _)| text.contains(&format!("fault: {fault}")));
    let bytes = match fault {
        _ if is_greeting => ok(&good.to_string()),
        None if text.contains("fault: redirect") => {
            b"HTTP/1.1 302 Elsewhere\r\nlocation: /\r\ncontent-length: 0\r\n\r\n".to_vec()
        }
        None => ok(&good.to_string()),
        Some(("slow", _)) => return std::thread::sleep(Duration::from_secs(20)),
        Some(("hang up", _)) => return,
        Some(("wrong id", _)) => {
            let mut bad = good;
            let member = if kind == "simple-a2a" {
                "task_id"
            } else {
                "id"
            };
            bad[member] = json!("another");
            ok(&bad.to_string())
        }
        Some(("wrong shape", _)) => ok(&empty(kind, &value).to_string()),
        Some(("wrong content type", _)) => {
            answer("200 OK", "text/html", good.to_string().as_bytes())
        }
        Some(("500", _)) => answer("500 Oops", "text/html", b"secret"),
        Some(("10 MB", _)) => answer("200 OK", "application/json", &vec![b' '; 10 << 20]),
        Some(_) => ok(&format!("{good}{good}")),
    };
    let _ = stream.write_all(&bytes);
}

/// An answer of the right id that has nothing else of one.
fn empty(kind: &str, request: &Value) -> Value {
    match kind {
        "simple-a2a" => json!({"task_id": request["task_id"]}),
        _ => json!({"jsonrpc": "2.0", "id": request["id"]}),
    }
}

fn good(kind: &str, request: &Value) -> Value {
    let rpc = |result: Value| json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
    match kind {
        "a2a" => rpc(completed("well")),
        "simple-a2a" => {
            json!({"task_id": request["task_id"], "status": "success", "output": "well", "error": null})
        }
        "http" => rpc(json!("well")),
        _ if request["method"] == "tools/call" => {
            rpc(json!({"content": [{"type": "text", "text": "well"}]}))
        }
        _ => rpc(json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "t", "version": "1"},
        })),
    }
}

#[test]
fn each_fault_costs_one_message_with_one_name_and_delays_nobody() {
    let house = House::new();
    let (alice, bob) = alice_and_bob(&house);
    let agents: Vec<Agent> = KINDS
        .iter()
        .map(|kind| Agent::raw(move |request, stream| misbehave(kind, request, stream)))
        .collect();
    let mut file = String::new();
    for (kind, agent) in KINDS.iter().zip(&agents) {
        let tool = if *kind == "mcp" { "tool = \"t\"\n" } else { "" };
        file.push_str(&format!(
            "[[handler]]\ncapability = \"test.{kind}\"\nkind = \"{kind}\"\n{tool}url = \"{}\"\nparallel = 10\ntimeout = 2\n",
            agent.url()
        ));
    }
    let _handling = Handling::start(&bob, &file);
    let faults: Vec<(&str, &str)> = FAULTS
        .into_iter()
        .chain([("redirect", "redirected")])
        .collect();
    for kind in KINDS {
        let capability = format!("test.{kind}");
        offered(&alice, &bob, &capability);
        for (fault, _) in &faults {
            ask(
                &alice,
                &bob,
                &capability,
                &json!({"say": format!("fault: {fault}")}),
                0.0,
            );
        }
    }
    for kind in KINDS {
        let told = ask(
            &alice,
            &bob,
            &format!("test.{kind}"),
            &json!({"say": "nothing"}),
            60.0,
        );
        assert_eq!(told["answer"]["body"], "well", "{kind}: {told}");
    }
    let all = KINDS.len() * faults.len();
    let listed = eventually("each of them is set aside", || {
        let listed = bob.call("quarantine.list", &json!({})).unwrap();
        (listed["waiting"] == all).then_some(listed)
    });
    for message in listed["messages"].as_array().unwrap() {
        let body = message["body"]["say"].as_str().unwrap();
        let (_, reason) = faults
            .iter()
            .find(|(fault, _)| body == format!("fault: {fault}"))
            .unwrap();
        let why = message["failed"].as_str().unwrap();
        assert!(
            why.starts_with(reason) && !why.contains("secret"),
            "{} {body}: {why}",
            message["capability"]
        );
    }
    for kind in KINDS {
        let told = ask(
            &alice,
            &bob,
            &format!("test.{kind}"),
            &json!({"say": "again"}),
            60.0,
        );
        assert_eq!(told["answer"]["body"], "well", "{kind}: {told}");
    }
    // Look at requests alone: Bob's inbox also holds the answer to the ping of `alice_and_bob`, which nobody takes.
    let left = bob.inbox();
    let left: Vec<_> = left.iter().filter(|one| one["type"] == "request").collect();
    assert!(left.is_empty(), "{left:?}");
}
