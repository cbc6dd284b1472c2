//! What a gateway costs, and what others' floods cost those who behave: whole requests, from a client of HTTP by a gateway,
//! two daemons and NATS to an agent and back.
//!
//! First the same request over the agent's socket, by `/rpc` and by A2A, in turn. Then a client's requests alone and under
//! each flood, in turn. Floods come from threads of the lowest priority, for those who attack have machines of their own:
//! what the gateway spends on them is at its own priority all the same.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub
)]

mod bed;
mod caller;
mod floods;

use std::time::{Duration, Instant};

use bed::Bed;
use caller::Caller;
use floods::{Flood, KINDS, Kind};

/// Requests of each kind, in the comparison with the socket.
const REQUESTS: usize = 500;
/// How much longer half of the requests may take than over the socket, in milliseconds.
const MOST: f64 = 3.0;
/// Requests of a client in each part of a round, and rounds, for each flood.
const UNDER_FLOOD: usize = 300;
const ROUNDS: usize = 4;
/// The p99 of a client may grow by this factor under a flood.
const MOST_UNDER_FLOOD: f64 = 2.0;
/// The gateway's memory may grow by so much under a flood, in KiB.
const MOST_MEMORY: u64 = 96 * 1024;

fn main() {
    floods::raise_limits();
    let bed = Bed::made();
    let mut failed = round_trip(&bed);
    // `cargo bench --workspace --bench gateway -- round-trip` leaves the floods out.
    if !std::env::args().any(|word| word == "round-trip") {
        failed.extend(KINDS.iter().filter_map(|kind| under(&bed, *kind)));
    }
    assert!(failed.is_empty(), "{failed:?}");
}

/// The request by each way, and what does not hold. What A2A sends has a key, so that a kill between loses and doubles
/// nothing: it is held against the same request with a key.
fn round_trip(bed: &Bed) -> Vec<String> {
    let (mut socket, mut rpc, mut a2a) = (bed.socket(), bed.caller(), bed.caller());
    let mut ask = |way| match way {
        0 => socket.ask(),
        1 => socket.ask_with_key(),
        2 => rpc.rpc(),
        _ => a2a.a2a(),
    };
    (0..4 * 30).for_each(|turn| ask(turn % 4));
    let mut times = [const { Vec::new() }; 4];
    for turn in 0..REQUESTS {
        // Whoever comes second finds caches warm: each comes second as often.
        for step in 0..4 {
            let way = (turn + step) % 4;
            let began = Instant::now();
            ask(way);
            times[way].push(began.elapsed().as_secs_f64() * 1e3);
        }
        bed.tidy(turn);
    }
    println!("A request and its answer, {REQUESTS} times by each way.\n");
    println!("{:<46} {:>8} {:>8}", "milliseconds", "p50", "p99");
    let names = [
        "the agent's socket",
        "the agent's socket, with a key",
        "HTTP, /rpc",
        "HTTP, A2A",
    ];
    let p50: Vec<f64> = names
        .iter()
        .zip(&times)
        .map(|(name, times)| row(name, times).0)
        .collect();
    let mut failed = Vec::new();
    for (way, than) in [(2, 0), (3, 1)] {
        let more = p50[way] - p50[than];
        let said = format!("{}: {more:.2} ms over {}", names[way], names[than]);
        println!("{said} (at most {MOST})");
        if more > MOST {
            failed.push(said);
        }
    }
    failed
}

/// A client alone and under that flood; what does not hold.
fn under(bed: &Bed, kind: Kind) -> Option<String> {
    let (mut alone, mut flooded) = (Vec::new(), Vec::new());
    let (before, mut highest, mut rate) = (bed.resident(), 0, 0.0);
    let mut caller = bed.caller();
    for _ in 0..ROUNDS {
        alone.extend(requests(bed, &mut caller));
        let flood = Flood::begin(kind, bed);
        std::thread::sleep(SETTLED);
        let (begun, from) = (Instant::now(), flood.count());
        flooded.extend(requests(bed, &mut caller));
        rate = (flood.count() - from) as f64 / begun.elapsed().as_secs_f64();
        highest = highest.max(bed.resident());
        flood.end();
        // What is left of it is over by then.
        std::thread::sleep(SETTLED);
        bed.tidy(0);
    }
    println!("\n{} ({rate:.0} a second):", kind.name());
    let ((_, before_99), (_, after_99)) = (row("alone", &alone), row("under it", &flooded));
    let (ratio, more) = (after_99 / before_99, highest.saturating_sub(before));
    println!(
        "p99 grows by the factor {ratio:.2} (at most {MOST_UNDER_FLOOD}), memory by {more} KiB"
    );
    let holds = ratio <= MOST_UNDER_FLOOD && more <= MOST_MEMORY;
    (!holds).then(|| format!("{}: p99 x {ratio:.2}, {more} KiB", kind.name()))
}

/// Milliseconds of requests by a connection that stays; each tenth by one of its own.
fn requests(bed: &Bed, caller: &mut Caller) -> Vec<f64> {
    let one = |number: usize| {
        let began = Instant::now();
        match number % 10 {
            9 => bed.caller().rpc(),
            _ => caller.rpc(),
        }
        began.elapsed().as_secs_f64() * 1e3
    };
    (0..UNDER_FLOOD).map(one).collect()
}

fn row(name: &str, times: &[f64]) -> (f64, f64) {
    let (p50, p99) = (percentile(times, 50), percentile(times, 99));
    println!("{name:<46} {p50:>8.3} {p99:>8.3}");
    (p50, p99)
}

fn percentile(values: &[f64], percent: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)]
}

const SETTLED: Duration = Duration::from_secs(1);
