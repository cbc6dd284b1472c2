//! Many daemons on one machine, and one server that keeps their mail: what they take while nothing happens, and what they do
//! when the server dies and comes back.
//!
//! `SIGNET_DAEMONS=200` is the long form, which also holds them to times and to memory. Those are of the program that is
//! handed out: `SIGNET_PROGRAMS` names its folder, and the one that tests build beside themselves takes more of both.

use std::fmt;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::house::{Home, House, eventually, processor_time, proportional_kib, resident_kib};

/// Daemons, unless the environment says otherwise.
const DAEMONS: usize = 12;
/// From so many on a run also measures.
const MEASURED: usize = 100;
/// How long nothing is asked of the daemons while their work is counted.
const IDLE: Duration = Duration::from_secs(60);
/// Of one core, of all daemons together.
const MOST_BUSY: f64 = 0.05;
/// KiB of one daemon, where what several share counts by its share.
const MOST_MEMORY: u64 = 6 * 1024;
/// From the moment at which the server listens again until the last daemon has its mailbox.
const MOST_AWAY: Duration = Duration::from_secs(10);
/// Lines that one daemon may write into its log because its server was away, where it had told nobody anything new for
/// [`QUIET`].
const MOST_LINES: usize = 1;
/// The same behind recent talk: each daemon has answered one neighbour and has heard the other, so that one receipt goes
/// out a second time and one comes.
const MOST_LINES_BEHIND_TALK: usize = 2;
/// For longer than this a peer that lacks a receipt would have asked for it: five minutes (docs/protocol.md, section 7).
const QUIET: Duration = Duration::from_secs(5 * 60 + 15);

#[test]
fn many_daemons_take_little_while_idle_and_come_back_by_themselves_to_a_server_that_died() {
    let _turn = crate::turn();
    let asked = std::env::var("SIGNET_DAEMONS");
    let daemons = asked.map_or(DAEMONS, |text| text.parse().unwrap());
    let is_measured = daemons >= MEASURED;
    let mut house = House::with_jetstream();
    // A server keeps 64 MiB free for each mailbox. Left to itself it counts with the disk of the machine that tests it.
    let room = "jetstream { store_dir: \"js\", max_file: 1TB }";
    house.server.configure(room);
    house.server.restart();
    let mut homes = ring(&house, daemons);
    for home in &mut homes {
        home.start();
        home.has_mailbox(true);
    }
    every_neighbour_answers(&homes);
    // Receipts go out up to a second behind the answers, and what is written behind them takes a moment.
    sleep(Duration::from_secs(3));
    let weight = is_measured.then(|| {
        sleep(QUIET - IDLE);
        IdleCost::of(&homes, &house)
    });
    let (lines, said) = (lines(&homes), said(&homes));
    house.server.kill();
    eventually("every daemon notices that its server is gone", || {
        homes.iter().all(|home| !has_mailbox(home)).then_some(())
    });
    house.server.restart();
    let back = Instant::now();
    let mut waiting: Vec<&Home> = homes.iter().collect();
    eventually("every daemon reads its mailbox again", || {
        waiting.retain(|home| !has_mailbox(home));
        waiting.is_empty().then_some(())
    });
    let away = back.elapsed();
    // What a reconnected daemon writes, it writes within its first seconds.
    sleep(Duration::from_secs(5));
    let written = grown(&lines, &self::lines(&homes));
    let told = grown(&said, &self::said(&homes));
    println!("{daemons} daemons: all back {away:.2?} after the server listened again");
    println!("lines that this wrote: in the logs {written}, on standard error {told}");
    let most = match is_measured {
        true => MOST_LINES,
        false => MOST_LINES_BEHIND_TALK,
    };
    assert!(written.most <= most, "in the logs {written}");
    every_neighbour_answers(&homes);
    if let Some(weight) = weight {
        assert!(away <= MOST_AWAY, "{away:?}");
        weight.holds();
    }
}

/// Agents with mailboxes, each of whom knows the one before it and the one behind it.
fn ring(house: &House, daemons: usize) -> Vec<Home> {
    let homes: Vec<Home> = (0..daemons)
        .map(|number| house.home(&number.to_string()))
        .collect();
    house.set_up(&homes.iter().collect::<Vec<_>>());
    for (one, next) in neighbours(&homes) {
        one.knows(next);
        next.knows(one);
    }
    homes
}

fn neighbours(homes: &[Home]) -> impl Iterator<Item = (&Home, &Home)> {
    homes.iter().zip(homes.iter().cycle().skip(1))
}

/// Each pings the next: the first time they also make a session.
fn every_neighbour_answers(homes: &[Home]) {
    for (one, next) in neighbours(homes) {
        one.ping(next);
    }
}

/// What daemons took in a minute in which nothing was asked of them.
struct IdleCost {
    /// Of one core, all together.
    busy: f64,
    /// KiB of each.
    memory: Vec<u64>,
}

impl IdleCost {
    fn of(homes: &[Home], house: &House) -> Self {
        let spent = || homes.iter().map(|home| processor_time(home.pid())).sum();
        let (before, server): (Duration, _) = (spent(), processor_time(house.server.pid()));
        sleep(IDLE);
        let after: Duration = spent();
        let server = processor_time(house.server.pid()) - server;
        let share = |time: Duration| time.as_secs_f64() / IDLE.as_secs_f64();
        let memory = |home: &Home| proportional_kib(home.pid());
        let weight = Self {
            busy: share(after - before),
            memory: homes.iter().map(memory).collect(),
        };
        println!(
            "{} daemons, idle: {:.2} % of a core together, their server {:.2} % and {} MiB",
            homes.len(),
            weight.busy * 100.0,
            share(server) * 100.0,
            resident_kib(house.server.pid()) / 1024
        );
        let sum: u64 = weight.memory.iter().sum();
        println!(
            "memory: {} KiB each, {} KiB the largest, {} MiB all",
            sum / homes.len() as u64,
            weight.largest(),
            sum / 1024
        );
        weight
    }

    fn largest(&self) -> u64 {
        self.memory.iter().copied().max().unwrap_or(0)
    }

    fn holds(&self) {
        assert!(self.busy <= MOST_BUSY, "{} of a core", self.busy);
        assert!(self.largest() <= MOST_MEMORY, "{} KiB", self.largest());
    }
}

fn has_mailbox(home: &Home) -> bool {
    let status = home.call("status", &serde_json::json!({})).unwrap();
    status["mailbox"] == true
}

fn lines(homes: &[Home]) -> Vec<usize> {
    let count = |home: &Home| home.log().len();
    homes.iter().map(count).collect()
}

fn said(homes: &[Home]) -> Vec<usize> {
    let count = |home: &Home| home.said().lines().count();
    homes.iter().map(count).collect()
}

/// By how much counts grew.
struct Growth {
    all: usize,
    most: usize,
}

impl fmt::Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of all and {} of one", self.all, self.most)
    }
}

fn grown(before: &[usize], after: &[usize]) -> Growth {
    let more: Vec<usize> = before.iter().zip(after).map(|(b, a)| a - b).collect();
    Growth {
        all: more.iter().sum(),
        most: more.iter().copied().max().unwrap_or(0),
    }
}
