//! One bound peer does whatever it can, and everybody else goes on as if it were not there: they are
//! answered as fast, get new sessions, and no alarm names any of them.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use signet_proto::draft::Identity;
use signet_proto::entry::{Alarm, Entry};
use signet_proto::envelope::Method;
use signet_proto::ids::{Digest, MessageId};
use signet_proto::node::{Content, Notice, Sending, State};
use signet_proto::receipt::{Exception, Receipt};

use crate::household::liar::Liar;
use crate::household::net::{Net, message_of};
use crate::household::people::{acquainted, does, notices};
use crate::household::{self, identity, identity_with};

const MINUTE: i64 = 60_000;
const ALICE: usize = 0;
/// They talk with Alice from the start, and Erin from the middle on.
const OTHERS: [usize; 3] = [1, 2, 3];
const ERIN: usize = 4;
const MALLORY: usize = 5;
const NAMES: [&str; 6] = ["alice", "bob", "carol", "dave", "erin", "mallory"];

/// What Mallory does, every twenty seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Lie {
    Nothing,
    UnsolicitedVerify,
    UnsolicitedTrust,
    MadeUpSession,
    SixtyMadeUpSessions,
    ReceiptBeyondWhatWasSent,
    ReceiptThatFalls,
    ReceiptWithAnotherHash,
    ReceiptsFullOfExceptions,
    ReusedNumber,
    ReusedName,
    PoisonedHops,
    FloodOfCalls,
    FloodOfAnnounces,
    LateAnnounces,
    HalfHandshakes,
    ClocksFarAway,
    UnsolicitedAnswers,
    JumpsInTheNumbers,
    ForgedDecrees,
    RestartsAndForgets,
}

const ALL: [Lie; 20] = [
    Lie::UnsolicitedVerify,
    Lie::UnsolicitedTrust,
    Lie::MadeUpSession,
    Lie::SixtyMadeUpSessions,
    Lie::ReceiptBeyondWhatWasSent,
    Lie::ReceiptThatFalls,
    Lie::ReceiptWithAnotherHash,
    Lie::ReceiptsFullOfExceptions,
    Lie::ReusedNumber,
    Lie::ReusedName,
    Lie::PoisonedHops,
    Lie::FloodOfCalls,
    Lie::FloodOfAnnounces,
    Lie::LateAnnounces,
    Lie::HalfHandshakes,
    Lie::ClocksFarAway,
    Lie::UnsolicitedAnswers,
    Lie::JumpsInTheNumbers,
    Lie::ForgedDecrees,
    Lie::RestartsAndForgets,
];

/// Everybody knows everybody; Alice's person decides nothing.
fn town() -> Net {
    let agents = NAMES.map(|name| format!("agent-{name}"));
    let names = NAMES.iter().zip(&agents);
    let names: Vec<_> = names.map(|(name, agent)| (agent.as_str(), *name)).collect();
    acquainted(&names)
}

fn lie(net: &mut Net, liar: &mut Liar, lie: Lie) {
    let now = net.at(ALICE).now;
    let said: Vec<Arc<[u8]>> = match lie {
        Lie::Nothing => Vec::new(),
        Lie::UnsolicitedVerify => vec![liar.flight(net, Method::Verify)],
        Lie::UnsolicitedTrust => vec![liar.flight(net, Method::Trust)],
        Lie::MadeUpSession => vec![made_up(net, liar)],
        Lie::SixtyMadeUpSessions => (0..60).map(|_| made_up(net, liar)).collect(),
        Lie::ReceiptBeyondWhatWasSent => vec![receipt(net, liar, 900, None)],
        Lie::ReceiptThatFalls => [40, 3, 0]
            .map(|through| receipt(net, liar, through, None))
            .into(),
        Lie::ReceiptWithAnotherHash => vec![receipt(net, liar, 1, Some(Digest([3; 32])))],
        Lie::ReceiptsFullOfExceptions => {
            let exception = Exception {
                reason: "budget-exceeded".into(),
                hash: None,
            };
            let except = (1..=256).map(|number| (number, exception.clone()));
            let receipt = Receipt {
                through: 256,
                except: except.collect(),
                ..Receipt::default()
            };
            (0..20).map(|_| liar.receipt(net, &receipt)).collect()
        }
        Lie::ReusedNumber => {
            let one = |_: u64| liar.call(net, |_, stamp| stamp.sequence = Some(77));
            (0..2).map(one).collect()
        }
        Lie::ReusedName => {
            let name = MessageId::from_parts(9, [9; 10]);
            let one = |_: u64| liar.call(net, |draft, _| draft.message_id = name);
            (0..2).map(one).collect()
        }
        // Mallory speaks in conversations in which others have spoken: Mallory would begin any other one, and hops may
        // count there.
        Lie::PoisonedHops => (1..=ERIN)
            .filter(|other| *other != ERIN || net.now > 26 * MINUTE)
            .map(|other| {
                liar.call(net, |draft, _| {
                    draft.conversation_id = conversation(other).parse().ok();
                    draft.hops = 8;
                })
            })
            .collect(),
        Lie::FloodOfCalls => (0..100).map(|_| liar.call(net, |_, _| {})).collect(),
        Lie::FloodOfAnnounces => (0..20).map(|n| announce(net, liar, n)).collect(),
        Lie::LateAnnounces => vec![announce(net, liar, -2 * 3_600_000)],
        // Alice hears these flights besides those of Mallory's own daemon, which is honest.
        Lie::HalfHandshakes => vec![
            announce(net, liar, 0),
            liar.flight(net, Method::Verify),
            liar.flight(net, Method::Capability),
            liar.flight(net, Method::Trust),
        ],
        Lie::ClocksFarAway => [-3_600_000, 3_600_000]
            .map(|ms: i64| {
                let far = now.as_millis() + ms;
                liar.call(net, |_, stamp| {
                    stamp.now = signet_proto::time::Timestamp::from_millis(far);
                })
            })
            .into(),
        Lie::UnsolicitedAnswers => vec![answer(net, liar)],
        Lie::JumpsInTheNumbers => {
            let jump = 1_u64 << (12 + liar.next() % 36);
            vec![liar.call(net, |_, stamp| stamp.sequence = Some(jump))]
        }
        Lie::ForgedDecrees => vec![decree(net, liar)],
        Lie::RestartsAndForgets => {
            let bound = |(_, entry): &(_, Entry)| matches!(entry, Entry::Trust(..));
            net.agents[MALLORY].log.retain(bound);
            net.restart(MALLORY);
            net.ask(MALLORY, ALICE);
            Vec::new()
        }
    };
    // All of it within three seconds.
    for (place, bytes) in said.into_iter().enumerate() {
        net.put(ALICE, bytes, 1 + (place as i64) * 30);
    }
}

