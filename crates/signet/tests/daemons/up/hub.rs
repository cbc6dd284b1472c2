//! `signet up --join` and `--leave`: households behind a hub that signet made.

mod servers;
mod told;

use std::path::{Path, PathBuf};

use data_encoding::BASE64URL_NOPAD;
use serde_json::{Value, json};
use signet_testkit::{Server, says};

use super::{Machine, mode};
use crate::house::eventually;
use crate::sites::hub::Hub;

impl Machine {
    /// `signet up` in the background, by the line of a household.
    fn joins(&self, name: &str, line: &str) -> String {
        let (out, warnings) = self.begins_by(name, line);
        assert!(warnings.is_empty(), "{warnings}");
        out
    }

    /// The same, with what it says on standard error.
    fn begins_by(&self, name: &str, line: &str) -> (String, String) {
        let args = ["--agent", name, "--principal", name];
        let more = ["--listen", "127.0.0.1:0"];
        self.joined_by(name, &[&args[..], &more].concat(), line)
    }

    /// `signet up` in a home that is there already, by the line of a household.
    fn goes_on_by(&self, name: &str, line: &str) -> (String, String) {
        self.joined_by(name, &[], line)
    }

    fn joined_by(&self, name: &str, args: &[&str], line: &str) -> (String, String) {
        let join = ["up", "--background", "--join", "-"];
        let output = self.with_input(name, &[&join[..], args].concat(), line);
        let said = says(&output);
        assert!(output.status.success(), "{said}");
        (String::from_utf8(output.stdout).unwrap(), said)
    }

    fn beside(&self, name: &str, other: &str) -> Vec<String> {
        let other = self.home(other).to_str().unwrap().to_owned();
        let args = [
            "up",
            "--agent",
            name,
            "--principal",
            name,
            "--background",
            "--beside",
        ];
        args.into_iter().map(str::to_owned).chain([other]).collect()
    }

    /// Two people of different servers trust each other.
    fn acquaint(&self, one: &str, two: &str) {
        let invitation = self.done(one, &["invite"]);
        let line = invitation
            .lines()
            .find(|line| line.starts_with("signet:1:"));
        let accept = ["accept", line.unwrap(), "--words", &self.words(one)];
        let back = self.done(two, &accept);
        self.done(one, &["accept", back.trim(), "--words", &self.words(two)]);
    }

    fn refuses(&self, name: &str, code: i32, line: &str) -> String {
        let args = ["up", "--background", "--join", "-"];
        let output = self.with_input(name, &args, line);
        let said = says(&output);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains("\n  next: "), "{said}");
        assert!(line.len() < 40 || !said.contains(&line[20..40]), "{said}");
        said
    }
}

fn line_of(said: &Value) -> String {
    let bytes = serde_json::to_vec(said).unwrap();
    format!("signet-hub:1:{}", BASE64URL_NOPAD.encode(&bytes))
}

/// Every plain file below a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => files(&entry.path(), found),
            kind if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
}

#[test]
fn two_households_that_joined_by_their_lines_talk_both_ways_until_one_is_turned_out() {
    let mut hub = Hub::of(&["house-one=alice,al", "house-two=bob"]);
    let machine = Machine::new();
    let said = machine.joins("alice", &hub.line("house-one"));
    let told = format!(
        "hub      127.0.0.1:{}, as house-one with alice, al\n",
        hub.port
    );
    assert!(said.contains(&told), "{said}");
    machine.joins("bob", &hub.line("house-two"));
    machine.acquaint("alice", "bob");
    machine.talks("alice", "bob");
    machine.talks("bob", "alice");
    let home = machine.home("alice");
    let password = hub.said_to("house-one")["password"].clone();
    let (mut all, holders) = (Vec::new(), ["leaf.conf", "server.json"]);
    files(&home, &mut all);
    for file in &all {
        let bytes = std::fs::read(file).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let holds = text.contains(password.as_str().unwrap());
        let may = holders
            .iter()
            .any(|name| file.ends_with(format!("nats/{name}")));
        assert_eq!(holds, may, "{}", file.display());
        assert!(!holds || mode(file) == 0o600, "{}", file.display());
    }
    // A second agent of the household comes without a new start of the server; one that the hub does not know is refused.
    let beside = |name: &str| machine.beside(name, "alice");
    let args = beside("al");
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    machine.done("al", &args);
    machine.talks("al", "alice");
    let args = beside("eve");
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let said = machine.fails("eve", 1, &args);
    assert!(said.contains("eve is no agent of house-one"), "{said}");
    let keeper = format!(" up --home {} --join @FILE; then repeat", home.display());
    let line = "their signet nats hub --file HUB.CONF --remove house-one --add house-one=…,eve;";
    assert!(said.contains(&keeper) && said.contains(line), "{said}");
    // The same line again changes nothing; another household's is none of this home's.
    let (again, _) = machine.goes_on_by("alice", &hub.line("house-one"));
    assert!(again.contains(", as house-one with "), "{again}");
    let said = machine.refuses("alice", 1, &hub.line("house-two"));
    assert!(said.contains("this home is that of alice"), "{said}");
    let said = hub.keep(&["--remove", "house-two"]);
    assert!(
        said.contains("house-two.line: of a household that is out; it may go: rm house-two.line\n"),
        "{said}"
    );
    hub.restart_as(&said);
    machine.talks("al", "alice");
    machine.fails(
        "alice",
        3,
        &["send", "bob", "--request", "\"milk?\"", "--wait", "5"],
    );
    machine.fails(
        "bob",
        3,
        &["send", "alice", "--request", "\"milk?\"", "--wait", "5"],
    );
    let left = machine.done("alice", &["up", "--background", "--leave"]);
    assert!(left.contains("as house-one: left"), "{left}");
    let conf = std::fs::read_to_string(home.join("nats/server.conf")).unwrap();
    assert!(
        !conf.contains("domain") && !conf.contains("include"),
        "{conf}"
    );
    assert!(!home.join("nats/leaf.conf").exists() && !home.join("nats/hub-ca.pem").exists());
    machine.talks("alice", "al");
    let none = machine.done("alice", &["up", "--background", "--leave"]);
    assert!(none.contains("a leaf of no hub"), "{none}");
}

