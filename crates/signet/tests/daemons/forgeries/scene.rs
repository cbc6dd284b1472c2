//! Homes of Bob's as a clean stop and as a kill left them, copied for each forger; and what forgers do.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};
use signet::clock;
use signet::config::Config;
use signet::home::Home;
use signet::lock::HomeLock;
use signet::memory::{Memory, MemoryError};
use signet_audit::{CheckpointKeys, Log, LogError};
use signet_proto::certificate::Certificate;
use signet_proto::entry::{Direction, Entry, Evidence, Ruling, Verdict};
use signet_proto::envelope::Message;
use signet_proto::ids::{AgentId, Digest};
use tempfile::TempDir;

use crate::house::{self, House};

/// Copies of Bob's home, in the order they were made.
struct Scene {
    dir: TempDir,
}

fn scene() -> &'static Scene {
    static SCENE: OnceLock<Scene> = OnceLock::new();
    SCENE.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let house = House::new();
        let (alice, mut bob) = house.alice_and_bob();
        let eve = house.home("eve");
        copy(&eve.dir, &dir.path().join("eve"));
        let talk = |bob: &house::Home, numbers: std::ops::Range<u64>| {
            for number in numbers.clone() {
                let body = json!({"number": number});
                alice.send(bob, "notification", &body).unwrap();
                bob.send(&alice, "notification", &body).unwrap();
            }
            let all = numbers.end as usize;
            house::eventually("the messages arrive", || {
                (bob.inbox().len() == all && alice.inbox().len() == all).then_some(())
            });
        };
        alice.ping(&bob);
        talk(&bob, 0..3);
        bob.stop();
        copy(&bob.dir, &dir.path().join("older"));
        bob.start();
        talk(&bob, 3..6);
        bob.stop();
        copy(&bob.dir, &dir.path().join("stopped"));
        bob.start();
        talk(&bob, 6..9);
        bob.kill();
        copy(&bob.dir, &dir.path().join("killed"));
        Scene { dir }
    })
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else if path.is_file() {
            fs::copy(&path, &target).unwrap();
        }
    }
    fs::set_permissions(to, fs::metadata(from).unwrap().permissions()).unwrap();
}

/// One copy of Bob's home, in the hands of a forger.
pub(crate) struct Victim {
    dir: TempDir,
}

impl Victim {
    pub(crate) fn stopped() -> Self {
        Self::of("stopped")
    }

    pub(crate) fn killed() -> Self {
        Self::of("killed")
    }

    fn of(name: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        copy(&scene().dir.path().join(name), dir.path());
        Self { dir }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.path("audit/agent-bob")
    }

    /// The file of the only month.
    pub(crate) fn month(&self) -> PathBuf {
        let files = fs::read_dir(self.log()).unwrap();
        let mut files = files.map(|file| file.unwrap().path());
        files
            .find(|path| path.extension().is_some_and(|end| end == "jsonl"))
            .unwrap()
    }

    /// The files of all months that are there, and what they hold.
    pub(crate) fn months(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let files = fs::read_dir(self.log()).unwrap();
        let files = files.map(|file| file.unwrap().path());
        files
            .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
            .map(|path| (path.clone(), fs::read(path).unwrap()))
            .collect()
    }

    pub(crate) fn checkpoints(&self) -> PathBuf {
        self.month().with_extension("checkpoints")
    }

    /// The log as it was an hour ago, with its checkpoints.
    pub(crate) fn put_back_the_older_log(&self) {
        fs::remove_dir_all(self.log()).unwrap();
        copy(
            &scene().dir.path().join("older/audit/agent-bob"),
            &self.log(),
        );
    }

    /// What the daemon or the command line does first.
    pub(crate) fn start(&self) -> Result<Memory, MemoryError> {
        self.with(Memory::open)
    }