fn made_up(net: &Net, liar: &mut Liar) -> Arc<[u8]> {
    let session = liar.no_session();
    liar.call(net, |_, stamp| stamp.session = Some(session))
}

fn receipt(net: &Net, liar: &mut Liar, through: u64, hash: Option<Digest>) -> Arc<[u8]> {
    let receipt = Receipt {
        through,
        hash,
        ..Receipt::default()
    };
    liar.receipt(net, &receipt)
}

fn announce(net: &Net, liar: &mut Liar, ms: i64) -> Arc<[u8]> {
    let flight = message_of(&liar.flight(net, Method::Announce));
    household::net::resign(&liar.identity, &flight, |_, stamp| {
        let signed = stamp.now.as_millis() + ms;
        stamp.now = signet_proto::time::Timestamp::from_millis(signed);
    })
}

/// To a request of Bob's, whom Alice answers.
fn answer(net: &Net, liar: &mut Liar) -> Arc<[u8]> {
    let asked = net.agents[ALICE].node.inbox().after(0).last();
    let asked = asked.map(|item| item.message.headers.message_id);
    liar.call(net, |draft, _| {
        draft.form = signet_proto::envelope::Form::Success;
        draft.in_reply_to = asked.or(Some(MessageId::from_parts(5, [5; 10])));
    })
}

/// In the name of Bob's person, by Mallory's keys.
fn decree(net: &Net, liar: &mut Liar) -> Arc<[u8]> {
    let forged = household::people::revocation_by("root of mallory", "bob", "agent-bob", 9);
    let body = household::people::revoking(&forged);
    liar.say(net, Method::Revoke, json!(body), |_, _| {})
}

/// Each talks with Alice in a conversation of their own, whose name Mallory guesses.
fn conversation(other: usize) -> String {
    format!("dinner-with-{}", NAMES[other])
}

/// What one tells another, who answers: how many ms that took.
fn exchange(net: &mut Net, from: usize, to: usize) -> Option<i64> {
    let other = if from == ALICE { to } else { from };
    let content = Content {
        conversation_id: conversation(other).parse().ok(),
        life: Some(Duration::from_secs(120)),
        ..Content::default()
    };
    let (began, asked) = (net.now, net.send(from, to, Sending::Request(content)));
    let mut replied = false;
    for _ in 0..1_500 {
        net.run_for(2);
        if !replied && household::net::times_taken(&net.agents[to], asked) == 1 {
            net.reply(to, asked);
            replied = true;
        }
        if replied && net.agents[from].node.sent().status(asked).unwrap().state == State::Answered {
            return Some(net.now - began);
        }
    }
    None
}

fn rekeyed(who: usize) -> Identity {
    let (agent, person) = (format!("agent-{}", NAMES[who]), NAMES[who]);
    let mut new = identity_with(&agent, person, 2, |_| {});
    new.former = vec![identity(&agent, person).signing];
    new
}

