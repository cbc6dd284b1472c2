//! What people decide, by the commands alone: whom to know, what may leave, when to pause.

mod contact;
mod drafts;
mod pause;
mod revoke;

use std::path::Path;

use serde_json::Value;

use crate::house::{Home, eventually};

/// The words of the agent's own root key, as its person reads them out.
fn words(home: &Home) -> String {
    let shown = home.json(&["key", "show"]).remove(0);
    let keys = shown["keys"].as_array().unwrap().iter();
    let mut words = keys.filter_map(|key| key["fingerprint"].as_str());
    words.next().expect("a fingerprint").to_owned()
}

/// Who waits for the person's decision.
fn pending(home: &Home) -> Vec<Value> {
    let mut listed = home.json(&["trust", "pending"]);
    listed.retain(|one| one["kind"] == "stranger");
    listed
}

/// Until the person of `home` is asked about `other`.
fn is_asked_about(home: &Home, other: &Home) -> Value {
    eventually("a stranger waits", || {
        let mut waiting = pending(home).into_iter();
        waiting.find(|one| one["agent"] == other.agent.as_str())
    })
}

/// How an agent stands with this one, in a word.
fn standing(home: &Home, other: &Home) -> String {
    let list = home.json(&["trust", "list"]);
    let one = list
        .iter()
        .find(|peer| peer["peer"] == other.agent.as_str());
    one.map_or("unknown", |one| one["trust"].as_str().unwrap())
        .to_owned()
}

/// What kinds of decisions the log holds, oldest first.
fn decisions(home: &Home) -> Vec<String> {
    let lines = home.json(&["trust", "log"]);
    let word = |line: &Value| {
        let words = ["change", "decision", "state"].into_iter();
        let mut found = words.filter_map(|name| line[name].as_str().map(str::to_owned));
        found.next().unwrap_or_else(|| line["kind"].to_string())
    };
    lines.iter().map(word).collect()
}

/// Until a message with this body waits.
fn gets(home: &Home, body: &Value) -> Value {
    eventually("the message arrives", || {
        let mut inbox = home.inbox().into_iter();
        inbox.find(|item| item["body"] == *body)
    })
}

fn key(home: &Home, name: &str) -> String {
    home.dir.join("keys").join(name).display().to_string()
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// The log holds by itself, from the first line to the last.
fn verifies(home: &Home) {
    let log = home.dir.join("audit").join(&home.agent);
    home.done(&["audit", "verify", log.to_str().unwrap()]);
}
