//! Attacks with revocations, and on what one has taken back.

use std::sync::Arc;

use serde_json::{Value, json};
use signet_proto::entry::TrustChange;
use signet_proto::envelope::Method;
use signet_proto::node::Effect;
use signet_proto::statement::Revocation;

use crate::forge::{envelope, read, sign};
use crate::household::net::{Net, times_taken};
use crate::household::people::{
    DAY, announce, changes, decree_at, does, remembered, revocation, revocation_by, revoking, same,
    works_when_cut_anywhere,
};
use crate::household::sealing::introduce;
use crate::household::{self, Agent, at, identity, identity_with, published};

const ALICE: usize = 0;
const BOB: usize = 1;
const CAROL: usize = 2;

/// Alice, Bob and Carol know each other; Alice has talked with both.
fn talking() -> Net {
    let mut agents = vec![
        Agent::new("agent-alice", "alice"),
        Agent::new("agent-bob", "bob"),
        Agent::new("agent-carol", "carol"),
    ];
    introduce(&mut agents);
    let mut net = Net::new(agents, 1);
    net.ask(ALICE, BOB);
    net.ask(CAROL, BOB);
    net.run_for(10_000);
    net
}

/// What Bob makes of Carol's `agent.revoke`: the reason, when he refuses it.
fn carried(net: &mut Net, name: u64, body: Value) -> Option<&'static str> {
    let (at, carol) = (net.at(BOB), identity("agent-carol", "carol"));
    let bytes = decree_at(&carol, &net.agents[BOB], name, Method::Revoke, body, at);
    heard(net, &bytes).0
}

fn heard(net: &mut Net, bytes: &[u8]) -> (Option<&'static str>, Vec<Effect>) {
    household::forger::hear(net, BOB, bytes)
}

fn trusts_alice(net: &Net) -> bool {
    let alice = net.agents[ALICE].id();
    net.agents[BOB].node.trust().trusted(&alice).is_some()
}

fn revokes(net: &mut Net, revocation: &Revocation) {
    does(net, BOB, |node, at| {
        node.turn(at).people().revoke(revocation).unwrap()
    });
}

/// How many revocations Bob wrote down.
fn lines(net: &Net) -> usize {
    let all = changes(&net.agents[BOB]);
    let revoked = all.iter().filter(|change| **change == TrustChange::Revoked);
    revoked.count()
}

/// What Alice sends to Bob now, kept back.
fn held_back(net: &mut Net) -> Arc<[u8]> {
    net.cut = Some((ALICE, BOB));
    net.ask(ALICE, BOB);
    net.cut = None;
    let sent = net.sent.last().unwrap();
    Arc::clone(&sent.2)
}

#[test]
fn a_revocation_that_no_pinned_root_signed_revokes_nobody() {
    let mut net = talking();
    let mut widened = revoking(&revocation("alice", "agent-alice-2", 1));
    widened["revocation"]["agent-id"] = "agent-alice".into();
    let mut raised = revoking(&revocation("alice", "agent-alice", 1));
    raised["revocation"]["serial"] = 9.into();
    let wrong_root = revocation_by("root of carol", "alice", "agent-alice", 1);
    let unpinned = revocation("dave", "agent-dave", 1);
    for (name, body) in [
        (1, widened),
        (2, raised),
        (3, revoking(&wrong_root)),
        (4, revoking(&unpinned)),
    ] {
        assert_eq!(
            carried(&mut net, name, body),
            Some("statement-invalid"),
            "{name}"
        );
    }
    for forged in [wrong_root, unpinned] {
        let (at, node) = (net.at(BOB), &mut net.agents[BOB].node);
        let error = node.turn(at).people().revoke(&forged).unwrap_err();
        assert_eq!(error.name(), "statement-invalid");
    }
    assert!(trusts_alice(&net));
    assert_eq!(lines(&net), 0);
}

#[test]
fn a_person_cannot_revoke_another_persons_agent() {
    let mut net = talking();
    let taken = carried(
        &mut net,
        1,
        revoking(&revocation("carol", "agent-alice", 9)),
    );
    assert_eq!(
        taken, None,
        "it speaks of an agent-alice of Carol's, of which there is none"
    );
    assert!(trusts_alice(&net));
    let asked = net.ask(ALICE, BOB);
    net.run_for(5_000);
    assert_eq!(times_taken(&net.agents[BOB], asked), 1);
    remembered(&net);
}

#[test]
fn whoever_carries_it_a_revocation_of_the_pinned_root_holds() {
    let mut net = talking();
    let taken = carried(
        &mut net,
        1,
        revoking(&revocation("alice", "agent-alice", 1)),
    );
    assert_eq!(taken, None);
    assert!(!trusts_alice(&net));
    remembered(&net);
}

