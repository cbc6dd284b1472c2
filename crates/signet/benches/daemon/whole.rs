//! What a log costs that is read as a whole: a start without the state, the state held against the log, and two logs held
//! against each other; and how much more memory that takes for a longer log.
//!
//! `SIGNET_LINES` says how long the longest log is.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::past::write_history;
use crate::common::{self, Daemon, cpu_seconds, daemon, peer};
use signet_testkit::bench::{Bench, Limit};
use signet_testkit::server::MAILBOXES;
use signet_testkit::{Home, Server};

/// Lines of the short and of the long log of one who hears messages and takes them out of the inbox. The other's has half as
/// many.
const LINES: [u64; 2] = [80_000, 260_000];
/// The most CPU seconds for a million lines: of a start up to the first answer, where the aim is 4; of state against log, where
/// it is 6.3; of log against log.
const START: f64 = 8.0;
const COMPARE: f64 = 9.0;
const RECONCILE: f64 = 50.0;
/// The most seconds for the digest of 100,000 lines.
const DIGEST: f64 = 2.0;
/// The most MiB that state against log may hold at a time, and log against log.
const COMPARE_PEAK: f64 = 64.0;
const RECONCILE_PEAK: f64 = 64.0;

pub(crate) fn run(mut bench: Bench) {
    let [short, long] = bench.size(LINES, [200, 400]);
    let told = std::env::var("SIGNET_LINES").ok();
    let long = told.and_then(|lines| lines.parse().ok()).unwrap_or(long);
    let dir = common::directory();
    let server = Server::start_at(dir.path(), MAILBOXES);
    let (few, _) = Logs::of(dir.path(), &server, short);
    let (many, started) = Logs::of(dir.path(), &server, long);
    let a_million = |cpu: f64| cpu * 1e6 / long as f64;
    bench.held(
        "first answer without state, CPU seconds for a million lines",
        a_million(started),
        Limit::Most(START),
    );

    let (small, large) = (few.compared(), many.compared());
    bench.held(
        "state compare, CPU seconds for a million lines",
        a_million(large.cpu),
        Limit::Most(COMPARE),
    );
    bench.held(
        "state compare, peak of memory, MiB",
        large.peak,
        Limit::Most(COMPARE_PEAK),
    );
    // No limit here: memory grows with what the agent remembers, and in a log that was made within seconds nothing is
    // old enough to be forgotten.
    bench.figure(
        "state compare, peak of memory, to that with a shorter log",
        large.peak / small.peak,
    );

    bench.held(
        "digest of 100,000 lines, seconds",
        many.digested().as_secs_f64() * 1e5 / long as f64,
        Limit::Most(DIGEST),
    );

    let (small, large) = (few.reconciled(), many.reconciled());
    bench.held(
        "reconcile, CPU seconds for a million and half a million lines",
        a_million(large.cpu),
        Limit::Most(RECONCILE),
    );
    bench.held(
        "reconcile, peak of memory, MiB",
        large.peak,
        Limit::Most(RECONCILE_PEAK),
    );
    // No limit here: each proof keeps the newest 65,536 messages and lines in memory, and the shorter logs do not have
    // as many.
    bench.figure(
        "reconcile, peak of memory, to that with shorter logs",
        large.peak / small.peak,
    );
    bench.end();
}

/// What a program took.
struct Spent {
    /// CPU seconds.
    cpu: f64,
    /// The most memory that it held, in MiB.
    peak: f64,
}

/// The homes of two agents that talked with each other, and ended as daemons end.
struct Logs {
    near: Home,
    logs: [PathBuf; 2],
}

impl Logs {
    /// Beside them the CPU seconds up to the first answer of a daemon that has a log and no state. Its stop leaves one.
    fn of(dir: &Path, server: &Server, lines: u64) -> (Self, f64) {
        let begun = Instant::now();
        let [near, far] = ["near", "far"]
            .map(|agent| daemon::init(dir, &format!("{agent}-{lines}"), &server.url()));
        near.knows(&far);
        far.knows(&near);
        {
            let ((mut memory, _near), (mut sender, _far)) = (peer::open(&near), peer::open(&far));
            write_history(&mut memory, &mut sender, lines);
            memory.log.checkpoint().unwrap();
            sender.log.checkpoint().unwrap();
        }
        let logs = [&near, &far].map(|home| daemon::config(home).audit_dir);
        let [longer, other] = logs.each_ref().map(|log| megabytes(log));
        let took = begun.elapsed().as_secs_f64();
        println!(
            "{lines} lines, {longer:.0} MB, and {other:.0} MB of the other: made in {took:.0} s"
        );
        let mut daemon = Daemon::start(near);
        let started = cpu_seconds(daemon.home.pid());
        assert!(daemon.home.stop().success(), "a clean stop");
        let near = daemon.home;
        (Self { near, logs }, started)
    }

    fn compared(&self) -> Spent {
        spent(self.near.command(&["state", "compare"]))
    }

    /// How long the page of everything that the log holds takes.
    fn digested(&self) -> Duration {
        let begun = Instant::now();
        let mut command = self.near.command(&["digest", "--since", "2000-01-01"]);
        let status = command.stdout(Stdio::null()).status().unwrap();
        assert!(status.success(), "{status}");
        begun.elapsed()
    }

    fn reconciled(&self) -> Spent {
        let mut command = self.near.command(&["audit", "reconcile"]);
        command.args(&self.logs);
        spent(command)
    }
}

fn megabytes(log: &Path) -> f64 {
    let files = std::fs::read_dir(log).unwrap();
    let bytes: u64 = files
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum();
    bytes as f64 / 1e6
}

/// Runs a program that has to end well.
fn spent(mut command: Command) -> Spent {
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let peak = || {
        let text = std::fs::read_to_string(&status).unwrap();
        let line = text.lines().find(|line| line.starts_with("VmHWM:"))?;
        line.split_whitespace().nth(1)?.parse::<f64>().ok()
    };
    // A process that has ended holds no memory, and tells its CPU time until somebody waits for it.
    let mut highest = 0.0;
    while let Some(kib) = peak() {
        highest = kib;
        std::thread::sleep(Duration::from_millis(1));
    }
    let cpu = cpu_seconds(child.id());
    assert!(child.wait().unwrap().success(), "{command:?}");
    let peak = highest / 1024.0;
    Spent { cpu, peak }
}
