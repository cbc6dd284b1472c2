//! Calls that wait, and calls that are done at once: neither keeps the other from the daemon.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use signet_testkit::House;

use crate::client::{Answer, Gateway, three, token};
use crate::mcp::{Session, event};

/// What is done at once, and for how long that took.
pub(crate) fn at_once(gateway: &Gateway, token: &str) -> Duration {
    let began = Instant::now();
    let status = gateway.rpc(token, "status", &json!({}));
    assert!(status["result"]["agent"].is_string(), "{status}");
    let card = [
        "GET /.well-known/agent-card.json HTTP/1.1",
        "Host: localhost",
    ];
    assert_eq!(gateway.send(&card, b"").status, 200);
    let tasks = json!({"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}});
    let bearer = format!("Authorization: Bearer {token}");
    let head = [
        "POST /a2a/agent-bob HTTP/1.1",
        "Host: localhost",
        "Content-Type: application/json",
        "A2A-Version: 1.0",
        &bearer,
    ];
    let tasks = gateway.send(&head, tasks.to_string().as_bytes()).json();
    assert_eq!(tasks["result"]["totalSize"], 0, "{tasks}");
    began.elapsed()
}

#[test]
fn forty_calls_that_wait_keep_nobody_from_a_call_that_is_done_at_once_and_none_of_them_fails() {
    let house = House::new();
    let [alice, _bob, _carol] = three(&house);
    let gateway = &Gateway::start(&alice, "[a2a]\n");
    let [one, two, third] = ["one", "two", "third"].map(|name| token(&alice, name, &[]));
    std::thread::scope(|scope| {
        let wait = |token: &str| {
            let token = token.to_owned();
            scope.spawn(move || gateway.rpc(&token, "receive", &json!({"wait": 25.0})))
        };
        let waiting: Vec<_> = (0..20).flat_map(|_| [wait(&one), wait(&two)]).collect();
        std::thread::sleep(Duration::from_secs(3));
        for token in [&third, &one] {
            let took = at_once(gateway, token);
            assert!(took < Duration::from_secs(8), "{took:?}");
        }
        for waited in waiting {
            let waited = waited.join().unwrap();
            assert_eq!(waited["result"]["messages"], json!([]), "{waited}");
        }
    });
}

#[test]
fn one_who_waits_in_line_sends_at_once_and_hears_the_answer() {
    let house = House::new();
    let [alice, bob, _carol] = three(&house);
    let gateway = &Gateway::start(&alice, "");
    let [one, two] = ["one", "two"].map(|name| token(&alice, name, &[]));
    std::thread::scope(|scope| {
        let ask = |token: &str, n: u32| {
            let (token, peer) = (token.to_owned(), bob.agent.clone());
            let ask = json!({"peer": peer, "kind": "request", "body": n, "wait": 60.0});
            scope.spawn(move || gateway.rpc(&token, "send", &ask))
        };
        let asked: Vec<_> = (0..20)
            .flat_map(|n| [ask(&one, n), ask(&two, 100 + n)])
            .collect();
        let requests = signet_testkit::eventually("all forty left at once", || {
            let inbox = bob.inbox();
            let requests = inbox.into_iter().filter(|came| came["type"] == "request");
            let requests: Vec<_> = requests.collect();
            (requests.len() == 40).then_some(requests)
        });
        for request in &requests {
            let reply =
                json!({"message": {"message-id": request["message-id"]}, "body": request["body"]});
            bob.call("respond", &reply).unwrap();
        }
        for answered in asked {
            let answered = answered.join().unwrap();
            assert_eq!(answered["result"]["state"], "answered", "{answered}");
            assert!(answered["result"]["answer"]["body"].is_u64(), "{answered}");
        }
        assert_eq!(bob.inbox().len(), 0, "each was sent once");
    });
}

/// A stream that begins, or the refusal of it.
fn stream(gateway: &Gateway, token: &str) -> Result<BufReader<TcpStream>, Answer> {
    stream_of(
        gateway,
        token,
        &json!({"jsonrpc": "2.0", "id": 7, "method": "inbox.follow"}),
    )
}

/// The same of any call that lasts.
pub(crate) fn stream_of(
    gateway: &Gateway,
    token: &str,
    call: &Value,
) -> Result<BufReader<TcpStream>, Answer> {
    let body = call.to_string();
    let mut stream = gateway.connect();
    write!(
        stream,
        "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: text/event-stream\r\n\
         Authorization: Bearer {token}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut input = BufReader::new(stream);
    let begins = input.fill_buf().unwrap().starts_with(b"HTTP/1.1 200");
    match begins {
        true => Ok(input),
        false => Err(Answer::read(&mut input).unwrap()),
    }
}

#[test]
fn streams_of_two_who_only_look_stop_nobody_and_one_too_many_is_told_to_come_again() {
    let house = House::new();
    let [alice, _bob, _carol] = three(&house);
    let gateway = &Gateway::start(&alice, "[a2a]\n");
    let [one, two] = ["one", "two"].map(|name| token(&alice, name, &["--read"]));
    let third = token(&alice, "third", &[]);
    let streams: Vec<_> = std::thread::scope(|scope| {
        let begun: Vec<_> = (0..20)
            .flat_map(|_| [&one, &two])
            .map(|token| scope.spawn(move || stream(gateway, token)))
            .collect();
        std::thread::sleep(Duration::from_secs(2));
        let took = at_once(gateway, &third);
        assert!(took < Duration::from_secs(8), "{took:?}");
        begun.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let refused: Vec<&Answer> = streams
        .iter()
        .filter_map(|one| one.as_ref().err())
        .collect();
    assert!(
        !refused.is_empty() && refused.len() < 30,
        "{}",
        refused.len()
    );
    for answer in refused {
        assert_eq!(
            (answer.status, answer.header("retry-after")),
            (503, Some("1"))
        );
        assert_eq!(answer.json()["error"]["data"]["reason"], "busy");
    }
    // The third token still gets a stream: the two others cannot take all slots for streams.
    assert!(stream(gateway, &third).is_ok());
}

#[test]
fn five_tokens_with_all_streams_that_there_are_leave_anothers_receive_its_answer() {
    let house = House::new();
    let [alice, bob, _carol] = three(&house);
    let gateway = &Gateway::start(&alice, "");
    let mut held = Vec::new();
    // A token may take half of the 16 slots for streams that are free, and one at least: this is what each finds.
    for (name, free) in [("a", 8), ("b", 4), ("c", 2), ("d", 1), ("e", 1)] {
        let token = token(&alice, name, &["--read"]);
        for _ in 0..free {
            held.push(
                stream(gateway, &token).unwrap_or_else(|refused| panic!("{name}: {refused:?}")),
            );
        }
    }
    assert_eq!(held.len(), 16);
    let reader = token(&alice, "reader", &[]);
    bob.done(&["send", &alice.agent, "--notify", "1"]);
    let received = gateway.rpc(&reader, "receive", &json!({"wait": 10.0}));
    let messages = received["result"]["messages"].as_array();
    assert_eq!(messages.map(Vec::len), Some(1), "{received}");
}

#[test]
fn a2a_and_the_card_tell_whoever_finds_no_place_to_come_again() {
    let house = House::new();
    let [alice, _bob, _carol] = three(&house);
    let gateway = &Gateway::start(&alice, "[a2a]\n");
    let token = &token(&alice, "one", &[]);
    alice.signal(Signal::STOP);
    let card = || {
        let head = [
            "GET /.well-known/agent-card.json HTTP/1.1",
            "Host: localhost",
        ];
        gateway.send(&head, b"")
    };
    let ask = || {
        let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hello"}]});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}});
        let bearer = format!("Authorization: Bearer {token}");
        let head = [
            "POST /a2a/agent-bob HTTP/1.1",
            "Host: localhost",
            "Content-Type: application/json",
            "A2A-Version: 1.0",
            &bearer,
        ];
        gateway.send(&head, call.to_string().as_bytes())
    };
    let (told, heard) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            let (cards, asks) = (told.clone(), told.clone());
            scope.spawn(move || cards.send(("card", card())));
            scope.spawn(move || asks.send(("ask", ask())));
        }
        // The daemon is stopped, so a call with a slot waits for it, and longer than a call waits for a slot: the first
        // answer at each door is for a call that got no slot.
        let mut first = BTreeMap::new();
        let began = Instant::now();
        while first.len() < 2 {
            let left = Duration::from_secs(25).saturating_sub(began.elapsed());
            let (door, answer) = heard.recv_timeout(left).expect("an answer at each door");
            first.entry(door).or_insert(answer);
        }
        for (door, answer) in first {
            assert_eq!(
                (answer.status, answer.header("retry-after")),
                (503, Some("1")),
                "{door}"
            );
            assert!(
                answer.text().contains("busy") || answer.text().contains("places"),
                "{door}: {}",
                answer.text()
            );
        }
        alice.signal(Signal::CONT);
    });
}

#[test]
fn a_model_that_finds_no_place_reads_so_as_the_error_of_its_tool() {
    let house = House::new();
    let [alice, _bob, _carol] = three(&house);
    let gateway = &Gateway::start(&alice, "");
    let session = &Session::begin(gateway, &token(&alice, "one", &[]));
    alice.signal(Signal::STOP);
    let (told, heard) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        for id in 0..8 {
            let told = told.clone();
            let params = json!({"name": "agent_status", "arguments": {}});
            let call =
                json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
            scope.spawn(move || told.send(session.post(&call)));
        }
        // The daemon is stopped, so a call with a slot waits for it, and longer than a call waits for a slot: the first
        // answer is for a call that got no slot.
        let answer = heard.recv_timeout(Duration::from_secs(25)).unwrap();
        let result = event(&answer)["result"].clone();
        assert_eq!((answer.status, &result["isError"]), (200, &json!(true)));
        assert!(result.to_string().contains("busy"), "{result}");
        alice.signal(Signal::CONT);
    });
}
