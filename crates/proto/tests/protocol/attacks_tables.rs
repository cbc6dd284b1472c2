//! Tables of keys cost memory and time, so nobody outside may have one made, and no number of peers may have too many.

use std::sync::Arc;

use signet_proto::envelope::Method;
use signet_proto::keys::{KeyTables, Purpose, SigningKey, TableBudget};
use signet_proto::node::{Judged, OpenInput};
use signet_proto::trust::TrustView;
use zeroize::Zeroizing;

use crate::forge;
use crate::household::forger::{bob, call, talking};
use crate::household::net::Net;
use crate::household::people::announce;
use crate::household::{at, identity, identity_with, key};

/// Bytes of 64 tables and of the base point's.
const MOST: usize = (64 + 1) * 48 * 1024;

fn view(net: &Net) -> &TrustView {
    net.agents[0].node.trust()
}

/// How many tables Alice has, and has made.
fn tables(net: &Net) -> (usize, u64) {
    let tables = view(net).tables();
    (tables.held(), tables.made())
}

/// A table is made on a worker, so each input is judged as workers judge it.
fn judge(net: &Net, bytes: &[u8]) -> bool {
    !Judged::of(bytes, view(net)).is_strangers()
}

fn signing(n: u64) -> SigningKey {
    let mut seed = [7; 32];
    seed[..8].copy_from_slice(&n.to_be_bytes());
    SigningKey::from_seed(&Zeroizing::new(seed)).unwrap()
}

/// What a key signs, verified once by `tables`.
fn verified(tables: &KeyTables, key: &SigningKey, words: &[u8]) -> bool {
    let signature = key.sign(Purpose::Message, &[words]);
    tables.verify(key.public(), Purpose::Message, &[words], &signature)
}

#[test]
fn a_flood_of_claimed_keys_has_no_table_made() {
    let net = talking();
    let alice = &net.agents[0];
    let before = tables(&net);
    for n in 0..100 {
        let (agent, person) = (format!("agent-many-{n}"), format!("many-{n}"));
        let stranger = identity(&agent, &person);
        let flight = announce(move || identity(&agent, &person), alice, 0);
        let method = Method::Notification;
        let message = forge::message(&stranger, alice.id().as_str(), method, &format!("m{n}"), 0);
        let message = forge::sign(message, &stranger.signing);
        // Judge each input five times: a peer's key has a table after three signatures, and a stranger's must have
        // none.
        for _ in 0..5 {
            assert!(!judge(&net, &flight) && !judge(&net, &message));
        }
    }
    assert_eq!(tables(&net), before);
}

#[test]
fn a_peers_flights_under_ever_new_keys_have_no_table_made() {
    let net = talking();
    let before = tables(&net);
    for serial in 2..40 {
        // Bob's person certifies one key after the other, and each signs only an announce: the key of a flight has no
        // table made, however often it is judged.
        let newer = move || identity_with("agent-bob", "bob", serial, |_| {});
        let flight = announce(newer, &net.agents[0], 0);
        for _ in 0..5 {
            assert!(judge(&net, &flight), "it is Bob's");
        }
    }
    assert_eq!(tables(&net), before);
}

#[test]
fn forged_signatures_in_a_peers_name_have_no_table_made() {
    let net = talking();
    let before = tables(&net);
    assert_eq!(before, (0, 0));
    let eve = key("signing key 1 of agent-eve");
    for n in 1..=100 {
        let bytes = call(&net, Method::Notification, n, |_, _| {});
        let forged = forge::sign(forge::read(&bytes), &eve);
        assert!(!judge(&net, &forged));
    }
    assert_eq!(tables(&net), before);
    for n in 1..=3 {
        assert!(judge(&net, &call(&net, Method::Notification, n, |_, _| {})));
    }
    let after = tables(&net);
    assert_eq!(after, (1, 1), "Bob himself has one by now");
    let forged = call(&net, Method::Notification, 9, |_, _| {});
    assert!(!judge(&net, &forge::sign(forge::read(&forged), &eve)));
}

