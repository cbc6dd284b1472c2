//! Who may get what from us and send what to us, and why.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Offer;

/// The policy of this agent, and what follows from it for each peer.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ShowPolicy {}

/// What the rules say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Policy {
    /// Whose policy it is.
    pub agent: String,
    /// The four data tiers, and what each asks of a peer.
    pub tiers: Vec<Tier>,
    /// What every known peer may send.
    pub grant: OwnGrant,
    /// What this agent offers.
    pub capabilities: Vec<Capability>,
    /// What follows for each peer.
    pub peers: Vec<PeerPolicy>,
}

/// A capability that this agent offers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Capability {
    /// Its name.
    pub name: String,
    /// The highest data tier that it takes.
    pub tier: u8,
    /// One line for people.
    pub description: Option<String>,
    /// The JSON Schema that the body of a request has to fit.
    pub schema: Option<Value>,
}

/// A data tier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Tier {
    /// 1 to 4.
    pub tier: u8,
    /// Its name in the configuration.
    pub name: String,
    /// What belongs to it.
    pub meaning: String,
    /// The skill layers that a peer must have.
    pub layers: Vec<u8>,
}

/// What every known peer may send us, as it is configured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct OwnGrant {
    /// The highest data tier.
    pub tier: u8,
    /// The capabilities that may be asked for; null for every one that is offered.
    pub capabilities: Option<Vec<String>>,
    /// Calls a minute; null for no limit.
    pub messages_per_minute: Option<u32>,
    /// Calls a minute within one conversation; null for no limit.
    pub conversation_messages_per_minute: Option<u32>,
}

/// What one side may send the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Grant {
    /// The highest data tier.
    pub tier: u8,
    /// The capabilities that may be asked for.
    pub capabilities: Vec<String>,
    /// Calls a minute; null for no limit.
    pub messages_per_minute: Option<u32>,
}

/// What follows from the policy for one peer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct PeerPolicy {
    /// The peer.
    pub peer: String,
    /// The person for whom it acts.
    pub principal: Option<String>,
    /// The skill layers that its certificate proves.
    pub certificate_layers: Option<Vec<u8>>,
    /// The skill layers that it says it has loaded, while there is a session.
    pub loaded_layers: Option<Vec<u8>>,
    /// Whose rule decides.
    pub by: By,
    /// What it may send us.
    pub sends: Sends,
    /// What we may send it.
    pub gets: Given,
    /// What it offers, while there is a session.
    pub capabilities: Option<Vec<Offer>>,
}

/// What a peer may send us.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Sends {
    /// 1 to 4; 0 for none.
    pub highest_tier: u8,
    /// What keeps the next higher tier out.
    pub limits: Vec<Finding>,
    /// What it is told that it may.
    pub grant: Grant,
}

/// What we may send a peer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Given {
    /// 1 to 4; 0 for none.
    pub highest_tier: u8,
    /// What keeps the next higher tier in.
    pub limits: Vec<Finding>,
    /// What it told us that we may, while there is a session.
    pub grant: Option<Grant>,
}

/// What the rules would say of a message.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CheckPolicy {
    /// Who would get it or send it.
    pub peer: String,
    /// Its data tier, 1 to 4.
    pub tier: u8,
    /// What it would ask for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capability: Option<String>,
    /// One way; both when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub way: Option<Way>,
}

words! {
    /// Which way a message goes.
    pub enum Way {
        /// From us.
        Send "send",
        /// To us.
        Receive "receive",
    }
}

/// What the rules say of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Answered {
    /// Whose rules they are.
    pub agent: String,
    /// The peer.
    pub peer: String,
    /// The person for whom it acts.
    pub principal: Option<String>,
    /// The data tier that was asked about.
    pub tier: u8,
    /// The capability that was asked about.
    pub capability: Option<String>,
    /// Whether there is a session.
    pub session: bool,
    /// Whether it may pass every way that was asked about.
    pub allowed: bool,
    /// One for each way.
    pub checks: Vec<Check>,
}

/// What the rules say of one way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Check {
    /// Which way.
    pub way: Way,
    /// Whether the message may pass.
    pub allowed: bool,
    /// The highest data tier that may pass; 0 for none.
    pub highest_tier: u8,
    /// Rule by rule.
    pub findings: Vec<Finding>,
}

/// What one rule says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Finding {
    /// Which rule.
    pub rule: Rule,
    /// Whether it holds.
    pub holds: bool,
    /// The name of the reason, where it does not.
    pub reason: Option<String>,
    /// Who set it.
    pub by: Option<By>,
    /// One sentence.
    pub text: String,
    /// The layers that it asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs: Option<Vec<u8>>,
    /// The layers that the other side has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has: Option<Vec<u8>>,
    /// Those that are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<Vec<u8>>,
}

words! {
    /// A rule of the policy.
    pub enum Rule {
        /// The highest data tier.
        Tier "tier",
        /// The skill layers.
        Layers "layers",
        /// Whether the capability may be asked for.
        Capability "capability",
        /// The highest data tier of the capability.
        CapabilityTier "capability-tier",
        /// One that this release has no word for.
        Other "other",
    }
}

words! {
    /// Who set a rule.
    pub enum By {
        /// The other side, in the handshake of the session.
        Session "session",
        /// `[grant]`.
        Grant "grant",
        /// The `[[peer]]` of that peer.
        Peer "peer",
        /// What is offered.
        Offer "offer",
        /// One that this release has no word for.
        Other "other",
    }
}

quiet!(ShowPolicy, CheckPolicy);