#[test]
fn a_revoked_key_opens_nothing_whenever_it_signed() {
    let mut net = talking();
    let before = held_back(&mut net);
    let flight = announce(
        || identity("agent-alice", "alice"),
        &net.agents[BOB],
        net.now,
    );
    revokes(&mut net, &revocation("alice", "agent-alice", 1));
    net.run_for(1_000);
    let after = held_back(&mut net);
    let late = announce(
        || identity("agent-alice", "alice"),
        &net.agents[BOB],
        net.now,
    );
    for bytes in [before, flight, after, late] {
        let (reason, effects) = heard(&mut net, &bytes);
        assert_eq!((reason, effects.len()), (Some("certificate-revoked"), 0));
    }
    remembered(&net);
}

/// It was verified a moment before the revocation came.
#[test]
fn what_a_worker_verified_before_the_revocation_is_judged_again() {
    let mut net = talking();
    let bytes = held_back(&mut net);
    let judged = signet_proto::node::Judged::of(&bytes, net.agents[BOB].node.trust());
    revokes(&mut net, &revocation("alice", "agent-alice", 1));
    let at = net.at(BOB);
    let outcome = net.agents[BOB].node.turn(at).handle_inbound(judged);
    let effects = net.agents[BOB].keep(at, outcome);
    assert!(effects.is_empty(), "{effects:?}");
    assert_eq!(
        net.agents[BOB].refusals().last(),
        Some(&"certificate-revoked")
    );
}

#[test]
fn a_flight_that_carries_its_own_senders_revocation_ends_there() {
    let mut net = talking();
    let flight = announce(
        || identity("agent-alice", "alice"),
        &net.agents[BOB],
        net.now,
    );
    let mut flight = read(&flight);
    let own = revocation("alice", "agent-alice", 1);
    envelope(&mut flight)["body"]["revocations"] = json!([own.to_value()]);
    let bytes = sign(flight, &identity("agent-alice", "alice").signing);
    let (reason, effects) = heard(&mut net, &bytes);
    assert_eq!(reason, Some("certificate-revoked"));
    assert!(published(&effects).is_empty());
    assert!(!trusts_alice(&net), "yet the revocation holds");
    remembered(&net);
}

#[test]
fn an_agent_that_tells_its_own_revocation_is_obeyed_once_and_heard_no_more() {
    let mut net = talking();
    let (at, alice) = (net.at(BOB), identity("agent-alice", "alice"));
    let body = revoking(&revocation("alice", "agent-alice", 1));
    let bytes = decree_at(&alice, &net.agents[BOB], 1, Method::Revoke, body, at);
    let (reason, effects) = heard(&mut net, &bytes);
    assert_eq!(reason, Some("certificate-revoked"));
    assert!(published(&effects).is_empty());
    assert!(!trusts_alice(&net));
    assert_eq!(heard(&mut net, &bytes).0, Some("certificate-revoked"));
    remembered(&net);
}

#[test]
fn a_flight_may_carry_the_revocation_of_another_and_no_forgery() {
    let mut net = talking();
    let flight = announce(
        || identity("agent-carol", "carol"),
        &net.agents[BOB],
        net.now,
    );
    let mut flight = read(&flight);
    let mut forged = revocation("bob", "agent-bob-2", 1).to_value();
    forged["serial"] = 9.into();
    envelope(&mut flight)["body"]["revocations"] = json!([
        forged,
        revocation_by("root of carol", "bob", "agent-bob-2", 1).to_value(),
        revocation("alice", "agent-alice", 1).to_value(),
    ]);
    let bytes = sign(flight, &identity("agent-carol", "carol").signing);
    let (reason, effects) = heard(&mut net, &bytes);
    assert_eq!(reason, None);
    assert_eq!(published(&effects).len(), 1, "flight 2 all the same");
    assert!(!trusts_alice(&net));
    let all = changes(&net.agents[BOB]);
    let revoked = all.iter().filter(|change| **change == TrustChange::Revoked);
    assert_eq!(revoked.count(), 1, "the forgeries left no line");
    remembered(&net);
}

#[test]
fn revocations_hold_in_any_order_and_however_often_they_come() {
    let of = |serial| revocation("alice", "agent-alice", serial);
    for order in [
        [1, 2, 3],
        [3, 2, 1],
        [2, 3, 1],
        [3, 1, 3],
        [1, 3, 2],
        [2, 3, 3],
    ] {
        let mut net = talking();
        let mut news = 0;
        let mut highest = 0;
        for (name, serial) in (1..).zip(order) {
            let taken = carried(&mut net, name, revoking(&of(serial)));
            assert_eq!(taken, None, "{order:?}");
            news += usize::from(serial > highest);
            highest = highest.max(serial);
            let alice = "alice".parse().unwrap();
            let known: Vec<_> = net.agents[BOB].node.trust().revocations(&alice).collect();
            assert_eq!((known.len(), known[0].serial), (1, highest), "{order:?}");
        }
        assert_eq!(lines(&net), news, "only news is written down");
        for (serial, reason) in [(3, "certificate-revoked"), (2, "certificate-revoked")] {
            let make = move || identity_with("agent-alice", "alice", serial, |_| {});
            let flight = announce(make, &net.agents[BOB], net.now);
            assert_eq!(heard(&mut net, &flight).0, Some(reason));
        }
        let newer = || identity_with("agent-alice", "alice", 4, |_| {});
        let flight = announce(newer, &net.agents[BOB], net.now);
        assert_eq!(
            heard(&mut net, &flight).0,
            None,
            "its root certified it anew"
        );
        remembered(&net);
    }
}

