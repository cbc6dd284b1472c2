//! A change of keys while people talk: nobody notices, except those who hold the old ones.

use signet_proto::carrier::CarrierId;
use signet_proto::certificate::{CertificateRequest, KEYS_LIFE, KeyStatement};
use signet_proto::draft::{Draft, Identity, Stamp};
use signet_proto::entry::{Entry, TrustChange};
use signet_proto::envelope::Method;
use signet_proto::ids::{Digest, SessionId, Version};
use signet_proto::keys::SealSecret;
use signet_proto::node::{Content, Effect, Sending, State};
use signet_proto::policy::Policy;
use signet_proto::receipt::Receipt;
use zeroize::Zeroizing;

use crate::household::forger::{hear, name};
use crate::household::net::{Net, times_taken};
use crate::household::{self, Agent, at, identity_with, key, published};

/// Alice's agent with a second signing key, and the first for receipts.
fn renewed() -> Identity {
    let mut identity = identity_with("agent-alice", "alice", 2, |_| {});
    let first = identity_with("agent-alice", "alice", 1, |_| {});
    identity.keys = KeyStatement::sign(
        identity.agent(),
        identity.keys.sealing_key,
        2,
        at(0).now.saturating_add(KEYS_LIFE),
        &identity.signing,
    )
    .unwrap();
    identity.former = vec![first.signing];
    identity
}

/// Alice and Bob in the middle of a conversation.
fn talking() -> Net {
    let (alice, bob) = household::alice_and_bob();
    let mut net = Net::new(vec![alice, bob], 1);
    net.ask(0, 1);
    net.run_for(10_000);
    net.ask(1, 0);
    net.run_for(10_000);
    assert_eq!(net.agents[0].node.inbox().len(), 1);
    net
}

fn adopt(net: &mut Net, identity: Identity) {
    let at = net.at(0);
    let outcome = net.agents[0].node.turn(at).me().adopt(identity);
    let effects = net.agents[0].keep(at, outcome);
    net.perform(0, effects);
}

fn state(net: &Net, name: signet_proto::ids::MessageId) -> Option<State> {
    let of = |(_, effect): &(usize, Effect)| match effect {
        Effect::Settle {
            message_id, state, ..
        } if *message_id == name => Some(state.clone()),
        _ => None,
    };
    net.effects.iter().rev().find_map(of)
}

fn tell() -> Sending {
    Sending::Notification(Content::default())
}

#[test]
fn the_conversation_goes_on_under_the_new_key() {
    let mut net = talking();
    let before = net.agents[1].certificate();
    adopt(&mut net, renewed());
    net.run_for(10_000);
    let known = net.agents[1].node.trust();
    let known = known.peer(&net.agents[0].id()).unwrap().newest().unwrap();
    assert_eq!(known.serial, 2);
    let names = [net.send(0, 1, tell()), net.send(1, 0, tell())];
    net.run_for(10_000);
    for name in names {
        assert_eq!(state(&net, name), Some(State::Received));
    }
    assert_eq!(before, net.agents[1].certificate());
    assert!(
        net.agents[0].refusals().is_empty(),
        "{:?}",
        net.agents[0].refusals()
    );
    assert!(
        net.agents[1].refusals().is_empty(),
        "{:?}",
        net.agents[1].refusals()
    );
}

#[test]
fn what_was_signed_before_goes_out_again_byte_for_byte_and_is_taken_once() {
    let mut net = talking();
    net.cut = Some((0, 1));
    let name = net.send(0, 1, tell());
    let first = net.sent.last().unwrap().2.clone();
    adopt(&mut net, renewed());
    net.run_for(30_000);
    net.cut = None;
    net.run_for(400_000);
    assert_eq!(state(&net, name), Some(State::Received));
    assert_eq!(times_taken(&net.agents[1], name), 1);
    let of_old_key = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        text.contains(&name.to_string()).then_some(text)
    };
    let sent: Vec<String> = net
        .sent
        .iter()
        .filter_map(|(_, _, bytes)| of_old_key(bytes))
        .collect();
    assert!(sent.len() > 1);
    assert!(sent.iter().all(|text| text.as_bytes() == &first[..]));
}

