//! Faults that the simulation found, each reduced to the few steps that show it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod household;

use std::time::Duration;

use household::net::{Net, message_of};
use household::people::remembered;
use household::{Agent, alice_and_bob, at};
use signet_proto::draft::LONGEST_LIFE;
use signet_proto::node::{Content, Sending};
use signet_proto::time::Timestamp;

const HOUR: i64 = 3_600_000;

/// As the log writes it: a line's time is never before that of the line above.
fn order(agent: &mut Agent) {
    let mut last = Timestamp::from_millis(0);
    for (ts, _) in &mut agent.log {
        last = last.max(*ts);
        *ts = last;
    }
}

fn notification(life: Duration) -> Sending {
    Sending::Notification(Content {
        life: Some(life),
        ..Content::default()
    })
}

#[test]
fn a_clock_that_is_set_back_parts_no_memory_from_its_log() {
    let (alice, bob) = alice_and_bob();
    let mut net = Net::new(vec![alice, bob], 1);
    net.loss = 100;
    net.skew = vec![HOUR, 0];
    net.ask(0, 1);
    net.skew = vec![0, 0];
    net.ask(0, 1);
    order(&mut net.agents[0]);
    remembered(&net);
}

#[test]
fn a_draft_lives_no_longer_for_a_clock_that_is_set_back() {
    let (mut alice, bob) = alice_and_bob();
    let carol = Agent::new("agent-carol", "carol");
    let line = alice.node.handle_bind(at(HOUR), &carol.certificate());
    alice.keep(at(HOUR), line.unwrap());
    let mut net = Net::new(vec![alice, bob], 1);
    net.send(0, 1, notification(LONGEST_LIFE));
    net.run_for(HOUR / 2);
    let headers = net
        .sent
        .iter()
        .map(|(_, _, bytes)| message_of(bytes).headers);
    let life = headers.map(|headers| headers.expires_at.since(headers.timestamp));
    assert_eq!(life.max(), Some(LONGEST_LIFE));
}
