//! What passes between two agents besides their messages, looked at closely enough that no single changed expression
//! passes: found with `make mutants`.

use std::time::Duration;

use signet_proto::carrier::{CarrierId, Route, Routes};
use signet_proto::certificate::{KEYS_LIFE, KeyStatement};
use signet_proto::draft::Identity;
use signet_proto::envelope::Method;
use signet_proto::ids::MessageId;
use signet_proto::node::{Content, Continues, LocalError, Sending, State};
use signet_proto::policy::Policy;

use crate::carriers::Pair;
use crate::household::allowed::try_send;
use crate::household::forger::{name, talking};
use crate::household::net::{Net, message_of, times_taken};
use crate::household::people::{acquainted, does, pause};
use crate::household::{Agent, alice_and_bob, at, identity, identity_with};

const ALICE: usize = 0;
const BOB: usize = 1;
const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const NATS: CarrierId = CarrierId::NATS;

fn post() -> CarrierId {
    "post".parse().unwrap()
}

fn word() -> Sending {
    Sending::Notification(Content::default())
}

/// How many messages of that method an agent handed to the network since then.
fn said(net: &Net, who: usize, from: i64, method: Method) -> usize {
    let sent = net.sent.iter();
    let sent = sent.filter(|(ms, by, _)| *ms >= from && *by == who);
    sent.filter(|(_, _, bytes)| message_of(bytes).form.method() == Some(method))
        .count()
}

fn state(net: &Net, who: usize, name: MessageId) -> State {
    net.agents[who].node.sent().status(name).unwrap().state
}

/// An agent's next certificate, for another signing key, and its keys.
fn next_of(agent: &str, person: &str) -> Identity {
    let mut next = identity_with(agent, person, 2, |_| {});
    let (id, sealing) = (next.agent().clone(), next.keys.sealing_key);
    let until = at(0).now.saturating_add(KEYS_LIFE);
    next.keys = KeyStatement::sign(&id, sealing, 2, until, &next.signing).unwrap();
    next.former = vec![identity(agent, person).signing];
    next
}

fn adopt(net: &mut Net, who: usize, next: Identity) {
    does(net, who, |node, at| node.turn(at).me().adopt(next));
}

/// Alice asked, and Bob has answered her flights; nothing that she says in their session reaches him.
fn unheard() -> Net {
    let (alice, bob) = alice_and_bob();
    let mut net = Net::new(vec![alice, bob], 1);
    net.ask(ALICE, BOB);
    while said(&net, BOB, 0, Method::Trust) == 0 {
        net.run_for(1);
        assert!(net.now < MINUTE, "no flight 4");
    }
    net.cut = Some((ALICE, BOB));
    net
}

#[test]
fn a_carrier_that_comes_up_lets_those_on_it_hear_how_far_we_are_and_nobody_else() {
    let mut net = talking();
    net.loss = 100;
    for (carrier, receipts) in [(post(), 0), (NATS, 1)] {
        let from = net.now;
        does(&mut net, BOB, |node, at| {
            node.turn(at).carriers().connected(&carrier)
        });
        net.run_for(5 * SECOND);
        assert_eq!(
            said(&net, BOB, from, Method::Receipt),
            receipts,
            "{carrier}"
        );
    }
}

/// The receipts of a clock that was ahead were refused, and the peer's next copy may be hours away.
#[test]
fn a_clock_that_was_put_back_tells_each_peer_again_what_came() {
    let mut net = talking();
    net.skew[BOB] = HOUR;
    net.run_for(3 * SECOND);
    let sent = net.send(ALICE, BOB, word());
    net.run_for(3 * SECOND);
    assert_eq!(state(&net, ALICE, sent), State::Queued);
    net.cut = Some((ALICE, BOB));
    net.skew[BOB] = 0;
    does(&mut net, BOB, |node, at| node.turn(at).handle_timeout());
    net.run_for(3 * SECOND);
    assert_eq!(state(&net, ALICE, sent), State::Received);
}

#[test]
fn what_a_person_ordered_while_the_clock_was_ahead_is_told_again_when_it_is_right() {
    let mut net = acquainted(&[("agent-alice", "alice"), ("agent-alice-2", "alice")]);
    net.ask(1, ALICE);
    net.run_for(10 * SECOND);
    net.skew[ALICE] = 2 * HOUR;
    does(&mut net, ALICE, |node, at| {
        node.turn(at)
            .people()
            .pause(&pause("alice", true, 1))
            .unwrap()
    });
    net.run_for(3 * SECOND);
    assert_eq!(said(&net, ALICE, 0, Method::Pause), 1);
    net.skew[ALICE] = 0;
    let from = net.now;
    does(&mut net, ALICE, |node, at| node.turn(at).handle_timeout());
    net.run_for(3 * SECOND);
    assert_eq!(said(&net, ALICE, from, Method::Pause), 1);
}

