//! Who may get what from us and send what to us, and why: as the sockets and the command line show it.

use signet_api as api;
use signet_proto::handshake::Grant;
use signet_proto::headers::{CapabilityName, Tier};
use signet_proto::ids::AgentId;
use signet_proto::node::{Node, Way};
use signet_proto::policy::{By, Capability, Finding};
use signet_proto::time::Timestamp;
use signet_proto::trust::KnownPeer;

use crate::render::{layers, names, offers};

/// The policy of this agent, and what follows from it for each peer.
pub fn show(node: &Node, now: Timestamp) -> api::Policy {
    let policy = node.policy();
    let tier = |tier: Tier| api::Tier {
        tier: tier.number(),
        name: tier.name().to_owned(),
        meaning: tier.meaning().to_owned(),
        layers: layers(policy.table.layers(tier)),
    };
    let peers = node.trust().peers();
    api::Policy {
        agent: node.identity().agent().to_string(),
        tiers: Tier::ALL.into_iter().map(tier).collect(),
        grant: api::OwnGrant {
            tier: policy.tier.number(),
            capabilities: policy.granted.as_deref().map(names),
            messages_per_minute: policy.messages_per_minute,
            conversation_messages_per_minute: policy.conversation_per_minute,
        },
        capabilities: policy.capabilities.iter().map(own).collect(),
        peers: peers
            .map(|(agent, known)| peer(node, now, agent, known))
            .collect(),
    }
}

/// A question about what the policy would say of a message.
#[derive(Clone, Debug)]
pub struct PolicyQuery {
    /// Who would get it or send it.
    pub peer: AgentId,
    /// The data tier.
    pub tier: Tier,
    /// The capability that the message would ask for.
    pub capability: Option<CapabilityName>,
    /// Only sending or only receiving; both when absent.
    pub way: Option<api::Way>,
}

/// What the rules would say of a message; `None` when the peer is unknown.
pub fn answer(node: &Node, now: Timestamp, question: &PolicyQuery) -> Option<api::Answered> {
    let peer = &question.peer;
    let both = [api::Way::Send, api::Way::Receive];
    let ways = both
        .into_iter()
        .filter(|way| question.way.is_none_or(|asked| asked == *way));
    let checks = ways.map(|way| check(node, now, question, way));
    let checks = checks.collect::<Option<Vec<_>>>()?;
    Some(api::Answered {
        agent: node.identity().agent().to_string(),
        peer: peer.to_string(),
        principal: principal(node.trust().peer(peer)?),
        tier: question.tier.number(),
        capability: question.capability.as_ref().map(ToString::to_string),
        session: node.peers().session(peer, now).is_some(),
        allowed: checks.iter().all(|check| check.allowed),
        checks,
    })
}

fn check(node: &Node, now: Timestamp, question: &PolicyQuery, way: api::Way) -> Option<api::Check> {
    let (peer, capability) = (&question.peer, question.capability.as_ref());
    let findings = node
        .judge(now)
        .explain(peer, way_of(way), question.tier, capability)?;
    Some(api::Check {
        way,
        allowed: findings.iter().all(Finding::holds),
        highest_tier: highest(node, now, peer, way_of(way)).map_or(0, Tier::number),
        findings: findings.iter().map(finding).collect(),
    })
}

fn own(capability: &Capability) -> api::Capability {
    let schema = capability.schema.as_ref();
    api::Capability {
        name: capability.name.to_string(),
        tier: capability.tier.number(),
        description: capability.description.clone(),
        schema: schema.map(|schema| schema.source().clone()),
    }
}

fn peer(node: &Node, now: Timestamp, agent: &AgentId, peer: &KnownPeer) -> api::PeerPolicy {
    let session = node.peers().session(agent, now);
    let allowance = node.policy().allowance(agent);
    let (_, by) = allowance.tier();
    api::PeerPolicy {
        peer: agent.to_string(),
        principal: principal(peer),
        certificate_layers: peer.newest().map(|newest| layers(newest.layers)),
        loaded_layers: session.map(|session| layers(session.peer_layers)),
        by: by_of(by),
        sends: api::Sends {
            highest_tier: highest(node, now, agent, Way::Receive).map_or(0, Tier::number),
            limits: limits(node, now, agent, Way::Receive),
            grant: grant(&allowance.grant()),
        },
        gets: api::Given {
            highest_tier: highest(node, now, agent, Way::Send).map_or(0, Tier::number),
            limits: limits(node, now, agent, Way::Send),
            grant: session.map(|session| grant(&session.received)),
        },
        capabilities: session.map(|session| offers(&session.offered)),
    }
}

fn principal(peer: &KnownPeer) -> Option<String> {
    peer.principal().map(ToString::to_string)
}

/// The highest tier that passes.
fn highest(node: &Node, now: Timestamp, agent: &AgentId, way: Way) -> Option<Tier> {
    let passes = |tier: &Tier| {
        let findings = node.judge(now).explain(agent, way, *tier, None);
        findings.is_some_and(|findings| findings.iter().all(Finding::holds))
    };
    Tier::ALL.into_iter().rev().find(passes)
}

/// The rules that keep messages of the next higher tier out.
fn limits(node: &Node, now: Timestamp, agent: &AgentId, way: Way) -> Vec<api::Finding> {
    let highest = highest(node, now, agent, way);
    let next = Tier::ALL.into_iter().find(|tier| Some(*tier) > highest);
    let findings = next.and_then(|next| node.judge(now).explain(agent, way, next, None));
    let against = findings.iter().flatten().filter(|finding| !finding.holds());
    against.map(finding).collect()
}

fn grant(grant: &Grant) -> api::Grant {
    api::Grant {
        tier: grant.tier.number(),
        capabilities: names(&grant.capabilities),
        messages_per_minute: grant.messages_per_minute,
    }
}

fn finding(finding: &Finding<'_>) -> api::Finding {
    let (rule, by) = match finding {
        Finding::Tier { by, .. } => (api::Rule::Tier, Some(by_of(*by))),
        Finding::Layers { .. } => (api::Rule::Layers, None),
        Finding::Capability { by, .. } => (api::Rule::Capability, Some(by_of(*by))),
        Finding::CapabilityTier { .. } => (api::Rule::CapabilityTier, None),
    };
    let (needs, has) = match finding {
        Finding::Layers { needs, has, .. } => (Some(*needs), Some(*has)),
        Finding::Tier { .. } | Finding::Capability { .. } | Finding::CapabilityTier { .. } => {
            (None, None)
        }
    };
    let missing = needs.zip(has).map(|(needs, has)| needs.without(has));
    api::Finding {
        rule,
        holds: finding.holds(),
        reason: (!finding.holds()).then(|| finding.reason().name().to_owned()),
        by,
        text: finding.to_string(),
        needs: needs.map(layers),
        has: has.map(layers),
        missing: missing.map(layers),
    }
}

const fn by_of(by: By) -> api::By {
    match by {
        By::Session => api::By::Session,
        By::Grant => api::By::Grant,
        By::Peer => api::By::Peer,
        By::Offer => api::By::Offer,
    }
}

const fn way_of(way: api::Way) -> Way {
    match way {
        api::Way::Send => Way::Send,
        api::Way::Receive => Way::Receive,
    }
}
