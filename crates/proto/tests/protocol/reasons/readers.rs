//! Whichever reader read it, a message is judged alike: the same lines, effects and receipts.

use serde_json::Value;
use signet_proto::entry::Entry;
use signet_proto::node::{At, Judged};
use signet_proto::trust::TrustView;

use super::stages::Log;
use super::{stages, vector};
use crate::household::at;

/// What Bob's agent writes and does, as text.
fn told(log: &Log, now: At, input: &[u8], read: impl Fn(&[u8], &TrustView) -> Judged) -> String {
    let mut bob = stages::bob(&vector::read_again(log));
    let judged = read(input, bob.node.trust());
    let outcome = bob.node.turn(now).handle_inbound(judged);
    let mut told = format!(
        "{:?} {:?}\n",
        outcome.ruled,
        vector::names_of(&outcome.effects)
    );
    for entry in &outcome.entries {
        told += &line_of(entry);
    }
    for (to, bytes) in crate::household::published(&outcome.effects) {
        told += &format!("{to} {}\n", String::from_utf8_lossy(&bytes));
    }
    told
}

fn line_of(entry: &Entry) -> String {
    let mut line = Vec::new();
    entry.write(&mut line);
    String::from_utf8(line).unwrap() + "\n"
}

#[test]
fn every_vector_is_judged_alike_whichever_reader_read_it() {
    for vector in vector::all() {
        let told = |read: fn(&[u8], &TrustView) -> Judged| {
            told(&vector.log, vector.at, &vector.input, read)
        };
        assert_eq!(told(Judged::of), told(Judged::of_any), "{}", vector.name);
    }
    let world = stages::build();
    for path in vector::paths("accepted") {
        let value: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let log = &world.logs[value["knowledge"].as_str().unwrap()];
        let now = value["now"].as_str().unwrap().parse().unwrap();
        let (now, input) = (At { now, ..at(0) }, vector::input_of(&value));
        let told = |read: fn(&[u8], &TrustView) -> Judged| told(log, now, &input, read);
        assert_eq!(told(Judged::of), told(Judged::of_any), "{path:?}");
    }
}
