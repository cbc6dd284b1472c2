//! Attacks by number: floods, receipts that lie, numbers that jump. Each test is named after one.

use std::time::Duration;

use signet_proto::entry::{Entry, Flood};
use signet_proto::envelope::Method;
use signet_proto::ids::{Digest, MessageId};
use signet_proto::node::{Effect, Lost, State};
use signet_proto::receipt::{Exception, Receipt};
use signet_proto::time::Timestamp;

use crate::household::forger::{call, hear, name, receipt, refusal, talking};
use crate::household::net::{Net, message_of, resign};
use crate::household::{Agent, alice_and_bob, at, identity, identity_with, published};

fn floods(agent: &Agent) -> Vec<Flood> {
    let flood = |(_, entry): &(Timestamp, Entry)| match entry {
        Entry::Flood(flood) => Some(*flood),
        _ => None,
    };
    agent.log.iter().filter_map(flood).collect()
}

fn is_method(effect: &Effect, method: Method) -> bool {
    matches!(effect, Effect::Publish(signed) if signed.message().form.method() == Some(method))
}

fn settled(effects: &[Effect], wanted: MessageId) -> Vec<&State> {
    let state = |effect: &'_ Effect| match effect {
        Effect::Settle { message_id, .. } => *message_id == wanted,
        _ => false,
    };
    let of = effects.iter().filter(|effect| state(effect));
    of.map(|effect| match effect {
        Effect::Settle { state, .. } => state,
        _ => unreachable!(),
    })
    .collect()
}

#[test]
fn pings_that_want_no_answer_fill_nothing() {
    let mut net = talking();
    let bytes = call(&net, Method::Notification, 1, |draft, _| {
        draft.capability = "signet.ping".parse().ok();
    });
    let (reason, effects) = hear(&mut net, 0, &bytes);
    let answered = effects
        .iter()
        .any(|effect| matches!(effect, Effect::Publish(_)));
    assert_eq!(
        (reason, answered),
        (None, false),
        "it is a notification like others"
    );
}

#[test]
fn refusals_do_not_talk_to_each_other() {
    let mut net = talking();
    let bad = call(&net, Method::Request, 2, |draft, _| {
        draft.capability = "door.open".parse().ok();
    });
    let (_, effects) = hear(&mut net, 0, &bad);
    let from = net.now;
    assert_eq!(effects.len(), 1, "an authenticated call is answered, once");
    net.perform(0, effects);
    for _ in 0..20 {
        assert_eq!(refusal(&mut net, &bad), Some("duplicate"));
    }
    net.run_for(60_000);
    let said = net.agents[1].refusals();
    assert_eq!(said, ["response-unsolicited"], "Bob's node never asked");
    let after = net.sent_since(from + 10_000, None);
    assert_eq!(after, 0, "all is quiet ten seconds later");
}

#[test]
fn a_flood_of_junk_is_one_line_a_second_and_hides_no_message() {
    let mut net = talking();
    let before = net.agents[0].log.len();
    let (mut junk, mut hash) = (0u64, Digest([0; 32]));
    for second in 0..3 {
        for n in 0..1_500u64 {
            let bytes = format!("{{junk {second} {n}").into_bytes();
            let lines = net.agents[0].log.len();
            let (_, effects) = hear(&mut net, 0, &bytes);
            assert!(effects.is_empty());
            junk += 1;
            if second == 0 && net.agents[0].log.len() == lines {
                hash = Digest::of(&[hash.as_bytes(), Digest::of(&[&bytes]).as_bytes()]);
            }
            if n == 1_200 {
                let good = call(&net, Method::Notification, 10 + second, |_, _| {});
                assert_eq!(refusal(&mut net, &good), None, "a peer is served");
            }
        }
        net.now += 1_000;
        net.run_for(0);
    }
    let floods = floods(&net.agents[0]);
    assert_eq!(floods.len(), 3, "one a second");
    assert_eq!(floods[0].hash, hash);
    let raw = net.agents[0].refusals().len() as u64;
    let counted: u64 = floods.iter().map(|flood| flood.count).sum();
    assert_eq!(raw + counted, junk);
    assert!(net.agents[0].log.len() - before < 1_000 + 2 * 100 + 40);
    assert_eq!(net.agents[0].node.inbox().len(), 3);
}

#[test]
fn copies_under_a_flood_are_counted_and_answered_once_a_second() {
    let mut net = talking();
    let good = call(&net, Method::Notification, 1, |_, _| {});
    assert_eq!(refusal(&mut net, &good), None);
    let flight = net.sent[0].2.clone();
    for n in 0..1_000u64 {
        hear(&mut net, 0, format!("junk {n}").as_bytes());
        hear(&mut net, 1, format!("junk {n}").as_bytes());
    }
    let lines = [0, 1].map(|who| net.agents[who].log.len());
    let mut answers = 0;
    for _ in 0..500 {
        answers += hear(&mut net, 0, &good).1.len();
        answers += hear(&mut net, 1, &flight).1.len();
    }
    assert!(answers <= 2, "{answers}");
    let now = [0, 1].map(|who| net.agents[who].log.len());
    assert_eq!(now, lines, "counted, not written");
}

