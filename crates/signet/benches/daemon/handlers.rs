//! Whether fifty handlers that hang delay what others send: a ping goes through verification and the log
//! on both sides, without them and with them, in the same run.

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use crate::common::{self, Daemon, daemon, percentile};
use serde_json::json;
use signet_testkit::Server;
use signet_testkit::bench::{Bench, Limit};
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

pub(crate) fn run(mut bench: Bench) {
    let dir = common::directory();
    let server = Server::start_at(dir.path(), MAILBOXES);
    let (alice, bob) = (
        daemon::init(dir.path(), "alice", &server.url()),
        daemon::init(dir.path(), "bob", &server.url()),
    );
    bob.knows(&alice);
    alice.knows(&bob);
    let (bob, mut alice) = (Daemon::start(bob), Daemon::start(alice));
    let (rounds, count, handlers) = (
        bench.size(ROUNDS, 1),
        bench.size(PINGS, 10),
        bench.size(HANDLERS, 4),
    );
    let still = bench.size(STILL, Duration::ZERO);
    pings(&mut alice, bench.size(50, 1));
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        std::thread::sleep(still);
        without.extend(pings(&mut alice, count));
        let hanging = Hanging::start(&bob, dir.path(), handlers);
        for _ in 0..handlers {
            let asked = json!({"peer": "bob", "kind": "request", "body": "slow?", "life": 3600});
            alice.call("send", &asked);
        }
        hanging.wait_until_all_hang(handlers);
        std::thread::sleep(still);
        with.extend(pings(&mut alice, count));
        drop(hanging);
        // The handlers were ended in the middle of their messages: take these out of the inbox, or the handlers of the
        // next round get them again.
        bob.home.done(&["inbox", "--take"]);
    }
    println!("A ping and its answer, {} times each.\n", count * rounds);
    let mut row = |name: &str, times: &[f64]| {
        let p99 = percentile(times, 99);
        bench.figure(format!("{name}, p50 in ms"), percentile(times, 50));
        bench.figure(format!("{name}, p99 in ms"), p99);
        p99
    };
    let before = row("a ping without handlers", &without);
    let after = row("a ping beside 50 handlers that hang", &with);
    bench.held(
        "p99 beside them, to that without",
        after / before,
        Limit::Most(MOST),
    );
    bench.end();
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

/// Two runtimes with half of the handlers at once each: every one writes a line, and hangs.
struct Hanging {
    runtimes: Vec<Child>,
    begun: std::path::PathBuf,
}

impl Hanging {
    fn start(bob: &Daemon, dir: &std::path::Path, handlers: usize) -> Self {
        let begun = dir.join("begun");
        std::fs::write(&begun, "").unwrap();
        let script = format!("echo x >> {}; exec sleep 600", begun.display());
        let runtime = || {
            let half = (handlers / 2).to_string();
            let args = ["handle", "--parallel", &half, "--timeout", "900", "--home"];
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

    fn wait_until_all_hang(&self, handlers: usize) {
        let start = Instant::now();
        let begun = || {
            std::fs::read_to_string(&self.begun)
                .unwrap()
                .lines()
                .count()
        };
        while begun() < handlers {
            assert!(start.elapsed() < Duration::from_secs(60), "{}", begun());
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Hanging {
    fn drop(&mut self) {
        for runtime in &mut self.runtimes {
            // TERM lets the process of the handlers stop cleanly and end its handlers; after KILL they would go on
            // hanging.
            let id = rustix::process::Pid::from_child(runtime);
            let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
            let _ = runtime.wait();
        }
    }
}
