//! Whether fifty handlers that hang delay what others send: a ping goes through verification and the log
//! on both sides, without them and with them, in the same run.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod common;

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use common::{Daemon, daemon, percentile};
use serde_json::json;
use signet_testkit::Server;
use signet_testkit::server::MAILBOXES;

const HANDLERS: usize = 50;
/// Pings in each part of a round: so many that a percentile is not made by a single write of the disk.
const PINGS: usize = 1_000;
const ROUNDS: usize = 4;
/// How long after the last handler began the measuring does: after a second of silence the daemon itself tells
/// whoever asked that somebody is at it (docs/protocol.md, `progress`), and those fifty messages are no delay that a
/// hanging handler causes.
const STILL: Duration = Duration::from_secs(3);
/// The p99 of the pings may grow by this factor.
const MOST: f64 = 1.2;

fn main() {
    let dir = common::directory();
    let server = Server::start_at(dir.path(), MAILBOXES);
    let (alice, bob) = (
        daemon::init(dir.path(), "alice", &server.url()),
        daemon::init(dir.path(), "bob", &server.url()),
    );
    bob.knows(&alice);
    alice.knows(&bob);
    let (bob, mut alice) = (Daemon::start(bob), Daemon::start(alice));
    pings(&mut alice, 50);
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        std::thread::sleep(STILL);
        without.extend(pings(&mut alice, PINGS));
        let handlers = Hanging::start(&bob, dir.path());
        for _ in 0..HANDLERS {
            let asked = json!({"peer": "bob", "kind": "request", "body": "slow?", "life": 3600});
            alice.call("send", &asked);
        }
        handlers.wait_until_all_hang();
        with.extend(pings(&mut alice, PINGS));
        drop(handlers);
        // What was cut short is nobody's work any more.
        bob.home.done(&["inbox", "--take"]);
    }
    println!("A ping and its answer, {} times each.\n", PINGS * ROUNDS);
    println!("{:<46} {:>8} {:>8}", "milliseconds", "p50", "p99");
    let row = |name: &str, times: &[f64]| {
        let (p50, p99) = (percentile(times, 50), percentile(times, 99));
        println!("{name:<46} {p50:>8.3} {p99:>8.3}");
        p99
    };
    let before = row("no handler", &without);
    let after = row("50 handlers that hang", &with);
    let ratio = after / before;
    println!("\np99 grows by the factor {ratio:.2} (at most {MOST})");
    assert!(ratio <= MOST, "p99 grows by {ratio:.2}");
}

/// Milliseconds of so many pings, one after the other.
fn pings(daemon: &mut Daemon, count: usize) -> Vec<f64> {
    let params = json!({"peer": "bob", "kind": "ping", "wait": 10, "life": 60});
    let mut ping = |_| {
        let start = Instant::now();
        let answer = daemon.call("send", &params);
        assert_eq!(answer["state"], "answered", "{answer}");
        start.elapsed().as_secs_f64() * 1e3
    };
    (0..count).map(&mut ping).collect()
}

/// Two runtimes, 25 handlers at once each: every one writes a line, and hangs.
struct Hanging {
    runtimes: Vec<Child>,
    begun: std::path::PathBuf,
}

impl Hanging {
    fn start(bob: &Daemon, dir: &std::path::Path) -> Self {
        let begun = dir.join("begun");
        std::fs::write(&begun, "").unwrap();
        let script = format!("echo x >> {}; exec sleep 600", begun.display());
        let runtime = || {
            let args = ["handle", "--parallel", "25", "--timeout", "900", "--home"];
            let program = bob.home.command(&[]);
            let mut command = Command::new(program.get_program());
            command.args(args).arg(&bob.home.dir);
            command.args(["--", "/bin/sh", "-c", &script]);
            command.spawn().unwrap()
        };
        Self {
            runtimes: vec![runtime(), runtime()],
            begun,
        }
    }

    fn wait_until_all_hang(&self) {
        let start = Instant::now();
        let begun = || {
            std::fs::read_to_string(&self.begun)
                .unwrap()
                .lines()
                .count()
        };
        while begun() < HANDLERS {
            assert!(start.elapsed() < Duration::from_secs(60), "{}", begun());
            std::thread::sleep(Duration::from_millis(50));
        }
        std::thread::sleep(STILL);
    }
}

impl Drop for Hanging {
    fn drop(&mut self) {
        for runtime in &mut self.runtimes {
            // A clean end, which ends the handlers too.
            let id = rustix::process::Pid::from_child(runtime);
            let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
            let _ = runtime.wait();
        }
    }
}
