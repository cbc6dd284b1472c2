//! The demonstration, as a newcomer runs it.

use std::path::Path;
use std::process::{Command, Output};

fn demo(place: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_signet"));
    command
        .arg("demo")
        .current_dir(place)
        .env("NO_COLOR", "1")
        .output()
        .unwrap()
}

fn shell(place: &Path, line: &str) -> Output {
    Command::new("sh")
        .args(["-c", line])
        .current_dir(place)
        .output()
        .unwrap()
}

#[test]
fn every_step_happens_and_every_recipe_it_prints_works() {
    let place = tempfile::tempdir().unwrap();
    let output = demo(place.path());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let steps: Vec<_> = text
        .lines()
        .filter(|line| line.starts_with("  ok "))
        .collect();
    assert_eq!(steps.len(), SAID.len(), "{text}");
    for (step, said) in steps.iter().zip(SAID) {
        for words in said {
            assert!(step.contains(words), "{words} is missing: {step}");
        }
    }
    let recipes: Vec<_> = text
        .lines()
        .skip_while(|line| *line != "Try:")
        .skip(1)
        .map(str::trim)
        .collect();
    assert_eq!(recipes.len(), 5, "{text}");
    for recipe in recipes {
        let done = shell(place.path(), recipe);
        assert!(
            done.status.success() && !done.stdout.is_empty(),
            "{recipe}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
    }
    let all = shell(
        place.path(),
        "cat audit/*/inter-agent-*.jsonl | jq . > /dev/null",
    );
    assert!(all.status.success());
    let proven = Command::new(env!("CARGO_BIN_EXE_signet"))
        .args(["audit", "verify", "audit"])
        .current_dir(place.path())
        .status()
        .unwrap();
    assert!(proven.success());
}

#[test]
fn a_second_demo_replaces_the_first_and_nobody_elses_log() {
    let place = tempfile::tempdir().unwrap();
    assert!(demo(place.path()).status.success());
    assert!(demo(place.path()).status.success());
    let mark = place.path().join("audit/agent-bob-001/made-by-signet-demo");
    std::fs::remove_file(mark).unwrap();
    let refused = demo(place.path());
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--audit"));
}

#[test]
fn a_line_of_the_log_fits_the_next_by_sha256sum() {
    let place = tempfile::tempdir().unwrap();
    assert!(demo(place.path()).status.success());
    let log = "audit/agent-bob-001/inter-agent-*.jsonl";
    let by_hand = shell(
        place.path(),
        &format!("sed -n 5p {log} | tr -d '\\n' | sha256sum | cut -c1-64"),
    );
    let next = shell(place.path(), &format!("sed -n 6p {log} | jq -r .prev"));
    assert_eq!(by_hand.stdout, next.stdout);
    assert_eq!(by_hand.stdout.len(), 65);
}

#[test]
fn the_logs_hold_what_the_demo_says_and_nothing_that_was_sealed() {
    let place = tempfile::tempdir().unwrap();
    assert!(demo(place.path()).status.success());
    for (agent, filter) in [
        (
            "alice-001",
            ".change == \"pending\" and .peer == \"agent-carol-001\"",
        ),
        (
            "alice-001",
            ".kind == \"approval\" and .decision == \"approved\"",
        ),
        (
            "alice-001",
            ".kind == \"handoff\" and .change == \"completed\"",
        ),
        ("alice-002", ".kind == \"pause\" and .paused"),
        (
            "bob-001",
            ".change == \"revoked\" and .peer == \"agent-alice-002\"",
        ),
        (
            "bob-001",
            ".reason == \"certificate-revoked\" and .peer == \"agent-alice-002\"",
        ),
        (
            "carol-001",
            ".change == \"revoked\" and .peer == \"agent-alice-002\"",
        ),
        (
            "carol-001",
            ".reason == \"mandate-invalid\" and .peer == \"agent-alice-002\"",
        ),
    ] {
        let log = format!("audit/agent-{agent}/inter-agent-*.jsonl");
        let found = shell(place.path(), &format!("jq -c 'select({filter})' {log}"));
        assert!(!found.stdout.is_empty(), "{agent} has no line {filter}");
    }
    let sealed = shell(
        place.path(),
        "grep -cE 'blood test|Dr Okafor|off at noon' audit/*/*.jsonl",
    );
    assert_eq!(sealed.status.code(), Some(1), "a sealed word is in a log");
}

/// The words of each step, in the order of the steps.
const SAID: [&[&str]; 21] = [
    &["nats-server", "4 daemons"],
    &["handshake", "one session on both sides"],
    &["answered {\"evenings\":[\"Tue\",\"Thu\"]}"],
    &["received durably"],
    &["sealed request of tier 3", "no word of it is there"],
    &["alice's person opens both", "Which doctor", "Okafor"],
    &["bob's audit key opens neither"],
    &[
        "nothing is delivered",
        "agent-carol-001 waits for an introduction",
        "its root key reads: ",
    ],
    &["the message arrives: \"Carol of the choir would like to meet\""],
    &[
        "tier 4 is held back",
        "signs that it may leave",
        "bob receives it",
    ],
    &[
        "agent-alice-001 to agent-bob-001, then agent-bob-001 to agent-carol-001",
        "without calendar.write, tier 1 instead of 2, depth 0 instead of 1",
    ],
    &["completed", "{\"evening\":\"Tue\"}"],
    &["impostor", "refused (root-changed)"],
    &["one digit changed", "refused (signature-invalid)"],
    &["once more", "refused (duplicate)"],
    &["redirected", "refused (wrong-recipient)"],
    &[
        "the handoff that was given to bob's",
        "refused (mandate-invalid)",
    ],
    &["alice pauses", "waits"],
    &["alice resumes", "has arrived"],
    &[
        "alice's root key revokes agent-alice-002",
        "bob's and carol's",
    ],
    &["the revoked agent", "refused (certificate-revoked)"],
];
