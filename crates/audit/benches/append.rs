//! Lines a second that a log makes durable, beside bare write and fdatasync of the same bytes.
//!
//! `cargo bench --workspace --bench append`; the disk measured is that of `TMPDIR`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

#[path = "../../testkit/src/bench.rs"]
mod bench;
#[path = "../tests/common/mod.rs"]
mod common;

use std::fs::File;
use std::io::Write as _;
use std::time::Instant;

use bench::Bench;
use common::*;

const ROUNDS: usize = 10;

fn main() {
    let mut bench = Bench::begin("append");
    let rounds = bench.size(ROUNDS, 1);
    for (group, commits) in [(1, 40), (64, 20), (256, 8)] {
        let commits = bench.size(commits, 2);
        // Measure the log and the bare writes in turns: other work of the disk then slows both, and hardly changes
        // their ratio.
        let (mut log, mut bare_seconds) = (0.0, 0.0);
        for _ in 0..rounds {
            let dir = tempfile::tempdir().unwrap();
            log += append(dir.path(), group, commits);
            bare_seconds += bare(dir.path(), group, commits);
        }
        let lines = (rounds * group * commits) as f64;
        let (log, bare) = (lines / log, lines / bare_seconds);
        bench.figure(format!("lines a second in groups of {group}"), log);
        bench.figure(
            format!("the same beside bare writes, groups of {group}"),
            log / bare,
        );
    }
    bench.end();
}

/// Seconds for the lines of `commits` groups.
fn append(dir: &std::path::Path, group: usize, commits: usize) -> f64 {
    let mut log = conversation(dir, 0);
    let entry = accepted(1, "Asks for free evenings next week");
    let start = Instant::now();
    for _ in 0..commits {
        for _ in 0..group {
            log.append(second(1), &entry).unwrap();
        }
        log.commit().unwrap();
    }
    start.elapsed().as_secs_f64()
}

/// The same bytes in the same groups, with nothing around them and no room reserved.
fn bare(dir: &std::path::Path, group: usize, commits: usize) -> f64 {
    let lines = lines_of(&dir.join(FEBRUARY)).split_off(2);
    let mut file = File::create(dir.join("bare")).unwrap();
    let groups: Vec<String> = lines
        .chunks(group)
        .map(|lines| lines.join("\n") + "\n")
        .collect();
    assert_eq!(groups.len(), commits);
    let start = Instant::now();
    for group in &groups {
        file.write_all(group.as_bytes()).unwrap();
        file.sync_data().unwrap();
    }
    start.elapsed().as_secs_f64()
}
