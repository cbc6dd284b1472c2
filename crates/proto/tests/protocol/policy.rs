//! Who may send what: tiers, grants and schemas, from both sides.

use proptest::prelude::*;
use serde_json::json;
use signet_proto::entry::{Did, Direction, Entry};
use signet_proto::headers::{Layers, Tier};
use signet_proto::node::{Content, Sending, State, Way};
use signet_proto::policy::{BodySchema, Finding, PeerRule, Policy, Table};

use crate::household::allowed::{
    capability, content, failures, met, offering, states, try_send, with_bob,
};
use crate::household::net::Net;
use crate::household::{Agent, identity_with};

/// What was signed and written of its own.
fn outgoing(agent: &Agent) -> usize {
    let out = agent.log.iter().filter(|(_, entry)| match entry {
        Entry::Message(verdict) => verdict.direction == Direction::Out,
        _ => false,
    });
    out.count()
}

#[test]
fn what_the_peer_would_refuse_is_refused_here_before_anything_is_signed() {
    let (mut net, _) = met(Policy {
        tier: Tier::Public,
        capabilities: vec![capability("calendar", 1, None)],
        ..Policy::default()
    });
    let before = outgoing(&net.agents[0]);
    for (content, name, words) in [
        (
            content(2, None),
            "tier-not-granted",
            "tier 2, and up to 1 is granted",
        ),
        (
            content(1, Some("door.open")),
            "capability-not-granted",
            "door.open is not granted",
        ),
    ] {
        let error = try_send(&mut net, 0, 1, content).unwrap_err();
        assert_eq!(error.name(), name);
        assert!(error.to_string().contains(words), "{error}");
        assert!(
            error.to_string().contains("signet policy check agent-bob"),
            "{error}"
        );
    }
    assert_eq!(outgoing(&net.agents[0]), before, "nothing was signed");
    try_send(&mut net, 0, 1, content(1, Some("calendar"))).unwrap();
}

#[test]
fn a_recipient_without_the_layers_gets_nothing_of_the_tier() {
    let mut alice = Agent::new("agent-alice", "alice");
    let mut bob = Agent::with(|| {
        let mut bob = identity_with("agent-bob", "bob", 1, |request| {
            request.layers = Layers::of(&[0]);
        });
        bob.layers = Layers::of(&[0]);
        (bob, Policy::default())
    });
    alice.knows(&bob);
    bob.knows(&alice);
    let mut net = Net::new(vec![alice, bob], 1);
    // The first is written before there is a session, when Alice does not know Bob's layers.
    let early = try_send(&mut net, 0, 1, content(2, None)).unwrap();
    let fits = try_send(&mut net, 0, 1, content(1, None)).unwrap();
    net.run_for(10_000);
    assert_eq!(
        states(&net, early),
        [State::RefusedHere("layers-insufficient".into())]
    );
    assert_eq!(states(&net, fits), [State::Received]);
    let before = outgoing(&net.agents[0]);
    let error = try_send(&mut net, 0, 1, content(2, None)).unwrap_err();
    assert_eq!(error.name(), "layers-insufficient");
    net.run_for(10_000);
    assert_eq!(outgoing(&net.agents[0]), before, "nothing was signed");
    let got = net.agents[1].node.inbox().after(0);
    let got: Vec<_> = got.map(|item| item.message.headers.message_id).collect();
    assert_eq!((got, net.agents[1].refusals()), (vec![fits], Vec::new()));
    assert!(
        error
            .to_string()
            .contains("layers 0, 1, and it has 0: 1 missing"),
        "{error}"
    );
    // The explanation, which her person can ask for, names the missing layers too.
    let (at, peer) = (net.at(0), net.agents[1].id());
    let findings = net.agents[0]
        .node
        .judge(at.now)
        .explain(&peer, Way::Send, Tier::Household, None)
        .unwrap();
    assert!(
        findings
            .iter()
            .any(|finding| matches!(finding, Finding::Layers { .. }) && !finding.holds())
    );
}

#[test]
fn a_draft_that_the_peer_would_refuse_ends_at_its_release() {
    let (mut net, _) = with_bob(Policy {
        tier: Tier::Public,
        ..Policy::default()
    });
    let fits = try_send(&mut net, 0, 1, content(1, None)).unwrap();
    let too_high = try_send(&mut net, 0, 1, content(2, None)).unwrap();
    let no_such = try_send(&mut net, 0, 1, content(1, Some("door.open"))).unwrap();
    net.run_for(10_000);
    assert_eq!(
        states(&net, too_high),
        [State::RefusedHere("tier-not-granted".into())]
    );
    assert_eq!(
        states(&net, no_such),
        [State::RefusedHere("capability-not-granted".into())]
    );
    assert_eq!(states(&net, fits), [State::Received]);
    assert_eq!(
        net.agents[1].refusals(),
        Vec::<&str>::new(),
        "Bob never saw them"
    );
    let ended = |(_, entry): &&(_, Entry)| matches!(entry, Entry::Outcome(line) if line.what == Did::DraftRefused);
    assert_eq!(net.agents[0].log.iter().filter(ended).count(), 2);
}

