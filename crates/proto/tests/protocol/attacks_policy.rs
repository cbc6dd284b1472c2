//! Attacks on what is granted: each test is named after one.

use std::time::Duration;

use serde_json::{Value, json};
use signet_proto::draft::{Draft, Stamp};
use signet_proto::entry::Entry;
use signet_proto::envelope::Method;
use signet_proto::headers::{Layers, Tier};
use signet_proto::ids::Version;
use signet_proto::node::{Content, Effect, Notice, Sending};
use signet_proto::policy::{Capability, Policy};

use crate::household::forger::{call, hear, name, refusal, session_of, talking};
use crate::household::net::{Net, message_of, resign};
use crate::household::{self, Agent, identity, identity_with, published};

/// Alice (0) with a policy, and Bob (1), who has met her.
fn alice_with(policy: Policy) -> Net {
    let alice = move || (identity("agent-alice", "alice"), policy.clone());
    met(Agent::with(alice), Agent::new("agent-bob", "bob"))
}

fn met(mut alice: Agent, mut bob: Agent) -> Net {
    alice.knows(&bob);
    bob.knows(&alice);
    let mut net = Net::new(vec![alice, bob], 1);
    net.ask(0, 1);
    net.run_for(10_000);
    net
}

fn budget(messages_per_minute: u32) -> Policy {
    Policy {
        messages_per_minute: Some(messages_per_minute),
        ..Policy::default()
    }
}

/// How many of Bob's calls, numbered from `first`, Alice takes, and what she does besides.
fn flood(
    net: &mut Net,
    first: u64,
    count: u64,
    change: impl Fn(u64, &mut Draft, &mut Stamp),
) -> (usize, Vec<Effect>) {
    let mut taken = 0;
    let mut others = Vec::new();
    for n in first..first + count {
        let bytes = call(net, Method::Notification, n, |draft, stamp| {
            change(n, draft, stamp)
        });
        let (reason, effects) = hear(net, 0, &bytes);
        match reason {
            None => taken += 1,
            Some(reason) => assert_eq!(reason, "budget-exceeded"),
        }
        others.extend(
            effects
                .into_iter()
                .filter(|effect| !matches!(effect, Effect::Deliver(_))),
        );
    }
    (taken, others)
}

fn told(effects: &[Effect]) -> Vec<u64> {
    let told = effects.iter().filter_map(|effect| match effect {
        Effect::Notice(notice) => match notice.as_ref() {
            Notice::OverBudget { refused, .. } => Some(*refused),
            _ => None,
        },
        _ => None,
    });
    told.collect()
}

#[test]
fn a_tier_lowered_on_the_way_breaks_the_signature() {
    let mut net = talking();
    let bytes = call(&net, Method::Request, 1, |draft, _| {
        draft.data_tier = Tier::Household
    });
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let lowered = text.replace("\"data-tier\":2", "\"data-tier\":1");
    assert_ne!(text, lowered);
    assert_eq!(
        refusal(&mut net, lowered.as_bytes()),
        Some("signature-invalid")
    );
    assert_eq!(refusal(&mut net, &bytes), None);
}

#[test]
fn a_session_of_yesterday_does_not_outlive_a_narrower_grant_of_today() {
    let policy = std::rc::Rc::new(std::cell::Cell::new(Tier::Household));
    let tier = std::rc::Rc::clone(&policy);
    let alice = Agent::with(move || {
        let policy = Policy {
            tier: tier.get(),
            ..Policy::default()
        };
        (identity("agent-alice", "alice"), policy)
    });
    let mut net = met(alice, Agent::new("agent-bob", "bob"));
    let bytes = call(&net, Method::Request, 1, |draft, _| {
        draft.data_tier = Tier::Household
    });
    policy.set(Tier::Public);
    net.restart(0);
    assert_eq!(refusal(&mut net, &bytes), Some("tier-not-granted"));
}

/// Bob, whose certificate allows him layer 0 alone.
fn low_bob() -> signet_proto::draft::Identity {
    let mut bob = identity_with("agent-bob", "bob", 1, |request| {
        request.layers = Layers::of(&[0]);
    });
    bob.layers = Layers::of(&[0]);
    bob
}

