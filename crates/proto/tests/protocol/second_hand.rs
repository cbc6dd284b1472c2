//! What somebody who writes an agent from docs/protocol.md alone had to guess, and finds there now.

use std::time::Duration;

use serde_json::{Value, json};
use signet_proto::envelope::Method;
use signet_proto::node::{Content, Sending};
use signet_proto::receipt::Receipt;
use signet_proto::time::Timestamp;

use crate::forge::{envelope, headers, id, read, sign};
use crate::household::forger::{bob, call, hear, name, refusal, talking};
use crate::household::net::message_of;
use crate::household::{START, alice_and_bob, at, identity, published};

/// Alice's flight 1 to Bob, changed and signed again: why Bob refuses it, and which methods he answers with.
fn announced(change: impl FnOnce(&mut Value)) -> (Vec<&'static str>, Vec<Option<Method>>) {
    let (mut alice, mut bob) = alice_and_bob();
    let sending = Sending::Notification(Content::default());
    let outcome = alice
        .node
        .turn(at(0))
        .sent()
        .send(&bob.id(), sending)
        .unwrap()
        .outcome;
    let effects = alice.keep(at(0), outcome);
    let mut flight = read(&published(&effects).remove(0).1);
    change(&mut flight);
    let key = identity("agent-alice", "alice").signing;
    let effects = bob.hear(at(0), &sign(flight, &key));
    let answers = published(&effects).into_iter();
    let methods = answers.map(|(_, bytes)| message_of(&bytes).form.method());
    (bob.refusals(), methods.collect())
}

#[test]
fn what_a_flight_should_not_have_is_ignored_unless_it_places_or_hides_it() {
    let (refusals, answers) = announced(|flight| {
        let odd = json!({
            "capability": "door.open", "conversation-id": "c", "hops": 200, "data-tier": 2,
            "in-reply-to": id("nothing").to_string(), "skill-layers-loaded": [0],
        });
        headers(flight).extend(odd.as_object().unwrap().clone());
        envelope(flight).insert("summary".into(), "Good day".into());
    });
    assert_eq!(refusals, Vec::<&str>::new());
    assert_eq!(answers, [Some(Method::Verify)]);
    for (header, value) in [
        ("session", json!("A".repeat(43))),
        ("sequence", json!(1)),
        ("data-tier", json!(3)),
    ] {
        let (refusals, answers) = announced(|flight| {
            headers(flight).insert(header.into(), value);
        });
        assert_eq!((refusals, answers.len()), (vec!["header-invalid"], 0));
    }
}

#[test]
fn a_flight_whose_versions_do_not_ascend_or_whose_body_is_sealed_has_no_shape() {
    let (refusals, _) = announced(|flight| {
        envelope(flight)["body"]["versions"] = json!(["1.1.0", "1.0.0"]);
    });
    assert_eq!(refusals, ["invalid-shape"]);
    let (refusals, _) = announced(|flight| {
        envelope(flight).remove("body");
        let to = format!("x25519:{}", "A".repeat(43));
        let sealed = json!({"to": to, "box": "A".repeat(64)});
        envelope(flight).insert("sealed".into(), sealed);
    });
    assert_eq!(refusals, ["invalid-shape"]);
}

#[test]
fn a_flight_made_of_two_clock_readings_is_refused_without_a_word() {
    let (refusals, answers) = announced(|flight| {
        let end = Timestamp::from_millis(START + 300_001);
        headers(flight).insert("expires-at".into(), end.to_string().into());
    });
    assert_eq!((refusals, answers.len()), (vec!["lifetime-too-long"], 0));
}

#[test]
fn a_message_dated_before_its_session_passes() {
    let mut net = talking();
    let early = call(&net, Method::Notification, 1, |draft, stamp| {
        stamp.now = Timestamp::from_millis(START - 30 * 60_000);
        draft.life = Duration::from_secs(24 * 3600);
    });
    assert_eq!(refusal(&mut net, &early), None);
}

#[test]
fn a_number_that_came_too_late_is_used_up() {
    let mut net = talking();
    let late = call(&net, Method::Notification, 1, |draft, stamp| {
        stamp.now = Timestamp::from_millis(START - 30 * 60_000);
        draft.life = Duration::from_secs(60);
    });
    assert_eq!(refusal(&mut net, &late), Some("expired"));
    let again = call(&net, Method::Notification, 1, |draft, _| {
        draft.message_id = name(77);
    });
    assert_eq!(refusal(&mut net, &again), Some("sequence-reuse"));
}

#[test]
fn an_integer_may_be_spelt_with_a_point() {
    let mut net = talking();
    let whole = call(&net, Method::Notification, 1, |_, _| {});
    let text = String::from_utf8(whole.to_vec()).unwrap();
    let spelt = text.replacen("\"sequence\":1,", "\"sequence\":1.0,", 1);
    assert_ne!(spelt, text);
    assert_eq!(refusal(&mut net, spelt.as_bytes()), None);
    assert_eq!(
        refusal(&mut net, &whole),
        Some("duplicate"),
        "it is the same message"
    );
}

#[test]
fn a_name_with_a_line_feed_behind_it_is_none() {
    let mut net = talking();
    let mut value = read(&call(&net, Method::Notification, 1, |_, _| {}));
    headers(&mut value).insert("principal-id".into(), "bob\n".into());
    let (reason, _) = hear(&mut net, 0, &sign(value, &bob().signing));
    assert_eq!(reason, Some("header-invalid"));
}

#[test]
fn a_receipt_of_nothing_names_no_hash() {
    let net = talking();
    let receipts = net.sent.iter().map(|(_, _, bytes)| message_of(bytes));
    let receipts = receipts.filter(|message| message.form.method() == Some(Method::Receipt));
    let bodies = receipts.filter_map(|message| Receipt::parse(message.body()?));
    let of_nothing: Vec<_> = bodies.filter(|receipt| receipt.through == 0).collect();
    assert!(!of_nothing.is_empty());
    assert!(of_nothing.iter().all(|receipt| receipt.hash.is_none()));
}

#[test]
fn a_floor_alone_passes_no_number_that_never_came() {
    let mut net = talking();
    let third = call(&net, Method::Notification, 3, |_, _| {});
    assert_eq!(refusal(&mut net, &third), None);
    let says = Receipt {
        through: 0,
        hash: None,
        except: Default::default(),
        floor: Some(4),
        given_up: Vec::new(),
    };
    let told = crate::household::forger::receipt(&net, 1, net.at(0).now, &says);
    assert_eq!(refusal(&mut net, &told), None);
    net.run_for(3_000);
    let sent = net.sent.iter().rev().filter(|(_, who, _)| *who == 0);
    let mut sent = sent.map(|(_, _, bytes)| message_of(bytes));
    let last = sent.find(|message| message.form.method() == Some(Method::Receipt));
    assert_eq!(last.unwrap().body().unwrap()["through"], 0);
}
