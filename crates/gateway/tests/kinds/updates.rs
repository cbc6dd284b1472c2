//! How an agent of A2A tells what becomes of its task: by a stream, by push, or when it is asked.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::agent::{Agent, completed, ok};
use crate::trial::{Came, Trial};

fn section(agent: &Agent, more: &str) -> String {
    format!("kind = \"a2a\"\nurl = \"{}\"\n{more}", agent.url())
}

/// Sends the results as events of a stream.
fn stream(stream: &mut TcpStream, request: &Value, results: &[Value]) {
    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n");
    for result in results {
        let response = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
        let _ = stream.write_all(format!("id: 1\ndata: {response}\n\n").as_bytes());
    }
}

fn answer(to: &mut TcpStream, request: &Value, member: &str, value: Value) {
    let mut body = json!({"jsonrpc": "2.0", "id": request["id"]});
    body[member] = value;
    let _ = to.write_all(&ok(&body.to_string()));
}

fn old_events() -> Vec<Value> {
    let part = |text: &str, append: bool| {
        json!({"kind": "artifact-update", "taskId": "t", "contextId": "c", "append": append,
            "artifact": {"artifactId": "a", "parts": [{"kind": "text", "text": text}]}})
    };
    vec![
        json!({"kind": "task", "id": "t", "contextId": "c", "status": {"state": "submitted"}}),
        json!({"kind": "status-update", "taskId": "t", "contextId": "c", "final": false, "status": {"state": "working"}}),
        part("one", false),
        part("two", true),
        json!({"kind": "status-update", "taskId": "t", "contextId": "c", "final": true, "status": {"state": "completed"}}),
    ]
}

#[test]
fn a_streams_events_are_put_together_to_the_answer_in_both_versions() {
    let new: Vec<Value> = vec![
        json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}}),
        json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "artifact": {"artifactId": "a", "parts": [{"text": "old"}]}}}),
        json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "artifact": {"artifactId": "a", "parts": [{"text": "one"}]}}}),
        json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "append": true, "artifact": {"artifactId": "a", "parts": [{"text": "two"}]}}}),
        json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": 3}}}),
        json!({"message": {"role": "ROLE_AGENT", "parts": [{"text": "nobody reads on"}]}}),
    ];
    for (version, method, events) in [
        ("0.3", "message/stream", old_events()),
        ("1.0", "SendStreamingMessage", new),
    ] {
        let agent = Agent::raw(move |request, to| {
            let request = request.json();
            assert_eq!(request["method"], method);
            stream(to, &request, &events);
        });
        let more = format!("version = \"{version}\"\nstream = true");
        let came = Trial::new(&section(&agent, &more)).ask(json!("count"));
        assert_eq!(came, Came::Answer(json!(["one", "two"])), "{version}");
        let seen = agent.seen();
        assert_eq!(seen.len(), 1, "nothing more has to be asked");
        assert_eq!(
            seen[0].header("accept"),
            Some("text/event-stream, application/json")
        );
    }
}

#[test]
fn a_message_in_a_stream_is_the_answer_and_an_error_is_a_refusal() {
    for (event, came) in [
        (
            json!({"result": {"message": {"role": "ROLE_AGENT", "parts": [{"text": "hi"}]}}}),
            Came::Answer(json!("hi")),
        ),
        (
            json!({"error": {"code": -32602, "message": "no week"}}),
            Came::Declined("error -32602: no week".to_owned()),
        ),
    ] {
        let agent = Agent::raw(move |request, to| {
            let mut response = event.clone();
            response["jsonrpc"] = json!("2.0");
            response["id"] = request.json()["id"].clone();
            let _ = to.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n");
            let _ = to.write_all(format!("data: {response}\n\n").as_bytes());
        });
        let section = section(&agent, "version = \"1.0\"\nstream = true");
        assert_eq!(Trial::new(&section).ask(json!("x")), came);
    }
}

#[test]
fn an_agent_that_streams_nothing_is_sent_the_message_and_not_asked_for_a_stream_again() {
    for code in [-32601, -32004] {
        let agent = Agent::raw(move |request, to| {
            let request = request.json();
            match request["method"].as_str().unwrap() {
                "message/stream" => {
                    answer(
                        to,
                        &request,
                        "error",
                        json!({"code": code, "message": "none"}),
                    );
                }
                _ => answer(to, &request, "result", completed("sent")),
            }
        });
        let mut trial = Trial::new(&section(&agent, "stream = true"));
        assert_eq!(trial.ask(json!("x")), Came::Answer(json!("sent")));
        assert_eq!(trial.ask(json!("y")), Came::Answer(json!("sent")));
        let methods: Vec<Value> = agent
            .seen()
            .iter()
            .map(|seen| seen.json()["method"].clone())
            .collect();
        assert_eq!(methods, ["message/stream", "message/send", "message/send"]);
    }
}

