//! The CPU time of a message with a short and with a long log behind the daemon: it must not rise.

use std::path::Path;

use crate::common::past::write_history;
use crate::common::{self, Daemon, Peer, daemon, median, peer};
use signet::lock::HomeLock;
use signet_testkit::Server;
use signet_testkit::bench::{Bench, Limit};
use signet_testkit::server::MAILBOXES;

/// Lines in the short and in the long log.
const LINES: [u64; 2] = [1_000, 100_000];
const MESSAGES: usize = 2_000;
const ROUNDS: usize = 9;
/// How much more a message may cost with the long log.
const MOST: f64 = 1.10;

pub(crate) fn run(mut bench: Bench) {
    let lines = bench.size(LINES, [200, 400]);
    let (rounds, messages) = (bench.size(ROUNDS, 1), bench.size(MESSAGES, 20));
    let dir = common::directory();
    let server = Server::start_at(dir.path(), MAILBOXES);
    let runtime = common::runtime();
    let mut sides: Vec<_> = lines
        .iter()
        .map(|lines| side(dir.path(), &server, *lines, &runtime))
        .collect();
    let mut costs = [vec![], vec![]];
    // In turns, so that whatever else the machine does falls on both.
    for round in 0..=rounds {
        for ((daemon, sender, _), costs) in sides.iter_mut().zip(&mut costs) {
            daemon.empty_inbox();
            let cost = runtime.block_on(sender.round(daemon, messages)).cpu;
            // The first round warms up.
            costs.extend((round > 0).then_some(cost));
        }
    }
    let unit = common::verify_strict(850);
    for (((daemon, _, _), lines), costs) in sides.iter().zip(lines).zip(&costs) {
        bench.figure(
            format!("start to the first answer behind {lines} lines, ms"),
            daemon.started.as_secs_f64() * 1e3,
        );
        bench.figure(
            format!("CPU of a message behind {lines} lines, in verify_strict"),
            median(costs) / unit,
        );
    }
    let ratio = median(&costs[1]) / median(&costs[0]);
    bench.held(
        "CPU of a message behind the long log, to the short one",
        ratio,
        Limit::Most(MOST),
    );
    bench.end();
}

type Side = (Daemon, Peer, HomeLock);

/// A daemon with a log of `lines`, and a peer in session with it.
fn side(dir: &Path, server: &Server, lines: u64, runtime: &tokio::runtime::Runtime) -> Side {
    let (near, far) = (format!("near-{lines}"), format!("far-{lines}"));
    let (home, other) = (
        daemon::init(dir, &near, &server.url()),
        daemon::init(dir, &far, &server.url()),
    );
    home.knows(&other);
    other.knows(&home);
    let (mut sender, lock) = peer::open(&other);
    {
        let (mut memory, _lock) = peer::open(&home);
        write_history(&mut memory, &mut sender, lines);
    }
    let daemon = Daemon::start(home);
    let mut sender = runtime.block_on(Peer::connect(
        sender.node,
        near.parse().unwrap(),
        &server.url(),
    ));
    runtime.block_on(sender.settle());
    (daemon, sender, lock)
}
