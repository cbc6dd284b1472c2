//! MCP servers that are commands: what is said to them, and what they may do wrong.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::trial::{Came, Trial};

/// A server in Python; `fault` says what it does when the tool is called, and it behaves when it is started the second
/// time.
const SERVER: &str = r#"
import json, os, sys, time
fault, mark = sys.argv[1], sys.argv[2]
first = not os.path.exists(mark)
open(mark, "a").write("started\n")
def say(value):
    sys.stdout.write(json.dumps(value) + "\n"); sys.stdout.flush()
for line in sys.stdin:
    request = json.loads(line)
    method, id = request.get("method"), request.get("id")
    good = lambda result: {"jsonrpc": "2.0", "id": id, "result": result}
    if method == "initialize":
        version = "1999-01-01" if fault == "version" and first else request["params"]["protocolVersion"]
        say(good({"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "t", "version": "1"}}))
    elif method == "tools/call":
        text = json.dumps({"arguments": request["params"]["arguments"], "name": request["params"]["name"], "pid": os.getpid(),
            "environment": dict(os.environ)})
        answer = good({"content": [{"type": "text", "text": text}]})
        if not first or fault == "none": say(answer)
        elif fault == "slow": time.sleep(60)
        elif fault == "dead": os._exit(3)
        elif fault == "after": say(answer); os._exit(0)
        elif fault == "id": say({**answer, "id": 99})
        elif fault == "shape": say([1, 2])
        elif fault == "garbage": print("listening on stdio", flush=True)
        elif fault == "flood": sys.stdout.write("x" * (10 << 20)); sys.stdout.flush()
        elif fault == "chatter":
            while True: say({"jsonrpc": "2.0", "method": "notifications/message", "params": {}})
        elif fault == "utf8": sys.stdout.buffer.write(b'{"\xff": 1}\n'); sys.stdout.flush()
        elif fault == "half": sys.stdout.write('{"jsonrpc"'); sys.stdout.flush(); os._exit(0)
        elif fault == "twice": say(answer); say(answer)
        elif fault == "ahead":
            say(answer)
            say({**answer, "id": id + 1, "result": {"content": [{"type": "text", "text": "\"another's\""}]}})
        elif fault == "asks":
            say({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}})
            say({"jsonrpc": "2.0", "id": "p", "method": "ping"})
            heard = [json.loads(sys.stdin.readline())]
            say({"jsonrpc": "2.0", "id": 7, "method": "sampling/createMessage", "params": {}})
            heard.append(json.loads(sys.stdin.readline()))
            say(good({"content": [], "structuredContent": {"heard": heard}}))
"#;

struct Server {
    dir: tempfile::TempDir,
}

impl Server {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("server.py"), SERVER).unwrap();
        Self { dir }
    }

    fn trial(&self, fault: &str) -> Trial {
        self.with(fault, "")
    }

    fn with(&self, fault: &str, more: &str) -> Trial {
        let place = |name: &str| self.dir.path().join(name).display().to_string();
        let command = json!(["python3", "-B", place("server.py"), fault, place("mark")]);
        Trial::new(&format!(
            "kind = \"mcp\"\ntool = \"look\"\ntimeout = 5.0\ncommand = {command}\n{more}"
        ))
    }

    fn starts(&self) -> usize {
        let mark = std::fs::read_to_string(self.dir.path().join("mark"));
        mark.map_or(0, |mark| mark.lines().count())
    }
}

#[test]
fn a_server_finds_what_it_is_given_of_the_environment_and_no_token_of_another() {
    // This variable stands for a token of another handler: Cargo gives it to every test, as a systemd unit gives its
    // handlers all their tokens.
    let token = "CARGO_MANIFEST_DIR";
    let ours = std::env::var(token).unwrap();
    let server = Server::new();
    let found = server.trial("none").ask(json!({})).answer();
    assert!(found["environment"]["PATH"].is_string(), "{found}");
    assert!(found["environment"].get(token).is_none(), "{found}");
    let mut found = server.with("none", "env = [\"CARGO_MANIFEST_DIR\"]");
    let found = found.ask(json!({})).answer();
    assert_eq!(found["environment"][token], ours.as_str());
}

