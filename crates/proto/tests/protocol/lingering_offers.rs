//! An offer outlives its program for a while, and a start: what peers send meanwhile waits for the program. And
//! what that must not become.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use crate::household::net::{Net, message_of};
use crate::household::people::DAY;
use crate::household::{Agent, identity_with};
use crate::progress_and_offers::{
    ALICE, BOB, CAROL, PROGRAM, ask_for, lamp, offer, offer_end, offered_to_alice, talking_with,
};
use serde_json::json;
use signet_proto::certificate::CertificateRequest;
use signet_proto::envelope::{Form, Method};
use signet_proto::headers::Tier;
use signet_proto::ids::{MessageId, Version};
use signet_proto::node::{LocalError, OfferFault, Program, State};
use signet_proto::policy::{BodySchema, Capability, Policy};

const LINGER: i64 = 300_000;

pub(crate) fn lamps() -> Policy {
    Policy {
        offerable: vec!["lamp.*".parse().unwrap()],
        offer_linger: Duration::from_millis(LINGER.unsigned_abs()),
        ..Policy::default()
    }
}

/// Bob's program switches lamps, if it is told which way, and Alice knows.
fn with_a_lamp() -> Net {
    let mut net = talking_with(lamps());
    offer(&mut net, BOB, PROGRAM, particular_lamp()).unwrap();
    net.run_for(2_000);
    assert_eq!(offered_to_alice(&net), ["lamp.switch"]);
    net
}

