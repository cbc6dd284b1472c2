//! Keys, certificates and signed messages of two agents, and logs made of them.
#![allow(dead_code, unreachable_pub)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use signet_audit::{Log, LogLine};
use signet_json::canonical;
use signet_proto::certificate::{Certificate, CertificateRequest};
use signet_proto::entry::{CauseLine, Direction, Entry, Evidence, Ruling, TrustChange, Verdict};
use signet_proto::envelope::Message;
use signet_proto::headers::Layers;
use signet_proto::ids::{Digest, MessageId, Version, encode_base64url};
use signet_proto::keys::{Purpose, SigningKey};
use signet_proto::time::Timestamp;

pub const FEBRUARY: &str = "inter-agent-2026-02.jsonl";
pub const MARCH: &str = "inter-agent-2026-03.jsonl";

/// An agent and the person it acts for.
pub struct Party {
    pub key: SigningKey,
    pub root: SigningKey,
    pub certificate: Certificate,
}

impl Party {
    pub fn new(agent: &str, principal: &str, seed: u8) -> Self {
        let (key, root) = (key(seed), key(seed + 100));
        let certificate = certify(agent, principal, &key, &root, 1);
        Self {
            key,
            root,
            certificate,
        }
    }
}

pub fn alice() -> Party {
    Party::new("agent-alice-001", "alice", 1)
}

pub fn bob() -> Party {
    Party::new("agent-bob-001", "bob", 2)
}

pub fn key(seed: u8) -> SigningKey {
    SigningKey::from_seed(&zeroize::Zeroizing::new([seed; 32])).unwrap()
}

pub fn certify(
    agent: &str,
    principal: &str,
    key: &SigningKey,
    root: &SigningKey,
    serial: u64,
) -> Certificate {
    let request = CertificateRequest {
        agent: agent.parse().unwrap(),
        principal: principal.parse().unwrap(),
        signing_key: key.public().clone(),
        layers: Layers::of(&[0, 1, 2, 3]),
        versions: vec![Version::CURRENT],
        serial,
        not_before: at("2026-01-01T00:00:00.000Z"),
        not_after: at("2027-01-01T00:00:00.000Z"),
        next_root: Digest([7; 32]),
    };
    request.sign(root).unwrap()
}

pub fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// A second in February 2026.
pub fn second(number: u64) -> Timestamp {
    at("2026-02-08T17:00:00.000Z").saturating_add(std::time::Duration::from_secs(number))
}

pub fn march() -> Timestamp {
    at("2026-03-01T00:00:00.500Z")
}

/// An unsigned notification.
pub fn draft(from: &Party, to: &Party, number: u64, summary: &str) -> Value {
    let id = MessageId::from_parts(1_770_570_000_000 + number, [number as u8; 10]);
    json!({
        "jsonrpc": "2.0", "method": "agent.notification",
        "params": {
            "headers": {
                "agent-id": from.certificate.agent.as_str(), "principal-id": from.certificate.principal.as_str(),
                "timestamp": second(number).to_string(), "message-type": "notification",
                "trust-layer-version": "1.0.0", "skill-layers-loaded": [0, 1],
                "recipient-id": to.certificate.agent.as_str(), "message-id": id.to_string(),
                "expires-at": second(number + 3600).to_string(), "key-id": from.key.public().id().to_string(),
                "session": Digest([9; 32]).to_string(), "sequence": number, "data-tier": 2,
            },
            "summary": summary, "body": { "number": number },
        }
    })
}

pub fn sign(mut value: Value, key: &SigningKey) -> Message {
    let signature = key.sign(Purpose::Message, &[&canonical(&value)]);
    value["params"]["signature"] = encode_base64url(&signature).into();
    Message::from_value(value).unwrap()
}

pub fn message(from: &Party, to: &Party, number: u64, summary: &str) -> Message {
    sign(draft(from, to, number, summary), &from.key)
}

/// A line about a whole message.
pub fn entry(direction: Direction, ruling: Ruling, message: Message) -> Entry {
    Entry::Message(Verdict {
        direction,
        ruling,
        bytes: message.canonical().len() as u64,
        hash: message.hash(),
        evidence: Evidence::Whole(Arc::new(message)),
        copy: None,
    })
}

pub fn accepted(number: u64, summary: &str) -> Entry {
    entry(
        Direction::In,
        Ruling::Accepted,
        message(&bob(), &alice(), number, summary),
    )
}

pub fn sent(number: u64, summary: &str) -> Entry {
    entry(
        Direction::Out,
        Ruling::Sent,
        message(&alice(), &bob(), number, summary),
    )
}

