//! Lines behind what a home has anchored: each message proves itself by what the lines before it say, and whoever can
//! write to the file, and has no key, puts nothing into the node's memory.

use std::sync::Arc;

use serde_json::Value;
use signet_proto::draft::{Draft, Identity, Stamp};
use signet_proto::entry::{Direction, Entry, Evidence, Ruling, Verdict};
use signet_proto::envelope::{Message, Method};
use signet_proto::ids::{Digest, SessionId, Version};
use signet_proto::node::Node;
use signet_proto::policy::Policy;
use signet_proto::receipt::Receipt;
use signet_proto::reject::Reason;

use crate::forge::{envelope, headers, id, message, read, recipient, sign};
use crate::household::forger::talking;
use crate::household::net::{Net, message_of};
use crate::household::people::announce;
use crate::household::{Agent, at, identity, identity_under, identity_with, key, reread};

const ALICE: usize = 0;
const BOB: usize = 1;

type Proof = Result<(), &'static str>;

const BAD: Proof = Err("the message's signature does not hold");
const UNCERTIFIED: Proof = Err("no line before certifies the key that signed the message");
const COPY_IN: Proof = Err("the message was taken by a line before: this one is a copy of it");
const COPY_OUT: Proof = Err("the message was sent by a line before: this one is a copy of it");
const NOT_THEIRS: Proof = Err("the message's principal-id is not its sender's");
const NOT_OURS: Proof = Err("the message's principal-id is not this agent's");
const NO_KEY_OF_OURS: Proof = Err("the message is not signed by a key of this agent");

/// A handshake, a request of each, the answers, and receipts of all.
fn day() -> Net {
    let mut net = talking();
    for (who, to) in [(ALICE, BOB), (BOB, ALICE)] {
        let asked = net.ask(who, to);
        net.run_for(5_000);
        net.reply(to, asked);
        net.run_for(60_000);
    }
    net
}

fn proof(node: &Node, entry: &Entry) -> Proof {
    node.judge(at(0).now).prove(entry)
}

/// A line that says that a message came or went whole.
fn line(direction: Direction, ruling: Ruling, message: Message) -> Entry {
    Entry::Message(Verdict {
        direction,
        ruling,
        bytes: 1,
        hash: message.hash(),
        evidence: Evidence::Whole(Arc::new(message)),
        copy: None,
    })
}

fn came(bytes: &[u8]) -> Entry {
    line(Direction::In, Ruling::Accepted, message_of(bytes))
}

fn went(bytes: &[u8]) -> Entry {
    line(Direction::Out, Ruling::Sent, message_of(bytes))
}

/// A request of that identity's to Alice.
fn request(from: &Identity, name: &str) -> Value {
    message(from, "agent-alice", Method::Request, name, 0)
}

/// What Alice knows after that day, by her log.
fn alice() -> Node {
    day().agents[ALICE].retold()
}

fn bob() -> Identity {
    identity("agent-bob", "bob")
}

#[test]
fn every_line_of_an_honest_log_proves_itself_by_those_before_it() {
    let net = day();
    for (agent, name) in net.agents.iter().zip(["alice", "bob"]) {
        let mut node = Agent::new(&format!("agent-{name}"), name).node;
        for (ts, entry) in &agent.log {
            let entry = reread(entry);
            assert_eq!(proof(&node, &entry), Ok(()), "{name} {entry:?}");
            node.recall(*ts, &entry);
        }
    }
}

#[test]
fn a_line_that_stands_a_second_time_is_a_copy() {
    let net = day();
    let (mut came, mut went) = (0, 0);
    for agent in &net.agents {
        let node = agent.retold();
        for (_, entry) in &agent.log {
            let Entry::Message(verdict) = entry else {
                continue;
            };
            let message = verdict.message().unwrap();
            if message.headers.sequence.is_none() {
                continue;
            }
            let (copies, expected) = match verdict.direction {
                Direction::In => (&mut came, COPY_IN),
                Direction::Out => (&mut went, COPY_OUT),
            };
            *copies += 1;
            assert_eq!(proof(&node, &reread(entry)), expected);
            // The same line as a refusal is no fault: a refused message has no effect, so it does not matter that it is
            // a copy.
            let mut again = verdict.clone();
            again.ruling = Ruling::Rejected(Reason::MessageIdReuse);
            if again.direction == Direction::In {
                assert_eq!(proof(&node, &Entry::Message(again)), Ok(()));
            }
        }
    }
    assert!(came >= 4 && went >= 4, "{came} {went}");
}

#[test]
fn words_that_their_signer_did_not_sign_are_nobodys() {
    let (node, alice) = (alice(), identity("agent-alice", "alice"));
    for (from, entry) in [(bob(), came as fn(&[u8]) -> Entry), (alice, went)] {
        let signed = sign(request(&from, "new"), &from.signing);
        assert_eq!(proof(&node, &entry(&signed)), Ok(()));
        let mut changed = read(&signed);
        envelope(&mut changed).insert("body".into(), "other words".into());
        let changed = serde_json::to_vec(&changed).unwrap();
        assert_eq!(proof(&node, &entry(&changed)), BAD);
        let thiefs = sign(request(&from, "new"), &key("thief"));
        assert_eq!(proof(&node, &entry(&thiefs)), BAD);
    }
}

