//! Messages and peers as the sockets and the command line show them.

mod message;
pub mod task;

use signet_api as api;
use signet_proto::handshake::Offer;
use signet_proto::headers::{CapabilityName, Layers};
use signet_proto::ids::AgentId;
use signet_proto::keys::fingerprint;
use signet_proto::node::{Standing, State, WaitsFor};
use signet_proto::session::Session;
use signet_proto::trust::KnownPeer;

pub use message::{RenderedMessage, item};
pub use signet_proto::carrier::inbox_subject;

/// One peer as the person sees it.
pub fn peer(agent: &AgentId, peer: &KnownPeer, standing: &Standing) -> api::Peer {
    let newest = peer.newest();
    api::Peer {
        peer: agent.to_string(),
        session: standing.session.map(|id| id.to_string()),
        session_ends: standing.ends.map(|ends| ends.to_string()),
        handshake: standing.handshake,
        waiting: standing.drafts,
        unconfirmed: standing.unconfirmed,
        over_budget: standing.over_budget,
        withheld: standing.withheld,
        principal: newest.map(|newest| newest.principal.to_string()),
        fingerprint: newest.map(|newest| fingerprint(&newest.root)),
        serial: newest.map(|newest| newest.serial),
        not_after: newest.map(|newest| newest.not_after.to_string()),
        versions: newest.map(|newest| newest.versions.iter().map(ToString::to_string).collect()),
        layers: newest.map(|newest| layers(newest.layers)),
    }
}

/// A peer with what it offers: its capabilities and the text of their schemas.
pub fn with_offers(peer: api::Peer, session: Option<&Session>) -> api::ShownPeer {
    let capabilities = session.map(|session| offers(&session.offered));
    api::ShownPeer { peer, capabilities }
}

/// What a peer offers, with the text of its schemas: for people, who alone read them.
pub fn offers(offered: &[Offer]) -> Vec<api::Offer> {
    let offer = |offer: &Offer| api::Offer {
        name: offer.name.to_string(),
        tier: offer.tier.number(),
        description: offer.description.clone(),
        schema: offer.schema.clone(),
    };
    offered.iter().map(offer).collect()
}

/// The names of what a peer offers.
pub fn names(offered: &[CapabilityName]) -> Vec<String> {
    offered.iter().map(ToString::to_string).collect()
}

/// Skill layers by their numbers.
pub fn layers(layers: Layers) -> Vec<u8> {
    layers.iter().collect()
}

/// Where a message of ours is.
pub const fn state(state: &State) -> api::State {
    match state {
        State::Queued => api::State::Queued,
        State::Published => api::State::Published,
        State::Expired => api::State::Expired,
        State::Unknown(_) => api::State::Unknown,
        State::Received => api::State::Received,
        State::Answered => api::State::Answered,
        State::Refused(_) | State::RefusedHere(_) => api::State::Refused,
    }
}

/// Whose refusal it is, of a message that was refused.
pub const fn by(state: &State) -> Option<api::Whose> {
    match state {
        State::Refused(_) => Some(api::Whose::Peer),
        State::RefusedHere(_) => Some(api::Whose::Own),
        State::Queued
        | State::Published
        | State::Expired
        | State::Unknown(_)
        | State::Received
        | State::Answered => None,
    }
}

/// What a message of ours waits for.
pub const fn waits_for(waits_for: WaitsFor) -> api::WaitsFor {
    match waits_for {
        WaitsFor::Approval => api::WaitsFor::Approval,
        WaitsFor::Introduction => api::WaitsFor::Introduction,
        WaitsFor::Resume => api::WaitsFor::Resume,
        WaitsFor::Clock => api::WaitsFor::Clock,
        WaitsFor::Alarm => api::WaitsFor::Alarm,
        WaitsFor::Session => api::WaitsFor::Session,
        WaitsFor::Peer => api::WaitsFor::Peer,
    }
}
