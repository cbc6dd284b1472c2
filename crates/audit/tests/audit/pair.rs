//! Agents that talk with each other, each keeping its log and its checkpoints.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use signet_audit::{CheckpointKeys, Log, LogError, LogReport, VerifyReport, verify};
use signet_proto::entry::{Direction, Entry, Ruling, TrustChange};
use signet_proto::envelope::Message;
use signet_proto::time::Timestamp;
use tempfile::TempDir;
use zeroize::Zeroizing;

use super::common::*;

pub const FEBRUARY_NOTES: &str = "inter-agent-2026-02.checkpoints";
pub const MARCH_NOTES: &str = "inter-agent-2026-03.checkpoints";
pub const FEBRUARY_KEY: &str = "checkpoint-2026-02.key";
pub const MARCH_KEY: &str = "checkpoint-2026-03.key";

/// Each key another one, also across tests, and none of them the same byte 32 times, as those are that tests forge with.
pub fn keys(dir: &Path) -> CheckpointKeys {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    CheckpointKeys::new(dir, || {
        let mut seed = Zeroizing::new([0xa5; 32]);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        seed[..8].copy_from_slice(&number.to_be_bytes());
        Ok(seed)
    })
}

/// An agent and its log.
pub struct Side {
    pub party: Party,
    pub home: TempDir,
    pub log: Option<Log>,
}

impl Side {
    pub fn new(party: Party) -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut side = Self {
            party,
            home,
            log: None,
        };
        side.start(second(0));
        side
    }

    pub fn dir(&self) -> PathBuf {
        self.home.path().join("audit")
    }

    pub fn keys(&self) -> PathBuf {
        self.home.path().join("checkpoint-keys")
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.dir().join(name)
    }

    pub fn key(&self, name: &str) -> PathBuf {
        self.keys().join(name)
    }

    pub fn try_start(&mut self, now: Timestamp) -> Result<(), LogError> {
        let genesis = Entry::Genesis(self.party.certificate.clone());
        self.log = Some(Log::open_with(
            &self.dir(),
            now,
            &genesis,
            keys(&self.keys()),
        )?);
        Ok(())
    }

    pub fn start(&mut self, now: Timestamp) {
        self.try_start(now).unwrap();
    }

    /// A clean stop.
    pub fn stop(&mut self) {
        if let Some(mut log) = self.log.take() {
            log.checkpoint().unwrap();
        }
    }

    /// A sudden one.
    pub fn crash(&mut self) {
        self.log = None;
    }

    pub fn log(&mut self) -> &mut Log {
        self.log.as_mut().unwrap()
    }

    pub fn write(&mut self, now: Timestamp, entry: &Entry) {
        self.log().append(now, entry).unwrap();
        self.log().commit().unwrap();
    }

    pub fn trust(&mut self, peer: &Party) {
        let entry = Entry::trust(TrustChange::Bound, peer.certificate.clone());
        self.write(second(0), &entry);
    }

    /// Signs a message that names the newest durable line.
    pub fn sign(&mut self, to: &Party, number: u64, now: Timestamp, summary: &str) -> Message {
        let mut value = draft(&self.party, to, number, summary);
        let headers = &mut value["params"]["headers"];
        headers["timestamp"] = now.to_string().into();
        headers["expires-at"] = now
            .saturating_add(std::time::Duration::from_secs(3600))
            .to_string()
            .into();
        headers["audit-head"] = self.log().head().unwrap().hash.to_hex().into();
        sign(value, &self.party.key)
    }

    /// Logs a message that it sends.
    pub fn send(&mut self, to: &Party, number: u64, now: Timestamp, summary: &str) -> Message {
        let message = self.sign(to, number, now, summary);
        self.write(now, &entry(Direction::Out, Ruling::Sent, message.clone()));
        message
    }

    pub fn take(&mut self, now: Timestamp, message: Message) {
        self.write(now, &entry(Direction::In, Ruling::Accepted, message));
    }

    pub fn lines(&self, name: &str) -> Vec<String> {
        lines_of(&self.file(name))
    }

    /// Everything in its home.
    pub fn copy(&self) -> TempDir {
        let to = tempfile::tempdir().unwrap();
        for part in ["audit", "checkpoint-keys"] {
            let from = self.home.path().join(part);
            fs::create_dir(to.path().join(part)).unwrap();
            if from.exists() {
                for file in fs::read_dir(from).unwrap() {
                    let file = file.unwrap();
                    fs::copy(file.path(), to.path().join(part).join(file.file_name())).unwrap();
                }
            }
        }
        to
    }

    /// The home as it was when `copy` was made.
    pub fn restore(&mut self, copy: &TempDir) {
        self.crash();
        for part in ["audit", "checkpoint-keys"] {
            let to = self.home.path().join(part);
            fs::remove_dir_all(&to).unwrap();
            fs::create_dir(&to).unwrap();
            for file in fs::read_dir(copy.path().join(part)).unwrap() {
                let file = file.unwrap();
                fs::copy(file.path(), to.join(file.file_name())).unwrap();
            }
        }
    }
}