#[test]
fn each_peer_has_a_grant_of_its_own() {
    let mut policy = offering(vec![capability("a", 2, None), capability("b", 2, None)]);
    policy.tier = Tier::Public;
    policy.granted = Some(vec!["a".parse().unwrap()]);
    policy.messages_per_minute = Some(100);
    let rule = PeerRule {
        tier: Some(Tier::Household),
        capabilities: Some(vec!["b".parse().unwrap()]),
        messages_per_minute: Some(7),
    };
    policy.peers.insert("agent-alice".parse().unwrap(), rule);
    let stranger = policy.allowance(&"agent-carol".parse().unwrap()).grant();
    assert_eq!(
        (stranger.tier, stranger.messages_per_minute),
        (Tier::Public, Some(100))
    );
    assert_eq!(stranger.capabilities, ["a".parse().unwrap()]);
    let (net, _) = met(policy);
    let bob = net.agents[1].id();
    let session = net.agents[0]
        .node
        .peers()
        .session(&bob, net.at(0).now)
        .unwrap();
    assert_eq!(
        (session.received.tier, session.received.messages_per_minute),
        (Tier::Household, Some(7))
    );
    assert_eq!(session.received.capabilities, ["b".parse().unwrap()]);
    assert_eq!(session.offered.len(), 2, "the offer is everybody's");
}

#[test]
fn a_narrower_policy_holds_at_once_and_a_wider_one_with_a_new_session() {
    let (mut net, policy) = met(Policy::default());
    policy.borrow_mut().tier = Tier::Public;
    // Bob restarts under a narrower policy while nothing of his reaches Alice: so she does not hear of it.
    net.cut = Some((1, 0));
    net.restart(1);
    try_send(&mut net, 0, 1, content(2, None)).unwrap();
    net.run_for(1_000);
    assert_eq!(net.agents[1].refusals(), ["tier-not-granted"]);
    net.cut = None;
    net.run_for(60_000);
    let (reason, _) = failures(&net.agents[0]).remove(0);
    assert_eq!(reason, "tier-not-granted");
    // By now a new session has told Alice of the narrower policy: her own node refuses the message.
    assert_eq!(
        try_send(&mut net, 0, 1, content(2, None))
            .unwrap_err()
            .name(),
        "tier-not-granted"
    );
    policy.borrow_mut().tier = Tier::Household;
    net.restart(1);
    net.run_for(10_000);
    let wider = try_send(&mut net, 0, 1, content(2, None)).unwrap();
    net.run_for(10_000);
    assert_eq!(states(&net, wider), [State::Received]);
}

#[test]
fn a_changed_table_is_the_receivers_own() {
    let (mut net, policy) = met(Policy::default());
    let table = Table::default()
        .with(Tier::Household, Layers::of(&[0, 1, 9]))
        .with(Tier::Sensitive, Layers::of(&[0, 1, 2, 9]));
    assert_eq!(
        table.descends_at(),
        Some(Tier::Restricted),
        "tier 4 would ask for less"
    );
    policy.borrow_mut().table = table.with(Tier::Restricted, Layers::of(&[0, 1, 2, 3, 9]));
    net.restart(1);
    try_send(&mut net, 0, 1, content(2, None)).unwrap();
    try_send(&mut net, 0, 1, content(1, None)).unwrap();
    net.run_for(10_000);
    assert_eq!(net.agents[1].refusals(), ["layers-insufficient"]);
}