pub fn genesis() -> Entry {
    Entry::Genesis(alice().certificate)
}

pub fn trust_bob() -> Entry {
    Entry::trust(TrustChange::Bound, bob().certificate)
}

pub fn gap(cause: &str) -> Entry {
    Entry::Gap(CauseLine {
        cause: cause.to_owned(),
    })
}

pub fn open(dir: &Path, now: Timestamp) -> Log {
    Log::open(dir, now, &genesis()).unwrap()
}

/// Genesis, trust in Bob, and `count` messages taking turns: lines 3 to `count` + 2.
pub fn conversation(dir: &Path, count: u64) -> Log {
    let mut log = open(dir, second(0));
    log.append(second(0), &trust_bob()).unwrap();
    for number in 1..=count {
        let summary = format!("Message {number}");
        let entry = if number % 2 == 1 {
            accepted(number, &summary)
        } else {
            sent(number, &summary)
        };
        log.append(second(number), &entry).unwrap();
    }
    log.commit().unwrap();
    log
}

pub fn read_all(dir: &Path) -> Vec<LogLine> {
    signet_audit::read(dir)
        .unwrap()
        .map(Result::unwrap)
        .collect()
}

pub fn kinds(dir: &Path) -> Vec<String> {
    read_all(dir).into_iter().map(|line| line.kind).collect()
}

pub fn lines_of(path: &Path) -> Vec<String> {
    std::fs::read_to_string(path)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect()
}

pub fn write_lines(path: &Path, lines: &[String]) {
    std::fs::write(
        path,
        lines
            .iter()
            .flat_map(|line| [line.as_str(), "\n"])
            .collect::<String>(),
    )
    .unwrap();
}

/// A copy of a log directory, as a crash would leave it.
pub fn copy_dir(from: &Path) -> tempfile::TempDir {
    let to = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path: PathBuf = entry.unwrap().path();
        std::fs::copy(&path, to.path().join(path.file_name().unwrap())).unwrap();
    }
    to
}

/// The chain made anew over changed lines.
pub fn relink_all(lines: &mut [String]) {
    let mut prev = Digest([0; 32]);
    for (index, line) in lines.iter_mut().enumerate() {
        let version = line.split_once(",\"seq\":").unwrap().0.to_owned();
        let rest = line.split_once(",\"ts\":").unwrap().1.to_owned();
        let (ts, rest) = rest.split_once(",\"prev\":\"").unwrap();
        let (_, rest) = rest.split_once('"').unwrap();
        *line = format!(
            "{version},\"seq\":{},\"ts\":{ts},\"prev\":\"{}\"{rest}",
            index + 1,
            prev.to_hex()
        );
        prev = Digest::of(&[line.as_bytes()]);
    }
}

/// A request, signed: the same as a notification but for what makes it one.
pub fn request(from: &Party, to: &Party, number: u64, summary: &str) -> Message {
    sign(request_draft(from, to, number, summary), &from.key)
}

/// The same, unsigned.
pub fn request_draft(from: &Party, to: &Party, number: u64, summary: &str) -> Value {
    let mut value = draft(from, to, number, summary);
    value["id"] = value["params"]["headers"]["message-id"].clone();
    value["method"] = "agent.request".into();
    value["params"]["headers"]["message-type"] = "request".into();
    value
}

/// The answer to the request of that number.
pub fn answer(from: &Party, to: &Party, number: u64, request: u64) -> Message {
    let mut value = draft(from, to, number, &format!("Answer to {request}"));
    let mut result = value["params"].take();
    let asked = MessageId::from_parts(1_770_570_000_000 + request, [request as u8; 10]);
    result["headers"]["message-type"] = "response".into();
    result["headers"]["in-reply-to"] = asked.to_string().into();
    let mut value = json!({"jsonrpc": "2.0", "id": asked.to_string(), "result": result});
    let signature = from.key.sign(Purpose::Message, &[&canonical(&value)]);
    value["result"]["signature"] = encode_base64url(&signature).into();
    Message::from_value(value).unwrap()
}

/// A receipt, which only the protocol needs.
pub fn receipt(from: &Party, to: &Party, number: u64, body: Value) -> Message {
    let mut value = draft(from, to, number, "");
    value["method"] = "agent.receipt".into();
    value["params"]["body"] = body;
    value["params"].as_object_mut().unwrap().remove("summary");
    let headers = &mut value["params"]["headers"];
    headers.as_object_mut().unwrap().remove("sequence");
    sign(value, &from.key)
}
