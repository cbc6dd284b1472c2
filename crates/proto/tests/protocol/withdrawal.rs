//! A person takes back the trust in a peer: everything between the two ends, both ways, at once, and
//! nothing of it comes later.

use signet_proto::carrier::CarrierId;
use signet_proto::handoff::TaskState;
use signet_proto::node::{Lost, Sending, State};

use crate::household::net::{Net, message_of, times_taken};
use crate::household::people::{
    DAY, does, handed, remembered, revocation, same, states, works_when_cut_anywhere,
};
use crate::household::tasks::{ALICE, BOB, CAROL, accept, given, hand, handing, held, household};
use crate::household::{Agent, alice_and_bob, at, identity_with};

fn revoked() -> State {
    State::RefusedHere("peer-revoked".into())
}

/// Alice (0) and Bob (1) have talked: Bob's agent has taken what came.
fn talking() -> Net {
    let (alice, bob) = alice_and_bob();
    let mut net = Net::new(vec![alice, bob], 1);
    net.ask(0, 1);
    net.run_for(10_000);
    net
}

fn withdraws(net: &mut Net, who: usize, whom: usize) {
    let peer = net.agents[whom].id();
    does(net, who, |node, at| {
        node.turn(at).people().withdraw(&peer).unwrap()
    });
}

fn approves(net: &mut Net, who: usize, whom: usize) {
    let peer = net.agents[whom].id();
    does(net, who, |node, at| {
        node.turn(at).people().approve(&peer, None).unwrap()
    });
}

/// How many messages one handed to the network for the other from then on.
fn said(net: &Net, who: usize, whom: usize, from: i64) -> usize {
    let peer = net.agents[whom].id();
    let to_peer = |bytes: &[u8]| message_of(bytes).headers.recipient_id == peer;
    let sent = net
        .sent
        .iter()
        .filter(|(ms, sender, _)| *ms >= from && *sender == who);
    sent.filter(|(_, _, bytes)| to_peer(bytes)).count()
}

#[test]
fn everything_under_way_ends_and_what_waits_is_set_aside() {
    let mut net = talking();
    let receipted = net.ask(1, 0);
    net.run_for(5_000);
    net.cut = Some((1, 0));
    let lost = net.ask(1, 0);
    net.run_for(100);
    let waiting = net.agents[1].node.inbox().len();
    assert!(waiting > 0);
    withdraws(&mut net, 1, 0);
    for name in [receipted, lost] {
        assert_eq!(states(&net, 1, name).last(), Some(&revoked()));
    }
    let bob = &net.agents[1].node;
    assert_eq!(
        (bob.inbox().len(), bob.inbox().aside().count()),
        (0, waiting)
    );
    let standing = bob.standing(&net.agents[0].id(), net.at(1).now);
    assert_eq!(
        (standing.session, standing.drafts, standing.unconfirmed),
        (None, 0, 0)
    );
    remembered(&net);
}

#[test]
fn a_revoked_peers_messages_end_and_it_hears_nothing() {
    let mut net = talking();
    net.cut = Some((1, 0));
    let waiting = net.ask(1, 0);
    let from = net.now + 1;
    let said_so = revocation("alice", "agent-alice", 1);
    does(&mut net, 1, |node, at| {
        node.turn(at).people().revoke(&said_so).unwrap()
    });
    net.cut = None;
    assert_eq!(states(&net, 1, waiting), [revoked()]);
    net.run_for(DAY);
    assert_eq!(said(&net, 1, 0, from), 0);
    assert_eq!(net.agents[1].node.inbox().aside().count(), 1);
    remembered(&net);
}