/// It would prove an older certificate than the one that the peer is to know.
#[test]
fn a_flight_under_a_key_that_was_changed_goes_out_no_more() {
    let mut net = unheard();
    net.run_for(1_500);
    assert!(said(&net, BOB, 0, Method::Trust) > 1, "until then it did");
    adopt(&mut net, BOB, next_of("agent-bob", "bob"));
    let from = net.now;
    net.run_for(MINUTE);
    assert_eq!(said(&net, BOB, from, Method::Trust), 0);
}

#[test]
fn a_flight_of_a_key_that_still_signs_goes_out_though_the_keys_were_looked_at() {
    let mut net = unheard();
    adopt(&mut net, BOB, identity("agent-bob", "bob"));
    let from = net.now;
    net.run_for(10 * SECOND);
    assert!(said(&net, BOB, from, Method::Trust) > 1);
}

/// Two handshakes at once would cross, and end each other.
#[test]
fn who_waits_for_the_first_word_in_a_new_session_begins_no_other_for_a_message_of_its_own() {
    let mut net = unheard();
    let from = net.now;
    net.ask(BOB, ALICE);
    net.run_for(10 * SECOND);
    assert_eq!(said(&net, BOB, from, Method::Announce), 0);
    net.run_for(10 * SECOND);
    assert_ne!(
        said(&net, BOB, from, Method::Announce),
        0,
        "but not for ever"
    );
}

/// Nobody calls for nothing a peer that has not answered for as long as a session lasts; mail makes it try again.
#[test]
fn a_peer_that_was_away_for_longer_than_their_session_is_called_for_mail_and_not_otherwise() {
    for changes_keys in [false, true] {
        let mut net = talking();
        net.loss = 100;
        let quiet = if changes_keys {
            adopt(&mut net, ALICE, next_of("agent-alice", "alice"));
            38 * DAY
        } else {
            31 * DAY
        };
        net.run_until(quiet);
        net.run_for(DAY);
        assert_eq!(said(&net, ALICE, quiet, Method::Announce), 0);
        let mail = net.send(ALICE, BOB, word());
        net.run_for(HOUR);
        net.loss = 0;
        net.run_for(7 * HOUR);
        assert_eq!(state(&net, ALICE, mail), State::Received, "{changes_keys}");
    }
}

#[test]
fn a_call_continues_the_one_that_its_agent_names_and_no_namesake_of_somebody_else() {
    let mut net = talking();
    let asked = net.ask(BOB, ALICE);
    net.run_for(SECOND);
    let going_on_from = |peer: &str| Content {
        continues: Some(Continues {
            from: Some(peer.parse().unwrap()),
            message: asked,
        }),
        ..Content::default()
    };
    let said = try_send(&mut net, ALICE, BOB, going_on_from("agent-bob")).unwrap();
    let sent = net
        .sent
        .iter()
        .map(|(_, _, bytes)| message_of(bytes).headers);
    let mut sent = sent.filter(|headers| headers.message_id == said);
    assert_eq!(sent.next().unwrap().hops, 2);
    drop(sent);
    let error = try_send(&mut net, ALICE, BOB, going_on_from("agent-carol")).unwrap_err();
    assert_eq!(error, LocalError::NotRemembered(asked));
}

/// Bob's receipt that went out last, after a word of Alice's.
fn receipted(order: &[CarrierId]) -> (Pair, MessageId) {
    let mut pair = Pair::new(order);
    pair.tell(Duration::from_secs(24 * 3600));
    pair.run_for(SECOND);
    let receipt = pair.sent.iter().rev().find(|(by, (_, _, bytes))| {
        *by == BOB && message_of(bytes).form.method() == Some(Method::Receipt)
    });
    let receipt = message_of(&receipt.unwrap().1.2).headers.message_id;
    (pair, receipt)
}

/// How many receipts Bob sends in the next minute.
fn more_receipts(pair: &mut Pair) -> usize {
    let from = pair.sent.len();
    pair.run_for(MINUTE);
    pair.receipts(BOB, from).len()
}

#[test]
fn what_a_carrier_says_of_another_message_says_nothing_of_our_last_receipt() {
    let (mut pair, receipt) = receipted(&[post()]);
    let (alice, other) = (pair.agents[ALICE].id(), name(1));
    let node = &mut pair.agents[BOB].node;
    node.handle_unconfirmed(&post(), &alice, other);
    assert_eq!(more_receipts(&mut pair), 0);
    let at = pair.at();
    let node = &mut pair.agents[BOB].node;
    node.handle_unconfirmed(&post(), &alice, receipt);
    node.turn(at).carriers().stored(&post(), &alice, other);
    assert!(more_receipts(&mut pair) > 0, "it was not handed on");
}

#[test]
fn where_there_is_another_carrier_too_nats_still_refuses_no_receipt() {
    let (mut pair, receipt) = receipted(&[NATS, post()]);
    let alice = pair.agents[ALICE].id();
    let node = &mut pair.agents[BOB].node;
    node.handle_unconfirmed(&NATS, &alice, receipt);
    assert_eq!(more_receipts(&mut pair), 0);
}

