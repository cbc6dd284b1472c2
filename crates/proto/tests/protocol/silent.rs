//! Peers of which nothing is heard: what goes to them, and how soon they are found again.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use signet_proto::entry::Did;
use signet_proto::entry::Entry;
use signet_proto::envelope::Method;
use signet_proto::ids::MessageId;
use signet_proto::node::{Content, Lost, Sending, State, WaitsFor};
use signet_proto::policy::Policy;

use crate::household::forger::talking;
use crate::household::net::{Net, message_of};
use crate::household::people::{remembered, states};
use crate::household::{Agent, identity_with};
use crate::reopened::{HOUR, MINUTE, connects, disconnects, is_away, starts, tells};

const DAY: i64 = 24 * HOUR;

/// How often somebody announced since.
fn announced(net: &Net, who: usize, from: i64) -> usize {
    let since = net
        .sent
        .iter()
        .filter(|(ms, by, _)| *ms >= from && *by == who);
    since
        .filter(|(_, _, bytes)| message_of(bytes).form.method() == Some(Method::Announce))
        .count()
}

#[test]
fn a_peer_that_was_silent_for_thirty_days_is_announced_to_only_when_something_is_to_be_sent() {
    let serial = Rc::new(Cell::new(1));
    let now = Rc::clone(&serial);
    let make = move || {
        let by = identity_with("agent-alice", "alice", 1, |request| {
            request.serial = now.get()
        });
        (by, Policy::default())
    };
    let (mut alice, mut bob) = (Agent::with(make), Agent::new("agent-bob", "bob"));
    alice.knows(&bob);
    bob.knows(&alice);
    let mut net = Net::new(vec![alice, bob], 1);
    tells(&mut net, 0, 1);
    net.run_for(MINUTE);
    // Nobody hears Bob any more, and Alice has something for him to know: a new certificate.
    net.cut = Some((1, 0));
    serial.set(2);
    starts(&mut net, 0);
    let from = net.now;
    net.run_for(29 * DAY);
    assert!(
        announced(&net, 0, from) > 29 * 4,
        "every six hours at least"
    );
    net.run_for(2 * DAY);
    let from = net.now;
    net.run_for(2 * DAY);
    is_away(&mut net, 0, 30_000);
    assert_eq!(announced(&net, 0, from), 0, "by itself, and at a reconnect");
    starts(&mut net, 0);
    assert_eq!(announced(&net, 0, from), 0, "and at a start");
    tells(&mut net, 0, 1);
    net.run_for(MINUTE);
    assert!(announced(&net, 0, from) > 0, "for what is to be sent");
    net.cut = None;
    net.run_for(HOUR);
    let bob = net.agents[1].id();
    let standing = net.agents[0].node.standing(&bob, net.at(0).now);
    assert!(standing.session.is_some(), "and he is met again");
}

/// Alice sends five a second, and for so many seconds nothing of it reaches Bob: it is lost, or, where something `holds` it,
/// comes behind that time. How many were sent, how often any of them left once more, and how many ms the slowest took.
fn away_for(seconds: i64, holds: bool) -> (usize, usize, i64) {
    let mut net = talking();
    net.run_for(HOUR);
    let before = net.sent.len();
    let (mut told, mut slowest, mut settled) = (Vec::new(), 0, 0);
    let away = 50..50 + seconds * 5;
    let mut held = 0;
    for n in 0..away.end + 300 {
        if n == away.start {
            held = net.sent.len();
        }
        if n == away.end && holds {
            let kept: Vec<_> = net.sent[held..].to_vec();
            for (_, _, bytes) in kept.into_iter().filter(|(_, who, _)| *who == 0) {
                net.put(1, bytes, 1);
            }
        }
        net.cut = away.contains(&n).then_some((0, 1));
        told.push((net.now, tells(&mut net, 0, 1)));
        net.run_for(200);
        while let Some((at, name)) = told.get(settled)
            && states(&net, 0, *name) == [State::Received]
        {
            slowest = slowest.max(net.now - at);
            settled += 1;
        }
    }
    assert!(told.len() - settled <= 1, "all were received");
    let left = net.sent[before..]
        .iter()
        .filter(|(_, who, bytes)| *who == 0 && message_of(bytes).headers.sequence.is_some());
    (told.len(), left.count() - told.len(), slowest)
}