#[test]
fn a_stream_that_breaks_off_is_followed_by_asking_and_one_that_says_nothing_is_cut_short() {
    let agent = Agent::raw(|request, to| {
        let request = request.json();
        match request["method"].as_str().unwrap() {
            "message/stream" => stream(to, &request, &old_events()[..3]),
            "tasks/get" if request["params"] == json!({"id": "t"}) => {
                answer(to, &request, "result", completed("whole"));
            }
            other => panic!("{other}"),
        }
    });
    let came = Trial::new(&section(&agent, "stream = true")).ask(json!("x"));
    assert_eq!(came, Came::Answer(json!("whole")));
    let silent = Agent::raw(|request, to| stream(to, &request.json(), &[]));
    let came = Trial::new(&section(&silent, "stream = true")).ask(json!("x"));
    assert!(came.fault().starts_with("cut-short"));
}

#[test]
fn events_that_are_none_and_events_of_another_call_are_refused_by_name() {
    for (event, name) in [
        (json!({"result": {"odd": 1}}), "wrong-shape"),
        (json!({"result": "x"}), "wrong-shape"),
        (
            json!({"result": {"statusUpdate": {"taskId": "t"}}}),
            "wrong-shape",
        ),
        (
            json!({"result": {"artifactUpdate": {"taskId": "t"}}}),
            "wrong-shape",
        ),
        (
            json!({"result": {"artifactUpdate": {"artifact": {"parts": [{}]}}}}),
            "wrong-shape",
        ),
        (
            json!({"result": {"statusUpdate": {"status": {"state": "success"}}}}),
            "unknown-state",
        ),
        (json!({"id": "another", "result": {"task": {}}}), "wrong-id"),
        (json!({}), "wrong-shape"),
    ] {
        let agent = Agent::raw(move |request, to| {
            let mut response = event.clone();
            response["jsonrpc"] = json!("2.0");
            if response.get("id").is_none() {
                response["id"] = request.json()["id"].clone();
            }
            let _ = to.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n");
            let _ = to.write_all(format!("data: {response}\n\n").as_bytes());
        });
        let fault = Trial::new(&section(&agent, "stream = true"))
            .ask(json!("x"))
            .fault();
        assert!(fault.starts_with(name), "{name}: {fault}");
    }
}

#[test]
fn a_flood_of_events_is_cut_off() {
    let agent = Agent::raw(|request, to| {
        let piece = json!({"kind": "artifact-update", "taskId": "t", "append": true,
            "artifact": {"artifactId": "a", "parts": [{"kind": "text", "text": "x".repeat(60_000)}]}});
        stream(to, &request.json(), &vec![piece; 100]);
    });
    let fault = Trial::new(&section(&agent, "stream = true"))
        .ask(json!("x"))
        .fault();
    assert!(fault.starts_with("too-large"), "{fault}");
}

/// An agent that works on its task until it has pushed: what it was told of the push, and how its receiver answered.
fn pushes(
    version: &'static str,
    token: impl Fn(&str) -> String + Send + Sync + 'static,
) -> (Agent, Arc<Mutex<Vec<String>>>) {
    let (asked, heard) = (AtomicUsize::new(0), Arc::<Mutex<Vec<String>>>::default());
    // Set this before the push: the handler may ask again as soon as the push has come, before the agent has read the
    // answer to it.
    let pushed = AtomicBool::new(false);
    let answers = Arc::clone(&heard);
    let agent = Agent::raw(move |request, to| {
        let request = request.json();
        let working = json!({"kind": "task", "id": "t", "status": {"state": "working"}});
        let configuration = &request["params"]["configuration"];
        let config = match version {
            "1.0" => &configuration["taskPushNotificationConfig"],
            _ => &configuration["pushNotificationConfig"],
        };
        if config.is_null() {
            let done = asked.fetch_add(1, Ordering::SeqCst) > 0 || pushed.load(Ordering::SeqCst);
            let result = if done { completed("pushed") } else { working };
            return answer(to, &request, "result", result);
        }
        answer(to, &request, "result", working);
        let (url, given) = (
            config["url"].as_str().unwrap(),
            config["token"].as_str().unwrap(),
        );
        let given = token(given);
        std::thread::sleep(Duration::from_millis(300));
        pushed.store(true, Ordering::SeqCst);
        let said = post(url, &format!("X-A2A-Notification-Token: {given}\r\n"));
        answers.lock().unwrap().push(said);
    });
    (agent, heard)
}