#[test]
fn announces_of_strangers_cost_lines_and_nothing_else() {
    let mut net = talking();
    let mut mallory = Agent::new("agent-mallory", "mallory");
    mallory.knows(&net.agents[0]);
    let alice = net.agents[0].id();
    let content = signet_proto::node::Sending::Ping;
    let outcome = mallory
        .node
        .turn(at(0))
        .sent()
        .send(&alice, content)
        .unwrap()
        .outcome;
    let announce = message_of(&published(&outcome.effects)[0].1);
    let keys = identity("agent-mallory", "mallory");
    for n in 0..1_300u64 {
        let bytes = resign(&keys, &announce, |draft, stamp| {
            draft.message_id = name(n);
            stamp.now = at(n as i64).now;
        });
        let (_, effects) = hear(&mut net, 0, &bytes);
        let silent = published(&effects).is_empty();
        assert!(silent, "no answer to a stranger");
    }
    let waits = net.agents[0].node.people().pending(at(1_300).now).count();
    assert_eq!(waits, 1, "one entry for each root key");
    let known = net.agents[0].refusals();
    assert!(known.iter().all(|reason| *reason == "principal-unknown"));
    assert_eq!(known.len(), 1_000);
    let standing = net.agents[0].node.standing(&mallory.id(), at(0).now);
    assert_eq!(standing, Default::default());
}

#[test]
fn announces_of_a_bound_peer_hold_one_half_open_handshake() {
    let (mut alice, mut bob) = alice_and_bob();
    let told = signet_proto::node::Sending::Notification(Default::default());
    let outcome = bob
        .node
        .turn(at(0))
        .sent()
        .send(&alice.id(), told)
        .unwrap()
        .outcome;
    let announce = message_of(&published(&outcome.effects)[0].1);
    bob.keep(at(0), outcome);
    let keys = identity("agent-bob", "bob");
    for n in 1..300u64 {
        let bytes = resign(&keys, &announce, |draft, stamp| {
            draft.message_id = name(n);
            stamp.now = at(n as i64).now;
        });
        assert!(alice.hear(at(1_000), &bytes).len() <= 1, "no amplifier");
    }
    assert!(alice.refusals().is_empty());
    let mut net = Net::new(vec![alice, bob], 1);
    net.run_for(700_000);
    assert_eq!(
        net.agents[0].node.inbox().len(),
        1,
        "Bob's word went through"
    );
    net.ask(0, 1);
    net.run_for(20_000);
    let waiting = net.agents[1].node.inbox().len();
    assert_eq!(waiting, 1, "Alice's request went through");
}

#[test]
fn the_sixty_fifth_half_open_handshake() {
    let mut alice = Agent::new("agent-alice", "alice");
    for n in 0..65 {
        let mut peer = Agent::new(&format!("agent-{n}"), &format!("person-{n}"));
        peer.knows(&alice);
        alice.knows(&peer);
        let ping = signet_proto::node::Sending::Ping;
        let outcome = peer
            .node
            .turn(at(0))
            .sent()
            .send(&alice.id(), ping)
            .unwrap()
            .outcome;
        let effects = alice.hear(at(1), &published(&outcome.effects)[0].1);
        assert_eq!(effects.len(), usize::from(n < 64));
    }
    assert_eq!(alice.refusals(), ["handshake-busy"]);
}

#[test]
fn receipts_that_lie_mark_nothing_and_close_the_session() {
    let wrong = Some(Digest([1; 32]));
    let reuse = Exception {
        reason: "sequence-reuse".into(),
        hash: wrong,
    };
    let lies = [
        (9_999, None, vec![]),
        (2, wrong, vec![]),
        (0, None, vec![]),
        (2, None, vec![(2, reuse)]),
    ];
    for (through, hash, except) in lies {
        let mut net = talking();
        let asked = net.ask(0, 1);
        let lie = Receipt {
            through,
            hash,
            except,
            ..Receipt::default()
        };
        let (now, from) = (net.at(0).now, net.now);
        let bytes = receipt(&net, 1, now, &lie);
        let again = receipt(&net, 2, now.saturating_add(Duration::from_secs(1)), &lie);
        let (_, effects) = hear(&mut net, 0, &bytes);
        assert_eq!(
            settled(&effects, asked),
            [&State::Unknown(Lost::RestoredBackup)],
            "{through}"
        );
        let announces = effects.iter().filter(|e| is_method(e, Method::Announce));
        assert_eq!(announces.count(), 1);
        let standing = net.agents[0].node.standing(&net.agents[1].id(), now);
        assert_eq!(standing.session, None, "closed for sending");
        let (_, more) = hear(&mut net, 0, &again);
        assert!(more.is_empty(), "a second lie costs nothing more");
        net.perform(0, effects);
        net.run_for(60_000);
        net.ask(0, 1);
        net.run_for(20_000);
        assert_eq!(net.agents[1].node.inbox().len(), 3, "a new session serves");
        assert!(net.sent_since(from, None) < 30);
        assert_eq!(net.sent_since(net.now - 5_000, None), 0, "and all is quiet");
    }
}