#[test]
fn a_key_gets_its_table_at_its_third_signature_and_not_for_forgeries_between() {
    let tables = KeyTables::new(TableBudget::STANDARD);
    let (alice, eve) = (signing(1), signing(2));
    for n in 0..3 {
        assert_eq!(
            (tables.made(), tables.bytes()),
            (0, 0),
            "before signature {n}"
        );
        let forged = eve.sign(Purpose::Message, &[b"words"]);
        for _ in 0..10 {
            assert!(!tables.verify(alice.public(), Purpose::Message, &[b"words"], &forged));
        }
        assert!(verified(&tables, &alice, b"words"));
    }
    assert_eq!((tables.made(), tables.held()), (1, 1));
    assert_eq!(tables.bytes(), 2 * 48 * 1024);
    let forged = eve.sign(Purpose::Message, &[b"words"]);
    assert!(!tables.verify(alice.public(), Purpose::Message, &[b"words"], &forged));
    assert!(verified(&tables, &alice, b"words"));
}

#[test]
fn the_thread_that_owns_the_state_makes_no_table() {
    let tables = KeyTables::new(TableBudget::STANDARD);
    let alice = signing(1);
    let signature = alice.sign(Purpose::Message, &[b"words"]);
    let at_hand =
        || tables.verify_at_hand(alice.public(), Purpose::Message, &[b"words"], &signature);
    for _ in 0..10 {
        assert!(at_hand());
    }
    assert_eq!(tables.made(), 0);
    for _ in 0..3 {
        assert!(verified(&tables, &alice, b"words"));
    }
    assert!(at_hand(), "by the table that a worker made");
    assert_eq!(tables.made(), 1);
}

#[test]
fn what_the_node_proves_again_has_no_table_made() {
    let mut net = talking();
    let before = tables(&net);
    let alice = &mut net.agents[0];
    for n in 0..3 {
        // A worker judges the message by an older trust store, before Bob's certificate is renewed. So the node
        // verifies the message again by itself, and makes no table for that.
        let off = Arc::new(KeyTables::new(TableBudget::OFF));
        let older = alice.node.trust().with_tables(off);
        let name = format!("again-{n}");
        let message = forge::message(&bob(), "agent-alice", Method::Notification, &name, 0);
        let judged = Judged::of(&forge::sign(message, &bob().signing), &older);
        assert!(!judged.is_strangers());
        let renewed = identity_with("agent-bob", "bob", 2 + n, |_| {});
        let people = alice.node.turn(at(0)).people().bind(&renewed.certificate);
        alice.keep(at(0), people.unwrap());
        let outcome = alice.node.turn(at(0)).handle_inbound(judged);
        alice.keep(at(0), outcome);
    }
    assert_eq!(tables(&net), before);
}

#[test]
fn a_forgery_among_a_peers_messages_changes_no_verdict_but_its_own() {
    let net = talking();
    let signed = |n: u32, key: &SigningKey| {
        let message = forge::message(
            &bob(),
            "agent-alice",
            Method::Notification,
            &format!("c{n}"),
            0,
        );
        forge::sign(message, key)
    };
    let mut chunk: Vec<Vec<u8>> = (0..12).map(|n| signed(n, &bob().signing)).collect();
    // A signature of another message, one by another key, and bytes that are no message.
    let honest = |n| String::from_utf8(signed(n, &bob().signing)).unwrap();
    let signature = |text: &str| text.split_once("\"signature\":\"").unwrap().1[..86].to_owned();
    let (first, second) = (honest(20), honest(21));
    let swapped = first.replace(&signature(&first), &signature(&second));
    assert_ne!(swapped, first);
    for (place, forged) in [
        (0, swapped.clone().into_bytes()),
        (4, signed(22, &signing(1))),
        (5, b"{}".to_vec()),
        (9, swapped.into_bytes()),
        (16, signed(23, &signing(2))),
    ] {
        chunk.insert(place, forged);
    }
    for budget in [
        TableBudget::AT_ONCE,
        TableBudget::STANDARD,
        TableBudget::OFF,
    ] {
        let view = || view(&net).with_tables(Arc::new(KeyTables::new(budget)));
        let together = view();
        let begun = chunk.iter().map(|bytes| OpenInput::of(bytes, &together));
        let together = OpenInput::settle(begun.collect(), &together);
        let alone = view();
        let alone: Vec<Judged> = chunk
            .iter()
            .map(|bytes| Judged::of(bytes, &alone))
            .collect();
        assert_eq!(format!("{together:?}"), format!("{alone:?}"));
        let strangers = together.iter().map(Judged::is_strangers);
        let strangers: Vec<usize> = strangers
            .enumerate()
            .filter(|(_, is)| *is)
            .map(|(n, _)| n)
            .collect();
        assert_eq!(strangers, [0, 4, 5, 9, 16]);
    }
}

