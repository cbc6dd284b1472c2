//! Homes as earlier states of the house left them (`golden/README.md`): today's code reads each, writes every line as it
//! stands there, makes the same rows of them, proves the log, and goes on in it.
//!
//! `golden/written.txt` has the hashes of what is written today. A change that means to write something else makes it
//! anew: `SIGNET_WRITE_GOLDEN=1 cargo test --workspace --test daemons golden`; its differences say what the change did.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use signet::config::Config;
use signet::memory::Memory;
use signet::state::StateStore;
use signet_audit::LogLine;
use signet_driver::{Process, Signet};
use signet_proto::entry::LineVersion;
use signet_proto::ids::Digest;
use signet_proto::node::Row;
use signet_proto::time::Timestamp;
use tempfile::TempDir;

use crate::house::{House, PATIENCE};

/// What a start does with the state in a home.
#[derive(Clone, Copy, PartialEq)]
enum State {
    /// Its rows are today's, byte for byte, and reach to the end of the log.
    Whole,
    /// Its rows are of today's version; the daemon was killed, and they end before the log does.
    Behind,
    /// Its rows are of an older version: they are made again from the log.
    Older,
}

/// A home: the name of its archive, its agent, and what its state is.
type Kept = (&'static str, &'static str, State);

const HOMES: [Kept; 12] = [
    ("561181f-demo-alice", "agent-alice-001", State::Older),
    ("561181f-demo-bob", "agent-bob-001", State::Older),
    ("94283a5-demo-alice", "agent-alice-001", State::Older),
    ("94283a5-demo-bob", "agent-bob-001", State::Older),
    ("bfb7103-demo-alice", "agent-alice-001", State::Older),
    ("bfb7103-demo-bob", "agent-bob-001", State::Older),
    ("bfb7103-sample-alice", "agent-alice-001", State::Older),
    ("bfb7103-chaos-alice", "agent-alice", State::Older),
    ("rows5-demo-alice", "agent-alice-001", State::Whole),
    ("rows5-demo-bob", "agent-bob-001", State::Whole),
    ("rows5-sample-alice", "agent-alice-001", State::Whole),
    ("rows5-chaos-alice", "agent-alice", State::Behind),
];

fn place(name: &str) -> PathBuf {
    let parts = [env!("CARGO_MANIFEST_DIR"), "tests/daemons/golden", name];
    parts.iter().collect()
}

/// A copy of a home, in `dir` under its own name.
fn unpacked(dir: &Path, name: &str) -> PathBuf {
    let archive = place(&format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.arg("-xpzf").arg(archive).arg("-C").arg(dir);
    assert!(tar.status().unwrap().success(), "{name}");
    dir.join(name)
}

fn log_dir(home: &Path, agent: &str) -> PathBuf {
    home.join("audit").join(agent)
}

fn lines(home: &Path, agent: &str) -> Vec<LogLine> {
    let lines = signet_audit::read(&log_dir(home, agent)).unwrap();
    lines.map(Result::unwrap).collect()
}

/// What state and log together say, or the log alone where no state is.
fn rows(home: &Path, now: Timestamp) -> Vec<Row> {
    let home = signet::home::Home::at(home);
    let config = Config::load(&home).unwrap();
    Memory::glance(&home, &config).unwrap().snapshot(now).rows()
}

fn hash(parts: impl Iterator<Item = Vec<u8>>) -> String {
    let mut all = Vec::new();
    for part in parts {
        all.extend(part);
        all.push(b'\n');
    }
    Digest::of(&[&all]).to_hex()
}

/// Lines of every kind in both versions, and every table of rows, as hashes.
fn written(name: &str, lines: &[LogLine], rows: &[Row]) -> String {
    let mut text = String::new();
    let mut kinds: BTreeMap<&str, Vec<&LogLine>> = BTreeMap::new();
    for line in lines {
        kinds.entry(&line.kind).or_default().push(line);
    }
    for (kind, lines) in kinds {
        for version in [LineVersion::V1, LineVersion::V2] {
            let members = lines.iter().filter_map(|line| line.entry.as_ref());
            let members = members.map(|entry| {
                let mut members = Vec::new();
                entry.write_as(version, &mut members);
                members
            });
            let (count, hash) = (lines.len(), hash(members));
            let version = version.number();
            writeln!(text, "{name} lines {kind} v{version} {count} {hash}").unwrap();
        }
    }
    let mut tables: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        tables.entry(row.table).or_default().push(row);
    }
    for (table, rows) in tables {
        let (count, all) = (rows.len(), rows.iter());
        let hash = hash(all.map(|row| format!("{} {}", row.key, row.value).into_bytes()));
        writeln!(text, "{name} rows {table} {count} {hash}").unwrap();
    }
    text
}

#[test]
fn golden_homes_are_read_and_written_byte_for_byte() {
    let dir = TempDir::new().unwrap();
    let mut now = String::new();
    for (name, agent, _) in HOMES {
        let home = unpacked(dir.path(), name);
        let lines = lines(&home, agent);
        for line in &lines {
            let (kept, today) = (String::from_utf8_lossy(&line.raw), line.rewrite());
            let today = String::from_utf8_lossy(&today);
            assert_eq!(kept, today, "line {} of {name}", line.seq);
        }
        fs::remove_file(home.join("state.db")).unwrap();
        now += &written(name, &lines, &rows(&home, lines.last().unwrap().ts));
    }
    let file = place("written.txt");
    if std::env::var_os("SIGNET_WRITE_GOLDEN").is_some() {
        fs::write(&file, now).unwrap();
        return;
    }
    let kept = fs::read_to_string(&file).unwrap();
    let differ = kept.lines().zip(now.lines());
    let differ: Vec<_> = differ.filter(|(kept, now)| kept != now).collect();
    assert!(kept == now, "kept, and now: {differ:#?}");
}