#[test]
fn nobody_speaks_for_another_person_than_their_certificate_says() {
    let (node, alice) = (alice(), identity("agent-alice", "alice"));
    let mut renamed = request(&bob(), "new");
    headers(&mut renamed).insert("principal-id".into(), "carol".into());
    let renamed = sign(renamed, &bob().signing);
    assert_eq!(proof(&node, &came(&renamed)), NOT_THEIRS);
    let mut renamed = request(&alice, "new");
    headers(&mut renamed).insert("principal-id".into(), "carol".into());
    let renamed = sign(renamed, &alice.signing);
    assert_eq!(proof(&node, &went(&renamed)), NOT_OURS);
}

#[test]
fn a_stranger_is_certified_by_no_line_and_only_a_refused_flight_needs_no_proof() {
    let node = alice();
    let eve = || identity("agent-eve", "eve");
    let asked = sign(request(&eve(), "new"), &eve().signing);
    let refused = Ruling::Rejected(Reason::AgentUnknown);
    assert_eq!(proof(&node, &came(&asked)), UNCERTIFIED);
    let entry = line(Direction::In, refused, message_of(&asked));
    assert_eq!(proof(&node, &entry), UNCERTIFIED);
    let flight = announce(eve, &Agent::new("agent-alice", "alice"), 0);
    assert_eq!(proof(&node, &came(&flight)), UNCERTIFIED);
    let entry = line(Direction::In, refused, message_of(&flight));
    assert_eq!(proof(&node, &entry), Ok(()));
}

#[test]
fn a_flight_brings_the_certificate_that_proves_it_if_its_pinned_root_signed_that() {
    let node = alice();
    let to = Agent::new("agent-alice", "alice");
    let renewed = || identity_with("agent-bob", "bob", 2, |_| {});
    let flight = announce(renewed, &to, 0);
    assert_eq!(proof(&node, &came(&flight)), Ok(()));
    let forged = || identity_under("root of mallory", "agent-bob", "bob", 2, |_| {});
    let flight = announce(forged, &to, 0);
    assert_eq!(proof(&node, &came(&flight)), UNCERTIFIED);
}

/// Mallory is known, and her flight is good; only the name on it is Bob's.
#[test]
fn a_known_agents_certificate_proves_no_flight_in_another_agents_name() {
    let mut net = day();
    let mallory = || identity("agent-mallory", "mallory");
    let other = Agent::new("agent-mallory", "mallory");
    net.agents[ALICE].knows(&other);
    let node = net.agents[ALICE].retold();
    let flight = announce(mallory, &Agent::new("agent-alice", "alice"), 0);
    assert_eq!(proof(&node, &came(&flight)), Ok(()));
    let mut named = read(&flight);
    headers(&mut named).insert("agent-id".into(), "agent-bob".into());
    let named = sign(named, &mallory().signing);
    assert_eq!(proof(&node, &came(&named)), UNCERTIFIED);
}

#[test]
fn what_we_sent_is_signed_by_a_key_that_we_have_or_that_the_log_recorded() {
    let first = identity("agent-alice", "alice");
    let second = || identity_with("agent-alice", "alice", 2, |_| {});
    let third = identity_with("agent-alice", "alice", 3, |_| {});
    let make = move || (second(), Policy::default());
    let alice = Agent::with(make);
    let to_bob = |from: &Identity, method| {
        let value = message(from, "agent-bob", method, "new", 0);
        went(&sign(value, &from.signing))
    };
    let by = |from: &Identity| to_bob(from, Method::Request);
    assert_eq!(proof(&alice.node, &by(&second())), Ok(()));
    assert_eq!(proof(&alice.node, &by(&first)), NO_KEY_OF_OURS);
    // This log began before our key changed: the key that it recorded counts as ours as well.
    let mut alice = Agent::with(make);
    let recorded = Entry::Genesis(first.certificate.clone());
    alice.node.recall(at(0).now, &recorded);
    assert_eq!(proof(&alice.node, &by(&first)), Ok(()));
    assert_eq!(proof(&alice.node, &by(&third)), NO_KEY_OF_OURS);
    // A receipt changes nothing of ours, and its session's key may be destroyed by now.
    let body = Receipt::default().to_value();
    let draft = Draft::call(Method::Receipt, recipient("agent-bob"), id("new"), body);
    let stamp = Stamp {
        now: at(0).now,
        session: Some(SessionId(Digest([3; 32]))),
        sequence: None,
        audit_head: None,
        version: Version::CURRENT,
    };
    let receipt = went(draft.sign(&third, stamp).unwrap().bytes());
    assert_eq!(proof(&alice.node, &receipt), Ok(()));
}
