//! A daemon with very many bound peers: a message costs it as much as one with ten, and neither a start nor the loss of its
//! server makes it speak to all of them.
//!
//! `SIGNET_PEERS=10000` is the long form, which also holds it to times. `SIGNET_PROGRAMS` names the folder of the program that
//! is measured.

use std::thread::sleep;
use std::time::Duration;

use serde_json::json;
use signet_testkit::Server;
use signet_testkit::server::MAILBOXES;

use crate::common::{self, Daemon, Peer, daemon, median};
use crate::house::eventually;
use crate::played::{PlayedAgents, acquainted};

/// Bound peers, unless the environment says otherwise.
const PEERS: usize = 30;
/// Bound peers of the daemon that the other is compared with.
const FEW: usize = 10;
/// From so many on a run also measures.
const MEASURED: usize = 1_000;
/// Both daemons take so many messages by turns, so often.
const MESSAGES: usize = 500;
const ROUNDS: usize = 31;
/// Of a message: its processor time beside all peers, to that beside [`FEW`].
const MOST_DEARER: f64 = 1.1;
/// From a start behind kill -9 to the first answer.
const MOST_STARTING: Duration = Duration::from_secs(3);
/// Lines in the log because the server was away, where nobody had said anything for [`QUIET`].
const MOST_LINES: usize = 100;
/// A daemon that reconnected or started has written within this what it writes because of that.
const SETTLED: Duration = Duration::from_secs(5);
/// For longer than this a peer that lacks a receipt would have asked for it: five minutes (docs/protocol.md, section 7).
const QUIET: Duration = Duration::from_secs(5 * 60 + 15);

/// A daemon with bound peers, and one of these that talks on.
struct Host {
    daemon: Daemon,
    talker: Peer,
    #[expect(
        dead_code,
        reason = "its connection stays open, as those of real peers do"
    )]
    others: PlayedAgents,
}

#[test]
fn a_daemon_beside_very_many_bound_peers_works_and_starts_as_beside_few() {
    let _turn = crate::turn();
    let asked = std::env::var("SIGNET_PEERS");
    let peers = asked.map_or(PEERS, |text| text.parse().unwrap());
    let is_measured = peers >= MEASURED;
    let dir = common::directory();
    let mut server = Server::start_at(dir.path(), MAILBOXES);
    let runtime = common::runtime();
    let host = |name: &str, peers: usize| {
        let home = daemon::init(dir.path(), name, &server.url());
        daemon::set_up(&home);
        home.configure("# sign = \"all\"", "sign = \"none\"");
        runtime.block_on(Host::beside(home, peers, &server.url()))
    };
    let (mut few, mut many) = (host("few", FEW), host("many", peers));
    let dearer = is_measured.then(|| runtime.block_on(dearer(&mut few, &mut many)));
    let Host { mut daemon, .. } = many;
    println!("{peers} bound peers: {} KiB", daemon.home.anonymous());
    if is_measured {
        let before = daemon.home.cpu();
        sleep(QUIET);
        let busy = (daemon.home.cpu() - before) / QUIET.as_nanos() as f64;
        println!("idle: {:.3} % of a core", busy * 100.0);
    }
    daemon.written();
    server.kill();
    eventually("the daemon notices that its server is gone", || {
        (daemon.call("status", &json!({}))["mailbox"] != true).then_some(())
    });
    server.restart();
    daemon.home.has_mailbox(true);
    sleep(SETTLED);
    let lines = daemon.written().len();
    println!("{lines} lines because the server was away");
    daemon.home.kill();
    let mut daemon = Daemon::start(daemon.home);
    let started = daemon.started;
    daemon.home.has_mailbox(true);
    sleep(SETTLED);
    let known = daemon.call("status", &json!({}));
    let known = known["peers"].as_array().unwrap();
    let bound = known.iter().filter(|peer| peer["session"].is_string());
    assert_eq!(bound.count(), peers, "sessions behind a start");
    let at_start = daemon.written().len();
    println!("started in {started:.2?} behind kill -9, {at_start} lines by that");
    let most = if is_measured { MOST_LINES } else { peers };
    assert!(lines <= most, "{lines} lines");
    assert!(at_start <= most, "{at_start} lines");
    assert!(!is_measured || started <= MOST_STARTING, "{started:?}");
    if let Some(dearer) = dearer {
        assert!(dearer <= MOST_DEARER, "{dearer:.3}");
    }
}

/// Both take messages by turns: what one costs beside many peers, to that beside few.
async fn dearer(few: &mut Host, many: &mut Host) -> f64 {
    let (mut cheap, mut dear) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        cheap.push(few.round().await);
        dear.push(many.round().await);
    }
    let (cheap, dear) = (median(&cheap), median(&dear));
    println!(
        "a message: {:.0} µs of processor time beside {FEW} peers, {:.0} µs beside many: {:.3}",
        cheap / 1e3,
        dear / 1e3,
        dear / cheap
    );
    dear / cheap
}

impl Host {
    async fn beside(home: signet_testkit::Home, peers: usize, url: &str) -> Self {
        let mut daemon = Daemon::start(home);
        daemon.home.has_mailbox(true);
        let mut others = PlayedAgents::connect(&daemon, url).await;
        others.meet(&mut daemon, peers - 1).await;
        let node = acquainted("agent-talker", &mut daemon);
        let to = daemon.home.agent.parse().unwrap();
        let mut talker = Peer::connect(node, to, url).await;
        talker.meet().await;
        daemon.empty_inbox();
        Self {
            daemon,
            talker,
            others,
        }
    }

    /// Nanoseconds of processor time for a message: taken, handed to the program of the agent, acknowledged and receipted.
    async fn round(&mut self) -> f64 {
        let messages = self.talker.sign(MESSAGES);
        self.daemon.accepted();
        let before = self.daemon.home.cpu();
        for bytes in messages {
            self.talker.publish(bytes).await;
        }
        self.talker.settle().await;
        self.daemon.empty_inbox();
        (self.daemon.home.cpu() - before) / MESSAGES as f64
    }
}
