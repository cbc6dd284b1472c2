//! What people decide and sign, rightly or not, and whether a log remembers all of it.

use std::sync::Arc;

use serde_json::{Value, json};
use signet_proto::certificate::ControlCertificate;
use signet_proto::draft::{Draft, Identity, Stamp};
use signet_proto::entry::{Entry, TrustChange};
use signet_proto::envelope::Method;
use signet_proto::ids::{MessageId, Version};
use signet_proto::node::{At, Effect, Node, Notice, Outcome, Standing, State, hash_of_draft};
use signet_proto::policy::Policy;
use signet_proto::statement::{Approval, Decision, PauseStatement, Revocation};

use super::net::{Net, times_taken};
use super::{Agent, at, control, key, published};

pub const DAY: i64 = 24 * 3_600_000;

/// People whose agents know each other's certificates and have not met; their logs begin as every log does.
pub fn acquainted(names: &[(&str, &str)]) -> Net {
    let mut agents: Vec<_> = names
        .iter()
        .map(|(agent, person)| Agent::new(agent, person))
        .collect();
    let now = at(0);
    for one in 0..agents.len() {
        for other in (0..agents.len()).filter(|other| *other != one) {
            let certificate = agents[other].certificate();
            let outcome = agents[one]
                .node
                .turn(now)
                .people()
                .bind(&certificate)
                .unwrap();
            agents[one].keep(now, outcome);
        }
        let own = agents[one].certificate();
        agents[one].log.insert(0, (now.now, Entry::Genesis(own)));
    }
    let mut net = Net::new(agents, 1);
    for who in 0..names.len() {
        net.restart(who);
    }
    net
}

/// The flight 1 that somebody of that identity sends to `to`.
pub fn announce(make: impl Fn() -> Identity + 'static, to: &Agent, ms: i64) -> Arc<[u8]> {
    let mut agent = Agent::with(move || (make(), Policy::default()));
    let outcome = agent
        .node
        .turn(at(ms))
        .people()
        .bind(&to.certificate())
        .unwrap();
    agent.keep(at(ms), outcome);
    let sending = signet_proto::node::Sending::Ping;
    let sent = agent
        .node
        .turn(at(ms))
        .sent()
        .send(&to.id(), sending)
        .unwrap();
    published(&sent.outcome.effects)[0].1.clone()
}

/// The revocation of an agent's certificates by its person.
pub fn revocation(principal: &str, agent: &str, serial: u64) -> Revocation {
    revocation_by(&format!("root of {principal}"), principal, agent, serial)
}

pub fn revocation_by(root: &str, principal: &str, agent: &str, serial: u64) -> Revocation {
    let (person, agent) = (principal.parse().unwrap(), agent.parse().unwrap());
    Revocation::sign(&person, &agent, serial, "lost", at(0).now, &key(root)).unwrap()
}

/// A person's word to pause or to go on.
pub fn pause(principal: &str, paused: bool, serial: u64) -> PauseStatement {
    pause_under(&control(principal), principal, paused, serial)
}

pub fn pause_under(
    control: &ControlCertificate,
    principal: &str,
    paused: bool,
    serial: u64,
) -> PauseStatement {
    let key = key(&format!("control of {principal}"));
    PauseStatement::sign(paused, serial, at(0).now, control, &key).unwrap()
}

/// A message that `from` signs outside any session.
pub fn decree(from: &Identity, to: &Agent, name: u64, method: Method, body: Value) -> Arc<[u8]> {
    decree_at(from, to, name, method, body, at(0))
}

pub fn decree_at(
    from: &Identity,
    to: &Agent,
    name: u64,
    method: Method,
    body: Value,
    at: At,
) -> Arc<[u8]> {
    let draft = Draft::call(method, to.id(), super::forger::name(name), body);
    let stamp = Stamp {
        now: at.now,
        session: None,
        sequence: None,
        audit_head: None,
        version: Version::CURRENT,
    };
    Arc::clone(draft.sign(from, stamp).unwrap().bytes())
}

pub fn revoking(revocation: &Revocation) -> Value {
    json!({ "revocation": revocation.to_value() })
}

pub fn pausing(said: &PauseStatement) -> Value {
    json!({ "statement": said.to_value(), "control": said.control.to_value() })
}

/// Something that an agent's own side asks for; what follows goes into the network.
pub fn does(net: &mut Net, who: usize, act: impl FnOnce(&mut Node, At) -> Outcome) {
    let at = net.at(who);
    let outcome = act(&mut net.agents[who].node, at);
    let effects = net.agents[who].keep(at, outcome);
    net.perform(who, effects);
}

/// A person's decision about a draft of their agent's.
pub fn decision(agent: &Agent, draft: MessageId, decision: Decision) -> Approval {
    let principal = agent.certificate().principal.clone();
    let key = key(&format!("control of {principal}"));
    let control = control(principal.as_str());
    let mut drafts = agent.node.sent().drafts();
    let waiter = drafts.find(|waiter| waiter.draft.message_id == draft);
    let hash = hash_of_draft(waiter.unwrap().value.unwrap());
    Approval::sign(hash, decision, at(0).now, &control, &key).unwrap()
}

/// What became of a message of ours, in order.
pub fn states(net: &Net, who: usize, name: MessageId) -> Vec<State> {
    let state = |(from, effect): &(usize, Effect)| match effect {
        Effect::Settle {
            message_id, state, ..
        } if *from == who && *message_id == name => Some(state.clone()),
        _ => None,
    };
    net.effects.iter().filter_map(state).collect()
}

