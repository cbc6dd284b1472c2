//! Streams: their order, their end, where they go on, and how little they hold back.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{BOB, Scene, begins, call, code, id_of, says};

fn states(told: &[Value]) -> Vec<&str> {
    let states = told.iter().filter_map(|result| {
        let status = result["task"]
            .get("status")
            .or_else(|| result["statusUpdate"].get("status"));
        status?["state"].as_str()
    });
    states.collect()
}

#[test]
fn a_stream_of_1_0_begins_with_the_task_and_ends_with_its_end() {
    let scene = Scene::new("");
    let told = scene
        .gateway
        .stream("SendStreamingMessage", &says("m", "in parts"), "")
        .all();
    assert!(told[0].get("task").is_some(), "{told:?}");
    assert_eq!(
        states(&told).last(),
        Some(&"TASK_STATE_COMPLETED"),
        "{told:?}"
    );
    let parts: Vec<&Value> = told
        .iter()
        .filter_map(|result| result.get("artifactUpdate"))
        .map(|update| &update["artifact"]["parts"][0]["text"])
        .collect();
    assert_eq!(parts.last().unwrap().as_str(), Some("one two three"));
    // The answer may overtake pieces, so fewer than three may come before it: those that came are in their order.
    let early: Vec<&str> = parts[..parts.len() - 1]
        .iter()
        .filter_map(|part| part.as_str())
        .collect();
    assert!(["one", "two", "three"].starts_with(&early), "{early:?}");
}

#[test]
fn a_stream_of_0_3_says_which_event_is_the_last() {
    let scene = Scene::new("");
    let said = json!({"message": {"messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "hello"}]}});
    let told = scene.gateway.stream("message/stream", &said, "").all();
    assert_eq!(told[0]["kind"], "task", "{told:?}");
    let last = told.last().unwrap();
    assert_eq!(
        (&last["kind"], &last["final"]),
        (&json!("status-update"), &json!(true))
    );
    assert_eq!(last["status"]["state"], "completed");
}

#[test]
fn several_readers_see_the_same_order_and_a_dropped_one_goes_on_where_it_was() {
    let scene = Scene::new("");
    let mut first = scene
        .gateway
        .stream("SendStreamingMessage", &says("m", "ask me"), "");
    let (_, told) = first.next().unwrap();
    let task = told["result"]["task"]["id"].as_str().unwrap().to_owned();
    scene.until(&task, "INPUT_REQUIRED");
    let subscribe = json!({"id": task});
    let mut readers: Vec<_> = (0..3)
        .map(|_| scene.gateway.stream("SubscribeToTask", &subscribe, ""))
        .collect();
    // Each reader gets the task as it stands first: read this event of each, so that all of them follow before the task
    // goes on.
    let begun: Vec<_> = readers
        .iter_mut()
        .map(|reader| reader.next().unwrap())
        .collect();
    let seen = &begun[0].0;
    // The dropped reader misses all later events, and asks for them below by its last event's id.
    drop(readers.remove(0));
    let mut more = says("m2", "in parts");
    more["message"]["taskId"] = json!(task);
    scene.gateway.v1("SendMessage", &more);
    let told: Vec<Vec<Value>> = readers
        .into_iter()
        .map(super::client::Events::all)
        .collect();
    assert_eq!(told[0], told[1]);
    assert_eq!(states(&told[0]).last(), Some(&"TASK_STATE_COMPLETED"));
    let again = scene.gateway.stream(
        "SubscribeToTask",
        &subscribe,
        &format!("last-event-id: {seen}\r\n"),
    );
    let missed = again.all();
    assert_eq!(missed, told[0], "all but the task that it had seen");
}

#[test]
fn two_hundred_streams_with_readers_that_do_not_read_hold_no_message_back() {
    let scene = Scene::new("[limits]\nrequests-per-minute = 100000\nrequests-at-once = 1000\n");
    let task = id_of(&scene.gateway.v1("SendMessage", &begins("m", "wait")));
    let body = call("SubscribeToTask", &json!({"id": task}));
    let request = format!(
        "POST {BOB} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\na2a-version: 1.0\r\ncontent-length: {}\r\n\r\n{body}",
        scene.gateway.address,
        body.len()
    );
    let mut silent = Vec::new();
    for _ in 0..200 {
        let mut stream = TcpStream::connect(&scene.gateway.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        silent.push(stream);
    }
    let mut slowest = Duration::ZERO;
    for number in 0..20 {
        let began = Instant::now();
        let told = scene
            .gateway
            .v1("SendMessage", &says(&format!("m{number}"), "hello"));
        assert_eq!(
            told["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED",
            "{told}"
        );
        slowest = slowest.max(began.elapsed());
    }
    assert!(slowest < Duration::from_secs(10), "{slowest:?}");
    // All 200 streams are still open: each gets the event that the task was given up.
    scene.gateway.v1("CancelTask", &json!({"id": task}));
    for mut stream in silent {
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        let mut told = String::new();
        let mut piece = [0; 4096];
        while !told.contains("TASK_STATE_CANCELED") {
            let read = std::io::Read::read(&mut stream, &mut piece).unwrap();
            assert!(read > 0, "{told}");
            told.push_str(&String::from_utf8_lossy(&piece[..read]));
        }
    }
}

#[test]
fn a_client_of_0_3_that_reads_events_alone_hears_in_one_why_there_is_no_stream() {
    let scene = Scene::new("");
    for method in ["tasks/resubscribe", "message/stream"] {
        let body = call(method, &json!({"id": "nobody's"}));
        let ask = |accept: &str| {
            scene
                .gateway
                .post(BOB, &format!("accept: {accept}\r\n"), &body)
        };
        let told = ask("text/event-stream");
        assert_eq!(
            (told.status, told.header("content-type")),
            (200, Some("text/event-stream"))
        );
        let data = told
            .body
            .strip_prefix("data: ")
            .unwrap_or_else(|| panic!("{}", told.body));
        let event: Value = serde_json::from_str(data.trim_end()).unwrap();
        let plain = ask("application/json, text/event-stream");
        assert_eq!(plain.header("content-type"), Some("application/json"));
        assert_eq!(event, plain.json());
        assert!(code(&event) < 0 && told.body.ends_with("\n\n"));
    }
    // In A2A 1.0 a stream that cannot begin is answered with a plain error, even if the client accepts only events.
    let told = scene.gateway.post(
        BOB,
        "a2a-version: 1.0\r\naccept: text/event-stream\r\n",
        &call("SubscribeToTask", &json!({"id": "x"})),
    );
    assert_eq!(told.header("content-type"), Some("application/json"));
    assert_eq!(code(&told.json()), -32001);
    // `GetTask` begins no stream: its answer is JSON even if the client accepts only events.
    let told = scene.gateway.post(
        BOB,
        "a2a-version: 1.0\r\naccept: text/event-stream\r\n",
        &call("GetTask", &json!({"id": "x"})),
    );
    assert_eq!(told.header("content-type"), Some("application/json"));
}
