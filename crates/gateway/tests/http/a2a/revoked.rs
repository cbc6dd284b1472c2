//! Tasks of a token that holds no more.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};
use signet_testkit::{Home, House, eventually};

use super::client::begins;
use crate::client::{Gateway, token};

/// Whatever is posted to it, as it came.
fn listener() -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (came, all) = channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut bytes = vec![0; 64 << 10];
            let length = stream.read(&mut bytes).unwrap_or(0);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
            let text = String::from_utf8_lossy(&bytes[..length]).into_owned();
            if came.send(text).is_err() {
                return;
            }
        }
    });
    (url, all)
}

fn call(gateway: &Gateway, token: &str, method: &str, params: &Value) -> Value {
    let bearer = format!("Authorization: Bearer {token}");
    let head = [
        "POST /a2a/agent-bob HTTP/1.1",
        "Host: localhost",
        "Content-Type: application/json",
        "A2A-Version: 1.0",
        &bearer,
    ];
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    gateway.send(&head, body.to_string().as_bytes()).json()
}

/// The request that Bob's person finds in the inbox, answered.
fn answer(bob: &Home, body: &str) {
    let asked = eventually("the request came", || {
        let inbox = bob.inbox();
        let asked = inbox.iter().find(|came| came["type"] == "request")?;
        Some(asked["message-id"].clone())
    });
    let reply = json!({"message-id": asked, "body": body});
    bob.call("reply", &reply).unwrap();
}

#[test]
fn what_a_revoked_token_asked_for_is_pushed_no_more_and_nobody_inherits_it() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    bob.ping(&alice);
    let first = token(&alice, "laptop", &[]);
    let gateway = Gateway::start(&alice, "[outgoing]\nloopback = true\n");
    let (url, came) = listener();
    let mut said = begins("m", "a word between us");
    said["configuration"]["taskPushNotificationConfig"] = json!({"url": url});
    let told = call(&gateway, &first, "SendMessage", &said);
    let task = told["result"]["task"]["id"].clone();
    assert!(task.is_string(), "{told}");

    alice.done(&["token", "revoke", "laptop"]);
    answer(&bob, "for laptop alone");
    eventually("the gateway has the answer", || {
        let log = alice.log();
        let is_answer = |line: &Value| {
            let text = line.to_string();
            text.contains("\"response\"") && text.contains("\"accepted\"")
        };
        (log.iter().any(is_answer) && alice.inbox().is_empty()).then_some(())
    });
    std::thread::sleep(Duration::from_secs(1));
    let pushed: Vec<String> = came.try_iter().collect();
    assert!(
        pushed.iter().all(|post| !post.contains("for laptop alone")),
        "{pushed:?}"
    );

    let second = token(&alice, "laptop", &["--tier", "1"]);
    let found = eventually("the new token is let in", || {
        let found = call(&gateway, &second, "GetTask", &json!({"id": task}));
        found["error"]["code"].is_number().then_some(found)
    });
    assert_eq!(found["error"]["code"], -32001, "{found}");
    let listed = call(&gateway, &second, "ListTasks", &json!({}));
    assert_eq!(listed["result"]["totalSize"], 0, "{listed}");
}
