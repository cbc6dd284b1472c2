//! The agents of the migration guide, as it prints them, in the languages that this machine has.

use std::io::Write as _;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::trial::Trial;

/// An agent of the guide, for as long as a test needs it.
pub struct Example {
    child: Child,
    port: u16,
}

impl Drop for Example {
    fn drop(&mut self) {
        // `go run` starts the built program as a process of its own: end the whole process group, or that program would
        // live on.
        let group = rustix::process::Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _ = self.child.wait();
    }
}

impl Example {
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/agent", self.port)
    }

    /// None, and a word about it, where the machine has not the language.
    pub fn start(name: &str) -> Option<Self> {
        let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guide");
        let port = crate::port::free_port();
        let dir = tempfile::tempdir().unwrap().keep();
        let (program, arguments) = match name.rsplit_once('.').unwrap().1 {
            "py" => ("python3", vec!["-B".to_owned(), copied(&guide, name, &dir)]),
            "js" => ("node", vec![copied(&guide, name, &dir)]),
            // The Python and JavaScript agents get their port from the stand-in libraries, which read PORT. The Go
            // agent has no stand-in: write the port into a copy of its source.
            "go" => {
                let text = std::fs::read_to_string(guide.join(name)).unwrap();
                let text = text.replace("\":8080\"", &format!("\"127.0.0.1:{port}\""));
                std::fs::write(dir.join("main.go"), text).unwrap();
                (
                    "go",
                    vec!["run".to_owned(), dir.join("main.go").display().to_string()],
                )
            }
            other => panic!("{other}"),
        };
        use std::os::unix::process::CommandExt as _;
        let mut command = Command::new(program);
        command.args(arguments).env("PORT", port.to_string());
        command.env("PYTHONPATH", guide.join("stand-ins"));
        command.env("NODE_PATH", guide.join("stand-ins/node_modules"));
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let Ok(child) = command.process_group(0).spawn() else {
            // Write to standard error directly: the test runner hides the output of `eprintln!` from a test that
            // passes.
            let told =
                format!("NOT TESTED: the guide's {name}, for this machine has no {program}\n");
            let _ = std::io::stderr().write_all(told.as_bytes());
            return None;
        };
        let example = Self { child, port };
        let limit = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < limit, "{name} does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(example)
    }
}

fn copied(guide: &Path, name: &str, dir: &Path) -> String {
    let place: PathBuf = dir.join(name);
    std::fs::copy(guide.join(name), &place).unwrap();
    place.display().to_string()
}

pub const AFTER: [&str; 3] = ["after.py", "after.js", "after.go"];

#[test]
fn the_guides_agents_are_handlers_as_they_stand() {
    for name in AFTER {
        let Some(example) = Example::start(name) else {
            continue;
        };
        let mut trial = Trial::new(&format!("kind = \"a2a\"\nurl = \"{}\"", example.url()));
        let answer = trial.ask(json!({"query": "What is the weather?"})).answer();
        assert_eq!(
            answer,
            json!({"result": "Processed: What is the weather?"}),
            "{name}"
        );
    }
}

#[test]
fn the_guides_agents_from_before_the_migration_are_handlers_too() {
    for name in ["before.py", "before.js", "before.go"] {
        let Some(example) = Example::start(name) else {
            continue;
        };
        let mut trial = Trial::new(&format!(
            "kind = \"simple-a2a\"\nurl = \"{}\"",
            example.url()
        ));
        let answer = trial.ask(json!({"query": "x"})).answer();
        assert_eq!(answer, json!({"result": "Processed: x"}), "{name}");
    }
}

#[test]
fn an_agent_that_was_not_migrated_is_refused_by_name_and_not_misread() {
    for name in ["before.py", "before.js"] {
        let Some(example) = Example::start(name) else {
            continue;
        };
        let mut trial = Trial::new(&format!("kind = \"a2a\"\nurl = \"{}\"", example.url()));
        // before.py fails because `task_id` is missing; before.js answers in its own form.
        let fault = trial.ask(json!({"query": "x"})).fault();
        let is_named = ["http-status", "wrong-shape", "cut-short"].iter();
        assert!(
            is_named.clone().any(|known| fault.starts_with(known)),
            "{name}: {fault}"
        );
    }
}

/// The guide's own script, "Automated Testing": what its examples answer to.
#[test]
fn the_guides_agents_pass_the_guides_script() {
    for name in AFTER {
        let Some(example) = Example::start(name) else {
            continue;
        };
        let mut request = json!({
            "jsonrpc": "2.0", "id": "test-1", "method": "message/send",
            "params": {"message": {
                "role": "user", "messageId": "msg-test-1",
                "parts": [{"kind": "text", "text": "{\"query\": \"test\"}"}],
            }},
        });
        let told = post(&example, &request);
        assert_eq!(
            (&told["jsonrpc"], &told["id"]),
            (&json!("2.0"), &json!("test-1")),
            "{name}"
        );
        assert_eq!(told["result"]["status"]["state"], "completed", "{name}");
        assert!(told["result"]["artifacts"].is_array(), "{name}");
        request["jsonrpc"] = json!("1.0");
        assert_eq!(post(&example, &request)["error"]["code"], -32600, "{name}");
        request["jsonrpc"] = json!("2.0");
        request["method"] = json!("invalid/method");
        assert_eq!(post(&example, &request)["error"]["code"], -32601, "{name}");
    }
}

/// The guide's `curl`, without curl.
fn post(example: &Example, body: &Value) -> Value {
    use std::io::Read as _;
    let mut stream = TcpStream::connect(("127.0.0.1", example.port)).unwrap();
    let body = body.to_string();
    let head = "POST /agent HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json";
    write!(
        stream,
        "{head}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut told = String::new();
    stream.read_to_string(&mut told).unwrap();
    let (_, body) = told.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap()
}
