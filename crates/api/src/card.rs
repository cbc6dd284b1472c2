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

/// The extension of A2A by which a client says what it asks for: the name under which the metadata of a message has it.
pub const A2A_EXTENSION: &str = "urn:signet:a2a:request:1";
/// What a card says of it.
pub const A2A_EXTENSION_SAYS: &str = "In the metadata of a message, under this name: capability (what is asked for), \
    tier (1 to 4, how far it may be told), life (seconds that it may wait)";

quiet!(ShowCard);
