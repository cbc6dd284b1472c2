//! A person changes what is offered and granted while the agent runs, and whoever is hit by that tries to make
//! use of the moment between.

use crate::household::allowed::{capability, content, failures, offering, try_send};
use crate::household::net::Net;
use crate::household::{Agent, identity_with};
use signet_proto::envelope::Method;
use signet_proto::headers::Tier;
use signet_proto::ids::{AgentId, Version};
use signet_proto::node::Program;
use signet_proto::policy::{Capability, Policy};

const ALICE: usize = 0;
const BOB: usize = 1;

/// Alice and Bob, who speak 1.1.0 and have met.
fn met(bobs: Policy) -> Net {
    let speaking = |name: &'static str, principal: &'static str, policy: Policy| {
        Agent::with(move || {
            let identity = identity_with(name, principal, 1, |request| {
                request.versions = Version::SPOKEN.to_vec();
            });
            (identity, policy.clone())
        })
    };
    let mut agents = vec![
        speaking("agent-alice", "alice", Policy::default()),
        speaking("agent-bob", "bob", bobs),
    ];
    crate::household::sealing::introduce(&mut agents);
    let mut net = Net::new(agents, 1);
    net.ask(ALICE, BOB);
    net.run_for(10_000);
    net
}

fn change(net: &mut Net, policy: Policy) -> Vec<AgentId> {
    let at = net.at(BOB);
    let (outcome, told) = net.agents[BOB].node.turn(at).me().change_policy(policy);
    let effects = net.agents[BOB].keep(at, outcome);
    net.perform(BOB, effects);
    told
}

fn offer(net: &mut Net, name: &str) {
    let at = net.at(BOB);
    let program = Program {
        connection: 1,
        user: 1000,
    };
    let offered = Capability::new(name.parse().unwrap(), Tier::Public);
    let outcome = net.agents[BOB]
        .node
        .turn(at)
        .offers()
        .offer(program, None, offered);
    let effects = net.agents[BOB].keep(at, outcome.unwrap());
    net.perform(BOB, effects);
}

/// What Alice knows of what Bob offers.
fn known(net: &Net) -> Vec<String> {
    let bob = net.agents[BOB].id();
    let session = net.agents[ALICE]
        .node
        .peers()
        .session(&bob, net.at(ALICE).now);
    let offered = session.unwrap().offered.iter();
    offered.map(|offer| offer.name.to_string()).collect()
}

fn door() -> Policy {
    offering(vec![capability("door.open", 1, None)])
}

#[test]
fn a_new_capability_reaches_the_peer_at_once_and_without_a_word_of_its_own() {
    let mut net = met(Policy::default());
    assert_eq!(known(&net), Vec::<String>::new());
    let told = change(&mut net, door());
    assert_eq!(told, [net.agents[ALICE].id()]);
    net.run_for(1_000);
    assert_eq!(known(&net), ["door.open"]);
    try_send(&mut net, ALICE, BOB, content(1, Some("door.open"))).unwrap();
    net.run_for(1_000);
    assert_eq!(failures(&net.agents[ALICE]), []);
    assert!(net.agents.iter().all(|agent| agent.refusals().is_empty()));
}

#[test]
fn the_same_policy_again_says_nothing_to_anybody() {
    let mut net = met(door());
    let before = net.now;
    assert!(change(&mut net, door()).is_empty());
    net.run_for(60_000);
    assert_eq!(net.sent_since(before, Some(Method::Announce)), 0);
}

/// Alice has the old grant, and uses it before the new one can have reached her.
#[test]
fn a_grant_that_was_taken_back_is_worth_nothing_in_the_old_session() {
    let mut net = met(door());
    assert_eq!(known(&net), ["door.open"]);
    net.cut = Some((BOB, ALICE));
    change(&mut net, Policy::default());
    try_send(&mut net, ALICE, BOB, content(1, Some("door.open"))).unwrap();
    net.run_for(1_000);
    let refused = net.agents[BOB].refusals();
    assert_eq!(refused, ["capability-not-granted"]);
}

#[test]
fn a_change_during_a_handshake_is_told_when_that_is_over() {
    for steps in 1..8 {
        let mut net = met(Policy::default());
        change(&mut net, door());
        // Change the policy again while the handshake that tells the first change is somewhere in its four flights.
        net.run_for(steps);
        change(&mut net, offering(vec![capability("gate.open", 1, None)]));
        net.run_for(10 * 60_000);
        assert_eq!(known(&net), ["gate.open"], "after {steps} ms");
    }
}

#[test]
fn a_peer_that_hears_nothing_of_a_change_hears_of_it_when_it_is_back() {
    let mut net = met(Policy::default());
    net.cut = Some((BOB, ALICE));
    change(&mut net, door());
    net.run_for(20 * 60_000);
    assert_eq!(known(&net), Vec::<String>::new());
    net.cut = None;
    net.run_for(7 * 3_600_000);
    assert_eq!(known(&net), ["door.open"]);
}

#[test]
fn what_a_program_offers_gives_way_to_the_configuration_and_no_peer_refuses_it() {
    let lamps = |capabilities| Policy {
        offerable: vec!["lamp.*".parse().unwrap()],
        ..offering(capabilities)
    };
    let mut net = met(lamps(Vec::new()));
    offer(&mut net, "lamp.on");
    offer(&mut net, "lamp.off");
    net.run_for(3_000);
    assert_eq!(known(&net), ["lamp.off", "lamp.on"]);
    change(&mut net, lamps(vec![capability("lamp.on", 2, None)]));
    net.run_for(10_000);
    assert_eq!(known(&net), ["lamp.on", "lamp.off"]);
    // This policy lets programs offer no name at all: their offers end.
    change(&mut net, Policy::default());
    net.run_for(10_000);
    assert_eq!(known(&net), Vec::<String>::new());
    assert!(net.agents.iter().all(|agent| agent.refusals().is_empty()));
}

/// The name was settled in the session that stands, so that an offer of it would be refused there.
#[test]
fn a_name_that_the_configuration_gives_up_is_offered_in_the_next_session_alone() {
    let allowing = |capabilities| Policy {
        offerable: vec!["door.*".parse().unwrap()],
        ..offering(capabilities)
    };
    let mut net = met(allowing(vec![capability("door.open", 1, None)]));
    change(&mut net, allowing(Vec::new()));
    offer(&mut net, "door.open");
    net.run_for(10_000);
    assert_eq!(known(&net), ["door.open"]);
    assert_eq!(net.agents[ALICE].refusals(), Vec::<&str>::new());
}

#[test]
fn the_state_knows_nothing_of_a_change_and_a_restart_reads_the_policy_anew() {
    let mut net = met(Policy::default());
    change(&mut net, door());
    net.run_for(5_000);
    assert_eq!(known(&net), ["door.open"]);
    // Bob starts with the policy with which his node was made, as a daemon starts with its file: the change is gone.
    net.restart(BOB);
    net.run_for(5_000);
    assert_eq!(known(&net), Vec::<String>::new());
}
