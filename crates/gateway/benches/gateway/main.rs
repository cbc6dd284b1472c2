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
use signet_testkit::bench::{Bench, Limit};

/// Requests of each kind, in the comparison with the socket.
const REQUESTS: usize = 500;
/// How much longer half of the requests may take than over the socket, in milliseconds.
const MOST: f64 = 3.0;
/// Requests of a client in each part of a round, and rounds, for each flood.
const UNDER_FLOOD: usize = 300;
/// Connections of a crowd, to hold the form.
const SMALL_CROWD: usize = 40;
const ROUNDS: usize = 4;
/// The p99 of a client may grow by this factor under a flood.
const MOST_UNDER_FLOOD: f64 = 2.0;
/// The gateway's memory may grow by so much under a flood, in KiB.
const MOST_MEMORY: u64 = 96 * 1024;

fn main() {
    let mut bench = Bench::begin("gateway");
    floods::raise_limits(bench.size(floods::CROWD, SMALL_CROWD));
    let bed = Bed::made();
    round_trip(&bed, &mut bench);
    // `cargo bench --workspace --bench gateway -- round-trip` leaves the floods out.
    if !std::env::args().any(|word| word == "round-trip") {
        for kind in KINDS {
            under(&bed, kind, &mut bench);
        }
    }
    bench.end();
}

/// The request by each way. What A2A sends has a key, so that a kill between loses and doubles nothing: it is held
/// against the same request with a key.
fn round_trip(bed: &Bed, bench: &mut Bench) {
    let (requests, warm) = (bench.size(REQUESTS, 4), bench.size(30, 1));
    let (mut socket, mut rpc, mut a2a) = (bed.socket(), bed.caller(), bed.caller());
    let mut ask = |way| match way {
        0 => socket.ask(),
        1 => socket.ask_with_key(),
        2 => rpc.rpc(),
        _ => a2a.a2a(),
    };
    (0..4 * warm).for_each(|turn| ask(turn % 4));
    let mut times = [const { Vec::new() }; 4];
    for turn in 0..requests {
        // The way that is asked after another finds warm caches: begin each turn with another way, so that each way is
        // first equally often.
        for step in 0..4 {
            let way = (turn + step) % 4;
            let began = Instant::now();
            ask(way);
            times[way].push(began.elapsed().as_secs_f64() * 1e3);
        }
        bed.tidy(turn);
    }
    println!("A request and its answer, {requests} times by each way.\n");
    let names = [
        "the agent's socket",
        "the agent's socket, with a key",
        "HTTP, /rpc",
        "HTTP, A2A",
    ];
    let mut p50 = Vec::new();
    for (name, times) in names.iter().zip(&times) {
        p50.push(percentile(times, 50));
        bench.figure(format!("{name}, p50 in ms"), percentile(times, 50));
        bench.figure(format!("{name}, p99 in ms"), percentile(times, 99));
    }
    for (way, than) in [(2, 0), (3, 1)] {
        let what = format!("{} over {}, p50 in ms", names[way], names[than]);
        bench.held(what, p50[way] - p50[than], Limit::Most(MOST));
    }
}

/// A client alone and under that flood.
fn under(bed: &Bed, kind: Kind, bench: &mut Bench) {
    let (count, crowd) = (
        bench.size(UNDER_FLOOD, 5),
        bench.size(floods::CROWD, SMALL_CROWD),
    );
    let settled = bench.size(SETTLED, Duration::from_millis(20));
    let (mut alone, mut flooded) = (Vec::new(), Vec::new());
    let (before, mut highest, mut rate) = (bed.resident(), 0, 0.0);
    let mut caller = bed.caller();
    for _ in 0..bench.size(ROUNDS, 1) {
        alone.extend(requests(bed, &mut caller, count));
        let flood = Flood::begin(kind, bed, crowd);
        std::thread::sleep(settled);
        let (begun, from) = (Instant::now(), flood.count());
        flooded.extend(requests(bed, &mut caller, count));
        rate = (flood.count() - from) as f64 / begun.elapsed().as_secs_f64();
        highest = highest.max(bed.resident());
        flood.end();
        // Wait until the gateway is done with what the flood has sent: the rest of it would slow the next round's first
        // requests, which are measured without a flood.
        std::thread::sleep(settled);
        bed.tidy(0);
    }
    println!("\n{} ({rate:.0} a second):", kind.name());
    let (before_99, after_99) = (percentile(&alone, 99), percentile(&flooded, 99));
    let more = highest.saturating_sub(before);
    bench.figure(
        format!("{}: p50 in ms", kind.name()),
        percentile(&flooded, 50),
    );
    bench.held(
        format!("{}: p99 to that alone", kind.name()),
        after_99 / before_99,
        Limit::Most(MOST_UNDER_FLOOD),
    );
    bench.held(
        format!("{}: memory grew, KiB", kind.name()),
        more as f64,
        Limit::Most(MOST_MEMORY as f64),
    );
}

/// Milliseconds of requests by a connection that stays; each tenth by one of its own.
fn requests(bed: &Bed, caller: &mut Caller, count: usize) -> Vec<f64> {
    let one = |number: usize| {
        let began = Instant::now();
        match number % 10 {
            9 => bed.caller().rpc(),
            _ => caller.rpc(),
        }
        began.elapsed().as_secs_f64() * 1e3
    };
    (0..count).map(one).collect()
}

fn percentile(values: &[f64], percent: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)]
}

const SETTLED: Duration = Duration::from_secs(1);
