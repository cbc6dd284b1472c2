//! The trace: off, on, shown; and what never stands in it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};
use signet_gateway::handle::Trace;

use crate::agent::Agent;
use crate::trial::{KEY, Trial, message};

fn echo() -> Agent {
    Agent::json(
        |request| json!({"jsonrpc": "2.0", "id": request["id"], "result": request["params"]}),
    )
}

fn shown(path: &Path) -> (bool, String) {
    let mut out = Vec::new();
    let on = Trace::show(path, &mut out).unwrap();
    (on, String::from_utf8(out).unwrap())
}

#[test]
fn what_goes_to_and_fro_is_written_while_it_is_on_and_no_longer() {
    let dir = tempfile::tempdir().unwrap();
    let (path, agent) = (dir.path().join("trace"), echo());
    std::fs::write(dir.path().join("token"), "s3cret").unwrap();
    let section = format!(
        "kind = \"http\"\ntoken-file = \"token\"\nurl = \"{}\"",
        agent.url()
    );
    let mut trial = Trial::within(dir.path(), &section, &Trace::file(path.clone()));
    trial.ask(json!({"n": 1})).answer();
    assert_eq!(
        shown(&path),
        (false, String::new()),
        "off until somebody says so"
    );
    Trace::switch_on(&path).unwrap();
    assert_eq!(
        std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    trial.ask(json!({"n": 2})).answer();
    let (on, text) = shown(&path);
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(on && lines.len() == 2, "{text}");
    for (line, way) in lines.iter().zip(["sent", "heard"]) {
        assert_eq!(
            (&line["way"], &line["key"], &line["capability"]),
            (&json!(way), &json!(KEY), &json!("test.cap"))
        );
        let said: Value = serde_json::from_str(line["text"].as_str().unwrap()).unwrap();
        assert_eq!(said["jsonrpc"], "2.0");
    }
    assert!(!text.contains("s3cret"), "no token");
    Trace::switch_off(&path).unwrap();
    trial.ask(json!({"n": 3})).answer();
    assert_eq!(shown(&path), (false, String::new()));
}

#[test]
fn sensitive_data_stands_in_no_trace() {
    let dir = tempfile::tempdir().unwrap();
    let (path, agent) = (dir.path().join("trace"), echo());
    Trace::switch_on(&path).unwrap();
    let section = format!("kind = \"http\"\nurl = \"{}\"", agent.url());
    let mut trial = Trial::within(dir.path(), &section, &Trace::file(path.clone()));
    for tier in [3, 4] {
        let mut secret = message(json!({"diagnosis": "x"}));
        secret.data_tier = tier;
        trial.hand(&secret).answer();
    }
    assert_eq!(shown(&path), (true, String::new()));
}

#[test]
fn a_trace_drives_no_terminal_and_follows_no_link() {
    let dir = tempfile::tempdir().unwrap();
    let (path, agent) = (dir.path().join("trace"), echo());
    Trace::switch_on(&path).unwrap();
    let section = format!("kind = \"http\"\nurl = \"{}\"", agent.url());
    let mut trial = Trial::within(dir.path(), &section, &Trace::file(path.clone()));
    trial
        .ask(json!({"x": "\u{1b}[2J\u{202e}\u{9b}0m\n{\"way\":\"forged\"}"}))
        .answer();
    let (_, text) = shown(&path);
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{9b}']), "{text:?}");
    // Replace the trace file by a link: the trace must not write into the file to which the link leads.
    let victim = dir.path().join("victim");
    std::fs::write(&victim, "mine").unwrap();
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(&victim, &path).unwrap();
    trial.ask(json!({"n": 1})).answer();
    assert!(Trace::switch_on(&path).is_err());
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "mine");
}