#[test]
fn a_site_that_was_away_for_minutes_is_found_within_fifteen_seconds() {
    for seconds in [10, 30, 60, 180, 290] {
        let (_, _, slowest) = away_for(seconds, false);
        assert!(
            slowest <= (seconds + 15) * 1000,
            "{seconds} s: {slowest} ms"
        );
    }
}

#[test]
fn a_server_that_was_frozen_and_held_everything_makes_few_copies() {
    for seconds in [30, 60, 180] {
        let (sent, copies, slowest) = away_for(seconds, true);
        assert!(copies * 20 < sent, "{seconds} s: {copies} of {sent}");
        assert!(slowest <= (seconds + 1) * 1000, "{seconds} s: {slowest} ms");
    }
}

/// The names of what Alice sent since.
fn names_since(net: &Net, from: i64) -> Vec<MessageId> {
    let since = net
        .sent
        .iter()
        .filter(|(ms, by, _)| *ms >= from && *by == 0);
    let names = since.map(|(_, _, bytes)| message_of(bytes).headers.message_id);
    names.collect()
}

/// Otherwise one message that no carrier takes would stand before all others for days, and a ping would end before it left.
#[test]
fn a_new_message_to_a_peer_that_was_silent_for_hours_goes_within_seconds_whatever_waits_before_it()
{
    let mut net = talking();
    net.run_for(HOUR);
    net.cut = Some((0, 1));
    let first = tells(&mut net, 0, 1);
    net.run_for(6 * HOUR);
    let from = net.now;
    let later: Vec<_> = (0..3).map(|_| tells(&mut net, 0, 1)).collect();
    net.run_for(16_000);
    let left = names_since(&net, from);
    assert_eq!(left, later);
    // Then each has its turn, also the first.
    net.run_for(HOUR);
    let names = names_since(&net, from);
    let turns = |name: MessageId| names.iter().filter(|it| **it == name).count();
    assert!(turns(first) >= 2, "{}", turns(first));
    assert!(turns(later[2]) >= 3, "{}", turns(later[2]));
}

/// Alice and Bob, of whom nothing is heard; and two requests to him, one that went out and one, for so many seconds, that is held
/// back. Alice's log was as long before those.
fn held_back(life: u64) -> (Net, [MessageId; 2], usize) {
    let mut net = talking();
    net.run_for(HOUR);
    let before = net.agents[1].log.len();
    tells(&mut net, 0, 1);
    net.run_for(MINUTE);
    net.cut = Some((0, 1));
    let went = net.ask(0, 1);
    net.run_for(6_000);
    let content = Content {
        life: Some(Duration::from_secs(life)),
        ..Content::default()
    };
    let from = net.sent.len();
    let held = net.send(0, 1, Sending::Request(content));
    net.run_for(2_000);
    let left = net.sent[from..].iter().filter(|(_, who, _)| *who == 0);
    assert_eq!(left.count(), 0, "it is held back");
    (net, [went, held], before)
}

fn state(net: &Net, name: MessageId) -> State {
    net.agents[0].node.sent().status(name).unwrap().state
}

/// A program and a person are told why it is still here: the one that went out is not held back, and neither is once Bob is heard.
#[test]
fn what_is_held_back_waits_for_a_sign_of_life_of_its_peer_and_says_so() {
    let (mut net, [went, held], _) = held_back(600);
    let waits_for = |net: &Net, name| net.agents[0].node.sent().status(name).unwrap().waits_for;
    assert_eq!(waits_for(&net, went), None);
    assert_eq!(waits_for(&net, held), Some(WaitsFor::Peer));
    assert_eq!(state(&net, held), State::Queued);
    remembered(&net);
    // The call that sends one says so as well.
    let (to, at) = (net.agents[1].id(), net.at(0));
    let mut turn = net.agents[0].node.turn(at);
    let sent = turn.sent().send(&to, Sending::Request(Content::default()));
    let sent = sent.unwrap();
    assert_eq!(
        (sent.waits_for, sent.state),
        (Some(WaitsFor::Peer), State::Queued)
    );
    net.agents[0].keep(at, sent.outcome);
    // Behind a start nobody knows which of them went, and one alone is tried at a time.
    net.restart(0);
    disconnects(&mut net, 0);
    net.run_for(1_000);
    connects(&mut net, 0);
    net.run_for(100);
    let waiting = [went, held].map(|name| waits_for(&net, name));
    assert!(waiting.contains(&Some(WaitsFor::Peer)), "{waiting:?}");
    net.cut = None;
    net.run_for(MINUTE);
    assert_eq!(waits_for(&net, held), None);
}

