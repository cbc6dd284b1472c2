//! What a message, a handshake and a new peer cost beside many peers, against what they cost beside one.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    dead_code,
    missing_docs
)]

#[path = "../../testkit/src/bench.rs"]
mod bench;
mod crowd;
#[path = "../tests/household/mod.rs"]
mod household;

use std::sync::Arc;
use std::time::{Duration, Instant};

use bench::{Bench, Limit};
use crowd::{crowded, in_session, one_more, send, shake_hands, who_knows};
use household::{Agent, at, published};
use signet_proto::node::{Judged, Wanted};

/// Known peers beside the one who speaks.
const CROWDS: [usize; 4] = [0, 99, 999, 1_999];
/// Peers that are known when one more is added.
const KNOWN: usize = 5_400;
/// Each thing is timed so often, in turns with the others; the table shows the median.
const ROUNDS: usize = 25;
/// Messages of one round.
const MESSAGES: usize = 100;
/// Milliseconds from one round to the next: by then the receipt of the round is due.
const APART: i64 = 2_000;

fn main() {
    let mut bench = Bench::begin("peers");
    let rounds = bench.size(ROUNDS, 1);
    let crowds = CROWDS.map(|peers| bench.size(peers, peers.min(3)));
    let messages = bench.size(MESSAGES, 2);
    println!("{messages} messages a round, {rounds} rounds, medians.\n");

    // The second agent reuses the memory that was free again after the making of the first: the growth is then only
    // what the second one keeps.
    let first = crowded(in_session().1, crowds[3]);
    let before = resident_kib();
    let second = crowded(in_session().1, crowds[3]);
    let held = resident_kib() - before;
    drop((first, second));

    let mut receivers = crowds.map(|peers| Receiver::new(peers, rounds * messages));
    let mut times: [Vec<f64>; 4] = Default::default();
    for round in 0..rounds {
        for (receiver, times) in receivers.iter_mut().zip(&mut times) {
            times.push(receiver.round(round, messages));
        }
    }
    let times = times.map(median);
    for (peers, time) in CROWDS.iter().zip(times) {
        let what = format!(
            "a message, handed out and receipted, beside {} peers, microseconds",
            peers + 1
        );
        bench.figure(what, time);
    }
    let dearest = times.iter().copied().fold(0.0, f64::max);
    bench.held(
        "the dearest of these, to that beside one peer",
        dearest / times[0],
        Limit::Most(1.1),
    );

    let mut hosts = [0, crowds[3]].map(|peers| crowded(in_session().1, peers));
    let (mut alone, mut crowd) = (Vec::new(), Vec::new());
    for guest in 0..rounds {
        for (host, times) in hosts.iter_mut().zip([&mut alone, &mut crowd]) {
            times.push(handshake(host, guest));
        }
    }
    let (alone, crowd) = (median(alone), median(crowd));
    bench.figure("a handshake, both sides, microseconds", alone);
    bench.held(
        "a handshake beside 2,000 peers, to that",
        crowd / alone,
        Limit::Most(1.2),
    );

    let known = bench.size(KNOWN, 3);
    let (mut alice, _) = who_knows(known);
    let added = (0..rounds).map(|n| added(&mut alice, n)).collect();
    bench.held(
        "a peer added beside 5,400, ms",
        median(added) / 1e3,
        Limit::Most(1.0),
    );
    // This limit says something for thousands of peers only: with a few, whole pages of memory outweigh the peers.
    let each = held / crowds[3] as f64;
    bench.held("a known peer in memory, KiB", each, Limit::Most(10.0));
    bench.end();
}

/// Whoever receives beside many, and its mail.
struct Receiver {
    bob: Agent,
    mail: Vec<Arc<[u8]>>,
    wanted: Wanted,
}

impl Receiver {
    fn new(peers: usize, messages: usize) -> Self {
        let (mut alice, bob) = in_session();
        let signed = |_| published(&send(&mut alice).effects)[0].1.clone();
        Self {
            mail: (0..messages).map(signed).collect(),
            bob: crowded(bob, peers),
            wanted: Wanted {
                capabilities: None,
                tier: 4,
                peers: None,
                lease: Duration::from_secs(60),
                connection: 1,
                looked: 0,
            },
        }
    }

    /// Microseconds for each message of a round: judged, handed out, settled by its program, and receipted with the others;
    /// the next time is asked for behind each turn, as the daemon does.
    fn round(&mut self, round: usize, messages: usize) -> f64 {
        let mail = &self.mail[round * messages..][..messages];
        let now = at(i64::try_from(round).unwrap() * APART + 1);
        let start = Instant::now();
        for bytes in mail {
            let judged = Judged::of(bytes, self.bob.node.trust());
            drop(self.bob.node.turn(now).handle_inbound(judged));
            let (handed, _) = self.bob.node.turn(now).leases().receive(&mut self.wanted);
            let lease = handed.expect("it is handed out").lease;
            drop(self.bob.node.turn(now).leases().acknowledge(lease).unwrap());
            std::hint::black_box(self.bob.node.poll_timeout(now));
        }
        let later = at((i64::try_from(round).unwrap() + 1) * APART);
        let mut receipts = 0;
        while self
            .bob
            .node
            .poll_timeout(later)
            .is_some_and(|due| due <= later.now)
        {
            receipts += published(&self.bob.node.turn(later).handle_timeout().effects).len();
        }
        let time = start.elapsed();
        assert!(receipts > 0, "no receipt");
        micros(time) / messages as f64
    }
}

/// Microseconds of a handshake with one who is new, on both sides.
fn handshake(host: &mut Agent, guest: usize) -> f64 {
    let mut guest = Agent::new(&format!("agent-guest-{guest}"), &format!("guest-{guest}"));
    guest.knows(host);
    host.knows(&guest);
    let start = Instant::now();
    shake_hands(&mut guest, host);
    micros(start.elapsed())
}

/// Microseconds until one more is known.
fn added(alice: &mut Agent, n: usize) -> f64 {
    let certificate = one_more(n);
    // The daemon's workers hold the trust store while it changes: hold it here as well, so that the copy which the
    // change then makes is timed.
    let held = alice.node.trust().clone();
    let start = Instant::now();
    drop(alice.node.turn(at(1)).people().bind(&certificate).unwrap());
    std::hint::black_box(alice.node.poll_timeout(at(1)));
    let time = start.elapsed();
    assert!(!held.is_same(alice.node.trust()), "it is not known");
    micros(time)
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

/// What this process holds.
fn resident_kib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.unwrap().trim().trim_end_matches(" kB");
    kib.parse().unwrap()
}
