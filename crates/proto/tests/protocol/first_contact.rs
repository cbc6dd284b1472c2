//! First contact: mail for somebody whom nobody introduced, and both persons' words before it goes.

use signet_proto::entry::TrustChange;
use signet_proto::envelope::Method;
use signet_proto::node::{Content, LocalError, Sending, State, WaitsFor};

use crate::household::net::{Net, times_taken};
use crate::household::people::{
    DAY, announce, changes, does, pending, remembered, states, works_when_cut_anywhere,
};
use crate::household::{Agent, at, identity, key};

/// Alice (0) and Bob (1), who have never heard of each other.
fn strangers() -> Net {
    let (alice, bob) = (
        Agent::new("agent-alice", "alice"),
        Agent::new("agent-bob", "bob"),
    );
    Net::new(vec![alice, bob], 1)
}

fn approves(net: &mut Net, who: usize, whom: usize) {
    let peer = net.agents[whom].id();
    does(net, who, |node, at| {
        node.turn(at).people().approve(&peer, None).unwrap()
    });
}

#[test]
fn mail_to_a_stranger_arrives_once_when_both_persons_have_approved() {
    for restarts in [false, true] {
        let mut net = strangers();
        let again = |net: &mut Net| {
            remembered(net);
            if restarts {
                net.restart(0);
                net.restart(1);
            }
            net.run_for(3_600_000);
        };
        let mail = [net.ask(0, 1), net.ask(0, 1)];
        let waiter = net.agents[0].node.sent().drafts().next().unwrap().waits_for;
        assert_eq!(waiter, WaitsFor::Introduction);
        net.run_for(10_000);
        assert_eq!(pending(&net.agents[1], net.now), ["agent-alice"]);
        assert_eq!(
            net.sent.iter().filter(|(_, who, _)| *who == 1).count(),
            0,
            "no answer"
        );
        again(&mut net);
        approves(&mut net, 1, 0);
        net.run_for(10_000);
        assert_eq!(pending(&net.agents[0], net.now), ["agent-bob"]);
        assert_eq!(
            times_taken(&net.agents[1], mail[0]),
            0,
            "one word is not enough"
        );
        again(&mut net);
        approves(&mut net, 0, 1);
        net.run_for(10_000);
        for name in mail {
            assert_eq!(times_taken(&net.agents[1], name), 1);
            assert_eq!(states(&net, 0, name), [State::Received]);
        }
        again(&mut net);
        for name in mail {
            assert_eq!(times_taken(&net.agents[1], name), 1);
        }
        let answer = net.ask(1, 0);
        net.run_for(10_000);
        assert_eq!(times_taken(&net.agents[0], answer), 1);
        for agent in &net.agents {
            assert_eq!(changes(agent), [TrustChange::Pending, TrustChange::Bound]);
        }
    }
}

#[test]
fn mail_to_whom_the_other_person_refused_says_that_it_expired() {
    for decides in [false, true] {
        let mut net = strangers();
        let mail = net.ask(0, 1);
        net.run_for(10_000);
        if decides {
            let alice = net.agents[0].id();
            does(&mut net, 1, |node, at| {
                node.turn(at).people().refuse(&alice, None).unwrap()
            });
        }
        net.run_for(3 * DAY);
        assert_eq!(states(&net, 0, mail), [State::Expired]);
        assert_eq!(net.agents[0].node.sent().drafts().count(), 0);
        assert_eq!(net.sent.iter().filter(|(_, who, _)| *who == 1).count(), 0);
        let quiet = net.now;
        net.run_for(3 * DAY);
        assert_eq!(
            net.sent_since(quiet, None),
            0,
            "nobody is announced to for nothing"
        );
        remembered(&net);
    }
}

#[test]
fn a_silent_stranger_is_tried_ever_more_rarely() {
    let mut net = strangers();
    net.cut = Some((0, 1));
    net.ask(0, 1);
    net.run_for(3 * DAY);
    let sent = net.sent_since(0, Some(Method::Announce));
    assert!((20..400).contains(&sent), "{sent}");
}

/// Each costs an announce every few hours, and memory.
#[test]
fn mail_waits_for_no_more_than_sixty_four_strangers() {
    let mut alice = Agent::new("agent-alice", "alice");
    let mail = || Sending::Notification(Content::default());
    let send = |alice: &mut Agent, name: &str, ms| {
        let sent = alice
            .node
            .turn(at(ms))
            .sent()
            .send(&name.parse().unwrap(), mail());
        sent.map(|sent| drop(alice.keep(at(ms), sent.outcome)))
    };
    for n in 0..64 {
        send(&mut alice, &format!("agent-{n}"), 0).unwrap();
    }
    let full = send(&mut alice, "agent-64", 0).unwrap_err();
    assert_eq!(full, LocalError::TooManyStrangers);
    send(&mut alice, "agent-0", 0).unwrap();
    let known = Agent::new("agent-known", "known");
    alice.knows(&known);
    send(&mut alice, "agent-known", 0).unwrap();
    alice.restart(at(1));
    assert_eq!(send(&mut alice, "agent-64", 1).unwrap_err(), full);
    alice.tick(at(3 * DAY));
    send(&mut alice, "agent-64", 3 * DAY).unwrap();
}

#[test]
fn nobody_pings_a_stranger_nor_writes_to_themselves() {
    let mut alice = Agent::new("agent-alice", "alice");
    let mail = Sending::Notification(Content::default());
    for (name, sending) in [("agent-stranger", Sending::Ping), ("agent-alice", mail)] {
        let sent = alice
            .node
            .turn(at(0))
            .sent()
            .send(&name.parse().unwrap(), sending);
        assert_eq!(sent.unwrap_err().name(), "peer-unknown");
    }
}

/// Mallory waits for Alice's mail under Bob's name: it goes to whom Alice's person approves.
#[test]
fn an_impostor_gets_no_mail_unless_the_person_takes_it_for_the_other() {
    let mut net = strangers();
    let mail = net.ask(0, 1);
    let impostor = announce(|| identity("agent-bob", "mallory"), &net.agents[0], 0);
    net.put(0, impostor, 1);
    net.run_for(10_000);
    assert_eq!(pending(&net.agents[0], net.now), ["agent-bob"]);
    approves(&mut net, 1, 0);
    net.run_for(10_000);
    assert_eq!(pending(&net.agents[0], net.now).len(), 2);
    let bob = net.agents[1].id();
    let error = net.agents[0]
        .node
        .turn(at(net.now))
        .people()
        .approve(&bob, None)
        .unwrap_err();
    assert_eq!(error, LocalError::StrangerAmbiguous(bob.clone()));
    let root = key("root of mallory").public().id();
    does(&mut net, 0, |node, at| {
        node.turn(at).people().refuse(&bob, Some(root)).unwrap()
    });
    approves(&mut net, 0, 1);
    net.run_for(60_000);
    assert_eq!(times_taken(&net.agents[1], mail), 1);
    remembered(&net);
}

#[test]
fn a_log_of_a_first_contact_cut_anywhere_leaves_an_agent_that_works() {
    works_when_cut_anywhere(|| {
        let mut net = strangers();
        net.ask(0, 1);
        net.run_for(10_000);
        approves(&mut net, 1, 0);
        net.run_for(10_000);
        approves(&mut net, 0, 1);
        net.run_for(10_000);
        net
    });
}
