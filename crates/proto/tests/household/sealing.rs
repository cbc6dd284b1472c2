//! A household whose agents may send each other anything.

use serde_json::json;
use signet_proto::headers::Tier;
use signet_proto::node::Content;
use signet_proto::policy::{BodySchema, Capability, Policy};

use super::net::Net;
use super::{Agent, at, identity};

/// What no line, no wire and no Debug output may hold.
pub const MARKER: &str = "the diagnosis";

/// An agent who takes every tier from whom it knows.
pub fn agent(name: &'static str, principal: &'static str) -> Agent {
    let policy = || Policy {
        capabilities: vec![door()],
        ..Policy::default()
    };
    Agent::with(move || (identity(name, principal), policy()))
}

/// A capability whose body must name a door.
fn door() -> Capability {
    let schema = BodySchema::compile(br#"{"required": ["door"]}"#).unwrap();
    Capability {
        schema: Some(schema),
        ..Capability::new("door.open".parse().unwrap(), Tier::Restricted)
    }
}

/// Makes all known to each other.
pub fn introduce(agents: &mut [Agent]) {
    let certificates: Vec<_> = agents.iter().map(Agent::certificate).collect();
    for (who, agent) in agents.iter_mut().enumerate() {
        for (other, certificate) in certificates.iter().enumerate() {
            if who != other {
                let outcome = agent.node.turn(at(0)).people().bind(certificate);
                agent.keep(at(0), outcome.unwrap());
            }
        }
    }
}

/// Alice, Bob and Carol (0, 1, 2) who may send each other anything; sessions stand between all.
pub fn talking() -> Net {
    let mut agents = vec![
        agent("agent-alice", "alice"),
        agent("agent-bob", "bob"),
        agent("agent-carol", "carol"),
    ];
    introduce(&mut agents);
    let mut net = Net::new(agents, 1);
    net.ask(0, 1);
    net.ask(1, 2);
    net.ask(0, 2);
    net.run_for(10_000);
    net
}

/// What Alice wants nobody else to read.
pub fn secret() -> Content {
    Content {
        summary: Some(format!("About {MARKER}")),
        body: json!({ "what": MARKER }),
        data_tier: Some(Tier::Sensitive),
        ..Content::default()
    }
}
