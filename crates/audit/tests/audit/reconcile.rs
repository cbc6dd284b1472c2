//! Two logs held against each other: what one has and the other lacks is named.

use std::fs;

use signet_audit::{DifferenceKind, LogError, Reconciliation, reconcile};
use signet_json::canonical;
use signet_proto::entry::{Direction, Entry, Evidence, Ruling, Verdict};
use signet_proto::ids::encode_base64url;
use signet_proto::keys::Purpose;
use signet_proto::reject::Reason;

use crate::common::*;
use crate::pair::*;

fn hold(pair: &Pair) -> Reconciliation {
    reconcile(&pair.alice.dir(), &pair.bob.dir()).unwrap()
}

fn kinds(found: &Reconciliation) -> Vec<DifferenceKind> {
    found
        .contradictions
        .iter()
        .map(|found| found.kind)
        .collect()
}

/// A receipt of Bob's for what Alice sent, logged by both.
fn receipt(pair: &mut Pair, body: serde_json::Value) {
    let alice = alice();
    pair.number += 1;
    let number = pair.number;
    let mut value = draft(&pair.bob.party, &alice, number, "");
    value["method"] = "agent.receipt".into();
    value["params"]["body"] = body;
    value["params"].as_object_mut().unwrap().remove("summary");
    let headers = value["params"]["headers"].as_object_mut().unwrap();
    headers.remove("sequence");
    headers.insert(
        "audit-head".into(),
        pair.bob.log().head().unwrap().hash.to_hex().into(),
    );
    let signature = pair
        .bob
        .party
        .key
        .sign(Purpose::Message, &[&canonical(&value)]);
    value["params"]["signature"] = encode_base64url(&signature).into();
    let message = signet_proto::envelope::Message::from_value(value).unwrap();
    pair.bob.write(
        second(40),
        &entry(Direction::Out, Ruling::Sent, message.clone()),
    );
    pair.alice.take(second(40), message);
}

#[test]
fn two_honest_logs_agree() {
    let pair = Pair::talked();
    let found = hold(&pair);
    assert!(found.agrees(), "{found}");
    assert_eq!(
        (found.agreed, found.open.len(), found.not_compared),
        (30, 0, 0)
    );
    assert_eq!(
        found.to_string(),
        "agent-alice-001 and agent-bob-001 agree: 30 messages stand in both logs, 0 are open, and every head fits.\n"
    );
    let other_way = reconcile(&pair.bob.dir(), &pair.alice.dir()).unwrap();
    assert_eq!((other_way.agrees(), other_way.agreed), (true, 30));
}

#[test]
fn a_message_that_never_arrived_is_named_and_is_no_contradiction() {
    let mut pair = Pair::new();
    pair.talk(6, second(10));
    let bob = bob();
    let lost = pair.alice.send(&bob, 77, second(11), "On its way");
    pair.stop();
    let found = hold(&pair);
    assert!(found.agrees(), "{found}");
    let open = &found.open[0];
    assert_eq!(
        (found.open.len(), open.kind, open.hash),
        (1, DifferenceKind::NotReceived, lost.hash())
    );
    let text = found.to_string();
    for part in [
        lost.headers.message_id.to_string(),
        lost.hash().to_hex(),
        "open: agent-alice-001, seq 9, 2026-02-08T17:00:11.000Z, out".into(),
        ", sent: ".into(),
    ] {
        assert!(text.contains(&part), "no {part} in {text}");
    }
}

#[test]
fn a_message_that_was_receipted_and_is_not_in_the_log_is_a_contradiction() {
    let mut pair = Pair::new();
    pair.talk(2, second(10));
    let bob = bob();
    let denied = pair
        .alice
        .send(&bob, 3, second(11), "Receipted and never logged");
    receipt(&mut pair, serde_json::json!({"through": 3}));
    pair.stop();
    let found = hold(&pair);
    assert_eq!(kinds(&found), [DifferenceKind::Lost], "{found}");
    assert_eq!(
        (
            found.contradictions[0].hash,
            found.contradictions[0].state.as_str()
        ),
        (denied.hash(), "received")
    );
    assert!(
        found.verification.holds(),
        "each log holds, also before the other"
    );
}

#[test]
fn a_receipt_that_names_it_missing_or_refused_is_no_contradiction_and_a_false_refusal_is() {
    for (reason, ruling, expected) in [
        ("missing", None, vec![]),
        (
            "inbox-full",
            Some(Ruling::Rejected(Reason::InboxFull)),
            vec![],
        ),
        (
            "inbox-full",
            Some(Ruling::Accepted),
            vec![DifferenceKind::Untold],
        ),
    ] {
        let mut pair = Pair::new();
        pair.talk(2, second(10));
        let bob = bob();
        let message = pair.alice.send(&bob, 3, second(11), "Perhaps");
        if let Some(ruling) = ruling {
            pair.bob
                .write(second(11), &entry(Direction::In, ruling, message));
        }
        receipt(
            &mut pair,
            serde_json::json!({"through": 3, "except": [{"sequence": 3, "reason": reason}]}),
        );
        pair.stop();
        let found = hold(&pair);
        assert_eq!(kinds(&found), expected, "{reason} {ruling:?}: {found}");
    }
}

