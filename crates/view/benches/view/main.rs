//! The cost of the reading room over a long log: of reading it, of its pages, its search and its memory, and what a daemon beside it
//! notices of that.
//!
//! `SIGNET_LINES` says how long the log is.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

#[path = "../../tests/room/diary.rs"]
mod diary;
mod pings;
#[path = "../../tests/room/program.rs"]
mod program;

use std::path::Path;
use std::time::{Duration, Instant};

use diary::{Diary, Words};
use pings::{Pinging, percentile};
use program::Room;
use serde_json::json;
use signet_testkit::bench::{Bench, Limit};
use tempfile::TempDir;

const LINES: u64 = 1_000_000;
/// Lines that are read in a second of processor time, at least.
const RATE: f64 = 15_000.0;
/// In milliseconds: the first page of a room that is opened with its index, every page, and a search.
const FIRST: f64 = 1_000.0;
const PAGE: f64 = 150.0;
const SEARCH: f64 = 200.0;
/// In MiB.
const MEMORY: f64 = 120.0;
/// A daemon's p99 beside a room that reads a long log, to that in quiet: as beside handlers that hang.
const SLOWER: f64 = 1.2;
/// Pings in each part of a round: so many that a percentile is not made by a single write of the disk.
const PINGS: usize = 1_000;
const ROUNDS: usize = 4;
/// How long after a room was ended its daemon is left alone.
const STILL: Duration = Duration::from_secs(2);

fn main() {
    let mut bench = Bench::begin("view");
    let told = std::env::var("SIGNET_LINES").ok();
    let lines = told.and_then(|lines| lines.parse().ok());
    let lines = lines.unwrap_or_else(|| bench.size(LINES, 400));
    let dir = directory();
    let log = dir.path().join("agent-alice-001");
    write(&log, lines);
    let data = dir.path().join("view");

    let begun = Instant::now();
    let room = Room::open(&data, &[&log]);
    room.shows("conversations", &last(lines));
    bench.figure(
        "first page of a log that was never read, ms",
        millis(begun.elapsed()),
    );
    while reads(&room) {
        std::thread::sleep(Duration::from_millis(200));
    }
    // The clock of processor time ticks in hundredths of a second: for a short log it shows 0, and nothing can be
    // divided by that.
    let spent = processor_seconds(room.pid()).max(0.01);
    bench.held(
        "lines read in a second of processor time",
        lines as f64 / spent,
        Limit::Least(RATE),
    );
    bench.held(
        "memory while it read, at most, MiB",
        memory(room.pid()),
        Limit::Most(MEMORY),
    );
    let file = data.join("view.db").metadata().unwrap().len();
    bench.figure(
        "bytes of the index for each line",
        file as f64 / lines as f64,
    );
    drop(room);

    let begun = Instant::now();
    let room = Room::open(&data, &[&log]);
    room.shows("conversations", &last(lines));
    bench.held(
        "first page with an index, ms",
        millis(begun.elapsed()),
        Limit::Most(FIRST),
    );
    let thread = room.get("conversations").body;
    let thread = thread
        .split("href=\"conversation?id=")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    let thread = format!("conversation?id={thread}");
    for page in [
        "today",
        "conversations",
        &thread,
        "people",
        "person?log=1&agent=agent-bob-001",
        "left",
        "refused",
        "proof",
    ] {
        let name = page.split('?').next().unwrap();
        bench.held(
            format!("page: {name}, ms"),
            slowest(&room, page),
            Limit::Most(PAGE),
        );
    }
    for (what, query) in [
        ("a common word", "q=garden"),
        ("a rare word", "q=marigold"),
        ("two words, one of them rare", "q=garden+marigold"),
        ("two common words", "q=garden+kettle"),
        ("the beginning of many words", "q=w1"),
        ("no such word", "q=zzz"),
        ("an agent and a tier", "peer=agent-carol-001&tier=2"),
        ("dates", "from=2026-02-09&to=2026-02-09"),
        (
            "a word that an agent never said",
            "q=marigold&peer=agent-carol-001",
        ),
    ] {
        let took = slowest(&room, &format!("search?{query}"));
        bench.held(format!("search: {what}, ms"), took, Limit::Most(SEARCH));
    }
    bench.held(
        "memory with an index, MiB",
        memory(room.pid()),
        Limit::Most(MEMORY),
    );
    drop(room);
    beside_a_daemon(&mut bench, dir.path(), &log);
    bench.end();
}

