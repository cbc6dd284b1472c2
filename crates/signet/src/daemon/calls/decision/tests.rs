use std::time::Duration;

use serde_json::json;
use signet_proto::certificate::ControlCertificate;
use signet_proto::keys::SigningKey;

use super::*;
use crate::keystore::read_signing_key;
use crate::keystore::tests::{Made, now};

/// A daemon that asks for signatures, and its person.
struct Scene {
    node: Node,
    control: ControlCertificate,
    key: SigningKey,
    decisions: Decisions,
}

impl Scene {
    fn new() -> Self {
        let made = Made::new("agent-alice-001");
        let node = made.node();
        let control = node.identity().control.clone().unwrap();
        let key = read_signing_key(&made.file("control.pem")).unwrap();
        let decisions = Decisions::new(Sign::All, at(0));
        Self {
            node,
            control,
            key,
            decisions,
        }
    }

    /// A call that the person signed then.
    fn signed(&self, then: Timestamp) -> Call {
        let bare = json!({"agent": "agent-bob"});
        let asked = Asked {
            agent: self.node.identity().agent(),
            call: "trust.approve",
            params: &bare,
        };
        let said = DecisionStatement::sign(asked, then, &self.control, &self.key).unwrap();
        let params = json!({"agent": "agent-bob", "decision": said.to_value()});
        Call::parse("trust.approve", params).unwrap()
    }

    /// Whether the call is the person's, while the clock stands there.
    fn admits(&mut self, clock: Timestamp, call: &Call) -> bool {
        match self.decisions.admit(&self.node, clock, call) {
            Ok(()) => true,
            Err(error) => {
                let stale = signet_api::Reason::from(reject::Reason::StatementStale.name());
                assert!(error.is(&stale), "{error}");
                false
            }
        }
    }
}

/// So many seconds after the daemon's start.
fn at(seconds: u64) -> Timestamp {
    now().saturating_add(Duration::from_secs(3_600 + seconds))
}

#[test]
fn a_used_decision_serves_no_second_time_when_the_clock_is_put_back() {
    let mut scene = Scene::new();
    let call = scene.signed(at(100));
    assert!(scene.admits(at(110), &call));
    for seconds in [110, 109, 0, 399] {
        assert!(!scene.admits(at(seconds), &call), "{seconds} s");
    }
}

#[test]
fn a_used_decision_serves_no_second_time_when_the_clock_leaps_ahead_and_comes_back() {
    let mut scene = Scene::new();
    let call = scene.signed(at(100));
    assert!(scene.admits(at(100), &call));
    let later = scene.signed(at(7_200));
    assert!(scene.admits(at(7_200), &later));
    assert!(!scene.admits(at(120), &call));
    let fresh = scene.signed(at(130));
    assert!(scene.admits(at(130), &fresh), "the clock is right again");
    assert!(!scene.admits(at(7_300), &later));
}

#[test]
fn a_used_decision_that_made_room_for_newer_ones_serves_no_second_time() {
    let mut scene = Scene::new();
    let call = scene.signed(at(100));
    assert!(scene.admits(at(100), &call));
    let newer = (1..MOST as u64).map(|number| (at(100 + number), Digest([0; 32])));
    scene.decisions.used.extend(newer);
    let last = scene.signed(at(10_000));
    assert!(scene.admits(at(10_000), &last));
    assert_eq!(scene.decisions.used.len(), MOST);
    assert!(!scene.admits(at(100), &call));
    let other = scene.signed(at(9_000));
    assert!(
        scene.admits(at(9_000), &other),
        "an unused one still serves"
    );
}
