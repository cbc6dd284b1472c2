//! What a daemon takes in: messages a second, verified and durable, and the CPU time of each, beside
//! a bare `verify_strict` and bare async-nats in the same run.

use crate::common::{self, Daemon, Peer, daemon, median, peer};
use crate::yardsticks;
use signet_testkit::Server;
use signet_testkit::bench::{Bench, Limit};
use signet_testkit::server::MAILBOXES;

/// Messages of one round: the sender's ledger holds 4,096.
const MESSAGES: usize = 3_000;
/// A round takes less than a second, and the machine changes its pace from round to round.
const ROUNDS: usize = 25;
/// The most CPU time that a message may cost, in bare `verify_strict`s: 0.72 to 0.83 were measured. The aim is 0.75.
const MOST: f64 = 0.9;
/// The same in the plain path's, which hardly moves with the machine: 0.47 to 0.58 were measured.
const MOST_BESIDE_PLAIN: f64 = 0.65;
/// The least throughput, in what one core verifies and does nothing else: 1.6 to 1.91 were measured. The aim is 2.
const LEAST: f64 = 1.65;
/// The most CPU time that a message out of a mailbox may cost, in that of one by core NATS that comes at the same pace. A
/// message costs more where fewer come in a second, however they come: fewer share a commit of the log and a waking of each
/// thread.
const MOST_OUT_OF_MAILBOX: f64 = 1.1;
/// That pace, in the mailbox's rate of the same round: below one, so that both ways keep up with it.
const PACE: f64 = 0.7;
/// The same with each at its own pace, of which the server's work makes that of a mailbox the slower one.
const MOST_AT_FULL_PACE: f64 = 1.3;
/// The least rate out of a mailbox, in what the cores have time for: a message takes them as long as one of a consumer that
/// pulls, acknowledges and does nothing else, and the daemon's CPU time besides. The rate of that consumer alone is no limit:
/// it is far above what the cores verify.
const LEAST_OUT_OF_MAILBOX: f64 = 0.85;
/// The most CPU time of the plain path, which would be no yardstick if it were slow, and the least throughput in its.
const MOST_PLAIN: f64 = 1.6;
const LEAST_BESIDE_PLAIN: f64 = 2.2;

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
    let away = daemon::init(dir.path(), "erin", &server.url());
    daemon::set_up(&away);
    let url = server.url();
    let mut units = vec![];
    let [mut subscriber, mut plain, mut consumer] = [const { Yardstick::new() }; 3];
    let [mut core_paced, mut mail_paced] = [const { Yardstick::new() }; 2];
    for _ in 0..rounds {
        let before = common::verify_strict(sample.len());
        core.round(&runtime, messages);
        units.push(f64::midpoint(before, common::verify_strict(sample.len())));
        plain.took(yardsticks::plain(&url, dir.path(), &sample, messages));
        mail.round(&runtime, messages);
        let sender = (&runtime, &mail.sender);
        consumer.took(yardsticks::consumer(
            &url, "erin", sender, &sample, messages,
        ));
        let rate = PACE * mail.rates.last().unwrap();
        core_paced.took(core.paced(&runtime, messages, rate));
        mail_paced.took(mail.paced(&runtime, messages, rate));
        subscriber.took(yardsticks::subscriber(&url, &sample, messages));
    }
    println!(
        "Messages of {} bytes; medians of {rounds} rounds of {messages}.\n",
        sample.len()
    );
    let unit = median(&units);
    bench.figure("bare verify_strict, microseconds", unit / 1e3);
    for (what, yardstick) in [
        ("bare async-nats subscriber", &subscriber),
        ("plain path", &plain),
        ("bare consumer of a mailbox", &consumer),
    ] {
        bench.figure(
            format!("{what}, messages a second"),
            median(&yardstick.rates),
        );
        bench.figure(
            format!("{what}, CPU in verify_strict"),
            median(&yardstick.cpus) / unit,
        );
    }
    bench.figure(
        "inbound, verified and durable, messages a second",
        median(&core.rates),
    );
    bench.figure(
        "out of a mailbox, acknowledged, messages a second",
        median(&mail.rates),
    );
    let a_core: Vec<f64> = units.iter().map(|unit| 1e9 / unit).collect();
    bench.figure(
        "rate out of a mailbox, beside a bare consumer",
        median(&mail.rates) / median(&consumer.rates),
    );
    let cores = std::thread::available_parallelism().unwrap().get() as f64;
    let possible = consumer.rates.iter().zip(&mail.cpus);
    let possible: Vec<f64> = possible
        .map(|(bare, cpu)| 1.0 / (1.0 / bare + cpu / 1e9 / cores))
        .collect();
    let beside = |values: &[f64], than: &[f64]| {
        let each = values.iter().zip(than).map(|(value, than)| value / than);
        let each: Vec<f64> = each.collect();
        println!("each round: {}", list(&each));
        median(&each)
    };
    // A median is of a round like most. Whatever comes once in several rounds, as writing the state does, is in the sums.
    bench.figure(
        "CPU of a message inbound, all rounds together, in verify_strict",
        core.cpus.iter().sum::<f64>() / units.iter().sum::<f64>(),
    );
    bench.figure(
        "CPU out of a mailbox, all rounds together, beside core NATS at the same pace",
        mail_paced.cpus.iter().sum::<f64>() / core_paced.cpus.iter().sum::<f64>(),
    );
    bench.held(
        "plain path, CPU of a message, in verify_strict",
        beside(&plain.cpus, &units),
        Limit::Most(MOST_PLAIN),
    );
    bench.held(
        "CPU of a message inbound, in verify_strict",
        beside(&core.cpus, &units),
        Limit::Most(MOST),
    );
    bench.held(
        "CPU of a message inbound, in the plain path's",
        beside(&core.cpus, &plain.cpus),
        Limit::Most(MOST_BESIDE_PLAIN),
    );
    bench.held(
        "messages a second, in those that one core verifies",
        beside(&core.rates, &a_core),
        Limit::Least(LEAST),
    );
    bench.held(
        "messages a second, in those of the plain path",
        beside(&core.rates, &plain.rates),
        Limit::Least(LEAST_BESIDE_PLAIN),
    );
    for (what, paced) in [
        ("by core NATS, at the same pace", &core_paced),
        ("out of a mailbox, at the same pace", &mail_paced),
    ] {
        bench.figure(format!("{what}, messages a second"), median(&paced.rates));
        bench.figure(
            format!("{what}, CPU in verify_strict"),
            median(&paced.cpus) / unit,
        );
    }
    bench.held(
        "CPU out of a mailbox, beside core NATS at the same pace",
        beside(&mail_paced.cpus, &core_paced.cpus),
        Limit::Most(MOST_OUT_OF_MAILBOX),
    );
    bench.held(
        "CPU out of a mailbox, beside core NATS, each as fast as it goes",
        beside(&mail.cpus, &core.cpus),
        Limit::Most(MOST_AT_FULL_PACE),
    );
    bench.held(
        "rate out of a mailbox, in what the cores have time for",
        beside(&mail.rates, &possible),
        Limit::Least(LEAST_OUT_OF_MAILBOX),
    );
    bench.held(
        "lines that tell of dropped messages",
        (core.gaps + mail.gaps) as f64,
        Limit::Most(0.0),
    );
    bench.end();
}

/// What a yardstick took, by round.
struct Yardstick {
    rates: Vec<f64>,
    cpus: Vec<f64>,
}

impl Yardstick {
    const fn new() -> Self {
        Self {
            rates: Vec::new(),
            cpus: Vec::new(),
        }
    }

    fn took(&mut self, round: yardsticks::Round) {
        self.rates.push(round.rate);
        self.cpus.push(round.cpu);
    }
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
        let round = self.paced(runtime, messages, f64::INFINITY);
        self.rates.push(round.rate);
        self.cpus.push(round.cpu);
    }

    /// A round of at most `rate` messages a second.
    fn paced(
        &mut self,
        runtime: &tokio::runtime::Runtime,
        messages: usize,
        rate: f64,
    ) -> yardsticks::Round {
        self.daemon.empty_inbox();
        let round = runtime.block_on(self.sender.paced(&mut self.daemon, messages, rate));
        self.gaps += round.gaps;
        yardsticks::Round {
            rate: messages as f64 / round.elapsed.as_secs_f64(),
            cpu: round.cpu,
        }
    }
}

fn list(values: &[f64]) -> String {
    let values: Vec<String> = values.iter().map(|value| format!("{value:.2}")).collect();
    values.join(" ")
}
