//! Bundles: what another person can prove without this machine, and what not.

use std::fs;
use std::path::Path;

use data_encoding::BASE64;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use signet_audit::{BundleReport, ExportError, Exported, Span, export, verify};
use signet_proto::keys::fingerprint;

use crate::common::*;
use crate::pair::*;
use crate::tlog;

fn span(from: &str, to: &str) -> Span {
    Span {
        peer: "agent-bob-001".parse().unwrap(),
        from: at(from),
        to: at(to),
    }
}

fn february_and_march() -> Span {
    span("2026-02-01T00:00:00.000Z", "2026-04-01T00:00:00.000Z")
}

fn bundle(pair: &Pair, span: &Span) -> (String, Exported) {
    let mut out = Vec::new();
    let exported = export(&pair.alice.dir(), span, &mut out).unwrap();
    (String::from_utf8(out).unwrap(), exported)
}

fn prove(text: &str) -> BundleReport {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bundle.jsonl");
    fs::write(&path, text).unwrap();
    let mut report = verify(&[path]);
    assert!(
        report.unreadable.is_empty() && report.logs.is_empty(),
        "{report}"
    );
    assert_eq!(report.holds(), report.bundles[0].faults.is_empty());
    report.bundles.remove(0)
}

fn two_months() -> Pair {
    let mut pair = Pair::new();
    let carol = Party::new("agent-carol-001", "carol", 3);
    pair.alice.trust(&carol);
    pair.talk(12, second(10));
    pair.alice
        .send(&carol, 50, second(11), "Of no concern to Bob");
    pair.talk(9, march());
    pair.stop();
    pair
}

#[test]
fn what_was_said_with_one_peer_is_proven_without_the_log() {
    let pair = two_months();
    let (text, exported) = bundle(&pair, &february_and_march());
    assert_eq!((exported.lines, exported.left_out), (21, 0));
    let report = prove(&text);
    assert_eq!(report.faults, Vec::<String>::new());
    assert_eq!(
        (
            report.lines,
            report.signed["agent-alice-001"],
            report.signed["agent-bob-001"]
        ),
        (21, 11, 10)
    );
    assert!(
        !text.contains("agent-carol-001"),
        "what was said with others stays at home"
    );
    let sentence = report.sentence();
    for part in [
        "bundle of agent-alice-001 about agent-bob-001 from 2026-02-01T00:00:00.000Z to 2026-04-01T00:00:00.000Z: 21 lines",
        &format!(
            "11 by agent-alice-001 (root key: {})",
            fingerprint(alice().root.public())
        ),
        &format!(
            "10 by agent-bob-001 (root key: {})",
            fingerprint(bob().root.public())
        ),
        "that no line was left out, and that the log has no other version, it does not prove.",
    ] {
        assert!(sentence.contains(part), "no {part} in {sentence}");
    }
}

#[test]
fn another_implementation_proves_every_line_of_a_bundle() {
    let pair = two_months();
    let (text, _) = bundle(&pair, &february_and_march());
    let (mut tree, mut proof, mut proven) = ((0, [0; 32]), None, 0);
    for line in text.lines().skip(1) {
        let value: Value = serde_json::from_str(line).unwrap();
        if let Some(taken) = proof.take() {
            let (index, path): (u64, Vec<[u8; 32]>) = taken;
            assert_eq!(climb(line, index, tree.0, &path), tree.1);
            proven += 1;
            continue;
        }
        match value["kind"].as_str().unwrap() {
            "checkpoint" => {
                let month = value["month"].as_str().unwrap();
                let name = format!("signet/agent-alice-001/{month}");
                let file = pair.alice.lines(&format!("inter-agent-{month}.jsonl"));
                let first: Value = serde_json::from_str(&file[0]).unwrap();
                let key: signet_proto::keys::VerifyKey =
                    first["checkpoint-key"].as_str().unwrap().parse().unwrap();
                let (_, size, found) =
                    tlog::open(value["note"].as_str().unwrap(), &name, key.as_bytes()).unwrap();
                assert_eq!(found, tlog::root(&file[..size as usize]));
                tree = (size, found);
            }
            "proof" => {
                let path = value["path"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|hash| {
                        BASE64
                            .decode(hash.as_str().unwrap().as_bytes())
                            .unwrap()
                            .try_into()
                            .unwrap()
                    })
                    .collect();
                proof = Some((value["index"].as_u64().unwrap(), path));
            }
            other => panic!("{other}"),
        }
    }
    assert_eq!(
        proven,
        21 + 3,
        "messages, `genesis`, `open` and the trust in Bob"
    );
}