/// Takes a daemon's pings in quiet and beside a room that reads the long log and the daemon's own, in turns.
fn beside_a_daemon(bench: &mut Bench, dir: &Path, long: &Path) {
    let (rounds, count) = (bench.size(ROUNDS, 1), bench.size(PINGS, 10));
    let still = bench.size(STILL, Duration::ZERO);
    let mut daemon = Pinging::start();
    daemon.take(bench.size(100, 1));
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        without.extend(daemon.take_in_quiet(still, count));
        // Each has an index of its own, and begins to read anew.
        let data = dir.join(format!("view-{round}"));
        let room = Room::open(&data, &[long, &daemon.log()]);
        with.extend(daemon.take(count));
        let still_reads = reads(&room);
        assert!(
            still_reads || bench.size(false, true),
            "the log was read before the pings were over: SIGNET_LINES has to be larger"
        );
    }
    let mut row = |name: &str, times: &[f64]| {
        let p99 = percentile(times, 99);
        bench.figure(format!("{name}, p50 in ms"), percentile(times, 50));
        bench.figure(format!("{name}, p99 in ms"), p99);
        p99
    };
    let before = row("a daemon's ping in quiet", &without);
    let after = row("a daemon's ping while the room reads", &with);
    bench.held(
        "a daemon's p99 while the room reads, to that in quiet",
        after / before,
        Limit::Most(SLOWER),
    );
}

/// A directory on the disk that the build is on.
fn directory() -> TempDir {
    let mut named = tempfile::Builder::new();
    named
        .prefix("b")
        .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
        .unwrap()
}

/// Whether the room has lines before it that it did not read yet.
fn reads(room: &Room) -> bool {
    let today = room.get("today").body;
    today.contains("Older lines are still being read")
}

fn last(lines: u64) -> String {
    format!("answer {}", lines / 2)
}

/// Questions and answers of two people, each with a body of ten words.
fn write(dir: &Path, lines: u64) {
    let mut diary = Diary::begin(dir);
    ["bob", "carol"].iter().for_each(|who| diary.trusts(who));
    for number in 1..=lines / 2 {
        let from = if number % 3 == 0 { "carol" } else { "bob" };
        let flower = if number % 50_000 == 7 {
            "marigold"
        } else {
            "rose"
        };
        let summary = format!("question {number}");
        let id = diary.hears(Words {
            from,
            tier: 1 + u8::from(number % 4 == 0),
            summary: Some(&summary),
            body: json!({"about": "the garden and the kettle", "flower": flower, "word": format!("w{}", number % 5_000)}),
            ..Words::default()
        });
        diary.answers(
            from,
            Words {
                summary: Some(&format!("answer {number}")),
                body: json!({"answer": "yes, until the evening comes"}),
                answers: Some(id),
                ..Words::default()
            },
        );
        if number % 5_000 == 0 {
            diary.commit();
        }
    }
    diary.commit();
}

/// The slowest of some answers, in milliseconds, the first left out.
fn slowest(room: &Room, page: &str) -> f64 {
    let mut took = Vec::new();
    for _ in 0..6 {
        let begun = Instant::now();
        assert_eq!(room.get(page).status, 200, "{page}");
        took.push(millis(begun.elapsed()));
    }
    took.into_iter().skip(1).fold(0.0, f64::max)
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Processor time of the thread that reads, in seconds: a tick is a hundredth on every Linux that we build for.
fn processor_seconds(pid: u32) -> f64 {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let mut stats =
        tasks.filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("stat")).ok());
    let stat = stats.find(|stat| stat.contains("(index)")).unwrap();
    let behind = stat.rsplit(')').next().unwrap();
    let ticks = behind.split_whitespace().skip(11).take(2);
    ticks
        .map(|ticks| ticks.parse::<f64>().unwrap())
        .sum::<f64>()
        / 100.0
}

/// The most memory that a process held, in MiB.
fn memory(pid: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    let kib: f64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    kib / 1024.0
}