fn particular_lamp() -> Capability {
    let mut switch = lamp(1);
    switch.schema = Some(BodySchema::compile(br#"{"required": ["on"]}"#).unwrap());
    switch
}

fn ask(net: &mut Net) -> Result<MessageId, LocalError> {
    ask_for(net, "lamp.switch", json!({"on": true}))
}

fn state(net: &Net, request: MessageId) -> State {
    net.agents[ALICE].node.sent().status(request).unwrap().state
}

/// How often Bob told anybody of offers.
pub(crate) fn told(net: &Net) -> usize {
    let from_bob = net.sent.iter().filter(|(_, from, _)| *from == BOB);
    let offers =
        from_bob.filter(|(_, _, bytes)| message_of(bytes).form == Form::Call(Method::Offer));
    offers.count()
}

/// How much of what waits at Bob is for the lamp.
fn waiting(net: &Net) -> usize {
    let items = net.agents[BOB].node.inbox().after(0);
    let for_it = items.filter(|item| item.message.headers.capability.is_some());
    for_it.count()
}

pub(crate) fn change(net: &mut Net, policy: Policy) {
    let at = net.at(BOB);
    let (outcome, _) = net.agents[BOB].node.turn(at).me().change_policy(policy);
    let effects = net.agents[BOB].keep(at, outcome);
    net.perform(BOB, effects);
}

#[test]
fn a_request_waits_for_a_program_that_is_away_for_a_moment() {
    let mut net = with_a_lamp();
    let before = told(&net);
    offer_end(&mut net, BOB, PROGRAM.connection);
    net.run_for(LINGER - 10_000);
    let request = ask(&mut net).unwrap();
    net.run_for(1_000);
    assert_eq!(state(&net, request), State::Received);
    assert_eq!(waiting(&net), 1);
    let again = Program {
        connection: 2,
        ..PROGRAM
    };
    offer(&mut net, BOB, again, particular_lamp()).unwrap();
    net.run_for(2 * LINGER);
    assert_eq!(offered_to_alice(&net), ["lamp.switch"]);
    assert_eq!(told(&net), before, "nobody had to hear of it");
}

#[test]
fn an_offer_ends_when_its_program_stays_away() {
    let mut net = with_a_lamp();
    offer_end(&mut net, BOB, PROGRAM.connection);
    net.run_for(LINGER + 2_000);
    assert_eq!(offered_to_alice(&net), Vec::<String>::new());
    assert_eq!(ask(&mut net).unwrap_err().name(), "capability-not-granted");
}

#[test]
fn what_waits_in_the_mailbox_is_taken_by_an_agent_that_is_back_before_its_program() {
    let mut net = with_a_lamp();
    let before = told(&net);
    let request = ask(&mut net).unwrap();
    let unfit = ask_for(&mut net, "lamp.switch", json!({"off": true})).unwrap();
    net.restart(BOB);
    assert_eq!(waiting(&net), 0, "the mailbox has it");
    net.run_for(60_000);
    assert_eq!(state(&net, request), State::Received);
    assert_eq!(
        state(&net, unfit),
        State::Refused("body-unfit".into()),
        "the schema was kept"
    );
    assert_eq!(waiting(&net), 1);
    offer(&mut net, BOB, PROGRAM, particular_lamp()).unwrap();
    net.run_for(60_000);
    assert_eq!(told(&net), before, "nobody had to hear of it");
    // Restart Bob again, and let the offer linger to its end before the next restart.
    let offers = |net: &Net| net.agents[BOB].node.offers().capabilities().count();
    net.restart(BOB);
    net.run_for(LINGER - 10_000);
    assert_eq!((offers(&net), told(&net)), (1, before), "it stands a while");
    net.run_for(12_000);
    assert_eq!(offered_to_alice(&net), Vec::<String>::new());
    assert!(told(&net) > before, "peers heard of its end");
    net.restart(BOB);
    net.run_for(2_000);
    assert_eq!(
        offers(&net),
        0,
        "a start brings back nothing that peers heard the end of"
    );
}

/// Bob and Alice as before, where Bob's person changes the policy while he is away.
fn with_a_lamp_under(policy: &Rc<RefCell<Policy>>) -> Net {
    let versions = |request: &mut CertificateRequest| request.versions = Version::SPOKEN.to_vec();
    let alice = Agent::with(move || {
        let identity = identity_with("agent-alice", "alice", 1, versions);
        (identity, Policy::default())
    });
    let shared = Rc::clone(policy);
    let bob = Agent::with(move || {
        let identity = identity_with("agent-bob", "bob", 1, versions);
        (identity, shared.borrow().clone())
    });
    let mut agents = vec![alice, bob];
    crate::household::sealing::introduce(&mut agents);
    let mut net = Net::new(agents, 1);
    net.ask(ALICE, BOB);
    net.run_for(10_000);
    offer(&mut net, BOB, PROGRAM, particular_lamp()).unwrap();
    net.run_for(2_000);
    assert_eq!(offered_to_alice(&net), ["lamp.switch"]);
    net
}

#[test]
fn a_start_brings_back_no_name_that_the_person_forbade_meanwhile() {
    let at_once = Policy {
        offer_linger: Duration::ZERO,
        ..lamps()
    };
    let settled = Policy {
        capabilities: vec![lamp(2)],
        ..lamps()
    };
    let forbidden = Policy {
        offerable: Vec::new(),
        ..lamps()
    };
    for changed in [at_once, settled, forbidden] {
        let policy = Rc::new(RefCell::new(lamps()));
        let mut net = with_a_lamp_under(&policy);
        *policy.borrow_mut() = changed;
        net.restart(BOB);
        assert_eq!(net.agents[BOB].node.offers().capabilities().count(), 0);
        net.run_for(10_000);
        assert!(net.agents.iter().all(|agent| agent.refusals().is_empty()));
    }
    let policy = Rc::new(RefCell::new(lamps()));
    let mut net = with_a_lamp_under(&policy);
    net.restart(BOB);
    assert_eq!(net.agents[BOB].node.offers().capabilities().count(), 1);
}

#[test]
fn a_peer_that_was_away_when_an_offer_ended_brings_it_back_at_no_start() {
    for withdrawn in [false, true] {
        let mut net = with_a_lamp();
        let carol = net.agents[CAROL].id();
        match withdrawn {
            true => {
                let at = net.at(BOB);
                let outcome = net.agents[BOB]
                    .node
                    .turn(at)
                    .people()
                    .withdraw(&carol)
                    .unwrap();
                let effects = net.agents[BOB].keep(at, outcome);
                net.perform(BOB, effects);
            }
            false => {
                net.cut = Some((CAROL, BOB));
                net.run_for(31 * DAY);
            }
        }
        let now = net.at(BOB).now;
        assert!(net.agents[BOB].node.peers().session(&carol, now).is_none());
        offer_end(&mut net, BOB, PROGRAM.connection);
        net.run_for(LINGER + 2_000);
        assert_eq!(offered_to_alice(&net), Vec::<String>::new());
        net.restart(BOB);
        assert_eq!(
            net.agents[BOB].node.offers().capabilities().count(),
            0,
            "{withdrawn}"
        );
    }
}

#[test]
fn a_shorter_linger_counts_for_what_has_gone_already() {
    let mut net = with_a_lamp();
    offer_end(&mut net, BOB, PROGRAM.connection);
    net.run_for(60_000);
    assert_eq!(offered_to_alice(&net), ["lamp.switch"]);
    let offer_linger = Duration::from_secs(30);
    change(
        &mut net,
        Policy {
            offer_linger,
            ..lamps()
        },
    );
    net.run_for(2_000);
    assert_eq!(offered_to_alice(&net), Vec::<String>::new());
}

#[test]
fn a_name_that_nobody_serves_may_be_taken_over_and_one_that_is_served_may_not() {
    let mut net = with_a_lamp();
    let stranger = Program {
        connection: 2,
        user: PROGRAM.user + 1,
    };
    let refused = offer(&mut net, BOB, stranger, lamp(1)).unwrap_err();
    assert!(matches!(
        refused,
        LocalError::OfferRefused(_, OfferFault::Held)
    ));
    offer_end(&mut net, BOB, PROGRAM.connection);
    offer(&mut net, BOB, stranger, lamp(1)).unwrap();
    let late = offer(&mut net, BOB, PROGRAM, lamp(1)).unwrap_err();
    assert!(matches!(
        late,
        LocalError::OfferRefused(_, OfferFault::Held)
    ));
}

#[test]
fn a_program_that_takes_over_what_another_left_is_told_of_in_its_own_words() {
    let mut net = with_a_lamp();
    offer_end(&mut net, BOB, PROGRAM.connection);
    let next = Program {
        connection: 2,
        ..PROGRAM
    };
    let worded = Capability {
        description: Some("Switches the new lamp".into()),
        ..particular_lamp()
    };
    offer(&mut net, BOB, next, worded).unwrap();
    net.run_for(2_000);
    let (bob, now) = (net.agents[BOB].id(), net.at(ALICE).now);
    let session = net.agents[ALICE].node.peers().session(&bob, now).unwrap();
    let told = session.offered[0].description.as_deref();
    assert_eq!(told, Some("Switches the new lamp"));
}

#[test]
fn a_program_that_offers_other_names_at_each_start_is_not_shut_out_by_those_it_left() {
    let mut net = talking_with(lamps());
    for connection in 1..=3 {
        let program = Program {
            connection,
            ..PROGRAM
        };
        for n in 0..40 {
            let name = format!("lamp.of-{connection}.n{n}").parse().unwrap();
            offer(&mut net, BOB, program, Capability::new(name, Tier::Public)).unwrap();
        }
        offer_end(&mut net, BOB, connection);
        net.run_for(2_000);
    }
    assert!(net.agents[BOB].node.offers().capabilities().count() <= 64);
    net.run_for(LINGER + 2_000);
    assert_eq!(net.agents[BOB].node.offers().capabilities().count(), 0);
    assert!(net.agents.iter().all(|agent| agent.refusals().is_empty()));
}

#[test]
fn of_offers_that_nobody_serves_the_one_that_went_first_makes_room() {
    let mut net = talking_with(lamps());
    for n in 0..64_u64 {
        let program = Program {
            connection: n,
            ..PROGRAM
        };
        // The names sort the other way round: the program that goes first has offered the last name, `lamp.n63`. So
        // dropping by name would be noticed.
        let name = format!("lamp.n{:02}", 63 - n).parse().unwrap();
        offer(&mut net, BOB, program, Capability::new(name, Tier::Public)).unwrap();
        offer_end(&mut net, BOB, n);
        net.run_for(100);
    }
    let other = Program {
        connection: 100,
        user: PROGRAM.user + 1,
    };
    offer(&mut net, BOB, other, lamp(1)).unwrap();
    let offered = net.agents[BOB].node.offers().capabilities();
    let names: Vec<_> = offered.map(|offered| offered.name.to_string()).collect();
    assert_eq!(names.len(), 64);
    assert!(!names.contains(&"lamp.n63".to_owned()) && names.contains(&"lamp.n00".to_owned()));
}