#[test]
fn a_message_that_its_sender_never_logged_is_a_contradiction() {
    let mut pair = Pair::new();
    pair.talk(6, second(10));
    let alice = alice();
    let unlogged = pair
        .bob
        .sign(&alice, 99, second(11), "Sent by a second copy");
    pair.alice.take(second(11), unlogged.clone());
    pair.stop();
    let found = hold(&pair);
    assert_eq!(kinds(&found), [DifferenceKind::NeverSent]);
    assert_eq!(found.contradictions[0].hash, unlogged.hash());
    assert_eq!(found.to_json()["agrees"], false);
}

#[test]
fn attack_6_an_old_copy_restored_is_named_message_by_message_and_head_by_head() {
    let mut pair = Pair::new();
    pair.talk(10, second(10));
    let old = pair.alice.copy();
    pair.talk(20, second(20));
    pair.stop();
    pair.alice.restore(&old);
    let found = hold(&pair);
    assert!(!found.agrees());
    let count = |kind| kinds(&found).iter().filter(|found| **found == kind).count();
    assert_eq!(
        count(DifferenceKind::NeverSent),
        10,
        "what Alice sent since then"
    );
    assert_eq!(
        count(DifferenceKind::UnknownHead),
        9,
        "the first of them still names a line of the old copy"
    );
    assert_eq!(
        found.open.len(),
        10,
        "what Bob sent since then has no receipt in this test"
    );
}

#[test]
fn attack_5_cut_back_with_the_checkpoints_is_named() {
    let pair = Pair::talked();
    let mut lines = pair.alice.lines(FEBRUARY);
    lines.truncate(1);
    write_lines(&pair.alice.file(FEBRUARY), &lines);
    fs::write(pair.alice.file(FEBRUARY_NOTES), "").unwrap();
    assert_eq!(pair.alone().faults, []);
    let found = hold(&pair);
    assert!(kinds(&found).contains(&DifferenceKind::NeverSent));
}

#[test]
fn heads_that_go_backwards_are_named() {
    let mut pair = Pair::new();
    pair.talk(6, second(10));
    let bob = bob();
    let old = pair.alice.log().head().unwrap().hash;
    pair.alice.send(&bob, 40, second(11), "In between");
    pair.talk(6, second(12));
    let mut value = draft(&pair.alice.party, &bob, 60, "An older head");
    value["params"]["headers"]["audit-head"] = old.to_hex().into();
    let back = sign(value, &pair.alice.party.key);
    pair.alice.write(
        second(13),
        &entry(Direction::Out, Ruling::Sent, back.clone()),
    );
    pair.bob.take(second(13), back.clone());
    pair.stop();
    let found = hold(&pair);
    assert_eq!(kinds(&found), [DifferenceKind::HeadBack], "{found}");
    assert_eq!(found.contradictions[0].hash, back.hash());
}

#[test]
fn what_lies_before_a_part_of_a_log_is_not_compared_and_counted() {
    let mut pair = Pair::new();
    pair.talk(12, second(10));
    pair.talk(12, march());
    pair.stop();
    let found = reconcile(&pair.alice.dir(), &pair.bob.file(MARCH)).unwrap();
    assert!(found.agrees(), "{found}");
    assert_eq!((found.agreed, found.not_compared), (12, 12), "{found}");
}

#[test]
fn two_logs_of_one_agent_and_no_log_at_all_are_refused_with_words() {
    let pair = Pair::talked();
    let same = reconcile(&pair.alice.dir(), &pair.alice.file(FEBRUARY)).unwrap_err();
    assert!(matches!(same, LogError::SameAgent(_)), "{same}");
    let empty = tempfile::tempdir().unwrap();
    assert!(matches!(
        reconcile(&pair.alice.dir(), empty.path()),
        Err(LogError::NoLog(_))
    ));
}

#[test]
fn a_damaged_log_does_not_agree() {
    let pair = Pair::talked();
    let mut lines = pair.alice.lines(FEBRUARY);
    lines.insert(9, "garbage".into());
    write_lines(&pair.alice.file(FEBRUARY), &lines);
    let found = hold(&pair);
    assert!(
        !found.agrees() && found.contradictions.is_empty(),
        "{found}"
    );
    assert!(
        found
            .sentence()
            .contains("what verification found is wrong")
    );
}

/// Over the sender's budget a log keeps the headers and the hash of what it refused.
#[test]
fn what_was_refused_and_kept_by_its_headers_stands_in_both_logs() {
    let mut pair = Pair::new();
    pair.talk(6, second(10));
    let bob = bob();
    let refused = pair.alice.send(&bob, 77, second(11), "One too many");
    let verdict = Verdict {
        direction: Direction::In,
        ruling: Ruling::Rejected(Reason::BudgetExceeded),
        bytes: refused.canonical().len() as u64,
        hash: refused.hash(),
        evidence: Evidence::Headers(refused.clone().into()),
        copy: None,
    };
    pair.bob.write(second(11), &Entry::Message(verdict));
    pair.stop();
    let found = hold(&pair);
    assert!(found.agrees(), "{found}");
    assert_eq!((found.agreed, found.open.len()), (7, 0), "{found}");
    let other_way = reconcile(&pair.bob.dir(), &pair.alice.dir()).unwrap();
    assert!(other_way.agrees(), "{other_way}");
}
