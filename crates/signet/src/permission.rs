//! Who may get what from us and send what to us, and why: as the control socket and the command line
//! show it.

use serde_json::{Value, json};
use signet_proto::handshake::{Grant, Offer};
use signet_proto::headers::CapabilityName;
use signet_proto::ids::AgentId;
use signet_proto::node::{Node, Way};
use signet_proto::policy::{Capability, Finding, TIERS};
use signet_proto::time::Timestamp;
use signet_proto::trust::Peer;

/// The policy of this agent, and what follows from it for each peer.
pub fn show(node: &Node, now: Timestamp) -> Value {
    let policy = node.policy();
    let tier = |tier: signet_proto::policy::Tier| {
        let layers = policy.table.layers(tier.number).to_value();
        json!({"tier": tier.number, "name": tier.name, "meaning": tier.meaning, "layers": layers})
    };
    let peers = node.trust().peers();
    json!({
        "agent": node.identity().agent().as_str(),
        "tiers": TIERS.map(tier),
        "grant": {
            "tier": policy.tier,
            "capabilities": policy.granted.as_deref().map(texts),
            "messages-per-minute": policy.messages_per_minute,
            "conversation-messages-per-minute": policy.conversation_per_minute,
        },
        "capabilities": policy.capabilities.iter().map(own).collect::<Value>(),
        "peers": peers.map(|(agent, known)| peer(node, now, agent, known)).collect::<Value>(),
    })
}

/// What a question asks.
#[derive(Clone, Debug)]
pub struct Question {
    /// Who would get it or send it.
    pub peer: AgentId,
    /// The data tier.
    pub tier: u8,
    /// What would be asked for.
    pub capability: Option<CapabilityName>,
    /// One way, or both when absent.
    pub way: Option<Way>,
}

/// What the rules would say of a message; `None` when the peer is unknown.
pub fn answer(node: &Node, now: Timestamp, question: &Question) -> Option<Value> {
    let Question {
        peer,
        tier,
        capability,
        way,
    } = question;
    let ways = way.map_or(vec![Way::Send, Way::Receive], |way| vec![way]);
    let mut checks = Vec::new();
    for way in ways {
        let findings = node.explain(now, peer, way, *tier, capability.as_ref())?;
        let allowed = findings.iter().all(Finding::holds);
        let findings: Value = findings.iter().map(finding).collect();
        checks.push(json!({
            "way": name_of(way),
            "allowed": allowed,
            "highest-tier": highest(node, now, peer, way),
            "findings": findings,
        }));
    }
    let allowed = |check: &Value| check.get("allowed") == Some(&Value::Bool(true));
    let allowed = checks.iter().all(allowed);
    Some(json!({
        "agent": node.identity().agent().as_str(),
        "peer": peer.as_str(),
        "principal": node.trust().peer(peer)?.principal().map(|person| person.as_str()),
        "tier": tier,
        "capability": capability.as_ref().map(CapabilityName::as_str),
        "session": node.session(peer, now).is_some(),
        "allowed": allowed,
        "checks": checks,
    }))
}

/// What a peer offers, with the text of its schemas: for people, who alone read them.
pub fn offers(offered: &[Offer]) -> Value {
    let offer = |offer: &Offer| {
        json!({
            "name": offer.name.as_str(),
            "tier": offer.tier,
            "description": offer.description,
            "schema": offer.schema,
        })
    };
    offered.iter().map(offer).collect()
}

fn own(capability: &Capability) -> Value {
    json!({
        "name": capability.name.as_str(),
        "tier": capability.tier,
        "description": capability.description,
        "schema": capability.schema.as_ref().map(|schema| schema.source()),
    })
}

fn peer(node: &Node, now: Timestamp, agent: &AgentId, peer: &Peer) -> Value {
    let session = node.session(agent, now);
    let allowance = node.policy().allowance(agent);
    let (_, by) = allowance.tier();
    json!({
        "peer": agent.as_str(),
        "principal": peer.principal().map(|person| person.as_str()),
        "certificate-layers": peer.newest().map(|newest| newest.layers.to_value()),
        "loaded-layers": session.map(|session| session.peer_layers.to_value()),
        "by": by.as_str(),
        "sends": {
            "highest-tier": highest(node, now, agent, Way::Receive),
            "limits": limits(node, now, agent, Way::Receive),
            "grant": grant(&allowance.grant()),
        },
        "gets": {
            "highest-tier": highest(node, now, agent, Way::Send),
            "limits": limits(node, now, agent, Way::Send),
            "grant": session.map(|session| grant(&session.received)),
        },
        "capabilities": session.map(|session| offers(&session.offered)),
    })
}

/// The highest tier that passes; 0 for none.
fn highest(node: &Node, now: Timestamp, agent: &AgentId, way: Way) -> u8 {
    let passes = |tier: &u8| {
        let findings = node.explain(now, agent, way, *tier, None);
        findings.is_some_and(|findings| findings.iter().all(Finding::holds))
    };
    (1..=4).rev().find(passes).unwrap_or_default()
}

/// What keeps the next higher tier out.
fn limits(node: &Node, now: Timestamp, agent: &AgentId, way: Way) -> Value {
    let next = highest(node, now, agent, way) + 1;
    let findings = (next <= 4).then(|| node.explain(now, agent, way, next, None));
    let findings = findings.flatten().unwrap_or_default();
    let against = findings.iter().filter(|finding| !finding.holds());
    against.map(finding).collect()
}

fn grant(grant: &Grant) -> Value {
    json!({
        "tier": grant.tier,
        "capabilities": texts(&grant.capabilities),
        "messages-per-minute": grant.messages_per_minute,
    })
}

fn finding(finding: &Finding<'_>) -> Value {
    let (rule, by) = match finding {
        Finding::Tier { by, .. } => ("tier", Some(by.as_str())),
        Finding::Layers { .. } => ("layers", None),
        Finding::Capability { by, .. } => ("capability", Some(by.as_str())),
        Finding::CapabilityTier { .. } => ("capability-tier", None),
        _ => ("other", None),
    };
    let mut value = json!({
        "rule": rule,
        "holds": finding.holds(),
        "reason": (!finding.holds()).then(|| finding.reason().name()),
        "by": by,
        "text": finding.to_string(),
    });
    if let (Finding::Layers { needs, has, .. }, Some(members)) = (finding, value.as_object_mut()) {
        members.insert("needs".into(), needs.to_value());
        members.insert("has".into(), has.to_value());
        members.insert("missing".into(), needs.without(*has).to_value());
    }
    value
}

fn texts(names: &[CapabilityName]) -> Vec<&str> {
    names.iter().map(CapabilityName::as_str).collect()
}

const fn name_of(way: Way) -> &'static str {
    match way {
        Way::Send => "send",
        Way::Receive => "receive",
    }
}
