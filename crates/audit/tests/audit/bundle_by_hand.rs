//! Bundles that their maker wrote by hand, over lines that stand in a log and say what is not so: whoever has the key of
//! the month can prove any line to stand there, and gains nothing by it.

use std::fs;

use data_encoding::BASE64;
use serde_json::{Value, json};
use signet_audit::{BundleReport, ProgressFn, Settings, VerifyReport, verify, verify_with};
use signet_proto::entry::{Direction, Entry, Ruling, TrustChange};
use signet_proto::keys::SigningKey;
use signet_proto::reject::Reason;
use signet_proto::statement::Revocation;

use crate::common::*;
use crate::pair::{FEBRUARY_KEY, Side};
use crate::tlog;
use crate::verify_parties::offered;

const ORIGIN: &str = "signet/agent-alice-001/2026-02";
const TOO_OLD: &str = "2025-12-31T23:00:00.000Z";

/// Alice's lines, of which the first binds Bob.
fn lines(entries: &[Entry]) -> (Vec<String>, [u8; 32]) {
    let mut side = Side::new(alice());
    side.trust(&bob());
    for (number, entry) in (1..).zip(entries) {
        side.write(second(number), entry);
    }
    (side.lines(FEBRUARY), tlog::seed(&side.key(FEBRUARY_KEY)))
}

/// PATH(m, D[n]), by its definition (RFC 6962, 2.1.1).
fn path(lines: &[String], index: usize) -> Vec<tlog::Hash> {
    if lines.len() == 1 {
        return Vec::new();
    }
    let split = lines.len().next_power_of_two() / 2;
    let (left, right) = lines.split_at(split);
    let (mut path, other) = match index < split {
        true => (path(left, index), right),
        false => (path(right, index - split), left),
    };
    path.push(tlog::root(other));
    path
}

fn header() -> Value {
    let (from, to) = (second(0).to_string(), march().to_string());
    json!({"v": 1, "kind": "bundle", "agent": "agent-alice-001", "peer": "agent-bob-001", "from": from, "to": to})
}

/// The bundle's lines: its header, the checkpoint, and each line of the month behind its proof.
fn bundle(header: &Value, entries: &[Entry]) -> Vec<String> {
    let (lines, seed) = lines(entries);
    let note = tlog::sign(ORIGIN, lines.len() as u64, &tlog::root(&lines), &seed);
    let checkpoint = json!({"kind": "checkpoint", "month": "2026-02", "note": note});
    let mut text = vec![header.to_string(), checkpoint.to_string()];
    for (index, line) in lines.iter().enumerate() {
        let path = path(&lines, index);
        let path: Vec<String> = path.iter().map(|hash| BASE64.encode(hash)).collect();
        let proof = json!({"kind": "proof", "month": "2026-02", "index": index, "path": path});
        text.extend([proof.to_string(), line.clone()]);
    }
    text
}

fn report(text: &[String], findings: usize) -> VerifyReport {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("bundle.jsonl");
    fs::write(&file, text.join("\n") + "\n").unwrap();
    let settings = Settings {
        findings,
        ..Settings::default()
    };
    verify_with(&[file], settings, &mut ProgressFn::new(|_, _| {}))
}

fn prove(text: &[String]) -> BundleReport {
    report(text, 100).bundles.remove(0)
}

fn of(entries: &[Entry]) -> BundleReport {
    prove(&bundle(&header(), entries))
}

fn revoked(root: &SigningKey) -> Entry {
    let (person, agent) = ("bob".parse().unwrap(), "agent-bob-001".parse().unwrap());
    Entry::Revoked(Revocation::sign(&person, &agent, 1, "lost", second(1), root).unwrap())
}

/// A message that its sender signed before its certificate began.
fn early(from: &Party, to: &Party, direction: Direction, ruling: Ruling) -> Entry {
    let mut value = draft(from, to, 3, "With a wrong clock");
    value["params"]["headers"]["timestamp"] = TOO_OLD.into();
    entry(direction, ruling, sign(value, &from.key))
}