#[test]
fn layers_claimed_beyond_the_certificate_count_for_nothing() {
    let bob = Agent::with(|| (low_bob(), Policy::default()));
    let mut net = met(Agent::new("agent-alice", "alice"), bob);
    let mut sequence = 0;
    let mut say = |layers: &[u8], tier| {
        let mut liar = low_bob();
        liar.layers = Layers::of(layers);
        // Take a new number each time: a message that check V06 refuses uses up its number too, since its signature
        // holds.
        sequence += 1;
        let bytes = call(&net, Method::Request, sequence, |draft, _| {
            draft.data_tier = tier
        });
        let bytes = resign(&liar, &message_of(&bytes), |_, _| {});
        refusal(&mut net, &bytes)
    };
    assert_eq!(
        say(&[0, 1], Tier::Household),
        Some("layers-exceed-certificate")
    );
    assert_eq!(say(&[0], Tier::Household), Some("layers-insufficient"));
    assert_eq!(say(&[0], Tier::Public), None);
    assert_eq!(net.agents[0].node.inbox().len(), 1);
}

#[test]
fn a_capability_that_was_not_granted_is_not_had_by_asking_otherwise() {
    let mut policy = Policy {
        capabilities: vec![Capability::new(
            "door.open".parse().unwrap(),
            Tier::Household,
        )],
        ..Policy::default()
    };
    policy.granted = Some(Vec::new());
    let mut net = alice_with(policy);
    for (n, (method, name)) in [
        (Method::Request, "door.open"),
        (Method::Notification, "door.open"),
        (Method::Request, "door"),
        (Method::Request, "signet.ping.door.open"),
    ]
    .into_iter()
    .enumerate()
    {
        let bytes = call(&net, method, n as u64 + 1, |draft, _| {
            draft.capability = name.parse().ok();
        });
        assert_eq!(
            refusal(&mut net, &bytes),
            Some("capability-not-granted"),
            "{name}"
        );
    }
}

#[test]
fn a_grant_widened_in_flight_breaks_the_handshake() {
    let (mut alice, mut bob) = household::alice_and_bob();
    let sending = Sending::Notification(Content::default());
    let at = household::at(0);
    let outcome = bob
        .node
        .turn(at)
        .sent()
        .send(&alice.id(), sending)
        .unwrap()
        .outcome;
    let announce = published(&bob.keep(at, outcome)).remove(0).1;
    let verify = published(&alice.hear(at, &announce)).remove(0).1;
    let capability = published(&bob.hear(at, &verify)).remove(0).1;
    let trust = published(&alice.hear(at, &capability)).remove(0).1;
    let wider = |value: &mut Value| {
        value["params"]["body"]["grant"] =
            json!({"capabilities": ["door.open"], "tier": 4, "messages-per-minute": 1_000_000});
    };
    let mut forged: Value = serde_json::from_slice(&trust).unwrap();
    wider(&mut forged);
    bob.hear(at, &signet_json::canonical(&forged));
    assert_eq!(bob.refusals(), ["signature-invalid"]);
    // Bob takes the narrow grant, and asks as if it were the wider one: Alice judges by the grant in her own flight.
    bob.hear(at, &trust);
    let id = bob.node.standing(&alice.id(), at.now).session.unwrap();
    let draft = Draft {
        capability: "door.open".parse().ok(),
        ..Draft::call(Method::Request, alice.id(), name(1), json!({}))
    };
    let stamp = Stamp {
        now: at.now,
        session: Some(id),
        sequence: Some(1),
        audit_head: None,
        version: Version::CURRENT,
    };
    let asked = draft.sign(&identity("agent-bob", "bob"), stamp).unwrap();
    alice.hear(at, asked.bytes());
    assert_eq!(alice.refusals(), ["capability-not-granted"]);
}