#[test]
fn a_body_that_does_not_fit_is_refused_with_the_place_in_the_schema() {
    let schema = r##"{"properties": {"week": {"$ref": "#/$defs/week"}}, "required": ["week"],
        "additionalProperties": false, "$defs": {"week": {"type": "string", "pattern": "^[0-9]{4}-W[0-9]{2}$"}}}"##;
    let (mut net, _) = met(offering(vec![capability("calendar", 2, Some(schema))]));
    let mut send = |body, notify| {
        let asked = Content {
            body,
            ..content(2, Some("calendar"))
        };
        let sending = if notify {
            Sending::Notification(asked)
        } else {
            Sending::Request(asked)
        };
        net.send(0, 1, sending);
        net.run_for(10_000);
    };
    send(json!({"week": "2026-W07"}), false);
    send(json!({"week": "next one, secretly"}), false);
    send(json!({"week": "2026-W07", "hidden-name": 1}), false);
    send(json!("a notification asks for nothing"), true);
    assert_eq!(net.agents[1].refusals(), ["body-unfit"; 2]);
    let failures = failures(&net.agents[0]);
    let texts: Vec<&str> = failures.iter().map(|(_, text)| text.as_str()).collect();
    assert!(
        texts[0].contains("/$defs/week/pattern") && texts[0].contains("at /week"),
        "{texts:?}"
    );
    assert!(
        texts[1].contains("Schema path /additionalProperties"),
        "{texts:?}"
    );
    for text in texts {
        assert!(
            !text.contains("secretly") && !text.contains("hidden-name"),
            "{text}"
        );
    }
    let offered = &net.agents[0]
        .node
        .peers()
        .session(&net.agents[1].id(), net.at(0).now)
        .unwrap()
        .offered;
    assert!(
        offered[0]
            .schema
            .as_ref()
            .unwrap()
            .contains("\"required\":[\"week\"]")
    );
}

#[test]
fn above_tier_two_not_even_a_members_name_is_repeated() {
    let schema = r#"{"additionalProperties": {"type": "object", "additionalProperties": {"type": "integer"}}}"#;
    let schema = BodySchema::compile(schema.as_bytes()).unwrap();
    let misfit = schema
        .misfit(&json!({"diagnosis": {"name of it": "flu"}}))
        .unwrap();
    assert!(
        misfit
            .text(Tier::Household)
            .contains("/diagnosis/name of it")
    );
    for tier in [Tier::Sensitive, Tier::Restricted] {
        let text = misfit.text(tier);
        assert!(
            text.contains("additionalProperties/type") && text.contains("keyword type"),
            "{text}"
        );
        for word in ["diagnosis", "name of it", "flu"] {
            assert!(!text.contains(word), "{text}");
        }
    }
    let long = json!({"x".repeat(100_000): {"y".repeat(100_000): "z".repeat(1000)}});
    assert!(
        schema
            .misfit(&long)
            .unwrap()
            .text(Tier::Public)
            .chars()
            .count()
            <= 250
    );
}

fn any_policy() -> impl Strategy<Value = Policy> {
    let names = || prop::option::of(prop::sample::subsequence(vec!["a", "b"], 0..=2));
    (
        1..=4_u8,
        names(),
        1..=2_u8,
        prop::option::of(1..=4_u8),
        prop::sample::subsequence(vec![1_u8, 2, 9], 0..=3),
    )
        .prop_map(|(tier, granted, takes, own, layers)| {
            let mut policy = offering(vec![capability("a", takes, None), capability("b", 2, None)]);
            policy.tier = Tier::parse(tier).unwrap();
            policy.granted =
                granted.map(|names| names.iter().map(|name| name.parse().unwrap()).collect());
            policy.table = Table::default().with(Tier::Household, Layers::of(&layers));
            let rule = PeerRule {
                tier: own.and_then(|own| Tier::parse(own).ok()),
                ..PeerRule::default()
            };
            policy.peers.insert("agent-alice".parse().unwrap(), rule);
            policy
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// What is explained to a person before is what happens then.
    #[test]
    fn the_explanation_is_the_verdict(policy in any_policy(), tier in 1..=2_u8, name in prop::option::of(prop::sample::select(vec!["a", "b", "c"]))) {
        // Bob's policy changes after the session was made, and nothing of his reaches Alice: her node cannot refuse by
        // it.
        let (mut net, changed) = met(offering(vec![capability("a", 4, None), capability("b", 4, None), capability("c", 4, None)]));
        *changed.borrow_mut() = policy;
        net.cut = Some((1, 0));
        net.restart(1);
        let (at, alice) = (net.at(1), net.agents[0].id());
        let capability = name.map(|name| name.parse().unwrap());
        let findings = net.agents[1].node.judge(at.now).explain(&alice, Way::Receive, Tier::parse(tier).unwrap(), capability.as_ref()).unwrap();
        let against: Vec<_> = findings.iter().filter(|finding| !finding.holds()).map(|finding| finding.reason().name()).take(1).collect();
        try_send(&mut net, 0, 1, content(tier, name)).unwrap();
        net.run_for(100);
        prop_assert_eq!(net.agents[1].refusals(), against);
    }
}
