//! Pings from one daemon to another, one after the other: each is signed, verified and written down on both sides.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::json;
use signet_api::Client;
use signet_testkit::{Home, House};

/// Two daemons that know each other, on core NATS.
pub(crate) struct Pinging {
    client: Client,
    alice: Home,
    _bob: Home,
    _house: House,
}

impl Pinging {
    /// Starts both on the disk that the build is on: a temporary folder may be in memory, where an fdatasync costs nothing.
    pub(crate) fn start() -> Self {
        let house = House::within(super::directory());
        let (alice, bob) = house.alice_and_bob();
        let client = alice.client().unwrap();
        Self {
            client,
            alice,
            _bob: bob,
            _house: house,
        }
    }

    /// The log of the daemon that pings.
    pub(crate) fn log(&self) -> PathBuf {
        self.alice.dir.join("audit").join(&self.alice.agent)
    }

    /// Milliseconds of so many pings.
    pub(crate) fn take(&mut self, count: usize) -> Vec<f64> {
        let params = json!({"peer": "agent-bob", "kind": "ping", "wait": 10, "life": 60});
        let mut ping = |_| {
            let begun = Instant::now();
            let answer = self.client.raw("send", &params).unwrap();
            assert_eq!(answer["state"], "answered", "{answer}");
            begun.elapsed().as_secs_f64() * 1e3
        };
        (0..count).map(&mut ping).collect()
    }

    /// The same once nothing of what went before is still being written.
    pub(crate) fn take_in_quiet(&mut self, still: Duration, count: usize) -> Vec<f64> {
        std::thread::sleep(still);
        self.take(count)
    }
}

/// The time within which so many of a hundred were answered.
pub(crate) fn percentile(times: &[f64], percent: usize) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)]
}