#[test]
fn what_comes_in_a_session_of_the_old_key_is_receipted_by_the_old_key() {
    let mut net = talking();
    // Bob hears nothing of the new key for now, and writes in the session that he knows.
    net.cut = Some((0, 1));
    adopt(&mut net, renewed());
    let name = net.send(1, 0, tell());
    net.run_for(3_000);
    assert_eq!(times_taken(&net.agents[0], name), 1);
    net.cut = None;
    net.run_for(600_000);
    assert_eq!(state(&net, name), Some(State::Received));
    assert!(
        net.agents[1].refusals().is_empty(),
        "{:?}",
        net.agents[1].refusals()
    );
}

#[test]
fn without_the_old_key_the_receipt_waits_for_the_new_one_and_no_timer_spins() {
    let mut net = talking();
    net.cut = Some((0, 1));
    let mut identity = renewed();
    identity.former.clear();
    adopt(&mut net, identity);
    let name = net.send(1, 0, tell());
    net.run_for(10_000);
    let now = net.at(0).now;
    assert!(
        net.agents[0]
            .node
            .poll_timeout(net.at(0))
            .is_none_or(|due| due > now)
    );
    assert_ne!(state(&net, name), Some(State::Received));
    net.cut = None;
    net.run_for(600_000);
    assert_eq!(state(&net, name), Some(State::Received));
    assert_eq!(times_taken(&net.agents[0], name), 1);
}

/// Alice's first certificate, which ends so many ms after the start.
fn ending(ends: i64) -> Net {
    let make = move || {
        let identity = identity_with("agent-alice", "alice", 1, |request| {
            request.not_after = at(ends).now;
        });
        (identity, Policy::default())
    };
    let (mut alice, mut bob) = (Agent::with(make), Agent::new("agent-bob", "bob"));
    alice.knows(&bob);
    bob.knows(&alice);
    let mut net = Net::new(vec![alice, bob], 1);
    net.ask(0, 1);
    net.run_for(10_000);
    net
}

#[test]
fn what_comes_after_the_end_of_a_session_is_receipted_by_the_key_that_came_later() {
    let mut net = ending(60_000);
    net.run_until(59_000);
    net.cut = Some((1, 0));
    let name = net.send(1, 0, tell());
    net.run_until(61_000);
    adopt(&mut net, renewed());
    net.cut = None;
    net.run_for(600_000);
    assert_eq!(times_taken(&net.agents[0], name), 1);
    assert_eq!(state(&net, name), Some(State::Received));
    assert!(
        net.agents[1].refusals().is_empty(),
        "{:?}",
        net.agents[1].refusals()
    );
}

#[test]
fn a_certificate_renewed_while_the_peer_was_away_reaches_it_when_it_is_back() {
    let mut net = talking();
    net.cut = Some((0, 1));
    let mut identity = identity_with("agent-alice", "alice", 1, |request| {
        request.serial = 2;
    });
    identity.former.clear();
    adopt(&mut net, identity);
    // Wait for longer than any handshake stays half open: none must be left when the network is whole again.
    net.run_for(3_600_000);
    let serial = |net: &Net| {
        let known = net.agents[1].node.trust();
        let known = known.peer(&net.agents[0].id()).unwrap().newest().unwrap();
        known.serial
    };
    assert_eq!(serial(&net), 1);
    net.cut = None;
    net.run_for(6 * 3_600_000);
    assert_eq!(serial(&net), 2);
    let before = net.sent_since(0, Some(Method::Announce));
    net.run_for(12 * 3_600_000);
    assert_eq!(net.sent_since(0, Some(Method::Announce)), before, "once");
}

#[test]
fn a_certificate_renewed_while_its_agent_was_down_is_announced_at_the_connect() {
    let changed = std::rc::Rc::new(std::cell::Cell::new(1));
    let serial = std::rc::Rc::clone(&changed);
    let make = move || {
        let identity = identity_with("agent-alice", "alice", 1, |request| {
            request.serial = serial.get();
        });
        (identity, Policy::default())
    };
    let (mut alice, mut bob) = (Agent::with(make), Agent::new("agent-bob", "bob"));
    alice.knows(&bob);
    bob.knows(&alice);
    let mut net = Net::new(vec![alice, bob], 1);
    net.ask(0, 1);
    net.run_for(10_000);
    changed.set(2);
    net.restart(0);
    let now = net.at(0);
    let outcome = net.agents[0]
        .node
        .turn(now)
        .carriers()
        .connected(&CarrierId::NATS);
    let effects = net.agents[0].keep(now, outcome);
    net.perform(0, effects);
    net.run_for(10_000);
    let known = net.agents[1].node.trust();
    let known = known.peer(&net.agents[0].id()).unwrap().newest().unwrap();
    assert_eq!(known.serial, 2);
}

