//! `offer`: what a program can do, for as long as it is there.

use signet_api::{ApiError, OfferCapability, Offered};
use signet_proto::headers::Tier;
use signet_proto::policy::{BodySchema, Capability};

use super::serve::{named, refused};
use super::{AnswerCall, Asker, Batch, DaemonState};

/// The longest description, in characters.
const DESCRIPTION: usize = 200;
/// The longest schema, in bytes of JSON: what it says leaves for peers, and no person has looked at it.
const SCHEMA: usize = 8 * 1024;

impl AnswerCall for OfferCapability {
    /// Offers a capability to the peers until the client has gone.
    fn answer(self, state: &mut DaemonState, asker: Asker<'_>) -> Batch {
        let (at, node) = (state.at(), &mut state.node);
        let offered = capability(self).and_then(|capability| {
            let program = state.consumers.watch(&asker.notifier);
            let offered = Offered {
                capability: capability.name.to_string(),
                tier: capability.tier.number(),
            };
            let peers = asker.caller.reach.peers.as_deref().cloned();
            let outcome = node.turn(at).offers().offer(program, peers, capability);
            Ok((offered, outcome.map_err(refused)?))
        });
        state.answer::<Self>(at.now, offered, asker.reply, None)
    }
}

fn capability(asked: OfferCapability) -> Result<Capability, ApiError> {
    let long = |text: &String| text.chars().count() > DESCRIPTION;
    if asked.description.as_ref().is_some_and(long) {
        return Err(ApiError::invalid_params(
            "description has at most 200 characters",
        ));
    }
    let schema = asked.schema.map(|schema| schema.to_string());
    if schema.as_ref().is_some_and(|schema| schema.len() > SCHEMA) {
        return Err(ApiError::invalid_params(
            "the schema of an offer has at most 8 KiB; a [[capability]] of config.toml may have a longer one",
        ));
    }
    let schema = schema.map(|schema| {
        let compiled = BodySchema::compile(schema.as_bytes());
        compiled.map_err(|fault| ApiError::invalid_params(format!("schema: {fault}")))
    });
    Ok(Capability {
        name: named("capability", &asked.capability)?,
        // Count an invalid tier as the highest one, which a program may not offer: the caller gets the same refusal for both.
        tier: Tier::parse(asked.tier.unwrap_or(1)).unwrap_or(Tier::Restricted),
        description: asked.description,
        schema: schema.transpose()?,
    })
}
