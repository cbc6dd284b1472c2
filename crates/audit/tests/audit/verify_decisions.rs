//! Approvals, pauses and drafts: under whose root key they stand, and whether what left had them. The
//! messages here name no head, and the chain is whole: only what the lines say of each other is at fault.

use serde_json::Value;
use signet_audit::{LogReport, verify};
use signet_proto::certificate::{
    Certificate, CertificateRequest, ControlCertificate, ControlRequest,
};
use signet_proto::entry::{
    ApprovalLine, Did, Direction, DraftLine, Entry, OutcomeLine, Ruling, TrustChange,
};
use signet_proto::ids::{Digest, MessageId};
use signet_proto::keys::{SealSecret, SigningKey};
use signet_proto::node::hash_of_draft;
use signet_proto::statement::{Approval, Decision, PauseStatement};

use crate::common::*;

pub(crate) const FOREIGN: &str =
    "its control certificate does not stand under the root key of this agent's person";
const UNAPPROVED: &str = "it was sent without the approval that its draft asks for";

/// The report on Alice's log, in which Bob is bound, with these lines more (from the third on).
pub(crate) fn prove(entries: &[Entry]) -> LogReport {
    let dir = tempfile::tempdir().unwrap();
    let mut log = conversation(dir.path(), 0);
    for (number, entry) in (1..).zip(entries) {
        log.append(second(number), entry).unwrap();
    }
    log.commit().unwrap();
    verify(&[dir.path().to_owned()]).logs.remove(0)
}

pub(crate) fn faults(report: &LogReport) -> Vec<(u64, &str)> {
    let faults = report.faults.iter();
    faults
        .map(|fault| (fault.line, fault.what.as_str()))
        .collect()
}

pub(crate) fn control(principal: &str, serial: u64, root: &SigningKey) -> ControlCertificate {
    let request = ControlRequest {
        principal: principal.parse().unwrap(),
        control_key: key(80).public().clone(),
        audit_key: SealSecret::of(zeroize::Zeroizing::new([81; 32])).public(),
        serial,
        not_before: at("2026-01-01T00:00:00.000Z"),
        not_after: at("2027-01-01T00:00:00.000Z"),
        next_root: Digest([7; 32]),
    };
    request.sign(root).unwrap()
}

pub(crate) fn id(number: u64) -> MessageId {
    MessageId::from_parts(1_770_570_000_000 + number, [number as u8; 10])
}

/// What waits under a number.
pub(crate) fn waiting(number: u64, summary: &str) -> Value {
    let mut value = draft(&alice(), &bob(), number, summary);
    let headers = value["params"]["headers"].as_object_mut().unwrap();
    for name in ["timestamp", "expires-at", "key-id", "session", "sequence"] {
        headers.remove(name);
    }
    value
}

pub(crate) fn draft_line(number: u64, summary: &str, asks: bool) -> Entry {
    Entry::Draft(DraftLine {
        peer: bob().certificate.agent,
        message_id: id(number),
        life: 3600,
        approve: asks.then(|| bob().root.public().id()),
        message: waiting(number, summary),
        copy: None,
        client_key: None,
    })
}

pub(crate) fn decided(
    number: u64,
    summary: &str,
    decision: Decision,
    control: &ControlCertificate,
) -> Entry {
    decided_about(&waiting(number, summary), number, decision, control)
}

/// What a person decided about what waits under that number.
pub(crate) fn decided_about(
    waiting: &Value,
    number: u64,
    decision: Decision,
    control: &ControlCertificate,
) -> Entry {
    let draft = hash_of_draft(waiting);
    Entry::Approval(ApprovalLine {
        peer: bob().certificate.agent,
        message_id: id(number),
        approval: Approval::sign(draft, decision, second(1), control, &key(80)).unwrap(),
    })
}

pub(crate) fn approved(number: u64, summary: &str) -> Entry {
    let own = control("alice", 1, &alice().root);
    decided(number, summary, Decision::Approved, &own)
}

pub(crate) fn paused(paused: bool, serial: u64, control: &ControlCertificate) -> Entry {
    let said = PauseStatement::sign(paused, serial, second(1), control, &key(80));
    Entry::Pause(said.unwrap())
}

#[test]
fn a_draft_that_was_approved_and_left_as_it_was_holds() {
    let report = prove(&[
        draft_line(2, "Without a question", false),
        sent(2, "Without a question"),
        draft_line(3, "May I?", true),
        approved(3, "May I?"),
        sent(3, "May I?"),
    ]);
    assert_eq!((faults(&report), report.decisions), (vec![], 1));
    assert_eq!(report.notes, Vec::<String>::new());
}

