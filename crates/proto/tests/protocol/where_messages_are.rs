//! What a program or a person is told of where a message of ours is, and what became of it.

use std::time::Duration;

use signet_proto::entry::{Alarm, AlarmLine, Entry};
use signet_proto::headers::Tier;
use signet_proto::ids::MessageId;
use signet_proto::node::{
    CallerKey, Content, HandedOut, Sending, SentEnd, State, WaitsFor, Wanted,
};
use signet_proto::policy::{PeerRule, Policy};

use crate::household::forger::talking;
use crate::household::net::Net;
use crate::household::people::{acquainted, does, pause, remembered};
use crate::household::{Agent, identity};

const ALICE: usize = 0;
const BOB: usize = 1;

/// What a caller who waits hears of Alice's message.
fn ends(net: &Net, name: MessageId) -> [Option<SentEnd>; 2] {
    [false, true].map(|for_answer| net.agents[ALICE].node.sent().end_of(name, for_answer))
}

fn settled(end: &Option<SentEnd>) -> Option<&State> {
    match end {
        Some(SentEnd::Settled { state, offers }) => {
            assert_eq!(*offers, None, "it needs no capability");
            Some(state)
        }
        _ => None,
    }
}

#[test]
fn a_caller_waits_for_the_receipt_or_for_the_answer_and_hears_of_no_answer_in_a_pause() {
    let mut net = talking();
    net.cut = Some((BOB, ALICE));
    let asked = net.ask(ALICE, BOB);
    net.run_for(1_000);
    assert!(matches!(ends(&net, asked), [None, None]));
    net.cut = None;
    net.run_for(60_000);
    let heard = ends(&net, asked);
    assert_eq!(settled(&heard[0]), Some(&State::Received));
    assert!(heard[1].is_none(), "the answer may still come");
    net.reply(BOB, asked);
    net.run_for(5_000);
    for end in ends(&net, asked) {
        assert!(matches!(end, Some(SentEnd::Answered(_))), "{end:?}");
    }
    does(&mut net, ALICE, |node, at| {
        node.turn(at)
            .people()
            .pause(&pause("alice", true, 1))
            .unwrap()
    });
    for end in ends(&net, asked) {
        assert_eq!(settled(&end), Some(&State::Answered));
    }
}

#[test]
fn a_draft_says_its_tier_and_an_alarm_says_whose_it_is() {
    let mut net = acquainted(&[("agent-alice", "alice"), ("agent-bob", "bob")]);
    let line = AlarmLine {
        peer: net.agents[BOB].id(),
        what: Alarm::SecondCopy,
        cleared: false,
    };
    let now = net.at(ALICE);
    assert!(net.agents[ALICE].node.alarms().is_empty());
    net.agents[ALICE].log.push((now.now, Entry::Alarm(line)));
    net.restart(ALICE);
    assert!(!net.agents[ALICE].node.alarms().is_empty());
    let content = Content {
        data_tier: Some(Tier::Household),
        life: Some(Duration::from_secs(60)),
        ..Content::default()
    };
    let (at, bob) = (net.at(ALICE), net.agents[BOB].id());
    let node = &mut net.agents[ALICE].node;
    let sending = Sending::Notification(content);
    let made = node.turn(at).sent().send(&bob, sending).unwrap();
    assert_eq!(made.held_by, std::slice::from_ref(&bob));
    let name = made.id;
    let sent = node.sent();
    let status = sent.status(name).unwrap();
    assert_eq!(status.tier, Some(Tier::Household));
    let ends = at.now.saturating_add(Duration::from_secs(60));
    assert_eq!(status.expires, Some(ends));
    assert_eq!(status.waits_for, Some(WaitsFor::Alarm));
    assert_eq!(sent.held_by(&bob, WaitsFor::Alarm), [&bob]);
    assert!(sent.held_by(&bob, WaitsFor::Session).is_empty());
}

fn key(text: &str) -> CallerKey {
    text.parse().unwrap()
}

#[test]
fn a_callers_key_leads_to_its_message_and_a_start_forgets_none() {
    let mut net = talking();
    let (at, bob) = (net.at(ALICE), net.agents[BOB].id());
    let sending = Sending::Notification(Content::default());
    let node = &mut net.agents[ALICE].node;
    let sent = node.turn(at).sent().send_once(&bob, sending, &key("one"));
    let sent = sent.unwrap();
    let effects = net.agents[ALICE].keep(at, sent.outcome);
    net.perform(ALICE, effects);
    net.run_for(1_000);
    let agent = &net.agents[ALICE];
    let after_a_start = agent.restored(agent.log.len());
    for node in [&agent.node, &after_a_start] {
        let now = net.at(ALICE).now;
        assert_eq!(node.sent().under(now, &key("one")), Some(sent.id));
        assert_eq!(node.sent().under(now, &key("other")), None);
    }
    remembered(&net);
}

