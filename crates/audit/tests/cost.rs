//! What opening and appending cost, in bytes read and written: alone in its process.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod common;

use common::*;

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
fn neither_a_start_nor_an_append_reads_the_history() {
    let mut costs = Vec::new();
    for lines in [50, 5_000] {
        let dir = tempfile::tempdir().unwrap();
        let mut log = open(dir.path(), second(0));
        for number in 0..lines {
            log.append(second(0), &gap(&format!("{number:0200}")))
                .unwrap();
        }
        log.commit().unwrap();
        drop(log);
        let before = traffic();
        let mut log = open(dir.path(), second(1));
        let opened = traffic();
        for number in 0..10 {
            log.append(second(1), &gap(&format!("{number:0200}")))
                .unwrap();
            log.commit().unwrap();
        }
        let appended = traffic();
        costs.push((
            opened.0 - before.0,
            appended.0 - opened.0,
            appended.1 - opened.1,
        ));
    }
    let (short, long) = (costs[0], costs[1]);
    assert!(
        long.0 < 128 * 1024,
        "a start reads {} bytes of 1.5 MB",
        long.0
    );
    assert!(
        long.1 < 2_000,
        "ten appends read {} bytes (the counter itself some hundred)",
        long.1
    );
    // The numbers are longer by a few digits.
    assert!(
        long.2 <= short.2 + 100,
        "ten appends write {} bytes, {} when the log was short",
        long.2,
        short.2
    );
}

#[test]
fn verification_keeps_no_more_than_a_line_in_memory() {
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

/// The most memory that this process ever had, in KiB.
fn peak_kib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