#[test]
fn a_flood_over_the_budget_is_refused_and_told_once() {
    let mut net = alice_with(budget(40));
    let (taken, effects) = flood(&mut net, 1, 1_000, |_, _, _| {});
    assert_eq!(taken, 45, "a minute's calls and an eighth");
    assert_eq!(told(&effects), [1]);
    assert_eq!(net.agents[0].node.inbox().len(), 45);
    let bob = net.agents[1].id();
    let over = |net: &Net| net.agents[0].node.standing(&bob, net.at(0).now).over_budget;
    assert_eq!(over(&net), 955);
    net.now += 60_000;
    let (taken, effects) = flood(&mut net, 1_001, 100, |_, _, _| {});
    assert_eq!((taken, told(&effects)), (40, vec![956]));
    // Refused calls hold up nothing, since the receipts name their numbers: Alice asks Bob, and he answers.
    net.run_for(10_000);
    let asked = net.ask(0, 1);
    net.run_for(10_000);
    net.reply(1, asked);
}

#[test]
fn a_refused_request_costs_a_call_too() {
    let mut net = alice_with(budget(8));
    for n in 1..=20 {
        let bytes = call(&net, Method::Request, n, |draft, _| draft.hops = 9);
        let expected = if n <= 9 {
            "hops-exceeded"
        } else {
            "budget-exceeded"
        };
        assert_eq!(refusal(&mut net, &bytes), Some(expected), "{n}");
    }
}

#[test]
fn messages_dated_back_gain_an_hour_and_no_more() {
    let mut net = alice_with(budget(8));
    net.now += 3 * 24 * 3_600_000;
    let (taken, _) = flood(&mut net, 1, 2_000, |n, _, stamp| {
        stamp.now = stamp
            .now
            .saturating_sub(Duration::from_secs(60 * (n % 4_000)));
        stamp.now = stamp.now.max(household::at(11_000).now);
    });
    assert_eq!(taken, 8 * 60 + 9);
}

#[test]
fn a_million_conversations_are_one_peers_budget_and_sixty_four_buckets() {
    let mut net = alice_with(Policy {
        conversation_per_minute: Some(2),
        ..budget(400)
    });
    let of = |id: &'static str| {
        move |_: u64, draft: &mut Draft, _: &mut Stamp| draft.conversation_id = id.parse().ok()
    };
    let (taken, _) = flood(&mut net, 1, 50, of("dinner"));
    assert_eq!(
        taken, 2,
        "one conversation does not use up the peer's whole budget"
    );
    let (taken, _) = flood(&mut net, 51, 2_000, |n, draft, _| {
        draft.conversation_id = n.to_string().parse().ok();
    });
    assert_eq!(taken, 448, "and all of them together do not exceed it");
    let debug = format!("{:?}", net.agents[0].node);
    assert!(
        debug.matches("ConversationId(\"20").count() < 1_100,
        "few are remembered"
    );
}

#[test]
fn the_ninth_hop_of_a_loop_is_refused_whoever_forgot_to_count() {
    let mut net = talking();
    for (n, hops) in [(1, 8), (2, 9), (3, 255)] {
        let bytes = call(&net, Method::Request, n, |draft, _| {
            draft.hops = hops;
            draft.conversation_id = "circle".parse().ok();
        });
        let expected = (hops > 8).then_some("hops-exceeded");
        assert_eq!(refusal(&mut net, &bytes), expected);
    }
    // Alice's agent names nothing that it continues. Her node counts on all the same from the message with eight hops,
    // which came in this conversation.
    let content = Content {
        conversation_id: "circle".parse().ok(),
        ..Content::default()
    };
    let (at, bob) = (net.at(0), net.agents[1].id());
    let sending = Sending::Request(content);
    let error = net.agents[0]
        .node
        .turn(at)
        .sent()
        .send(&bob, sending)
        .unwrap_err();
    assert_eq!(error.name(), "hops-exceeded");
}

#[test]
fn what_was_refused_over_budget_is_forgotten_by_no_log() {
    let mut net = alice_with(budget(8));
    let session = session_of(&net);
    flood(&mut net, 1, 30, |_, _, _| {});
    let log = net.agents[0].log.len();
    net.restart(0);
    assert_eq!(session_of(&net), session);
    assert!(net.agents[0].log.len() >= log);
    let judged = net.agents[0].log.iter().filter(|(_, entry)| {
        matches!(entry, Entry::Message(verdict) if verdict.reason().is_some_and(|reason| reason.name() == "budget-exceeded"))
    });
    assert_eq!(judged.count(), 21);
    assert_eq!(net.agents[0].node.inbox().len(), 9);
}
