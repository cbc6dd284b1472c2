//! Attacks by whoever stole a root or a signing key, on what comes after it.

use std::cell::Cell;
use std::rc::Rc;

use signet_proto::certificate::{Certificate, KEYS_LIFE, KeyStatement};
use signet_proto::draft::Identity;
use signet_proto::entry::{Entry, TrustChange};
use signet_proto::ids::Digest;
use signet_proto::keys::VerifyKey;
use signet_proto::node::Notice;
use signet_proto::policy::Policy;
use signet_proto::statement::Revocation;
use signet_proto::trust::{KnownPeer, Principal};

use crate::household::net::{Net, times_taken};
use crate::household::people::{
    announce, changes, does, notices, remembered, revocation, revocation_by, same,
};
use crate::household::{self, Agent, at, identity, identity_under, identity_with, key};

const ALICE: usize = 0;
const BOB: usize = 1;
/// Far above what anybody reaches honestly.
const THIEFS: u64 = 1_000_000;

/// Bob's agent under the root that his first one named.
fn successor(serial: u64) -> Identity {
    identity_under("next root of bob", "agent-bob", "bob", serial, |request| {
        request.next_root = Digest::of(&[key("third root of bob").public().as_bytes()]);
    })
}

/// Bob's agent with the `serial`th signing key, and a key statement of any number.
fn numbered(serial: u64, keys: u64) -> Identity {
    let mut identity = identity_with("agent-bob", "bob", serial, |_| {});
    let until = at(0).now.saturating_add(KEYS_LIFE);
    let (agent, sealing) = (identity.agent().clone(), identity.keys.sealing_key);
    identity.keys = KeyStatement::sign(&agent, sealing, keys, until, &identity.signing).unwrap();
    identity
}

/// Alice (0), who knows Bob by `known`, and whoever speaks as Bob (1).
fn net(known: &Certificate, speaks: impl Fn() -> Identity + 'static) -> Net {
    let mut alice = Agent::new("agent-alice", "alice");
    let outcome = alice.node.turn(at(0)).people().bind(known).unwrap();
    alice.keep(at(0), outcome);
    let bob = of_alices(&alice, speaks);
    Net::new(vec![alice, bob], 1)
}

fn of_alices(alice: &Agent, make: impl Fn() -> Identity + 'static) -> Agent {
    let mut agent = Agent::with(move || (make(), Policy::default()));
    agent.knows(alice);
    agent
}

fn first(serial: u64) -> Certificate {
    identity_with("agent-bob", "bob", serial, |_| {}).certificate
}

/// What Alice knows of Bob.
fn bob(net: &Net) -> (&KnownPeer, &Principal) {
    let trust = net.agents[ALICE].node.trust();
    let peer = trust.peer(&"agent-bob".parse().unwrap());
    let person = trust.principal(&"bob".parse().unwrap());
    (peer.unwrap(), person.unwrap())
}

fn is_trusted(net: &Net) -> bool {
    let trust = net.agents[ALICE].node.trust();
    trust.trusted(&"agent-bob".parse().unwrap()).is_some()
}

fn revokes(net: &mut Net, said: &Revocation) {
    does(net, ALICE, |node, at| {
        node.turn(at).people().revoke(said).unwrap()
    });
}

/// Bob asks something, and Alice takes it.
fn bob_is_heard(net: &mut Net) {
    let asked = net.ask(BOB, ALICE);
    net.run_for(10_000);
    assert_eq!(times_taken(&net.agents[ALICE], asked), 1);
}