    pub(crate) fn with<T>(
        &self,
        what: impl Fn(&HomeLock, &Config) -> Result<T, MemoryError>,
    ) -> Result<T, MemoryError> {
        let home = Home::at(self.dir.path());
        // Try again if a lock, that of the home or that of the log, is held: another test may be starting a process, which holds this process's open files,
        // and with them the lock, until it runs its own program.
        let lock = house::eventually("the lock is free", || HomeLock::acquire(&home).ok());
        let config = Config::load(&home).unwrap();
        house::eventually("the log is free", || match what(&lock, &config) {
            Err(MemoryError::Log(LogError::Held(_))) => None,
            done => Some(done),
        })
    }

    /// Every message line with this direction and ruling.
    pub(crate) fn messages(&self, direction: Direction, accepted: bool) -> Vec<Verdict> {
        let lines = signet_audit::read(&self.log()).unwrap();
        let entries = lines.filter_map(|line| line.unwrap().entry);
        let verdicts = entries.filter_map(|entry| match entry {
            Entry::Message(verdict) => Some(verdict),
            _ => None,
        });
        let is_call = |verdict: &Verdict| {
            let method = verdict.message().and_then(|message| message.form.method());
            method.is_some_and(|method| method.as_str() == "agent.notification")
        };
        verdicts
            .filter(|verdict| verdict.direction == direction && is_call(verdict))
            .filter(|verdict| !matches!(verdict.ruling, Ruling::Rejected(_)) == accepted)
            .collect()
    }

    /// Adds lines as a log would, with write access to its directory alone.
    pub(crate) fn append(&self, entries: &[Entry]) {
        let log = Log::open(&self.log(), clock::now(), &self.genesis()).unwrap();
        write(log, entries);
    }

    /// The same with the checkpoint key: a checkpoint covers them.
    pub(crate) fn append_and_sign(&self, entries: &[Entry]) {
        let keys = CheckpointKeys::new(self.path("checkpoint-keys"), || {
            Err(std::io::Error::other("the key is there"))
        });
        let log = Log::open_with(&self.log(), clock::now(), &self.genesis(), keys).unwrap();
        write(log, entries);
    }

    fn genesis(&self) -> Entry {
        let own = fs::read(self.path("keys/certificate.json")).unwrap();
        Entry::Genesis(Certificate::parse(&serde_json::from_slice(&own).unwrap()).unwrap())
    }

    /// Changes the raw lines of the month, and makes the chain anew.
    pub(crate) fn edit(&self, change: impl FnOnce(&mut Vec<String>)) {
        let text = fs::read_to_string(self.month()).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        change(&mut lines);
        let mut prev = Digest([0; 32]);
        for (index, line) in lines.iter_mut().enumerate() {
            let (version, rest) = line.split_once(",\"seq\":").unwrap();
            let (_, rest) = rest.split_once(",\"ts\":").unwrap();
            let (ts, rest) = rest.split_once(",\"prev\":\"").unwrap();
            let (_, rest) = rest.split_once('"').unwrap();
            *line = format!(
                "{version},\"seq\":{},\"ts\":{ts},\"prev\":\"{}\"{rest}",
                index + 1,
                prev.to_hex()
            );
            prev = Digest::of(&[line.as_bytes()]);
        }
        let text: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
        fs::write(self.month(), text).unwrap();
    }
}

fn write(mut log: Log, entries: &[Entry]) {
    for entry in entries {
        log.append(clock::now(), entry).unwrap();
    }
    log.commit().unwrap();
    log.checkpoint().unwrap();
}

pub(crate) fn eve() -> Certificate {
    let file = scene().dir.path().join("eve/keys/certificate.json");
    let value: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    Certificate::parse(&value).unwrap()
}

pub(crate) fn alice() -> AgentId {
    "agent-alice".parse().unwrap()
}

/// A line about the same message with other words in it, under the old signature.
pub(crate) fn reworded(verdict: &Verdict) -> Entry {
    let message = verdict.message().unwrap();
    let mut value: Value = serde_json::from_slice(message.canonical()).unwrap();
    value["params"]["body"]["number"] = 99.into();
    let message = Message::from_value(value).unwrap();
    Entry::Message(Verdict {
        bytes: message.canonical().len() as u64,
        hash: message.hash(),
        evidence: Evidence::Whole(Arc::new(message)),
        ..verdict.clone()
    })
}
