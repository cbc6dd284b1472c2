//! What each step of a message's way costs, beside one bare `verify_strict` of the same run.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    missing_docs
)]

#[path = "../../testkit/src/bench.rs"]
mod bench;
#[path = "../tests/household/mod.rs"]
mod household;

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use bench::Bench;
use ed25519_dalek::{Signature, Signer as _};
use household::{Agent, at, key, published, settle};
use signet_json::Limits;
use signet_proto::entry::Entry;
use signet_proto::envelope::Unverified;
use signet_proto::ids::Digest;
use signet_proto::keys::{KeyTables, Purpose, TableBudget};
use signet_proto::node::{Content, Judged, Sending};

/// Each step is timed so often; the table shows the median.
const ROUNDS: usize = 15;
/// Messages of one round.
const MESSAGES: usize = 200;

fn main() {
    let bench = Bench::begin("parts");
    let size = Size {
        rounds: bench.size(ROUNDS, 1),
        messages: bench.size(MESSAGES, 2),
    };
    let (mut alice, mut bob) = household::alice_and_bob();
    meet(&mut alice, &mut bob);
    let messages: Vec<Vec<Arc<[u8]>>> = (0..size.rounds).map(|_| write(&mut alice, size)).collect();
    let sample = Arc::clone(&messages[0][0]);
    let mut table = Table::new(bench, size, bare_verify(&sample, size), &sample);

    let signing = key("signing key 1 of agent-alice");
    table.row("sign", || signing.sign(Purpose::Message, &[&sample]));
    let public = signing.public();
    let claims = Unverified::parse(&sample).unwrap();
    let claims = claims.claims();
    let holds = || public.verify(Purpose::Message, &claims.signed_parts(), claims.signature());
    table.row("verify_strict of the message", holds);
    let tables = KeyTables::new(TableBudget::AT_ONCE);
    let (parts, signature) = (claims.signed_parts(), claims.signature());
    table.row("the same by a table of its key, warm", || {
        tables.verify(public, Purpose::Message, &parts, signature)
    });
    table.row("the first by a table, which is made", || {
        let tables = KeyTables::new(TableBudget::AT_ONCE);
        tables.verify(public, Purpose::Message, &parts, signature)
    });
    table.row("strict JSON", || {
        signet_json::parse(&sample, Limits::MESSAGE).unwrap()
    });
    let value = signet_json::parse(&sample, Limits::MESSAGE).unwrap();
    table.row("canonical form", || signet_json::canonical(&value));
    let schema = message_schema();
    table.row("schema", || schema.is_valid(&value));
    table.row("SHA-256", || Digest::of(&[&sample]));
    table.row("bytes to message (V01 to V04)", || {
        Unverified::parse(&sample).unwrap()
    });
    table.row("the same by the parser and the schema", || {
        Unverified::parse_any(&sample).unwrap()
    });
    table.row("bytes to verified (V01 to V07)", || {
        Judged::of(&sample, bob.node.trust())
    });

    let (mut node, mut write_entry) = (Vec::new(), Vec::new());
    for round in &messages {
        let entries = judge(&mut bob, round, &mut node);
        write_entry.push(write_lines(&entries));
    }
    table.print("heart: V08 to V12 and what follows", median(node));
    table.print("Entry::write", median(write_entry));
    table.bench.end();
}

/// How much is measured.
#[derive(Clone, Copy)]
struct Size {
    rounds: usize,
    messages: usize,
}

/// The schema of a message, compiled as the crate does it.
fn message_schema() -> jsonschema::Validator {
    let source = |name| {
        signet_json::parse(
            signet_proto::schema::text(name).unwrap().as_bytes(),
            Limits::LINE,
        )
        .unwrap()
    };
    let common = source("common");
    let registry = jsonschema::Registry::new()
        .add("urn:signet:1:common", &common)
        .unwrap()
        .prepare()
        .unwrap();
    jsonschema::options()
        .with_registry(&registry)
        .build(&source("message"))
        .unwrap()
}

