//! How many instructions a log takes to write and to prove: a group of 64 lines, and the links of a log.
//! `scripts/instructions` holds the counts against `scripts/instructions.limits`.
//!
//! Valgrind shows a processor without SHA-NI, so that most of each count is SHA-256: hold a count against itself alone.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub
)]

#[path = "../tests/common/mod.rs"]
mod common;

use std::path::PathBuf;

use common::*;
use gungraun::{library_benchmark, library_benchmark_group, main};
use signet_audit::{Depth, Log, ProgressFn, Settings, VerifyReport, verify_with};
use signet_proto::entry::Entry;
use tempfile::TempDir;

/// Lines that share a write.
const GROUP: u64 = 64;
/// Lines whose links are proven.
const LINES: u64 = 2_000;

fn before_a_group() -> (TempDir, Log, Vec<Entry>) {
    let dir = tempfile::tempdir().unwrap();
    let log = conversation(dir.path(), 1);
    let entries = (2..2 + GROUP).map(|number| accepted(number, "Asks for free evenings next week"));
    (dir, log, entries.collect())
}

#[library_benchmark]
#[bench::of_64(setup = before_a_group)]
fn append((dir, mut log, entries): (TempDir, Log, Vec<Entry>)) -> (TempDir, Log) {
    for entry in &entries {
        log.append(second(100), entry).unwrap();
    }
    log.commit().unwrap();
    (dir, log)
}

fn written() -> (TempDir, Vec<PathBuf>) {
    let dir = tempfile::tempdir().unwrap();
    let mut log = conversation(dir.path(), 1);
    let entry = accepted(2, "Asks for free evenings next week");
    for number in 0..LINES {
        log.append(second(number), &entry).unwrap();
    }
    log.commit().unwrap();
    let paths = vec![dir.path().to_owned()];
    (dir, paths)
}

#[library_benchmark]
#[bench::of_two_thousand_lines(setup = written)]
fn links((dir, paths): (TempDir, Vec<PathBuf>)) -> (TempDir, VerifyReport) {
    let settings = Settings {
        depth: Depth::Links,
        ..Settings::default()
    };
    let report = verify_with(&paths, settings, &mut ProgressFn::new(|_, _| {}));
    assert!(report.holds(), "{report}");
    (dir, report)
}

library_benchmark_group!(name = log, benchmarks = [append, links]);

main!(library_benchmark_groups = log);
