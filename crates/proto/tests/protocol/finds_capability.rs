//! The first request to a peer: what it is for once there is a session, and whether what it names is granted there.

use crate::household::net::{Net, message_of};
use crate::progress_and_offers::{ALICE, BOB, PROGRAM, lamp, offer, speaking};
use signet_proto::envelope::{Form, Method};
use signet_proto::headers::Tier;
use signet_proto::ids::{MessageId, Version};
use signet_proto::node::{Content, Sending, SentEnd, State};
use signet_proto::policy::{Capability, Policy};

/// Alice and Bob, who have not met; Bob has these capabilities in his configuration.
fn strangers(configured: &[&str]) -> Net {
    let policy = Policy {
        offerable: vec!["lamp.*".parse().unwrap()],
        capabilities: configured
            .iter()
            .map(|name| Capability::new(name.parse().unwrap(), Tier::Public))
            .collect(),
        ..Policy::default()
    };
    let mut agents = vec![
        speaking("agent-alice", "alice", &Version::SPOKEN, Policy::default()),
        speaking("agent-bob", "bob", &Version::SPOKEN, policy),
    ];
    crate::household::sealing::introduce(&mut agents);
    Net::new(agents, 1)
}

fn ask(net: &mut Net, finds_capability: bool) -> MessageId {
    let content = Content {
        finds_capability,
        ..Content::default()
    };
    net.send(ALICE, BOB, Sending::Request(content))
}

fn ask_for(net: &mut Net, capability: &str) -> MessageId {
    let content = Content {
        capability: capability.parse().ok(),
        ..Content::default()
    };
    net.send(ALICE, BOB, Sending::Request(content))
}

fn state(net: &Net, name: MessageId) -> State {
    net.agents[ALICE].node.sent().status(name).unwrap().state
}

/// For what Alice's request left; `None` where it did not leave.
fn left_for(net: &Net, name: MessageId) -> Option<Option<String>> {
    let sent = net.sent.iter().filter(|(_, who, _)| *who == ALICE);
    let mut sent = sent.map(|(_, _, bytes)| message_of(bytes));
    let request = sent.find(|message| {
        message.form == Form::Call(Method::Request) && message.headers.message_id == name
    })?;
    let capability = request.headers.capability.as_ref();
    Some(capability.map(|name| name.to_string()))
}

#[test]
fn the_first_request_to_a_peer_is_for_what_its_only_program_offers() {
    let mut net = strangers(&[]);
    offer(&mut net, BOB, PROGRAM, lamp(1)).unwrap();
    let (request, for_people) = (ask(&mut net, true), ask(&mut net, false));
    net.run_for(10_000);
    assert_eq!(left_for(&net, request), Some(Some("lamp.switch".into())));
    assert_eq!(left_for(&net, for_people), Some(None));
    assert_eq!(state(&net, request), State::Received);
    let now = net.at(ALICE).now;
    let lived = net.agents[ALICE].node.snapshot(now).rows();
    assert_eq!(net.agents[ALICE].retold().snapshot(now).rows(), lived);
}

#[test]
fn the_first_request_to_a_peer_is_for_the_only_capability_of_its_configuration() {
    let mut net = strangers(&["door.open"]);
    let request = ask(&mut net, true);
    net.run_for(10_000);
    assert_eq!(left_for(&net, request), Some(Some("door.open".into())));
}

#[test]
fn the_first_request_to_a_peer_that_offers_several_ends_and_says_so() {
    let mut net = strangers(&["door.open", "door.shut"]);
    let (request, next) = (ask(&mut net, true), ask(&mut net, false));
    net.run_for(10_000);
    assert_eq!(left_for(&net, request), None);
    assert_eq!(
        state(&net, request),
        State::RefusedHere("capability-needed".into())
    );
    assert_eq!(state(&net, next), State::Received, "it holds up no other");
    // The program that asked hears which capabilities the peer offers.
    let sent = net.agents[ALICE].node.sent();
    let Some(SentEnd::Settled { offers, .. }) = sent.end_of(request, true) else {
        panic!("nothing follows");
    };
    let offers = offers.unwrap_or_default();
    let names: Vec<_> = offers.iter().map(|name| name.as_str()).collect();
    assert_eq!(names, ["door.open", "door.shut"]);
}

#[test]
fn the_first_request_to_a_peer_that_offers_nothing_is_for_its_people() {
    let mut net = strangers(&[]);
    let request = ask(&mut net, true);
    net.run_for(10_000);
    assert_eq!(left_for(&net, request), Some(None));
    assert_eq!(state(&net, request), State::Received);
}

/// A peer hears of a program's offer only behind the handshake.
#[test]
fn the_first_request_for_a_capability_that_a_program_offers_is_not_refused() {
    let mut net = strangers(&[]);
    offer(&mut net, BOB, PROGRAM, lamp(1)).unwrap();
    let request = ask_for(&mut net, "lamp.switch");
    net.run_for(10_000);
    assert_eq!(left_for(&net, request), Some(Some("lamp.switch".into())));
    assert_eq!(state(&net, request), State::Received);
}

#[test]
fn the_first_request_for_a_capability_that_nobody_grants_ends_and_holds_up_no_other() {
    let mut net = strangers(&[]);
    let request = ask_for(&mut net, "door.open");
    let next = ask(&mut net, false);
    net.run_for(10_000);
    assert_eq!(left_for(&net, request), None);
    let refused = State::RefusedHere("capability-not-granted".into());
    assert_eq!(state(&net, request), refused);
    assert_eq!(state(&net, next), State::Received);
}

/// It would wait in vain: a session of version 1.0.0 knows no word of programs.
#[test]
fn the_first_request_to_a_peer_of_the_release_before_leaves_with_the_session() {
    let mut agents = vec![
        speaking("agent-alice", "alice", &Version::SPOKEN, Policy::default()),
        speaking("agent-bob", "bob", &[Version::CURRENT], Policy::default()),
    ];
    crate::household::sealing::introduce(&mut agents);
    let mut net = Net::new(agents, 1);
    let request = ask(&mut net, true);
    net.run_for(500);
    assert_eq!(left_for(&net, request), Some(None));
}