#[test]
fn ten_thousand_peers_stay_within_the_budget() {
    let tables = KeyTables::new(TableBudget::STANDARD);
    let mut verifications = 0;
    for n in 0..10_000 {
        // Each peer signs four times, which is enough for a table, and is not heard of again.
        for _ in 0..4 {
            assert!(verified(&tables, &signing(n), b"words"));
            verifications += 1;
        }
        assert!(tables.held() <= 64 && tables.bytes() <= MOST);
    }
    assert_eq!((tables.held(), tables.bytes()), (64, MOST));
    assert!(
        tables.made() <= 64 + verifications / 64,
        "{}",
        tables.made()
    );
}

#[test]
fn sixty_five_peers_in_turn_do_not_have_tables_made_over_and_over() {
    let tables = KeyTables::new(TableBudget::STANDARD);
    let keys: Vec<SigningKey> = (0..65).map(signing).collect();
    for _ in 0..20 {
        for key in &keys {
            assert!(verified(&tables, key, b"words"));
        }
    }
    assert_eq!(tables.made(), 64);
}

#[test]
fn the_table_that_nobody_used_longest_makes_room() {
    let budget = TableBudget { tables: 2, uses: 3 };
    let tables = KeyTables::new(budget);
    let (old, busy, new) = (signing(1), signing(2), signing(3));
    for key in [&old, &busy] {
        (0..3).for_each(|_| assert!(verified(&tables, key, b"words")));
    }
    let signature = busy.sign(Purpose::Message, &[b"words"]);
    for _ in 0..4_096 {
        assert!(tables.verify(busy.public(), Purpose::Message, &[b"words"], &signature));
    }
    assert_eq!((tables.held(), tables.made()), (2, 2));
    (0..3).for_each(|_| assert!(verified(&tables, &new, b"words")));
    assert_eq!(
        (tables.held(), tables.made()),
        (2, 3),
        "in place of the old one"
    );
    (0..10).for_each(|_| assert!(verified(&tables, &busy, b"words")));
    assert_eq!(tables.made(), 3, "the busy one has kept its own");
    (0..10).for_each(|_| assert!(verified(&tables, &old, b"words")));
    assert_eq!(tables.made(), 3, "and both others are in use");
}

#[test]
fn tables_that_are_off_are_never_made() {
    let tables = KeyTables::new(TableBudget::OFF);
    (0..10).for_each(|_| assert!(verified(&tables, &signing(1), b"words")));
    assert_eq!((tables.made(), tables.bytes()), (0, 0));
}

#[test]
fn workers_that_verify_at_once_make_one_table_for_a_key() {
    for round in 0..20 {
        let tables = KeyTables::new(TableBudget::STANDARD);
        let keys = [signing(round), signing(1_000 + round)];
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for key in keys.iter().cycle().take(40) {
                        assert!(verified(&tables, key, b"words"));
                    }
                });
            }
        });
        assert_eq!((tables.held(), tables.made()), (2, 2));
    }
}

/// Two nodes of one log are compared by what they print, whatever their workers have verified.
#[test]
fn views_of_one_trust_print_alike_with_tables_and_without() {
    let tables = KeyTables::new(TableBudget::AT_ONCE);
    let before = format!("{tables:?}");
    assert!(verified(&tables, &signing(1), b"words"));
    assert_eq!(format!("{tables:?}"), before);
}
