//! Two agents whose policies matter, and what became of their messages.

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::json;
use signet_proto::envelope::Form;
use signet_proto::headers::Tier;
use signet_proto::ids::MessageId;
use signet_proto::node::{Content, Effect, Item, LocalError, Sending, State};
use signet_proto::policy::{BodySchema, Capability, Policy};

use super::net::Net;
use super::{Agent, identity};

/// Alice (0) and Bob (1), and Bob's policy, which a restart reads anew.
pub fn with_bob(policy: Policy) -> (Net, Rc<RefCell<Policy>>) {
    let policy = Rc::new(RefCell::new(policy));
    let read = Rc::clone(&policy);
    let mut alice = Agent::new("agent-alice", "alice");
    let mut bob = Agent::with(move || (identity("agent-bob", "bob"), read.borrow().clone()));
    alice.knows(&bob);
    bob.knows(&alice);
    (Net::new(vec![alice, bob], 1), policy)
}

pub fn met(policy: Policy) -> (Net, Rc<RefCell<Policy>>) {
    let (mut net, policy) = with_bob(policy);
    net.ask(0, 1);
    net.run_for(10_000);
    (net, policy)
}

pub fn content(tier: u8, capability: Option<&str>) -> Content {
    Content {
        body: json!({"week": "2026-W07"}),
        data_tier: Tier::parse(tier).ok(),
        capability: capability.map(|name| name.parse().unwrap()),
        ..Content::default()
    }
}

pub fn try_send(
    net: &mut Net,
    who: usize,
    to: usize,
    content: Content,
) -> Result<MessageId, LocalError> {
    let (at, peer) = (net.at(who), net.agents[to].id());
    let sent = net.agents[who]
        .node
        .turn(at)
        .sent()
        .send(&peer, Sending::Request(content));
    sent.map(|sent| {
        let (name, outcome) = (sent.id, sent.outcome);
        let effects = net.agents[who].keep(at, outcome);
        net.perform(who, effects);
        name
    })
}

pub fn capability(name: &str, tier: u8, schema: Option<&str>) -> Capability {
    let mut capability = Capability::new(name.parse().unwrap(), Tier::parse(tier).unwrap());
    capability.schema = schema.map(|text| BodySchema::compile(text.as_bytes()).unwrap());
    capability
}

pub fn offering(capabilities: Vec<Capability>) -> Policy {
    Policy {
        capabilities,
        ..Policy::default()
    }
}

pub fn states(net: &Net, wanted: MessageId) -> Vec<State> {
    let state = |(_, effect): &(usize, Effect)| match effect {
        Effect::Settle {
            message_id, state, ..
        } if *message_id == wanted => Some(state.clone()),
        _ => None,
    };
    net.effects.iter().filter_map(state).collect()
}

/// The errors that came to an agent: reason and text.
pub fn failures(agent: &Agent) -> Vec<(String, String)> {
    let items = agent.node.inbox().after(0);
    let failure = |item: Item| match &item.message.form {
        Form::Failure {
            reason, message, ..
        } => Some((reason.clone(), message.clone())),
        _ => None,
    };
    items.filter_map(failure).collect()
}
