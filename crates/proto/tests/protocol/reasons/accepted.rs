//! What version 1.1.0 takes, as files: `vectors/accepted/NAME.json` holds the input, the time, the log that
//! the recipient has, and what it does.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::faults::{self, Faults, NOW};
use super::stages::{self, World};
use super::{newer, vector};
use crate::forge::reason;
use crate::household::at;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/accepted")
}

/// Name, what it is about, and the input: all come to Bob in the session of version 1.1.0.
fn inputs(world: &World) -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let faults = Faults::of(world);
    let told = |body: Value| {
        faults.said_newer(newer::progress(body, |value| {
            faults::set("in-reply-to", world.newer_asked.to_string())(value);
            faults::set("data-tier", 2)(value);
        }))
    };
    let part = json!({"index": 3, "last": false, "name": "evenings", "body": ["Tue"]});
    let lamp = json!({"name": "lamp.switch", "tier": 2, "description": "Switches the lamp",
                      "schema": {"required": ["on"]}});
    vec![
        (
            "progress",
            "the least that can be said",
            told(json!({"state": "working"})),
        ),
        (
            "progress-with-a-note-and-a-part",
            "a part of what the answer will be",
            told(json!({"state": "input-required", "note": "Which week?", "part": part})),
        ),
        (
            "offer",
            "a program of the sender's has come",
            faults.said_newer(newer::offer(json!({ "capabilities": [lamp] }))),
        ),
        (
            "offer-of-nothing",
            "no program is there any more",
            faults.said_newer(newer::offer(json!({ "capabilities": [] }))),
        ),
    ]
}

fn regenerate_if_asked() {
    if std::env::var("SIGNET_REGENERATE").as_deref() != Ok("1") {
        return;
    }
    let world = stages::build();
    fs::create_dir_all(folder()).unwrap();
    for (name, about, input) in inputs(&world) {
        let effects = stages::bob(&world.logs["newer"]).hear(at(NOW), &input);
        let described = json!({
            "about": about,
            "me": "agent-bob",
            "log": "newer",
            "now": at(NOW).now.to_string(),
            "input": String::from_utf8(input).unwrap(),
            "effects": vector::names_of(&effects),
        });
        let text = serde_json::to_string_pretty(&described).unwrap();
        fs::write(folder().join(format!("{name}.json")), text + "\n").unwrap();
    }
}

#[test]
fn every_accepted_vector_is_taken_and_settles_nothing() {
    regenerate_if_asked();
    let mut count = 0;
    for file in fs::read_dir(folder()).unwrap() {
        let path = file.unwrap().path();
        let value: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let log = vector::read_log(value["log"].as_str().unwrap());
        let mut bob = stages::bob(&log);
        let before = (bob.log.len(), bob.node.inbox().len());
        let now = value["now"].as_str().unwrap().parse().unwrap();
        let input = value["input"].as_str().unwrap().as_bytes();
        let effects = bob.hear(signet_proto::node::At { now, ..at(0) }, input);
        let new: Vec<_> = bob.log[before.0..]
            .iter()
            .map(|(_, entry)| entry.clone())
            .collect();
        assert_eq!(reason(&new), None, "{path:?}");
        assert_eq!(
            json!(vector::names_of(&effects)),
            value["effects"],
            "{path:?}"
        );
        assert_eq!(bob.node.inbox().len(), before.1, "{path:?}");
        count += 1;
    }
    assert!(count >= 4, "the vectors are there");
}