/// Alice and Bob.
pub struct Pair {
    pub alice: Side,
    pub bob: Side,
    pub number: u64,
}

impl Pair {
    /// They know each other.
    pub fn new() -> Self {
        let (mut alice, mut bob) = (Side::new(alice()), Side::new(bob()));
        alice.trust(&bob.party);
        bob.trust(&alice.party);
        Self {
            alice,
            bob,
            number: 0,
        }
    }

    /// `count` messages taking turns, from Alice first, with a checkpoint of Alice's every 8 lines.
    pub fn talk(&mut self, count: u64, now: Timestamp) {
        for _ in 0..count {
            self.number += 1;
            let (from, to) = match self.number % 2 {
                1 => (&mut self.alice, &mut self.bob),
                _ => (&mut self.bob, &mut self.alice),
            };
            let message = from.send(
                &to.party,
                self.number,
                now,
                &format!("Message {}", self.number),
            );
            to.take(now, message);
            for side in [&mut self.alice, &mut self.bob] {
                if side.log().uncovered() >= 8 {
                    side.log().checkpoint().unwrap();
                }
            }
        }
    }

    /// A conversation of 30 messages and a clean stop.
    pub fn talked() -> Self {
        let mut pair = Self::new();
        pair.talk(30, second(10));
        pair.stop();
        pair
    }

    pub fn stop(&mut self) {
        self.alice.stop();
        self.bob.stop();
    }

    /// What verification of Alice's log finds when nothing else is at hand.
    pub fn alone(&self) -> LogReport {
        let mut report = verify(&[self.alice.dir()]);
        assert!(report.unreadable.is_empty(), "{report}");
        report.logs.remove(0)
    }

    /// What it finds with Bob's log.
    pub fn together(&self) -> VerifyReport {
        verify(&[self.alice.dir(), self.bob.dir()])
    }

    /// What it finds wrong with Alice's log, with Bob's at hand.
    pub fn against_alice(&self) -> Vec<String> {
        let report = self.together();
        let log = report
            .logs
            .iter()
            .find(|log| log.name == self.alice.dir())
            .unwrap();
        log.faults.iter().map(|fault| fault.what.clone()).collect()
    }
}

/// Whether the chain of a log holds, checked by nothing but the hashes in it.
pub fn chain_holds(dir: &Path) -> bool {
    signet_audit::read(dir).unwrap().all(|line| line.is_ok())
}

pub fn finds(report: &LogReport, what: &str) {
    let named = report.faults.iter().any(|fault| fault.what.contains(what));
    assert!(named, "no `{what}` in {:#?}", report.faults);
}

pub fn holds(report: &LogReport) {
    assert!(report.faults.is_empty(), "{:#?}", report.faults);
}
