//! `/rpc`: JSON-RPC to the letter, and no further than the token.

use std::io::{BufReader, Write as _};

use serde_json::{Value, json};
use signet_testkit::House;

use crate::client::{Answer, Gateway, chunk, three, token};

#[test]
fn a_program_sends_receives_and_responds() {
    let house = House::new();
    let [alice, bob, _] = three(&house);
    let gateway = Gateway::start(&alice, "");
    let token = token(&alice, "laptop", &[]);
    let status = gateway.rpc(&token, "status", &json!({}));
    assert_eq!(status["result"]["agent"], alice.agent);
    assert_eq!(status["result"].get("pid"), None, "what is the person's");
    let asked = json!({"peer": alice.agent, "kind": "request", "body": {"week": 8}});
    let asked = bob.call("send", &asked).unwrap();
    let received = gateway.rpc(&token, "receive", &json!({"wait": 10}));
    let message = &received["result"]["messages"][0];
    assert_eq!(message["body"], json!({"week": 8}), "{received}");
    // The lease outlives the request that took it.
    let again = gateway.rpc(&token, "receive", &json!({"wait": 0.2}));
    assert_eq!(again["result"]["messages"], json!([]));
    let lease = json!({"lease": message["lease"], "body": {"free": true}});
    let responded = gateway.rpc(&token, "respond", &lease);
    assert!(responded["result"]["message-id"].is_string(), "{responded}");
    let told = json!({"peer": bob.agent, "kind": "notification", "body": 1, "wait": 10});
    let told = gateway.rpc(&token, "send", &told);
    assert_eq!(told["result"]["state"], "received", "{told}");
    let shown = json!({"message-id": asked["message-id"]});
    let state = signet_testkit::eventually("it is answered", || {
        let shown = bob.call("message.status", &shown).unwrap();
        (shown["state"] == "answered").then_some(shown)
    });
    assert_eq!(state["state"], "answered");
}

#[test]
fn every_example_of_the_specification_is_answered_as_it_says() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let gateway = Gateway::start(&alice, "");
    let token = token(&alice, "laptop", &["--requests-per-minute", "10000"]);
    let post = |body: &str| gateway.post("/rpc", &token, body);
    let notification = post(r#"{"jsonrpc":"2.0","method":"status"}"#);
    assert_eq!((notification.status, notification.body.len()), (204, 0));
    let all = r#"[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","method":"b","params":[7]}]"#;
    assert_eq!(post(all).status, 204);
    for (body, code, id) in [
        (
            r#"{"jsonrpc":"2.0","method":"foobar","id":"1"}"#,
            -32601,
            "\"1\"",
        ),
        (
            r#"{"jsonrpc":"2.0","method":"foobar","id":1.0}"#,
            -32601,
            "1.0",
        ),
        (
            r#"{"jsonrpc":"2.0","method":"foobar","id":12345678901234567890}"#,
            -32601,
            "12345678901234567890",
        ),
        (
            r#"{"jsonrpc":"2.0","method":"foobar","id":null}"#,
            -32601,
            "null",
        ),
        (
            r#"{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]"#,
            -32700,
            "null",
        ),
        (
            r#"{"jsonrpc":"2.0","method":1,"params":"bar"}"#,
            -32600,
            "null",
        ),
        ("[]", -32600, "null"),
        ("", -32700, "null"),
        (
            r#"{"jsonrpc":"2.0","method":"history","params":{"pear":1},"id":3}"#,
            -32602,
            "3",
        ),
        (
            r#"{"jsonrpc":"2.0","method":"narrow","params":{"tier":1},"id":3}"#,
            -32601,
            "3",
        ),
    ] {
        let answer = post(body);
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, Some("application/json")),
            "{body}"
        );
        assert!(
            answer.text().ends_with(&format!("\"id\":{id}}}")),
            "{body}: {}",
            answer.text()
        );
        assert_eq!(answer.json()["error"]["code"], code, "{body}");
    }
    let mixed = r#"[{"jsonrpc":"2.0","method":"status","id":"a"},1,{"jsonrpc":"2.0","method":"status"},
        {"jsonrpc":"2.0","method":"x","id":2}]"#;
    let answers = post(mixed).json();
    let answers = answers.as_array().unwrap();
    let ids: Vec<&Value> = answers.iter().map(|answer| &answer["id"]).collect();
    assert_eq!(ids, [&json!("a"), &Value::Null, &json!(2)]);
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let within = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"status","params":{deep}}}"#);
    assert_eq!(post(&within).json()["error"]["code"], -32602);
    assert_eq!(post(&"[".repeat(100_000)).json()["error"]["code"], -32700);
}