/// A notification, or a receipt, of Bob's to Alice under one of his keys, in one of their sessions.
fn forged(net: &Net, serial: u64, session: SessionId, method: Method) -> std::sync::Arc<[u8]> {
    let by = identity_with("agent-bob", "bob", serial, |_| {});
    let receipt = method == Method::Receipt;
    let body = match receipt {
        true => Receipt::default().to_value(),
        false => serde_json::json!(1),
    };
    let name = name(net.agents[0].log.len() as u64);
    let draft = Draft::call(method, net.agents[0].id(), name, body);
    let stamp = Stamp {
        now: net.at(0).now,
        session: Some(session),
        sequence: (!receipt).then_some(50),
        audit_head: None,
        version: Version::CURRENT,
    };
    std::sync::Arc::clone(draft.sign(&by, stamp).unwrap().bytes())
}

#[test]
fn a_stolen_older_key_says_nothing_in_a_later_session_and_a_later_key_only_receipts_in_an_older() {
    let mut net = talking();
    let standing = |net: &Net| {
        let bob = net.agents[1].id();
        let standing = net.agents[0].node.standing(&bob, net.at(0).now);
        standing.session.unwrap()
    };
    let older = standing(&net);
    let mut next = identity_with("agent-bob", "bob", 2, |_| {});
    let (agent, sealing) = (next.agent().clone(), next.keys.sealing_key);
    let until = at(0).now.saturating_add(KEYS_LIFE);
    next.keys = KeyStatement::sign(&agent, sealing, 2, until, &next.signing).unwrap();
    let now = net.at(1);
    let outcome = net.agents[1].node.turn(now).me().adopt(next);
    let effects = net.agents[1].keep(now, outcome);
    net.perform(1, effects);
    net.run_for(10_000);
    let later = standing(&net);
    assert_ne!(older, later);
    for (serial, session, method, expected) in [
        (1, later, Method::Receipt, Some("key-unknown")),
        (1, later, Method::Notification, Some("key-unknown")),
        (2, older, Method::Notification, Some("key-unknown")),
        (2, older, Method::Receipt, None),
        (1, older, Method::Receipt, None),
    ] {
        let bytes = forged(&net, serial, session, method);
        let (reason, _) = hear(&mut net, 0, &bytes);
        assert_eq!(reason, expected, "key {serial}, {method:?}");
    }
}

#[test]
fn a_change_while_the_agent_was_down_is_announced_at_the_connect() {
    let (bob, at0) = (Agent::new("agent-bob", "bob"), at(0));
    let changed = std::rc::Rc::new(std::cell::Cell::new(false));
    let now_changed = std::rc::Rc::clone(&changed);
    let mut alice = Agent::with(move || {
        let identity = if now_changed.get() {
            renewed()
        } else {
            identity_with("agent-alice", "alice", 1, |_| {})
        };
        (identity, Policy::default())
    });
    let mut bob = bob;
    alice.knows(&bob);
    bob.knows(&alice);
    assert_eq!(at0.now, at(0).now);
    let mut net = Net::new(vec![alice, bob], 1);
    net.ask(0, 1);
    net.run_for(10_000);
    changed.set(true);
    net.restart(0);
    let now = net.at(0);
    let outcome = net.agents[0]
        .node
        .turn(now)
        .carriers()
        .connected(&CarrierId::NATS);
    let effects = net.agents[0].keep(now, outcome);
    assert!(
        published(&effects)
            .iter()
            .any(|(_, bytes)| { String::from_utf8_lossy(bytes).contains("agent.announce") })
    );
    net.perform(0, effects);
    net.run_for(10_000);
    let name = net.send(0, 1, tell());
    net.run_for(10_000);
    assert_eq!(state(&net, name), Some(State::Received));
}

