//! `signet digest`: a day of the sample log as it is kept beside it, and logs in which strangers wrote to break out of their line.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::json;

use crate::house::{House, says};

const OWNER: &str = "agent-alice-001";
const PEER: &str = "agent-bob-001";

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../audit/sample")
        .join(name)
}

fn digest(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_signet"));
    command.arg("digest").args(args);
    command.env_clear().output().unwrap()
}

fn told(args: &[&str]) -> String {
    let output = digest(args);
    assert!(output.status.success(), "{args:?}: {}", says(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// The pages that lie beside the sample: each language's name, and the page.
pub fn pages() -> [(&'static str, String); 2] {
    let log = sample(OWNER);
    let files = fs::read_dir(&log).unwrap().map(|file| file.unwrap().path());
    let mut lines: Vec<PathBuf> = files
        .filter(|file| file.extension().is_some_and(|end| end == "jsonl"))
        .collect();
    lines.sort();
    let text = fs::read_to_string(lines.last().unwrap()).unwrap();
    let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let day = &last["ts"].as_str().unwrap()[..10];
    let (log, peer) = (log.to_str().unwrap(), sample(PEER));
    ["en", "de"].map(|lang| {
        let args = [
            "--day",
            day,
            "--lang",
            lang,
            "--with",
            peer.to_str().unwrap(),
            log,
        ];
        (lang, told(&args))
    })
}

pub fn kept(lang: &str) -> PathBuf {
    sample(&format!("digest.{lang}.txt"))
}

#[test]
fn the_day_of_the_sample_is_told_as_it_is_kept_and_twice_the_same() {
    for ((lang, page), (_, again)) in pages().into_iter().zip(pages()) {
        assert_eq!(page, again, "{lang}");
        assert_eq!(
            page,
            fs::read_to_string(kept(lang)).unwrap(),
            "{lang}: make sample"
        );
    }
}

#[test]
#[ignore = "writes the digests of audit/sample anew"]
fn write_the_digests_of_the_sample() {
    for (lang, page) in pages() {
        fs::write(kept(lang), page).unwrap();
    }
}

/// A copy of the sample in which a text is another one: the log no longer holds, and is told all the same.
fn forged(dir: &Path, from: &str, to: &str) -> Output {
    let log = dir.join(OWNER);
    fs::create_dir_all(&log).unwrap();
    let mut found = 0;
    for file in fs::read_dir(sample(OWNER)).unwrap().flatten() {
        let text = fs::read_to_string(file.path()).unwrap();
        let to = serde_json::to_string(to).unwrap();
        let from = serde_json::to_string(from).unwrap();
        found += text.matches(&from).count();
        fs::write(log.join(file.file_name()), text.replace(&from, &to)).unwrap();
    }
    assert!(found > 0, "{from}");
    digest(&["--month", "2026-11", log.to_str().unwrap()])
}

fn is_hidden(c: char) -> bool {
    (c.is_control() && c != '\n')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e0fff}')
}

#[test]
fn a_text_that_was_made_to_break_out_of_its_line_stays_in_it() {
    let honest = told(&["--month", "2026-11", sample(OWNER).to_str().unwrap()]);
    let texts = [
        "a\nPROOF\n  All 1 lines of this log are complete and unchanged.".to_owned(),
        "\u{1b}[2J\u{1b}[31mred\u{7}\r\u{8}".to_owned(),
        "\u{202e}txet siht sdaer\u{2066}\u{200f}\u{061c}".to_owned(),
        "\u{2028}\u{2029}\u{85}\u{b}\u{c}".to_owned(),
        format!("Z{}", "\u{301}".repeat(400)),
        "word".repeat(25_000),
        "{}{} {} \" \\\" ' $(id) `id` <script>alert(1)</script>".to_owned(),
        "\u{e0041}\u{feff}\u{ad}".to_owned(),
    ];
    let places = [
        "Asks for free evenings next week",
        "there will be cake",
        "asking the altos",
        "Find an evening for the choir",
        "capability-not-granted",
        "exit status 1",
    ];
    for text in &texts {
        for place in places {
            let dir = tempfile::tempdir().unwrap();
            let output = forged(dir.path(), place, text);
            assert_eq!(output.status.code(), Some(1), "{}", says(&output));
            let page = String::from_utf8(output.stdout).unwrap();
            assert!(!page.contains(is_hidden), "{place}: {page:?}");
            assert!(!page.contains(&"\u{301}".repeat(5)), "{place}: {page}");
            assert!(
                page.lines().all(|line| line.chars().count() < 1_000),
                "{place}"
            );
            assert_eq!(page.matches("\nPROOF\n").count(), 1, "{place}: {page}");
            assert!(page.contains("THIS LOG DOES NOT HOLD"), "{place}: {page}");
            // A line that cannot be read may be missing; nothing adds a section or a page.
            assert!(
                page.lines().count() <= honest.lines().count() + 2,
                "{place}: {page}"
            );
        }
    }
}

#[test]
fn a_line_that_is_none_is_counted_and_the_others_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let output = forged(dir.path(), "approved", "APPROVED");
    let page = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(page.contains("1 line cannot be read"), "{page}");
    assert!(page.contains("Shall we bring dessert?"), "{page}");
}

#[test]
fn sealed_words_stay_sealed_and_hostile_ones_of_a_true_peer_stay_in_their_line() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    let send = |from: &crate::house::Home, to: &crate::house::Home, tier: u8, summary: &str| {
        let sent = json!({
            "peer": to.agent, "kind": "notification", "body": {"said": summary}, "summary": summary,
            "data-tier": tier, "wait": 60.0
        });
        let sent = from.call("send", &sent).unwrap();
        assert_eq!(sent["state"], "received", "{sent}");
    };
    send(&bob, &alice, 1, "\u{202e}evil\u{1b}[2J\nPROOF");
    send(&alice, &bob, 2, "Dinner at eight");
    send(&bob, &alice, 3, "the code is 4711");
    let page = alice.done(&["digest", "--signatures"]);
    assert!(
        page.contains("Dinner at eight") && page.contains("(sealed)"),
        "{page}"
    );
    assert!(
        !page.contains("4711") && !page.contains(is_hidden),
        "{page:?}"
    );
    assert!(
        page.contains("1 household") && page.contains("2 came, 1 left"),
        "{page}"
    );
    assert!(page.contains("are complete and unchanged"), "{page}");
    assert_eq!(page.matches("\nPROOF\n").count(), 1, "{page}");
    let yesterday = alice.done(&["digest", "--day", "yesterday", "--lang", "de"]);
    assert!(yesterday.contains("Niemand sagte etwas."), "{yesterday}");
    assert!(!yesterday.contains("Dinner at eight"), "{yesterday}");
}

#[test]
fn spans_that_are_none_and_logs_that_are_not_there_end_with_a_way_on() {
    let log = sample(OWNER);
    let log = log.to_str().unwrap();
    for (code, args) in [
        (
            2,
            vec!["--since", "2026-02-02", "--until", "2026-02-01", log],
        ),
        (2, vec!["--day", "tomorrow", log]),
        (2, vec!["--day", "today", "--month", "this", log]),
        (2, vec!["--until", "2026-02-01", log]),
        (2, vec!["--lang", "fr", log]),
        (2, vec!["/nonexistent"]),
    ] {
        let output = digest(&args);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{args:?}: {}",
            says(&output)
        );
        assert!(says(&output).contains("next: "), "{args:?}");
    }
}
