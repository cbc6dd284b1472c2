//! Which lines of a log go into a bundle, and which stay at home.

use std::fs;
use std::path::Path;

use serde_json::Value;
use signet_audit::{BundleReport, Exported, Log, Span, export, verify};
use signet_proto::entry::{Direction, Entry, Ruling, TrustChange};
use signet_proto::keys::SigningKey;
use signet_proto::statement::Revocation;
use signet_proto::time::Timestamp;

use crate::common::*;
use crate::pair::*;

fn april() -> Timestamp {
    at("2026-04-02T00:00:00.000Z")
}

/// The lines of a bundle about Bob of that span, how many it has, and what verification says of it.
fn bundle(dir: &Path, from: Timestamp, to: Timestamp) -> (Vec<String>, Exported, BundleReport) {
    let log = verify(&[dir.to_owned()]);
    assert!(log.holds(), "{log}");
    let peer = bob().certificate.agent;
    let mut out = Vec::new();
    let exported = export(dir, &Span { peer, from, to }, &mut out).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bundle.jsonl");
    fs::write(&path, &out).unwrap();
    let mut report = verify(&[path]);
    assert!(report.holds(), "{report}");
    let lines = String::from_utf8(out).unwrap();
    let lines = lines.lines().map(str::to_owned).collect();
    (lines, exported, report.bundles.remove(0))
}

/// The report on each line of the log that is in the bundle: its kind, and by what it is proven.
fn kinds(lines: &[String]) -> Vec<(String, String)> {
    let word = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        value["kind"].as_str().unwrap().to_owned()
    };
    let mut found = Vec::new();
    let mut lines = lines.iter().skip(1);
    while let Some(line) = lines.next() {
        let by = word(line);
        if by != "checkpoint" {
            found.push((word(lines.next().unwrap()), by));
        }
    }
    found
}

fn count(lines: &[String], what: &str) -> usize {
    lines.iter().filter(|line| line.contains(what)).count()
}

#[test]
fn a_message_right_behind_the_last_checkpoint_is_left_out_and_counted() {
    let mut pair = Pair::new();
    pair.talk(30, second(10));
    pair.alice.crash();
    let lines = pair.alice.lines(FEBRUARY).len() as u64;
    let covered = verify(&[pair.alice.dir()]).logs[0].proven.unwrap().seq;
    assert!(lines > covered);
    let (text, exported, report) = bundle(&pair.alice.dir(), second(0), march());
    let expected = Exported {
        lines: covered - 2,
        left_out: lines - covered,
    };
    assert_eq!((exported, report.lines), (expected, expected.lines));
    let messages = kinds(&text)
        .into_iter()
        .filter(|(kind, _)| kind == "message");
    assert!(messages.into_iter().all(|(_, by)| by == "proof"));
    assert_eq!(count(&text, "\"summary\""), expected.lines as usize);
}

#[test]
fn a_certificate_right_behind_the_last_checkpoint_is_proven_by_itself() {
    let mut pair = Pair::new();
    pair.talk(6, second(10));
    pair.stop();
    let notes = fs::read(pair.alice.file(FEBRUARY_NOTES)).unwrap();
    pair.alice.start(second(20));
    let renewed = certify("agent-bob-001", "bob", &bob().key, &bob().root, 2);
    let line = Entry::trust(TrustChange::Renewed, renewed);
    pair.alice.write(second(21), &line);
    pair.alice.crash();
    // Put back the checkpoints from before this line, as if the daemon had been killed between the line and its
    // checkpoint.
    fs::write(pair.alice.file(FEBRUARY_NOTES), notes).unwrap();
    let (text, exported, _) = bundle(&pair.alice.dir(), second(0), march());
    assert_eq!((exported.lines, exported.left_out), (6, 0));
    let of = |kind: &str, by: &str| (kind.to_owned(), by.to_owned());
    let found = kinds(&text);
    assert_eq!(found.last(), Some(&of("trust", "certificate")));
    let proven = found.iter().filter(|(_, by)| by == "proof");
    assert_eq!(proven.count(), found.len() - 1);
}

#[test]
fn a_month_in_which_nothing_is_about_the_peer_is_not_in_the_bundle() {
    let mut pair = Pair::new();
    pair.talk(4, second(10));
    pair.alice.write(march(), &gap("of no concern to Bob"));
    pair.talk(4, april());
    pair.stop();
    let (text, exported, _) = bundle(&pair.alice.dir(), second(0), at("2026-05-01T00:00:00.000Z"));
    assert_eq!((exported.lines, exported.left_out), (8, 0));
    let months = ["2026-02", "2026-03", "2026-04"]
        .map(|month| count(&text, &format!("\"month\":\"{month}\"")));
    // In February a checkpoint and the proofs of `genesis`, `trust` and four messages; in April a checkpoint and the
    // proofs of `open` and four messages.
    assert_eq!(months, [7, 0, 6]);
}