/// The names of what was handed to an agent, in order.
pub fn handed(net: &Net, who: usize) -> Vec<MessageId> {
    let name = |(to, effect): &(usize, Effect)| match effect {
        Effect::Deliver(message) | Effect::Answer(message) if *to == who => {
            Some(message.message().headers.message_id)
        }
        _ => None,
    };
    net.effects.iter().filter_map(name).collect()
}

pub fn notices(effects: &[Effect]) -> Vec<&Notice> {
    let mut notices = Vec::new();
    for effect in effects {
        if let Effect::Notice(notice) = effect {
            notices.push(notice.as_ref());
        }
    }
    notices
}

/// The changes of trust in an agent's log.
pub fn changes(agent: &Agent) -> Vec<TrustChange> {
    let change = |(_, entry): &(_, Entry)| match entry {
        Entry::Trust(line) => Some(line.change),
        Entry::Revoked(_) => Some(TrustChange::Revoked),
        _ => None,
    };
    agent.log.iter().filter_map(change).collect()
}

pub fn pending(agent: &Agent, ms: i64) -> Vec<String> {
    let waiting = agent.node.people().pending(at(ms).now);
    let name = |stranger: &signet_proto::node::Stranger| stranger.certificate.agent.to_string();
    waiting.map(name).collect()
}

/// Every agent's log, read back from its text, makes the node that wrote it.
pub fn remembered(net: &Net) {
    for (who, agent) in net.agents.iter().enumerate() {
        let now = net.at(who);
        let retold = agent.retold();
        same(&agent.node, &retold, now);
        same_rows(&agent.node, &retold, now);
        let cuts = 0..=agent.log.len();
        for cut in cuts.step_by(agent.log.len() / 16 + 1) {
            same_rows(&agent.restored(cut), &retold, now);
        }
    }
}

/// Row by row.
pub fn same_rows(live: &Node, again: &Node, now: At) {
    let rows = |node: &Node| node.snapshot(now.now).rows();
    let differ = signet_proto::node::differences(&rows(live), &rows(again));
    assert!(differ.is_empty(), "{differ:#?}");
}

pub fn same(live: &Node, again: &Node, now: At) {
    // The key that signs now decides in which session the next message leaves, and no log line names that key. So
    // compare the sessions only if both nodes sign with the same key.
    let signer = |node: &Node| node.identity().signing.public().id();
    let sends_alike = signer(live) == signer(again);
    let both = [live, again].map(|node| knowledge(node, now, sends_alike));
    assert_eq!(both[0], both[1]);
}

fn knowledge(node: &Node, at: At, sends_alike: bool) -> Vec<String> {
    let name = |message: &Arc<signet_proto::envelope::Message>| message.headers.message_id;
    let waiting = node.inbox().after(0);
    let waiting: Vec<_> = waiting
        .map(|item| (item.number, name(&item.message)))
        .collect();
    let drafts: Vec<_> = node
        .sent()
        .drafts()
        .map(|waiter| {
            let (name, value) = (waiter.draft.message_id, waiter.value);
            (waiter.peer, name, waiter.until, waiter.waits_for, value)
        })
        .collect();
    let standing = |(peer, _)| {
        let standing = node.standing(peer, at.now);
        Standing {
            session: standing.session.filter(|_| sends_alike),
            ends: standing.ends.filter(|_| sends_alike),
            handshake: false,
            over_budget: 0,
            withheld: 0,
            ..standing
        }
    };
    vec![
        format!("{:?}", node.trust()),
        format!("{:?}", node.people().pending(at.now).collect::<Vec<_>>()),
        format!(
            "{:?}",
            node.people().root_alarms(at.now).collect::<Vec<_>>()
        ),
        format!("{:?}", node.people().pausing()),
        format!("{waiting:?}"),
        format!("{:?}", node.inbox().aside().map(name).collect::<Vec<_>>()),
        format!("{drafts:?}"),
        format!("{:?}", node.tasks()),
        format!(
            "{:?}",
            node.trust().peers().map(standing).collect::<Vec<_>>()
        ),
    ]
}

/// Cuts each agent's log at every line: whoever still trusts each other, and does not pause, talks
/// again, and nothing is taken twice.
pub fn works_when_cut_anywhere(scenario: impl Fn() -> Net) {
    let whole = scenario();
    for who in 0..whole.agents.len() {
        for cut in 1..=whole.agents[who].log.len() {
            let mut net = scenario();
            net.agents[who].log.truncate(cut);
            net.now += 1_000;
            net.restart(who);
            net.run_for(600_000);
            let _ = speak(&mut net);
            net.run_for(1_200_000);
            for (to, name) in speak(&mut net) {
                let taken = times_taken(&net.agents[to], name);
                assert_eq!(taken, 1, "{who} cut at {cut}, to {to}");
            }
        }
    }
}

/// A request for each two who trust each other, and what was handed to whom.
fn speak(net: &mut Net) -> Vec<(usize, MessageId)> {
    let all = 0..net.agents.len();
    let pairs = all
        .clone()
        .flat_map(|from| all.clone().map(move |to| (from, to)));
    let pairs: Vec<_> = pairs
        .filter(|(from, to)| from != to && free(net, *from, *to))
        .collect();
    let asked: Vec<_> = pairs
        .iter()
        .map(|(from, to)| (*to, net.ask(*from, *to)))
        .collect();
    net.run_for(1_200_000);
    asked
}

fn free(net: &Net, from: usize, to: usize) -> bool {
    let trusts = |from: usize, to: usize| {
        let node = &net.agents[from].node;
        let current = node.trust().trusted(&net.agents[to].id());
        current.and_then(|peer| peer.newest()) == Some(&net.agents[to].certificate())
            && !node.people().pausing().is_paused()
    };
    trusts(from, to) && trusts(to, from)
}
