//! How fast a log is proven: its links alone (chain, months, checkpoints), and with every signature; and what it costs
//! to hold two logs against each other.
//!
//! `cargo bench --workspace --bench verify`; `SIGNET_LINES` says how long a log (200,000 lines).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    dead_code,
    missing_docs,
    unreachable_pub
)]

#[path = "../../testkit/src/bench.rs"]
mod bench;
#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/audit/pair.rs"]
mod pair;

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use bench::{Bench, Limit};
use common::*;
use ed25519_dalek::Signer as _;
use pair::{Pair, Side};
use signet_audit::{CheckpointKeys, Depth, Log, ProgressFn, Settings, reconcile, verify_with};
use signet_proto::entry::{Direction, Ruling};
use zeroize::Zeroizing;

const SUMMARY: &str = "Asks for free evenings next week";

/// The least rate of a proof of signatures, in the lines that all cores verify and do nothing else: 1.29 and 1.42 were measured.
const SIGNATURES: f64 = 0.95;

/// The home of two logs, for the process that holds them against each other.
const TWO_LOGS: &str = "SIGNET_TWO_LOGS";

fn main() {
    if let Some(dir) = std::env::var_os(TWO_LOGS) {
        return hold_against_each_other(Path::new(&dir));
    }
    let mut bench = Bench::begin("verify");
    let lines = std::env::var("SIGNET_LINES")
        .ok()
        .and_then(|lines| lines.parse().ok());
    let lines: u64 = lines.unwrap_or(bench.size(200_000, 500));
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), lines);
    let bytes = std::fs::metadata(dir.path().join("log").join(FEBRUARY))
        .unwrap()
        .len();
    let cores = std::thread::available_parallelism().unwrap();
    println!("{lines} lines, {} MB, {cores} cores", bytes / 1_000_000);
    let unit = bare_verify(bench.size(2_000, 10));
    // Measure the processor's own time beside the clock's: other programs on a busy machine lengthen only the clock's.
    for (name, depth, rounds) in [
        ("links", Depth::Links, bench.size(5, 1)),
        ("signatures", Depth::Signatures, 1),
    ] {
        let busy = cpu_seconds();
        let best = (0..rounds)
            .map(|_| seconds(dir.path(), depth))
            .fold(f64::MAX, f64::min);
        // The system counts the processor's time in hundredths of a second, and a short run may count as 0: take at
        // least one hundredth, or the figure below would be infinite.
        let busy = (cpu_seconds() - busy).max(0.01) / f64::from(rounds);
        let megabytes = bytes as f64 / 1e6;
        bench.figure(format!("{name}, MB a second"), megabytes / best);
        bench.figure(format!("{name}, MB a CPU second"), megabytes / busy);
        if depth == Depth::Signatures {
            let rate = lines as f64 / best;
            bench.held(
                "signatures, to the bare rate of all cores",
                rate * unit / cores.get() as f64,
                Limit::Least(SIGNATURES),
            );
        }
    }
    bench.figure("peak of memory, MiB", peak_mib() as f64);
    let messages = bench.size(50_000, 300);
    let (cpu, memory) = reconciled(messages, dir.path());
    bench.figure(
        "reconcile, CPU of a message in both logs, in verify_strict",
        cpu / messages as f64 / unit,
    );
    bench.figure("reconcile, peak of memory, MiB", memory);
    bench.end();
}

/// CPU seconds and MiB of memory that it takes to hold the logs of two agents against each other, in a process of its own.
fn reconciled(messages: u64, dir: &Path) -> (f64, f64) {
    let mut pair = Pair::new();
    for number in 1..=messages {
        let (from, to) = match number % 2 {
            1 => (&mut pair.alice, &mut pair.bob),
            _ => (&mut pair.bob, &mut pair.alice),
        };
        say(from, to, number);
    }
    pair.stop();
    for (name, side) in [("mine", &pair.alice), ("theirs", &pair.bob)] {
        std::os::unix::fs::symlink(side.dir(), dir.join(name)).unwrap();
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    let told = child.env(TWO_LOGS, dir).output().unwrap();
    let told = String::from_utf8(told.stdout).unwrap();
    let (cpu, memory) = told.trim().split_once(' ').unwrap();
    (cpu.parse().unwrap(), memory.parse().unwrap())
}

fn say(from: &mut Side, to: &mut Side, number: u64) {
    let now = second(number);
    let message = from.sign(&to.party, number, now, SUMMARY);
    let sent = entry(Direction::Out, Ruling::Sent, message.clone());
    let came = entry(Direction::In, Ruling::Accepted, message);
    for (side, entry) in [(from, sent), (to, came)] {
        side.log().append(now, &entry).unwrap();
        if number.is_multiple_of(64) {
            side.log().commit().unwrap();
        }
    }
}

fn hold_against_each_other(dir: &Path) {
    let found = reconcile(&dir.join("mine"), &dir.join("theirs")).unwrap();
    assert!(found.agrees() && found.open.is_empty(), "{found}");
    println!("{} {}", cpu_seconds(), peak_mib());
}

/// Seconds of one bare `verify_strict` over as many bytes as a message of the log has.
fn bare_verify(times: u32) -> f64 {
    let key = ed25519_dalek::SigningKey::from_bytes(&[7; 32]);
    let bytes = message(&bob(), &alice(), 1, SUMMARY).canonical().to_vec();
    let (public, signature) = (key.verifying_key(), key.sign(&bytes));
    let start = Instant::now();
    for _ in 0..times {
        public
            .verify_strict(std::hint::black_box(&bytes), &signature)
            .unwrap();
    }
    start.elapsed().as_secs_f64() / f64::from(times)
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
    // Make each message another one (`number`): verification would rightly report the same message in two lines as
    // tampering.
    for number in 2..lines {
        log.append(second(number), &accepted(number, SUMMARY))
            .unwrap();
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
    let report = verify_with(
        &[dir.join("log")],
        settings,
        &mut ProgressFn::new(|_, _| {}),
    );
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
