//! Faults that the simulation found, each reduced to the few steps that show it.

use std::time::Duration;

use signet_proto::carrier::CarrierId;
use signet_proto::draft::LONGEST_LIFE;
use signet_proto::entry::Entry;
use signet_proto::envelope::Method;
use signet_proto::ids::{Digest, MessageId};
use signet_proto::node::{Content, Effect, Notice, Sending, State, TRIES};
use signet_proto::reject::Reason;
use signet_proto::session::{Slot, Window};
use signet_proto::time::Timestamp;

use crate::household::forger::talking;
use crate::household::net::{Net, message_of, times_taken};
use crate::household::people::{does, handed, pause, remembered};
use crate::household::{Agent, alice_and_bob, at};

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;

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
    let line = alice
        .node
        .turn(at(HOUR))
        .people()
        .bind(&carol.certificate());
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

fn state(net: &Net, name: MessageId) -> Option<State> {
    let out = net.agents[0].node.sent().status(name);
    out.map(|out| out.state)
}

#[test]
fn what_the_peer_has_is_called_expired_only_until_it_can_say_so() {
    let mut net = talking();
    net.cut = Some((1, 0));
    let name = net.send(0, 1, notification(Duration::from_secs(60)));
    net.run_for(HOUR);
    assert_eq!(state(&net, name), Some(State::Expired));
    net.cut = None;
    let next = net.send(0, 1, notification(LONGEST_LIFE));
    net.run_for(60_000);
    assert_eq!(state(&net, next), Some(State::Received));
    assert_eq!(state(&net, name), Some(State::Received));
}

#[test]
fn what_never_came_stays_expired_however_far_receipts_go() {
    let mut net = talking();
    net.cut = Some((0, 1));
    let name = net.send(0, 1, notification(Duration::from_secs(60)));
    net.run_for(HOUR);
    net.cut = None;
    let next = net.send(0, 1, notification(LONGEST_LIFE));
    net.run_for(60_000);
    assert_eq!(state(&net, next), Some(State::Received));
    assert_eq!(state(&net, name), Some(State::Expired));
    let from = net.now;
    net.run_for(HOUR);
    assert_eq!(net.sent_since(from, None), 0, "all is said");
    remembered(&net);
}

#[test]
fn a_receipt_that_was_lost_is_asked_for_though_a_mailbox_holds_the_message() {
    let mut net = talking();
    net.cut = Some((1, 0));
    let name = net.send(0, 1, notification(LONGEST_LIFE));
    let (at, bob) = (net.at(0), net.agents[1].id());
    net.agents[0]
        .node
        .turn(at)
        .carriers()
        .stored(&CarrierId::NATS, &bob, name);
    net.run_for(10_000);
    net.cut = None;
    net.run_for(HOUR / 6);
    assert_eq!(state(&net, name), Some(State::Received));
}

#[test]
fn an_absent_peers_mailbox_does_not_fill_with_copies() {
    let mut net = talking();
    net.cut = Some((0, 1));
    let from = net.now;
    let names: Vec<_> = (0..20)
        .map(|_| net.send(0, 1, notification(LONGEST_LIFE)))
        .collect();
    let bob = net.agents[1].id();
    let mut seen = 0;
    while net.now < from + 7 * 24 * HOUR {
        let at = net.at(0);
        for (_, _, bytes) in net.sent.iter().skip(seen) {
            let name = message_of(bytes).headers.message_id;
            net.agents[0]
                .node
                .turn(at)
                .carriers()
                .stored(&CarrierId::NATS, &bob, name);
        }
        seen = net.sent.len();
        net.run_for(4_000);
    }
    let sent = net.sent_since(from, Some(Method::Notification));
    // Each message goes out once, and a second time in case the mailbox has lost it; all further copies ask for a
    // receipt.
    assert!(sent < 2 * names.len() + 40, "{sent} copies");
}

fn hash(n: u64) -> Digest {
    Digest::of(&[&n.to_be_bytes()])
}

fn slot(n: u64) -> Slot {
    Slot {
        hash: hash(n),
        signed_at: Timestamp::from_millis(0),
        refused: None,
    }
}

#[test]
fn a_number_seen_twice_is_told_though_the_floor_had_passed_it() {
    let mut window = Window::default();
    window.record(1, slot(1));
    window.take_floor(Some(2), &[]);
    window.note_reuse(1);
    window.take_floor(Some(2), &[]);
    let except = window.receipt().except;
    assert_eq!((except[0].0, except[0].1.hash), (1, Some(hash(1))));
}

#[test]
fn a_peer_that_was_put_back_hears_of_refusals_below_its_former_floor() {
    let mut window = Window::default();
    window.record(1, slot(1));
    window.take_floor(Some(9), &[(2, 8)]);
    window.take_floor(Some(9), &[]);
    assert_eq!((window.through(), window.receipt().except.len()), (8, 0));
    window.take_floor(Some(2), &[]);
    assert_eq!(window.admit(5, hash(5)), Err(Reason::Expired));
    window.note_late(5);
    assert_eq!(window.receipt().except[0].0, 5);
}

