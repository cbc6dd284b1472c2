//! Announces of strangers, signed ahead, and a hand that pours them out at a steady rate.

use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::bus::Sender;
use crate::pen::{Pen, seed};
use crate::{Home, eventually};

/// The longest pause that is made up for: beyond it the rate would be exceeded.
const MADE_UP: Duration = Duration::from_millis(10);

/// Announces of so many strangers, each with a root key and a name of its own. They live five minutes.
pub fn announces(count: usize, to: &Home) -> Vec<Vec<u8>> {
    let stranger = |number: usize| {
        let mut root = [0x5a; 32];
        root[..8].copy_from_slice(&number.to_le_bytes());
        let name = format!("stranger-{number}");
        let pen = Pen::made(&format!("agent-{name}"), &name, &seed(root), |_| {});
        pen.sign(pen.announce(&to.agent))
    };
    (0..count).map(stranger).collect()
}

/// Sends `inputs` round and round for so long, at most `rate` a second. How many went out.
pub fn pour(
    sender: &mut Sender,
    subject: &str,
    inputs: &[Vec<u8>],
    rate: f64,
    length: Duration,
) -> u64 {
    let start = Instant::now();
    let (mut last, mut owed, mut sent) = (start, 0.0, 0_u64);
    let mut next = inputs.iter().cycle();
    while start.elapsed() < length {
        sleep(Duration::from_millis(1));
        let passed = last.elapsed().min(MADE_UP);
        last = Instant::now();
        owed += rate * passed.as_secs_f64();
        while owed >= 1.0 {
            sender.put(subject, next.next().unwrap());
            owed -= 1.0;
            sent += 1;
        }
        // Wait until the server has these messages before more are sent: it drops a client that runs too far ahead.
        sender.flush();
    }
    sent
}

/// How a log accounts for what strangers sent.
#[derive(Debug, Default)]
pub struct Accounts {
    /// Lines of refused input.
    pub lines: u64,
    /// What the flood lines count.
    pub counted: u64,
    /// How many flood lines.
    pub floods: u64,
    /// How many lines say that messages were dropped unread.
    pub gaps: u64,
}

impl Accounts {
    /// All that was read.
    pub fn arrived(&self) -> u64 {
        self.lines + self.counted
    }

    pub fn of(log: &[Value]) -> Self {
        let mut accounts = Self::default();
        for line in log {
            match line["kind"].as_str() {
                Some("flood") => {
                    accounts.floods += 1;
                    accounts.counted += line["count"].as_u64().unwrap();
                }
                Some("gap") => accounts.gaps += 1,
                _ if line["verdict"] == "rejected" && line.get("raw").is_some() => {
                    accounts.lines += 1;
                }
                _ => {}
            }
        }
        accounts
    }
}

impl Home {
    /// The accounts of a log in which the last flood has been counted.
    pub fn accounts(&self) -> Accounts {
        let mut before = None;
        eventually("the flood is over and counted", || {
            let accounts = Accounts::of(&self.log());
            let arrived = accounts.arrived();
            let still = before.replace(arrived) == Some(arrived);
            // Wait for more than a second: the daemon logs a `flood` line a second after the messages that the line counts.
            sleep(Duration::from_millis(1_200));
            still.then_some(accounts)
        })
    }
}