#[test]
fn a_new_sealing_key_is_announced_and_the_old_secret_still_opens() {
    let mut net = talking();
    let mut identity = identity_with("agent-alice", "alice", 1, |_| {});
    let fresh = SealSecret::of(Zeroizing::new([7; 32]));
    let (old, new) = (identity.keys.sealing_key, fresh.public());
    let now = net.at(0).now;
    identity.keys = identity.keys.renewed(now, new, &identity.signing).unwrap();
    identity.secrets.push(fresh);
    adopt(&mut net, identity);
    net.run_for(10_000);
    let mine = net.agents[0].node.identity();
    assert!(mine.secret(old).is_some() && mine.secret(new).is_some());
    let name = net.send(1, 0, tell());
    net.run_for(5_000);
    assert_eq!(state(&net, name), Some(State::Received));
    let text = format!("{:?}", net.agents[1].log);
    assert!(text.contains(&new.to_string()), "Bob was not told");
}

#[test]
fn rolled_back_keys_are_not_adopted() {
    let mut net = talking();
    adopt(&mut net, renewed());
    net.run_for(10_000);
    let sent = net.sent.len();
    adopt(&mut net, identity_with("agent-alice", "alice", 1, |_| {}));
    adopt(&mut net, identity_with("agent-mallory", "alice", 9, |_| {}));
    assert_eq!(net.agents[0].certificate().serial, 2);
    assert_eq!(net.sent.len(), sent);
}

#[test]
fn a_thief_of_the_old_key_is_refused_once_the_new_certificate_is_known() {
    let mut net = talking();
    adopt(&mut net, renewed());
    net.run_for(10_000);
    // The thief has the whole old identity, and a node of its own.
    let mut thief = Agent::new("agent-alice", "alice");
    thief.knows(&net.agents[1]);
    let now = net.at(0);
    let outcome = thief
        .node
        .turn(now)
        .sent()
        .send(&net.agents[1].id(), tell())
        .unwrap()
        .outcome;
    for (_, bytes) in published(&thief.keep(now, outcome)) {
        net.put(1, bytes, 1);
    }
    net.run_for(1_000);
    assert_eq!(net.agents[1].refusals(), ["serial-rolled-back"]);
}

/// Alice under her second root, which her first one named.
fn under_the_next_root(serial: u64) -> Identity {
    let mut identity = identity_with("agent-alice", "alice", 1, |_| {});
    let (old, next) = (&identity.certificate, key("next root of alice"));
    let request = CertificateRequest {
        agent: old.agent.clone(),
        principal: old.principal.clone(),
        signing_key: old.signing_key.clone(),
        layers: old.layers,
        versions: old.versions.clone(),
        serial,
        not_before: old.not_before,
        not_after: old.not_after,
        next_root: Digest([5; 32]),
    };
    identity.certificate = request.sign(&next).unwrap();
    identity.control = None;
    identity
}

#[test]
fn the_next_root_takes_over_in_the_middle_of_a_conversation_and_the_peer_follows() {
    let mut net = talking();
    adopt(&mut net, under_the_next_root(2));
    net.run_for(10_000);
    let bob = &net.agents[1];
    let known = bob.node.trust().peer(&net.agents[0].id()).unwrap();
    assert_eq!(
        known.newest().unwrap().root,
        *key("next root of alice").public()
    );
    let name = net.send(0, 1, tell());
    net.run_for(5_000);
    assert_eq!(state(&net, name), Some(State::Received));
}

#[test]
fn a_sister_agent_known_under_the_old_root_is_known_after_a_restart_under_the_new() {
    let changed = std::rc::Rc::new(std::cell::Cell::new(false));
    let now_changed = std::rc::Rc::clone(&changed);
    let mut alice = Agent::with(move || {
        let identity = match now_changed.get() {
            true => under_the_next_root(2),
            false => identity_with("agent-alice", "alice", 1, |_| {}),
        };
        (identity, Policy::default())
    });
    let own = alice.certificate();
    alice.node.recall(at(0).now, &Entry::Genesis(own.clone()));
    alice.log.push((at(0).now, Entry::Genesis(own)));
    let sister = Agent::new("agent-alice-two", "alice");
    alice.knows(&sister);
    changed.set(true);
    for round in 0..2 {
        alice.restart(at(1_000 + round));
        let trust = alice.node.trust();
        assert!(trust.peer(&sister.id()).is_some(), "round {round}");
        let own = trust.principal(trust.own_principal()).unwrap();
        assert_eq!(own.root(), key("next root of alice").public());
    }
    let lines = alice.log.iter().filter(|(_, entry)| {
        matches!(entry, Entry::Trust(line) if line.change == TrustChange::RootSucceeded && line.certificate.serial == 2)
    });
    assert_eq!(lines.count(), 1, "written once");
}
