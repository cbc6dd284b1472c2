//! The clients of other languages against real daemons: their own tests, and kills of daemon and agent.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;

use crate::house::{Home, House, eventually};

/// A client, and how its programs are run.
struct Language {
    /// Its directory below `clients`.
    name: &'static str,
    /// The interpreter, and how one comes by it.
    interpreter: (&'static str, &'static str),
    /// The arguments that run all its tests, in its directory.
    tests: &'static [&'static str],
    /// The agent that answers, and the program that asks it.
    kills: [&'static str; 2],
    /// What has to be built first.
    built: Option<&'static str>,
}

const PYTHON: Language = Language {
    name: "python",
    interpreter: (
        "python3",
        "install Python 3.10 or newer (Debian: apt-get install python3)",
    ),
    tests: &["-m", "unittest", "discover", "-s", "tests"],
    kills: ["tests/kills/answering.py", "tests/kills/asking.py"],
    built: None,
};

const TYPESCRIPT: Language = Language {
    name: "typescript",
    interpreter: (
        "node",
        "install Node 20 or newer (https://nodejs.org), then scripts/typescript",
    ),
    tests: &["--test", "tests"],
    kills: ["tests/kills/answering.mjs", "tests/kills/asking.mjs"],
    built: Some("dist/index.js"),
};

#[test]
fn the_typescript_client_serves_and_asks() {
    run_the_tests_of(&TYPESCRIPT);
}

#[test]
fn kills_of_daemon_and_typescript_agent_answer_each_request_once() {
    kill_daemon_and_agent_of(&TYPESCRIPT);
}

#[test]
fn the_python_client_serves_and_asks() {
    run_the_tests_of(&PYTHON);
}

#[test]
fn kills_of_daemon_and_python_agent_answer_each_request_once() {
    kill_daemon_and_agent_of(&PYTHON);
}

fn run_the_tests_of(language: &Language) {
    if !language.is_there() {
        return;
    }
    let house = House::new();
    let mut homes = household(&house, "linger-seconds = 2");
    let output = house.path("output");
    let mut command = language.command(&homes);
    let written = File::create(&output).unwrap();
    command
        .args(language.tests)
        .stdout(written.try_clone().unwrap())
        .stderr(written);
    let mut child = Running(command.spawn().unwrap());
    let ended = loop {
        if let Some(status) = child.0.try_wait().unwrap() {
            break status;
        }
        revive(&mut homes);
        std::thread::sleep(Duration::from_millis(20));
    };
    let said = std::fs::read_to_string(output).unwrap();
    assert!(ended.success(), "{}:\n{said}", language.name);
    let skips = ["(skipped=", "# SKIP"]
        .iter()
        .any(|mark| said.contains(mark));
    assert!(!skips, "a test did not run:\n{said}");
}

/// As a service manager would.
fn revive(homes: &mut [Home; 2]) {
    for home in homes {
        if home.has_ended() {
            home.ended();
            home.start();
        }
    }
}

/// How often daemon and agent are each killed, and how many requests there are: the whole number takes long.
fn sizes() -> (usize, usize) {
    let asked = std::env::var("SIGNET_CLIENT_KILLS").ok();
    let asked = asked.and_then(|kills| kills.parse().ok());
    asked.map_or((2, 500), |kills: usize| (kills, kills * 1_000))
}

