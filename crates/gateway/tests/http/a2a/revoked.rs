//! Tasks of a token that holds no more.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use signet_testkit::{Home, House, eventually};

use super::client::{Agent, begins};
use crate::client::{Gateway, token};

/// Whatever is posted to it, as it came.
pub(super) fn listener() -> (String, Receiver<String>) {
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

pub(super) fn call(gateway: &Gateway, token: &str, method: &str, params: &Value) -> Value {
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
    let reply = json!({"message": {"message-id": asked}, "body": body});
    bob.call("respond", &reply).unwrap();
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

/// Replaces a file as the gateway's own commands do: the gateway, which looks at it meanwhile, finds the old text or the new.
fn rewrite(file: &Path, text: &str) {
    let beside = file.with_extension("beside");
    std::fs::write(&beside, text).unwrap();
    std::fs::rename(beside, file).unwrap();
}

/// Of a token, within what [`call`] asks.
fn said(gateway: &Gateway, token: &str, task: &Value) -> String {
    let told = call(gateway, token, "GetTask", &json!({"id": task}));
    told["result"]["status"].to_string()
}

#[test]
fn what_waits_in_the_gateway_leaves_for_no_token_that_was_revoked_or_reaches_its_peer_no_more() {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    bob.configure(
        "[offer]",
        "[offer]\nallow = [\"test.*\"]\nlinger-seconds = 0",
    );
    house.acquaint(&[&alice, &bob]);
    alice.start();
    bob.start();
    bob.ping(&alice);
    let [laptop, phone, stays] = ["laptop", "phone", "stays"].map(|name| token(&alice, name, &[]));
    let gateway = Gateway::start(&alice, "");
    let agent = Agent::offering(&bob, "test.talk");
    let begin = |token: &str, words: &str| {
        let told = call(&gateway, token, "SendMessage", &begins(words, words));
        told["result"]["task"]["id"].clone()
    };
    let offers = || {
        let shown = alice
            .call("peer.show", &json!({"peer": bob.agent}))
            .unwrap();
        shown["capabilities"].as_array().map_or(0, Vec::len)
    };
    eventually("the offer is told", || (offers() == 1).then_some(()));
    let first = begin(&stays, "first");
    eventually("it is answered", || {
        said(&gateway, &stays, &first)
            .contains("COMPLETED")
            .then_some(())
    });
    drop(agent);
    eventually("the offer ends", || (offers() == 0).then_some(()));
    let waiting = [
        (&laptop, begin(&laptop, "words of the laptop")),
        (&phone, begin(&phone, "words of the phone")),
        (&stays, begin(&stays, "words that stay")),
    ];
    for (token, task) in &waiting {
        eventually("it waits in the gateway", || {
            said(&gateway, token, task)
                .contains("is away")
                .then_some(())
        });
    }
    alice.done(&["token", "revoke", "laptop"]);
    let file = alice.dir.join("gateway-tokens.toml");
    let tokens = std::fs::read_to_string(&file).unwrap();
    let narrower = tokens.replacen("tier =", "peers = [\"agent-carol\"]\ntier =", 1);
    assert!(
        narrower.find("carol") < narrower.find("stays"),
        "{narrower}"
    );
    rewrite(&file, &narrower);
    let _agent = Agent::offering(&bob, "test.talk");
    let (_, task) = &waiting[2];
    eventually("what may leave leaves", || {
        said(&gateway, &stays, task)
            .contains("COMPLETED")
            .then_some(())
    });
    // The longest pause between two tries is 10 s: by now the gateway would have tried the messages of both tokens
    // again.
    std::thread::sleep(Duration::from_secs(12));
    let log = format!("{:?}", bob.log());
    assert!(log.contains("words that stay"));
    assert!(!log.contains("words of the"), "it left all the same");
}

/// The number that a query finds in the gateway's file, which nobody else opens while it runs: in a copy of it.
pub(super) fn stored(home: &Home, query: &str) -> Option<i64> {
    let copy = tempfile::tempdir().unwrap();
    let mut store = None;
    for entry in std::fs::read_dir(&home.dir).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with("a2a.db") || name.ends_with("a2a.db-wal") {
            let copied = copy.path().join(&name);
            std::fs::copy(entry.path(), &copied).ok()?;
            store = store.or(name.ends_with(".db").then_some(copied));
        }
    }
    // The files were copied while the gateway may have written them, and the copy may be unreadable then: give `None`,
    // and the caller looks again.
    let db = rusqlite::Connection::open(store?).ok()?;
    db.query_row(query, [], |row| row.get(0)).ok()
}

fn open_tasks(home: &Home) -> Option<i64> {
    stored(home, "SELECT count(*) FROM tasks WHERE is_over = 0")
}

fn until_open(home: &Home, many: i64) {
    eventually(&format!("{many} tasks are open"), || {
        (open_tasks(home)? == many).then_some(())
    });
}

/// Alice's gateway with a task of a token open at Bob, who never answers.
fn with_an_open_task(house: &House) -> (Home, Home, Gateway) {
    let (alice, bob) = house.alice_and_bob();
    bob.ping(&alice);
    let laptop = token(&alice, "laptop", &["--days", "1"]);
    let gateway = Gateway::start(&alice, "");
    let told = call(&gateway, &laptop, "SendMessage", &begins("m", "a word"));
    assert!(told["result"]["task"]["id"].is_string(), "{told}");
    until_open(&alice, 1);
    (alice, bob, gateway)
}

#[test]
fn a_token_that_is_revoked_while_the_gateway_runs_leaves_no_open_task() {
    let house = House::new();
    let (alice, _bob, _gateway) = with_an_open_task(&house);
    alice.done(&["token", "revoke", "laptop"]);
    until_open(&alice, 0);
}

#[test]
fn a_token_that_was_revoked_while_the_gateway_was_stopped_leaves_no_open_task_at_its_start() {
    let house = House::new();
    let (alice, _bob, gateway) = with_an_open_task(&house);
    drop(gateway);
    alice.done(&["token", "revoke", "laptop"]);
    assert_eq!(open_tasks(&alice), Some(1), "nothing has ended it yet");
    let _gateway = Gateway::start(&alice, "");
    until_open(&alice, 0);
}

#[test]
fn a_token_that_expires_leaves_no_open_task() {
    let house = House::new();
    let (alice, _bob, _gateway) = with_an_open_task(&house);
    let file = alice.dir.join("gateway-tokens.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let (before, rest) = text.split_once("expires = ").unwrap();
    let (_, after) = rest.split_once('\n').unwrap();
    // Let the token expire while the gateway runs and has read the file: the gateway has to see this without another
    // change of the file.
    let soon = SystemTime::now() + Duration::from_secs(4);
    let soon = soon.duration_since(UNIX_EPOCH).unwrap().as_secs();
    rewrite(&file, &format!("{before}expires = {soon}\n{after}"));
    until_open(&alice, 0);
}
