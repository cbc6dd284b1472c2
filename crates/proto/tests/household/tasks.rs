//! Four agents who know each other and hand work on, honestly or not.

use std::sync::Arc;

use serde_json::{Value, json};
use signet_json::canonical;
use signet_proto::draft::{Draft, Identity, Stamp};
use signet_proto::envelope::{Form, Method};
use signet_proto::handoff::{Limits, Report, TaskId, TaskState};
use signet_proto::headers::Tier;
use signet_proto::ids::{Digest, MessageId, Version, encode_base64url};
use signet_proto::keys::{Purpose, SigningKey};
use signet_proto::node::{Content, Handing, Node, Outcome, Sending};
use signet_proto::policy::{Capability, Policy};
use signet_proto::time::Timestamp;

use super::net::Net;
use super::{Agent, at, identity};

pub const ALICE: usize = 0;
pub const BOB: usize = 1;
pub const CAROL: usize = 2;
pub const DAVE: usize = 3;
pub const NAMES: [&str; 4] = ["alice", "bob", "carol", "dave"];
/// When the household has met, in ms.
pub const MET: i64 = 20_000;
pub const HOUR: i64 = 3_600_000;

pub fn who(index: usize) -> Identity {
    identity(&format!("agent-{}", NAMES[index]), NAMES[index])
}

/// Everybody knows everybody, and every two of them have a session.
pub fn household() -> Net {
    let mut agents: Vec<Agent> = NAMES
        .iter()
        .map(|name| {
            let agent = format!("agent-{name}");
            Agent::with(move || (super::identity(&agent, name), open_house()))
        })
        .collect();
    for (one, other) in pairs() {
        let certificate = agents[other].certificate();
        let outcome = agents[one]
            .node
            .turn(at(0))
            .people()
            .bind(&certificate)
            .unwrap();
        agents[one].keep(at(0), outcome);
    }
    let mut net = Net::new(agents, 1);
    for (one, other) in pairs().filter(|(one, other)| one < other) {
        net.send(one, other, Sending::Ping);
        net.run_for(500);
    }
    net.run_until(MET);
    net
}

/// Everybody offers what the tests ask for.
fn open_house() -> Policy {
    let capability = |name: &str| Capability::new(name.parse().unwrap(), Tier::Restricted);
    Policy {
        capabilities: ["calendar.read", "mail.send", "door.open"]
            .map(capability)
            .into(),
        ..Policy::default()
    }
}

fn pairs() -> impl Iterator<Item = (usize, usize)> {
    let all = 0..NAMES.len();
    all.flat_map(|one| (0..NAMES.len()).map(move |other| (one, other)))
        .filter(|(one, other)| one != other)
}

pub fn task(n: u64) -> TaskId {
    super::forger::name(1 << 50 | n)
}

/// A mandate as JSON, signed when `change` has had its way with it.
pub fn mandate(
    from: usize,
    to: usize,
    parent: Option<&Value>,
    change: impl FnOnce(&mut Value),
) -> Value {
    let mut value = json!({
        "type": "handoff", "task": task(1).to_string(),
        "from": format!("agent-{}", NAMES[from]), "to": format!("agent-{}", NAMES[to]),
        "capabilities": ["calendar.read", "mail.send"], "tier": 2, "depth": 5 - from,
        "not-after": at(24 * HOUR).now.to_string(), "issued-at": at(MET).now.to_string(),
    });
    if let Some(parent) = parent {
        value["parent"] = Digest::of(&[&canonical(parent)]).to_string().into();
    }
    change(&mut value);
    sign(value, &who(from).signing, Purpose::Handoff)
}

pub fn sign(mut value: Value, key: &SigningKey, purpose: Purpose) -> Value {
    let signature = key.sign(purpose, &[&canonical(&value)]);
    value["signature"] = encode_base64url(&signature).into();
    value
}

/// A step of a chain, with the certificate of whoever `from` is.
pub fn link(from: usize, mandate: Value) -> Value {
    json!({"mandate": mandate, "certificate": who(from).certificate.to_value()})
}

/// Alice to Bob to Carol, honest but for the change to Bob's mandate.
pub fn chain(change: impl FnOnce(&mut Value)) -> Value {
    let first = mandate(ALICE, BOB, None, |_| {});
    let second = mandate(BOB, CAROL, Some(&first), change);
    json!([link(ALICE, first), link(BOB, second)])
}

/// A message of one agent to another in their session, number `n` from 100 on, whoever they are.
pub fn say(
    net: &Net,
    (from, to): (usize, usize),
    n: u64,
    form: Form,
    body: Value,
    change: impl FnOnce(&mut Draft, &mut Stamp),
) -> Arc<[u8]> {
    let now = net.at(to).now;
    let sender = net.agents[from].id();
    let session = net.agents[to].node.standing(&sender, now).session;
    let recipient = net.agents[to].id();
    let mut draft = Draft::call(Method::Handoff, recipient, super::forger::name(n), body);
    draft.form = form;
    let mut stamp = Stamp {
        now,
        session,
        sequence: Some(100 + n),
        audit_head: None,
        version: Version::CURRENT,
    };
    change(&mut draft, &mut stamp);
    Arc::clone(draft.sign(&who(from), stamp).unwrap().bytes())
}