#[test]
fn a_message_whose_draft_asks_and_was_not_approved_is_found() {
    let asks = draft_line(3, "May I?", true);
    assert_eq!(
        faults(&prove(&[asks.clone(), sent(3, "May I?")])),
        [(4, UNAPPROVED)]
    );
    let own = control("alice", 1, &alice().root);
    let refused = decided(3, "May I?", Decision::Refused, &own);
    let report = prove(&[asks, refused, sent(3, "May I?")]);
    let what = "it was sent although its draft had ended";
    assert_eq!(faults(&report), [(5, what)]);
}

#[test]
fn a_message_that_says_something_else_than_its_draft_is_found() {
    let what = "it says something else than its draft";
    let report = prove(&[draft_line(3, "Yes", false), sent(3, "No")]);
    assert_eq!(faults(&report), [(4, what)]);
    let report = prove(&[
        draft_line(3, "Yes", true),
        approved(3, "Yes"),
        sent(3, "No"),
    ]);
    assert_eq!(faults(&report), [(5, what)]);
}

#[test]
fn an_approval_of_another_draft_or_of_none_is_found() {
    let another = "it decides about another draft than the one that waits under this message-id";
    let report = prove(&[draft_line(3, "Yes", true), approved(3, "No")]);
    assert_eq!(faults(&report), [(4, another)]);
    let none = "it decides about a draft of which no line stands before it";
    assert_eq!(faults(&prove(&[approved(3, "Yes")])), [(3, none)]);
    let again = "it decides about a draft that does not wait for a decision";
    let report = prove(&[
        draft_line(3, "Yes", true),
        approved(3, "Yes"),
        approved(3, "Yes"),
    ]);
    assert_eq!(faults(&report), [(5, again)]);
    let report = prove(&[draft_line(3, "Yes", false), approved(3, "Yes")]);
    assert_eq!(faults(&report), [(4, again)]);
}

#[test]
fn a_draft_that_ended_and_left_all_the_same_is_found() {
    let ended = Entry::Outcome(OutcomeLine {
        peer: bob().certificate.agent,
        message_id: id(3),
        what: Did::DraftExpired,
        tries: 1,
        reason: None,
    });
    let report = prove(&[draft_line(3, "Late", false), ended, sent(3, "Late")]);
    let what = "it was sent although its draft had ended";
    assert_eq!(faults(&report), [(5, what)]);
}

#[test]
fn decisions_under_another_root_or_for_another_person_are_found() {
    for foreign in [
        control("alice", 1, &key(60)),
        control("alice", 1, &bob().root),
        control("bob", 1, &bob().root),
    ] {
        let report = prove(&[
            draft_line(3, "May I?", true),
            decided(3, "May I?", Decision::Approved, &foreign),
            sent(3, "May I?"),
        ]);
        assert_eq!(faults(&report), [(4, FOREIGN), (5, UNAPPROVED)]);
        assert_eq!(faults(&prove(&[paused(true, 1, &foreign)])), [(3, FOREIGN)]);
    }
}

/// Alice's own certificate under a root that names `next`.
pub(crate) fn own_under(root: &SigningKey, serial: u64, next: &SigningKey) -> Certificate {
    let own = alice().certificate;
    let request = CertificateRequest {
        agent: own.agent,
        principal: own.principal,
        signing_key: own.signing_key,
        layers: own.layers,
        versions: own.versions,
        serial,
        not_before: own.not_before,
        not_after: own.not_after,
        next_root: Digest::of(&[next.public().as_bytes()]),
    };
    request.sign(root).unwrap()
}

#[test]
fn after_a_succession_of_the_own_root_the_old_ones_control_key_says_nothing() {
    let (old, new) = (alice().root, key(60));
    let succeeded = Entry::trust(TrustChange::RootSucceeded, own_under(&new, 3, &key(61)));
    let report = prove(&[
        paused(true, 1, &control("alice", 1, &old)),
        succeeded,
        paused(false, 2, &control("alice", 2, &new)),
        paused(true, 3, &control("alice", 3, &old)),
    ]);
    assert_eq!((faults(&report), report.decisions), (vec![(6, FOREIGN)], 2));
}

