//! What a daemon takes in: messages a second, verified and durable, and the CPU time of each, beside
//! a bare `verify_strict` and bare async-nats in the same run.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod common;

use std::time::{Duration, Instant};

use bytes::Bytes;
use common::{Daemon, Peer, daemon, median, peer};
use futures_util::StreamExt as _;
use signet_testkit::Server;
use signet_testkit::server::MAILBOXES;

/// Messages of one round: the sender's ledger holds 4,096.
const MESSAGES: usize = 3_000;
const ROUNDS: usize = 9;
/// The most CPU time that a message may cost, in bare `verify_strict`s.
const MOST: f64 = 1.6;

/// The least part of core NATS's throughput that mailboxes leave.
const LEAST: f64 = 0.8;

/// A daemon, and a peer that sends to it.
struct Pair {
    daemon: Daemon,
    sender: Peer,
    rates: Vec<f64>,
    cpus: Vec<f64>,
    gaps: usize,
}

fn main() {
    let dir = common::directory();
    let server = Server::start_at(dir.path(), MAILBOXES);
    let runtime = common::runtime();
    let (mut core, _lock) = Pair::meet(&runtime, dir.path(), &server, ("alice", "bob"), false);
    let (mut mail, _lock) = Pair::meet(&runtime, dir.path(), &server, ("carol", "dave"), true);
    let sample = core.sender.sign(1).remove(0);
    runtime.block_on(core.sender.publish(sample.clone()));
    runtime.block_on(core.sender.settle());
    let (mut units, mut bare_rates, mut bare_cpus) = (vec![], vec![], vec![]);
    for _ in 0..ROUNDS {
        let before = common::verify_strict(sample.len());
        core.round(&runtime);
        units.push(f64::midpoint(before, common::verify_strict(sample.len())));
        mail.round(&runtime);
        let (rate, cpu) = bare(&server.url(), &sample);
        bare_rates.push(rate);
        bare_cpus.push(cpu);
    }
    println!(
        "Messages of {} bytes; medians of {ROUNDS} rounds of {MESSAGES}.\n",
        sample.len()
    );
    println!(
        "{:<44} {:>10} {:>12} {:>9}",
        "", "a second", "CPU ns each", "verifies"
    );
    let unit = median(&units);
    let row = |name: &str, rate: f64, cpu: f64| {
        println!("{name:<44} {rate:>10.0} {cpu:>12.0} {:>9.2}", cpu / unit);
    };
    row("bare verify_strict, one core", 1e9 / unit, unit);
    row(
        "bare async-nats subscriber",
        median(&bare_rates),
        median(&bare_cpus),
    );
    row(
        "daemon inbound, verified and durable",
        median(&core.rates),
        median(&core.cpus),
    );
    row(
        "the same out of a mailbox, acknowledged",
        median(&mail.rates),
        median(&mail.cpus),
    );
    let ratios: Vec<f64> = core
        .cpus
        .iter()
        .zip(&units)
        .map(|(cpu, unit)| cpu / unit)
        .collect();
    let ratio = median(&ratios);
    println!(
        "\nCPU time of a message in the daemon: {ratio:.2} x verify_strict (at most {MOST}); gap lines: {}",
        core.gaps
    );
    println!("each round: {}", list(&ratios));
    let kept: Vec<f64> = mail
        .rates
        .iter()
        .zip(&core.rates)
        .map(|(mail, core)| mail / core)
        .collect();
    let left = median(&kept);
    println!("Throughput with mailboxes: {left:.2} of core NATS (at least {LEAST})");
    println!("each round: {}", list(&kept));
    assert_eq!(core.gaps + mail.gaps, 0, "messages were dropped");
    assert!(ratio <= MOST, "a message costs {ratio:.2} x verify_strict");
    assert!(left >= LEAST, "mailboxes leave {left:.2} of the throughput");
}

impl Pair {
    fn meet(
        runtime: &tokio::runtime::Runtime,
        dir: &std::path::Path,
        server: &Server,
        (from, to): (&str, &str),
        mailboxes: bool,
    ) -> (Self, signet::lock::HomeLock) {
        let (from, home) = (
            daemon::init(dir, from, &server.url()),
            daemon::init(dir, to, &server.url()),
        );
        home.knows(&from);
        from.knows(&home);
        if mailboxes {
            daemon::set_up(&from);
            daemon::set_up(&home);
        }
        let mut daemon = Daemon::start(home);
        assert_eq!(
            daemon.call("status", &serde_json::json!({}))["mailbox"],
            mailboxes
        );
        let (memory, lock) = peer::open(&from);
        let to = to.parse().unwrap();
        let url = &server.url();
        let mut sender = runtime.block_on(async {
            match mailboxes {
                true => Peer::with_mailbox(memory.node, to, url).await,
                false => Peer::connect(memory.node, to, url).await,
            }
        });
        runtime.block_on(sender.meet());
        runtime.block_on(sender.round(&mut daemon, MESSAGES));
        let pair = Self {
            daemon,
            sender,
            rates: Vec::new(),
            cpus: Vec::new(),
            gaps: 0,
        };
        (pair, lock)
    }

    fn round(&mut self, runtime: &tokio::runtime::Runtime) {
        self.daemon.empty_inbox();
        let round = runtime.block_on(self.sender.round(&mut self.daemon, MESSAGES));
        self.rates
            .push(MESSAGES as f64 / round.elapsed.as_secs_f64());
        self.cpus.push(round.cpu);
        self.gaps += round.gaps;
    }
}

fn list(values: &[f64]) -> String {
    let values: Vec<String> = values.iter().map(|value| format!("{value:.2}")).collect();
    values.join(" ")
}

/// Messages a second and nanoseconds of the subscriber's thread for each, without anything of ours.
fn bare(url: &str, sample: &Bytes) -> (f64, f64) {
    let (ready, started) = std::sync::mpsc::channel();
    let (at, length) = (url.to_owned(), sample.len());
    let subscriber = std::thread::spawn(move || {
        common::runtime().block_on(async move {
            let options = async_nats::ConnectOptions::new().subscription_capacity(2 * MESSAGES);
            let client = options.connect(at).await.unwrap();
            let mut inbox = client.subscribe("bare.inbox").await.unwrap();
            client.flush().await.unwrap();
            tokio::time::sleep(Duration::from_millis(50)).await;
            let cpu = common::thread_cpu();
            ready.send(()).unwrap();
            for _ in 0..MESSAGES {
                assert_eq!(inbox.next().await.unwrap().payload.len(), length);
            }
            let end = Instant::now();
            tokio::time::sleep(Duration::from_millis(10)).await;
            (end, common::thread_cpu() - cpu)
        })
    });
    let start = common::runtime().block_on(async {
        let client = async_nats::connect(url).await.unwrap();
        started.recv().unwrap();
        let start = Instant::now();
        for _ in 0..MESSAGES {
            client.publish("bare.inbox", sample.clone()).await.unwrap();
        }
        // A flush is no round trip: whoever hangs up early loses what is still on its way.
        while !subscriber.is_finished() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        start
    });
    let (end, cpu) = subscriber.join().unwrap();
    (
        MESSAGES as f64 / (end - start).as_secs_f64(),
        cpu / MESSAGES as f64,
    )
}