/// Posts a task to the receiver; its answer.
fn post(url: &str, headers: &str) -> String {
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(address).unwrap();
    let body = "{}";
    let text = format!(
        "POST / HTTP/1.1\r\nhost: {address}\r\ncontent-length: {}\r\n{headers}\r\n{body}",
        body.len()
    );
    stream.write_all(text.as_bytes()).unwrap();
    let mut said = String::new();
    let _ = stream.read_to_string(&mut said);
    said
}

#[test]
fn a_push_with_its_token_has_the_task_asked_for_at_once() {
    for version in ["0.3", "1.0"] {
        let (agent, heard) = pushes(version, str::to_owned);
        let more = format!("version = \"{version}\"\npush = \"127.0.0.1:0\"");
        let mut trial = Trial::new(&section(&agent, &more));
        let began = Instant::now();
        assert_eq!(trial.ask(json!("x")), Came::Answer(json!("pushed")));
        // With a receiver of pushes the handler asks only every 30 s: an answer that comes sooner was asked for because
        // of the push.
        assert!(began.elapsed() < Duration::from_secs(29), "{version}");
        let sent = agent.seen()[0].json();
        let configuration = &sent["params"]["configuration"];
        match version {
            "1.0" => assert_eq!(configuration["returnImmediately"], true),
            _ => assert_eq!(configuration["blocking"], false),
        }
        drop(heard);
    }
}

#[test]
fn a_push_with_a_guessed_token_is_refused_and_rings_nothing() {
    let (agent, heard) = pushes("0.3", |given| given.chars().rev().collect());
    let mut trial = Trial::new(&section(&agent, "push = \"127.0.0.1:0\"\ntimeout = 2"));
    let fault = trial.ask(json!("x")).fault();
    assert_eq!(fault, "timed out", "nobody rang, and 30 s were not over");
    let heard = heard.lock().unwrap();
    assert!(heard[0].starts_with("HTTP/1.1 401 "), "{heard:?}");
}

#[test]
fn an_agent_that_pushes_nothing_is_sent_the_message_without_and_asked_every_second() {
    let asked = AtomicUsize::new(0);
    let agent = Agent::raw(move |request, to| {
        let request = request.json();
        if request["params"].get("configuration").is_some() {
            let error = json!({"code": -32003, "message": "Push notification not supported"});
            return answer(to, &request, "error", error);
        }
        let result = match asked.fetch_add(1, Ordering::SeqCst) {
            0 => json!({"kind": "task", "id": "t", "status": {"state": "working"}}),
            _ => completed("asked"),
        };
        answer(to, &request, "result", result);
    });
    let mut trial = Trial::new(&section(&agent, "push = \"127.0.0.1:0\""));
    assert_eq!(trial.ask(json!("x")), Came::Answer(json!("asked")));
    assert_eq!(agent.seen().len(), 3);
}

#[test]
fn an_address_that_is_taken_keeps_nobody_from_asking_every_second() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let asked = AtomicUsize::new(0);
    let agent = Agent::json(move |request| {
        let result = match asked.fetch_add(1, Ordering::SeqCst) {
            0 => json!({"kind": "task", "id": "t", "status": {"state": "working"}}),
            _ => completed("asked"),
        };
        json!({"jsonrpc": "2.0", "id": request["id"], "result": result})
    });
    let more = format!("push = \"{}\"", taken.local_addr().unwrap());
    let mut trial = Trial::new(&section(&agent, &more));
    assert_eq!(trial.ask(json!("x")), Came::Answer(json!("asked")));
    assert!(
        agent.seen()[0].json()["params"]
            .get("configuration")
            .is_none()
    );
}

#[test]
fn a_receiver_beyond_this_machine_is_refused_unless_it_is_allowed() {
    let load = |more: &str| {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("handlers.toml");
        let text = format!(
            "[[handler]]\ncapability = \"a.b\"\nkind = \"a2a\"\nurl = \"http://127.0.0.1:9/\"\n{more}\n"
        );
        std::fs::write(&path, text).unwrap();
        signet_gateway::handle::Handlers::load(&path)
            .map(drop)
            .map_err(|fault| fault.to_string())
    };
    for (more, words) in [
        ("push = \"0.0.0.0:8790\"", "in clear beyond this machine"),
        ("push = \"8790\"", "no address with a port"),
        ("push-url = \"https://x.example/\"", "needs a `push`"),
        (
            "push = \"127.0.0.1:1\"\npush-url = \"http://x.example/\"",
            "leaves this machine in clear",
        ),
    ] {
        let fault = load(more).unwrap_err();
        assert!(fault.contains(words), "{more}: {fault}");
    }
    assert_eq!(
        load("push = \"127.0.0.1:1\"\nallow-cleartext = true"),
        Ok(())
    );
}
