//! What is forgotten at the moment at which its time is over, and no sooner, and what is never forgotten with it.

use signet_proto::ids::MessageId;
use signet_proto::node::{CallerKey, Content, Sending, State};

use crate::household::forger::talking;
use crate::household::people::{DAY, acquainted, announce, does};
use crate::household::{Agent, at, identity, identity_under};

const ALICE: usize = 0;
const BOB: usize = 1;
const CAROL: usize = 2;

fn key(text: &str) -> CallerKey {
    text.parse().unwrap()
}

#[test]
fn a_callers_key_is_forgotten_after_thirty_days_to_the_millisecond() {
    let mut net = talking();
    let (then, bob) = (net.now, net.agents[BOB].id());
    let alice = &mut net.agents[ALICE];
    let mut send = |name: &str, ms: i64| -> MessageId {
        let sending = Sending::Notification(Content::default());
        let mut turn = alice.node.turn(at(ms));
        let sent = turn.sent().send_once(&bob, sending, &key(name)).unwrap();
        alice.keep(at(ms), sent.outcome);
        sent.id
    };
    let first = send("first", then);
    let last = send("last", then + 30 * DAY - 1);
    let known = |node: &signet_proto::node::Node, name: &str, ms: i64| {
        node.sent().under(at(ms).now, &key(name))
    };
    let node = &net.agents[ALICE].node;
    assert_eq!(known(node, "first", then + 30 * DAY - 1), Some(first));
    assert_eq!(known(node, "first", then + 30 * DAY), None);
    // The key's time is over, but a clock that was put back still finds it: only the next call under a key removes it.
    assert_eq!(known(node, "first", then), Some(first));
    let alice = &mut net.agents[ALICE];
    let sending = Sending::Notification(Content::default());
    let mut turn = alice.node.turn(at(then + 30 * DAY));
    let sent = turn.sent().send_once(&bob, sending, &key("newest"));
    alice.keep(at(then + 30 * DAY), sent.unwrap().outcome);
    assert_eq!(known(&alice.node, "first", then), None);
    assert_eq!(known(&alice.node, "last", then + 30 * DAY), Some(last));
}

#[test]
fn a_stranger_waits_for_a_day_to_the_millisecond() {
    for (later, waiting) in [(DAY - 1, 2), (DAY, 1)] {
        let mut alice = Agent::new("agent-alice", "alice");
        for (name, ms) in [("eve", 0), ("mallory", later)] {
            let agent = format!("agent-{name}");
            let flight = announce(move || identity(&agent, name), &alice, ms);
            alice.hear(at(ms), &flight);
        }
        // Count by a clock that was put back: by it nobody has waited too long, so only a stranger that was removed is
        // missing.
        assert_eq!(alice.node.people().pending(at(0).now).count(), waiting);
    }
}

#[test]
fn a_changed_root_is_remembered_for_a_day_to_the_millisecond() {
    for (later, told) in [(DAY - 1, 2), (DAY, 1)] {
        let mut alice = Agent::new("agent-alice", "alice");
        alice.knows(&Agent::new("agent-bob", "bob"));
        for (root, ms) in [("a thief's root", 0), ("another thief's root", later)] {
            let thief = move || identity_under(root, "agent-bob", "bob", 1, |_| {});
            let flight = announce(thief, &alice, ms);
            alice.hear(at(ms), &flight);
        }
        assert_eq!(alice.refusals(), ["root-changed"; 2]);
        assert_eq!(alice.node.people().root_alarms(at(0).now).count(), told);
    }
}

#[test]
fn who_is_trusted_no_more_takes_nobody_elses_answer_along() {
    let mut net = acquainted(&[
        ("agent-alice", "alice"),
        ("agent-bob", "bob"),
        ("agent-carol", "carol"),
    ]);
    let [of_bob, of_carol] = [BOB, CAROL].map(|to| net.ask(ALICE, to));
    net.run_for(10_000);
    let bob = net.agents[BOB].id();
    does(&mut net, ALICE, |node, at| {
        node.turn(at).people().withdraw(&bob).unwrap()
    });
    net.reply(BOB, of_bob);
    net.reply(CAROL, of_carol);
    net.run_for(10_000);
    let state = |name| net.agents[ALICE].node.sent().status(name).unwrap().state;
    assert_eq!(state(of_carol), State::Answered);
    assert_ne!(state(of_bob), State::Answered);
}