/// A handoff of whatever chain.
pub fn offer(net: &Net, way: (usize, usize), n: u64, chain: &Value) -> Arc<[u8]> {
    let last = chain.as_array().unwrap().last().unwrap();
    let task = last["mandate"]["task"].as_str().unwrap().to_owned();
    let end: Option<Timestamp> = last["mandate"]["not-after"]
        .as_str()
        .and_then(|end| end.parse().ok());
    let body = json!({"task": task, "goal": "Find an evening", "chain": chain});
    let form = Form::Call(Method::Handoff);
    say(net, way, n, form, body, |draft, stamp| {
        draft.conversation_id = task.parse().ok();
        let left = end.map(|end| end.since(stamp.now));
        let left = left.filter(|left| !left.is_zero());
        draft.life = left.map_or(draft.life, |left| draft.life.min(left));
    })
}

/// A report of whatever state.
pub fn report(net: &Net, way: (usize, usize), n: u64, task: TaskId, state: &str) -> Arc<[u8]> {
    let body = json!({"task": task.to_string(), "state": state});
    let form = Form::Call(Method::Notification);
    say(net, way, n, form, body, |draft, _| {
        draft.capability = "signet.task".parse().ok();
    })
}

pub fn names(
    list: &[&str],
) -> Option<std::collections::BTreeSet<signet_proto::headers::CapabilityName>> {
    Some(list.iter().map(|name| name.parse().unwrap()).collect())
}

/// Calendar and mail, tier 2, two more hands, 24 hours.
pub fn handing(goal: &str) -> Handing {
    Handing {
        goal: goal.into(),
        limits: Limits {
            capabilities: names(&["calendar.read", "mail.send"]),
            tier: Some(2),
            depth: Some(2),
            not_after: None,
        },
        ..Handing::default()
    }
}

/// Hands work over, and lets it arrive: which task.
pub fn hand(net: &mut Net, from: usize, to: usize, handing: Handing) -> TaskId {
    let offer = net.send(from, to, Sending::Handoff(Box::new(handing)));
    net.run_for(5_000);
    let mut tasks = net.agents[from].node.tasks().iter();
    tasks.find(|task| task.offer == offer).unwrap().id()
}

/// Something that an agent does with a task, and what follows.
pub fn does(
    net: &mut Net,
    who: usize,
    act: impl FnOnce(&mut Node, signet_proto::node::At) -> Outcome,
) {
    let at = net.at(who);
    let outcome = act(&mut net.agents[who].node, at);
    let effects = net.agents[who].keep(at, outcome);
    net.perform(who, effects);
    net.run_for(5_000);
}

pub fn accept(net: &mut Net, who: usize, task: TaskId) {
    does(net, who, |node, at| {
        node.turn(at).tasks().accept(task).unwrap().1
    });
}

pub fn reports(net: &mut Net, who: usize, task: TaskId, state: TaskState) {
    let report = Report {
        task,
        state,
        note: Some("word".into()),
        result: Some(json!({"n": 1})),
    };
    does(net, who, |node, at| {
        node.turn(at).tasks().report(report).unwrap().1
    });
}

/// Where an agent's task stands: as it was given to it, or as it gave it.
pub fn held(net: &Net, who: usize, task: TaskId) -> TaskState {
    let tasks = net.agents[who].node.tasks();
    tasks.held(task).unwrap().state(net.at(who).now)
}

pub fn given(net: &Net, who: usize, task: TaskId) -> TaskState {
    let tasks = net.agents[who].node.tasks();
    tasks.given(task).last().unwrap().state(net.at(who).now)
}

/// A request for the task, of that capability.
pub fn for_task(task: TaskId, capability: Option<&str>, tier: u8) -> Sending {
    Sending::Request(Content {
        conversation_id: task.to_string().parse().ok(),
        capability: capability.map(|name| name.parse().unwrap()),
        data_tier: Tier::parse(tier).ok(),
        ..Content::default()
    })
}

pub fn sends(net: &mut Net, from: usize, to: usize, sending: Sending) -> Result<MessageId, String> {
    let (at, peer) = (net.at(from), net.agents[to].id());
    let sent = net.agents[from].node.turn(at).sent().send(&peer, sending);
    let sent = sent.map_err(|error| error.name().to_owned())?;
    let (name, outcome) = (sent.id, sent.outcome);
    let effects = net.agents[from].keep(at, outcome);
    net.perform(from, effects);
    Ok(name)
}