#[test]
fn a_receipt_full_of_exceptions() {
    let mut net = talking();
    let except: Vec<_> = (1..=257).map(|n| (n, Exception::missing())).collect();
    let mut full = Receipt {
        through: 1,
        except,
        ..Receipt::default()
    };
    let mut answers = 0;
    for n in 0..100u64 {
        full.except.truncate(256);
        let now = net.at(0).now.saturating_add(Duration::from_millis(n));
        let bytes = receipt(&net, n, now, &full);
        let (reason, effects) = hear(&mut net, 0, &bytes);
        assert_eq!(reason, None);
        answers += effects.len();
    }
    assert!(answers <= 1, "{answers} answers at one moment");
}

#[test]
fn a_jump_in_the_numbers_and_a_gap_of_two_to_the_fiftieth() {
    let mut net = talking();
    let far = call(&net, Method::Notification, 1 << 50, |_, _| {});
    assert_eq!(refusal(&mut net, &far), None);
    let low = call(&net, Method::Notification, 5, |_, _| {});
    assert_eq!(refusal(&mut net, &low), Some("sequence-below-window"));
    let gap = Receipt {
        through: 1,
        floor: Some((1 << 50) + 1),
        given_up: vec![(1, 1 << 50), (1 << 51, 1 << 52)],
        ..Receipt::default()
    };
    let bytes = receipt(&net, 1, net.at(0).now, &gap);
    assert_eq!(refusal(&mut net, &bytes), None, "and it took no ages");
    let from = net.now;
    net.run_for(5_000);
    let told = net
        .sent
        .iter()
        .filter(|(ms, who, _)| *ms >= from && *who == 0);
    let through: Vec<_> = told
        .filter_map(|(_, _, bytes)| message_of(bytes).body()?.get("through")?.as_u64())
        .collect();
    let window = (1 << 50) - signet_proto::session::WINDOW;
    assert!(through.first().is_some_and(|through| *through > window));
}

#[test]
fn a_receipt_under_the_key_before_speaks_for_no_later_session() {
    let (mut alice, _) = alice_and_bob();
    let mut bob = Agent::with(|| {
        let newer = identity_with("agent-bob", "bob", 2, |_| {});
        (newer, Default::default())
    });
    bob.knows(&alice);
    alice.knows(&bob);
    let mut net = Net::new(vec![alice, bob], 1);
    net.ask(0, 1);
    net.run_for(10_000);
    let asked = net.ask(0, 1);
    let lie = Receipt {
        through: 9_999,
        ..Receipt::default()
    };
    // The forger signs with the key of serial 1, which Alice knows from before.
    let bytes = receipt(&net, 1, net.at(0).now, &lie);
    let (reason, effects) = hear(&mut net, 0, &bytes);
    assert_eq!(reason, Some("key-unknown"));
    assert!(settled(&effects, asked).is_empty());
    let bob = net.agents[1].id();
    let standing = net.agents[0].node.standing(&bob, net.at(0).now);
    assert!(standing.session.is_some(), "the session stays open");
    let bytes = call(&net, Method::Notification, 7, |_, _| {});
    assert_eq!(
        hear(&mut net, 0, &bytes).0,
        Some("key-unknown"),
        "no message either"
    );
}

#[test]
fn a_receipt_from_the_future_does_not_silence_the_honest_ones() {
    let mut net = talking();
    let asked = net.ask(0, 1);
    let ahead = net.at(0).now.saturating_add(Duration::from_secs(3600));
    let bytes = receipt(&net, 1, ahead, &Receipt::default());
    let (reason, effects) = hear(&mut net, 0, &bytes);
    assert_eq!(reason, Some("timestamp-in-future"));
    assert!(settled(&effects, asked).is_empty());
    net.run_for(10_000);
    let bob = net.agents[1].id();
    let standing = net.agents[0].node.standing(&bob, net.at(0).now);
    assert_eq!(standing.unconfirmed, 0, "Bob's own receipt is taken");
}

#[test]
fn small_objects_that_weigh_more_than_their_text_fill_the_inbox() {
    let mut net = talking();
    let body: Vec<_> = (0..4_900).map(|_| serde_json::json!({"": 0})).collect();
    let mut taken = 0;
    for sequence in 1..=60 {
        let bytes = call(&net, Method::Notification, sequence, |draft, _| {
            draft.body = Some(body.clone().into());
        });
        match refusal(&mut net, &bytes) {
            None => taken += 1,
            Some(reason) => assert_eq!(reason, "inbox-full"),
        }
    }
    assert!(
        (1..20).contains(&taken),
        "{taken} messages of 3 MiB in memory"
    );
}