/// Alice's key stays the same, and the certificate that Bob knows for it has ended: he would refuse what it signs.
#[test]
fn what_comes_after_a_certificates_end_is_receipted_once_the_peer_has_the_next() {
    let make = || {
        let identity = identity_with("agent-alice", "alice", 1, |request| {
            request.not_after = at(MINUTE).now;
        });
        (identity, Policy::default())
    };
    let (mut alice, mut bob) = (Agent::with(make), Agent::new("agent-bob", "bob"));
    alice.knows(&bob);
    bob.knows(&alice);
    let mut net = Net::new(vec![alice, bob], 1);
    net.ask(ALICE, BOB);
    net.run_until(MINUTE - SECOND);
    net.loss = 100;
    let sent = net.send(BOB, ALICE, word());
    net.run_until(MINUTE + SECOND);
    net.loss = 0;
    net.cut = Some((ALICE, BOB));
    let next = identity_with("agent-alice", "alice", 1, |request| request.serial = 2);
    adopt(&mut net, ALICE, next);
    let from = net.now;
    net.run_for(2 * MINUTE);
    assert_eq!(said(&net, ALICE, from, Method::Receipt), 0);
    net.cut = None;
    net.run_for(10 * MINUTE);
    assert_eq!(state(&net, BOB, sent), State::Received);
    assert_eq!(net.agents[BOB].refusals(), Vec::<&str>::new());
}

/// Bob has said to Alice who he is now, and does not know that she heard his last flight: without that she would refuse
/// what the certificate signs.
#[test]
fn what_comes_after_a_certificates_end_is_not_receipted_in_the_middle_of_a_handshake() {
    let make = || {
        let identity = identity_with("agent-bob", "bob", 1, |request| {
            request.not_after = at(MINUTE).now;
        });
        (identity, Policy::default())
    };
    let (mut alice, mut bob) = (Agent::new("agent-alice", "alice"), Agent::with(make));
    alice.knows(&bob);
    bob.knows(&alice);
    let mut net = Net::new(vec![alice, bob], 1);
    net.ask(ALICE, BOB);
    net.run_until(MINUTE - SECOND);
    net.loss = 100;
    let sent = net.send(ALICE, BOB, word());
    net.run_until(MINUTE + SECOND);
    let from = net.now;
    net.ask(ALICE, BOB);
    assert_eq!(said(&net, ALICE, from, Method::Announce), 1);
    net.loss = 0;
    let next = identity_with("agent-bob", "bob", 1, |request| request.serial = 2);
    adopt(&mut net, BOB, next);
    while said(&net, ALICE, from, Method::Capability) == 0 {
        net.run_for(1);
        assert!(net.now < 2 * MINUTE, "no flight 3");
    }
    net.cut = Some((BOB, ALICE));
    net.run_for(MINUTE);
    assert_ne!(said(&net, BOB, from, Method::Trust), 0);
    assert_eq!(times_taken(&net.agents[BOB], sent), 1);
    assert_eq!(said(&net, BOB, from, Method::Receipt), 0);
    net.cut = None;
    net.run_for(10 * MINUTE);
    assert_eq!(state(&net, ALICE, sent), State::Received);
}

/// The net gives up where an agent is due at one moment again and again.
#[test]
fn a_receipt_that_a_carrier_refused_goes_out_again_at_the_very_moment_that_it_is_due() {
    let mut net = talking();
    let alice = net.agents[ALICE].id();
    let mut routes = Routes::default();
    let route = Route {
        carrier: post(),
        address: "post:agent-alice".into(),
    };
    routes.set(alice.clone(), vec![route]);
    net.agents[BOB].node.set_routes(routes);
    net.send(ALICE, BOB, word());
    net.run_for(SECOND);
    let sent = net.sent.iter().rev().filter(|(_, who, _)| *who == BOB);
    let mut sent = sent.map(|(_, _, bytes)| message_of(bytes));
    let receipt = sent.find(|message| message.form.method() == Some(Method::Receipt));
    let receipt = receipt.unwrap().headers.message_id;
    drop(sent);
    let from = net.now;
    let node = &mut net.agents[BOB].node;
    node.handle_unconfirmed(&post(), &alice, receipt);
    net.run_for(10 * SECOND);
    let again = net.sent.iter().filter(|(ms, who, bytes)| {
        *ms >= from && *who == BOB && message_of(bytes).headers.message_id == receipt
    });
    let again: Vec<_> = again.map(|(ms, _, _)| *ms - from).collect();
    assert_eq!(again, [SECOND]);
}

/// An alarm about a second copy of us counts sessions that nobody's decision explains.
#[test]
fn a_session_in_which_the_peer_grants_something_else_is_not_of_the_same_terms() {
    let net = talking();
    let bob = net.agents[BOB].id();
    let session = net.agents[ALICE]
        .node
        .peers()
        .session(&bob, net.at(ALICE).now);
    let session = session.unwrap();
    let mut other = session.clone();
    assert!(session.has_terms_of(&other));
    other
        .received
        .capabilities
        .push("calendar.read".parse().unwrap());
    assert!(!session.has_terms_of(&other));
}
