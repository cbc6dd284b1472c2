//! Windows, ledgers and receipts: against models, and as two parties live with them.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use signet_proto::carrier::CarrierId;
use signet_proto::entry::{Entry, Ruling};
use signet_proto::envelope::Method;
use signet_proto::ids::{Digest, MessageId};
use signet_proto::node::{Content, Effect, Lost, Sending, State};
use signet_proto::policy::Policy;
use signet_proto::reject::Reason;
use signet_proto::session::{OUTSTANDING, Slot, WINDOW, Window};
use signet_proto::time::Timestamp;

use crate::household::forger::{call, hear, name, refusal, session_of, talking};
use crate::household::net::{Dice, Net, message_of, tale, times_taken};
use crate::household::{Agent, identity};

const DAY: i64 = 24 * 3_600_000;

fn hash(n: u64) -> Digest {
    Digest::of(&[&n.to_be_bytes()])
}

fn notification(life: Option<Duration>) -> Sending {
    Sending::Notification(Content {
        life,
        ..Content::default()
    })
}

fn states(net: &Net, wanted: MessageId) -> Vec<State> {
    let state = |(_, effect): &(usize, Effect)| match effect {
        Effect::Settle {
            message_id, state, ..
        } if *message_id == wanted => Some(state.clone()),
        _ => None,
    };
    net.effects.iter().filter_map(state).collect()
}

fn is_quiet(net: &mut Net) {
    let from = net.now + 5_000;
    net.run_for(120_000);
    let tales = [0, 1].map(|who| tale(&net.agents[who]));
    assert_eq!(
        net.sent_since(from, None),
        0,
        "{}\n\n{}",
        tales[0],
        tales[1]
    );
    for who in [0, 1] {
        let peer = net.agents[1 - who].id();
        let standing = net.agents[who].node.standing(&peer, net.at(who).now);
        assert_eq!((standing.drafts, standing.unconfirmed), (0, 0));
    }
}

/// The last receipt that an agent handed to the network.
fn last_receipt(net: &Net, from: usize) -> Value {
    let of = net.sent.iter().rev().filter(|(_, who, _)| *who == from);
    let mut messages = of.map(|(_, _, bytes)| message_of(bytes));
    let receipt = messages.find(|message| message.form.method() == Some(Method::Receipt));
    receipt.unwrap().body().cloned().unwrap()
}

fn slot(hash: Digest, refused: Option<Reason>) -> Slot {
    let signed_at = Timestamp::from_millis(0);
    Slot {
        hash,
        signed_at,
        refused,
    }
}

#[test]
fn a_window_judges_as_a_set_of_numbers_would() {
    for seed in 0..60 {
        let mut dice = Dice(seed);
        let (mut window, mut judged, mut newest) = (Window::default(), BTreeMap::new(), 0u64);
        let (mut through, mut refusals) = (0u64, 0);
        for _ in 0..3_000 {
            let sequence = match dice.below(1_000) {
                0 => newest + 1 + dice.below(3 * WINDOW),
                1..=99 => 1 + dice.below(newest + 1),
                100..=299 => newest.saturating_sub(dice.below(50)).max(1),
                _ => newest + 1 + dice.below(3),
            };
            let content = hash(sequence * 2 + u64::from(dice.percent(5)));
            let lowest = (newest + 1).saturating_sub(WINDOW).max(1);
            let expected = match judged.get(&sequence) {
                _ if sequence < lowest => Err(Reason::SequenceBelowWindow),
                None => Ok(()),
                Some(known) if *known == content => Err(Reason::Duplicate),
                Some(_) => Err(Reason::SequenceReuse),
            };
            assert_eq!(window.admit(sequence, content), expected, "seed {seed}");
            if expected.is_ok() {
                let refused = dice.percent(1) && refusals < 200;
                refusals += u64::from(refused);
                window.record(
                    sequence,
                    slot(content, refused.then_some(Reason::TierNotGranted)),
                );
                judged.insert(sequence, content);
                newest = newest.max(sequence);
            }
            while judged.contains_key(&(through + 1)) {
                through += 1;
            }
            assert_eq!(window.through(), through, "seed {seed}");
        }
    }
}

