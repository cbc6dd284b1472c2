//! Attacks and accidents with copies of an agent: a second one that runs, a backup put back, numbers
//! used twice. What shows them rings, and nothing rings without them.

use signet_proto::entry::{Alarm, Entry, Ruling};
use signet_proto::envelope::Method;
use signet_proto::node::{At, Content, Effect, Lost, Notice, Sending, State, WaitsFor};
use signet_proto::receipt::Receipt;

use crate::household::forger::{call, hear, name, receipt, talking};
use crate::household::net::Net;
use crate::household::people::{notices, remembered};
use crate::household::{self, alice_and_bob, at};

const MINUTE: i64 = 60_000;

fn rings(net: &Net, who: usize) -> Vec<Alarm> {
    let alarms = net.agents[who].node.alarms();
    alarms.keys().map(|(what, _)| *what).collect()
}

fn tell(net: &mut Net, from: usize) -> signet_proto::ids::MessageId {
    net.send(from, 1 - from, Sending::Notification(Content::default()))
}

/// How often Alice announced.
fn announces(net: &Net) -> usize {
    let lines = net.agents[0].log.iter();
    let sent = lines.filter(|(_, entry)| match entry {
        Entry::Message(verdict) => {
            let message = verdict.message();
            let method = message.and_then(|message| message.form.method());
            verdict.ruling == Ruling::Sent && method == Some(Method::Announce)
        }
        _ => false,
    });
    sent.count()
}

/// Both daemons of one agent answer the same mail: the peer's flight 2 reaches the one that never
/// announced.
#[test]
fn a_second_copy_that_announces_is_noticed_by_the_first_and_nobody_announces_any_more() {
    let mut net = talking();
    net.restart(0);
    net.run_for(30 * MINUTE);
    // The second copy of Alice's daemon has her log of the day on which she added Bob, and starts while she runs.
    let mut copy = household::Agent::new("agent-alice", "alice");
    copy.log.clone_from(&net.agents[0].log);
    copy.log
        .retain(|(_, entry)| matches!(entry, Entry::Genesis(_) | Entry::Trust(..)));
    let now = net.at(0);
    copy.restart(now);
    let bob = net.agents[1].id();
    let outcome = copy
        .node
        .turn(now)
        .sent()
        .send(&bob, Sending::Notification(Content::default()))
        .unwrap()
        .outcome;
    let flights = household::published(&copy.keep(now, outcome));
    assert_eq!(flights.len(), 1, "the copy announces");
    for (_, flight) in &flights {
        let now = net.at(1);
        let effects = net.agents[1].hear(now, flight);
        // Bob's answers to the copy reach Alice's first daemon as well, since both have the same agent-id.
        let answers = household::published(&effects);
        for (to, answer) in answers {
            assert_eq!(to, net.agents[0].id());
            let now = net.at(0);
            let effects = net.agents[0].hear(now, &answer);
            let told = notices(&effects);
            let rings = told.iter().any(
                |notice| matches!(notice, Notice::Alarm(line) if line.what == Alarm::SecondCopy),
            );
            assert!(rings, "{told:?}");
        }
    }
    assert_eq!(rings(&net, 0), [Alarm::SecondCopy]);
    remembered(&net);
}

#[test]
fn while_a_second_copy_rings_no_announce_goes_out_until_a_person_clears_it() {
    let (alice, bob) = alice_and_bob();
    let mut net = Net::new(vec![alice, bob], 1);
    let line = signet_proto::entry::AlarmLine {
        peer: net.agents[1].id(),
        what: Alarm::SecondCopy,
        cleared: false,
    };
    let now = net.at(0);
    net.agents[0].log.push((now.now, Entry::Alarm(line)));
    net.restart(0);
    let waiting = tell(&mut net, 0);
    net.run_for(30 * MINUTE);
    assert_eq!(announces(&net), 0);
    let waits_for = net.agents[0].node.sent().status(waiting).unwrap().waits_for;
    assert_eq!(waits_for, Some(WaitsFor::Alarm));
    let now = net.at(0);
    let outcome = net.agents[0].node.turn(now).alarms().clear();
    assert_eq!(outcome.entries.len(), 1);
    let effects = net.agents[0].keep(now, outcome);
    net.perform(0, effects);
    net.run_for(10 * MINUTE);
    assert_eq!(rings(&net, 0), []);
    assert_eq!(announces(&net), 1);
    assert_eq!(household::net::times_taken(&net.agents[1], waiting), 1);
    remembered(&net);
}

#[test]
fn an_agent_put_back_to_an_older_copy_learns_it_by_the_first_receipt_and_says_what_it_cannot_know()
{
    let mut net = talking();
    for _ in 0..3 {
        tell(&mut net, 0);
        net.run_for(2_000);
    }
    let old = net.agents[0].log.clone();
    for _ in 0..3 {
        tell(&mut net, 0);
        net.run_for(2_000);
    }
    net.agents[0].log = old;
    net.restart(0);
    let reused = tell(&mut net, 0);
    net.run_for(10_000);
    assert!(
        rings(&net, 0).contains(&Alarm::Restored),
        "{:?}",
        rings(&net, 0)
    );
    assert!(
        rings(&net, 1)
            .iter()
            .all(|what| *what == Alarm::SequenceReuse)
    );
    let fate = net.agents[0].node.sent().status(reused).unwrap().state;
    assert_eq!(fate, State::Unknown(Lost::RestoredBackup));
    net.run_for(10 * MINUTE);
    let later = tell(&mut net, 0);
    net.run_for(MINUTE);
    assert_eq!(
        household::net::times_taken(&net.agents[1], later),
        1,
        "a new session"
    );
    remembered(&net);
}