#[test]
fn an_old_word_said_again_is_found() {
    let own = control("alice", 1, &alice().root);
    let what = "the person's word is not newer than the one that was obeyed before";
    let report = prove(&[
        paused(true, 1, &own),
        paused(false, 2, &own),
        paused(true, 1, &own),
    ]);
    assert_eq!(faults(&report), [(5, what)]);
    // A pause or resume under a newer control certificate counts, although its number is lower than under the older
    // certificate: approvals under the older one are then faults.
    let newer = control("alice", 2, &alice().root);
    let report = prove(&[
        paused(true, 5, &own),
        paused(false, 1, &newer),
        draft_line(3, "May I?", true),
        approved(3, "May I?"),
    ]);
    let what = "its control certificate is older than that of a word of the person obeyed before";
    assert_eq!(faults(&report), [(6, what)]);
}

#[test]
fn a_message_approved_for_another_root_than_it_went_to_is_found() {
    let new = key(60);
    let other = certify("agent-bob-001", "bob", &bob().key, &new, 2);
    let report = prove(&[
        draft_line(3, "For Bob", true),
        approved(3, "For Bob"),
        Entry::trust(TrustChange::RootReplaced, other),
        sent(3, "For Bob"),
    ]);
    let what =
        "it was sent to a recipient under another root key than the one that it was approved for";
    assert_eq!(faults(&report), [(6, what)]);
}

#[test]
fn what_the_log_cannot_prove_of_tiers_is_a_note_and_no_finding() {
    let report = prove(&[
        draft_line(3, "May I?", true),
        approved(3, "May I?"),
        sent(3, "May I?"),
        sent(4, "Nobody was asked"),
    ]);
    assert_eq!(faults(&report), []);
    assert!(
        report.notes[0].starts_with("1 message left without approval although drafts of that tier"),
        "{:?}",
        report.notes
    );
}

#[test]
fn a_log_without_its_first_lines_says_what_cannot_be_tied() {
    let dir = tempfile::tempdir().unwrap();
    drop(conversation(dir.path(), 0));
    let mut log = open(dir.path(), march());
    let own = control("alice", 1, &alice().root);
    for entry in [approved(3, "May I?"), paused(true, 1, &own)] {
        log.append(march(), &entry).unwrap();
    }
    log.commit().unwrap();
    let report = verify(&[dir.path().join(MARCH)]).logs.remove(0);
    assert_eq!((faults(&report), report.decisions), (vec![], 0));
    assert!(
        report.notes[0].starts_with("2 decisions of the person cannot be tied"),
        "{:?}",
        report.notes
    );
}

#[test]
fn an_exact_second_copy_of_an_own_line_is_found_and_not_counted() {
    let own = "its number was sent in this session before: the line is a copy, or one was put in";
    let report = prove(&[sent(3, "Once"), accepted(4, "Between"), sent(3, "Once")]);
    assert_eq!(faults(&report), [(5, own)]);
    let again =
        "its number was accepted in this session before: the line is a copy, or one was put in";
    let report = prove(&[accepted(3, "Once"), sent(4, "Between"), accepted(3, "Once")]);
    assert_eq!(faults(&report), [(5, again)]);
}

#[test]
fn a_second_message_of_one_id_is_found() {
    let mut other = draft(&alice(), &bob(), 3, "Another");
    other["params"]["headers"]["sequence"] = 9.into();
    let other = entry(Direction::Out, Ruling::Sent, sign(other, &alice().key));
    let what = "its message-id was sent before: the line is a copy, or one was put in";
    assert_eq!(faults(&prove(&[sent(3, "One"), other])), [(4, what)]);
}

/// A report on a task, signed at that second under that number, and always under one message-id.
fn report(signed: u64, number: u64, words: &str) -> Entry {
    let mut value = draft(&alice(), &bob(), 3, "A report");
    let headers = &mut value["params"]["headers"];
    headers["capability"] = signet_proto::policy::TASK.into();
    headers["timestamp"] = second(signed).to_string().into();
    headers["expires-at"] = second(signed + 3600).to_string().into();
    headers["sequence"] = number.into();
    value["params"]["body"] = serde_json::json!({ "words": words });
    entry(Direction::Out, Ruling::Sent, sign(value, &alice().key))
}

/// A report that the peer refused because the clock was ahead goes out once more, and the log with both holds.
#[test]
fn a_report_that_was_signed_anew_after_the_clock_was_put_back_is_no_tampering() {
    let anew = [report(2000, 3, "done"), report(9, 4, "done")];
    assert_eq!(faults(&prove(&anew)), []);
    let what = "its message-id was sent before: the line is a copy, or one was put in";
    let other = [report(2000, 3, "done"), report(9, 4, "something else")];
    assert_eq!(faults(&prove(&other)), [(4, what)]);
    let thrice = [
        report(2000, 3, "done"),
        report(9, 4, "done"),
        report(10, 5, "done"),
    ];
    assert_eq!(faults(&prove(&thrice)), [(5, what)]);
}
