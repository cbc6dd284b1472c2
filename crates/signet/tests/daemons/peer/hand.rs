//! examples/python/peer.py, driven line by line.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

use crate::house::{Home, House};

pub const AGENT: &str = "agent-peer-001";

/// A Python that has PyNaCl and nats-py.
pub fn python() -> Command {
    let made = Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../.tools/pynacl/bin/python3"
    ));
    let program = std::env::var_os("PYNACL").map_or_else(|| made.to_owned(), PathBuf::from);
    let mut command = Command::new(&program);
    // Let Python write no compiled files beside the sources: they would be left in the repository.
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

pub fn example(name: &str) -> PathBuf {
    Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/python"
    ))
    .join(name)
}

/// Alice's daemon, which takes and sends every tier without asking her.
pub fn daemon(house: &House) -> Home {
    let mut alice = house.home("alice");
    alice.configure("# tiers = [4]", "tiers = []");
    alice.start();
    alice
}

/// The agent, and its end of the pipe.
pub struct Hand {
    child: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Hand {
    /// Makes its keys, lets the daemon and it know each other, and starts it.
    pub fn of(house: &House, daemon: &Home) -> Self {
        let home = house.path("peer");
        let mut make = python();
        make.arg(example("peer.py"))
            .arg("init")
            .arg("--home")
            .arg(&home);
        let made = make
            .args(["--agent", AGENT, "--principal", "peer"])
            .output()
            .unwrap();
        let why = "scripts/pynacl makes a python that has what it needs";
        assert!(
            made.status.success(),
            "{}: {why}",
            String::from_utf8_lossy(&made.stderr)
        );
        daemon.done(&[
            "peer",
            "add",
            home.join("certificate.json").to_str().unwrap(),
        ]);
        let known = house.path("daemon.json");
        std::fs::write(&known, daemon.done(&["peer", "export"])).unwrap();
        Self::started(&home, &house.server.url(), &known)
    }

    fn started(home: &Path, url: &str, known: &Path) -> Self {
        let drive = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/daemons/peer/drive.py");
        let mut command = python();
        command
            .arg(drive)
            .arg(example(""))
            .arg(home)
            .arg(url)
            .arg(known);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        Self {
            commands: child.stdin.take().unwrap(),
            answers: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    /// One command, and what came of it.
    pub fn tell(&mut self, command: &Value) -> Value {
        writeln!(self.commands, "{command}").unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error}: {answer:?}"))
    }
}

impl Drop for Hand {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
