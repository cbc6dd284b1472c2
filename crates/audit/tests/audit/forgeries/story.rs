//! Three months of Alice's log and Bob's, with every kind of line that a forger could want.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use signet_proto::certificate::{ControlCertificate, ControlRequest};
use signet_proto::entry::{
    ApprovalLine, Did, Direction, DraftLine, Entry, HandoffLine, Offered, OutcomeLine, Ruling,
    TaskChange,
};
use signet_proto::handoff::{Authority, Chain, Link, MandateRequest, TaskId};
use signet_proto::ids::{Digest, MessageId};
use signet_proto::keys::{SealSecret, SigningKey};
use signet_proto::node::hash_of_draft;
use signet_proto::reject::Reason;
use signet_proto::statement::{Approval, Decision, PauseStatement};
use signet_proto::time::Timestamp;
use tempfile::TempDir;

use crate::common::*;
use crate::pair::*;

pub const APRIL: &str = "inter-agent-2026-04.jsonl";
pub const APRIL_NOTES: &str = "inter-agent-2026-04.checkpoints";
pub const APRIL_KEY: &str = "checkpoint-2026-04.key";

/// The logs of both, and Alice's checkpoint key.
pub struct Story {
    home: TempDir,
    pub alice: PathBuf,
    pub bob: PathBuf,
    /// What Alice's log was after March.
    pub spring: PathBuf,
    pub key: PathBuf,
}

pub fn april(second: u64) -> Timestamp {
    at("2026-04-01T00:00:10.000Z").saturating_add(Duration::from_secs(second))
}

/// A control certificate of whoever claims to be Alice's person, and its key.
pub fn control(root: &SigningKey, seed: u8) -> (ControlCertificate, SigningKey) {
    let request = ControlRequest {
        principal: "alice".parse().unwrap(),
        control_key: key(seed).public().clone(),
        audit_key: SealSecret::of(zeroize::Zeroizing::new([seed; 32])).public(),
        serial: 1,
        not_before: at("2026-01-01T00:00:00.000Z"),
        not_after: at("2027-01-01T00:00:00.000Z"),
        next_root: Digest([7; 32]),
    };
    (request.sign(root).unwrap(), key(seed))
}

/// What an approval is signed for.
pub fn waiting_draft() -> Value {
    let mut value = draft(&alice(), &bob(), 60, "May I leave?");
    let headers = value["params"]["headers"].as_object_mut().unwrap();
    for name in ["timestamp", "expires-at", "key-id", "session", "sequence"] {
        headers.remove(name);
    }
    value
}

pub fn approval(root: &SigningKey, seed: u8) -> Entry {
    let (control, key) = control(root, seed);
    let draft = hash_of_draft(&waiting_draft());
    let decision = Decision::Approved;
    Entry::Approval(ApprovalLine {
        peer: bob().certificate.agent,
        message_id: message_id(60),
        approval: Approval::sign(draft, decision, april(21), &control, &key).unwrap(),
    })
}

pub fn pause(paused: bool, serial: u64, root: &SigningKey, seed: u8) -> Entry {
    let (control, key) = control(root, seed);
    let said = PauseStatement::sign(paused, serial, april(30), &control, &key).unwrap();
    Entry::Pause(said)
}

pub fn message_id(number: u64) -> MessageId {
    MessageId::from_parts(1_770_570_000_000 + number, [number as u8; 10])
}

pub fn handoff(key: &SigningKey) -> Entry {
    let task: TaskId = message_id(70);
    let (alice, bob) = (alice(), bob());
    let request = MandateRequest {
        task,
        from: alice.certificate.agent.clone(),
        to: bob.certificate.agent.clone(),
        authority: Authority {
            capabilities: ["calendar.read".parse().unwrap()].into(),
            tier: 2,
            depth: 1,
            not_after: april(3600),
        },
        parent: None,
        issued_at: april(40),
    };
    let mandate = request.sign(key).unwrap();
    Entry::Handoff(HandoffLine {
        peer: bob.certificate.agent,
        direction: Direction::Out,
        task,
        message_id: message_id(70),
        change: TaskChange::Offered(Box::new(Offered {
            chain: Chain::begin(Link {
                mandate,
                certificate: alice.certificate,
            }),
            tier: 2,
            hops: 1,
            goal: Some("Find a date".into()),
        })),
    })
}

