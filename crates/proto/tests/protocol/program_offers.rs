//! Offers of programs at their edges: what counts twice and what does not, when an offer ends, and what leaves only with
//! our person's word.

use serde_json::json;
use signet_proto::envelope::Method;
use signet_proto::headers::Tier;
use signet_proto::ids::MessageId;
use signet_proto::node::{
    Content, Effect, LocalError, Notice, OfferFault, Program, Sending, TRIES,
};
use signet_proto::policy::{BodySchema, Capability, Policy};

use crate::household::net::Net;
use crate::household::people::does;
use crate::progress_and_offers::{
    ALICE, BOB, PROGRAM, lamp, offer, offer_end, offered_to_alice, talking_with,
};

/// Another program of the same user.
const SECOND: Program = Program {
    connection: 2,
    user: 1000,
};

fn lamps() -> Policy {
    Policy {
        offerable: vec!["lamp.*".parse().unwrap()],
        ..Policy::default()
    }
}

/// A lamp with that much said of it: two of the longest do not fit into one message.
fn told_with(words: char) -> Capability {
    Capability {
        description: Some(words.to_string().repeat(90 * 1024)),
        ..lamp(1)
    }
}

fn refused(net: &mut Net, program: Program, capability: Capability) -> Option<OfferFault> {
    match offer(net, BOB, program, capability) {
        Ok(()) => None,
        Err(LocalError::OfferRefused(_, why)) => Some(why),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn what_replaces_an_offer_or_says_the_same_takes_no_room_beside_it() {
    let mut net = talking_with(lamps());
    assert_eq!(refused(&mut net, PROGRAM, told_with('a')), None);
    assert_eq!(refused(&mut net, PROGRAM, told_with('b')), None);
    assert_eq!(refused(&mut net, SECOND, told_with('b')), None);
    let other = refused(&mut net, SECOND, told_with('c'));
    assert_eq!(other, Some(OfferFault::TooMuch));
}

#[test]
fn words_wait_for_nobody_so_where_a_person_approves_them_only_bare_names_are_offered() {
    let described = Capability {
        description: Some("Switches the lamp".into()),
        ..lamp(1)
    };
    let schema = json!({"type": "boolean"}).to_string();
    let shaped = Capability {
        schema: Some(BodySchema::compile(schema.as_bytes()).unwrap()),
        ..lamp(1)
    };
    for (approve, expected) in [
        (vec![Tier::Public], Some(OfferFault::Words)),
        (vec![Tier::Household, Tier::Restricted], None),
    ] {
        let mut net = talking_with(Policy { approve, ..lamps() });
        for worded in [&described, &shaped] {
            assert_eq!(refused(&mut net, PROGRAM, worded.clone()), expected);
        }
        assert_eq!(refused(&mut net, PROGRAM, lamp(1)), None);
    }
}

#[test]
fn a_program_that_goes_ends_nobody_elses_offer() {
    let mut net = talking_with(lamps());
    offer(&mut net, BOB, PROGRAM, lamp(1)).unwrap();
    net.run_for(2_000);
    offer_end(&mut net, BOB, 7);
    net.run_for(2_000);
    assert_eq!(offered_to_alice(&net), ["lamp.switch"]);
    offer_end(&mut net, BOB, PROGRAM.connection);
    net.run_for(2_000);
    assert!(offered_to_alice(&net).is_empty());
}

#[test]
fn an_offer_ends_when_the_person_allows_it_no_more_or_offers_it_otherwise() {
    let settled = Policy {
        capabilities: vec![lamp(2)],
        ..lamps()
    };
    for changed in [Policy::default(), settled] {
        let mut net = talking_with(lamps());
        offer(&mut net, BOB, PROGRAM, lamp(1)).unwrap();
        net.run_for(2_000);
        assert!(net.agents[BOB].node.offers().capabilities().count() == 1);
        does(&mut net, BOB, |node, at| {
            node.turn(at).me().change_policy(changed.clone()).0
        });
        assert!(net.agents[BOB].node.offers().capabilities().count() == 0);
    }
}

#[test]
fn what_the_person_offers_has_the_first_claim_to_the_room() {
    let mut net = talking_with(lamps());
    offer(&mut net, BOB, PROGRAM, told_with('a')).unwrap();
    let door = Capability {
        name: "door.open".parse().unwrap(),
        ..told_with('b')
    };
    let changed = Policy {
        capabilities: vec![door],
        ..lamps()
    };
    does(&mut net, BOB, |node, at| {
        node.turn(at).me().change_policy(changed).0
    });
    assert!(net.agents[BOB].node.offers().capabilities().count() == 0);
}

#[test]
fn a_request_is_for_the_only_capability_that_takes_its_tier() {
    let named = |name: &str, tier| Capability::new(name.parse().unwrap(), tier);
    let mut net = talking_with(Policy {
        capabilities: vec![
            named("lamp.switch", Tier::Public),
            named("safe.open", Tier::Household),
        ],
        ..Policy::default()
    });
    let (at, bob) = (net.at(ALICE), net.agents[BOB].id());
    let mut asks = |tier| {
        let content = Content {
            data_tier: Some(tier),
            finds_capability: true,
            ..Content::default()
        };
        let node = &mut net.agents[ALICE].node;
        let sent = node.turn(at).sent().send(&bob, Sending::Request(content))?;
        Ok::<MessageId, LocalError>(sent.id)
    };
    assert!(asks(Tier::Household).is_ok());
    assert!(matches!(
        asks(Tier::Public),
        Err(LocalError::CapabilityNeeded(..))
    ));
}

/// It wants no answer, so nobody hears of whoever has to look at it.
#[test]
fn a_notification_that_nobody_can_handle_tells_its_sender_nothing() {
    let mut net = talking_with(Policy::default());
    let name = net.send(ALICE, BOB, Sending::Notification(Content::default()));
    net.run_for(1_000);
    let (from, alice) = (net.now, net.agents[ALICE].id());
    let quarantined = |net: &Net| {
        let told = net.effects.iter().filter(|(_, effect)| match effect {
            Effect::Notice(notice) => matches!(**notice, Notice::Quarantined { .. }),
            _ => false,
        });
        told.count()
    };
    for _ in 0..TRIES {
        assert_eq!(quarantined(&net), 0);
        does(&mut net, BOB, |node, at| {
            let mut turn = node.turn(at);
            turn.inbox().start(&alice, name).unwrap().1
        });
        assert_eq!(quarantined(&net), 0);
        does(&mut net, BOB, |node, at| {
            let mut turn = node.turn(at);
            turn.inbox().fail(&alice, name, "no").unwrap().1
        });
    }
    assert_eq!(quarantined(&net), 1);
    net.run_for(10_000);
    assert_eq!(net.sent_since(from, Some(Method::Progress)), 0);
    assert_eq!(net.agents[BOB].node.inbox().quarantine().iter().count(), 1);
}
