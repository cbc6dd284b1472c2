//! What opening and appending cost, in bytes read and written: memory by a test alone in its process.

use std::path::Path;
use std::process::Command;

use signet_audit::{Custody, Log};

use crate::common::*;
use crate::pair;

/// As a home opens its log: with an anchor, which says that the last stop was clean.
fn start(home: &Path, seconds: u64) -> Log {
    let custody = Custody::new(pair::keys(&home.join("keys")), home.join("log.anchor"));
    Log::open_with(&home.join("audit"), second(seconds), &genesis(), custody).unwrap()
}

/// Bytes that this thread has read and written so far, as the kernel counts them.
fn traffic() -> (u64, u64) {
    let text = std::fs::read_to_string("/proc/thread-self/io").unwrap();
    let field = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        line[name.len()..].trim().parse::<u64>().unwrap()
    };
    (field("rchar:"), field("wchar:"))
}

#[test]
fn a_start_reads_the_month_once_and_copies_nothing_and_an_append_reads_no_history() {
    let _turn = crate::turn();
    let mut costs = Vec::new();
    for lines in [50, 5_000] {
        let dir = tempfile::tempdir().unwrap();
        let mut log = start(dir.path(), 0);
        for number in 0..lines {
            log.append(second(0), &gap(&format!("{number:0200}")))
                .unwrap();
        }
        log.commit().unwrap();
        drop(log);
        let before = traffic();
        let mut log = start(dir.path(), 1);
        let opened = traffic();
        for number in 0..10 {
            log.append(second(1), &gap(&format!("{number:0200}")))
                .unwrap();
            log.commit().unwrap();
        }
        let appended = traffic();
        costs.push((
            opened.0 - before.0,
            opened.1 - before.1,
            appended.0 - opened.0,
            appended.1 - opened.1,
        ));
    }
    let (short, long) = (costs[0], costs[1]);
    // A start reads the 1.6 MB of lines once, for the tree that the checkpoints cover: reading them twice would exceed
    // the limit.
    assert!(long.0 < 2_200_000, "a start reads {} bytes", long.0);
    assert!(
        long.1 < 64 * 1024,
        "a start after a clean stop writes {} bytes",
        long.1
    );
    assert!(
        long.2 < 10_000,
        "ten appends read {} bytes (the counter itself some hundred)",
        long.2
    );
    // Numbers such as `seq` have a few more digits in the long log: nothing else may make an append write more.
    assert!(
        long.3 <= short.3 + 200,
        "ten appends write {} bytes, {} when the log was short",
        long.3,
        short.3
    );
}

#[test]
fn verification_keeps_no_more_than_a_line_in_memory() {
    let _turn = crate::turn();
    if !is_alone("cost::verification_keeps_no_more_than_a_line_in_memory") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path(), second(0));
    for _ in 0..250 {
        log.append(second(0), &gap(&"x".repeat(200 * 1024)))
            .unwrap();
        log.commit().unwrap();
    }
    let before = peak_kib();
    let report = signet_audit::verify(&[dir.path().to_owned()]);
    assert_eq!((report.holds(), report.logs[0].lines), (true, 251));
    let lines = signet_audit::read(dir.path())
        .unwrap()
        .map(Result::unwrap)
        .count();
    let more = peak_kib() - before;
    assert!(
        lines == 251 && more < 16 * 1024,
        "{more} KiB for a log of 50 MiB"
    );
}

/// Whether this process runs one test and no other: memory is counted by process. If not, the test of that name has held
/// in a process of its own when this comes back.
fn is_alone(test: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "--nocapture", test]);
    let output = command.env(ALONE, "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{told}");
    assert!(said.contains("test result: ok. 1 passed"), "{said}");
    false
}

/// Says to a process that it was started for one test.
const ALONE: &str = "SIGNET_ALONE";

/// The most memory that this process ever had, in KiB.
fn peak_kib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
