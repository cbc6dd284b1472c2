//! Logs that do not simply agree: they are read as a whole, and what is said of the rest stays as it was.

use serde_json::{Value, json};
use signet_audit::{DifferenceKind, Reconciliation, reconcile};
use signet_proto::entry::{Direction, Ruling};
use signet_proto::reject::Reason;

use crate::common::*;
use crate::pair::*;

fn hold(pair: &Pair) -> Reconciliation {
    reconcile(&pair.alice.dir(), &pair.bob.dir()).unwrap()
}

fn kinds(found: &Reconciliation) -> Vec<DifferenceKind> {
    let found = found.contradictions.iter();
    found.map(|found| found.kind).collect()
}

/// Alice took something that Bob's log does not say he sent.
fn never_sent(pair: &mut Pair) {
    let alice = alice();
    let unlogged = pair.bob.sign(&alice, 99, second(11), "By a second copy");
    pair.alice.take(second(11), unlogged);
}

/// Bob's receipt for what Alice sent, in both logs.
fn receipted(pair: &mut Pair, number: u64, body: Value) {
    let message = receipt(&pair.bob.party, &alice(), number, body);
    let went = entry(Direction::Out, Ruling::Sent, message.clone());
    pair.bob.write(second(40), &went);
    pair.alice.take(second(40), message);
}

/// An old copy of Alice's log in the place of the newer one.
fn restored() -> Pair {
    let mut pair = Pair::new();
    pair.talk(10, second(10));
    let old = pair.alice.copy();
    pair.talk(20, second(20));
    pair.stop();
    pair.alice.restore(&old);
    pair
}

#[test]
fn each_log_is_proven_and_witnessed_alike_whichever_way_the_two_are_read() {
    let mut differ = Pair::new();
    differ.talk(6, second(10));
    never_sent(&mut differ);
    differ.stop();
    for (pair, witnesses) in [(Pair::talked(), 2), (differ, 2), (restored(), 2)] {
        let (found, alone) = (hold(&pair), pair.together());
        assert_eq!(found.verification.to_json(), alone.to_json());
        let logs = &found.verification.logs;
        let heard: usize = logs.iter().map(|log| log.witnesses.len()).sum();
        assert_eq!(heard, witnesses, "{found}");
    }
    let found = hold(&restored());
    let told = found.verification.to_string();
    assert!(told.contains("name no line of this log"), "{told}");
}

#[test]
fn beside_a_contradiction_an_honest_refusal_stays_one_and_a_false_one_is_found() {
    for (reason, ruling, expected) in [
        ("inbox-full", Ruling::Rejected(Reason::InboxFull), None),
        ("inbox-full", Ruling::Accepted, Some(DifferenceKind::Untold)),
        // `sequence-reuse` refuses another message with the same number: it does not contradict the accepted one.
        ("sequence-reuse", Ruling::Accepted, None),
        ("missing", Ruling::Accepted, None),
    ] {
        let mut pair = Pair::new();
        pair.talk(2, second(10));
        let bob = bob();
        let message = pair.alice.send(&bob, 3, second(11), "Perhaps");
        let judged = entry(Direction::In, ruling, message);
        pair.bob.write(second(11), &judged);
        let except = json!([{"sequence": 3, "reason": reason}]);
        receipted(&mut pair, 4, json!({"through": 3, "except": except}));
        never_sent(&mut pair);
        pair.stop();
        let found = hold(&pair);
        let expected: Vec<_> = expected
            .into_iter()
            .chain([DifferenceKind::NeverSent])
            .collect();
        assert_eq!(kinds(&found), expected, "{reason} {ruling:?}: {found}");
        let agreed = 3 + u64::from(expected.len() == 1);
        assert_eq!(found.agreed, agreed, "{reason} {ruling:?}: {found}");
    }
}

#[test]
fn every_difference_is_told_in_words() {
    let mut pair = Pair::new();
    pair.talk(2, second(10));
    let bob = bob();
    let early = pair.alice.log().head().unwrap().hash;
    pair.alice
        .send(&bob, 3, second(11), "Receipted and not there");
    let untold = pair.alice.send(&bob, 4, second(11), "Refused and there");
    pair.bob.take(second(11), untold);
    let except = json!([{"sequence": 4, "reason": "inbox-full"}]);
    receipted(&mut pair, 5, json!({"through": 4, "except": except}));
    never_sent(&mut pair);
    let mut named = |number, head: String| {
        let mut value = draft(&pair.alice.party, &bob, number, "With a head");
        value["params"]["headers"]["audit-head"] = head.into();
        let message = sign(value, &pair.alice.party.key);
        let went = entry(Direction::Out, Ruling::Sent, message.clone());
        pair.alice.write(second(41), &went);
        pair.bob.take(second(41), message);
    };
    named(60, early.to_hex());
    named(61, "ab".repeat(32));
    pair.alice.send(&bob, 62, second(42), "On its way");
    pair.stop();
    let found = hold(&pair);
    let (text, json) = (found.to_string(), found.to_json());
    for (kind, words) in [
        (
            "not-received",
            "not in the other log, and nothing says that it arrived",
        ),
        (
            "lost",
            "the other said that it has it, and its log lacks it",
        ),
        ("never-sent", "the other signed it, and its log lacks it"),
        (
            "untold",
            "the other said that it refused it, and its log says accepted",
        ),
        (
            "unknown-head",
            "it names a head that is no line of its sender's log",
        ),
        (
            "head-back",
            "it names an older head than a message before it in its session",
        ),
    ] {
        let lists = ["contradictions", "open"].map(|list| json[list].as_array().unwrap());
        let mut told = lists.into_iter().flatten();
        let told = told.find(|told| told["kind"] == kind);
        let told = told.unwrap_or_else(|| panic!("no {kind} in {json:#}"));
        assert_eq!(told["what"], words);
        assert!(text.contains(&format!(": {words}\n")), "{kind}: {text}");
    }
}