impl Story {
    pub fn tell() -> Self {
        let mut pair = Pair::new();
        pair.talk(6, second(10));
        pair.talk(6, march());
        pair.stop();
        let spring = pair.alice.copy();
        pair.alice.start(march());
        pair.bob.start(march());
        pair.talk(6, april(0));
        refuse(&mut pair);
        decide(&mut pair);
        receipt(&mut pair);
        pair.alice.write(april(41), &handoff(&alice().key));
        pair.alice.write(april(42), &gap("the disk was full"));
        pair.talk(8, april(50));
        pair.stop();
        Self::of([
            pair.alice.home.path().join("audit"),
            pair.bob.home.path().join("audit"),
            spring.path().join("audit"),
            pair.alice.home.path().join("checkpoint-keys"),
        ])
    }

    fn of(parts: [PathBuf; 4]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let names = ["alice", "bob", "spring", "keys"];
        let copied = names.map(|name| home.path().join(name));
        for (from, to) in parts.iter().zip(&copied) {
            fs::create_dir(to).unwrap();
            for file in fs::read_dir(from).unwrap() {
                let file = file.unwrap();
                fs::copy(file.path(), to.join(file.file_name())).unwrap();
            }
        }
        let [alice, bob, spring, key] = copied;
        Self {
            home,
            alice,
            bob,
            spring,
            key,
        }
    }

    /// Every line of Alice's log.
    pub fn lines(&self) -> Vec<String> {
        let files = signet_audit::log_files(&self.alice).unwrap();
        files.iter().flat_map(|file| lines_of(file)).collect()
    }

    pub fn copy(&self) -> Self {
        let home = self.home.path();
        Self::of(["alice", "bob", "spring", "keys"].map(|name| home.join(name)))
    }
}

fn refuse(pair: &mut Pair) {
    let refused = pair.bob.send(&alice(), 55, april(10), "More than it may");
    let reason = Ruling::Rejected(Reason::CapabilityNotGranted);
    pair.alice
        .write(april(10), &entry(Direction::In, reason, refused));
    let outcome = OutcomeLine {
        peer: bob().certificate.agent,
        message_id: message_id(2),
        what: Did::Acknowledged,
        tries: 1,
        reason: None,
    };
    pair.alice.write(april(11), &Entry::Outcome(outcome));
}

/// A draft that asks for approval, the approval, a pause, its end, and the message.
fn decide(pair: &mut Pair) {
    let draft = DraftLine {
        peer: bob().certificate.agent,
        message_id: message_id(60),
        life: 3600,
        approve: Some(bob().root.public().id()),
        message: waiting_draft(),
        copy: None,
        client_key: None,
    };
    pair.alice.write(april(20), &Entry::Draft(draft));
    pair.alice.write(april(21), &approval(&alice().root, 80));
    pair.alice
        .write(april(30), &pause(true, 1, &alice().root, 80));
    pair.alice
        .write(april(31), &pause(false, 2, &alice().root, 80));
    let sent = pair.alice.send(&bob(), 60, april(32), "May I leave?");
    pair.bob.take(april(32), sent);
}

/// What Alice says that she has, and what Bob says.
fn receipt(pair: &mut Pair) {
    say(&mut pair.alice, &mut pair.bob, 62);
    say(&mut pair.bob, &mut pair.alice, 64);
}

fn say(from: &mut Side, to: &mut Side, number: u64) {
    let mut value = draft(&from.party, &to.party, number, "");
    value["method"] = "agent.receipt".into();
    let params = value["params"].as_object_mut().unwrap();
    params.remove("summary");
    params.insert("body".into(), json!({ "through": 4 }));
    let headers = params["headers"].as_object_mut().unwrap();
    headers.remove("sequence");
    headers["timestamp"] = april(35).to_string().into();
    headers["expires-at"] = april(3600).to_string().into();
    let head = from.log().head().unwrap().hash.to_hex();
    headers.insert("audit-head".into(), head.into());
    let message = sign(value, &from.party.key);
    let sent = entry(Direction::Out, Ruling::Sent, message.clone());
    from.write(april(35), &sent);
    to.take(april(35), message);
}
