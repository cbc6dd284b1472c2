//! A person's words: which of two certificates outranks the other, under which root key they count, and how far a message
//! may differ from the draft that it was.

use serde_json::{Value, json};
use signet_proto::certificate::{Certificate, CertificateRequest};
use signet_proto::entry::{Direction, DraftLine, Entry, Ruling, TrustChange};
use signet_proto::ids::Digest;
use signet_proto::statement::Decision;

use crate::common::*;
use crate::verify_decisions::*;

#[test]
fn an_approval_under_the_certificate_of_the_last_pause_is_not_outranked() {
    let own = control("alice", 1, &alice().root);
    let report = prove(&[
        paused(true, 1, &own),
        paused(false, 2, &own),
        draft_line(3, "May I?", true),
        approved(3, "May I?"),
        sent(3, "May I?"),
    ]);
    assert_eq!((faults(&report), report.decisions), (vec![], 3));
}

/// Another agent of Alice's, under a root that this agent has not followed to.
fn second_agent(root: &signet_proto::keys::SigningKey, serial: u64) -> Certificate {
    let own = alice().certificate;
    let request = CertificateRequest {
        agent: "agent-alice-002".parse().unwrap(),
        principal: own.principal,
        signing_key: key(70).public().clone(),
        layers: own.layers,
        versions: own.versions,
        serial,
        not_before: own.not_before,
        not_after: own.not_after,
        next_root: Digest([7; 32]),
    };
    request.sign(root).unwrap()
}

#[test]
fn a_person_s_word_counts_also_under_the_root_that_another_agent_of_hers_followed_first() {
    let (old, new) = (alice().root, key(60));
    let report = prove(&[
        Entry::trust(TrustChange::Renewed, own_under(&old, 2, &new)),
        paused(true, 1, &control("alice", 1, &old)),
        Entry::trust(TrustChange::RootSucceeded, second_agent(&new, 3)),
        paused(false, 2, &control("alice", 1, &old)),
        paused(true, 1, &control("alice", 2, &new)),
        paused(false, 2, &control("alice", 2, &key(62))),
    ]);
    assert_eq!((faults(&report), report.decisions), (vec![(8, FOREIGN)], 3));
}

/// A request for Bob, which waits without a capability and leaves with `capability`, and with `body`.
fn left(approve: bool, capability: Option<&str>, body: &Value) -> Vec<Entry> {
    let named = |mut value: Value| {
        if let Some(name) = capability {
            value["params"]["headers"]["capability"] = name.into();
        }
        value["params"]["body"] = body.clone();
        value
    };
    let signed = sign(
        named(request_draft(&alice(), &bob(), 3, "When?")),
        &alice().key,
    );
    let mut waits = request_draft(&alice(), &bob(), 3, "When?");
    let headers = waits["params"]["headers"].as_object_mut().unwrap();
    for name in ["timestamp", "expires-at", "key-id", "session", "sequence"] {
        headers.remove(name);
    }
    let line = Entry::Draft(DraftLine {
        peer: bob().certificate.agent,
        message_id: id(3),
        life: 3600,
        approve: approve.then(|| bob().root.public().id()),
        message: waits.clone(),
        copy: None,
        client_key: None,
    });
    let own = control("alice", 1, &alice().root);
    let decision = decided_about(&waits, 3, Decision::Approved, &own);
    let went = entry(Direction::Out, Ruling::Sent, signed);
    match approve {
        true => vec![line, decision, went],
        false => vec![line, went],
    }
}