fn receive(net: &mut Net) -> Option<HandedOut> {
    let mut wanted = Wanted {
        capabilities: None,
        tier: 4,
        peers: None,
        lease: Duration::from_secs(60),
        connection: 1,
        looked: 0,
    };
    let at = net.at(ALICE);
    let (handed, outcome) = net.agents[ALICE]
        .node
        .turn(at)
        .leases()
        .receive(&mut wanted);
    let effects = net.agents[ALICE].keep(at, outcome);
    net.perform(ALICE, effects);
    handed
}

#[test]
fn who_could_not_begin_with_a_message_has_not_tried_it_and_the_next_one_gets_it_a_second_later() {
    let mut net = talking();
    let asked = net.ask(BOB, ALICE);
    net.run_for(100);
    assert!(!net.agents[ALICE].node.inbox().is_empty());
    let handed = receive(&mut net).unwrap();
    let message = net.agents[ALICE].node.inbox().handed_out(handed.lease);
    assert_eq!(message, Some(&handed.message));
    assert_eq!(handed.lease.to_string().parse(), Ok(handed.lease));
    does(&mut net, ALICE, |node, at| {
        node.turn(at)
            .leases()
            .unbegun(handed.lease, "no room")
            .unwrap()
    });
    let inbox = net.agents[ALICE].node.inbox();
    assert_eq!(inbox.handed_out(handed.lease), None);
    assert!(receive(&mut net).is_none(), "after a pause");
    net.run_for(1_000);
    let again = receive(&mut net).unwrap();
    assert_eq!(again.message.headers.message_id, asked);
    assert_eq!(again.tries, 1);
}

#[test]
fn a_change_of_the_policy_tells_whose_sessions_were_granted_under_the_old_one() {
    let mut net = acquainted(&[
        ("agent-alice", "alice"),
        ("agent-bob", "bob"),
        ("agent-carol", "carol"),
    ]);
    net.ask(ALICE, BOB);
    net.run_for(10_000);
    let (at, bob) = (net.at(ALICE), net.agents[BOB].id());
    let narrower = |agent: &Agent| {
        let rule = PeerRule {
            tier: Some(Tier::Public),
            ..PeerRule::default()
        };
        Policy {
            peers: [(agent.id(), rule)].into(),
            ..Policy::default()
        }
    };
    let policy = narrower(&net.agents[BOB]);
    let carols = narrower(&net.agents[2]);
    let node = &mut net.agents[ALICE].node;
    let (_, told) = node.turn(at).me().change_policy(carols);
    assert!(told.is_empty(), "nothing was granted to Carol yet");
    let (_, told) = node.turn(at).me().change_policy(policy);
    assert_eq!(told, [bob]);
}

#[test]
fn each_conversation_has_a_budget_of_its_own_however_many_there_are() {
    let mut alice = Agent::with(|| {
        let policy = Policy {
            conversation_per_minute: Some(1),
            ..Policy::default()
        };
        (identity("agent-alice", "alice"), policy)
    });
    let mut bob = Agent::new("agent-bob", "bob");
    alice.knows(&bob);
    bob.knows(&alice);
    let mut net = Net::new(vec![alice, bob], 1);
    net.send(BOB, ALICE, Sending::Ping);
    net.run_for(1_000);
    for conversation in ["dinner", "lunch", "dinner", "lunch"] {
        let content = Content {
            conversation_id: conversation.parse().ok(),
            ..Content::default()
        };
        net.send(BOB, ALICE, Sending::Notification(content));
        net.run_for(100);
    }
    assert_eq!(net.agents[ALICE].refusals(), ["budget-exceeded"; 2]);
}

#[test]
fn what_fails_again_is_left_alone_for_twice_as_long() {
    let mut net = talking();
    net.ask(BOB, ALICE);
    net.run_for(100);
    for seconds in [1, 2, 4, 8] {
        let handed = receive(&mut net).unwrap();
        let at = net.at(ALICE);
        let node = &mut net.agents[ALICE].node;
        let failed = node.turn(at).leases().fail(handed.lease, "no", None);
        let (pause, outcome) = failed.unwrap();
        let effects = net.agents[ALICE].keep(at, outcome);
        net.perform(ALICE, effects);
        assert_eq!(pause, Some(Duration::from_secs(seconds)));
        net.run_for(1_000 * i64::try_from(seconds).unwrap() - 1);
        does(&mut net, ALICE, |node, at| node.turn(at).handle_timeout());
        assert!(receive(&mut net).is_none());
        net.run_for(1);
    }
}
