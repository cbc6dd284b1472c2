//! How many instructions a start takes behind a long log, with the state beside it and from the log alone.
//! `scripts/instructions` holds the counts against `scripts/instructions.limits`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub
)]

#[path = "daemon/common/mod.rs"]
mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{daemon, past, peer};
use gungraun::{library_benchmark, library_benchmark_group, main};
use signet::clock;
use signet::config::Config;
use signet::home::Home;
use signet::lock::HomeLock;
use signet::memory::Memory;

/// Lines of the log.
const LINES: u64 = 10_000;

/// Where the homes lie between the processes that make and open them.
fn place(name: &str) -> PathBuf {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("instructions");
    place.join(name)
}

/// Plays the past once, outside of what counts: a home with its state, and a copy without.
fn play() {
    let _ = std::fs::remove_dir_all(place(""));
    std::fs::create_dir_all(place("")).unwrap();
    let [near, far] = ["near", "far"].map(|agent| daemon::init(&place(""), agent, ""));
    near.knows(&far);
    far.knows(&near);
    let ((mut memory, _near), (mut sender, _far)) = (peer::open(&near), peer::open(&far));
    past::write_history(&mut memory, &mut sender, LINES);
    let rows = memory.node.snapshot(clock::now()).rows();
    let position = memory.log.position();
    memory.store.replace(&position, rows).unwrap();
    drop(memory);
    let mut copy = Command::new("cp");
    copy.arg("-a").arg(&near.dir).arg(place("without"));
    assert!(copy.status().unwrap().success());
    std::fs::remove_file(place("without/state.db")).unwrap();
}

fn locked(name: &str) -> (HomeLock, Config) {
    let home = Home::at(place(name));
    let config = Config::load(&home).unwrap();
    (HomeLock::acquire(&home).unwrap(), config)
}

// Keys, log and state as a daemon opens them, up to a node that remembers everything.
#[library_benchmark]
#[bench::with_its_state(args = ("near",), setup = locked)]
#[bench::from_the_log_alone(args = ("without",), setup = locked)]
fn start((lock, config): (HomeLock, Config)) -> (HomeLock, Memory) {
    let memory = Memory::open_to_run(&lock, &config).unwrap();
    (lock, memory)
}

library_benchmark_group!(name = shell, benchmarks = [start]);

main!(setup = play(); library_benchmark_groups = shell);
