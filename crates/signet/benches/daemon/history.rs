//! The CPU time of a message with a short and with a long log behind the daemon: it must not rise.

use std::path::Path;
use std::time::Duration;

use crate::common::{self, Daemon, Peer, daemon, median, peer};
use bytes::Bytes;
use signet::clock;
use signet::lock::HomeLock;
use signet::memory::Memory;
use signet_proto::ids::{AgentId, MessageId};
use signet_proto::node::{At, Judged, Outcome};
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

/// Messages that come and are taken from the inbox, two lines each, and receipts.
fn write_history(near: &mut Memory, far: &mut Memory, lines: u64) {
    let to = near.node.identity().agent().clone();
    // Receipts leave when a timeout is handled, fifty a second at most by the clock that nobody sets: for the reader it goes on
    // by a second behind each hundred messages. What is unreceipted would fill the sender's outbox.
    let mut clock = clock::elapsed();
    while near.log.commit().unwrap().seq < lines {
        for _ in 0..100 {
            let sent = far.node.handle_send(peer::at(), &to, peer::notification());
            let taken = exchange(clock, near, far, sent.unwrap().1);
            let outcome = near.node.handle_acknowledge(by(clock), &taken).unwrap();
            keep(near, &outcome);
        }
        clock += Duration::from_secs(1);
        let outcome = near.node.handle_timeout(by(clock));
        keep(near, &outcome);
        hear(far, peer::published(outcome));
        // A short history shows by this what a long one would come to, whose sender has room for 4,096.
        let open = far.node.standing(&to, clock::now()).unconfirmed;
        assert_eq!(open, 0, "messages that no receipt covers");
    }
}

/// Now, where the clock that nobody sets has come so far.
fn by(clock: Duration) -> At {
    At {
        elapsed: clock,
        ..peer::at()
    }
}

/// Carries messages to and fro until nobody has anything to say; names those that reached the inbox.
fn exchange(
    clock: Duration,
    near: &mut Memory,
    far: &mut Memory,
    outcome: Outcome,
) -> Vec<(AgentId, MessageId)> {
    let mut to_near = peer::published(outcome);
    while !to_near.is_empty() {
        let mut to_far = Vec::new();
        for bytes in to_near.drain(..) {
            let judged = Judged::of(&bytes, near.node.trust());
            let outcome = near.node.handle_inbound(by(clock), judged);
            keep(near, &outcome);
            to_far.extend(peer::published(outcome));
        }
        to_near = hear(far, to_far);
    }
    let name = |item: signet_proto::node::Item| {
        (
            item.message.headers.agent_id.clone(),
            item.message.headers.message_id,
        )
    };
    near.node.inbox().after(0).map(name).collect()
}

/// What `far` answers to `messages`.
fn hear(far: &mut Memory, messages: Vec<Bytes>) -> Vec<Bytes> {
    let mut hear = |bytes: Bytes| {
        let judged = Judged::of(&bytes, far.node.trust());
        peer::published(far.node.handle_inbound(peer::at(), judged))
    };
    messages.into_iter().flat_map(&mut hear).collect()
}

fn keep(memory: &mut Memory, outcome: &Outcome) {
    for entry in &outcome.entries {
        memory.log.append(clock::now(), entry).unwrap();
    }
}
