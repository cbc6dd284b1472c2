//! A household in one process: nodes with virtual time and a network that the test owns.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

pub mod allowed;
pub mod forger;
pub mod keeper;
pub mod liar;
pub mod net;
pub mod people;
pub mod sealing;
pub mod tasks;

use std::sync::Arc;
use std::time::Duration;

use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use signet_proto::certificate::{
    Certificate, CertificateRequest, ControlCertificate, ControlRequest, KEYS_LIFE, KeyStatement,
};
use signet_proto::draft::{Identity, Signed};
use signet_proto::entry::Entry;
use signet_proto::headers::Layers;
use signet_proto::ids::{AgentId, Digest, Version};
use signet_proto::keys::{SealSecret, SigningKey};
use signet_proto::node::{At, Effect, Judged, Node, Outcome, poll_timeout_by_walk};
use signet_proto::policy::Policy;
use signet_proto::time::Timestamp;
use zeroize::Zeroizing;

/// 2026-02-08T17:00:00Z.
pub const START: i64 = 1_770_570_000_000;

pub fn at(ms: i64) -> At {
    At {
        now: Timestamp::from_millis(START + ms),
        elapsed: Duration::from_millis(ms.try_into().unwrap_or_default()),
        head: Some(Digest([7; 32])),
    }
}

pub fn key(name: &str) -> SigningKey {
    SigningKey::from_seed(&Zeroizing::new(Digest::of(&[name.as_bytes()]).0)).unwrap()
}

/// What a person and an agent of theirs need; the same names give the same keys.
pub fn identity(agent: &str, principal: &str) -> Identity {
    identity_with(agent, principal, 1, |_| {})
}

pub fn identity_with(
    agent: &str,
    principal: &str,
    serial: u64,
    change: impl FnOnce(&mut CertificateRequest),
) -> Identity {
    let root = format!("root of {principal}");
    identity_under(&root, agent, principal, serial, change)
}

/// The same, certified by any root key.
pub fn identity_under(
    root: &str,
    agent: &str,
    principal: &str,
    serial: u64,
    change: impl FnOnce(&mut CertificateRequest),
) -> Identity {
    let root = key(root);
    let signing = key(&format!("signing key {serial} of {agent}"));
    let mut request = CertificateRequest {
        agent: agent.parse().unwrap(),
        principal: principal.parse().unwrap(),
        signing_key: signing.public().clone(),
        layers: Layers::of(&[0, 1, 2, 3]),
        versions: vec![Version::CURRENT],
        serial,
        not_before: Timestamp::from_millis(START - 3_600_000),
        not_after: Timestamp::from_millis(START)
            .saturating_add(Duration::from_secs(365 * 24 * 3600)),
        next_root: Digest::of(&[key(&format!("next root of {principal}"))
            .public()
            .as_bytes()]),
    };
    change(&mut request);
    let agent = request.agent.clone();
    let certificate = request.sign(&root).unwrap();
    let secret = SealSecret::of(Zeroizing::new(
        Digest::of(&[b"sealing", agent.as_str().as_bytes()]).0,
    ));
    let until = Timestamp::from_millis(START).saturating_add(KEYS_LIFE);
    let keys = KeyStatement::sign(&agent, secret.public(), 1, until, &signing).unwrap();
    Identity {
        certificate,
        keys,
        signing,
        former: Vec::new(),
        layers: Layers::of(&[0, 1, 2, 3]),
        secrets: vec![secret],
        control: Some(control(principal)),
    }
}

/// The person's own keys, certified by their root.
pub fn control(principal: &str) -> ControlCertificate {
    let request = ControlRequest {
        principal: principal.parse().unwrap(),
        control_key: key(&format!("control of {principal}")).public().clone(),
        audit_key: audit_secret(principal).public(),
        serial: 1,
        not_before: Timestamp::from_millis(START - 3_600_000),
        not_after: Timestamp::from_millis(START)
            .saturating_add(Duration::from_secs(365 * 24 * 3600)),
        next_root: Digest::of(&[key(&format!("next root of {principal}"))
            .public()
            .as_bytes()]),
    };
    request.sign(&key(&format!("root of {principal}"))).unwrap()
}

/// With which the person reads their agent's sealed messages.
pub fn audit_secret(principal: &str) -> SealSecret {
    SealSecret::of(Zeroizing::new(
        Digest::of(&[b"audit of ", principal.as_bytes()]).0,
    ))
}

/// Randomness that is the same in every run.
pub fn rng() -> ChaCha20Rng {
    ChaCha20Rng::from_seed([42; 32])
}

/// One agent: its node, and the log that it would have.
pub struct Agent {
    pub node: Node,
    pub log: Vec<(Timestamp, Entry)>,
    make: Box<dyn Fn() -> (Identity, Policy)>,
    restarts: u8,
    /// Whether each step asks every peer for the next time, to hold the agenda against.
    pub asks_everybody: bool,
}

impl Agent {
    pub fn new(agent: &str, principal: &str) -> Self {
        let (agent, principal) = (agent.to_owned(), principal.to_owned());
        Self::with(move || (identity(&agent, &principal), Policy::default()))
    }

    pub fn with(make: impl Fn() -> (Identity, Policy) + 'static) -> Self {
        let (identity, policy) = make();
        let seed = Digest::of(&[identity.agent().as_str().as_bytes()]).0;
        Self {
            node: Node::new(identity, policy, seed),
            log: Vec::new(),
            make: Box::new(make),
            restarts: 0,
            asks_everybody: true,
        }
    }