#[test]
fn what_was_told_to_be_missing_is_not_taken_later() {
    let mut window = Window::default();
    window.record(2, slot(2));
    window.take_floor(Some(2), &[(1, 1)]);
    assert_eq!(window.receipt().except[0].1.reason, "missing");
    assert_eq!(window.admit(1, hash(1)), Err(Reason::Expired));
    assert_eq!(window.admit(2, hash(2)), Err(Reason::Duplicate));
    assert_eq!(window.admit(3, hash(3)), Ok(()));
}

#[test]
fn a_receipt_that_does_not_fit_still_says_what_was_given_up() {
    let mut net = talking();
    let before = net.agents[1].log.len();
    for _ in 0..2 {
        net.send(1, 0, notification(LONGEST_LIFE));
    }
    net.run_for(10_000);
    net.cut = Some((0, 1));
    net.send(0, 1, notification(Duration::from_secs(1)));
    net.run_for(300_000);
    net.agents[1].log.truncate(before);
    net.restart(1);
    net.cut = None;
    let name = net.send(0, 1, notification(LONGEST_LIFE));
    net.run_for(600_000);
    assert_eq!(state(&net, name), Some(State::Received));
}

fn told(net: &Net) -> Vec<&Notice> {
    let effects = net.effects.iter();
    let notices = effects.filter_map(|(_, effect)| match effect {
        Effect::Notice(notice) => Some(notice.as_ref()),
        _ => None,
    });
    notices.collect()
}

#[test]
fn an_announce_that_waited_in_a_mailbox_rings_no_alarm_of_clocks() {
    let (alice, bob) = alice_and_bob();
    let mut net = Net::new(vec![alice, bob], 1);
    net.cut = Some((0, 1));
    net.ask(0, 1);
    let announce = net.sent[0].2.clone();
    let elapsed = net.at(1).elapsed;
    net.agents[1]
        .node
        .handle_disconnected(&CarrierId::NATS, elapsed);
    for late in [100_000, 2 * HOUR] {
        net.now = late;
        let at = net.at(1);
        let effects = net.agents[1].hear(at, &announce);
        net.perform(1, effects);
    }
    assert!(told(&net).is_empty());
}

#[test]
fn clocks_minutes_apart_are_named_by_both_and_called_no_second_copy() {
    for apart in [92_000, 251_000, HOUR] {
        let (alice, bob) = alice_and_bob();
        let mut net = Net::new(vec![alice, bob], 1);
        net.skew = vec![0, apart];
        net.delay = 40_000;
        for _ in 0..4 {
            net.ask(0, 1);
            net.run_for(HOUR);
        }
        let both = net.agents.iter().all(|agent| {
            let mut log = agent.log.iter();
            log.any(|(_, entry)| matches!(entry, Entry::Clock(_)))
        });
        assert!(both, "{apart}");
        let others = told(&net);
        let others = others
            .iter()
            .filter(|notice| !matches!(notice, Notice::Clock { .. }));
        assert_eq!(others.count(), 0, "{apart}");
    }
}

#[test]
fn a_clock_that_was_months_ahead_and_was_put_right_leaves_new_sessions_alone() {
    let mut net = talking();
    net.skew[0] = 60 * DAY;
    net.ask(0, 1);
    net.run_for(3_000);
    net.skew[0] = 0;
    net.run_for(1_000);
    for restarts in [false, true] {
        if restarts {
            order(&mut net.agents[0]);
            net.restart(0);
        }
        for (from, to) in [(0, 1), (1, 0)] {
            let asked = net.ask(from, to);
            net.run_for(10_000);
            assert_eq!(times_taken(&net.agents[to], asked), 1, "{from} to {to}");
        }
    }
}

#[test]
fn a_message_that_is_to_be_tried_again_is_handed_over_when_the_pause_ends() {
    let mut net = talking();
    let asked = net.ask(0, 1);
    net.run_for(1_000);
    let alice = net.agents[0].id();
    for _ in 0..TRIES {
        does(&mut net, 1, |node, at| {
            node.turn(at)
                .inbox()
                .fail(&alice, asked, "no hands")
                .unwrap()
                .1
        });
    }
    let said = |paused, serial| pause("bob", paused, serial);
    does(&mut net, 1, |node, at| {
        node.turn(at).people().pause(&said(true, 1)).unwrap()
    });
    net.effects.clear();
    does(&mut net, 1, |node, at| {
        node.turn(at).inbox().retry(Some(&alice), asked).unwrap()
    });
    assert_eq!(handed(&net, 1), [], "while it pauses");
    does(&mut net, 1, |node, at| {
        node.turn(at).people().pause(&said(false, 2)).unwrap()
    });
    assert_eq!(handed(&net, 1), [asked], "once, when it goes on");
    remembered(&net);
}
