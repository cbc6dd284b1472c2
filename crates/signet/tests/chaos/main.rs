//! Two daemons talk while everything happens to them at once: kill -9 of daemons and broker, wiped stores,
//! stopped processes, cut connections, full disks, and clocks that jump by seconds to days, both ways. Then all
//! of it ends, and every message has one word for where it is, and the word is true.
//!
//! `SIGNET_SEED` repeats the order of events, `SIGNET_CHAOS_SECONDS` makes it longer (10 s). Where libfaketime is
//! missing clocks stay right, and where no file system may be mounted no disk is full; both are said.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod account;
mod clock;
mod room;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, RwLock};
use std::time::{Duration, Instant};

use account::{Sent, account};
use clock::Clock;
use room::Room;
use rustix::process::Signal;
use serde_json::json;
use signet_testkit::traffic::finish;
use signet_testkit::{self as house, Dice, Home, House, Proxy, StopAtEnd};

/// How far a clock jumps, in seconds.
const JUMPS: [i64; 6] = [3, 30, 100, 3_600, 86_400, 4 * 86_400];

#[test]
fn every_message_is_accounted_for_after_everything_went_wrong_at_once() {
    let number =
        |name: &str, default| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    let (seed, seconds) = (number("SIGNET_SEED", 1), number("SIGNET_CHAOS_SECONDS", 10));
    println!("SIGNET_SEED={seed} SIGNET_CHAOS_SECONDS={seconds}");
    let mut scene = Scene::new(seed);
    let sent = scene.rage(Duration::from_secs(seconds));
    scene.calm();
    let [alice, bob] = scene.sides.map(|side| side.home.into_inner().unwrap());
    println!("{:?}", scene.happened);
    account(&alice, &bob, &sent, seconds >= 120);
}

struct Side {
    home: RwLock<Home>,
    clock: Option<(PathBuf, Clock)>,
    way: Proxy,
}

struct Scene {
    // Fields are dropped in this order: the room's file system has to be unmounted before the house removes the folder
    // below it.
    room: Option<Room>,
    sides: [Side; 2],
    house: House,
    dice: Dice,
    happened: BTreeMap<&'static str, u64>,
}

impl Scene {
    fn new(seed: u64) -> Self {
        let house = House::with_jetstream();
        let room = Room::mounted_on(&house.path(""));
        let homes = ["alice", "bob"].map(|name| house.home(name));
        house.acquaint(&[&homes[0], &homes[1]]);
        house.set_up(&[&homes[0], &homes[1]]);
        let library = clock::library();
        let sides = homes.map(|mut home| {
            let way = Proxy::before(house.server.port());
            home.served_by(way.port);
            let file = house.path(&format!("{}.clock", home.agent));
            let clock = library.clone().map(|library| (library, Clock::right(file)));
            Side {
                home: RwLock::new(home),
                clock,
                way,
            }
        });
        for side in &sides {
            side.start();
            side.revive();
        }
        sides[0].read().ping(&sides[1].read());
        for (what, is_there) in [
            ("moved clocks", sides[0].clock.is_some()),
            ("full disks", room.is_some()),
        ] {
            if !is_there {
                println!("LEFT OUT: {what}");
            }
        }
        Self {
            room,
            sides,
            house,
            dice: Dice(seed),
            happened: BTreeMap::new(),
        }
    }

    /// What was sent while everything went wrong.
    fn rage(&mut self, time: Duration) -> Vec<Sent> {
        let (over, sent, number) = (
            AtomicBool::new(false),
            Mutex::new(Vec::new()),
            AtomicU64::new(0),
        );
        let Self {
            room,
            sides,
            house,
            dice,
            happened,
        } = self;
        let sides = &*sides;
        std::thread::scope(|scope| {
            let _stop = StopAtEnd(&over);
            for side in [0, 1] {
                let (over, sent, number, dice) = (
                    &over,
                    &sent,
                    &number,
                    Dice(dice.0 ^ (side as u64 + 1) << 32),
                );
                scope.spawn(move || talk(sides, side, over, sent, number, dice));
                scope.spawn(move || answer(&sides[side], over));
            }
            let end = Instant::now() + time;
            while Instant::now() < end {
                std::thread::sleep(Duration::from_millis(dice.below(1_500)));
                let what = happen(sides, house, room.as_ref(), dice);
                *happened.entry(what).or_default() += 1;
            }
        });
        sent.into_inner().unwrap()
    }

