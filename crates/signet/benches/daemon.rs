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
use common::{Daemon, Peer, Server, daemon, median, peer};
use futures_util::StreamExt as _;

/// Messages of one round: the sender's ledger holds 4,096.
const MESSAGES: usize = 3_000;
const ROUNDS: usize = 9;
/// The most CPU time that a message may cost, in bare `verify_strict`s.
const MOST: f64 = 1.6;

fn main() {
    let dir = common::directory();
    let server = Server::start(dir.path());
    let (alice, bob) = (
        daemon::init(dir.path(), "alice"),
        daemon::init(dir.path(), "bob"),
    );
    daemon::add(&bob, &alice);
    daemon::add(&alice, &bob);
    let mut daemon = Daemon::start(bob, server.url());
    let (memory, _lock) = peer::open(&alice);
    let runtime = common::runtime();
    let mut sender = runtime.block_on(Peer::connect(
        memory.node,
        "bob".parse().unwrap(),
        server.url(),
    ));
    runtime.block_on(sender.meet());
    runtime.block_on(sender.round(&mut daemon, MESSAGES));

    let sample = sender.sign(1).remove(0);
    runtime.block_on(sender.publish(sample.clone()));
    runtime.block_on(sender.settle());
    let (mut rates, mut cpus, mut ratios, mut units, mut gaps) =
        (vec![], vec![], vec![], vec![], 0);
    let (mut bare_rates, mut bare_cpus) = (vec![], vec![]);
    for _ in 0..ROUNDS {
        daemon.empty_inbox();
        let before = common::verify_strict(sample.len());
        let round = runtime.block_on(sender.round(&mut daemon, MESSAGES));
        let unit = f64::midpoint(before, common::verify_strict(sample.len()));
        rates.push(MESSAGES as f64 / round.elapsed.as_secs_f64());
        cpus.push(round.cpu);
        ratios.push(round.cpu / unit);
        units.push(unit);
        gaps += round.gaps;
        let (rate, cpu) = bare(server.url(), &sample);
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
    let row = |name: &str, rate: f64, cpu: f64| {
        println!(
            "{name:<44} {rate:>10.0} {cpu:>12.0} {:>9.2}",
            cpu / median(&units)
        );
    };
    row(
        "bare verify_strict, one core",
        1e9 / median(&units),
        median(&units),
    );
    row(
        "bare async-nats subscriber",
        median(&bare_rates),
        median(&bare_cpus),
    );
    row(
        "daemon inbound, verified and durable",
        median(&rates),
        median(&cpus),
    );
    let ratio = median(&ratios);
    println!(
        "\nCPU time of a message in the daemon: {ratio:.2} x verify_strict (at most {MOST}); gap lines: {gaps}"
    );
    println!(
        "each round: {}",
        ratios
            .iter()
            .map(|ratio| format!("{ratio:.2}"))
            .collect::<Vec<_>>()
            .join(" ")
    );
    assert_eq!(gaps, 0, "messages were dropped");
    assert!(ratio <= MOST, "a message costs {ratio:.2} x verify_strict");
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
