//! The agents that this agent knows.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Trusts an agent by its certificate: a person's decision.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct AddPeer {
    /// The certificate that its person handed over: `signet schema certificate`.
    pub certificate: Value,
    /// The person's signed word that the call is theirs, where the daemon asks for one: docs/protocol.md,
    /// section 15.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Value>,
}

/// The agent is trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Bound {
    /// The agent.
    pub peer: String,
    /// The person for whom it acts.
    pub principal: String,
    /// The words of its root key, to be compared by voice.
    pub fingerprint: String,
    /// Whether anything is new.
    pub changed: bool,
}

/// Every agent that is trusted.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ListPeers {}

/// One agent, with what it offers.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ShowPeer {
    /// The agent.
    pub peer: String,
}

/// An agent that is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Peer {
    /// The agent.
    pub peer: String,
    /// The session that the next message would use.
    pub session: Option<String>,
    /// When that session ends.
    pub session_ends: Option<String>,
    /// Whether a handshake is under way.
    pub handshake: bool,
    /// Messages of ours that wait.
    pub waiting: usize,
    /// Messages of ours without a receipt.
    pub unconfirmed: usize,
    /// Calls of the peer's over its budget, refused since the start.
    pub over_budget: u64,
    /// Calls of ours over the budget that the peer granted, not sent since the start.
    pub withheld: u64,
    /// The person for whom it acts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// The words of its root key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// The number of its newest certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial: Option<u64>,
    /// When that certificate ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_after: Option<String>,
    /// The versions of the protocol that its certificate lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub versions: Option<Vec<String>>,
    /// The skill layers that its certificate proves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layers: Option<Vec<u8>>,
}

/// An agent that is known, with what it offers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct ShownPeer {
    /// The agent.
    #[serde(flatten)]
    pub peer: Peer,
    /// What it offers, while there is a session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Vec<Offer>>,
}

/// A capability that an agent offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Offer {
    /// Its name.
    pub name: String,
    /// The highest data tier that it takes.
    pub tier: u8,
    /// One line for people.
    pub description: Option<String>,
    /// The text of the JSON Schema that the body of a request has to fit.
    pub schema: Option<String>,
}

quiet!(AddPeer, ListPeers, ShowPeer);