#[test]
fn a_full_list_of_exceptions_holds_through_back_until_the_floor_moves() {
    let mut window = Window::default();
    for sequence in 1..=400 {
        window.record(sequence, slot(hash(sequence), Some(Reason::TierNotGranted)));
    }
    assert_eq!(window.through(), 256);
    assert_eq!(window.receipt().except.len(), 256);
    window.reported(Timestamp::from_millis(0));
    window.take_floor(Some(257), &[]);
    assert_eq!(
        (window.through(), window.receipt().except.len()),
        (400, 144)
    );
    assert!(window.owes(), "the peer hears of it without asking");
    window.take_floor(Some(401), &[]);
    assert!(window.receipt().except.is_empty());
}

#[test]
fn a_number_seen_twice_above_a_hole_is_never_reported_as_taken() {
    let mut window = Window::default();
    window.record(2, slot(hash(2), None));
    window.note_reuse(2);
    window.record(1, slot(hash(1), None));
    let receipt = window.receipt();
    let (number, exception) = &receipt.except[0];
    assert_eq!((receipt.through, *number), (2, 2));
    assert_eq!(exception.reason, "sequence-reuse");
    assert_eq!(exception.hash, Some(hash(2)));
}

#[test]
fn two_parties_agree_and_fall_silent_after_any_loss() {
    for seed in 0..40 {
        let mut net = talking();
        net.dice = Dice(seed);
        (net.loss, net.copies, net.delay) = (10 + seed % 40, 10, 1 + seed * 50);
        let mut names = Vec::new();
        for _ in 0..30 {
            let who = net.dice.below(2) as usize;
            names.push((1 - who, net.send(who, 1 - who, notification(None))));
            let wait = net.dice.below(3_000) as i64;
            net.run_for(wait);
        }
        (net.loss, net.copies) = (0, 0);
        net.run_for(700_000);
        is_quiet(&mut net);
        for (who, name) in names {
            assert_eq!(times_taken(&net.agents[who], name), 1, "seed {seed}");
            assert_eq!(states(&net, name), [State::Received], "seed {seed}");
        }
    }
}

#[test]
fn a_number_that_was_given_up_lets_through_pass_and_is_then_forgotten() {
    let mut net = talking();
    net.cut = Some((0, 1));
    let lost = net.send(0, 1, notification(Some(Duration::from_secs(10))));
    net.cut = None;
    net.run_for(1_000);
    net.cut = Some((0, 1));
    net.run_for(14_000);
    net.cut = None;
    let kept = net.send(0, 1, notification(None));
    net.run_for(60_000);
    assert_eq!(last_receipt(&net, 1)["through"], 1, "a hole");
    net.run_for(400_000);
    assert_eq!(states(&net, lost), [State::Expired]);
    assert_eq!(states(&net, kept), [State::Received]);
    let receipt = last_receipt(&net, 1);
    assert_eq!(receipt["through"], 3);
    is_quiet(&mut net);
    net.send(0, 1, notification(None));
    net.run_for(10_000);
    assert_eq!(last_receipt(&net, 1).get("except"), None);
}

#[test]
fn what_expired_because_every_receipt_was_lost_is_asked_about_again_at_the_next_connect() {
    let mut net = talking();
    net.cut = Some((1, 0));
    let name = net.send(0, 1, notification(Some(Duration::from_secs(60))));
    net.run_for(600_000);
    assert_eq!(times_taken(&net.agents[1], name), 1);
    assert_eq!(states(&net, name), [State::Expired]);
    net.cut = None;
    net.run_for(60_000);
    assert_eq!(
        states(&net, name),
        [State::Expired],
        "nobody has a reason to say it"
    );
    let at = net.at(0);
    let connected = net.agents[0]
        .node
        .turn(at)
        .carriers()
        .connected(&CarrierId::NATS);
    let effects = net.agents[0].keep(at, connected);
    net.perform(0, effects);
    net.run_for(5_000);
    assert_eq!(states(&net, name), [State::Expired, State::Received]);
    is_quiet(&mut net);
}

