//! An agent beside many peers, and what it does there: for the benches that count and for those that time.

use std::sync::Arc;

use signet_proto::certificate::Certificate;
use signet_proto::ids::AgentId;
use signet_proto::node::{Content, Node, Outcome, Sending};

use crate::household::{self, Agent, at, published, settle};

pub(crate) fn bob() -> AgentId {
    "agent-bob".parse().unwrap()
}

pub(crate) fn appointment() -> Sending {
    Sending::Notification(talk())
}

pub(crate) fn talk() -> Content {
    Content {
        summary: Some("The plumber comes on Thursday".into()),
        body: serde_json::json!({"event": "appointment", "who": "plumber", "when": "2026-02-12T09:30:00+01:00",
            "where": {"street": "Lindenweg 4", "floor": 2}, "notes": ["bring the key", "ask about the boiler"]}),
        conversation_id: Some("household-2026-02".parse().unwrap()),
        ..Content::default()
    }
}

pub(crate) fn send(alice: &mut Agent) -> Outcome {
    send_at(alice, 1)
}

pub(crate) fn send_at(alice: &mut Agent, ms: i64) -> Outcome {
    alice
        .node
        .turn(at(ms))
        .sent()
        .send(&bob(), appointment())
        .unwrap()
        .outcome
}

/// Two agents in a session.
pub(crate) fn in_session() -> (Agent, Agent) {
    meet(household::alice_and_bob())
}

/// The handshake, with the first message behind it.
pub(crate) fn meet((mut alice, mut bob): (Agent, Agent)) -> (Agent, Agent) {
    shake_hands(&mut alice, &mut bob);
    (alice, bob)
}

/// The same of two who stay where they are.
pub(crate) fn shake_hands(alice: &mut Agent, bob: &mut Agent) {
    // Tests let an agent ask every peer at each timeout, to check the agenda. A daemon does no such work: switch it
    // off, or the bench would count it.
    (alice.asks_everybody, bob.asks_everybody) = (false, false);
    let outcome = send(alice);
    let effects = alice.keep(at(0), outcome);
    settle(at(0), &mut [&mut *alice, &mut *bob], effects);
    let standing = alice.node.standing(&bob.id(), at(0).now);
    assert!(standing.session.is_some(), "no session");
}

/// The same agent with so many peers more: each as the one that it has met.
pub(crate) fn crowded(mut agent: Agent, peers: usize) -> Agent {
    let met = agent.node.trust().peers().next().unwrap();
    let met = met.0.clone();
    let rows = agent.node.snapshot(at(0).now).rows();
    let between = ["links", "sessions", "windows", "names"];
    let copied = rows.iter().filter(|row| between.contains(&row.table));
    let copied = copied.filter_map(|row| Some((row, row.key.strip_prefix(met.as_str())?)));
    let copies = copied.flat_map(|(row, rest)| {
        let named = move |n| {
            (
                row.table.to_owned(),
                format!("{}{rest}", one_of_many(n)),
                row.value.clone(),
            )
        };
        (0..peers).map(named)
    });
    let own = rows.iter();
    let own = own.map(|row| (row.table.to_owned(), row.key.clone(), row.value.clone()));
    let (identity, policy) = agent.made();
    agent.node = Node::restore(identity, policy, [9; 32], own.chain(copies)).unwrap();
    let outcome = agent.node.turn(at(0)).resume();
    agent.keep(at(0), outcome);
    know(&mut agent, peers);
    let mut agent = settled(agent);
    // A daemon keeps its log on the disk: drop the copy in memory, or the bench would count it as memory of the peers.
    agent.log.clear();
    agent.log.shrink_to_fit();
    agent
}

/// Behind a start everybody is looked at once, and once more whoever was looked at: that is no part of what is counted.
pub(crate) fn settled(mut agent: Agent) -> Agent {
    for _ in 0..3 {
        agent.tick(at(0));
    }
    agent
}

/// Makes so many known, each by a certificate of its own.
pub(crate) fn know(agent: &mut Agent, peers: usize) {
    for n in 0..peers {
        let name = one_of_many(n);
        let other = household::identity(&name, &name).certificate;
        agent.node.turn(at(0)).people().bind(&other).unwrap();
    }
}

pub(crate) fn one_of_many(n: usize) -> String {
    format!("agent-of-many-{n}")
}

/// A receiver beside so many peers, and one message for it.
pub(crate) fn with_a_message(peers: usize) -> (Agent, Arc<[u8]>) {
    let (mut alice, bob) = in_session();
    let message = published(&send(&mut alice).effects)[0].1.clone();
    (crowded(bob, peers), message)
}

/// Two who have never spoken, one of them beside so many peers.
pub(crate) fn strangers_beside(peers: usize) -> (Agent, Agent) {
    let (mut carol, mut bob) = (
        Agent::new("agent-carol", "carol"),
        crowded(in_session().1, peers),
    );
    carol.knows(&bob);
    bob.knows(&carol);
    (carol, bob)
}

/// Who knows so many, and the certificate of one more.
pub(crate) fn who_knows(peers: usize) -> (Agent, Certificate) {
    let (mut alice, _) = household::alice_and_bob();
    know(&mut alice, peers);
    (settled(alice), one_more(0))
}

/// The certificate of somebody who is not known yet.
pub(crate) fn one_more(n: usize) -> Certificate {
    household::identity(&format!("agent-new-{n}"), &format!("new-{n}")).certificate
}