/// A receipt beyond what we sent can also be a lie of the peer's: it costs one session, and a person
/// hears of it once.
#[test]
fn a_peer_that_lies_about_what_it_has_rings_once_and_costs_one_session() {
    let mut net = talking();
    let lie = Receipt {
        through: 900,
        ..Receipt::default()
    };
    let now = net.at(0).now;
    let lies: Vec<_> = (0..5).map(|n| receipt(&net, 100 + n, now, &lie)).collect();
    for bytes in lies {
        hear(&mut net, 0, &bytes);
    }
    net.run_for(MINUTE);
    assert_eq!(rings(&net, 0), [Alarm::Restored]);
    let lines = net.agents[0].log.iter();
    let alarms = lines.filter(|(_, entry)| entry.kind() == "alarm").count();
    assert_eq!(alarms, 1);
    let asked = net.ask(0, 1);
    net.run_for(MINUTE);
    assert_eq!(household::net::times_taken(&net.agents[1], asked), 1);
}

#[test]
fn one_number_for_two_messages_rings_at_the_recipient_and_nobody_else_can_make_it_ring() {
    let mut net = talking();
    let first = call(&net, Method::Notification, 9, |_, _| {});
    let second = call(&net, Method::Notification, 9, |draft, _| {
        draft.message_id = name(51);
        draft.body = Some(serde_json::json!({"n": "other"}));
    });
    assert_eq!(hear(&mut net, 0, &first).0, None);
    let (refused, effects) = hear(&mut net, 0, &second);
    assert_eq!(refused, Some("sequence-reuse"));
    assert!(
        effects
            .iter()
            .any(|effect| matches!(effect, Effect::Notice(_)))
    );
    assert_eq!(rings(&net, 0), [Alarm::SequenceReuse]);
    let (again, effects) = hear(&mut net, 0, &second);
    assert_eq!(again, Some("duplicate"));
    assert!(
        effects
            .iter()
            .all(|effect| !matches!(effect, Effect::Notice(_)))
    );
}

#[test]
fn two_honest_agents_who_restart_and_lose_mail_all_day_ring_nothing() {
    let (alice, bob) = alice_and_bob();
    let mut net = Net::new(vec![alice, bob], 7);
    (net.loss, net.copies, net.delay) = (30, 20, 2_000);
    for _ in 0..30 {
        let who = net.dice.below(2) as usize;
        tell(&mut net, who);
        net.run_for(20 * MINUTE);
        let who = net.dice.below(2) as usize;
        net.restart(who);
    }
    assert_eq!((rings(&net, 0), rings(&net, 1)), (vec![], vec![]));
}

/// A number that never came, in a session where later ones did.
#[test]
fn a_hole_is_told_to_the_person_after_a_week_and_a_day_and_only_once() {
    let mut net = talking();
    let later = call(&net, Method::Notification, 40, |_, _| {});
    assert_eq!(hear(&mut net, 0, &later).0, None);
    let told = |net: &mut Net, ms: i64| {
        let at = at(net.now + ms);
        let effects = net.agents[0].tick(at);
        let holes = notices(&effects).into_iter();
        holes
            .filter(|notice| matches!(notice, Notice::Hole(_)))
            .count()
    };
    let week = 7 * 24 * 3_600_000 + MINUTE;
    assert_eq!(told(&mut net, week - MINUTE), 0);
    assert_eq!(
        told(&mut net, week + 2 * MINUTE + 3_600_000),
        0,
        "it asks first"
    );
    assert_eq!(told(&mut net, week + 20 * 3_600_000), 0);
    assert_eq!(told(&mut net, week + 27 * 3_600_000), 1);
    assert_eq!(told(&mut net, week + 60 * 3_600_000), 0);
    let now = net.at(0);
    household::people::same_rows(&net.agents[0].node, &net.agents[0].retold(), now);
}

/// It restarts and forgets, or only says so: what it begins is its own affair.
#[test]
fn a_peer_that_makes_session_after_session_silences_nobody() {
    let mut net = talking();
    for _ in 0..8 {
        net.agents[1].log.truncate(1);
        net.restart(1);
        tell(&mut net, 1);
        net.run_for(3 * MINUTE);
    }
    let rings = rings(&net, 0);
    assert!(!rings.contains(&Alarm::SecondCopy), "{rings:?}");
}

#[test]
fn after_a_clock_was_an_hour_ahead_receipts_go_out_again_at_once() {
    let mut net = talking();
    let start = net.now;
    // Two clocks are given apart: `clock` may be set, and `ran` counts how long the agent has run, which nobody sets.
    let ahead = |clock: i64, ran: i64| At {
        elapsed: at(start + ran).elapsed,
        ..at(start + clock)
    };
    let first = call(&net, Method::Notification, 30, |_, _| {});
    let now = ahead(3_600_000, 0);
    net.agents[0].hear(now, &first);
    net.agents[0].tick(ahead(3_602_000, 2_000));
    let before = receipts(&net);
    let second = call(&net, Method::Notification, 31, |_, _| {});
    let now = ahead(10_000, 3_000);
    net.agents[0].hear(now, &second);
    net.agents[0].tick(ahead(40_000, 33_000));
    net.agents[0].tick(ahead(42_000, 35_000));
    assert!(receipts(&net) > before);
}

fn receipts(net: &Net) -> usize {
    let lines = net.agents[0].log.iter();
    let sent = lines.filter(|(_, entry)| match entry {
        Entry::Message(verdict) => {
            let method = verdict.message().and_then(|message| message.form.method());
            verdict.ruling == Ruling::Sent && method == Some(Method::Receipt)
        }
        _ => false,
    });
    sent.count()
}
