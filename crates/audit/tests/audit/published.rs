//! `vectors/log`, for implementations in other languages: a log with its checkpoints, as it is and spoiled. An ignored test
//! writes it: `cargo test --workspace --test audit write_the_published -- --ignored`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use signet_audit::{CheckpointKeys, Log, verify};
use signet_proto::ids::Digest;
use zeroize::Zeroizing;

use crate::common::*;
use crate::pair::FEBRUARY_NOTES;
use crate::tlog;

/// The secret of the month's checkpoints.
const SEED: [u8; 32] = [0x5c; 32];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/log")
}

/// Genesis, trust in Bob, four messages, and a checkpoint after the first line, the decision and the last: always the same.
fn log() -> (Vec<String>, String) {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("audit");
    let keys = CheckpointKeys::new(home.path().join("keys"), || Ok(Zeroizing::new(SEED)));
    let mut log = Log::open_with(&dir, second(0), &genesis(), keys).unwrap();
    log.append(second(0), &trust_bob()).unwrap();
    for number in 1..=4 {
        let entry = match number % 2 {
            1 => accepted(number, "Asks"),
            _ => sent(number, "Answers"),
        };
        log.append(second(number), &entry).unwrap();
    }
    log.commit().unwrap();
    log.checkpoint().unwrap();
    drop(log);
    let notes = fs::read_to_string(dir.join(FEBRUARY_NOTES)).unwrap();
    (lines_of(&dir.join(FEBRUARY)), notes)
}

/// The checkpoints signed anew, each as `change` says of its size and origin: the lines that it is over, its origin, its key.
fn signed_anew(
    notes: &str,
    change: impl Fn(usize, &str) -> (Vec<String>, String, [u8; 32]),
) -> String {
    let anew = tlog::split(notes).into_iter().map(|note| {
        let (origin, size) = (note.lines().next().unwrap(), note.lines().nth(1).unwrap());
        let size: usize = size.parse().unwrap();
        let (lines, origin, seed) = change(size, origin);
        tlog::sign(&origin, size as u64, &tlog::root(&lines), &seed) + "\n"
    });
    anew.collect()
}

/// The hash of the message in a line, as the line should name it.
fn hash_in(line: &str) -> String {
    let line: Value = serde_json::from_str(line).unwrap();
    let canonical = signet_json::canonical(&line["message"]);
    Digest::of(&[&canonical]).to_hex()
}