#[test]
fn a_line_that_is_secret_hostile_or_for_somebody_else_is_refused_and_the_server_goes_on() {
    let hub = Hub::of(&["house-one=alice", "house-two=bob"]);
    let (line, said) = (hub.line("house-one"), hub.said_to("house-one"));
    let machine = Machine::new();
    // As an argument it stands in the list of processes: nothing is made by it, and it is not repeated.
    let args = [
        "up",
        "--agent",
        "alice",
        "--principal",
        "alice",
        "--join",
        &line,
    ];
    let told = machine.fails("alice", 2, &args);
    assert!(
        told.contains("is secret") && !told.contains(&line[20..40]),
        "{told}"
    );
    assert!(!machine.home("alice").exists());
    machine.up("alice");
    let told = machine.fails("alice", 2, &["up", "--background", "--join", "@/dev/zero"]);
    assert!(told.contains("/dev/zero has more than"), "{told}");
    let with = |name: &str, value: Value| {
        let mut said = said.clone();
        said[name] = value;
        line_of(&said)
    };
    for (name, value) in [
        ("password", json!("a\" }\ninclude \"/etc/passwd")),
        ("household", json!("house\"one")),
        ("household", json!("house-one\n}")),
        ("hub", json!("tls://hub.example:7422\" }")),
        ("agents", json!(["alice", "b\" ]\n}"])),
        (
            "authority",
            json!("-----BEGIN CERTIFICATE-----\n}\n-----END CERTIFICATE-----\n"),
        ),
    ] {
        let told = machine.refuses("alice", 2, &with(name, value));
        assert!(told.contains("this is no line of a hub"), "{name}: {told}");
    }
    let plain = with("hub", json!(format!("nats://127.0.0.1:{}", hub.port)));
    let told = machine.refuses("alice", 1, &plain);
    assert!(told.contains("without TLS"), "{told}");
    let told = machine.refuses("alice", 2, &line.replace(":1:", ":2:"));
    assert!(told.contains("of another version"), "{told}");
    let certificates = "-----BEGIN CERTIFICATE-----\nMDAwMA==\n-----END CERTIFICATE-----\n";
    let told = machine.refuses("alice", 1, &with("authority", json!(certificates)));
    assert!(told.contains("the hub was not changed"), "{told}");
    let home = machine.home("alice");
    assert!(!home.join("nats/leaf.conf").exists());
    eventually(
        "the server is as before, and the daemon is connected",
        || {
            let status = machine.done("alice", &["status", "--json"]);
            let status: Value = serde_json::from_str(&status).unwrap();
            (status["connected"] == true && status["mailbox"] == true).then_some(())
        },
    );
    // A hub that counts another household's agent among this one's wins no login and no mailbox for it.
    machine.joins("alice", &with("agents", json!(["alice", "bob"])));
    let facts = std::fs::read_to_string(home.join("nats/server.json")).unwrap();
    let facts: Value = serde_json::from_str(&facts).unwrap();
    assert_eq!(facts["users"].as_object().unwrap().len(), 1, "{facts}");
    let other = Hub::of(&["house-nine=alice"]);
    let told = machine.refuses("alice", 1, &other.line("house-nine"));
    assert!(
        told.contains("already, as house-one") && told.contains("--leave"),
        "{told}"
    );
    // A server that somebody made by hand is not changed, whether the daemon runs or not.
    let foreign = Server::start("");
    let args = [
        "up",
        "--agent",
        "carol",
        "--principal",
        "carol",
        "--background",
        "--nats",
    ];
    machine.run("carol", &[&args[..], &[&foreign.url()]].concat());
    let told = machine.refuses("carol", 1, &with("agents", json!(["carol"])));
    assert!(told.contains("signet up did not make"), "{told}");
    machine.done("carol", &["down"]);
    let told = machine.fails("carol", 1, &["up", "--background", "--leave"]);
    assert!(told.contains("signet up did not make"), "{told}");
}