#[test]
fn a_full_outbox_makes_drafts_that_receipts_release_in_order() {
    let mut net = talking();
    net.cut = Some((1, 0));
    let names: Vec<_> = (0..OUTSTANDING + 20)
        .map(|_| net.send(0, 1, notification(None)))
        .collect();
    let peer = net.agents[1].id();
    let standing = net.agents[0].node.standing(&peer, net.at(0).now);
    assert_eq!(standing.unconfirmed as u64, OUTSTANDING);
    assert_eq!(standing.drafts, 20);
    net.run_for(2_000);
    net.cut = None;
    net.run_for(60_000);
    is_quiet(&mut net);
    let taken = net.agents[1].node.inbox().after(1);
    let taken: Vec<_> = taken.map(|item| item.message.headers.message_id).collect();
    assert_eq!(taken, names);
}

#[test]
fn drafts_for_a_silent_peer_expire() {
    let mut net = talking();
    net.agents[0].log.truncate(1);
    net.restart(0);
    net.cut = Some((0, 1));
    let name = net.send(0, 1, notification(Some(Duration::from_secs(60))));
    net.run_for(61_000);
    assert_eq!(states(&net, name), [State::Expired]);
    net.run_for(DAY);
    assert_eq!(times_taken(&net.agents[1], name), 0);
    let tries = net.sent_since(net.now - DAY + 600_000, None);
    assert_eq!(tries, 0, "nothing waits, so nobody announces");
}

#[test]
fn a_session_is_renewed_and_its_messages_are_taken_until_its_end() {
    let mut net = talking();
    let old = session_of(&net);
    net.run_for(21 * DAY);
    let new = session_of(&net);
    assert_ne!(old, new);
    assert!(net.sent_since(net.now - DAY - DAY, Some(Method::Announce)) <= 2);
    let under_old = call(&net, Method::Notification, 1, |_, stamp| {
        stamp.session = Some(old);
    });
    assert_eq!(refusal(&mut net, &under_old), None);
    net.ask(0, 1);
    net.run_for(10 * DAY);
    let after_end = call(&net, Method::Notification, 2, |draft, stamp| {
        draft.message_id = name(50);
        stamp.session = Some(old);
    });
    assert_eq!(refusal(&mut net, &after_end), Some("session-ended"));
    net.ask(0, 1);
    net.run_for(10_000);
    assert_eq!(net.agents[1].node.inbox().len(), 3);
}

#[test]
fn a_peer_that_lost_its_log_is_met_anew_and_what_stood_open_is_unknown() {
    let mut net = talking();
    net.agents[1].log.truncate(1);
    net.restart(1);
    let from = net.now;
    let names = [0; 3].map(|_| net.send(0, 1, notification(None)));
    net.run_for(30_000);
    assert_eq!(net.sent_since(from, Some(Method::Announce)), 1);
    for name in names {
        assert_eq!(states(&net, name), [State::Unknown(Lost::SessionLost)]);
        assert_eq!(times_taken(&net.agents[1], name), 0);
    }
    let refused = net.agents[1].refusals();
    assert_eq!(refused, ["session-unknown"; 3]);
    let later = net.send(0, 1, notification(None));
    net.run_for(10_000);
    assert_eq!(states(&net, later), [State::Received]);
}

#[test]
fn a_refused_notification_is_known_to_be_refused() {
    let mut alice = Agent::new("agent-alice", "alice");
    let mut bob = Agent::with(|| {
        let policy = Policy {
            conversation_per_minute: Some(1),
            ..Policy::default()
        };
        (identity("agent-bob", "bob"), policy)
    });
    alice.knows(&bob);
    bob.knows(&alice);
    let mut net = Net::new(vec![alice, bob], 1);
    let content = Content {
        conversation_id: "dinner".parse().ok(),
        ..Content::default()
    };
    net.send(0, 1, Sending::Notification(content.clone()));
    net.run_for(10_000);
    let asked = net.send(0, 1, Sending::Notification(content));
    net.run_for(10_000);
    let refused = State::Refused("budget-exceeded".into());
    assert_eq!(states(&net, asked), [refused]);
    is_quiet(&mut net);
    let rejected = |(_, entry): &&(_, Entry)| {
        matches!(entry, Entry::Message(verdict)
            if matches!(verdict.ruling, Ruling::Rejected(_)))
    };
    assert_eq!(net.agents[1].log.iter().filter(rejected).count(), 1);
    let (reason, _) = hear(&mut net, 1, b"{}");
    assert!(reason.is_some());
}