#[test]
fn what_a_log_may_honestly_say_about_a_peer_is_proven_and_counted() {
    let expired = Ruling::Rejected(Reason::CertificateExpired);
    for (what, entry, signed) in [
        ("a message", accepted(3, "Asks"), [0, 1]),
        ("a revocation", revoked(&bob().root), [0, 0]),
        ("an offer", offered(&alice(), &bob(), &alice().key), [0, 0]),
        (
            "a peer's wrong clock",
            early(&bob(), &alice(), Direction::In, expired),
            [0, 1],
        ),
        (
            "its own wrong clock",
            early(&alice(), &bob(), Direction::Out, Ruling::Sent),
            [1, 0],
        ),
    ] {
        let counts = u64::from(what != "a revocation");
        let report = of(&[entry, sent(4, "Says")]);
        assert_eq!(report.faults, Vec::<String>::new(), "{what}");
        assert_eq!(report.lines, 1 + counts, "{what}");
        let count = |agent| report.signed.get(agent).copied().unwrap_or(0);
        let found = [count("agent-alice-001") - 1, count("agent-bob-001")];
        assert_eq!(found, signed, "{what}");
    }
}

#[test]
fn a_false_line_that_its_maker_proves_to_stand_in_the_log_proves_nothing() {
    let (eve, carol) = (
        Party::new("agent-eve-001", "eve", 3),
        Party::new("agent-carol-001", "carol", 4),
    );
    let usurper = certify("agent-bob-001", "bob", &key(40), &key(41), 2);
    let accepted_of = |message| entry(Direction::In, Ruling::Accepted, message);
    for (entry, what) in [
        (
            revoked(&key(60)),
            "the revocation's root key is not the one known for its principal",
        ),
        (
            Entry::trust(TrustChange::Renewed, usurper),
            "the certificate's root key is not the one known for its principal before",
        ),
        (
            offered(&alice(), &carol, &alice().key),
            "the last mandate is not between this agent and the line's peer",
        ),
        (
            offered(&alice(), &bob(), &key(60)),
            "the chain of mandates does not hold: a signature or a link is wrong, or a step is wider than the one before",
        ),
        (
            early(&bob(), &alice(), Direction::In, Ruling::Accepted),
            "the sender's certificate was not valid at the message's timestamp",
        ),
        (
            early(
                &bob(),
                &alice(),
                Direction::In,
                Ruling::Rejected(Reason::TierNotGranted),
            ),
            "the sender's certificate was not valid at the message's timestamp",
        ),
        (
            accepted_of(sign(draft(&bob(), &alice(), 3, "x"), &eve.key)),
            "the message's signature does not hold",
        ),
        (
            entry(
                Direction::In,
                Ruling::Sent,
                message(&bob(), &alice(), 3, "x"),
            ),
            "`sent` is only for what went out",
        ),
    ] {
        let report = of(&[entry, sent(4, "Says")]);
        assert_eq!(report.faults, [format!("line 8: {what}")]);
    }
    let report = of(&[
        accepted_of(message(&eve, &alice(), 3, "x")),
        sent(4, "Says"),
    ]);
    assert_eq!(
        report.faults,
        [
            "line 8: the message is not one with the peer that the bundle is about",
            "line 8: no line before certifies the key that signed the message",
        ]
    );
}

#[test]
fn lines_outside_of_the_span_bring_certificates_and_count_for_nothing() {
    let mut header = header();
    (header["from"], header["to"]) = (second(2).to_string().into(), second(4).to_string().into());
    let talked: Vec<Entry> = (3..=6).map(|number| accepted(number, "Says")).collect();
    let report = prove(&bundle(&header, &talked));
    assert_eq!(report.faults, Vec::<String>::new());
    assert_eq!((report.lines, report.signed["agent-bob-001"]), (2, 2));
}

#[test]
fn of_whom_else_the_bundle_has_certificates_no_root_key_is_told() {
    let sister = certify("agent-bob-002", "bob", &key(50), &bob().root, 1);
    let bound = Entry::trust(TrustChange::Bound, sister);
    let report = of(&[bound, accepted(3, "Asks")]);
    assert_eq!(report.faults, Vec::<String>::new());
    let told: Vec<&str> = report.roots.keys().map(String::as_str).collect();
    assert_eq!(told, ["agent-alice-001", "agent-bob-001"]);
}

