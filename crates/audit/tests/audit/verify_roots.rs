//! Roots that people changed: what a node writes of it verifies, and nobody else's root gains by it.

use signet_audit::{LogReport, verify};
use signet_proto::certificate::{Certificate, CertificateRequest, KEYS_LIFE, KeyStatement};
use signet_proto::draft::Identity;
use signet_proto::entry::{Direction, Entry, Ruling, TrustChange};
use signet_proto::headers::Layers;
use signet_proto::ids::{Digest, Version};
use signet_proto::keys::{SealSecret, SigningKey};
use signet_proto::node::{At, Node};
use signet_proto::policy::Policy;

use crate::common::*;

const OTHERS: &str = "the certificate's root key is not the one known for its principal before";

/// A certificate whose root is `root`, and names `next`; of the key `seed`.
fn certified(
    (agent, principal): (&str, &str),
    seed: u8,
    serial: u64,
    root: &SigningKey,
    next: u8,
) -> Certificate {
    let request = CertificateRequest {
        agent: agent.parse().unwrap(),
        principal: principal.parse().unwrap(),
        signing_key: key(seed).public().clone(),
        layers: Layers::of(&[0, 1, 2, 3]),
        versions: vec![Version::CURRENT],
        serial,
        not_before: at("2026-01-01T00:00:00.000Z"),
        not_after: at("2027-01-01T00:00:00.000Z"),
        next_root: Digest::of(&[key(next).public().as_bytes()]),
    };
    request.sign(root).unwrap()
}

const ALICES: (&str, &str) = ("agent-alice-001", "alice");
const BOBS: (&str, &str) = ("agent-bob-001", "bob");

/// Alice's node with that certificate of the key `seed`, as it starts.
fn node(certificate: Certificate, seed: u8) -> Node {
    let (signing, secret) = (key(seed), SealSecret::of(zeroize::Zeroizing::new([8; 32])));
    let until = second(0).saturating_add(KEYS_LIFE);
    let agent = certificate.agent.clone();
    let keys = KeyStatement::sign(&agent, secret.public(), 1, until, &signing).unwrap();
    let identity = Identity {
        certificate,
        keys,
        signing,
        former: Vec::new(),
        layers: Layers::of(&[0, 1, 2, 3]),
        secrets: vec![secret],
        control: None,
    };
    Node::new(identity, Policy::default(), [9; 32])
}

fn now(number: u64) -> At {
    At {
        now: second(number),
        elapsed: std::time::Duration::from_secs(number),
        head: None,
    }
}

/// The report on Alice's log with these lines after its first.
fn prove(entries: &[Entry]) -> LogReport {
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path(), second(0));
    for (number, entry) in (1..).zip(entries) {
        log.append(second(number), entry).unwrap();
    }
    log.commit().unwrap();
    verify(&[dir.path().to_owned()]).logs.remove(0)
}

fn faults(report: &LogReport) -> Vec<(u64, &str)> {
    let faults = report.faults.iter();
    faults
        .map(|fault| (fault.line, fault.what.as_str()))
        .collect()
}

/// A message under a certificate of the key `seed`.
fn signed(certificate: &Certificate, seed: u8, number: u64) -> Entry {
    let party = Party {
        certificate: certificate.clone(),
        key: key(seed),
        root: key(200),
    };
    let own = certificate.agent.as_str() == ALICES.0;
    let (direction, ruling, to) = match own {
        true => (Direction::Out, Ruling::Sent, bob()),
        false => (Direction::In, Ruling::Accepted, alice()),
    };
    let message = message(&party, &to, number, "with the new key");
    entry(direction, ruling, message)
}

#[test]
fn two_rotations_of_the_own_root_between_two_starts_verify() {
    let third = certified(ALICES, 51, 3, &key(61), 62);
    let mut node = node(third.clone(), 51);
    node.recall(second(0), &genesis());
    let written = node.turn(now(1)).resume().entries;
    let expected = Entry::trust(TrustChange::RootSucceeded, third.clone());
    assert_eq!(written, [expected]);
    let sister = certified(("agent-alice-002", "alice"), 52, 1, &key(61), 62);
    let mut lines = written;
    lines.push(trust_bob());
    lines.push(signed(&third, 51, 3));
    lines.push(Entry::trust(TrustChange::Bound, sister));
    assert_eq!(faults(&prove(&lines)), []);
}

/// Only our own certificate is what our keys say: of anybody else a root must have been named.
#[test]
fn a_root_that_only_a_sister_brings_is_found() {
    let sister = certified(("agent-alice-002", "alice"), 52, 1, &key(61), 62);
    for change in [TrustChange::Bound, TrustChange::RootSucceeded] {
        let report = prove(&[Entry::trust(change, sister.clone())]);
        assert_eq!(faults(&report), [(2, OTHERS)], "{change:?}");
    }
}

/// Bob's first root, whose certificate names the second, and what the second certifies.
fn bobs() -> (Certificate, Certificate) {
    let first = certified(BOBS, 53, 1, &bob().root, 60);
    (first, certified(BOBS, 54, 1, &key(60), 61))
}

#[test]
fn a_certificate_bound_again_after_a_succession_verifies() {
    let (first, _) = bobs();
    let second_agent = certified(("agent-bob-002", "bob"), 55, 1, &key(60), 61);
    let mut node = node(alice().certificate, 1);
    let mut lines = Vec::new();
    for certificate in [&first, &second_agent] {
        lines.extend(
            node.turn(now(1))
                .people()
                .bind(certificate)
                .unwrap()
                .entries,
        );
    }
    let withdrawn = node.turn(now(2)).people().withdraw(&first.agent).unwrap();
    lines.extend(withdrawn.entries);
    let again = node.turn(now(3)).people().bind(&first).unwrap().entries;
    assert_eq!(again, [Entry::trust(TrustChange::Bound, first.clone())]);
    lines.extend(again);
    lines.push(signed(&first, 53, 6));
    assert_eq!(faults(&prove(&lines)), []);
    let number = u64::try_from(lines.len()).unwrap() + 2;
    let unseen = certified(BOBS, 56, 2, &bob().root, 60);
    lines.push(Entry::trust(TrustChange::Bound, unseen));
    assert_eq!(faults(&prove(&lines)), [(number, OTHERS)]);
}

#[test]
fn a_successor_that_a_person_adds_is_written_as_one_and_verifies() {
    let (first, next) = bobs();
    let mut node = node(alice().certificate, 1);
    let mut lines = node.turn(now(1)).people().bind(&first).unwrap().entries;
    lines.extend(node.turn(now(2)).people().bind(&next).unwrap().entries);
    let trust = |change, certificate: &Certificate| Entry::trust(change, certificate.clone());
    let expected = [
        trust(TrustChange::Bound, &first),
        trust(TrustChange::Bound, &next),
        trust(TrustChange::RootSucceeded, &next),
    ];
    assert_eq!(lines, expected);
    lines.push(signed(&next, 54, 4));
    assert_eq!(faults(&prove(&lines)), []);
}
