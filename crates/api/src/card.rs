//! The signed card by which agents that speak A2A learn of this agent, or of a peer behind it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The card of this agent, or of a peer that is reached through it. The daemon makes it of its own configuration: no
/// caller says what is signed.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ShowCard {
    /// The peer; this agent itself when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
}

/// A card with its signature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct ShownCard {
    /// The agent card of A2A 1.0 with `signatures`: JWS by the card key (docs/gateway.md).
    pub card: Value,
    /// The public key as a set of JWK (RFC 7517), for `/.well-known/jwks.json`.
    pub keys: Value,
}

quiet!(ShowCard);