    /// Nothing is wrong any more, and everything comes to its end.
    fn calm(&self) {
        for side in &self.sides {
            side.set_clock(0);
            side.way.join();
            side.revive();
        }
        let [alice, bob] = [self.sides[0].read(), self.sides[1].read()];
        self.house.set_up(&[&alice, &bob]);
        let limit = Instant::now() + account::PATIENCE;
        loop {
            finish(&alice);
            finish(&bob);
            if account::is_quiet(&alice, &bob) && account::is_quiet(&bob, &alice) {
                return;
            }
            assert!(
                Instant::now() < limit,
                "something is still under way: {} {}",
                account::shown(&alice, &bob),
                account::shown(&bob, &alice)
            );
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

/// One thing goes wrong, and its name.
fn happen(
    sides: &[Side; 2],
    house: &mut House,
    room: Option<&Room>,
    dice: &mut Dice,
) -> &'static str {
    let side = &sides[dice.below(2) as usize];
    let pause = Duration::from_millis(100 + dice.below(2_000));
    match dice.below(12) {
        0..=3 => {
            side.kill();
            std::thread::sleep(pause / 8);
            side.revive();
            "daemon killed"
        }
        4 => {
            house.server.restart();
            "broker killed"
        }
        5 => {
            house.server.kill();
            house.server.lose_store();
            house.server.restart();
            house.set_up(&[&sides[0].read(), &sides[1].read()]);
            "store wiped"
        }
        6 => {
            let pid = side.read().pid();
            house::kill(pid, Signal::STOP);
            std::thread::sleep(pause);
            house::kill(pid, Signal::CONT);
            side.revive();
            "daemon stopped"
        }
        7 => {
            side.way.cut();
            "connection cut"
        }
        8 => {
            side.way.part();
            std::thread::sleep(pause);
            side.way.join();
            "cable out"
        }
        9 => {
            let Some(room) = room else { return "nothing" };
            room.fill();
            std::thread::sleep(pause);
            room.empty();
            // A daemon that was started while the disk was full has ended with an error: start it again.
            sides.iter().for_each(Side::revive);
            "disk full"
        }
        _ => {
            let jump = JUMPS[dice.below(JUMPS.len() as u64) as usize];
            let jump = if dice.below(2) == 0 { jump } else { -jump };
            side.set_clock(jump);
            std::thread::sleep(pause);
            if dice.below(3) == 0 {
                side.kill();
                side.revive();
                std::thread::sleep(pause);
            }
            side.set_clock(0);
            "clock jumped"
        }
    }
}

impl Side {
    fn read(&self) -> std::sync::RwLockReadGuard<'_, Home> {
        self.home.read().unwrap()
    }

    fn start(&self) {
        let mut home = self.home.write().unwrap();
        let mut command = home.command(&["run"]);
        if let Some((library, clock)) = &self.clock {
            clock.rule(library, &mut command);
        }
        home.spawn(command);
    }

    /// SIGKILL, while others are calling it.
    fn kill(&self) {
        house::kill(self.read().pid(), Signal::KILL);
        self.home.write().unwrap().kill();
    }

    /// Starts the daemon where it has ended, and waits until it answers.
    fn revive(&self) {
        house::eventually("the daemon answers", || {
            if self.home.write().unwrap().has_ended() {
                self.home.write().unwrap().kill();
                self.start();
            }
            self.read().call("status", &json!({})).ok()
        });
    }

    fn set_clock(&self, seconds: i64) {
        if let Some((_, clock)) = &self.clock {
            clock.set(seconds);
        }
    }
}

fn talk(
    sides: &[Side; 2],
    side: usize,
    over: &AtomicBool,
    sent: &Mutex<Vec<Sent>>,
    number: &AtomicU64,
    mut dice: Dice,
) {
    let peer = sides[1 - side].read().agent.clone();
    while !over.load(Ordering::Relaxed) {
        let kind = ["request", "notification"][dice.below(2) as usize];
        let number = number.fetch_add(1, Ordering::Relaxed);
        let call = json!({"peer": peer, "kind": kind, "body": {"number": number}});
        // Ignore an error: a daemon that was just killed does not answer. If it took the message before, its log says
        // so.
        if let Ok(told) = sides[side].read().call("send", &call) {
            let id = told["message-id"].as_str().unwrap().to_owned();
            sent.lock().unwrap().push(Sent { side, id, number });
        }
        // A daemon remembers the ends of 10,000 messages to a peer, and `account` asks for all of them: send so slowly
        // that a run of ten minutes has fewer.
        std::thread::sleep(Duration::from_millis(60 + dice.below(100)));
    }
}

fn answer(side: &Side, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        finish(&side.read());
        std::thread::sleep(Duration::from_millis(20));
    }
}