/// Computes the root by the recursive definition of PATH (RFC 6962, 2.1.1).
fn climb(line: &str, index: u64, size: u64, path: &[[u8; 32]]) -> [u8; 32] {
    let hash = |parts: &[&[u8]]| -> [u8; 32] { Sha256::digest(parts.concat()).into() };
    match path.split_last() {
        None => {
            assert_eq!(size, 1);
            hash(&[&[0], line.as_bytes()])
        }
        Some((last, rest)) => {
            let split = (0..63)
                .map(|bit| 1_u64 << bit)
                .take_while(|k| *k < size)
                .last()
                .unwrap();
            if index < split {
                hash(&[&[1], &climb(line, index, split, rest), last])
            } else {
                hash(&[&[1], last, &climb(line, index - split, size - split, rest)])
            }
        }
    }
}

#[test]
fn only_the_span_counts_and_the_certificates_come_from_before_it() {
    let pair = two_months();
    let (text, exported) = bundle(
        &pair,
        &span("2026-03-01T00:00:00.000Z", "2026-03-02T00:00:00.000Z"),
    );
    assert_eq!(exported.lines, 9);
    let report = prove(&text);
    assert_eq!(
        (report.faults.len(), report.lines),
        (0, 9),
        "{:?}",
        report.faults
    );
    assert!(text.contains("\"kind\":\"genesis\"") && text.contains("\"change\":\"bound\""));
}

#[test]
fn lines_that_no_checkpoint_covers_are_left_out_and_counted() {
    let mut pair = Pair::new();
    pair.talk(30, second(10));
    pair.alice.crash();
    let (text, exported) = bundle(&pair, &february_and_march());
    assert!(exported.left_out > 0);
    assert_eq!(exported.lines + exported.left_out, 30);
    let report = prove(&text);
    assert!(
        report.faults.is_empty() && report.sentence().contains("its maker left out"),
        "{}",
        report.sentence()
    );
}

fn forged(change: impl FnOnce(&mut Vec<String>)) -> BundleReport {
    let pair = two_months();
    let (text, _) = bundle(&pair, &february_and_march());
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    change(&mut lines);
    let report = prove(&(lines.join("\n") + "\n"));
    assert!(
        report.sentence().contains("it proves nothing"),
        "{}",
        report.sentence()
    );
    report
}

fn place(lines: &[String], what: &str) -> usize {
    lines.iter().position(|line| line.contains(what)).unwrap()
}

fn says(report: &BundleReport, what: &str) {
    assert!(
        report.faults.iter().any(|fault| fault.contains(what)),
        "no {what} in {:#?}",
        report.faults
    );
}

#[test]
fn attack_a_line_of_a_bundle_is_edited() {
    let report = forged(|lines| {
        let at = place(lines, "\"summary\":\"Message 3\"");
        lines[at] = lines[at].replacen("\"verdict\":\"sent\"", "\"verdict\":\"Sent\"", 1);
    });
    says(&report, "`verdict`");
    let report = forged(|lines| {
        let at = place(lines, "\"summary\":\"Message 3\"");
        lines[at] = lines[at].replacen("17:00:10.000Z", "17:00:09.000Z", 1);
    });
    says(&report, "does not lead to the checkpoint");
}

#[test]
fn attack_a_line_gets_the_proof_of_another() {
    let report = forged(|lines| {
        let (three, four) = (
            place(lines, "\"summary\":\"Message 3\""),
            place(lines, "\"summary\":\"Message 4\""),
        );
        lines.swap(three - 1, four - 1);
    });
    says(&report, "does not lead to the checkpoint");
}

