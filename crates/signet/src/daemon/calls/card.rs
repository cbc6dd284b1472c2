//! The signed card: what agents that speak A2A read of this agent, and of each peer that is reached through it.
//!
//! Everything in it comes from the configuration and from what peers offer. A caller names a peer and nothing else, so
//! whoever takes over a gateway gets no signature under words of its own.

use serde_json::{Value, json};
use signet_api::{AgentCard, ApiError, Offer, Reason, ShowCard, ShownCard, passing_on, skill};
use signet_audit::visible;
use signet_proto::ids::AgentId;
use signet_proto::node::{LocalError, Node};
use signet_proto::time::Timestamp;
use tracing::warn;

use crate::config::CardConfig;
use crate::reach::Reach;
use crate::render;

use super::nearest::{peer_named, refused_of};
use super::{AnswerCall, Asker, Batch, DaemonState};

impl AnswerCall for ShowCard {
    fn answer(self, state: &mut DaemonState, asker: Asker<'_>) -> Batch {
        let signed = signed_card(state, state.at().now, &self, &asker.caller.reach);
        state.show::<Self>(signed, asker.reply)
    }
}

fn signed_card(
    state: &DaemonState,
    now: Timestamp,
    asked: &ShowCard,
    reach: &Reach,
) -> Result<ShownCard, ApiError> {
    let Some(config) = state.settings.card() else {
        let text = "the configuration has no [card], and so this agent has no card to sign";
        let next = "write [card] url = \"…\" in config.toml, then signet reload";
        return Err(ApiError::refused(Reason::NoCard, text).with_next(next));
    };
    let node = &state.node;
    let card = match asked.peer.as_deref() {
        Some(peer) => card_of_peer(node, now, config, &peer_named(node, reach, peer)?, reach)?,
        None => own_card(node, config),
    };
    let key = state.keys.card_key().map_err(|error| {
        // The error names a file of the home, so it goes to the daemon's log for the person, and not to the caller.
        warn!(%error, next = error.next(), "no card can be signed");
        let refusal = ApiError::refused(Reason::KeysRefused, "the key of the card cannot be used");
        refusal.with_next("the daemon's own log says why; signet doctor looks at the keys")
    })?;
    let keys = format!("{}/.well-known/jwks.json", config.url);
    let signed = key.sign(&card, &keys).ok_or_else(ApiError::internal)?;
    Ok(ShownCard {
        card: signed,
        keys: json!({ "keys": [key.to_jwk()] }),
    })
}

fn own_card(node: &Node, config: &CardConfig) -> Value {
    let me = node.identity().certificate.agent.to_string();
    let name = config.name.as_deref().unwrap_or(&me);
    let about = format!(
        "{me}: passes messages to agents that it trusts, signed, and brings their answers."
    );
    let about = config.description.as_deref().unwrap_or(&about);
    card(config, name, about, "/a2a", vec![passing_on()])
}

fn card_of_peer(
    node: &Node,
    now: Timestamp,
    config: &CardConfig,
    peer: &AgentId,
    reach: &Reach,
) -> Result<Value, ApiError> {
    // An agent that is no longer trusted has no card here: a reader of its card would write to it through this daemon.
    let known = node.trust().trusted(peer);
    let unknown = || refused_of(node, reach, LocalError::PeerUnknown(peer.clone()));
    let known = known.ok_or_else(unknown)?;
    let principal = known.newest().map(|newest| newest.principal.to_string());
    let me = &node.identity().certificate.agent;
    let about = match principal {
        Some(principal) => {
            format!("{peer}, the agent of {principal}, by signed messages of {me}.")
        }
        None => format!("{peer}, by signed messages of {me}."),
    };
    let session = node.peers().session(peer, now);
    let offered = session.map(|session| render::offers(&session.offered));
    let skills: Vec<Value> = offered.iter().flatten().map(offered_skill).collect();
    let skills = match skills.is_empty() {
        true => vec![passing_on()],
        false => skills,
    };
    let path = format!("/a2a/{peer}");
    Ok(card(config, peer.as_str(), &about, &path, skills))
}

fn card(
    config: &CardConfig,
    name: &str,
    description: &str,
    path: &str,
    skills: Vec<Value>,
) -> Value {
    let card = AgentCard {
        name,
        description,
        url: &format!("{}{path}", config.url),
        push: config.push,
        extension_required: config.extension_required,
        auth: config.auth,
        skills,
    };
    card.into_json()
}

/// An offer of a peer as a skill of the card. The peer wrote its texts, so hidden characters in them are escaped.
fn offered_skill(offer: &Offer) -> Value {
    skill(
        &offer.name,
        offer.description.as_deref().map(visible).as_deref(),
    )
}
