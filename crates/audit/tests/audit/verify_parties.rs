//! Whom a line is about: tasks that are handed over, copies of what was sealed, messages, and certificates of two keys.

use std::path::Path;

use signet_audit::{LogLine, LogReport, verify};
use signet_proto::certificate::{Certificate, CertificateRequest};
use signet_proto::entry::{
    Direction, Entry, HandoffLine, Offered, Ruling, TaskChange, TrustChange, Verdict,
};
use signet_proto::envelope::Message;
use signet_proto::handoff::{Authority, Chain, Link, MandateRequest};
use signet_proto::ids::Digest;
use signet_proto::keys::SigningKey;
use signet_proto::reject::Reason;

use crate::common::*;
use crate::forgeries::story;
use crate::verify_decisions::{faults, prove};

const NOT_OURS: &str = "the last mandate is not between this agent and the line's peer";

fn carol() -> Party {
    Party::new("agent-carol-001", "carol", 4)
}

/// An offer that Alice's log says went to Bob, of a mandate from one to the other.
pub(crate) fn offered(from: &Party, to: &Party, key: &SigningKey) -> Entry {
    let Entry::Handoff(line) = story::handoff(key) else {
        panic!("a handoff");
    };
    let request = MandateRequest {
        task: line.task,
        from: from.certificate.agent.clone(),
        to: to.certificate.agent.clone(),
        authority: Authority {
            capabilities: ["calendar.read".parse().unwrap()].into(),
            tier: 2,
            depth: 1,
            not_after: second(3600),
        },
        parent: None,
        issued_at: second(1),
    };
    let link = Link {
        mandate: request.sign(key).unwrap(),
        certificate: from.certificate.clone(),
    };
    Entry::Handoff(HandoffLine {
        change: TaskChange::Offered(Box::new(Offered {
            chain: Chain::begin(link),
            tier: 2,
            hops: 1,
            goal: None,
        })),
        ..line
    })
}

/// A line of Alice's about a mandate from one to the other, which she has from `peer` or gave to it.
fn handed(direction: Direction, peer: &Party, from: &Party, to: &Party) -> Entry {
    match offered(from, to, &from.key) {
        Entry::Handoff(line) => Entry::Handoff(HandoffLine {
            peer: peer.certificate.agent.clone(),
            direction,
            ..line
        }),
        other => other,
    }
}

#[test]
fn a_task_is_handed_over_between_this_agent_and_the_peer_of_the_line() {
    let (alice, bob, carol) = (alice(), bob(), carol());
    for (holds, line) in [
        (true, handed(Direction::Out, &bob, &alice, &bob)),
        (false, handed(Direction::Out, &carol, &alice, &bob)),
        (false, handed(Direction::Out, &bob, &carol, &bob)),
        (false, handed(Direction::Out, &bob, &bob, &alice)),
        (true, handed(Direction::In, &bob, &bob, &alice)),
        (false, handed(Direction::In, &carol, &bob, &alice)),
        (false, handed(Direction::In, &bob, &bob, &carol)),
        (false, handed(Direction::In, &bob, &alice, &bob)),
    ] {
        let report = prove(std::slice::from_ref(&line));
        let expected = if holds { vec![] } else { vec![(3, NOT_OURS)] };
        assert_eq!(faults(&report), expected, "{line:?}");
    }
}

/// The report on March alone, whose agent nobody can tell from a line of its own.
fn march_alone(entry: &Entry) -> LogReport {
    let dir = tempfile::tempdir().unwrap();
    drop(conversation(dir.path(), 0));
    let mut log = open(dir.path(), march());
    log.append(march(), entry).unwrap();
    log.commit().unwrap();
    verify(&[dir.path().join(MARCH)]).logs.remove(0)
}

#[test]
fn where_it_is_not_known_whose_log_it_is_a_task_is_held_against_the_peer_alone() {
    let (alice, bob, carol) = (alice(), bob(), carol());
    for (holds, line) in [
        (true, handed(Direction::Out, &bob, &alice, &bob)),
        (false, handed(Direction::Out, &carol, &alice, &bob)),
        (true, handed(Direction::In, &bob, &bob, &alice)),
        (false, handed(Direction::In, &carol, &bob, &alice)),
    ] {
        let report = march_alone(&line);
        let expected = if holds { vec![] } else { vec![(2, NOT_OURS)] };
        assert_eq!(faults(&report), expected, "{line:?}");
    }
}

/// An answer to `agent-bob` that is sealed for him.
fn sealed() -> Message {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/accepted/answer-sealed.json");
    let vector: serde_json::Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let input = vector["input"].as_str().unwrap();
    Message::from_value(serde_json::from_str(input).unwrap()).unwrap()
}