#[test]
fn attack_a_line_is_put_in_without_a_proof_or_as_a_certificate() {
    let extra = |lines: &[String]| lines[place(lines, "\"summary\":\"Message 3\"")].clone();
    says(
        &forged(|lines| lines.push(extra(lines))),
        "neither a proof nor a checkpoint",
    );
    // A line announced as a certificate needs no proof of its place. A message must gain nothing by that: if it is
    // announced so, it is not counted.
    let pair = two_months();
    let (text, _) = bundle(&pair, &february_and_march());
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let at = place(&lines, "\"summary\":\"Message 3\"");
    lines[at - 1] = "{\"kind\":\"certificate\",\"month\":\"2026-02\"}".into();
    let report = prove(&(lines.join("\n") + "\n"));
    assert_eq!((report.lines, report.signed["agent-alice-001"]), (20, 10));
}

#[test]
fn attack_the_checkpoint_is_signed_with_another_key() {
    let report = forged(|lines| {
        let at = place(lines, "\"kind\":\"checkpoint\"");
        let value: Value = serde_json::from_str(&lines[at]).unwrap();
        let note = value["note"].as_str().unwrap();
        let (size, root) = (note.lines().nth(1).unwrap(), note.lines().nth(2).unwrap());
        let root = BASE64.decode(root.as_bytes()).unwrap().try_into().unwrap();
        let other = tlog::sign(
            "signet/agent-alice-001/2026-02",
            size.parse().unwrap(),
            &root,
            &[66; 32],
        );
        lines[at] = serde_json::json!({"kind": "checkpoint", "month": "2026-02", "note": other})
            .to_string();
    });
    says(
        &report,
        "not signed by the key that the month's first line names",
    );
}

#[test]
fn attack_the_bundle_is_cut_or_says_it_is_of_somebody_else() {
    says(&forged(|lines| drop(lines.pop())), "without its line");
    says(
        &forged(|lines| lines[0] = lines[0].replacen("agent-alice-001", "agent-eve-001", 1)),
        "not one of this agent",
    );
    says(
        &forged(|lines| {
            lines[0] = lines[0].replacen(
                "\"peer\":\"agent-bob-001\"",
                "\"peer\":\"agent-eve-001\"",
                1,
            )
        }),
        "not one with the peer",
    );
    says(
        &forged(|lines| lines.truncate(1)),
        "no line in it is proven",
    );
}

#[test]
fn garbage_that_calls_itself_a_bundle_is_told_and_kills_nothing() {
    for text in [
        "{\"kind\":\"bundle\"}\n",
        "{\"kind\":\"bundle\",\"v\":1,\"agent\":\"a\",\"peer\":5}\n{}\n[]\n\n\n",
        "{\"kind\":\"bundle\"}\n{\"kind\":\"proof\",\"month\":\"x\",\"index\":18446744073709551615,\"path\":[\"AA==\"]}\n{\"v\":1}\n",
        "{\"kind\":\"bundle\"}\n{\"kind\":\"checkpoint\",\"month\":\"2026-99\",\"note\":\"\"}\n{\"kind\":\"proof\"",
    ] {
        assert!(!prove(text).faults.is_empty(), "{text}");
    }
}

#[test]
fn a_log_that_does_not_hold_or_has_no_checkpoints_gives_no_bundle() {
    let pair = two_months();
    let path = pair.alice.file(FEBRUARY);
    let mut lines = lines_of(&path);
    lines.swap(5, 6);
    write_lines(&path, &lines);
    let refused = |dir: &Path| export(dir, &february_and_march(), &mut Vec::new()).unwrap_err();
    assert!(matches!(
        refused(&pair.alice.dir()),
        ExportError::DoesNotHold
    ));
    let old = tempfile::tempdir().unwrap();
    drop(conversation(old.path(), 4));
    assert!(matches!(refused(old.path()), ExportError::Nothing(_, 4)));
}
