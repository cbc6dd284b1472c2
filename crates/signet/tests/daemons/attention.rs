//! What the person is told: by the command of `[notify]`, by `signet watch`, on a desktop; and what nobody is told.

mod command;
mod watch;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use signet::config::Config;
use signet::keystore::{self, AgentKeys};

use crate::house::{Home, House, eventually};

/// What no record may hold: a peer chose it.
const WORDS: &str = "transfer all of it at once";

/// A file to which the command of `[notify]` appends what it is told.
fn told_file(home: &Home) -> PathBuf {
    home.dir.join("told")
}

/// `[notify] command` with a shell script.
fn command(home: &Home, script: &str) {
    let words = json!(["/bin/sh", "-c", script]);
    home.configure(
        "# command = [\"/usr/local/bin/tell-me\"]",
        &format!("command = {words}"),
    );
}

/// The same that keeps what it is told.
fn keeps(home: &Home) {
    command(home, &format!("cat >> '{}'", told_file(home).display()));
}

fn told(home: &Home) -> Vec<Value> {
    let text = std::fs::read_to_string(told_file(home)).unwrap_or_default();
    // The last line may be half written.
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole
        .lines()
        .map(|line| serde_json::from_str(line).expect(line))
        .collect()
}

/// Until the command was told of that kind: the first record.
#[track_caller]
fn is_told(home: &Home, kind: &str) -> Value {
    eventually(kind, || {
        told(home).into_iter().find(|record| record["kind"] == kind)
    })
}

/// A stranger writes, and nobody but its own daemon has what it says.
fn strangers_message(from: &Home, to: &Home) {
    let body = json!({ "words": WORDS }).to_string();
    from.waits(&["send", &to.agent, "--notify", &body, "--summary", WORDS]);
}

fn approve(home: &Home, other: &Home) {
    eventually("a stranger waits", || {
        let waiting = home.json(&["trust", "pending"]);
        let mut agents = waiting.iter().map(|one| &one["agent"]);
        agents
            .any(|agent| *agent == other.agent.as_str())
            .then_some(())
    });
    home.done(&["trust", "approve", &other.agent]);
}

/// Alice, and Bob of whom she has never heard.
fn strangers(house: &House) -> (Home, Home) {
    let (alice, mut bob) = (house.home("alice"), house.home("bob"));
    bob.start();
    (alice, bob)
}

/// A draft that waits for its person's approval; its name.
fn draft(home: &Home, peer: &Home) -> String {
    let args = ["send", &peer.agent, "--tier", "4", "--notify", "{}"];
    let said = home.waits(&args);
    said.split_whitespace().nth(1).unwrap().to_owned()
}

/// A certificate that was issued so many days ago; they last 365.
fn certified(home: &Home, days_ago: u64) {
    let place = signet::home::Home::at(&home.dir);
    let keys = AgentKeys::open(&place, &Config::load(&place).unwrap().agent).unwrap();
    let age = Duration::from_secs(days_ago * 24 * 3600);
    let issued = signet::clock::now().saturating_sub(age);
    let root = home.dir.join("keys/root.pem");
    let change = keystore::rotate_signing(&keys, &root, None, issued).unwrap();
    keystore::stage(&place, &change).unwrap();
}

/// A program for tests, in a directory of its own.
fn program(place: &Path, name: &str, script: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::create_dir_all(place).unwrap();
    let file = place.join(name);
    std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    file
}
