//! What a daemon takes in: messages a second, verified and durable, and the CPU time of each, beside
//! a bare `verify_strict` and bare async-nats in the same run.

use std::time::{Duration, Instant};

use crate::common::{self, Daemon, Peer, daemon, median, peer};
use bytes::Bytes;
use futures_util::StreamExt as _;
use signet_testkit::Server;
use signet_testkit::bench::{Bench, Limit};
use signet_testkit::server::MAILBOXES;

/// Messages of one round: the sender's ledger holds 4,096.
const MESSAGES: usize = 3_000;
const ROUNDS: usize = 9;
/// The most CPU time that a message may cost, in bare `verify_strict`s: the program that is handed out, built for size, took 1.5
/// to 1.74 on two machines.
const MOST: f64 = 1.75;
/// The most CPU time that a message out of a mailbox may cost, in that of one by core NATS.
const MOST_OUT_OF_MAILBOX: f64 = 1.2;
/// The least part of core NATS's throughput that mailboxes leave: measured were 0.67 to 0.78, on two cores that the server has
/// its share of.
const LEAST: f64 = 0.6;

/// A daemon, and a peer that sends to it.
struct Pair {
    daemon: Daemon,
    sender: Peer,
    rates: Vec<f64>,
    cpus: Vec<f64>,
    gaps: usize,
}

pub(crate) fn run(mut bench: Bench) {
    let (rounds, messages) = (bench.size(ROUNDS, 1), bench.size(MESSAGES, 50));
    let dir = common::directory();
    let server = Server::start_at(dir.path(), MAILBOXES);
    let runtime = common::runtime();
    let meet =
        |names, mailboxes| Pair::meet(&runtime, dir.path(), &server, names, mailboxes, messages);
    let (mut core, _lock) = meet(("alice", "bob"), false);
    let (mut mail, _lock) = meet(("carol", "dave"), true);
    let sample = core.sender.sign(1).remove(0);
    runtime.block_on(core.sender.publish(sample.clone()));
    runtime.block_on(core.sender.settle());
    let (mut units, mut bare_rates, mut bare_cpus) = (vec![], vec![], vec![]);
    for _ in 0..rounds {
        let before = common::verify_strict(sample.len());
        core.round(&runtime, messages);
        units.push(f64::midpoint(before, common::verify_strict(sample.len())));
        mail.round(&runtime, messages);
        let (rate, cpu) = bare(&server.url(), &sample, messages);
        bare_rates.push(rate);
        bare_cpus.push(cpu);
    }
    println!(
        "Messages of {} bytes; medians of {rounds} rounds of {messages}.\n",
        sample.len()
    );
    let unit = median(&units);
    bench.figure("bare verify_strict, microseconds", unit / 1e3);
    bench.figure(
        "bare async-nats subscriber, messages a second",
        median(&bare_rates),
    );
    bench.figure(
        "bare async-nats subscriber, CPU in verify_strict",
        median(&bare_cpus) / unit,
    );
    bench.figure(
        "inbound, verified and durable, messages a second",
        median(&core.rates),
    );
    bench.figure(
        "the same beside the bare rate of one core",
        median(&core.rates) * unit / 1e9,
    );
    bench.figure(
        "out of a mailbox, acknowledged, messages a second",
        median(&mail.rates),
    );
    let ratios = |cpus: &[f64], than: &[f64]| -> Vec<f64> {
        cpus.iter()
            .zip(than)
            .map(|(cpu, than)| cpu / than)
            .collect()
    };
    let (each, out_of_mailbox) = (ratios(&core.cpus, &units), ratios(&mail.cpus, &core.cpus));
    let kept = ratios(&mail.rates, &core.rates);
    for (what, ratios) in [
        ("CPU", &each),
        ("mailbox CPU", &out_of_mailbox),
        ("mailbox rate", &kept),
    ] {
        println!("{what:<12} each round: {}", list(ratios));
    }
    bench.held(
        "CPU of a message inbound, in verify_strict",
        median(&each),
        Limit::Most(MOST),
    );
    bench.held(
        "CPU out of a mailbox, beside core NATS",
        median(&out_of_mailbox),
        Limit::Most(MOST_OUT_OF_MAILBOX),
    );
    bench.held(
        "rate out of a mailbox, beside core NATS",
        median(&kept),
        Limit::Least(LEAST),
    );
    bench.held(
        "lines that tell of dropped messages",
        (core.gaps + mail.gaps) as f64,
        Limit::Most(0.0),
    );
    bench.end();
}

impl Pair {
    fn meet(
        runtime: &tokio::runtime::Runtime,
        dir: &std::path::Path,
        server: &Server,
        (from, to): (&str, &str),
        mailboxes: bool,
        messages: usize,
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
        runtime.block_on(sender.round(&mut daemon, messages));
        let pair = Self {
            daemon,
            sender,
            rates: Vec::new(),
            cpus: Vec::new(),
            gaps: 0,
        };
        (pair, lock)
    }

    fn round(&mut self, runtime: &tokio::runtime::Runtime, messages: usize) {
        self.daemon.empty_inbox();
        let round = runtime.block_on(self.sender.round(&mut self.daemon, messages));
        self.rates
            .push(messages as f64 / round.elapsed.as_secs_f64());
        self.cpus.push(round.cpu);
        self.gaps += round.gaps;
    }
}

fn list(values: &[f64]) -> String {
    let values: Vec<String> = values.iter().map(|value| format!("{value:.2}")).collect();
    values.join(" ")
}

/// Messages a second and nanoseconds of the subscriber's thread for each, without anything of ours.
fn bare(url: &str, sample: &Bytes, messages: usize) -> (f64, f64) {
    let (ready, started) = std::sync::mpsc::channel();
    let (at, length) = (url.to_owned(), sample.len());
    let subscriber = std::thread::spawn(move || {
        common::runtime().block_on(async move {
            let options = async_nats::ConnectOptions::new().subscription_capacity(2 * messages);
            let client = options.connect(at).await.unwrap();
            let mut inbox = client.subscribe("bare.inbox").await.unwrap();
            client.flush().await.unwrap();
            tokio::time::sleep(Duration::from_millis(50)).await;
            let cpu = common::thread_cpu();
            ready.send(()).unwrap();
            for _ in 0..messages {
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
        for _ in 0..messages {
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
        messages as f64 / (end - start).as_secs_f64(),
        cpu / messages as f64,
    )
}