fn files() -> BTreeMap<&'static str, Value> {
    let (lines, notes) = log();
    let of = |about: &str, lines: &[String], notes: &str, fault: Option<&str>| {
        let expect = fault.map_or(
            json!({"verdict": "good"}),
            |fault| json!({"verdict": "bad", "fault": fault}),
        );
        json!({"about": about, "agent": "agent-alice-001", "month": "2026-02", "lines": lines, "checkpoints": notes,
               "expect": expect})
    };
    let edited = |change: &dyn Fn(&mut Vec<String>)| {
        let mut lines = lines.clone();
        change(&mut lines);
        lines
    };
    let word = |lines: &mut Vec<String>| lines[3] = lines[3].replace("Answers", "Refuses");
    let relinked = edited(&|lines| {
        word(lines);
        relink_all(lines);
    });
    let swapped = edited(&|lines| lines.swap(2, 4));
    let shortened = edited(&|lines| drop(lines.pop()));
    let resized = notes.replacen("2026-02\n6\n", "2026-02\n5\n", 1);
    assert_ne!(resized, notes, "the last checkpoint covers six lines");
    let over = |lines: &[String]| {
        let lines = lines.to_vec();
        signed_anew(&notes, move |size, origin| {
            (lines[..size].to_vec(), origin.to_owned(), SEED)
        })
    };
    let hash = hash_in(&lines[3]);
    let misnamed = edited(&|lines| {
        lines[3] = lines[3].replace(&hash, &Digest::of(&[b"another"]).to_hex());
        relink_all(lines);
    });
    let forged = edited(&|lines| {
        word(lines);
        lines[3] = lines[3].replace(&hash, &hash_in(&lines[3]));
        relink_all(lines);
    });
    assert!(misnamed != lines && forged != relinked);
    let of_others = signed_anew(&notes, |size, origin| {
        (swapped[..size].to_vec(), origin.to_owned(), SEED)
    });
    let of_another_log = signed_anew(&notes, |size, origin| {
        let origin = origin.replace("agent-alice-001", "agent-bob-001");
        (lines[..size].to_vec(), origin, SEED)
    });
    let by_another_key = signed_anew(&notes, |size, origin| {
        (lines[..size].to_vec(), origin.to_owned(), [0x5d; 32])
    });
    let with_behind = |mut file: Value, behind: &str| {
        file["behind"] = behind.into();
        file
    };
    BTreeMap::from([
        (
            "a-line-without-its-line-feed",
            with_behind(
                of(
                    "what is behind the last line feed is no line, whatever it says: this one would break the chain",
                    &lines,
                    &notes,
                    None,
                ),
                &lines[3],
            ),
        ),
        (
            "the-last-line-without-its-line-feed",
            with_behind(
                of(
                    "it is no line, and a checkpoint covers it",
                    &shortened,
                    &notes,
                    Some("checkpoint"),
                ),
                &lines[5],
            ),
        ),
        (
            "a-hash-of-another-message",
            of(
                "the chain and the checkpoints are made anew; the signature holds, and the hash is not that of the message",
                &misnamed,
                &over(&misnamed),
                Some("message"),
            ),
        ),
        (
            "a-word-changed-and-everything-made-anew",
            of(
                "hash, chain and checkpoints are made anew, and the message's signature does not hold",
                &forged,
                &over(&forged),
                Some("message"),
            ),
        ),
        (
            "checkpoints-over-other-lines",
            of(
                "the signature holds, and the root is that of two lines in another order",
                &lines,
                &of_others,
                Some("checkpoint"),
            ),
        ),
        (
            "checkpoints-of-another-log",
            of(
                "the signature holds, and the origin names another agent",
                &lines,
                &of_another_log,
                Some("checkpoint"),
            ),
        ),
        (
            "checkpoints-by-another-key",
            of(
                "the month's first line names the key",
                &lines,
                &by_another_key,
                Some("checkpoint"),
            ),
        ),
        (
            "whole",
            of("six lines and their checkpoints", &lines, &notes, None),
        ),
        (
            "a-word-changed",
            of(
                "the next line names the hash of another one",
                &edited(&word),
                &notes,
                Some("chain"),
            ),
        ),
        (
            "a-word-changed-and-the-chain-made-anew",
            of(
                "the message's hash and signature do not hold, nor does the root",
                &relinked,
                &notes,
                Some("message"),
            ),
        ),
        (
            "two-lines-swapped",
            of(
                "numbers and hashes are out of order",
                &swapped,
                &notes,
                Some("chain"),
            ),
        ),
        (
            "the-end-cut-off",
            of(
                "a checkpoint covers more lines than there are",
                &shortened,
                &notes,
                Some("checkpoint"),
            ),
        ),
        (
            "a-checkpoint-of-another-size",
            of(
                "the signature covers size and root",
                &lines,
                &resized,
                Some("checkpoint"),
            ),
        ),
    ])
}

fn written(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap() + "\n"
}

#[test]
#[ignore = "writes vectors/log anew, after a change that means to"]
fn write_the_published_logs() {
    fs::create_dir_all(folder()).unwrap();
    for (name, value) in files() {
        fs::write(folder().join(format!("{name}.json")), written(&value)).unwrap();
    }
}

#[test]
fn the_published_logs_are_those_of_the_code() {
    for (name, value) in files() {
        let text = fs::read_to_string(folder().join(format!("{name}.json")));
        let text = text.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(
            text == written(&value),
            "{name}: write_the_published_logs writes it anew"
        );
    }
}

#[test]
fn the_published_logs_hold_or_not_as_they_say() {
    for (name, value) in files() {
        let dir = tempfile::tempdir().unwrap();
        let lines = value["lines"].as_array().unwrap().iter();
        let lines: Vec<String> = lines
            .map(|line| line.as_str().unwrap().to_owned())
            .collect();
        write_lines(&dir.path().join(FEBRUARY), &lines);
        if let Some(behind) = value["behind"].as_str() {
            let month = dir.path().join(FEBRUARY);
            let text = fs::read_to_string(&month).unwrap();
            fs::write(month, text + behind).unwrap();
        }
        let notes = value["checkpoints"].as_str().unwrap();
        fs::write(dir.path().join(FEBRUARY_NOTES), notes).unwrap();
        let report = verify(&[dir.path().to_owned()]);
        let is_good = value["expect"]["verdict"] == "good";
        assert_eq!(report.holds(), is_good, "{name}: {report}");
    }
}
