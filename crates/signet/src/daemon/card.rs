//! The signed card: what agents that speak A2A read of this agent, and of each peer that is reached through it.
//!
//! Everything in it comes from the configuration and from what peers offer. A caller names a peer and nothing else, so
//! whoever takes over a gateway gets no signature under words of its own.

use serde_json::{Value, json};
use signet_api::{
    AgentCard, ApiError, Offer, Reason, Request, ShowCard, ShownCard, passing_on, skill,
};
use signet_audit::visible;
use signet_proto::ids::AgentId;
use signet_proto::node::LocalError;
use tracing::warn;

use crate::config::CardConfig;
use crate::keystore;
use crate::render;

use super::answer::{Answer, Asker};
use super::heart::Heart;
use super::nearest::{peer_named, refused_of};
use crate::reach::Reach;

impl Answer for ShowCard {
    async fn answer(self, heart: &mut Heart, asker: Asker<'_>) {
        let shown = heart.card(&self, &asker.caller.reach);
        heart.show::<Self>(shown, asker.reply).await;
    }
}

impl Heart {
    fn card(
        &self,
        asked: &ShowCard,
        reach: &Reach,
    ) -> Result<<ShowCard as Request>::Answer, ApiError> {
        let Some(config) = &self.config.card else {
            let text = "the configuration has no [card], and so this agent has no card to sign";
            let next = "write [card] url = \"…\" in config.toml, then signet reload";
            return Err(ApiError::refused(Reason::NoCard, text).with_next(next));
        };
        let card = match asked.peer.as_deref() {
            Some(peer) => {
                self.card_of_peer(config, &peer_named(&self.node, reach, peer)?, reach)?
            }
            None => self.own_card(config),
        };
        let key = keystore::card_key(&self.lock).map_err(|error| {
            // The text names a file of the home: it is the person's to read.
            warn!(%error, next = error.next(), "no card can be signed");
            let refusal =
                ApiError::refused(Reason::KeysRefused, "the key of the card cannot be used");
            refusal.with_next("the daemon's own log says why; signet doctor looks at the keys")
        })?;
        let keys = format!("{}/.well-known/jwks.json", config.url);
        let signed = key.sign(&card, &keys).ok_or_else(ApiError::internal)?;
        Ok(ShownCard {
            card: signed,
            keys: json!({ "keys": [key.to_jwk()] }),
        })
    }

    fn own_card(&self, config: &CardConfig) -> Value {
        let me = self.node.identity().certificate.agent.to_string();
        let name = config.name.as_deref().unwrap_or(&me);
        let about = format!(
            "{me}: passes messages to agents that it trusts, signed, and brings their answers."
        );
        let about = config.description.as_deref().unwrap_or(&about);
        card(config, (name, about), "/a2a", vec![passing_on()])
    }

    fn card_of_peer(
        &self,
        config: &CardConfig,
        peer: &AgentId,
        reach: &Reach,
    ) -> Result<Value, ApiError> {
        let known = self.node.trust().trusted(peer);
        let unknown = || refused_of(&self.node, reach, LocalError::PeerUnknown(peer.clone()));
        let known = known.ok_or_else(unknown)?;
        let principal = known.newest().map(|newest| newest.principal.to_string());
        let me = &self.node.identity().certificate.agent;
        let about = match principal {
            Some(principal) => {
                format!("{peer}, the agent of {principal}, by signed messages of {me}.")
            }
            None => format!("{peer}, by signed messages of {me}."),
        };
        let session = self.node.session(peer, self.at().now);
        let offered = session.map(|session| render::offers(&session.offered));
        let skills: Vec<Value> = offered.iter().flatten().map(offered_skill).collect();
        let skills = match skills.is_empty() {
            true => vec![passing_on()],
            false => skills,
        };
        Ok(card(
            config,
            (peer.as_str(), &about),
            &format!("/a2a/{peer}"),
            skills,
        ))
    }
}

fn card(
    config: &CardConfig,
    (name, description): (&str, &str),
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

/// What a peer offers is what the peer wrote: no hidden character of it reaches a reader.
fn offered_skill(offer: &Offer) -> Value {
    skill(
        &offer.name,
        offer.description.as_deref().map(visible).as_deref(),
    )
}
