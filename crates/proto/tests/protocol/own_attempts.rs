//! What callers of our own tried and may not: a line for each, and a count where there are many.

use signet_proto::entry::Entry;

use crate::household::{Agent, at};

/// What the lines say: which call, why, and how often.
fn told(agent: &Agent) -> Vec<(String, u64)> {
    let attempt = |(_, entry): &(_, Entry)| match entry {
        Entry::Attempt(line) => Some((line.call.clone().unwrap_or_default(), line.count)),
        _ => None,
    };
    agent.log.iter().filter_map(attempt).collect()
}

fn tries(agent: &mut Agent, call: &'static str, ms: i64) {
    let mut turn = agent.node.turn(at(ms));
    turn.me().note_forbidden(call, "call-forbidden");
    let outcome = turn.me().refused_attempts();
    agent.keep(at(ms), outcome);
}

#[test]
fn a_call_that_a_socket_does_not_take_is_a_line_and_of_many_each_call_is_counted_apart() {
    let mut alice = Agent::new("agent-alice", "alice");
    for _ in 0..25 {
        tries(&mut alice, "peer.add", 1_000);
    }
    for _ in 0..3 {
        tries(&mut alice, "pause", 2_000);
    }
    let lines = told(&alice);
    assert_eq!(lines, vec![("peer.add".to_owned(), 1); 20]);
    alice.tick(at(60_000));
    assert_eq!(told(&alice).len(), 20, "the minute is not over");
    alice.tick(at(61_000));
    let counted = &told(&alice)[20..];
    let both = [("pause".to_owned(), 3), ("peer.add".to_owned(), 5)];
    assert_eq!(counted, both);
}

const CALLS: [&str; 65] = {
    const NAMES: &str = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-*";
    let mut calls = [""; 65];
    let mut n = 0;
    while n < 65 {
        calls[n] = NAMES.split_at(n).1.split_at(1).0;
        n += 1;
    }
    calls
};

#[test]
fn who_tries_ever_other_calls_is_counted_apart_for_sixty_four_of_them_and_no_more() {
    let mut alice = Agent::new("agent-alice", "alice");
    for _ in 0..20 {
        tries(&mut alice, "peer.add", 1_000);
    }
    for call in CALLS {
        tries(&mut alice, call, 2_000);
    }
    alice.tick(at(61_000));
    let counted = &told(&alice)[20..];
    assert_eq!(counted.len(), 65);
    assert!(counted.contains(&(String::new(), 1)), "{counted:?}");
}