#[test]
fn a_withdrawn_peers_drafts_end_and_new_ones_are_not_taken() {
    let (mut alice, mut bob) = alice_and_bob();
    let sending = Sending::Ping;
    let sent = bob
        .node
        .turn(at(0))
        .sent()
        .send(&alice.id(), sending.clone())
        .unwrap();
    bob.keep(at(0), sent.outcome);
    let outcome = bob.node.turn(at(1)).people().withdraw(&alice.id()).unwrap();
    let effects = bob.keep(at(1), outcome);
    let settled = |effect: &signet_proto::node::Effect| {
        matches!(effect, signet_proto::node::Effect::Settle { message_id, state, .. }
            if *message_id == sent.id && *state == revoked())
    };
    assert!(effects.iter().any(settled), "{effects:?}");
    let error = bob
        .node
        .turn(at(2))
        .sent()
        .send(&alice.id(), sending)
        .unwrap_err();
    assert_eq!(error.name(), "peer-revoked");
    same(&bob.node, &bob.retold(), at(2));
    alice.tick(at(3));
}

#[test]
fn a_withdrawn_peer_hears_nothing_and_is_not_heard() {
    let mut net = talking();
    withdraws(&mut net, 1, 0);
    let from = net.now;
    let asked = net.ask(0, 1);
    net.run_for(1_000);
    assert_eq!(net.agents[1].refusals().last(), Some(&"trust-withdrawn"));
    net.run_for(2 * DAY);
    net.restart(1);
    net.run_for(DAY);
    let at = net.at(1);
    let outcome = net.agents[1]
        .node
        .turn(at)
        .carriers()
        .connected(&CarrierId::NATS);
    let effects = net.agents[1].keep(at, outcome);
    net.perform(1, effects);
    let newer = identity_with("agent-bob", "bob", 2, |_| {});
    does(&mut net, 1, |node, at| node.turn(at).me().adopt(newer));
    net.run_for(DAY);
    assert_eq!(
        said(&net, 1, 0, from),
        0,
        "no receipt, no flight, no announce of a new key"
    );
    assert_eq!(times_taken(&net.agents[1], asked), 0);
    assert_eq!(states(&net, 0, asked), [State::Expired]);
}

#[test]
fn what_was_owed_is_not_receipted_after_the_withdrawal() {
    let mut net = talking();
    net.ask(0, 1);
    net.run_for(2);
    let from = net.now;
    withdraws(&mut net, 1, 0);
    net.run_for(60_000);
    assert_eq!(said(&net, 1, 0, from), 0);
}

/// Alice kept sending; Bob's person changed their mind: what was said meanwhile does not come in by
/// the old session, and Alice hears that it did not.
#[test]
fn what_a_peer_sent_while_it_was_withdrawn_is_not_delivered_when_it_is_trusted_again() {
    let mut net = talking();
    withdraws(&mut net, 1, 0);
    let meanwhile = net.ask(0, 1);
    net.run_for(3_600_000);
    approves(&mut net, 1, 0);
    net.run_for(3_600_000);
    assert_eq!(times_taken(&net.agents[1], meanwhile), 0);
    assert_eq!(
        states(&net, 0, meanwhile),
        [State::Unknown(Lost::SessionLost)]
    );
    for (from, to) in [(0, 1), (1, 0)] {
        let asked = net.ask(from, to);
        net.run_for(5_000);
        assert_eq!(times_taken(&net.agents[to], asked), 1);
    }
    assert_eq!(
        handed(&net, 1).len(),
        2,
        "the first one, and the one after the approval"
    );
    remembered(&net);
}

#[test]
fn a_person_may_change_their_mind_as_often_as_they_like() {
    let mut net = talking();
    for _ in 0..5 {
        withdraws(&mut net, 1, 0);
        net.run_for(60_000);
        approves(&mut net, 1, 0);
        net.run_for(60_000);
        let asked = net.ask(0, 1);
        net.run_for(5_000);
        assert_eq!(times_taken(&net.agents[1], asked), 1);
        remembered(&net);
    }
}

#[test]
fn two_who_withdrew_each_other_talk_again_when_both_approve() {
    let mut net = talking();
    withdraws(&mut net, 0, 1);
    withdraws(&mut net, 1, 0);
    net.run_for(DAY);
    approves(&mut net, 0, 1);
    net.run_for(DAY);
    approves(&mut net, 1, 0);
    net.run_for(60_000);
    let asked = net.ask(1, 0);
    net.run_for(5_000);
    assert_eq!(times_taken(&net.agents[0], asked), 1);
    remembered(&net);
}

