//! Lines of people's decisions: what a forged one claims is found, and a claim alone certifies nobody.

use signet_audit::{LogReport, verify};
use signet_proto::certificate::{Certificate, CertificateRequest};
use signet_proto::entry::{Direction, Entry, Ruling, TrustChange};
use signet_proto::ids::Digest;
use signet_proto::keys::SigningKey;
use signet_proto::statement::Revocation;

use crate::common::*;

/// The report on Alice's log, in which Bob is bound, with these lines more (from the third on).
fn prove(entries: &[Entry]) -> LogReport {
    let dir = tempfile::tempdir().unwrap();
    let mut log = conversation(dir.path(), 0);
    for (number, entry) in (1..).zip(entries) {
        log.append(second(number), entry).unwrap();
    }
    log.commit().unwrap();
    verify(&[dir.path().to_owned()]).logs.remove(0)
}

fn faults(report: &LogReport) -> Vec<(u64, &str)> {
    let fault = |fault: &signet_audit::LogFault| fault.line;
    let lines = report.faults.iter().map(fault);
    let texts = report.faults.iter().map(|fault| fault.what.as_str());
    lines.zip(texts).collect()
}

fn revocation(principal: &str, agent: &str, root: &SigningKey) -> Revocation {
    let (person, agent) = (principal.parse().unwrap(), agent.parse().unwrap());
    Revocation::sign(&person, &agent, 1, "lost", second(1), root).unwrap()
}

/// Bob's agent under whichever root, which names `next` as its successor.
fn bob_under(root: &SigningKey, serial: u64, next: &SigningKey) -> Certificate {
    let bob = bob();
    let old = bob.certificate;
    let request = CertificateRequest {
        agent: old.agent,
        principal: old.principal,
        signing_key: key(50).public().clone(),
        layers: old.layers,
        versions: old.versions,
        serial,
        not_before: old.not_before,
        not_after: old.not_after,
        next_root: Digest::of(&[next.public().as_bytes()]),
    };
    request.sign(root).unwrap()
}

/// A message of Bob's under the key of such a certificate.
fn said(certificate: Certificate, number: u64) -> Entry {
    let party = Party {
        certificate,
        key: key(50),
        root: key(102),
    };
    let message = message(&party, &alice(), number, "with the new key");
    entry(Direction::In, Ruling::Accepted, message)
}

#[test]
fn a_revocation_by_the_pinned_root_holds() {
    let own = revocation("bob", "agent-bob-001", &bob().root);
    assert_eq!(faults(&prove(&[Entry::Revoked(own)])), []);
}

#[test]
fn a_forged_revocation_line_is_found() {
    let what = "the revocation's root key is not the one known for its principal";
    for forged in [
        revocation("bob", "agent-bob-001", &key(60)),
        revocation("bob", "agent-bob-001", &alice().root),
        revocation("dave", "agent-dave-001", &key(60)),
    ] {
        assert_eq!(faults(&prove(&[Entry::Revoked(forged)])), [(3, what)]);
    }
}

#[test]
fn a_revocation_of_the_replaced_root_is_found() {
    let new = key(60);
    let replaced = Entry::trust(TrustChange::RootReplaced, bob_under(&new, 2, &key(61)));
    let by = |root: &SigningKey| Entry::Revoked(revocation("bob", "agent-bob-001", root));
    let report = prove(&[replaced, by(&new), by(&bob().root)]);
    assert_eq!(report.faults.len(), 1, "{:#?}", report.faults);
    assert_eq!(report.faults[0].line, 5);
}

#[test]
fn a_revocation_whose_words_were_changed_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = conversation(dir.path(), 0);
    let own = revocation("bob", "agent-bob-001", &bob().root);
    log.append(second(1), &Entry::Revoked(own)).unwrap();
    log.commit().unwrap();
    drop(log);
    let path = dir.path().join(FEBRUARY);
    let mut lines = lines_of(&path);
    for (from, to) in [("\"serial\":1", "\"serial\":9"), ("lost", "sold")] {
        let before = lines[2].clone();
        lines[2] = before.replacen(from, to, 1);
        assert_ne!(lines[2], before);
        write_lines(&path, &lines);
        let report = verify(&[dir.path().to_owned()]).logs.remove(0);
        let found = faults(&report);
        let named = |(line, what): &(u64, &str)| *line == 3 && what.contains("`revocation`");
        assert!(found.iter().any(named), "{found:?}");
        lines[2] = before;
    }
}

/// The line says so; the root that was pinned before did not.
#[test]
fn a_root_that_nobody_named_succeeds_nobody() {
    let usurper = bob_under(&key(60), 2, &key(61));
    let line = Entry::trust(TrustChange::RootSucceeded, usurper.clone());
    let report = prove(&[line, said(usurper, 1)]);
    let what = "the certificate's root key is not the one known for its principal before";
    assert_eq!(faults(&report)[0], (3, what));
    assert_eq!(faults(&report)[1].0, 4, "nor does its key sign for Bob");
}

#[test]
fn the_root_that_the_pinned_one_named_succeeds_it() {
    let next = key(60);
    let named = bob_under(&bob().root, 2, &next);
    let successor = bob_under(&next, 3, &key(61));
    let report = prove(&[
        Entry::trust(TrustChange::Renewed, named),
        Entry::trust(TrustChange::RootSucceeded, successor.clone()),
        said(successor, 3),
        Entry::trust(TrustChange::Renewed, bob_under(&bob().root, 9, &key(61))),
    ]);
    let found = faults(&report);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, 6, "the old root's newer certificate");
}

#[test]
fn who_asked_was_refused_or_withdrawn_or_raised_an_alarm_is_not_certified_by_it() {
    let eve = Party::new("agent-eve-001", "eve", 3);
    let claim = |change| Entry::trust(change, eve.certificate.clone());
    for change in [
        TrustChange::Pending,
        TrustChange::Refused,
        TrustChange::RootChanged,
        TrustChange::Withdrawn,
    ] {
        let heard = entry(
            Direction::In,
            Ruling::Accepted,
            message(&eve, &alice(), 1, "hi"),
        );
        let report = prove(&[claim(change), heard]);
        let what = "no line before certifies the key that signed the message";
        assert_eq!(faults(&report), [(4, what)], "{change:?}");
    }
    let heard = entry(
        Direction::In,
        Ruling::Accepted,
        message(&eve, &alice(), 1, "hi"),
    );
    let report = prove(&[
        claim(TrustChange::Pending),
        claim(TrustChange::Bound),
        heard,
    ]);
    assert_eq!(faults(&report), []);
}

/// Otherwise an announce would be enough to take the name of a person whom nobody knows yet.
#[test]
fn a_pending_line_takes_no_name() {
    let squatter = Party::new("agent-eve-001", "eve", 3);
    let real = Party::new("agent-eve-001", "eve", 4);
    let report = prove(&[
        Entry::trust(TrustChange::Pending, squatter.certificate),
        Entry::trust(TrustChange::Bound, real.certificate),
    ]);
    assert_eq!(faults(&report), []);
}