/// Each line is an attempt of whoever holds a token to reach further than it.
#[test]
fn a_token_reaches_no_further_than_its_scope_by_whatever_name() {
    let house = House::new();
    let [alice, bob, carol] = three(&house);
    let gateway = Gateway::start(&alice, "");
    let narrow = token(&alice, "narrow", &["--peer", &bob.agent, "--tier", "1"]);
    let looks = token(&alice, "looks", &["--read", "--tier", "4"]);
    for (from, body, tier) in [
        (&bob, "from bob", 1),
        (&bob, "sealed", 3),
        (&carol, "from carol", 1),
    ] {
        let sent = json!({"peer": alice.agent, "kind": "request", "body": body, "data-tier": tier});
        from.call("send", &sent).unwrap();
    }
    signet_testkit::eventually("three messages wait", || {
        (alice.inbox().len() == 3).then_some(())
    });
    let all = alice.call("inbox.list", &json!({})).unwrap();
    assert_eq!(all["messages"].as_array().unwrap().len(), 3);
    let name = |of: &str| {
        let all = all["messages"].as_array().unwrap();
        let message = all.iter().find(|message| message["body"] == of).unwrap();
        json!({"from": message["from"], "message-id": message["message-id"]})
    };
    // Calls that list show only messages and peers within the token's scope.
    let listed = gateway.rpc(&narrow, "inbox.list", &json!({}));
    let bodies: Vec<&Value> = listed["result"]["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["body"])
        .collect();
    assert_eq!(bodies, [&json!("from bob")], "{listed}");
    let peers = gateway.rpc(&narrow, "peer.list", &json!({}));
    assert!(!peers.to_string().contains(&carol.agent), "{peers}");
    let history = gateway.rpc(&narrow, "history", &json!({}));
    assert!(!history.to_string().contains("from carol"), "{history}");
    let beyond = |token: &str, method: &str, params: Value| {
        let answer = gateway.rpc(token, method, &params);
        let reason = &answer["error"]["data"]["reason"];
        assert!(
            reason == "beyond-ceiling" || reason == "not-for-this-socket",
            "{method}: {answer}"
        );
    };
    let to = |peer: &str, tier: u8| json!({"peer": peer, "kind": "notification", "body": 1, "data-tier": tier});
    beyond(&narrow, "send", to(&carol.agent, 1));
    beyond(&narrow, "send", to(&bob.agent, 2));
    beyond(&narrow, "history", json!({"peer": carol.agent}));
    beyond(&narrow, "peer.show", json!({"peer": carol.agent}));
    beyond(
        &narrow,
        "respond",
        json!({"message": name("from carol"), "body": 1}),
    );
    beyond(
        &narrow,
        "respond",
        json!({"message": name("sealed"), "body": 1}),
    );
    beyond(
        &narrow,
        "acknowledge",
        json!({"messages": [name("from bob"), name("from carol")]}),
    );
    beyond(&narrow, "trust.list", json!({}));
    beyond(&narrow, "quarantine.list", json!({}));
    beyond(&looks, "send", to(&bob.agent, 1));
    beyond(
        &looks,
        "acknowledge",
        json!({"messages": [name("from bob")]}),
    );
    beyond(&looks, "receive", json!({}));
    // In a batch each call is limited by the token as well: `narrow` is no call for tokens, and does not widen the
    // calls after it.
    let batch = json!([
        {"jsonrpc": "2.0", "id": 1, "method": "narrow", "params": {"tier": 4}},
        {"jsonrpc": "2.0", "id": 2, "method": "send", "params": to(&carol.agent, 1)},
    ]);
    let answers = gateway.post("/rpc", &narrow, &batch.to_string()).json();
    assert_eq!(answers[0]["error"]["code"], -32601);
    assert_eq!(answers[1]["error"]["data"]["reason"], "beyond-ceiling");
    assert_eq!(
        alice.call("inbox.list", &json!({})).unwrap()["waiting"],
        3,
        "nothing was taken"
    );
    let seen = gateway.rpc(&looks, "inbox.list", &json!({}));
    assert_eq!(seen["result"]["waiting"], 3);
    let gone = gateway.rpc(&narrow, "inbox.acknowledge", &json!({"messages": []}));
    let error = &gone["error"];
    assert_eq!(error["data"]["reason"], "call-gone", "{gone}");
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("; call acknowledge ")
    );
}

/// A gateway in an attacker's hands has the socket by hand: what it narrowed stays narrow, and it widens nothing.
#[test]
fn the_daemon_itself_holds_a_connection_to_what_it_was_narrowed_to() {
    let house = House::new();
    let [alice, bob, carol] = three(&house);
    let socket = alice.dir.join("agent.sock");
    let mut client = signet_api::Client::connect(&socket, signet_testkit::PATIENCE).unwrap();
    let narrow = |peers: Option<Vec<String>>, tier| signet_api::Narrow {
        peers,
        tier,
        read: false,
    };
    client
        .call(&narrow(Some(vec![bob.agent.clone()]), 1))
        .unwrap();
    assert_eq!(client.call(&narrow(None, 4)).unwrap().tier, 1);
    let to = |peer: &str| signet_api::Send::new(peer, signet_api::Kind::Notification, json!(1));
    assert!(client.call(&to(&carol.agent)).is_err());
    assert!(client.call(&to(&bob.agent)).is_ok());
    let mut other = signet_api::Client::connect(&socket, signet_testkit::PATIENCE).unwrap();
    assert!(
        other.call(&to(&carol.agent)).is_ok(),
        "one connection is narrow, not the socket"
    );
}

