//! How many instructions the core takes for a message, a handshake and a call: counts, which are the same in every run
//! of one program, where times differ. `scripts/instructions` holds them against `scripts/instructions.limits`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    missing_docs
)]

mod crowd;
#[path = "../tests/household/mod.rs"]
mod household;

use std::sync::Arc;

use crowd::{
    crowded, in_session, meet, send, send_at, strangers_beside, who_knows, with_a_message,
};
use gungraun::{library_benchmark, library_benchmark_group, main};
use household::{Agent, at, published};
use signet_proto::certificate::Certificate;
use signet_proto::entry::Entry;
use signet_proto::envelope::{Message, Unverified};
use signet_proto::ids::{AgentId, MessageId};
use signet_proto::keys::{KeyTables, Purpose, TableBudget, VerifyKey};
use signet_proto::node::{Judged, Outcome};

/// Messages of one count.
const MESSAGES: usize = 100;
/// Calls that a conversation already has.
const BEFORE: usize = 1_000;
/// When the call is made that is counted: behind all that was said before, in milliseconds.
const LATER: i64 = BEFORE as i64 / 2 * 1_000;

/// Two agents who know each other and have never spoken. Two others have, so that what a process makes once (the
/// compiled schemas) is there.
fn strangers() -> (Agent, Agent) {
    in_session();
    household::alice_and_bob()
}

/// The receiver, and what was signed for it.
fn with_mail() -> (Agent, Vec<Arc<[u8]>>) {
    let (mut alice, bob) = in_session();
    let mut signed = || published(&send(&mut alice).effects)[0].1.clone();
    let mail = (0..MESSAGES).map(|_| signed()).collect();
    (bob, mail)
}

/// What was signed, and the key that signed it.
fn signed(tables: TableBudget) -> (KeyTables, VerifyKey, Vec<Message>) {
    let (bob, mail) = with_mail();
    let message = |bytes: &Arc<[u8]>| Unverified::parse(bytes).unwrap().claims().clone();
    let mail: Vec<Message> = mail.iter().map(message).collect();
    let peer = bob.node.trust().peer(&mail[0].headers.agent_id).unwrap();
    let key = peer.newest().unwrap().signing_key.clone();
    let tables = KeyTables::new(tables);
    // Verify one message here: the tables of the base point and of the key, which are made only once, are then there
    // before the count begins.
    assert!(holds(&tables, &key, &mail[0]));
    (tables, key, mail)
}

/// The receiver with one message in its inbox, `others` around it, and the name of that one.
fn with_waiting(others: usize) -> (Agent, (AgentId, MessageId)) {
    let (mut alice, mut bob) = in_session();
    let mut names = Vec::new();
    for _ in 0..=others {
        let bytes = published(&send(&mut alice).effects)[0].1.clone();
        let judged = Judged::of(&bytes, bob.node.trust());
        drop(bob.node.turn(at(1)).handle_inbound(judged));
        let headers = Unverified::parse(&bytes).unwrap().claims().headers.clone();
        names.push((headers.agent_id, headers.message_id));
    }
    assert!(bob.node.inbox().len() >= names.len());
    let name = names.swap_remove(others / 2);
    // Let a large allocation put in order what the setup freed: the first large one in the count would have to do it.
    drop((alice, names));
    drop(std::hint::black_box(Vec::<u8>::with_capacity(1 << 16)));
    (bob, name)
}

fn acknowledged(bob: &mut Agent, name: (AgentId, MessageId)) -> Outcome {
    assert_eq!(bob.node.inbox().named(name.1).count(), 1);
    bob.node.turn(at(1)).inbox().acknowledge(&[name]).unwrap()
}

fn holds(tables: &KeyTables, key: &VerifyKey, message: &Message) -> bool {
    let (parts, signature) = (message.signed_parts(), message.signature());
    tables.verify(key, Purpose::Message, &parts, signature)
}

fn in_a_new_conversation() -> Agent {
    in_session().0
}

/// A sender whose conversation is long.
fn in_a_long_conversation() -> Agent {
    let (mut alice, _) = in_session();
    for _ in 0..BEFORE {
        send(&mut alice);
    }
    alice
}

/// A sender who has spoken with so many.
fn beside_peers(peers: usize) -> Agent {
    let (alice, _) = in_session();
    crowded(alice, peers)
}

// Counts checks V01 to V12 of docs/protocol.md for each message, and the making of its log line.
#[library_benchmark]
#[bench::of_a_session(setup = with_mail)]
fn inbound((mut bob, mail): (Agent, Vec<Arc<[u8]>>)) -> (Agent, Vec<u8>) {
    let mut line = Vec::with_capacity(4096);
    for bytes in mail {
        let judged = Judged::of(&bytes, bob.node.trust());
        for entry in bob.node.turn(at(1)).handle_inbound(judged).entries {
            let Entry::Message(verdict) = &entry else {
                continue;
            };
            assert!(verdict.reason().is_none(), "refused");
            line.clear();
            entry.write(&mut line);
        }
    }
    (bob, line)
}

// `parse` counts the fast reader, which takes canonical form alone; `parse_any` counts the full parser, which takes
// every spelling. Both do checks V01 to V04 of docs/protocol.md.
#[library_benchmark]
#[bench::in_one_pass(setup = with_mail)]
fn parse((bob, mail): (Agent, Vec<Arc<[u8]>>)) -> (Agent, Vec<Unverified>) {
    let read = mail.iter().map(|bytes| Unverified::parse_canonical(bytes));
    (bob, read.map(|message| message.unwrap()).collect())
}

