//! The end of our own log is lost: nothing of the sessions before it is believed any more, and clocks are judged only by
//! what did not wait for us.

use signet_proto::carrier::CarrierId;
use signet_proto::entry::{Entry, LossLine};
use signet_proto::envelope::Method;
use signet_proto::ids::Digest;
use signet_proto::node::{Content, Lost, Notice, Sending, State};

use crate::household::forger::call;
use crate::household::net::message_of;
use crate::household::people::{acquainted, announce, notices};
use crate::household::{Agent, at, identity};

const ALICE: usize = 0;
const BOB: usize = 1;

/// A copy of a message that was taken behind the loss would be taken again.
#[test]
fn behind_a_lost_end_no_session_is_heard_and_whoever_had_one_is_met_anew() {
    let mut net = acquainted(&[
        ("agent-alice", "alice"),
        ("agent-bob", "bob"),
        ("agent-carol", "carol"),
    ]);
    net.ask(ALICE, BOB);
    net.run_for(10_000);
    let old = call(&net, Method::Notification, 7, |_, _| {});
    net.cut = Some((BOB, ALICE));
    let open = net.send(ALICE, BOB, Sending::Notification(Content::default()));
    net.run_for(1_000);
    let (now, from) = (net.at(ALICE).now, net.sent.len());
    let line = LossLine {
        line: net.agents[ALICE].log.len() as u64 + 1,
        hash: Digest([3; 32]),
    };
    net.agents[ALICE].log.push((now, Entry::Loss(line)));
    net.restart(ALICE);
    net.run_for(500);
    let bob = net.agents[BOB].id();
    let announced = net.sent[from..].iter().filter(|(_, who, _)| *who == ALICE);
    let announced = announced.map(|(_, _, bytes)| message_of(bytes));
    let told: Vec<_> = announced
        .filter(|message| message.form.method() == Some(Method::Announce))
        .map(|message| message.headers.recipient_id)
        .collect();
    assert_eq!(
        told,
        std::slice::from_ref(&bob),
        "with Carol there was no session"
    );
    let now = net.at(ALICE);
    let alice = &mut net.agents[ALICE];
    let state = alice.node.sent().status(open).unwrap().state;
    assert_eq!(state, State::Unknown(Lost::SessionLost));
    assert_eq!(alice.node.standing(&bob, now.now).session, None);
    alice.hear(now, &old);
    assert_eq!(alice.refusals().last(), Some(&"session-unknown"));
}

/// Of flights that waited in a mailbox nothing says when they were sent.
#[test]
fn three_late_flights_in_a_row_tell_of_a_wrong_clock_unless_they_waited_for_us() {
    for drained in [true, false] {
        let mut alice = Agent::new("agent-alice", "alice");
        alice.knows(&Agent::new("agent-bob", "bob"));
        let nats = CarrierId::NATS;
        alice.node.handle_disconnected(&nats, at(0).elapsed);
        let outcome = alice.node.turn(at(0)).carriers().connected(&nats);
        alice.keep(at(0), outcome);
        if drained {
            let outcome = alice.node.turn(at(0)).carriers().drained(&nats);
            alice.keep(at(0), outcome);
        }
        let mut told = Vec::new();
        for ms in [1_000, 2_000, 3_000] {
            let flight = announce(|| identity("agent-bob", "bob"), &alice, ms);
            let effects = alice.hear(at(ms + 100_000), &flight);
            let is_clock = |notice: &&Notice| matches!(notice, Notice::Clock { .. });
            told.push(
                notices(&effects)
                    .into_iter()
                    .any(|notice| is_clock(&notice)),
            );
        }
        assert_eq!(told, [false, false, drained]);
    }
}