/// Messages outside of the span are nobody's business, though their certificates may be needed.
#[test]
fn what_was_said_before_the_span_and_after_it_stays_out_but_for_certificates() {
    let mut pair = Pair::new();
    pair.talk(4, second(10));
    pair.talk(4, second(20));
    pair.talk(4, second(30));
    let renewed = certify(
        "agent-bob-001",
        "bob",
        &pair.bob.party.key,
        &pair.bob.party.root,
        2,
    );
    pair.alice
        .write(second(40), &Entry::trust(TrustChange::Renewed, renewed));
    pair.stop();
    let (text, exported, report) = bundle(&pair.alice.dir(), second(20), second(30));
    assert_eq!((exported.lines, report.lines), (4, 4));
    let said =
        (1..=12).filter(|number| count(&text, &format!("\"summary\":\"Message {number}\"")) > 0);
    assert_eq!(said.collect::<Vec<_>>(), [5, 6, 7, 8]);
    assert_eq!(
        count(&text, "\"change\":\"renewed\""),
        0,
        "it was renewed later"
    );
    let (text, _, _) = bundle(&pair.alice.dir(), second(20), second(41));
    assert_eq!(count(&text, "\"change\":\"renewed\""), 1);
}

/// The first message of a handshake, with the certificate of its sender or without.
fn flight(from: &Party, number: u64, brings: bool) -> Entry {
    let mut value = draft(from, &alice(), number, "");
    value["method"] = "agent.announce".into();
    let params = value["params"].as_object_mut().unwrap();
    params.remove("summary");
    params["body"] = match brings {
        true => serde_json::json!({"certificate": from.certificate.to_value()}),
        false => serde_json::json!({"nonce": "none"}),
    };
    let headers = params["headers"].as_object_mut().unwrap();
    headers.remove("session");
    headers.remove("sequence");
    entry(Direction::In, Ruling::Accepted, sign(value, &from.key))
}

/// Of the messages before the span those that bring a certificate are needed, because they prove what came later.
#[test]
fn a_handshake_before_the_span_goes_in_where_it_brings_the_peer_s_certificate() {
    let carol = Party::new("agent-carol-001", "carol", 3);
    let mut pair = Pair::new();
    pair.alice.trust(&carol);
    pair.alice.write(second(5), &flight(&bob(), 40, true));
    pair.alice.write(second(6), &flight(&bob(), 41, false));
    pair.alice.write(second(7), &flight(&carol, 42, true));
    pair.talk(2, second(10));
    pair.stop();
    let (text, exported, _) = bundle(&pair.alice.dir(), second(10), second(11));
    assert_eq!(exported.lines, 2);
    let found = kinds(&text);
    let of = |kind: &str| found.iter().filter(|(found, _)| found == kind).count();
    assert_eq!((of("genesis"), of("trust"), of("message")), (1, 1, 3));
    assert_eq!(
        (
            count(&text, "agent.announce"),
            count(&text, "agent-carol-001")
        ),
        (1, 0)
    );
}

/// That a certificate of one of the two persons was taken back is told to whoever is to believe it, and no other's.
#[test]
fn what_is_revoked_of_the_two_persons_stands_in_the_bundle_and_of_nobody_else() {
    let revoked = |person: &str, root: &SigningKey| {
        let person = person.parse().unwrap();
        let agent = "agent-spare-001".parse().unwrap();
        Entry::Revoked(Revocation::sign(&person, &agent, 1, "lost", second(1), root).unwrap())
    };
    let carol = Party::new("agent-carol-001", "carol", 3);
    let mut pair = Pair::new();
    pair.alice.trust(&carol);
    for (person, party) in [("alice", alice()), ("bob", bob()), ("carol", carol)] {
        pair.alice.write(second(5), &revoked(person, &party.root));
    }
    pair.talk(2, second(10));
    pair.stop();
    let (text, _, _) = bundle(&pair.alice.dir(), second(10), second(11));
    let persons = ["alice", "bob", "carol"];
    let told = persons.map(|person| {
        let of = format!("\"principal-id\":\"{person}\",\"reason\"");
        count(&text, &of)
    });
    assert_eq!(told, [1, 1, 0], "{text:#?}");
}

/// Lines of certificates prove themselves, so a month that no checkpoint covers gives no other line of its own.
#[test]
fn of_a_month_without_checkpoints_only_certificates_are_in_the_bundle() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("audit");
    let mut log = open(&dir, second(0));
    log.append(second(0), &trust_bob()).unwrap();
    log.append(second(1), &accepted(1, "In february")).unwrap();
    let renewed = certify("agent-bob-001", "bob", &bob().key, &bob().root, 2);
    log.append(march(), &Entry::trust(TrustChange::Renewed, renewed))
        .unwrap();
    log.commit().unwrap();
    drop(log);
    let custody = keys(&home.path().join("keys"));
    let mut log = Log::open_with(&dir, march(), &genesis(), custody).unwrap();
    log.append(april(), &accepted(2, "In april")).unwrap();
    log.commit().unwrap();
    log.checkpoint().unwrap();
    drop(log);
    let (text, exported, _) = bundle(&dir, second(0), at("2026-05-01T00:00:00.000Z"));
    assert_eq!((exported.lines, exported.left_out), (1, 1));
    let found = kinds(&text);
    let found: Vec<_> = found
        .iter()
        .map(|(kind, by)| (kind.as_str(), by.as_str()))
        .collect();
    let expected = [
        ("genesis", "certificate"),
        ("trust", "certificate"),
        ("trust", "certificate"),
        ("open", "proof"),
        ("message", "proof"),
    ];
    assert_eq!(found, expected);
}
