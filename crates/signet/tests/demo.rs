//! The demonstration, as a newcomer runs it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

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
    assert_eq!(text.matches("  ok ").count(), 8, "{text}");
    for said in [
        "handshake",
        "answered",
        "received durably",
        "root-changed",
        "signature-invalid",
        "duplicate",
        "wrong-recipient",
    ] {
        assert!(text.contains(said), "{said} is missing: {text}");
    }
    let recipes: Vec<_> = text
        .lines()
        .skip_while(|line| *line != "Try:")
        .skip(1)
        .map(str::trim)
        .collect();
    assert_eq!(recipes.len(), 3, "{text}");
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