#[test]
fn a_bundle_says_of_which_version_agent_and_peer_it_is_or_proves_nothing() {
    let honest = bundle(&header(), &[accepted(3, "Asks")]);
    assert_eq!(prove(&honest).faults, Vec::<String>::new());
    let unsaid =
        "line 1: the first line does not say of which version, agent and peer the bundle is";
    for (name, value) in [
        ("v", json!(2)),
        ("v", Value::Null),
        ("agent", Value::Null),
        ("agent", json!("no agent")),
        ("peer", Value::Null),
        ("peer", json!(5)),
    ] {
        let mut header = header();
        header[name] = value.clone();
        let mut text = honest.clone();
        text[0] = header.to_string();
        let faults = prove(&text).faults;
        assert_eq!(faults[0], unsaid, "{name} {value}");
    }
}

#[test]
fn a_proof_is_whole_and_only_what_calls_itself_a_certificate_needs_none() {
    let honest = bundle(&header(), &[accepted(3, "Asks")]);
    let proof: Value = serde_json::from_str(&honest[6]).unwrap();
    let without = |name: &str, kind: &str| {
        let mut proof = proof.clone();
        proof.as_object_mut().unwrap().remove(name);
        proof["kind"] = kind.into();
        let mut text = honest.clone();
        text[6] = proof.to_string();
        let report = prove(&text);
        (report.faults, report.lines)
    };
    let (malformed, unproven) = (
        "line 7: the proof is malformed",
        "line 8: neither a proof nor a checkpoint",
    );
    for name in ["path", "index", "month"] {
        let (faults, lines) = without(name, "proof");
        assert_eq!(faults, [malformed, unproven], "{name}");
        assert_eq!(lines, 0, "{name}");
    }
    let (faults, lines) = without("path", "certificate");
    assert_eq!(
        faults,
        ["line 8: no line in it is proven to stand in a log"]
    );
    assert_eq!(lines, 0);
}

#[test]
fn of_many_faults_of_a_bundle_as_many_are_told_as_were_asked_for_and_all_are_counted() {
    let mut text = bundle(&header(), &[accepted(3, "Asks")]);
    text.extend([
        "[]".to_owned(),
        "[]".to_owned(),
        "[]".to_owned(),
        "[]".to_owned(),
    ]);
    for (findings, told, more) in [(1, 1, 3), (3, 3, 1), (4, 4, 0), (100, 4, 0)] {
        let report = report(&text, findings);
        let bundle = &report.bundles[0];
        assert_eq!((bundle.faults.len(), bundle.more_faults), (told, more));
        assert_eq!(report.to_json()["bundles"][0]["faults-left-out"], more);
        let begin = "NOT OK: 4 findings in the bundle of agent-alice-001 about agent-bob-001";
        assert!(report.headline().starts_with(begin), "{report}");
        let line = match more {
            0 => String::new(),
            1 => "… and 1 finding more (--all tells each)\n".to_owned(),
            more => format!("… and {more} findings more (--all tells each)\n"),
        };
        let told = bundle.to_string();
        assert_eq!(told.contains("--all"), more > 0, "{told}");
        assert!(told.contains(&line), "{told}");
    }
}

#[test]
fn a_bundle_that_its_log_s_own_program_writes_counts_what_was_handed_over() {
    let mut side = Side::new(alice());
    side.trust(&bob());
    side.write(second(1), &offered(&alice(), &bob(), &alice().key));
    side.write(second(2), &revoked(&bob().root));
    side.stop();
    let span = signet_audit::Span {
        peer: "agent-bob-001".parse().unwrap(),
        from: second(0),
        to: march(),
    };
    let mut out = Vec::new();
    let exported = signet_audit::export(&side.dir(), &span, &mut out).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("bundle.jsonl");
    fs::write(&file, &out).unwrap();
    let report = verify(&[file]);
    assert!(report.holds(), "{report}");
    assert_eq!((exported.lines, report.bundles[0].lines), (1, 1));
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("\"revocation\":"), "{text}");
}
