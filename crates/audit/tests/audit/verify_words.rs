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
    // A notification waits for no capability.
    let mut told = draft(&alice(), &bob(), 3, "Told");
    told["params"]["headers"]["capability"] = finds.into();
    let told = entry(Direction::Out, Ruling::Sent, sign(told, &alice().key));
    let report = prove(&[draft_line(3, "Told", false), told]);
    assert_eq!(faults(&report), [(4, what)]);
}