#[test]
fn a_tool_is_called_with_the_body_and_its_server_is_kept() {
    let server = Server::new();
    let mut trial = server.trial("none");
    let first = trial.ask(json!({"week": 7})).answer();
    assert_eq!(
        (&first["arguments"], &first["name"]),
        (&json!({"week": 7}), &json!("look"))
    );
    let second = trial.ask(json!({"week": 8})).answer();
    assert_eq!(second["arguments"], json!({"week": 8}));
    assert_eq!(first["pid"], second["pid"]);
    assert_eq!(
        trial.ask(json!("no object")).declined(),
        "the body has to be a JSON object"
    );
    // The server's process ends when the handler is dropped.
    let stat = format!("/proc/{}/stat", first["pid"]);
    drop(trial);
    let limit = Instant::now() + Duration::from_secs(20);
    while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z")) {
        assert!(Instant::now() < limit, "it lives on");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn each_fault_of_a_server_costs_its_own_message_and_has_one_name() {
    for (fault, reason) in [
        ("slow", "timed out"),
        ("dead", "cut-short"),
        ("id", "wrong-id"),
        ("shape", "wrong-shape"),
        ("garbage", "its answer is not JSON"),
        ("flood", "too-large"),
        ("chatter", "too-large"),
        ("utf8", "not-utf8"),
        ("half", "cut-short"),
        ("version", "mcp-refused"),
    ] {
        let server = Server::new();
        let mut trial = server.trial(fault);
        let told = trial.ask(json!({"week": 7})).fault();
        assert!(told.starts_with(reason), "{fault}: {told}");
        let next = trial.ask(json!({"week": 8})).answer();
        assert_eq!(
            next["arguments"],
            json!({"week": 8}),
            "{fault}: the next one is handled"
        );
        assert_eq!(server.starts(), 2, "{fault}: by a server of its own");
    }
}

#[test]
fn a_server_that_answers_twice_is_heard_once_and_the_next_answer_is_its_own() {
    let server = Server::new();
    let mut trial = server.trial("twice");
    for week in 1..4 {
        let answer: Value = trial.ask(json!({"week": week})).answer();
        assert_eq!(answer["arguments"], json!({"week": week}));
    }
    assert_eq!(server.starts(), 1);
}

#[test]
fn an_answer_to_a_call_that_was_not_made_yet_is_not_taken_for_the_next_messages() {
    let server = Server::new();
    let mut trial = server.trial("ahead");
    for week in 1..5 {
        let answer: Value = trial.ask(json!({"week": week})).answer();
        assert_eq!(answer["arguments"], json!({"week": week}));
    }
    assert_eq!(server.starts(), 1);
}

#[test]
fn a_server_that_ended_between_two_messages_costs_no_try() {
    let server = Server::new();
    let mut trial = server.trial("after");
    let first = trial.ask(json!({"week": 1})).answer();
    let stat = format!("/proc/{}/stat", first["pid"]);
    let limit = Instant::now() + Duration::from_secs(20);
    while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z")) {
        assert!(Instant::now() < limit);
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(
        trial.ask(json!({"week": 2})).answer()["arguments"],
        json!({"week": 2})
    );
}

#[test]
fn a_server_that_asks_for_a_model_or_for_files_gets_nothing_but_a_sign_of_life() {
    let server = Server::new();
    let heard = server.trial("asks").ask(json!({})).answer();
    assert_eq!(
        heard["heard"],
        json!([
            {"jsonrpc": "2.0", "id": "p", "result": {}},
            {"jsonrpc": "2.0", "id": 7, "error": {"code": -32601, "message": "Method not found"}},
        ])
    );
}

#[test]
fn a_command_that_is_not_there_is_named() {
    let mut trial = Trial::new("kind = \"mcp\"\ntool = \"x\"\ncommand = [\"/nowhere/server\"]");
    let Came::Fault(fault) = trial.ask(json!({})) else {
        panic!("it ran");
    };
    assert!(fault.starts_with("cannot be run"), "{fault}");
}