#[library_benchmark]
#[bench::every_spelling(setup = with_mail)]
fn parse_any((bob, mail): (Agent, Vec<Arc<[u8]>>)) -> (Agent, Vec<Unverified>) {
    let read = mail.iter().map(|bytes| Unverified::parse_any(bytes));
    (bob, read.map(|message| message.unwrap()).collect())
}

// Counts the verification of signatures alone, of messages that were parsed before: without a table of the key, and
// with one.
#[library_benchmark]
#[bench::without_a_table(args = (TableBudget::OFF), setup = signed)]
#[bench::by_a_table(args = (TableBudget::AT_ONCE), setup = signed)]
fn verify((tables, key, mail): (KeyTables, VerifyKey, Vec<Message>)) -> KeyTables {
    assert!(mail.iter().all(|message| holds(&tables, &key, message)));
    tables
}

// Counts the making of one key's table: `setup` has made the table of the base point, which all keys share.
#[library_benchmark]
#[bench::of_a_key(args = (TableBudget::AT_ONCE), setup = signed)]
fn make_table((tables, _key, mail): (KeyTables, VerifyKey, Vec<Message>)) -> KeyTables {
    assert!(!holds(
        &tables,
        household::key("another").public(),
        &mail[0]
    ));
    tables
}

// Counts the share of a worker, checks V01 to V07 of docs/protocol.md, without the node's own checks.
#[library_benchmark]
#[bench::of_a_session(setup = with_mail)]
fn judge((bob, mail): (Agent, Vec<Arc<[u8]>>)) -> (Agent, Vec<Judged>) {
    let judged = mail.iter().map(|bytes| Judged::of(bytes, bob.node.trust()));
    let judged = judged.collect();
    (bob, judged)
}

// Counts the four flights of a handshake on both sides, with the message that waited for the session.
#[library_benchmark]
#[bench::of_two(setup = strangers)]
#[bench::beside_one_peer(args = [0], setup = strangers_beside)]
#[bench::beside_three_hundred_peers(args = [300], setup = strangers_beside)]
fn handshake(two: (Agent, Agent)) -> (Agent, Agent) {
    meet(two)
}

// Counts the signing of one message that an agent sends: as the first of its conversation, as the one after a thousand
// others, and beside 300 peers.
#[library_benchmark]
#[bench::first(setup = in_a_new_conversation)]
#[bench::behind_a_thousand(setup = in_a_long_conversation)]
#[bench::beside_three_hundred_peers(args = [300], setup = beside_peers)]
fn handle_send(mut alice: Agent) -> (Agent, Outcome) {
    let outcome = send_at(&mut alice, LATER);
    (alice, outcome)
}

// Counts one message until its receipt leaves: judging it, asking for the next timeout (twice, since the daemon asks
// after each turn), the timeout that sends the receipt, and asking once more.
#[library_benchmark]
#[bench::with_one_peer(args = [0], setup = with_a_message)]
#[bench::with_three_hundred_peers(args = [300], setup = with_a_message)]
fn receipted((mut bob, message): (Agent, Arc<[u8]>)) -> (Agent, Outcome) {
    let judged = Judged::of(&message, bob.node.trust());
    drop(bob.node.turn(at(1)).handle_inbound(judged));
    for _ in 0..2 {
        assert!(
            bob.node
                .poll_timeout(at(1))
                .is_some_and(|due| due <= at(1).now)
        );
    }
    let outcome = bob.node.turn(at(1)).handle_timeout();
    assert_eq!(published(&outcome.effects).len(), 1, "no receipt");
    assert!(
        bob.node
            .poll_timeout(at(1))
            .is_some_and(|due| due > at(1).now)
    );
    (bob, outcome)
}

// Counts how one message that waits is found by its name and acknowledged: alone, and among a thousand others.
#[library_benchmark]
#[bench::alone(args = [0], setup = with_waiting)]
#[bench::among_a_thousand(args = [BEFORE], setup = with_waiting)]
fn acknowledge((mut bob, name): (Agent, (AgentId, MessageId))) -> (Agent, Outcome) {
    let outcome = acknowledged(&mut bob, name);
    (bob, outcome)
}

// Counts how one more peer becomes known.
#[library_benchmark]
#[bench::of_one(args = [1], setup = who_knows)]
#[bench::of_600(args = [600], setup = who_knows)]
fn peer_add((mut alice, certificate): (Agent, Certificate)) -> (Agent, Outcome) {
    // The daemon's workers hold the trust store while it changes: hold it here as well, so that the copy which the
    // change then makes is counted.
    let held = alice.node.trust().clone();
    let outcome = alice.node.turn(at(1)).people().bind(&certificate).unwrap();
    assert!(!held.is_same(alice.node.trust()));
    std::hint::black_box(alice.node.poll_timeout(at(1)));
    (alice, outcome)
}

library_benchmark_group!(
    name = core,
    benchmarks = [
        inbound,
        receipted,
        acknowledge,
        parse,
        parse_any,
        verify,
        make_table,
        judge,
        handshake,
        handle_send,
        peer_add
    ]
);

main!(library_benchmark_groups = core);