/// An hour with that lie. The latencies of all exchanges among the others, in order.
fn hour(what: Lie) -> Vec<i64> {
    let mut net = town();
    let mut liar = Liar::new(&net, MALLORY, ALICE);
    let mut known = OTHERS.to_vec();
    let mut latencies = Vec::new();
    net.ask(MALLORY, ALICE);
    net.run_for(1_000);
    for minute in 0..60 {
        match minute {
            20 => net.restart(ALICE),
            25 => known.push(ERIN),
            // New signing keys need new sessions: first one other agent with everybody, and later Alice with everybody.
            30 => does(&mut net, 2, |node, at| node.turn(at).me().adopt(rekeyed(2))),
            35 => does(&mut net, ALICE, |node, at| node.turn(at).alarms().clear()),
            45 => does(&mut net, ALICE, |node, at| {
                node.turn(at).me().adopt(rekeyed(ALICE))
            }),
            _ => {}
        }
        let talk = minute % 5 == 0 || matches!(minute, 46 | 47);
        for other in known.clone().into_iter().filter(|_| talk) {
            for (from, to) in [(ALICE, other), (other, ALICE)] {
                let latency = exchange(&mut net, from, to);
                let latency = latency.unwrap_or_else(|| {
                    panic!("{what:?}: {} has no answer of {}", NAMES[from], NAMES[to])
                });
                latencies.push(latency);
            }
        }
        let end = i64::from(minute + 1) * MINUTE;
        while net.now < end {
            lie(&mut net, &mut liar, what);
            net.run_until((net.now + 20_000).min(end));
        }
    }
    assert!(accused(&net).is_empty(), "{what:?}: {:?}", accused(&net));
    for other in known {
        let standing = |of: usize, with: usize| {
            let peer = net.agents[with].id();
            net.agents[of].node.standing(&peer, net.at(of).now).session
        };
        let session = standing(ALICE, other);
        assert!(session.is_some() && session == standing(other, ALICE));
        let held = net.agents[ALICE]
            .node
            .alarms()
            .held_by(net.agents[ALICE].node.context(), &net.agents[other].id());
        assert!(held.is_empty(), "{what:?}: {held:?}");
    }
    latencies
}

/// Alarms of anybody but Mallory that name anybody but Mallory, and words for a person that do.
fn accused(net: &Net) -> Vec<String> {
    let honest = net.agents.iter().take(MALLORY);
    let lines = honest.flat_map(|agent| &agent.log);
    let named = lines.filter_map(|(_, entry)| match entry {
        Entry::Alarm(line) => Some((line.what, line.peer.to_string())),
        _ => None,
    });
    let named = named.filter(|(_, peer)| peer != "agent-mallory");
    let mut accused: Vec<_> = named.map(|alarm| format!("{alarm:?}")).collect();
    let effects: Vec<_> = net
        .effects
        .iter()
        .map(|(_, effect)| effect.clone())
        .collect();
    for notice in notices(&effects) {
        if let Notice::Doubled(text) = notice {
            accused.push(text.clone());
        }
    }
    let alice = &net.agents[ALICE].node;
    for (what, peer) in alice.alarms().keys() {
        let text = alice.alarms().text(alice.context(), *what, peer);
        let names = NAMES.iter().take(MALLORY);
        let mut others = names.filter(|name| text.contains(&format!("agent-{name}")));
        if others.next().is_some() || text.contains("somebody else") {
            accused.push(text);
        }
    }
    accused
}

fn median(mut latencies: Vec<i64>) -> i64 {
    latencies.sort_unstable();
    latencies[latencies.len() / 2]
}

#[test]
fn a_bound_peer_that_lies_costs_the_others_nothing_and_no_alarm_names_anybody_else() {
    let quiet = hour(Lie::Nothing);
    assert!(quiet.len() > 100, "{}", quiet.len());
    let quiet = median(quiet);
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let place = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    let Some(what) = ALL.get(place) else { break };
                    let lied = median(hour(*what));
                    assert!(lied <= 2 * quiet, "{what:?}: {lied} ms, not {quiet}");
                }
            });
        }
    });
}

/// Or the test above would show nothing.
#[test]
fn the_lies_that_show_a_copy_ring_with_the_liar() {
    for (what, alarm) in [
        (Lie::UnsolicitedVerify, Alarm::SecondCopy),
        (Lie::UnsolicitedTrust, Alarm::SecondCopy),
        (Lie::MadeUpSession, Alarm::SecondCopy),
        (Lie::ReceiptBeyondWhatWasSent, Alarm::Restored),
        (Lie::ReusedNumber, Alarm::SequenceReuse),
    ] {
        let mut net = town();
        let mut liar = Liar::new(&net, MALLORY, ALICE);
        net.run_for(2 * MINUTE);
        net.ask(MALLORY, ALICE);
        net.run_for(13 * MINUTE);
        lie(&mut net, &mut liar, what);
        net.run_for(MINUTE);
        let rung = net.agents[ALICE].node.alarms().keys();
        let rung: Vec<_> = rung.map(|(what, peer)| (*what, peer.to_string())).collect();
        assert_eq!(rung, [(alarm, "agent-mallory".to_owned())], "{what:?}");
    }
}