/// Handshake, and the first message through.
fn meet(alice: &mut Agent, bob: &mut Agent) {
    let content = Content::default();
    let outcome = alice
        .node
        .turn(at(0))
        .sent()
        .send(&bob.id(), Sending::Notification(content))
        .unwrap()
        .outcome;
    let effects = alice.keep(at(0), outcome);
    settle(at(0), &mut [alice, bob], effects);
    assert!(
        alice.node.standing(&bob.id(), at(0).now).session.is_some(),
        "no session"
    );
}

fn write(alice: &mut Agent, size: Size) -> Vec<Arc<[u8]>> {
    let peer = "agent-bob".parse().unwrap();
    let send = |_| {
        let content = Content {
            summary: Some("The plumber comes on Thursday".into()),
            body: serde_json::json!({"event": "appointment", "who": "plumber", "when": "2026-02-12T09:30:00+01:00",
                "where": {"street": "Lindenweg 4", "floor": 2}, "notes": ["bring the key", "ask about the boiler"]}),
            conversation_id: Some("household-2026-02".parse().unwrap()),
            ..Content::default()
        };
        let outcome = alice
            .node
            .turn(at(1))
            .sent()
            .send(&peer, Sending::Notification(content))
            .unwrap()
            .outcome;
        published(&outcome.effects)[0].1.clone()
    };
    (0..size.messages).map(send).collect()
}

/// The heart's share of a round in nanoseconds a message, and the entries that it made.
fn judge(bob: &mut Agent, round: &[Arc<[u8]>], node: &mut Vec<f64>) -> Vec<Entry> {
    let judged: Vec<Judged> = round
        .iter()
        .map(|bytes| Judged::of(bytes, bob.node.trust()))
        .collect();
    let (start, mut entries) = (Instant::now(), Vec::new());
    for judged in judged {
        entries.extend(bob.node.turn(at(1)).handle_inbound(judged).entries);
    }
    node.push(start.elapsed().as_nanos() as f64 / round.len() as f64);
    assert!(
        entries
            .iter()
            .all(|entry| matches!(entry, Entry::Message(verdict) if verdict.reason().is_none()))
    );
    entries
}

fn write_lines(entries: &[Entry]) -> f64 {
    let mut out = Vec::with_capacity(4096);
    let each = entries.len() as f64;
    let start = Instant::now();
    for entry in entries {
        out.clear();
        entry.write(&mut out);
        black_box(&out);
    }
    start.elapsed().as_nanos() as f64 / each
}

/// ed25519-dalek's own, with nothing of ours around it.
fn bare_verify(bytes: &[u8], size: Size) -> f64 {
    let signing = ed25519_dalek::SigningKey::from_bytes(&[7; 32]);
    let signature = Signature::from_bytes(&signing.sign(bytes).to_bytes());
    let key = signing.verifying_key();
    time(size, || {
        key.verify_strict(black_box(bytes), &signature).unwrap()
    })
}

/// Median nanoseconds of one `step`.
fn time<T>(size: Size, step: impl Fn() -> T) -> f64 {
    let round = |_| {
        let start = Instant::now();
        (0..size.messages).for_each(|_| drop(black_box(step())));
        start.elapsed().as_nanos() as f64 / size.messages as f64
    };
    median((0..size.rounds).map(round).collect())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

struct Table {
    bench: Bench,
    size: Size,
    unit: f64,
}

impl Table {
    fn new(bench: Bench, size: Size, unit: f64, sample: &[u8]) -> Self {
        println!(
            "A notification of {} bytes in a session; medians of {} rounds of {}, in verify_strict.\n",
            sample.len(),
            size.rounds,
            size.messages
        );
        let mut table = Self { bench, size, unit };
        table.bench.figure(
            "bare verify_strict (ed25519-dalek), microseconds",
            unit / 1e3,
        );
        table
    }

    fn row<T>(&mut self, name: &str, step: impl Fn() -> T) {
        let nanoseconds = time(self.size, step);
        self.print(name, nanoseconds);
    }

    fn print(&mut self, name: &str, nanoseconds: f64) {
        self.bench
            .figure(format!("{name}, in verify_strict"), nanoseconds / self.unit);
    }
}
