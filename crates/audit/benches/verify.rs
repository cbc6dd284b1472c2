//! How fast a log is proven: its links alone (chain, months, checkpoints), and with every signature.
//!
//! `cargo bench -p signet-audit --bench verify`; `SIGNET_LINES` says how long a log (200,000 lines).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

#[path = "../tests/common/mod.rs"]
mod common;

use std::path::Path;
use std::time::Instant;

use common::*;
use signet_audit::{CheckpointKeys, Depth, Log, Progress, Settings, verify_with};
use zeroize::Zeroizing;

fn main() {
    let lines = std::env::var("SIGNET_LINES")
        .ok()
        .and_then(|lines| lines.parse().ok());
    let lines: u64 = lines.unwrap_or(200_000);
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), lines);
    let bytes = std::fs::metadata(dir.path().join("log").join(FEBRUARY))
        .unwrap()
        .len();
    let cores = std::thread::available_parallelism().unwrap();
    println!("{lines} lines, {} MB, {cores} cores", bytes / 1_000_000);
    // Beside the clock the processor's own time, which says the same on a machine that is busy.
    for (name, depth, rounds) in [
        ("links", Depth::Links, 5),
        ("signatures", Depth::Signatures, 1),
    ] {
        let busy = cpu_seconds();
        let best = (0..rounds)
            .map(|_| seconds(dir.path(), depth))
            .fold(f64::MAX, f64::min);
        let busy = (cpu_seconds() - busy) / f64::from(rounds);
        let megabytes = bytes as f64 / 1e6;
        println!(
            "{name:<12}{best:>8.2} s{:>12.0} lines/s{:>8.0} MB/s; a core alone {:>6.0} MB/s; peak {} MiB",
            lines as f64 / best,
            megabytes / best,
            megabytes / busy,
            peak_mib()
        );
    }
}

/// What this process used of all cores so far.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    let after = text.rsplit_once(") ").unwrap().1;
    let ticks = after
        .split(' ')
        .skip(11)
        .take(2)
        .map(|ticks| ticks.parse::<f64>().unwrap());
    ticks.sum::<f64>() / 100.0
}

fn write(dir: &Path, lines: u64) {
    let keys = CheckpointKeys::new(dir.join("keys"), || Ok(Zeroizing::new([7; 32])));
    let mut log = Log::open_with(&dir.join("log"), second(0), &genesis(), keys).unwrap();
    log.append(second(0), &trust_bob()).unwrap();
    let entry = accepted(1, "Asks for free evenings next week");
    for number in 2..lines {
        log.append(second(1), &entry).unwrap();
        if number % 4096 == 0 {
            log.commit().unwrap();
            log.checkpoint().unwrap();
        }
    }
    log.commit().unwrap();
    log.checkpoint().unwrap();
}

fn seconds(dir: &Path, depth: Depth) -> f64 {
    let start = Instant::now();
    let settings = Settings {
        depth,
        ..Settings::default()
    };
    let report = verify_with(&[dir.join("log")], settings, &mut Progress::new(|_, _| {}));
    let seconds = start.elapsed().as_secs_f64();
    assert!(report.holds(), "{report}");
    seconds
}

/// The most memory that this process ever had.
fn peak_mib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    line.split_whitespace()
        .nth(1)
        .unwrap()
        .parse::<u64>()
        .unwrap()
        / 1024
}