/// What is wrong with a line about the message, beside which a copy for the person stands.
fn fault_of_copied(ruling: Ruling, message: Message) -> Option<String> {
    let whose = match ruling {
        Ruling::Sent => message.headers.agent_id.clone(),
        _ => message.headers.recipient_id.clone(),
    };
    let direction = match ruling {
        Ruling::Sent => Direction::Out,
        _ => Direction::In,
    };
    let Entry::Message(verdict) = entry(direction, ruling, message) else {
        panic!("a message");
    };
    let copied = Entry::Message(Verdict {
        copy: sealed().sealed,
        ..verdict
    });
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path(), second(0));
    log.append(second(1), &copied).unwrap();
    log.commit().unwrap();
    let line: LogLine = read_all(dir.path()).remove(1);
    line.fault(&whose)
}

#[test]
fn a_copy_for_the_person_stands_beside_what_was_sealed_and_taken_or_sent() {
    let alone = "a `copy` stands only beside a sealed message that was accepted or sent";
    for ruling in [Ruling::Accepted, Ruling::Sent] {
        assert_eq!(fault_of_copied(ruling, sealed()), None, "{ruling:?}");
    }
    let refused = fault_of_copied(Ruling::Rejected(Reason::Expired), sealed());
    assert_eq!(refused.as_deref(), Some(alone));
    for (ruling, clear) in [
        (Ruling::Accepted, message(&bob(), &alice(), 3, "In clear")),
        (Ruling::Sent, message(&alice(), &bob(), 3, "In clear")),
    ] {
        assert_eq!(fault_of_copied(ruling, clear).as_deref(), Some(alone));
    }
}

#[test]
fn no_agent_writes_to_itself() {
    let what = "the message inside is not between this agent and the line's peer";
    let own = message(&alice(), &alice(), 3, "To myself");
    for (direction, ruling) in [
        (Direction::In, Ruling::Accepted),
        (Direction::Out, Ruling::Sent),
    ] {
        let report = prove(&[entry(direction, ruling, own.clone())]);
        assert_eq!(faults(&report), [(3, what)]);
    }
}

/// Bob's agent with a key of that number, under his root.
fn bob_with(seed: u8, serial: u64) -> Party {
    Party {
        certificate: certify("agent-bob-001", "bob", &key(seed), &bob().root, serial),
        key: key(seed),
        root: bob().root,
    }
}

fn said(by: &Party, number: u64) -> Entry {
    let message = message(by, &alice(), number, "Says");
    entry(Direction::In, Ruling::Accepted, message)
}

#[test]
fn what_was_signed_with_the_key_before_is_proven_also_behind_the_line_of_the_new_one() {
    let new = bob_with(50, 2);
    let renewed = Entry::trust(TrustChange::Renewed, new.certificate.clone());
    let report = prove(&[said(&bob(), 1), renewed, said(&new, 2), said(&bob(), 3)]);
    assert_eq!((faults(&report), report.signed), (vec![], 3));
}

#[test]
fn of_an_agent_s_keys_the_newest_are_remembered_and_a_peer_cannot_fill_the_memory() {
    let keys: Vec<Party> = (50..50 + 64)
        .zip(2..)
        .map(|(seed, serial)| bob_with(seed, serial))
        .collect();
    let renewed = |key: &Party| Entry::trust(TrustChange::Renewed, key.certificate.clone());
    let mut lines: Vec<Entry> = keys[..63].iter().map(renewed).collect();
    lines.push(said(&bob(), 1));
    assert_eq!(faults(&prove(&lines)), [], "64 with the first");
    lines.push(renewed(&keys[63]));
    lines.extend([said(&keys[0], 2), said(&keys[63], 3)]);
    assert_eq!(faults(&prove(&lines)), []);
    lines.push(said(&bob(), 4));
    let what = "no line before certifies the key that signed the message";
    assert_eq!(faults(&prove(&lines)), [(70, what)]);
}

/// A certificate of Bob's principal under that root, which names no other.
fn under(root: &SigningKey, agent: &str, serial: u64) -> Certificate {
    let old = bob().certificate;
    let request = CertificateRequest {
        agent: agent.parse().unwrap(),
        principal: old.principal,
        signing_key: key(60).public().clone(),
        layers: old.layers,
        versions: old.versions,
        serial,
        not_before: old.not_before,
        not_after: old.not_after,
        next_root: Digest([7; 32]),
    };
    request.sign(root).unwrap()
}

#[test]
fn a_root_that_nobody_named_does_not_come_to_count_by_being_claimed_again() {
    let what = "the certificate's root key is not the one known for its principal before";
    let other = key(61);
    let claimed = [
        ("agent-bob-001", 9),
        ("agent-bob-001", 10),
        ("agent-bob-002", 11),
    ];
    let lines = claimed
        .map(|(agent, serial)| Entry::trust(TrustChange::Renewed, under(&other, agent, serial)));
    let expected: Vec<_> = (3..6).map(|line| (line, what)).collect();
    assert_eq!(faults(&prove(&lines)), expected);
}
