//! Attacks on who speaks for whom: names that belong to others, and root keys that nobody named.

use signet_proto::draft::Identity;
use signet_proto::entry::TrustChange;
use signet_proto::ids::Digest;
use signet_proto::node::{Effect, LocalError, Notice};
use signet_proto::time::Timestamp;
use signet_proto::trust::BindError;

use crate::forge::{envelope, read, sign};
use crate::household::net::{Net, times_taken};
use crate::household::people::{
    DAY, announce, changes, does, notices, pending, revocation_by, same,
};
use crate::household::{
    self, Agent, alice_and_bob, at, identity, identity_under, identity_with, key, published,
};

/// Bob, who knows Alice and Mallory.
fn bob() -> Agent {
    let mut bob = Agent::new("agent-bob", "bob");
    bob.knows(&Agent::new("agent-alice", "alice"));
    bob.knows(&Agent::new("agent-mallory", "mallory"));
    bob
}

/// An identity under Mallory's root, whatever it says.
fn forged(agent: &'static str, principal: &'static str) -> impl Fn() -> Identity + 'static {
    move || {
        identity_with(agent, "mallory", 9, |request| {
            request.principal = principal.parse().unwrap();
        })
    }
}

/// The reason for which Bob refuses; he neither answers nor asks his person.
fn refused(bob: &mut Agent, bytes: &[u8], ms: i64) -> &'static str {
    let (before, waiting) = (bob.refusals().len(), pending(bob, ms));
    let effects = bob.hear(at(ms), bytes);
    assert_eq!(effects.len(), 0, "{effects:?}");
    assert_eq!(pending(bob, ms), waiting);
    assert_eq!(bob.refusals().len(), before + 1);
    same(&bob.node, &bob.retold(), at(ms));
    bob.refusals()[before]
}

#[test]
fn another_pinned_person_cannot_take_a_bound_agent_id() {
    let mut bob = bob();
    let squat = announce(forged("agent-alice", "mallory"), &bob, 0);
    assert_eq!(refused(&mut bob, &squat, 0), "agent-id-taken");
}

#[test]
fn a_stranger_cannot_take_a_bound_agent_id_nor_ask_for_it() {
    let mut bob = bob();
    let squat = announce(|| identity("agent-alice", "dave"), &bob, 0);
    assert_eq!(refused(&mut bob, &squat, 0), "agent-id-taken");
}

#[test]
fn a_root_that_nobody_named_alarms_once_a_day_and_opens_nothing() {
    let mut bob = bob();
    for (agent, ms, alarms) in [
        ("agent-alice", 0, 1),
        ("agent-alice", 5_000, 0),
        ("agent-zoe", DAY - 1, 0),
        ("agent-alice", DAY, 1),
    ] {
        let flight = announce(forged(agent, "alice"), &bob, ms);
        let effects = bob.hear(at(ms), &flight);
        assert_eq!(bob.refusals().last(), Some(&"root-changed"));
        assert_eq!(effects.len(), alarms, "{agent} {ms}: {effects:?}");
        let told = |notice: &&Notice| matches!(notice, Notice::RootChanged(_));
        assert!(notices(&effects).iter().all(told));
        assert_eq!(bob.node.people().root_alarms(at(ms).now).count(), 1);
    }
    assert!(pending(&bob, DAY).is_empty());
    let (alice, root) = ("alice".parse().unwrap(), key("root of alice"));
    let pinned = bob.node.trust().principal(&alice).unwrap().root();
    assert_eq!(pinned, root.public());
    same(&bob.node, &bob.retold(), at(DAY));
}

/// Each alarm is a line and a word to a person: whoever makes roots by the thousand gets no further.
#[test]
fn a_thousand_changed_roots_alarm_sixteen_times_a_day() {
    let mut bob = bob();
    let mut alarms = 0;
    for n in 0..40 {
        let make = move || identity_under(&format!("root {n}"), "agent-alice", "alice", 9, |_| {});
        let flight = announce(make, &bob, n * 1_000);
        alarms += bob.hear(at(n * 1_000), &flight).len();
    }
    assert_eq!(alarms, 16);
    let all = changes(&bob);
    let rings = all
        .iter()
        .filter(|change| **change == TrustChange::RootChanged);
    assert_eq!(rings.count(), 16);
    let flight = announce(forged("agent-alice", "alice"), &bob, DAY + 40_000);
    assert_eq!(bob.hear(at(DAY + 40_000), &flight).len(), 1);
}