/// Alice's key was stolen; she has a new one, and what the old one said waits in Bob's inbox.
#[test]
fn what_a_stolen_key_said_is_set_aside_though_a_newer_one_stands() {
    let mut net = talking();
    let newer = || identity_with("agent-alice", "alice", 2, |_| {});
    does(&mut net, ALICE, |node, at| {
        node.turn(at).me().adopt(newer())
    });
    net.run_for(10_000);
    let good = net.ask(ALICE, BOB);
    net.run_for(5_000);
    let waiting = net.agents[BOB].node.inbox().len();
    revokes(&mut net, &revocation("alice", "agent-alice", 1));
    let inbox = net.agents[BOB].node.inbox();
    assert_eq!((inbox.len(), inbox.aside().count()), (waiting - 1, 1));
    assert!(inbox.find(&net.agents[ALICE].id(), good).is_some());
    assert!(trusts_alice(&net));
    let asked = net.ask(ALICE, BOB);
    net.run_for(5_000);
    assert_eq!(times_taken(&net.agents[BOB], asked), 1);
    remembered(&net);
}

/// A pinned root can sign any number of them.
#[test]
fn a_pinned_person_cannot_fill_the_memory_with_revocations() {
    let mut bob = talking().agents.remove(BOB);
    for n in 0..1_030 {
        let one = revocation("carol", &format!("agent-carol-{n}"), 1);
        let outcome = bob.node.turn(at(20_000)).people().revoke(&one).unwrap();
        bob.keep(at(20_000), outcome);
    }
    let carol = "carol".parse().unwrap();
    let known = |bob: &Agent| bob.node.trust().revocations(&carol).count();
    assert_eq!(known(&bob), 1_024);
    let own = revocation("carol", "agent-carol", 1);
    let outcome = bob.node.turn(at(20_000)).people().revoke(&own).unwrap();
    bob.keep(at(20_000), outcome);
    assert_eq!(
        known(&bob),
        1_025,
        "of an agent that is bound it always counts"
    );
    same(&bob.node, &bob.retold(), at(20_000));
}

fn told(net: &Net, from: i64) -> usize {
    let sent = net
        .sent
        .iter()
        .filter(|(ms, who, _)| *ms >= from && *who == BOB);
    let revokes =
        |bytes: &[u8]| household::net::message_of(bytes).form.method() == Some(Method::Revoke);
    sent.filter(|(_, _, bytes)| revokes(bytes)).count()
}

#[test]
fn our_own_revocations_are_told_at_once_and_daily_for_thirty_days() {
    let mut net = talking();
    let from = net.now;
    revokes(&mut net, &revocation("bob", "agent-bob-2", 1));
    net.run_for(1);
    assert_eq!(told(&net, from), 2, "to Alice and Carol");
    net.run_until(29 * DAY + 3_600_000);
    assert_eq!(told(&net, from), 2 * 30);
    net.run_until(40 * DAY);
    assert_eq!(told(&net, from), 2 * 30);
    let bob = "bob".parse().unwrap();
    for who in [ALICE, CAROL] {
        assert_eq!(net.agents[who].node.trust().revocations(&bob).count(), 1);
    }
}

/// Each would otherwise cost us a message to everybody we know.
#[test]
fn anothers_revocations_do_not_make_us_repeat_our_own() {
    let mut net = talking();
    revokes(&mut net, &revocation("bob", "agent-bob-2", 1));
    net.run_for(10_000);
    let from = net.now;
    for n in 0..20 {
        let one = revocation("carol", &format!("agent-carol-{n}"), 1);
        carried(&mut net, 100 + n, revoking(&one));
        net.run_for(100);
    }
    assert_eq!(told(&net, from), 0);
}

#[test]
fn a_log_with_revocations_cut_anywhere_leaves_an_agent_that_works() {
    works_when_cut_anywhere(|| {
        let mut net = talking();
        let _ = carried(
            &mut net,
            1,
            revoking(&revocation("alice", "agent-alice", 1)),
        );
        revokes(&mut net, &revocation("bob", "agent-bob-2", 1));
        net.run_for(10_000);
        net
    });
}