fn kill_daemon_and_agent_of(language: &Language) {
    if !language.is_there() {
        return;
    }
    let (kills, requests) = sizes();
    let house = House::new();
    let mut homes = household(&house, "");
    let [answering, asking] = language.kills;
    let said = house.path("answering");
    let start = |homes: &[Home; 2]| {
        let mut command = language.command(homes);
        let said = File::options().create(true).append(true).open(&said);
        command.arg(answering).stderr(said.unwrap());
        Running(command.spawn().unwrap())
    };
    let mut agent = start(&homes);
    // Wait for the offer: the asker's requests name a capability that the program offers, and a daemon that has just
    // started does not know the offer yet.
    eventually("the program's offer is told", || {
        let offered = homes[0].standing("agent-bob", "capabilities");
        offered.to_string().contains("test.orders").then_some(())
    });
    let mut asker = language.command(&homes);
    asker.args([asking, &requests.to_string()]);
    let mut asker = Running(asker.stdout(Stdio::piped()).spawn().unwrap());
    let lines = BufReader::new(asker.0.stdout.take().unwrap()).lines();
    let (told, answers) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        for line in lines {
            told.send(line.unwrap()).unwrap();
        }
    });
    let mut answered = BTreeMap::new();
    let mut killed = 0;
    while let Ok(line) = answers.recv_timeout(Duration::from_secs(180)) {
        let answer: Value = serde_json::from_str(&line).unwrap();
        let id = answer["message-id"].as_str().unwrap().to_owned();
        assert_eq!(answered.insert(id, answer["number"].clone()), None);
        if killed < 2 * kills && answered.len() == (killed + 1) * requests / (2 * kills + 1) {
            match killed % 4 {
                1 | 3 => {
                    drop(agent);
                    agent = start(&homes);
                }
                daemon => {
                    let home = &mut homes[1 - daemon / 2];
                    home.kill();
                    home.start();
                }
            }
            killed += 1;
        }
    }
    let text = std::fs::read_to_string(&said).unwrap();
    assert_eq!(answered.len(), requests, "the agent said: {text}");
    assert_eq!(killed, 2 * kills);
    reader.join().unwrap();
    assert!(asker.0.wait().unwrap().success());
    drop(agent);
    for home in &mut homes {
        home.stop();
    }
    each_was_answered_once(&homes, answered.keys());
}

/// By the logs of both sides.
fn each_was_answered_once<'a>(
    [alice, bob]: &[Home; 2],
    requests: impl Iterator<Item = &'a String>,
) {
    let count = |home: &Home, verdict: &str, member: &str, kind: &str| {
        let mut counted = BTreeMap::<String, usize>::new();
        for line in home.log() {
            if line["verdict"] == verdict && line["type"] == kind {
                *counted
                    .entry(line[member].as_str().unwrap_or_default().to_owned())
                    .or_default() += 1;
            }
        }
        counted
    };
    let sent = count(alice, "sent", "id", "request");
    let came = count(bob, "accepted", "id", "request");
    let answers = count(alice, "accepted", "in-reply-to", "response");
    for id in requests {
        let times = [&sent, &came, &answers].map(|counted| counted.get(id).copied());
        assert_eq!(times, [Some(1); 3], "sent, taken in and answered: {id}");
    }
}

impl Language {
    fn directory(&self) -> PathBuf {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        root.join("clients").join(self.name).canonicalize().unwrap()
    }

    fn is_there(&self) -> bool {
        let (program, install) = self.interpreter;
        let mut built = self.built.iter().map(|file| self.directory().join(file));
        let found = Command::new(program).arg("--version").output().is_ok()
            && built.all(|file| file.exists());
        if !found {
            eprintln!("NOT RUN: there is no {program}, or no client that it could run; {install}");
        }
        found
    }

    /// The interpreter in the client's directory, told of both homes and of nothing else.
    fn command(&self, [alice, bob]: &[Home; 2]) -> Command {
        let mut command = Command::new(self.interpreter.0);
        command
            .current_dir(self.directory())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("SIGNET_TEST_ALICE", &alice.dir)
            .env("SIGNET_TEST_BOB", &bob.dir)
            .env("PYTHONPATH", "src")
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::null());
        command
    }
}

/// Alice and Bob, whose programs may offer `test.*` on the terms of `more`, and who has two capabilities by configuration.
fn household(house: &House, more: &str) -> [Home; 2] {
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    bob.configure("# allow = []", &format!("allow = [\"test.*\"]\n{more}"));
    let fixed = ["fixed.lamp", "fixed.orders"];
    let fixed = fixed.map(|name| format!("[[capability]]\nname = \"{name}\"\n"));
    bob.configure("[offer]", &format!("{}[offer]", fixed.concat()));
    alice.start();
    bob.start();
    alice.ping(&bob);
    [alice, bob]
}

/// A process that ends with its test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
