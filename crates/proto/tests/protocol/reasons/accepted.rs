//! What is taken, as files: `vectors/accepted/NAME.json` holds the input, the time, what the recipient knows, and what it
//! does.

use serde_json::Value;
use signet_proto::envelope::Method;
use signet_proto::node::At;

use super::{stages, vector};
use crate::forge::{reason, verdict};
use crate::household::at;

#[test]
fn every_accepted_vector_is_taken_and_progress_and_offers_settle_nothing() {
    let world = stages::build();
    let mut settle_nothing = 0;
    let paths = vector::paths("accepted");
    assert!(paths.len() >= 58, "the vectors are there");
    for path in paths {
        let value: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let log = &world.logs[value["knowledge"].as_str().unwrap()];
        let mut bob = stages::bob(&vector::read_again(log));
        let before = (bob.log.len(), bob.node.inbox().len());
        let now = value["now"].as_str().unwrap().parse().unwrap();
        let effects = bob.hear(At { now, ..at(0) }, &vector::input_of(&value));
        let new: Vec<_> = bob.log[before.0..]
            .iter()
            .map(|(_, entry)| entry.clone())
            .collect();
        assert_eq!(reason(&new), None, "{path:?}");
        let effects = vector::names_of(&effects);
        assert_eq!(effects, vector::effects_of(&value), "{path:?}");
        let message = verdict(&new).unwrap().message().unwrap();
        if let Some(Method::Progress | Method::Offer) = message.form.method() {
            assert_eq!(bob.node.inbox().len(), before.1, "{path:?}");
            settle_nothing += 1;
        }
    }
    assert!(settle_nothing >= 8, "progress and offers are among them");
}