#[test]
fn what_moves_comes_as_events_and_ends_with_the_token() {
    let house = House::new();
    let [alice, bob, _] = three(&house);
    let gateway = Gateway::start(&alice, "");
    let token = token(&alice, "laptop", &[]);
    let without = gateway.rpc(&token, "inbox.follow", &json!({}));
    assert_eq!(without["error"]["data"]["reason"], "needs-a-stream");
    let mut stream = gateway.connect();
    let body = r#"{"jsonrpc":"2.0","id":7,"method":"inbox.follow"}"#;
    write!(
        stream,
        "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: text/event-stream\r\n\
         Authorization: Bearer {token}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut input = BufReader::new(stream);
    let mut line = String::new();
    while std::io::BufRead::read_line(&mut input, &mut line).unwrap() > 2 {
        line = line.to_ascii_lowercase();
    }
    assert!(line.contains("content-type: text/event-stream"), "{line}");
    let event = |input: &mut BufReader<_>| -> Value {
        let piece = String::from_utf8(chunk(input).unwrap()).unwrap();
        let text = piece.strip_prefix("data: ").unwrap();
        serde_json::from_str(text.trim_end()).unwrap()
    };
    assert_eq!(event(&mut input)["id"], 7);
    let sent = json!({"peer": alice.agent, "kind": "notification", "body": "now", "wait": 10});
    bob.call("send", &sent).unwrap();
    let told = event(&mut input);
    assert_eq!(
        (&told["method"], &told["params"]["body"]),
        (&json!("inbox.message"), &json!("now"))
    );
    alice.done(&["token", "revoke", "laptop"]);
    let end = chunk(&mut input);
    assert!(end.is_none() || end.is_some_and(|piece| piece.is_empty() || piece.starts_with(b":")));
    assert_eq!(gateway.post("/rpc", &token, body).status, 401);
}

#[test]
fn the_answers_to_a_batch_stay_within_32_mib_together() {
    let house = House::new();
    let [alice, bob, _] = three(&house);
    let gateway = Gateway::start(&alice, "");
    let token = token(&alice, "laptop", &[]);
    let body = "x".repeat(200 << 10);
    for _ in 0..20 {
        let sent = json!({"peer": bob.agent, "kind": "notification", "body": body});
        alice.call("send", &sent).unwrap();
    }
    let calls = (0..24).map(
        |id| json!({"jsonrpc": "2.0", "id": id, "method": "history", "params": {"limit": 1000}}),
    );
    let batch = Value::Array(calls.collect());
    let answer = gateway.post("/rpc", &token, &batch.to_string());
    assert!(answer.body.len() <= 33 << 20, "{} bytes", answer.body.len());
    let answers = answer.json();
    let reasons = answers.as_array().unwrap().iter();
    let reasons: Vec<&Value> = reasons.map(|one| &one["error"]["data"]["reason"]).collect();
    assert_eq!(reasons.len(), 24);
    assert!(reasons.contains(&&json!("batch-too-long")), "{reasons:?}");
    assert!(reasons.contains(&&Value::Null), "what fits is shown");
}

#[test]
fn a_daemon_that_is_away_is_said_to_be_and_is_there_again() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let gateway = Gateway::start(&alice, "");
    let token = token(&alice, "laptop", &[]);
    assert!(gateway.rpc(&token, "status", &json!({}))["result"].is_object());
    alice.kill();
    let away = gateway.rpc(&token, "status", &json!({}));
    assert_eq!(away["error"]["data"]["reason"], "daemon-away", "{away}");
    assert!(!away.to_string().contains("agent.sock"), "{away}");
    alice.start();
    assert!(gateway.rpc(&token, "status", &json!({}))["result"].is_object());
}

#[test]
fn an_answer_tells_its_end_to_a_connection_that_stays() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let gateway = Gateway::start(&alice, "");
    let token = token(&alice, "laptop", &[]);
    let mut stream = gateway.connect();
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"status"}"#;
    let request = format!(
        "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer {token}\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    // Send the second request before the first is answered: both answers come, each with its end marked.
    stream.write_all(request.repeat(2).as_bytes()).unwrap();
    let mut input = BufReader::new(stream);
    for _ in 0..2 {
        let answer = Answer::read(&mut input).unwrap();
        assert_eq!(answer.json()["result"]["agent"], alice.agent);
        assert_eq!(answer.header("cache-control"), Some("no-store"));
    }
}