/// What Alice says of another flight 1 in Bob's name.
fn announces(net: &mut Net, make: impl Fn() -> Identity + 'static) -> Option<&'static str> {
    net.now += 1_000;
    let flight = announce(make, &net.agents[ALICE], net.now);
    household::forger::hear(net, ALICE, &flight).0
}

#[test]
fn a_thief_of_a_root_cannot_keep_its_named_successor_out() {
    let mut net = net(&first(9), || successor(1));
    revokes(&mut net, &revocation("bob", "agent-bob", THIEFS));
    assert!(!is_trusted(&net));
    bob_is_heard(&mut net);
    assert!(is_trusted(&net));
    assert_eq!(bob(&net).0.newest(), Some(&successor(1).certificate));
    let again = revocation("bob", "agent-bob", THIEFS + 1);
    let now = net.at(ALICE);
    let node = &mut net.agents[ALICE].node;
    let error = node.turn(now).people().revoke(&again).unwrap_err();
    assert_eq!(error.name(), "statement-invalid", "its time is over");
    bob_is_heard(&mut net);
    remembered(&net);
}

#[test]
fn a_thief_of_a_root_cannot_use_up_its_successors_serials() {
    let mut net = net(&first(THIEFS), || successor(1));
    bob_is_heard(&mut net);
    assert_eq!(bob(&net).1.root(), key("next root of bob").public());
    assert_eq!(bob(&net).1.seen(), 1);
    does(&mut net, BOB, |node, at| {
        node.turn(at).me().adopt(successor(2))
    });
    net.run_for(10_000);
    assert_eq!(bob(&net).0.newest(), Some(&successor(2).certificate));
    let older = announces(&mut net, || successor(1));
    assert_eq!(older, Some("serial-rolled-back"), "they count from there");
    let stolen = || identity_with("agent-bob", "bob", THIEFS + 1, |_| {});
    assert_eq!(announces(&mut net, stolen), Some("root-changed"));
    remembered(&net);
}

#[test]
fn what_the_successor_itself_takes_back_is_taken_back_under_both_roots() {
    let mut net = net(&first(9), || successor(10));
    let said = revocation_by("next root of bob", "bob", "agent-bob", 9);
    revokes(&mut net, &said);
    assert!(!is_trusted(&net), "the certificate of the first root");
    let low = announces(&mut net, || successor(1));
    assert_eq!(low, Some("certificate-revoked"));
    bob_is_heard(&mut net);
    remembered(&net);
}

#[test]
fn a_thief_of_a_signing_key_cannot_use_up_the_numbers_of_the_next() {
    let mut net = net(&first(1), || numbered(1, THIEFS));
    bob_is_heard(&mut net);
    assert_eq!(bob(&net).0.keys_serial(), THIEFS);
    net.agents[BOB] = of_alices(&net.agents[ALICE], || numbered(2, 2));
    bob_is_heard(&mut net);
    assert_eq!(bob(&net).0.keys_serial(), 2, "counted from there");
    does(&mut net, BOB, |node, at| {
        node.turn(at).me().adopt(numbered(2, 3))
    });
    net.run_for(10_000);
    assert_eq!(bob(&net).0.keys_serial(), 3);
    let older = announces(&mut net, || numbered(2, 2));
    assert_eq!(older, Some("serial-rolled-back"));
    let stolen = announces(&mut net, || numbered(1, THIEFS + 1));
    assert_eq!(stolen, Some("serial-rolled-back"));
    remembered(&net);
}

/// Alice's agent under a root that her first one did not name.
fn third() -> Identity {
    identity_under("third root of alice", "agent-alice", "alice", 3, |_| {})
}

fn begun(alice: &mut Agent) {
    let own = Entry::Genesis(alice.certificate());
    alice.node.recall(at(0).now, &own);
    alice.log.push((at(0).now, own));
}

fn own_root(alice: &Agent) -> &VerifyKey {
    let trust = alice.node.trust();
    trust.principal(trust.own_principal()).unwrap().root()
}

#[test]
fn our_own_root_that_changed_twice_at_once_is_taken_as_it_is() {
    let mut alice = Agent::new("agent-alice", "alice");
    begun(&mut alice);
    let outcome = alice.node.turn(at(1_000)).me().adopt(third());
    alice.keep(at(1_000), outcome);
    assert_eq!(own_root(&alice), key("third root of alice").public());
    assert_eq!(changes(&alice), [TrustChange::RootSucceeded]);
}

#[test]
fn our_own_root_that_changed_twice_while_we_were_down_is_taken_as_it_is() {
    let moved = Rc::new(Cell::new(false));
    let now_moved = Rc::clone(&moved);
    let mut alice = Agent::with(move || {
        let own = match now_moved.get() {
            true => third(),
            false => identity("agent-alice", "alice"),
        };
        (own, Policy::default())
    });
    begun(&mut alice);
    moved.set(true);
    for round in 0..2 {
        alice.restart(at(1_000 + round));
        assert_eq!(own_root(&alice), key("third root of alice").public());
        same(&alice.node, &alice.retold(), at(1_000 + round));
    }
    assert_eq!(changes(&alice), [TrustChange::RootSucceeded], "once");
}

#[test]
fn a_successor_that_a_person_adds_by_hand_is_written_down_as_one() {
    let mut alice = Agent::new("agent-alice", "alice");
    let mut told = 0;
    for (ms, certificate) in (0..).zip([
        first(1),
        first(2),
        successor(1).certificate,
        successor(1).certificate,
        successor(2).certificate,
    ]) {
        let outcome = alice.node.turn(at(ms)).people().bind(&certificate).unwrap();
        let effects = alice.keep(at(ms), outcome);
        let succeeded = |notice: &&&Notice| matches!(notice, Notice::RootSucceeded(_));
        told += notices(&effects).iter().filter(succeeded).count();
    }
    let bound = TrustChange::Bound;
    let lines = [bound, bound, bound, TrustChange::RootSucceeded, bound];
    assert_eq!(changes(&alice), lines);
    assert_eq!(told, 1, "the person is told once");
    same(&alice.node, &alice.retold(), at(10));
}
