//! What peers were told of offers holds behind a start, for each in the words that it was told.

use std::cell::RefCell;
use std::rc::Rc;

use signet_proto::envelope::{Form, Method};
use signet_proto::headers::Tier;
use signet_proto::ids::Version;
use signet_proto::node::Program;
use signet_proto::policy::{Capability, Policy};

use crate::household::net::{Net, message_of};
use crate::household::sealing::introduce;
use crate::household::{Agent, identity_with};
use crate::lingering_offers::{change, lamps, told};
use crate::progress_and_offers::{
    ALICE, BOB, CAROL, PROGRAM, lamp, offer, offer_to, offered_to_alice, speaking, talking_with,
};

/// What programs of Bob's offer: names, and what is said of them.
fn offers(net: &Net) -> Vec<(String, String)> {
    let offers = net.agents[BOB].node.offers().capabilities();
    let mut offers: Vec<_> = offers
        .map(|one| {
            let words = one.description.clone().unwrap_or_default();
            (one.name.to_string(), words)
        })
        .collect();
    offers.sort();
    offers
}

#[test]
fn peers_that_were_told_different_things_of_one_name_are_told_nothing_new_by_a_start() {
    let mut net = talking_with(lamps());
    for (connection, to, words) in [(1, ALICE, "for Alice"), (2, CAROL, "for Carol")] {
        let program = Program {
            connection,
            ..PROGRAM
        };
        let worded = Capability {
            description: Some(words.into()),
            ..lamp(1)
        };
        let only = Some([net.agents[to].id()].into());
        offer_to(&mut net, BOB, (program, only), worded).unwrap();
    }
    net.run_for(2_000);
    let before = (told(&net), offers(&net));
    assert_eq!(before.1.len(), 2);
    net.restart(BOB);
    net.run_for(60_000);
    assert_eq!((told(&net), offers(&net)), before);
}

/// Bob, by whose own configuration lamps were switched when he met the others, and who lets programs offer that since.
fn with_lamps_given_to_programs() -> Net {
    let configured = Policy {
        capabilities: vec![lamp(1)],
        ..lamps()
    };
    let policy = Rc::new(RefCell::new(configured));
    let shared = Rc::clone(&policy);
    let bob = Agent::with(move || {
        let identity = identity_with("agent-bob", "bob", 1, |request| {
            request.versions = Version::SPOKEN.to_vec();
        });
        (identity, shared.borrow().clone())
    });
    let [alice, carol] = [("agent-alice", "alice"), ("agent-carol", "carol")]
        .map(|(agent, person)| speaking(agent, person, &Version::SPOKEN, Policy::default()));
    let mut agents = vec![alice, bob, carol];
    introduce(&mut agents);
    let mut net = Net::new(agents, 1);
    net.ask(ALICE, BOB);
    net.ask(CAROL, BOB);
    net.run_for(10_000);
    net.cut = Some((BOB, CAROL));
    *policy.borrow_mut() = lamps();
    change(&mut net, lamps());
    net.run_for(2_000);
    net
}

/// Carol's session settled the name itself: that she is told of other offers says nothing about this one.
#[test]
fn an_offer_is_not_over_for_a_later_word_to_a_peer_that_may_not_be_told_of_it() {
    let mut net = with_lamps_given_to_programs();
    offer(&mut net, BOB, PROGRAM, lamp(1)).unwrap();
    net.run_for(2_000);
    assert_eq!(offered_to_alice(&net), ["lamp.switch"]);
    let carol = net.agents[CAROL].id();
    let dimmer = Capability::new("lamp.dim".parse().unwrap(), Tier::Public);
    let to_carol = (PROGRAM, Some([carol.clone()].into()));
    offer_to(&mut net, BOB, to_carol, dimmer).unwrap();
    net.run_for(2_000);
    let last = net.sent.iter().rev().map(|(_, _, bytes)| message_of(bytes));
    let mut offered = last.filter(|message| message.form == Form::Call(Method::Offer));
    assert_eq!(offered.next().unwrap().headers.recipient_id, carol);
    drop(offered);
    net.restart(BOB);
    let names: Vec<_> = offers(&net).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["lamp.dim", "lamp.switch"]);
}