#[test]
fn whom_nobody_trusts_cannot_be_withdrawn() {
    let mut bob = Agent::new("agent-bob", "bob");
    let stranger = "agent-stranger".parse().unwrap();
    let error = bob
        .node
        .turn(at(0))
        .people()
        .withdraw(&stranger)
        .unwrap_err();
    assert_eq!(error.name(), "peer-unknown");
    let mut net = talking();
    withdraws(&mut net, 1, 0);
    let (at, alice) = (net.at(1), net.agents[0].id());
    let again = net.agents[1].node.turn(at).people().withdraw(&alice);
    assert_eq!(again.unwrap_err().name(), "peer-unknown");
}

/// Carol gave Bob a task, and Bob gave Alice one; Bob's person takes back the trust in both.
#[test]
fn open_tasks_of_a_withdrawn_or_revoked_peer_end_at_once() {
    for revoke in [false, true] {
        let mut net = household();
        let from_carol = hand(&mut net, CAROL, BOB, handing("Find an evening"));
        accept(&mut net, BOB, from_carol);
        let to_alice = hand(&mut net, BOB, ALICE, handing("Ask them"));
        let other = hand(&mut net, BOB, 3, handing("Something else"));
        for (who, name) in [(ALICE, "alice"), (CAROL, "carol")] {
            if revoke {
                let said = revocation(name, &format!("agent-{name}"), 1);
                does(&mut net, BOB, |node, at| {
                    node.turn(at).people().revoke(&said).unwrap()
                });
            } else {
                withdraws(&mut net, BOB, who);
            }
        }
        assert_eq!(held(&net, BOB, from_carol), TaskState::Expired);
        assert_eq!(given(&net, BOB, to_alice), TaskState::Expired);
        let tasks = net.agents[BOB].node.tasks();
        let why = tasks.held(from_carol).unwrap().reason.as_deref();
        assert_eq!(why, Some("peer-revoked"));
        assert_eq!(given(&net, BOB, other), TaskState::Offered, "Dave's stands");
        let (at, node) = (net.at(BOB), &mut net.agents[BOB].node);
        let error = node
            .turn(at)
            .tasks()
            .decline(from_carol, "no".into())
            .unwrap_err();
        assert_eq!(error.name(), "task-unknown");
        remembered(&net);
        net.restart(BOB);
        assert_eq!(held(&net, BOB, from_carol), TaskState::Expired);
    }
}

#[test]
fn a_log_with_withdrawals_cut_anywhere_leaves_an_agent_that_works() {
    works_when_cut_anywhere(|| {
        let mut net = talking();
        withdraws(&mut net, 1, 0);
        net.ask(0, 1);
        net.run_for(60_000);
        approves(&mut net, 1, 0);
        net.run_for(60_000);
        net.ask(0, 1);
        net.run_for(5_000);
        net
    });
}

/// The person reads the newest thousand; of the others it is known all the same that they are not the agent's.
#[test]
fn more_than_a_thousand_messages_that_are_set_aside_are_all_known_to_be() {
    let mut net = talking();
    let names: Vec<_> = (0..1_030).map(|_| net.ask(0, 1)).collect();
    net.run_for(60_000);
    assert!(net.agents[1].node.inbox().len() > 1_030);
    withdraws(&mut net, 1, 0);
    let inbox = net.agents[1].node.inbox();
    assert_eq!((inbox.aside().count(), inbox.gone().count()), (1_000, 31));
    let all: std::collections::BTreeSet<_> =
        inbox.all_aside().map(|gone| gone.message_id).collect();
    assert!(names.iter().all(|name| all.contains(name)));
    let agent = &net.agents[1];
    for again in [agent.retold(), agent.restored(agent.log.len())] {
        assert_eq!(again.inbox().all_aside().count(), 1_031);
        assert_eq!(again.inbox().aside().count(), 1_000);
    }
}
