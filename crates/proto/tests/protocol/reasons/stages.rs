//! What Bob's agent knows before the input comes: logs, made by whole conversations.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use signet_proto::certificate::Certificate;
use signet_proto::entry::{Direction, Entry};
use signet_proto::headers::Tier;
use signet_proto::ids::{MessageId, SessionId, Version};
use signet_proto::node::{Content, Outcome, Sending};
use signet_proto::policy::{Capability, Policy};
use signet_proto::time::Timestamp;

use signet_proto::envelope::Method;

use super::chains::{self, Begun};
use super::histories::More;
use super::openings::{self, Opened};
use crate::forge::{in_session, read, recipient, sign};
use crate::household::{Agent, alice_and_bob, at, identity, identity_with, published, settle};

pub type Log = Vec<(Timestamp, Entry)>;

/// The logs by name, and what inputs need to know of them.
pub struct World {
    pub logs: BTreeMap<&'static str, Log>,
    pub session: SessionId,
    pub public_session: SessionId,
    /// Where Bob takes every tier.
    pub private_session: SessionId,
    /// Where Bob offers a lamp of tier 1 and a door, and grants the lamp alone.
    pub lamp_session: SessionId,
    /// The session of version 1.1.0, and Bob's open request of tier 2 in it.
    pub newer_session: SessionId,
    pub newer_asked: MessageId,
    /// Alice's first request in the session, as it came.
    pub heard: Vec<u8>,
    /// Bob's open request to Alice, of tier 2.
    pub asked: MessageId,
    /// Alice's flight 1.
    pub announce: Value,
    /// Carol's flight 2 to Bob's announce.
    pub verify: Value,
    /// What other pasts have for their inputs.
    pub more: More,
    /// The same of the pasts with tasks, and of handshakes in several versions.
    pub begun: Begun,
    pub opened: Opened,
}

pub fn build() -> World {
    let (bob, session, asked) = in_conversation(Policy::default());
    let newer = conversation_in(Policy::default(), &Version::SPOKEN);
    let (newer, newer_session, newer_asked) = newer;
    let up_to = |tier| Policy {
        tier,
        ..Policy::default()
    };
    let (public, public_session, _) = in_conversation(up_to(Tier::Public));
    let (private, private_session, _) = in_conversation(up_to(Tier::Restricted));
    let (lamp, lamp_session, _) = in_conversation(Policy {
        capabilities: ["lamp", "door"]
            .map(|name| Capability::new(name.parse().unwrap(), Tier::Public))
            .to_vec(),
        granted: Some(vec!["lamp".parse().unwrap()]),
        ..Policy::default()
    });
    let heard = first_request(&bob.log);
    let (announce, half_open) = half_open();
    let (announced, verify) = announced();
    let mut far = bob.log.clone();
    far.extend(far_ahead(&bob.log, session));
    let alice = identity("agent-alice", "alice").certificate;
    let (pasts, more) = super::histories::build();
    let mut logs = BTreeMap::from([
        (
            "revoked",
            then(knows(&alice), |bob| {
                let lost = crate::household::people::revocation("alice", "agent-alice", 1);
                bob.node.turn(at(0)).people().revoke(&lost).unwrap()
            }),
        ),
        (
            "withdrawn",
            then(knows(&alice), |bob| {
                let agent = recipient("agent-alice");
                bob.node.turn(at(0)).people().withdraw(&agent).unwrap()
            }),
        ),
        (
            "refused",
            then(Log::new(), |bob| {
                let dave = || identity("agent-dave", "dave");
                let flight = crate::household::people::announce(dave, bob, 0);
                bob.hear(at(0), &flight);
                let agent = recipient("agent-dave");
                bob.node.turn(at(0)).people().refuse(&agent, None).unwrap()
            }),
        ),
        (
            "paused",
            then(knows(&identity("agent-bob-2", "bob").certificate), |bob| {
                let word = crate::household::people::pause("bob", true, 1);
                bob.node.turn(at(0)).people().pause(&word).unwrap()
            }),
        ),
        ("nobody", Log::new()),
        (
            "acquainted",
            knows(&identity("agent-alice", "alice").certificate),
        ),
        (
            "renewed",
            knows(&identity_with("agent-alice", "alice", 2, |_| {}).certificate),
        ),
        ("session", bob.log),
        ("far-ahead", far),
        ("public-only", public.log),
        ("private", private.log),
        ("lamp", lamp.log),
        ("newer", newer.log),
        ("half-open", half_open),
        ("announced", announced),
        (
            "carol-known",
            knows(&identity("agent-carol", "carol").certificate),
        ),
    ]);
    logs.extend(pasts);
    let (tasks, begun) = chains::build(&logs["session"], session, &logs["two-peers"]);
    logs.extend(tasks);
    let (openings, opened) = openings::build();
    logs.extend(openings);
    World {
        logs,
        session,
        public_session,
        private_session,
        lamp_session,
        newer_session,
        newer_asked,
        heard,
        asked,
        announce,
        verify,
        more,
        begun,
        opened,
    }
}

/// Bob's agent after it was told a log.
pub fn bob(log: &[(Timestamp, Entry)]) -> Agent {
    let policy = policy_in(log);
    let mut bob = Agent::with(move || (identity("agent-bob", "bob"), policy.clone()));
    for (ts, entry) in log {
        bob.node.recall(*ts, entry);
    }
    bob
}

