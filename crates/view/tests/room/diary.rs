//! Logs as a daemon writes them, made line by line. No signature in them holds: the reading room proves none while it reads,
//! and leaves that to the proof.
#![allow(dead_code, unreachable_pub)]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use signet_audit::Log;
use signet_proto::certificate::{Certificate, CertificateRequest};
use signet_proto::entry::{Direction, Entry, Evidence, Ruling, TrustChange, Verdict};
use signet_proto::envelope::Message;
use signet_proto::headers::Layers;
use signet_proto::ids::{Digest, MessageId, Version, encode_base64url};
use signet_proto::keys::SigningKey;
use signet_proto::reject::Reason;
use signet_proto::time::Timestamp;

/// The log of alice's agent, and what is written into it.
pub struct Diary {
    pub dir: PathBuf,
    log: Log,
    number: u64,
    now: Timestamp,
}

/// What is said in one message.
pub struct Words<'a> {
    pub from: &'a str,
    pub tier: u8,
    pub summary: Option<&'a str>,
    pub body: Value,
    pub conversation: Option<&'a str>,
    pub answers: Option<String>,
}

impl Default for Words<'_> {
    fn default() -> Self {
        Self {
            from: "bob",
            tier: 1,
            summary: None,
            body: Value::Null,
            conversation: None,
            answers: None,
        }
    }
}

impl Diary {
    /// Begins in a folder, at some moment of February 2026.
    pub fn begin(dir: &Path) -> Self {
        Self::begin_at(dir, "2026-02-08T17:00:00.000Z")
    }

    pub fn begin_at(dir: &Path, now: &str) -> Self {
        let now: Timestamp = now.parse().unwrap();
        std::fs::create_dir_all(dir).unwrap();
        let log = Log::open(dir, now, &Entry::Genesis(certificate("alice", 1))).unwrap();
        Self {
            dir: dir.to_owned(),
            log,
            number: 0,
            now,
        }
    }

    /// Lets so much time pass.
    pub fn wait(&mut self, time: Duration) {
        self.now = self.now.saturating_add(time);
    }

    pub fn write(&mut self, entry: &Entry) {
        self.log.append(self.now, entry).unwrap();
        self.wait(Duration::from_millis(250));
    }

    /// Makes what was written durable.
    pub fn commit(&mut self) {
        self.log.commit().unwrap();
    }

    /// An agent that is let in.
    pub fn trusts(&mut self, who: &str) {
        self.write(&Entry::trust(TrustChange::Bound, certificate(who, 2)));
    }

    /// A stranger that waits.
    pub fn meets(&mut self, who: &str) {
        self.write(&Entry::trust(TrustChange::Pending, certificate(who, 3)));
    }

    /// Somebody asks alice; the id of the message.
    pub fn hears(&mut self, words: Words<'_>) -> String {
        let (message, id) = self.message("agent.request", &words, "alice");
        self.write(&verdict(Direction::In, Ruling::Accepted, message));
        id
    }

    /// Somebody asks what alice's agent refuses.
    pub fn refuses(&mut self, words: Words<'_>, reason: Reason) {
        let (message, _) = self.message("agent.request", &words, "alice");
        self.write(&verdict(Direction::In, Ruling::Rejected(reason), message));
    }

    /// Alice's agent answers `words.from`.
    pub fn answers(&mut self, to: &str, words: Words<'_>) {
        let (message, _) = self.message("answer", &words, to);
        self.write(&verdict(Direction::Out, Ruling::Sent, message));
    }

    fn message(&mut self, method: &str, words: &Words<'_>, to: &str) -> (Message, String) {
        self.number += 1;
        let id = MessageId::from_parts(1_770_570_000_000 + self.number, [self.number as u8; 10])
            .to_string();
        let from = if method == "answer" {
            "alice"
        } else {
            words.from
        };
        let is_answer = method == "answer";
        let kind = if is_answer { "response" } else { "request" };
        let mut headers = json!({
            "agent-id": format!("agent-{from}-001"), "principal-id": from, "timestamp": self.now.to_string(),
            "message-type": kind, "trust-layer-version": "1.0.0", "skill-layers-loaded": [0, 1],
            "recipient-id": format!("agent-{to}-001"), "message-id": id,
            "expires-at": self.now.saturating_add(Duration::from_secs(3600)).to_string(),
            "key-id": SigningKey::from_seed(&zeroize::Zeroizing::new([4; 32])).unwrap().public().id().to_string(),
            "session": Digest([9; 32]).to_string(), "sequence": self.number,
        });
        if words.tier > 1 {
            headers["data-tier"] = words.tier.into();
        }
        if let Some(conversation) = words.conversation {
            headers["conversation-id"] = conversation.into();
        }
        if let Some(answers) = &words.answers {
            headers["in-reply-to"] = answers.clone().into();
        }
        let mut envelope = json!({"headers": headers, "signature": encode_base64url(&[5; 64])});
        match words.tier {
            1 | 2 => {
                if let Some(summary) = words.summary {
                    envelope["summary"] = summary.into();
                }
                envelope["body"] = words.body.clone();
            }
            _ => {
                envelope["sealed"] = json!({
                    "to": format!("x25519:{}", encode_base64url(&[6; 32])), "box": encode_base64url(&[7; 120]),
                });
            }
        }
        let value = match is_answer {
            true => json!({"jsonrpc": "2.0", "id": words.answers, "result": envelope}),
            false => json!({"jsonrpc": "2.0", "id": id, "method": method, "params": envelope}),
        };
        (Message::from_value(value).unwrap(), id)
    }
}

pub fn verdict(direction: Direction, ruling: Ruling, message: Message) -> Entry {
    Entry::Message(Verdict {
        direction,
        ruling,
        bytes: message.canonical().len() as u64,
        hash: message.hash(),
        evidence: Evidence::Whole(Arc::new(message)),
        copy: None,
    })
}

/// A certificate under a root key of its own.
pub fn certificate(who: &str, seed: u8) -> Certificate {
    let key = |seed| SigningKey::from_seed(&zeroize::Zeroizing::new([seed; 32])).unwrap();
    let request = CertificateRequest {
        agent: format!("agent-{who}-001").parse().unwrap(),
        principal: who.parse().unwrap(),
        signing_key: key(seed).public().clone(),
        layers: Layers::of(&[0, 1, 2, 3]),
        versions: vec![Version::CURRENT],
        serial: 1,
        not_before: "2026-01-01T00:00:00.000Z".parse().unwrap(),
        not_after: "2027-01-01T00:00:00.000Z".parse().unwrap(),
        next_root: Digest([7; 32]),
    };
    request.sign(&key(seed + 100)).unwrap()
}