    /// Who it is, and by which policy it began.
    pub fn made(&self) -> (Identity, Policy) {
        (self.make)()
    }

    pub fn id(&self) -> AgentId {
        self.node.identity().agent().clone()
    }

    pub fn certificate(&self) -> Certificate {
        self.node.identity().certificate.clone()
    }

    pub fn knows(&mut self, other: &Self) {
        let outcome = self
            .node
            .turn(at(0))
            .people()
            .bind(&other.certificate())
            .unwrap();
        self.keep(at(0), outcome);
    }

    /// Writes the entries down and hands the effects back.
    pub fn keep(&mut self, at: At, outcome: Outcome) -> Vec<Effect> {
        let due = self.node.poll_timeout(at);
        if self.asks_everybody {
            assert_eq!(
                due,
                poll_timeout_by_walk(&self.node, at),
                "another peer is next"
            );
        }
        self.log
            .extend(outcome.entries.into_iter().map(|entry| (at.now, entry)));
        outcome.effects
    }

    /// One input from the network.
    pub fn hear(&mut self, at: At, bytes: &[u8]) -> Vec<Effect> {
        let judged = Judged::of(bytes, self.node.trust());
        let outcome = self.node.turn(at).handle_inbound(judged);
        self.keep(at, outcome)
    }

    pub fn tick(&mut self, at: At) -> Vec<Effect> {
        let outcome = self.node.turn(at).handle_timeout();
        self.keep(at, outcome)
    }

    /// kill -9 and a start: all that is left is the log, read back from its text.
    pub fn restart(&mut self, at: At) -> Vec<Effect> {
        let (identity, policy) = (self.make)();
        self.restarts += 1;
        let seed = Digest::of(&[identity.agent().as_str().as_bytes(), &[self.restarts]]).0;
        self.node = Node::new(identity, policy, seed);
        for (ts, entry) in &self.log {
            self.node.recall(*ts, &reread(entry));
        }
        let outcome = self.node.turn(at).resume();
        self.keep(at, outcome)
    }

    /// What its log alone makes of a new node.
    pub fn retold(&self) -> Node {
        let (identity, policy) = (self.make)();
        let mut node = Node::new(identity, policy, [5; 32]);
        for (ts, entry) in &self.log {
            node.recall(*ts, &reread(entry));
        }
        node
    }

    /// A new node that read its state back as it was after `cut` lines, and was told the rest.
    pub fn restored(&self, cut: usize) -> Node {
        let (identity, policy) = (self.make)();
        let (before, after) = self.log.split_at(cut);
        let mut told = Node::new(identity, policy, [5; 32]);
        for (ts, entry) in before {
            told.recall(*ts, &reread(entry));
        }
        let then = before.last().map_or(at(0).now, |(ts, _)| *ts);
        let rows = told.snapshot(then).rows().into_iter();
        let rows = rows.map(|row| (row.table.to_owned(), row.key, row.value));
        let (identity, policy) = (self.make)();
        let mut node = Node::restore(identity, policy, [6; 32], rows).unwrap();
        for (ts, entry) in after {
            node.recall(*ts, &reread(entry));
        }
        node
    }

    /// The reasons of everything refused so far, in order.
    pub fn refusals(&self) -> Vec<&'static str> {
        self.log
            .iter()
            .filter_map(|(_, entry)| match entry {
                Entry::Message(verdict) => verdict.reason().map(|reason| reason.name()),
                _ => None,
            })
            .collect()
    }
}

/// An entry written as a log line and read again.
pub fn reread(entry: &Entry) -> Entry {
    let mut line = b"{".to_vec();
    entry.write(&mut line);
    line.push(b'}');
    let value = signet_json::parse(&line, signet_json::Limits::LINE).unwrap();
    let serde_json::Value::Object(members) = value else {
        panic!("a line is an object")
    };
    Entry::parse(members).unwrap().unwrap()
}

/// The bytes among effects, with their recipients.
pub fn published(effects: &[Effect]) -> Vec<(AgentId, Arc<[u8]>)> {
    let of = |signed: &Signed| (signed.recipient().clone(), Arc::clone(signed.bytes()));
    effects
        .iter()
        .filter_map(|effect| {
            if let Effect::Publish(signed) = effect {
                Some(of(signed))
            } else {
                None
            }
        })
        .collect()
}

/// Delivers everything between the agents, in order and at one time, until nothing is under way.
/// Gives back all effects but the publishing ones.
pub fn settle(now: At, agents: &mut [&mut Agent], effects: Vec<Effect>) -> Vec<Effect> {
    let mut other = Vec::new();
    let mut queue: std::collections::VecDeque<Effect> = effects.into();
    while let Some(effect) = queue.pop_front() {
        let Effect::Publish(signed) = effect else {
            other.push(effect);
            continue;
        };
        if let Some(agent) = agents
            .iter_mut()
            .find(|agent| agent.id() == *signed.recipient())
        {
            queue.extend(agent.hear(now, signed.bytes()));
        }
    }
    other
}

/// Alice's and Bob's agents, who know each other.
pub fn alice_and_bob() -> (Agent, Agent) {
    let (mut alice, mut bob) = (
        Agent::new("agent-alice", "alice"),
        Agent::new("agent-bob", "bob"),
    );
    alice.knows(&bob);
    bob.knows(&alice);
    (alice, bob)
}
