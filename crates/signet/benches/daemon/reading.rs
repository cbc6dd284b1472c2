//! How fast a mailbox is read through whole daemons, on each server that `SIGNET_NATS_SERVERS` names (paths with `:`
//! between them, as in PATH; the one of the tests unless set): what waits at a start, and what comes while a line is cut.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::common::{self, median};
use serde_json::{Value, json};
use signet_testkit::bench::{Bench, Limit};
use signet_testkit::log::{header, messages};
use signet_testkit::tail::LogTail;
use signet_testkit::{Home, House, Proxy};

/// Messages that wait while their reader is away: the sender's ledger holds 4,096.
const WAITING: usize = 4_000;
const ROUNDS: usize = 3;
/// How long the line is cut, and how much longer a message may take that was sent meanwhile.
const CUT: Duration = Duration::from_secs(5);
const LATER: f64 = 5.0;
/// How often a message is sent over the line that is cut, and for how long before and behind the cut.
const EVERY: Duration = Duration::from_millis(100);
const AROUND: Duration = Duration::from_secs(10);
/// The most copies of a hundred messages.
const COPIES: f64 = 5.0;
/// How many servers are compared: the first is the measure of the others.
const SERVERS: f64 = 3.0;
/// The most time that a newer server may take, beside the first one.
const BESIDE_THE_FIRST: f64 = 1.1;

pub(crate) fn run(mut bench: Bench) {
    let (rounds, count) = (bench.size(ROUNDS, 1), bench.size(WAITING, 20));
    let cut = bench.size(CUT, Duration::from_millis(300));
    let around = bench.size(AROUND, Duration::from_millis(300));
    let mut first = None;
    let mut compared = BTreeSet::new();
    for program in servers() {
        let server = program.as_deref().map_or_else(String::new, version);
        compared.insert(server.clone());
        let times: Vec<f64> = (0..rounds)
            .map(|_| waiting(&house(program.as_deref()), count))
            .collect();
        let time = median(&times);
        let what = format!("{count} waiting messages read{server}, ms");
        match first {
            None => bench.figure(what, time),
            Some(first) => bench.held(what, time, Limit::Most(first * BESIDE_THE_FIRST)),
        }
        first = first.or(Some(time));
        let (late, copies) = over_a_cut(&house(program.as_deref()), cut, around);
        bench.held(
            format!("line cut{server}: the latest, s after the line was back"),
            late,
            Limit::Most(LATER),
        );
        bench.held(
            format!("line cut{server}: copies of a hundred"),
            copies,
            Limit::Most(COPIES),
        );
    }
    bench.held(
        "servers compared",
        compared.len() as f64,
        Limit::Least(SERVERS),
    );
    bench.end();
}

/// The programs to measure on; `None` is the one that every test takes.
fn servers() -> Vec<Option<PathBuf>> {
    match std::env::var_os("SIGNET_NATS_SERVERS") {
        Some(named) => std::env::split_paths(&named).map(Some).collect(),
        None => vec![None],
    }
}

fn version(program: &Path) -> String {
    let said = Command::new(program).arg("--version").output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    format!(" on {}", said.trim())
}

fn house(program: Option<&Path>) -> House {
    match program {
        Some(program) => House::on(common::directory(), program),
        None => House::with_jetstream(),
    }
}

fn log_of(home: &Home) -> PathBuf {
    home.dir.join("audit").join(&home.agent)
}

/// Milliseconds from a daemon's start until all that waited for it stands in its log.
fn waiting(house: &House, count: usize) -> f64 {
    let (alice, mut bob) = house.alice_and_bob_with_mailboxes();
    bob.has_mailbox(true);
    alice.ping(&bob);
    bob.stop();
    let mut client = alice.client().unwrap();
    for n in 0..count {
        let params = json!({"peer": bob.agent, "kind": "notification", "body": {"n": n}});
        client.raw("send", &params).unwrap();
    }
    let all_stored = || alice.standing(&bob.agent, "unconfirmed") == count;
    signet_testkit::eventually("everything is sent", || all_stored().then_some(()));
    // Messages count as sent before the server has confirmed the last of them: wait until these are stored in the
    // mailbox, too.
    sleep(Duration::from_millis(500));
    let (mut log, mut taken) = (LogTail::of(&log_of(&bob)), 0);
    let start = Instant::now();
    bob.start();
    while taken < count {
        sleep(Duration::from_millis(1));
        taken += log.accepted().count;
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "{taken} of {count}"
        );
    }
    start.elapsed().as_secs_f64() * 1e3
}

/// Seconds by which the last message came after the line was back, and copies of a hundred messages.
fn over_a_cut(house: &House, cut: Duration, around: Duration) -> (f64, f64) {
    let (alice, mut bob) = house.alice_and_bob_with_mailboxes();
    let line = Proxy::far_before(house.server.port(), Duration::from_millis(5));
    bob.stop();
    bob.served_by(line.port);
    bob.start();
    bob.has_mailbox(true);
    alice.ping(&bob);
    let mut reader = Reader::of(&bob);
    let (start, mut parted, mut joined) = (Instant::now(), None, None);
    let mut sent = HashMap::new();
    let mut client = alice.client().unwrap();
    while start.elapsed() < around * 2 + cut {
        let due = start + EVERY * u32::try_from(sent.len()).unwrap();
        while Instant::now() < due {
            reader.look();
            sleep(Duration::from_millis(2));
        }
        if parted.is_none() && start.elapsed() >= around {
            line.part();
            parted = Some(Instant::now());
        }
        if joined.is_none() && start.elapsed() >= around + cut {
            line.join();
            joined = Some(Instant::now());
        }
        let params = json!({"peer": bob.agent, "kind": "notification", "body": {"n": sent.len()}});
        let answer = client.raw("send", &params).unwrap();
        let id = answer["message-id"].as_str().unwrap().to_owned();
        sent.insert(id, Instant::now());
    }
    let over = Instant::now();
    while !sent.keys().all(|id| reader.came.contains_key(id)) {
        reader.look();
        sleep(Duration::from_millis(2));
        assert!(
            over.elapsed() < Duration::from_secs(90),
            "messages are missing"
        );
    }
    // Wait as long again: messages that were sent twice because of the cut arrive meanwhile and are counted as copies.
    let over = Instant::now();
    while over.elapsed() < around {
        reader.look();
        sleep(Duration::from_millis(20));
    }
    let (parted, joined) = (parted.unwrap(), joined.unwrap());
    let longest = sent
        .iter()
        .map(|(id, sent)| reader.came[id].duration_since(*sent))
        .max()
        .unwrap();
    let later = longest.as_secs_f64() - joined.duration_since(parted).as_secs_f64();
    println!(
        "the longest took {longest:?}; {} copies of {}",
        reader.copies,
        sent.len()
    );
    (
        later.max(0.0),
        reader.copies as f64 * 100.0 / sent.len() as f64,
    )
}

/// When each message came first, by the log of its reader.
struct Reader {
    log: LogTail,
    came: HashMap<String, Instant>,
    copies: usize,
}

impl Reader {
    fn of(home: &Home) -> Self {
        Self {
            log: LogTail::of(&log_of(home)),
            came: HashMap::new(),
            copies: 0,
        }
    }

    fn look(&mut self) {
        let lines: Vec<Value> = self.log.written();
        for line in messages(&lines, "in", "accepted") {
            self.came
                .insert(header(line, "message-id").to_owned(), Instant::now());
        }
        let copies = messages(&lines, "in", "rejected");
        self.copies += copies.filter(|line| line["reason"] == "duplicate").count();
    }
}
