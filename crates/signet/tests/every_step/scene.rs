//! Alice and Bob, and what they have to say to each other while something happens to Alice.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::json;

use signet_testkit::bus::Watch;
use signet_testkit::strace::Tracing;
use signet_testkit::traffic::{finish, nothing_without_a_line, receipts_hold, settle};
use signet_testkit::{Home, House};

pub(crate) struct Scene {
    house: House,
    watch: Watch,
    pub(crate) alice: Home,
    bob: Home,
    number: u64,
}

impl Scene {
    /// They know each other, have met, and Alice's daemon was killed.
    pub(crate) fn new() -> Self {
        let house = House::with_jetstream();
        // Watch the inboxes alone. A subscriber to all subjects would also get the answers to a dead daemon's pulls,
        // and the server would go on sending the mailbox's messages there.
        let watch = Watch::at(&house, &["agent.*.inbox".to_owned()]);
        let (mut alice, bob) = house.alice_and_bob_with_mailboxes();
        alice.ping(&bob);
        alice.kill();
        Self {
            house,
            watch,
            alice,
            bob,
            number: 0,
        }
    }

    /// How often each call happens at most in one thread, on all files or on these. No two runs are
    /// the same: the most of three.
    pub(crate) fn count(&mut self, files: &[PathBuf]) -> BTreeMap<String, u64> {
        let mut most = BTreeMap::new();
        for _ in 0..3 {
            for (call, count) in self.count_once(files) {
                let seen = most.entry(call).or_default();
                *seen = count.max(*seen);
            }
        }
        most
    }

    fn count_once(&mut self, files: &[PathBuf]) -> BTreeMap<String, u64> {
        let listing = self.house.path("calls");
        let tracing = Tracing {
            inject: None,
            files: files.to_vec(),
            listing: Some(listing.clone()),
        };
        assert!(!self.play(&tracing), "it stops when it is told to");
        let mut by_thread: BTreeMap<(String, String), u64> = BTreeMap::new();
        for line in std::fs::read_to_string(&listing).unwrap().lines() {
            let Some((thread, rest)) = line.split_once(' ') else {
                continue;
            };
            // `… resumed` is the end of a call that was counted at its start.
            if let Some((call, _)) = rest.trim_start().split_once('(') {
                let call = (thread.to_owned(), call.to_owned());
                *by_thread.entry(call).or_default() += 1;
            }
        }
        let mut most = BTreeMap::new();
        for ((_, call), count) in by_thread {
            let seen = most.entry(call).or_default();
            *seen = count.max(*seen);
        }
        most
    }

    /// One conversation with Alice under strace, and its end without. Whether she ended on the way.
    pub(crate) fn play(&mut self, tracing: &Tracing) -> bool {
        let command = self.alice.traced(tracing);
        let mut has_ended = !self.alice.try_start_as(command);
        if !has_ended {
            self.talk();
            has_ended = self.alice.has_ended();
        }
        if !has_ended {
            self.alice.signal(rustix::process::Signal::TERM);
        }
        let status = self.alice.ended();
        self.alice.start();
        settle(&self.alice, &self.bob);
        // Kill Alice's daemon before the next play: a start after a kill has more to do, and so more calls that can fail.
        self.alice.kill();
        nothing_without_a_line(&self.alice, &self.bob);
        receipts_hold(&self.watch, &self.alice);
        has_ended || !status.success()
    }

    /// Requests, notifications and answers both ways, until all is said or Alice is no more.
    fn talk(&mut self) {
        for kind in ["request", "notification"] {
            for (from, to) in [(&self.alice, &self.bob), (&self.bob, &self.alice)] {
                self.number += 1;
                // Whoever was killed meanwhile does not answer.
                let _ = from.send(to, kind, &json!({"number": self.number}));
            }
        }
        let limit = Instant::now() + Duration::from_secs(3);
        while Instant::now() < limit && !self.alice.has_ended() {
            finish(&self.alice);
            finish(&self.bob);
            if self.is_over() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn is_over(&self) -> bool {
        let none = |home: &Home, peer: &Home| {
            let shown = home.call("peer.show", &json!({"peer": peer.agent})).ok()?;
            let inbox = home.call("inbox.list", &json!({})).ok()?;
            Some(shown["waiting"] == 0 && shown["unconfirmed"] == 0 && inbox["waiting"] == 0)
        };
        none(&self.alice, &self.bob) == Some(true) && none(&self.bob, &self.alice) == Some(true)
    }

    /// Both logs hold; how many receipts were looked at.
    pub(crate) fn close(self) -> usize {
        for home in [&self.alice, &self.bob] {
            home.walk();
            let log = home.dir.join("audit").join(&home.agent);
            let report = signet_audit::verify(&[log]);
            assert!(report.holds(), "{report}");
        }
        receipts_hold(&self.watch, &self.alice) + receipts_hold(&self.watch, &self.bob)
    }
}