/// Otherwise anybody could make it look as if somebody else's root had attacked.
#[test]
fn an_alarm_is_only_raised_by_whoever_holds_the_claimed_root() {
    let mut bob = bob();
    let flight = announce(forged("agent-alice", "alice"), &bob, 0);
    let eve = key("signing key 1 of agent-eve");
    let resigned = sign(read(&flight), &eve);
    assert_eq!(refused(&mut bob, &resigned, 0), "root-changed");
    assert_eq!(bob.node.people().root_alarms(at(0).now).count(), 0);
}

fn successor(agent: &'static str, serial: u64) -> Identity {
    identity_under("next root of alice", agent, "alice", serial, |request| {
        let third = key("third root of alice");
        request.next_root = Digest::of(&[third.public().as_bytes()]);
    })
}

/// Alice (0), Bob (1) and Alice's second agent (2), who all talk; then Alice's root is succeeded.
fn succession() -> Net {
    let (mut alice, mut bob) = alice_and_bob();
    let mut second = Agent::new("agent-alice-2", "alice");
    second.knows(&bob);
    bob.knows(&second);
    alice.knows(&second);
    second.knows(&alice);
    let mut net = Net::new(vec![alice, bob, second], 1);
    for (from, to) in [(0, 1), (2, 1)] {
        net.ask(from, to);
    }
    net.run_for(10_000);
    does(&mut net, 0, |node, at| {
        node.turn(at).me().adopt(successor("agent-alice", 2))
    });
    net.run_for(10_000);
    net
}

#[test]
fn the_successor_that_a_root_named_takes_its_place_and_people_are_told() {
    let net = succession();
    let alice = "alice".parse().unwrap();
    let pinned = net.agents[1].node.trust().principal(&alice).unwrap();
    assert_eq!(pinned.root(), key("next root of alice").public());
    assert!(changes(&net.agents[1]).contains(&TrustChange::RootSucceeded));
    let told = net.effects.iter().filter(|(who, effect)| {
        *who == 1 && matches!(effect, Effect::Notice(notice) if matches!(**notice, Notice::RootSucceeded(_)))
    });
    assert_eq!(told.count(), 1);
    same(&net.agents[1].node, &net.agents[1].retold(), net.at(1));
}

#[test]
fn after_a_succession_the_old_root_certifies_nothing_new_and_a_known_sister_goes_on() {
    let mut net = succession();
    let asked = net.ask(2, 1);
    net.run_for(10_000);
    assert_eq!(times_taken(&net.agents[1], asked), 1, "a known certificate");
    let (bob, ms) = (&mut net.agents[1], net.now);
    for agent in ["agent-alice", "agent-alice-2", "agent-alice-3"] {
        let newer = move || identity_with(agent, "alice", 7, |_| {});
        let flight = announce(newer, bob, ms);
        bob.hear(at(ms), &flight);
        assert_eq!(bob.refusals().last(), Some(&"root-changed"), "{agent}");
    }
    assert!(pending(bob, ms).is_empty());
    let sister = "agent-alice-2".parse().unwrap();
    let newest = bob.node.trust().peer(&sister).unwrap().newest();
    assert_eq!(newest.unwrap().serial, 1);
}

/// A flight that was verified a moment before its root was succeeded is judged again.
#[test]
fn a_flight_of_the_old_root_does_not_slip_in_beside_the_succession() {
    let ms = 10_000;
    let mut bob = bob();
    bob.knows(&Agent::new("agent-alice-2", "alice"));
    let newer = || identity_with("agent-alice-2", "alice", 7, |_| {});
    let flight = announce(newer, &bob, ms);
    let judged = signet_proto::node::Judged::of(&flight, bob.node.trust());
    let outcome = bob
        .node
        .turn(at(ms))
        .people()
        .bind(&successor("agent-alice", 2).certificate);
    bob.keep(at(ms), outcome.unwrap());
    let outcome = bob.node.turn(at(ms)).handle_inbound(judged);
    assert!(published(&bob.keep(at(ms), outcome)).is_empty());
    assert_eq!(bob.refusals(), ["root-changed"]);
}

#[test]
fn a_certificate_that_ended_opens_no_session() {
    let mut bob = bob();
    let brief = || {
        identity_with("agent-alice", "alice", 2, |request| {
            request.not_after = Timestamp::from_millis(household::START + DAY);
        })
    };
    // Alice's own daemon signs nothing after the end of her certificate: a thief of her key signs this announce.
    let mut late = read(&announce(brief, &bob, DAY - 1_000));
    let time = |ms| at(ms).now.to_string().into();
    let headers = envelope(&mut late)["headers"].as_object_mut().unwrap();
    headers.insert("timestamp".into(), time(DAY + 1));
    headers.insert("expires-at".into(), time(DAY + 60_000));
    let late = sign(late, &brief().signing);
    assert_eq!(refused(&mut bob, &late, DAY + 1), "certificate-expired");
}

