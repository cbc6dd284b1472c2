//! `signet audit verify | reconcile | export` from the command line: what is said, and the exit status.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use signet_audit::{CheckpointKeys, Log};
use signet_json::canonical;
use signet_proto::certificate::{Certificate, CertificateRequest};
use signet_proto::entry::{Direction, Entry, Evidence, Ruling, TrustChange, Verdict};
use signet_proto::envelope::Message;
use signet_proto::headers::Layers;
use signet_proto::ids::{Digest, MessageId, Version, encode_base64url};
use signet_proto::keys::{Purpose, SigningKey};
use signet_proto::time::Timestamp;
use zeroize::Zeroizing;

fn key(name: &str) -> SigningKey {
    SigningKey::from_seed(&Zeroizing::new(Digest::of(&[name.as_bytes()]).0)).unwrap()
}

fn second(number: u64) -> Timestamp {
    let start: Timestamp = "2026-02-08T17:00:00.000Z".parse().unwrap();
    start.saturating_add(Duration::from_secs(number))
}

/// An agent and its log, in a directory of its name.
struct Side {
    name: &'static str,
    dir: PathBuf,
    certificate: Certificate,
    log: Log,
}

impl Side {
    fn new(home: &Path, name: &'static str) -> Self {
        let request = CertificateRequest {
            agent: format!("agent-{name}-001").parse().unwrap(),
            principal: name.parse().unwrap(),
            signing_key: key(name).public().clone(),
            layers: Layers::of(&[0, 1, 2, 3]),
            versions: vec![Version::CURRENT],
            serial: 1,
            not_before: second(0),
            not_after: second(100_000),
            next_root: Digest([0; 32]),
        };
        let certificate = request.sign(&key(&format!("{name}'s root"))).unwrap();
        let dir = home.join(name);
        let genesis = Entry::Genesis(certificate.clone());
        let keys = CheckpointKeys::new(home.join(format!("{name}-keys")), || {
            Ok(Zeroizing::new([5; 32]))
        });
        let log = Log::open_with(&dir, second(0), &genesis, keys).unwrap();
        Self {
            name,
            dir,
            certificate,
            log,
        }
    }

    fn write(&mut self, number: u64, entry: &Entry) {
        self.log.append(second(number), entry).unwrap();
        self.log.commit().unwrap();
    }

    fn trust(&mut self, peer: &Self) {
        self.write(
            0,
            &Entry::trust(TrustChange::Bound, peer.certificate.clone()),
        );
    }

    fn message(&self, to: &Self, number: u64) -> Message {
        let id = MessageId::from_parts(1_770_570_000_000 + number, [number as u8; 10]);
        let head = self.log.head().unwrap().hash.to_hex();
        let mut value = json!({
            "jsonrpc": "2.0", "method": "agent.notification",
            "params": { "headers": {
                "agent-id": self.certificate.agent.as_str(), "principal-id": self.name,
                "timestamp": second(number).to_string(), "message-type": "notification",
                "trust-layer-version": "1.0.0", "skill-layers-loaded": [0, 1],
                "recipient-id": to.certificate.agent.as_str(), "message-id": id.to_string(),
                "expires-at": second(number + 3600).to_string(), "key-id": key(self.name).public().id().to_string(),
                "session": Digest([9; 32]).to_string(), "sequence": number, "data-tier": 2, "audit-head": head,
            }, "summary": "Good evening", "body": { "number": number } }
        });
        let signature = key(self.name).sign(Purpose::Message, &[&canonical(&value)]);
        value["params"]["signature"] = encode_base64url(&signature).into();
        Message::from_value(value).unwrap()
    }

    fn send(&mut self, to: &mut Self, number: u64) {
        let message = self.message(to, number);
        self.write(number, &line(Direction::Out, Ruling::Sent, message.clone()));
        to.write(number, &line(Direction::In, Ruling::Accepted, message));
    }
}

