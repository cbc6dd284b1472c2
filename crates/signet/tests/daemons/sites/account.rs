//! Pairs of daemons that talk at five messages a second each way, and what their logs say of it afterwards.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use signet_proto::time::Timestamp;

use crate::house::log::{header, messages};
use crate::house::traffic::{finish, settle};
use crate::house::{Home, House, StopAtEnd};

/// Homes that talk to each other by twos.
pub struct Pairs(Vec<[Home; 2]>);

/// The count of messages that the pairs have sent so far.
#[derive(Default)]
pub struct Talk {
    sent: AtomicUsize,
    is_over: AtomicBool,
}

/// The times in which a server was away, or hung.
#[derive(Default)]
pub struct Outages(Vec<(SystemTime, SystemTime)>);

impl Outages {
    pub fn during(&mut self, name: &str, talk: &Talk, run: impl FnOnce()) {
        let begun = SystemTime::now();
        run();
        let ended = SystemTime::now();
        let lasted = ended.duration_since(begun).unwrap_or_default();
        println!("{name}: {lasted:?} after {} messages", talk.sent());
        self.0.push((begun, ended));
    }

    /// How much of the time between the two was one.
    fn within(&self, from: SystemTime, to: SystemTime) -> Duration {
        let shared = self.0.iter().map(|(begun, ended)| {
            let (first, last) = (from.max(*begun), to.min(*ended));
            last.duration_since(first).unwrap_or_default()
        });
        shared.sum()
    }
}

/// The end of all messages, by both logs of each pair.
pub struct Told {
    pub sent: usize,
    /// Messages that arrived once more, in any number.
    pub copies: usize,
    /// From the line of its sender to that of its recipient.
    pub slowest: Duration,
    /// Of each message the time in which all servers were there; the longest.
    pub beyond: Duration,
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            sent,
            copies,
            slowest,
            beyond,
        } = self;
        write!(
            f,
            "{sent} messages, none lost, none twice, {copies} copies, slowest {slowest:?}, beyond outages {beyond:?}"
        )
    }
}

impl Talk {
    pub fn sent(&self) -> usize {
        self.sent.load(Ordering::Relaxed)
    }
}

impl Pairs {
    pub fn of(house: &House, count: usize) -> Self {
        let pair = |number: usize| {
            let homes = ["a", "b"].map(|side| house.home(&format!("{side}{number}")));
            house.acquaint(&[&homes[0], &homes[1]]);
            homes
        };
        Self((0..count).map(pair).collect())
    }

    /// The homes that are on either side of each pair.
    pub fn each(&self) -> impl Iterator<Item = &[Home; 2]> {
        self.0.iter()
    }

    pub fn each_mut(&mut self) -> impl Iterator<Item = &mut [Home; 2]> {
        self.0.iter_mut()
    }

    pub fn all(&self) -> Vec<&Home> {
        self.0.iter().flatten().collect()
    }

    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut Home> {
        self.0.iter_mut().flatten()
    }

    pub fn ping(&self) {
        for [one, other] in &self.0 {
            one.ping(other);
        }
    }

    /// Talks as long as `happen` lasts.
    pub fn talk<T>(&self, happen: impl FnOnce(&Talk) -> T) -> T {
        let talk = Talk::default();
        std::thread::scope(|scope| {
            let _stop = StopAtEnd(&talk.is_over);
            for [one, other] in &self.0 {
                for (from, to) in [(one, other), (other, one)] {
                    scope.spawn(|| say(from, to, &talk));
                    scope.spawn(|| {
                        while !talk.is_over.load(Ordering::Relaxed) {
                            finish(to);
                            std::thread::sleep(EVERY);
                        }
                    });
                }
            }
            happen(&talk)
        })
    }

    /// Waits until everything came to its end; then each message stands once in the log of its recipient.
    pub fn account(&self, outages: &Outages) -> Told {
        let mut told = Told {
            sent: 0,
            copies: 0,
            slowest: Duration::ZERO,
            beyond: Duration::ZERO,
        };
        for [one, other] in &self.0 {
            settle(one, other);
            for (from, to) in [(one, other), (other, one)] {
                told.count(&from.walk(), &to.walk(), outages);
            }
        }
        told
    }
}

impl Told {
    fn count(&mut self, sender: &[Value], recipient: &[Value], outages: &Outages) {
        let taken: BTreeMap<&str, &Value> = messages(recipient, "in", "accepted")
            .map(|line| (header(line, "message-id"), line))
            .collect();
        for line in messages(sender, "out", "sent").filter(|line| line["class"] == "application") {
            let id = header(line, "message-id");
            let arrived = taken
                .get(id)
                .unwrap_or_else(|| panic!("{id} is lost: {line}"));
            let (from, to) = (at(line), at(arrived));
            let took = to.duration_since(from).unwrap_or_default();
            self.slowest = self.slowest.max(took);
            self.beyond = self
                .beyond
                .max(took.saturating_sub(outages.within(from, to)));
            self.sent += 1;
        }
        let copies = recipient
            .iter()
            .filter(|line| line["reason"] == "duplicate");
        self.copies += copies.count();
    }
}

fn at(line: &Value) -> SystemTime {
    let ts: Timestamp = line["ts"].as_str().unwrap().parse().unwrap();
    SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(ts.as_millis()).unwrap())
}

fn say(from: &Home, to: &Home, talk: &Talk) {
    while !talk.is_over.load(Ordering::Relaxed) {
        let number = talk.sent.fetch_add(1, Ordering::Relaxed);
        from.send(to, "notification", &json!({ "number": number }))
            .unwrap();
        std::thread::sleep(EVERY);
    }
}

/// How long a message may take while all servers are there.
pub const LONGEST: Duration = Duration::from_secs(15);

/// Five a second.
const EVERY: Duration = Duration::from_millis(200);