#[test]
fn golden_rows_are_those_that_the_log_alone_says() {
    let dir = TempDir::new().unwrap();
    for (name, agent, state) in HOMES {
        let home = unpacked(dir.path(), name);
        let end = lines(&home, agent).last().unwrap().clone();
        let with_state = rows(&home, end.ts);
        let stored = StateStore::glance(&home.join("state.db"), &agent.parse().unwrap());
        fs::remove_file(home.join("state.db")).unwrap();
        let told = rows(&home, end.ts);
        let differ = signet_proto::node::differences(&with_state, &told);
        assert!(differ.is_empty(), "{name}: {differ:#?}");
        if state != State::Whole {
            continue;
        }
        let (position, stored) = stored.unwrap();
        assert_eq!(position.head.seq, end.seq, "{name}");
        // Leave out the table `passing`: it holds handshakes that are under way, and a log does not say which those
        // are.
        let stored = stored.into_iter().filter(|row| row.0 != "passing");
        let told = told.into_iter().filter(|row| row.table != "passing");
        let told = told.map(|row| (row.table.to_owned(), row.key, row.value));
        let (stored, told): (Vec<_>, Vec<_>) = (stored.collect(), told.collect());
        for (stored, told) in stored.iter().zip(&told) {
            assert_eq!(stored, told, "{name}");
        }
        assert_eq!(stored.len(), told.len(), "{name}");
    }
}

/// A copy of a home that a daemon goes on in.
struct Going {
    name: &'static str,
    agent: &'static str,
    state: State,
    signet: Signet,
    before: Vec<u8>,
}

impl Going {
    /// The copy, proved as it stands.
    fn of(house: &House, &(name, agent, state): &Kept) -> Self {
        let home = unpacked(&house.path(""), name);
        let signet = Signet::new(crate::house::signet(), &home, house.server.url());
        let before = log_bytes(&log_dir(&home, agent));
        let going = Self {
            name,
            agent,
            state,
            signet,
            before,
        };
        going.renew();
        going.verify();
        if state != State::Older {
            going.compare();
        }
        going
    }

    /// In a home of years ago its person renews the certificate first.
    fn renew(&self) {
        let certificate = fs::read(self.signet.home().join("keys/certificate.json")).unwrap();
        let certificate: Value = serde_json::from_slice(&certificate).unwrap();
        let ends: Timestamp = certificate["not-after"].as_str().unwrap().parse().unwrap();
        if ends < signet::clock::now() {
            self.done(&["key", "rotate", "signing"]);
        }
    }

    fn done(&self, args: &[&str]) -> String {
        let output = self.signet.output(args);
        let output = output.unwrap_or_else(|error| panic!("{}: {args:?}: {error}", self.name));
        String::from_utf8(output).unwrap()
    }

    fn verify(&self) {
        let log = log_dir(self.signet.home(), self.agent);
        self.done(&["audit", "verify", log.to_str().unwrap()]);
    }

    fn compare(&self) {
        let compared = self.done(&["state", "compare"]);
        assert!(compared.contains("row by row"), "{}: {compared}", self.name);
    }

    fn start(&self) -> Process {
        let mut process = self.signet.run(Stdio::null).unwrap();
        self.signet.connected(&mut process).unwrap();
        process
    }

    fn pings(&self, other: &Self) {
        let mut client = self.signet.client(PATIENCE).unwrap();
        let ping = json!({"peer": other.agent, "kind": "ping", "wait": 60.0, "life": 60});
        let pinged = client.raw("send", &ping).unwrap();
        assert_eq!(pinged["state"], "answered", "{}: {pinged}", self.name);
    }

    /// What stood in the log stands there, what came behind it is proved with it, and the rows fit.
    fn went_on(&self) {
        self.verify();
        self.compare();
        let after = log_bytes(&log_dir(self.signet.home(), self.agent));
        let added = after.strip_prefix(&self.before[..]).expect(self.name);
        let added = String::from_utf8_lossy(added);
        assert!(!added.is_empty(), "{}", self.name);
        let rebuilt = added.matches("\"kind\":\"rebuilt\"").count();
        let expected = usize::from(self.state == State::Older);
        assert_eq!(rebuilt, expected, "{}: {added}", self.name);
    }
}

/// The lines of all months.
fn log_bytes(dir: &Path) -> Vec<u8> {
    let files = fs::read_dir(dir).unwrap();
    let files = files.map(|file| file.unwrap().path());
    let mut files: Vec<_> = files
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .collect();
    files.sort();
    let bytes = files.iter().flat_map(|file| fs::read(file).unwrap());
    bytes.collect()
}

#[test]
fn golden_homes_are_proved_and_go_on_under_todays_daemon() {
    let mut scenes: BTreeMap<&str, Vec<&Kept>> = BTreeMap::new();
    for kept in &HOMES {
        let (scene, _) = kept.0.rsplit_once('-').unwrap();
        scenes.entry(scene).or_default().push(kept);
    }
    for kept in scenes.into_values() {
        let house = House::new();
        let homes = kept.into_iter().map(|kept| Going::of(&house, kept));
        let homes: Vec<_> = homes.collect();
        let daemons: Vec<_> = homes.iter().map(Going::start).collect();
        // They know each other.
        if let [alice, bob] = &homes[..] {
            alice.pings(bob);
            bob.pings(alice);
        }
        // Pings leave no line in a session that still holds: have each write some.
        for home in &homes {
            home.done(&["pause"]);
            home.done(&["resume"]);
        }
        for daemon in daemons {
            daemon.stop().unwrap();
        }
        for home in &homes {
            home.went_on();
        }
    }
}