#[test]
fn an_older_certificate_cannot_be_brought_back() {
    let mut bob = Agent::new("agent-bob", "bob");
    let newest = identity_with("agent-alice", "alice", 5, |_| {}).certificate;
    let outcome = bob.node.turn(at(0)).people().bind(&newest).unwrap();
    bob.keep(at(0), outcome);
    let old = announce(|| identity_with("agent-alice", "alice", 4, |_| {}), &bob, 0);
    assert_eq!(refused(&mut bob, &old, 0), "serial-rolled-back");
}

/// Alice's true announce with one key of Eve's in it, signed by whoever could.
#[test]
fn no_key_of_another_can_be_put_into_an_announce() {
    let mut bob = bob();
    let flight = announce(|| identity("agent-alice", "alice"), &bob, 0);
    let eve = identity("agent-eve", "eve");
    let change = |place: &str, value: &str| {
        let mut flight = read(&flight);
        *flight.pointer_mut(place).unwrap() = value.into();
        flight
    };
    let eves = eve.signing.public();
    let mut certified = change("/params/body/certificate/signing-key", &eves.to_string());
    envelope(&mut certified)["body"]["certificate"]["serial"] = 2.into();
    let claimed = change("/params/headers/key-id", &eves.id().to_string());
    let alice = identity("agent-alice", "alice");
    let mut sealing = read(&flight);
    envelope(&mut sealing)["body"]["keys"] = eve.keys.to_value();
    for (flight, key, reason) in [
        (certified, &eve.signing, "certificate-invalid"),
        (claimed, &eve.signing, "key-unknown"),
        (read(&flight), &eve.signing, "signature-invalid"),
        (sealing, &alice.signing, "keys-invalid"),
    ] {
        assert_eq!(refused(&mut bob, &sign(flight, key), 0), reason);
    }
}

/// A root that was replaced is perhaps stolen: what it signed is not trusted by a slip of the person.
#[test]
fn an_agent_of_a_replaced_root_is_not_approved_under_the_old_one() {
    let mut bob = bob();
    bob.knows(&Agent::new("agent-alice-2", "alice"));
    let new = identity_under("new root of alice", "agent-alice", "alice", 2, |_| {}).certificate;
    let outcome = bob.node.turn(at(1)).people().replace_root(&new).unwrap();
    bob.keep(at(1), outcome);
    let sister = "agent-alice-2".parse().unwrap();
    assert!(bob.node.trust().peer(&sister).unwrap().is_withdrawn());
    let error = bob
        .node
        .turn(at(2))
        .people()
        .approve(&sister, None)
        .unwrap_err();
    assert_eq!(error, LocalError::StrangerUnknown(sister.clone()));
    let old = identity("agent-alice-2", "alice").certificate;
    let error = bob.node.turn(at(2)).people().bind(&old).unwrap_err();
    assert!(matches!(error, BindError::RootChanged(_)), "{error}");
    let new = identity_under("new root of alice", "agent-alice-2", "alice", 1, |_| {}).certificate;
    let outcome = bob.node.turn(at(2)).people().bind(&new).unwrap();
    bob.keep(at(2), outcome);
    assert!(bob.node.trust().trusted(&sister).is_some());
    same(&bob.node, &bob.retold(), at(2));
}

/// Whoever stole the old root can sign a revocation of every serial that will ever be.
#[test]
fn a_stolen_root_cannot_keep_an_agent_out_after_it_was_replaced() {
    let mut bob = bob();
    let highest = (1 << 53) - 1;
    let forever = revocation_by("root of alice", "alice", "agent-alice", highest);
    let outcome = bob.node.turn(at(1)).people().revoke(&forever).unwrap();
    bob.keep(at(1), outcome);
    let alice = "agent-alice".parse().unwrap();
    assert!(bob.node.trust().trusted(&alice).is_none());
    let new = identity_under("new root of alice", "agent-alice", "alice", 2, |_| {}).certificate;
    let outcome = bob.node.turn(at(2)).people().replace_root(&new).unwrap();
    bob.keep(at(2), outcome);
    assert!(bob.node.trust().trusted(&alice).is_some());
    let own = revocation_by("new root of alice", "alice", "agent-alice", 2);
    let outcome = bob.node.turn(at(3)).people().revoke(&own).unwrap();
    bob.keep(at(3), outcome);
    assert!(
        bob.node.trust().trusted(&alice).is_none(),
        "the new root may"
    );
    same(&bob.node, &bob.retold(), at(3));
}
