//! Whom this agent trusts, and what is wrong: for its person to decide.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Peer;

/// What is wrong and only a person can judge.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ListAlarms {}

/// The person has seen to the alarms.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ClearAlarms {
    /// The person's signed word that the call is theirs, where the daemon asks for one: docs/protocol.md,
    /// section 15.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Value>,
}

/// The alarms that ring, or that rang before they were cleared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", default)]
pub struct Alarms {
    /// One for each kind and peer.
    pub alarms: Vec<Alarm>,
}

/// An alarm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Alarm {
    /// Its name.
    pub alarm: String,
    /// The agent that rang it.
    pub peer: String,
    /// Since when it rings.
    pub since: String,
    /// What it means and what to do.
    pub text: String,
}

/// Strangers that wait for an introduction, and alarms of root keys.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ListPending {}

/// Who waits for a decision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", default)]
pub struct Pending {
    /// Strangers.
    pub pending: Vec<Stranger>,
    /// Known people's names under other root keys.
    pub root_alarms: Vec<RootAlarm>,
}

/// A stranger that waits for an introduction. Nobody has verified either name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Stranger {
    /// The agent-id that it claims.
    pub agent: String,
    /// The person for whom it claims to act.
    pub principal: String,
    /// Its root key.
    pub root: String,
    /// The words of that key.
    pub fingerprint: String,
    /// The skill layers that its certificate names.
    pub layers: Vec<u8>,
    /// The number of its certificate.
    pub serial: u64,
    /// When that certificate ends.
    pub not_after: String,
    /// Since when it waits.
    pub since: String,
}

/// Somebody uses the name of a known person with another root key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct RootAlarm {
    /// That key.
    pub root: String,
    /// Since when.
    pub since: String,
}

/// Trusts a stranger, or again an agent from which trust was withdrawn.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ApproveStranger {
    /// The agent-id that it claims.
    pub agent: String,
    /// Its root key, where more than one claims that id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// The person's signed word that the call is theirs, where the daemon asks for one: docs/protocol.md,
    /// section 15.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Value>,
}

/// Refuses a stranger; it is not asked about again.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RefuseStranger {
    /// The agent-id that it claims.
    pub agent: String,
    /// Its root key, where more than one claims that id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// The person's signed word that the call is theirs, where the daemon asks for one: docs/protocol.md,
    /// section 15.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Value>,
}

/// It is decided about a stranger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct StrangerDecided {
    /// The agent.
    pub agent: String,
    /// The words of its root key, where it is known now.
    pub fingerprint: Option<String>,
}

/// Takes back the trust in an agent, here alone.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Withdraw {
    /// The agent.
    pub peer: String,
    /// The person's signed word that the call is theirs, where the daemon asks for one: docs/protocol.md,
    /// section 15.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Value>,
}

/// The trust is withdrawn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Withdrawn {
    /// The agent.
    pub peer: String,
    /// Messages of ours to it that ended.
    pub ended: usize,
    /// Messages of its that our agent no longer gets.
    pub set_aside: usize,
}

/// Hands in a revocation that a root key signed.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TakeRevocation {
    /// What `signet key revoke` made: `signet schema revoke`.
    pub statement: Value,
}

/// The certificates are revoked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Revoked {
    /// Whose.
    pub agent: String,
    /// Whose person.
    pub principal: String,
    /// Up to which number.
    pub serial: u64,
    /// Whether anything is new.
    pub changed: bool,
}

/// Goes on with another root key of a person, which the old one had not named.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ReplaceRoot {
    /// The new certificate: `signet schema certificate`.
    pub certificate: Value,
    /// The person's signed word that the call is theirs, where the daemon asks for one: docs/protocol.md,
    /// section 15.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Value>,
}

/// Every agent that is or was trusted.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ListTrust {}

/// An agent that is or was trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct TrustedPeer {
    /// The agent.
    #[serde(flatten)]
    pub peer: Peer,
    /// How it stands.
    pub trust: Trust,
}

words! {
    /// How an agent stands.
    pub enum Trust {
        /// It is trusted.
        Trusted "trusted",
        /// Our person took the trust back.
        Withdrawn "withdrawn",
        /// Its own person's root key took its certificate back.
        Revoked "revoked",
    }
}

quiet!(
    ListAlarms,
    ClearAlarms,
    ListPending,
    ApproveStranger,
    RefuseStranger,
    Withdraw,
    TakeRevocation,
    ReplaceRoot,
    ListTrust
);