/// Bob's log is put back to an older copy, and the receipt that he sends at his start shows it.
fn is_put_back(net: &mut Net, lines: usize) {
    net.agents[1].log.truncate(lines);
    starts(net, 1);
}

#[test]
fn a_message_that_was_held_back_until_its_session_was_lost_is_known_to_have_never_left() {
    let (mut net, [went, held], before) = held_back(600);
    is_put_back(&mut net, before);
    let lost = State::Unknown(Lost::RestoredBackup);
    assert_eq!(states(&net, 0, went), std::slice::from_ref(&lost));
    let refused = State::RefusedHere("restored-backup".to_owned());
    assert_eq!(states(&net, 0, held), std::slice::from_ref(&refused));
    let status = net.agents[0].node.sent().status(held).unwrap();
    assert_eq!((status.state, status.expires), (refused.clone(), None));
    remembered(&net);
    net.cut = None;
    net.run_for(HOUR);
    net.restart(0);
    assert_eq!(state(&net, held), refused, "for good");
}

/// The log says that it was signed, and not whether it left.
#[test]
fn behind_a_start_nobody_can_say_whether_a_message_left_that_was_held_back() {
    let (mut net, [_, held], before) = held_back(600);
    net.restart(0);
    is_put_back(&mut net, before);
    let lost = State::Unknown(Lost::RestoredBackup);
    assert_eq!(state(&net, held), lost);
}

#[test]
fn a_message_that_was_held_back_for_its_whole_life_is_known_to_have_never_left() {
    let (mut net, [went, held], _) = held_back(4);
    net.run_for(10_000);
    let refused = State::RefusedHere("expired".to_owned());
    assert_eq!(states(&net, 0, held), std::slice::from_ref(&refused));
    assert_eq!(states(&net, 0, went), []);
    let since = names_since(&net, 0);
    assert!(!since.contains(&held));
    let is_about = |entry: &Entry| matches!(entry, Entry::Outcome(line) if line.message_id == held && line.what == Did::DraftRefused);
    let lines = net.agents[0].log.iter();
    assert_eq!(lines.filter(|(_, entry)| is_about(entry)).count(), 1);
    remembered(&net);
    // Its number is given up, and stands before no other.
    net.cut = None;
    net.run_for(MINUTE);
    assert_eq!(states(&net, 0, went), [State::Received]);
    let last = tells(&mut net, 0, 1);
    net.run_for(MINUTE);
    assert_eq!(states(&net, 0, last), [State::Received]);
    assert_eq!(state(&net, held), refused);
    let bob = net.agents[1].id();
    assert_eq!(
        net.agents[0].node.standing(&bob, net.at(0).now).unconfirmed,
        0
    );
    remembered(&net);
}

/// Otherwise each word of a peer that hears nothing would draw the whole backlog again.
#[test]
fn a_peer_that_speaks_and_confirms_nothing_draws_each_message_ever_more_rarely() {
    let mut net = talking();
    net.run_for(HOUR);
    net.cut = Some((0, 1));
    let from = net.now;
    let all: Vec<_> = (0..50).map(|_| tells(&mut net, 0, 1)).collect();
    let minutes = 10;
    for _ in 0..minutes * 60 / 8 {
        tells(&mut net, 1, 0);
        net.run_for(8_000);
    }
    let names = names_since(&net, from);
    let copies = |name: &MessageId| names.iter().filter(|it| *it == name).count() - 1;
    let most = all.iter().map(copies).max().unwrap();
    let sum: usize = all.iter().map(copies).sum();
    // Behind 5, 10, 20 … 300 s, twice at the first pace; and a probe at each of 75 silences.
    assert!(most <= 10 && sum <= all.len() * 9 + 75, "{most}, {sum}");
    assert!(sum >= all.len() * 5, "{sum}: they still go out");
    net.cut = None;
    net.run_for(5 * MINUTE);
    for name in all {
        assert_eq!(states(&net, 0, name), [State::Received]);
    }
}