#[test]
fn a_request_may_get_its_capability_when_it_leaves_and_nothing_else() {
    let what = "it says something else than its draft";
    let (same, other) = (json!({"number": 3}), json!({"number": 4}));
    let found = |approve, capability, body| {
        let report = prove(&left(approve, capability, body));
        let faults = faults(&report).into_iter();
        faults
            .map(|(line, what)| (line, what.to_owned()))
            .collect::<Vec<_>>()
    };
    let finds = "evenings.read";
    assert_eq!(found(false, None, &same), []);
    assert_eq!(found(false, Some(finds), &same), []);
    assert_eq!(
        found(false, Some(finds), &other),
        [(4, what.to_owned())],
        "what it asks for was changed as well"
    );
    assert_eq!(found(false, None, &other), [(4, what.to_owned())]);
    assert_eq!(found(true, None, &same), []);
    assert_eq!(
        found(true, Some(finds), &same),
        [(5, what.to_owned())],
        "a person approved it without"
    );
    // A notification gets no capability when it leaves: one that has a capability which its draft lacks is a fault.
    let mut told = draft(&alice(), &bob(), 3, "Told");
    told["params"]["headers"]["capability"] = finds.into();
    let told = entry(Direction::Out, Ruling::Sent, sign(told, &alice().key));
    let report = prove(&[draft_line(3, "Told", false), told]);
    assert_eq!(faults(&report), [(4, what)]);
}

/// The same statement twice, one line behind the other.
#[test]
fn a_word_that_is_copied_behind_itself_is_found() {
    let own = control("alice", 1, &alice().root);
    let what = "the person's word is not newer than the one that was obeyed before";
    let report = prove(&[paused(true, 1, &own), paused(true, 1, &own)]);
    assert_eq!(faults(&report), [(4, what)]);
}

/// How many messages the report says left unasked, after one whose draft asked, where this one left behind it.
fn unasked(value: Value) -> u64 {
    let message = match value.get("result") {
        Some(_) => answer(&alice(), &bob(), 9, 1),
        None => sign(value, &alice().key),
    };
    let report = prove(&[
        draft_line(3, "May I?", true),
        approved(3, "May I?"),
        sent(3, "May I?"),
        entry(Direction::Out, Ruling::Sent, message),
    ]);
    assert_eq!(faults(&report), []);
    let note = " left without approval although drafts of that tier asked for it before: for which tiers the person wanted to be asked then does not stand in the log";
    let counts = report.notes.iter().map(|note_of| {
        let told = note_of.strip_suffix(note).unwrap();
        told.split_once(' ').unwrap().0.parse::<u64>().unwrap()
    });
    counts.sum()
}

#[test]
fn what_leaves_unasked_is_counted_where_a_person_could_have_been_asked_about_it() {
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut value = draft(&alice(), &bob(), 9, "Nobody was asked");
        change(&mut value);
        unasked(value)
    };
    let without = |names: &'static [&'static str]| {
        move |value: &mut Value| {
            let envelope = value["params"].as_object_mut().unwrap();
            names.iter().for_each(|name| drop(envelope.remove(*name)));
        }
    };
    let named = |capability: &'static str| {
        move |value: &mut Value| {
            value["params"]["headers"]["capability"] = capability.into();
        }
    };
    assert_eq!(changed(&|_| {}), 1, "a notification");
    assert_eq!(changed(&without(&["body"])), 1, "a summary alone");
    assert_eq!(changed(&without(&["summary"])), 1, "a body alone");
    assert_eq!(
        changed(&without(&["summary", "body"])),
        0,
        "nothing is said"
    );
    assert_eq!(changed(&named("evenings.read")), 1);
    assert_eq!(
        changed(&named("signet.ping")),
        1,
        "words under the name of a ping"
    );
    let other_tier = |value: &mut Value| value["params"]["headers"]["data-tier"] = 1.into();
    assert_eq!(changed(&other_tier), 0, "no draft of that tier asked");
    let asked = request_draft(&alice(), &bob(), 9, "Nobody was asked");
    assert_eq!(unasked(asked), 1, "a request");
    assert_eq!(unasked(json!({"result": true})), 1, "an answer");
    let receipt = |value: &mut Value| {
        value["method"] = "agent.receipt".into();
        value["params"]["body"] = json!({"through": 4});
        let envelope = value["params"].as_object_mut().unwrap();
        envelope.remove("summary");
        envelope["headers"]
            .as_object_mut()
            .unwrap()
            .remove("sequence");
    };
    assert_eq!(changed(&receipt), 0, "daemons say it to each other");
}