/// What Bob offered and granted in his last flight: his configuration is the same when the input comes.
fn policy_in(log: &[(Timestamp, Entry)]) -> Policy {
    let said = log.iter().rev().find_map(|(_, entry)| match entry {
        Entry::Message(verdict) if verdict.direction == Direction::Out => {
            let body = verdict.message()?.body()?;
            let list = body.get("capabilities")?.as_array()?;
            Some((list.clone(), body["grant"]["capabilities"].clone()))
        }
        _ => None,
    });
    let Some((offered, granted)) = said.filter(|(offered, _)| !offered.is_empty()) else {
        return Policy::default();
    };
    let offered = offered.iter().map(|one| {
        let tier = Tier::parse(one["tier"].as_u64().unwrap()).unwrap();
        Capability::new(one["name"].as_str().unwrap().parse().unwrap(), tier)
    });
    let granted = granted.as_array().unwrap().iter();
    let granted = granted.map(|name| name.as_str().unwrap().parse().unwrap());
    Policy {
        capabilities: offered.collect(),
        granted: Some(granted.collect()),
        ..Policy::default()
    }
}

pub fn knows(certificate: &Certificate) -> Log {
    let mut bob = Agent::new("agent-bob", "bob");
    let outcome = bob.node.turn(at(0)).people().bind(certificate).unwrap();
    bob.keep(at(0), outcome);
    bob.log
}

/// What Bob's person, or a stranger, did after that.
pub fn then(log: Log, act: impl FnOnce(&mut Agent) -> Outcome) -> Log {
    let mut bob = bob(&log);
    let outcome = act(&mut bob);
    bob.keep(at(0), outcome);
    log.into_iter().chain(bob.log).collect()
}

fn content(tier: u8) -> Content {
    Content {
        body: json!({"week": "2026-W07"}),
        data_tier: Tier::parse(tier).ok(),
        ..Content::default()
    }
}

/// Alice asked Bob something, then Bob asked Alice; neither answered.
fn in_conversation(policy: Policy) -> (Agent, SessionId, MessageId) {
    conversation_in(policy, &[Version::CURRENT])
}

/// The same between two who speak these versions.
fn conversation_in(policy: Policy, versions: &[Version]) -> (Agent, SessionId, MessageId) {
    conversation_with(Policy::default(), policy, versions)
}

/// The same, where Alice has a policy too.
pub fn conversation_with(
    hers: Policy,
    policy: Policy,
    versions: &[Version],
) -> (Agent, SessionId, MessageId) {
    let versions = versions.to_vec();
    let speaking = move |agent: &str, principal: &str| {
        identity_with(agent, principal, 1, |request| {
            request.versions = versions.clone();
        })
    };
    let alices = speaking.clone();
    let mut alice = Agent::with(move || (alices("agent-alice", "alice"), hers.clone()));
    let mut bob = Agent::with(move || (speaking("agent-bob", "bob"), policy.clone()));
    alice.knows(&bob);
    bob.knows(&alice);
    let outcome = alice
        .node
        .turn(at(0))
        .sent()
        .send(&bob.id(), Sending::Request(content(1)))
        .unwrap()
        .outcome;
    let effects = alice.keep(at(0), outcome);
    settle(at(0), &mut [&mut alice, &mut bob], effects);
    let sent = bob
        .node
        .turn(at(1))
        .sent()
        .send(&alice.id(), Sending::Request(content(2)))
        .unwrap();
    let (asked, outcome) = (sent.id, sent.outcome);
    bob.keep(at(1), outcome);
    let session = bob.node.standing(&alice.id(), at(1).now).session.unwrap();
    assert!(bob.refusals().is_empty() && alice.refusals().is_empty());
    (bob, session, asked)
}

fn first_request(log: &[(Timestamp, Entry)]) -> Vec<u8> {
    let found = log.iter().find_map(|(_, entry)| match entry {
        Entry::Message(verdict) if verdict.direction == Direction::In => verdict
            .message()
            .filter(|message| message.headers.sequence == Some(1))
            .map(|message| message.canonical().to_vec()),
        _ => None,
    });
    found.unwrap()
}

fn far_ahead(log: &[(Timestamp, Entry)], session: SessionId) -> Log {
    let alice = identity("agent-alice", "alice");
    let place = Some((session, 10_000));
    let far = in_session(&alice, "agent-bob", Method::Notification, "far", 2, place);
    let mut bob = bob(log);
    bob.hear(at(2), &sign(far, &alice.signing));
    assert!(bob.refusals().is_empty());
    bob.log
}

fn half_open() -> (Value, Log) {
    let (mut alice, mut bob) = alice_and_bob();
    let sending = Sending::Notification(content(1));
    let outcome = alice
        .node
        .turn(at(0))
        .sent()
        .send(&bob.id(), sending)
        .unwrap()
        .outcome;
    let effects = alice.keep(at(0), outcome);
    let (_, announce) = published(&effects).remove(0);
    bob.hear(at(0), &announce);
    (read(&announce), bob.log)
}

fn announced() -> (Log, Value) {
    let mut bob = Agent::new("agent-bob", "bob");
    let mut carol = Agent::new("agent-carol", "carol");
    bob.knows(&carol);
    carol.knows(&bob);
    let sending = Sending::Notification(content(1));
    let outcome = bob
        .node
        .turn(at(0))
        .sent()
        .send(&recipient("agent-carol"), sending)
        .unwrap()
        .outcome;
    let effects = bob.keep(at(0), outcome);
    let (_, announce) = published(&effects).remove(0);
    let effects = carol.hear(at(0), &announce);
    let (_, verify) = published(&effects).remove(0);
    (bob.log, read(&verify))
}