fn line(direction: Direction, ruling: Ruling, message: Message) -> Entry {
    Entry::Message(Verdict {
        direction,
        ruling,
        bytes: message.canonical().len() as u64,
        hash: message.hash(),
        evidence: Evidence::Whole(Arc::new(message)),
        copy: None,
    })
}

/// Two logs of agents that exchanged ten messages.
fn talked(home: &Path) -> (PathBuf, PathBuf) {
    let (mut alice, mut bob) = (Side::new(home, "alice"), Side::new(home, "bob"));
    alice.trust(&bob);
    bob.trust(&alice);
    for number in 1..=5 {
        alice.send(&mut bob, number);
        bob.send(&mut alice, number + 100);
    }
    alice.log.checkpoint().unwrap();
    bob.log.checkpoint().unwrap();
    (alice.dir, bob.dir)
}

fn signet(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_signet"));
    command.args(args).env_clear().output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn verification_with_a_peer_says_by_whose_head_and_draws_no_bar_into_a_pipe() {
    let home = tempfile::tempdir().unwrap();
    let (alice, bob) = talked(home.path());
    let (alice, bob) = (alice.to_str().unwrap(), bob.to_str().unwrap());
    let done = signet(&["audit", "verify", alice, bob]);
    let said = text(&done.stdout);
    assert_eq!(done.status.code(), Some(0), "{said}");
    assert_eq!(text(&done.stderr), "");
    assert!(said.contains("by its own checkpoints up to seq 12, and by the heads that agent-bob-001 logged up to seq 10"), "{said}");
    let links = text(&signet(&["audit", "verify", "--links", alice]).stdout);
    assert!(
        links.contains("signatures not looked at; proven by its own checkpoints up to seq 12"),
        "{links}"
    );
}

#[test]
fn the_first_line_is_a_verdict_and_findings_are_told_as_many_as_asked_for() {
    let home = tempfile::tempdir().unwrap();
    let (alice, bob) = talked(home.path());
    let verify = |more: &[&str]| {
        let path = alice.to_str().unwrap();
        let done = signet(&[&["audit", "verify", path], more].concat());
        (done.status.code(), text(&done.stdout))
    };
    let first = |said: &str| said.lines().next().unwrap().to_owned();
    assert_eq!(
        first(&verify(&[]).1),
        "OK: 12 lines of agent-alice-001, 2026-02, are complete and unchanged up to line 12 by its own checkpoints; no peer's log was compared."
    );
    assert_eq!(
        first(&verify(&[bob.to_str().unwrap()]).1),
        "OK: 12 lines of agent-alice-001, 2026-02, are complete and unchanged up to line 12 by its own checkpoints and up to line 10 by the log of agent-bob-001; 12 lines of agent-bob-001, 2026-02, are complete and unchanged up to line 12 by its own checkpoints and up to line 11 by the log of agent-alice-001."
    );
    let file = alice.join("inter-agent-2026-02.jsonl");
    let whole = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{}{whole}", "garbage\n".repeat(30))).unwrap();
    let (status, said) = verify(&[]);
    assert_eq!(status, Some(1));
    assert!(first(&said).starts_with("NOT OK: 3"), "{said}");
    let told = |said: &str| said.lines().filter(|line| line.contains(", line ")).count();
    assert_eq!(told(&said), 20, "{said}");
    assert!(said.contains("(--all tells each)"), "{said}");
    let (_, all) = verify(&["--all"]);
    assert!(told(&all) > 30 && !all.contains("(--all"), "{all}");
    let (status, json) = verify(&["--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((status, &json["holds"]), (Some(1), &Value::Bool(false)));
    assert_eq!(json["sentence"], first(&said));
    assert_eq!(json["logs"][0]["faults"].as_array().unwrap().len(), 20);
}

/// A command that waits for a pipe would wait for ever.
#[test]
fn a_pipe_is_named_and_not_waited_for() {
    let home = tempfile::tempdir().unwrap();
    let pipe = home.path().join("inter-agent-2026-02.jsonl");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    for command in ["verify", "show"] {
        let done = signet(&["audit", command, pipe.to_str().unwrap()]);
        assert_eq!(done.status.code(), Some(2), "{command}");
        let said = text(&done.stdout) + &text(&done.stderr);
        assert!(said.contains("it is a pipe"), "{said}");
    }
}

#[test]
fn two_logs_that_agree_and_two_that_do_not() {
    let home = tempfile::tempdir().unwrap();
    let (alice, bob) = talked(home.path());
    let reconcile = |json: &[&str]| {
        let paths = [alice.to_str().unwrap(), bob.to_str().unwrap()];
        signet(&[&["audit", "reconcile"], json, &paths].concat())
    };
    let done = reconcile(&[]);
    assert_eq!(done.status.code(), Some(0));
    assert!(
        text(&done.stdout).contains("agree: 10 messages stand in both logs"),
        "{}",
        text(&done.stdout)
    );
    // Cut Alice's log back to its first line, as if an old copy had been put back: Bob's log contradicts it.
    let file = alice.join("inter-agent-2026-02.jsonl");
    let kept: String = std::fs::read_to_string(&file)
        .unwrap()
        .split_inclusive('\n')
        .take(1)
        .collect();
    std::fs::write(&file, kept).unwrap();
    std::fs::remove_file(alice.join("inter-agent-2026-02.checkpoints")).unwrap();
    let done = reconcile(&["--json"]);
    assert_eq!(done.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(report["agrees"], false);
    let kinds: Vec<&str> = report["contradictions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| found["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds.iter().filter(|kind| **kind == "never-sent").count(),
        5,
        "{kinds:?}"
    );
    assert!(kinds.contains(&"unknown-head"));
    let same = signet(&[
        "audit",
        "reconcile",
        bob.to_str().unwrap(),
        bob.to_str().unwrap(),
    ]);
    assert_eq!(same.status.code(), Some(2));
    assert!(
        text(&same.stderr).contains("both are logs of agent-bob-001"),
        "{}",
        text(&same.stderr)
    );
}

#[test]
fn a_bundle_is_written_once_and_verified_without_the_log() {
    let home = tempfile::tempdir().unwrap();
    let (alice, _) = talked(home.path());
    let bundle = home.path().join("bundle.jsonl");
    let export = |to: &str| {
        signet(&[
            "audit",
            "export",
            "--peer",
            "agent-bob-001",
            "--from",
            "2026-02-08",
            "--to",
            to,
            "--output",
            bundle.to_str().unwrap(),
            alice.to_str().unwrap(),
        ])
    };
    let nothing = export("2026-02-07");
    assert_eq!(nothing.status.code(), Some(2));
    assert!(!bundle.exists(), "half a bundle is not left behind");
    let done = export("2026-02-08");
    assert_eq!(
        (done.status.code(), text(&done.stderr)),
        (
            Some(0),
            "signet audit: 10 lines with agent-bob-001\n".into()
        )
    );
    assert_eq!(
        export("2026-02-08").status.code(),
        Some(1),
        "what is there is not overwritten"
    );
    std::fs::remove_dir_all(&alice).unwrap();
    let verify = || signet(&["audit", "verify", bundle.to_str().unwrap()]);
    let done = verify();
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stdout));
    assert!(text(&done.stdout).contains("10 lines stand in its log"));
    let forged =
        std::fs::read_to_string(&bundle)
            .unwrap()
            .replacen("\"number\":3", "\"number\":4", 1);
    std::fs::write(&bundle, forged).unwrap();
    assert_eq!(verify().status.code(), Some(1));
    let usage = export("yesterday");
    assert_eq!(usage.status.code(), Some(2));
    assert!(text(&usage.stderr).contains("not a date"));
}
