//! What a peer notices while strangers announce themselves as fast as the machine sends, and what the
//! daemon holds in memory meanwhile. `SIGNET_FLOOD_SECONDS` and `SIGNET_FLOOD_RATE` change the flood.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use crate::common::{self, percentile};
use serde_json::json;
use signet_testkit::bench::{Bench, Limit};
use signet_testkit::bus::Sender;
use signet_testkit::flood::{announces, pour};
use signet_testkit::{Home, House};

const SECONDS: f64 = 30.0;
/// Announces a second, at most.
const RATE: f64 = 20_000.0;
const STRANGERS: usize = 5_000;
/// How long the peer asks before the flood.
const QUIET: Duration = Duration::from_secs(3);
/// How often the peer sends a request.
const EVERY: Duration = Duration::from_millis(20);
/// How many of its requests may be under way.
const ASKERS: u32 = 16;
/// The longest that 99 of 100 requests may take, in milliseconds.
const MOST: f64 = 250.0;
/// What the daemon may grow by, in KiB.
const GROWTH: u64 = 32 * 1024;
/// Whoever waited so long, in milliseconds, was helped by a resend.
const RESENT: f64 = 5_000.0;

pub(crate) fn run(mut bench: Bench) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let length =
        Duration::from_secs_f64(number("SIGNET_FLOOD_SECONDS").unwrap_or(bench.size(SECONDS, 0.5)));
    let rate = number("SIGNET_FLOOD_RATE").unwrap_or(bench.size(RATE, 500.0));
    let house = House::within(common::directory());
    let (alice, bob) = house.alice_and_bob();
    let quiet = ask(&alice, &bob, || sleep(bench.size(QUIET, EVERY * 10))).0;

    let inputs = announces(bench.size(STRANGERS, 20), &bob);
    let mut sender = Sender::new(&house);
    let (before, cpu) = (bob.resident().0, bob.cpu());
    let highest = AtomicU64::new(before);
    let (times, (sent, took)) = ask(&alice, &bob, || {
        watched(&bob, &highest, || {
            let start = Instant::now();
            let sent = pour(&mut sender, &bob.subject(), &inputs, rate, length);
            (sent, start.elapsed().as_secs_f64())
        })
    });
    let cpu = bob.cpu() - cpu;
    let accounts = bob.accounts();
    let after = bob.resident().0;
    let (highest, p99) = (highest.into_inner(), times.percentile(99));
    let growth = highest.saturating_sub(before);

    let load = std::fs::read_to_string("/proc/loadavg").unwrap();
    println!(
        "A flood of announces of {} bytes from {} strangers; load average {}.\n",
        inputs[0].len(),
        inputs.len(),
        load.trim()
    );
    println!(
        "sent {sent} in {took:.1} s: {:.0} a second",
        sent as f64 / took
    );
    println!(
        "arrived {}: {} lines, {} counted by {} flood lines; {} gap lines",
        accounts.arrived(),
        accounts.lines,
        accounts.counted,
        accounts.floods,
        accounts.gaps
    );
    println!("memory: {before} KiB before, {highest} at most, {after} after; grew {growth}");
    quiet.take(&mut bench, "a peer's ping in quiet");
    times.take(&mut bench, "a peer's ping in the flood");
    bench.figure("CPU, cores", cpu / 1e9 / took);
    bench.figure("CPU, microseconds an input", cpu / 1e3 / sent as f64);
    bench.held(
        "pings of the peer that were lost",
        times.lost as f64,
        Limit::Most(0.0),
    );
    bench.held(
        "a peer's ping in the flood, p99 in ms",
        p99,
        Limit::Most(MOST),
    );
    bench.held(
        "memory grew, KiB",
        growth as f64,
        Limit::Most(GROWTH as f64),
    );
    bench.end();
}

/// From when a request was due to its answer, in milliseconds: one that had to wait for a free asker
/// counts the wait.
struct Times {
    answered: Vec<f64>,
    lost: usize,
}

impl Times {
    fn percentile(&self, percent: usize) -> f64 {
        percentile(&self.answered, percent)
    }

    fn take(&self, bench: &mut Bench, name: &str) {
        let resent = self.answered.iter().filter(|time| **time >= RESENT).count();
        println!(
            "{name}: {} asked, {resent} helped by a resend",
            self.answered.len() + self.lost
        );
        bench.figure(format!("{name}, p50 in ms"), self.percentile(50));
        bench.figure(format!("{name}, longest in ms"), self.percentile(100));
    }
}

/// Pings steadily as long as `meanwhile` lasts.
fn ask<T>(from: &Home, to: &Home, meanwhile: impl FnOnce() -> T) -> (Times, T) {
    let (over, start) = (AtomicBool::new(false), Instant::now());
    thread::scope(|scope| {
        let over = &over;
        let askers: Vec<_> = (0..ASKERS)
            .map(|asker| scope.spawn(move || asker_of(from, to, asker, start, over)))
            .collect();
        let done = meanwhile();
        over.store(true, Ordering::Relaxed);
        let all: Vec<Option<f64>> = askers
            .into_iter()
            .flat_map(|asker| asker.join().unwrap())
            .collect();
        let answered: Vec<f64> = all.iter().copied().flatten().collect();
        let lost = all.len() - answered.len();
        (Times { answered, lost }, done)
    })
}

fn asker_of(
    from: &Home,
    to: &Home,
    asker: u32,
    start: Instant,
    over: &AtomicBool,
) -> Vec<Option<f64>> {
    let mut client = from.client().unwrap();
    let params = json!({"peer": to.agent, "kind": "ping", "wait": 50.0, "life": 60});
    let mut times = Vec::new();
    for turn in 0.. {
        let due = start + EVERY * (asker + turn * ASKERS);
        sleep(due.saturating_duration_since(Instant::now()));
        if over.load(Ordering::Relaxed) {
            break;
        }
        let answer = client.raw("send", &params).unwrap();
        let time = due.elapsed().as_secs_f64() * 1e3;
        times.push((answer["state"] == "answered").then_some(time));
    }
    times
}

/// Notes the most memory that `home`'s daemon holds during `work`.
fn watched<T>(home: &Home, highest: &AtomicU64, work: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                highest.fetch_max(home.resident().0, Ordering::Relaxed);
                sleep(Duration::from_millis(20));
            }
        });
        let done = work();
        over.store(true, Ordering::Relaxed);
        done
    })
}
