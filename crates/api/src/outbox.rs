//! The outbox: where messages of ours are.

use serde::{Deserialize, Serialize};

use crate::{ProgressState, State, WaitsFor, Whose};

/// What has neither a receipt nor an end, by peer, oldest first.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ListOutbox {
    /// Only what is for this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// How many were already seen.
    pub skip: usize,
}

/// A part of the outbox.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", default)]
pub struct Outbox {
    /// By peer, oldest first.
    pub messages: Vec<Outgoing>,
    /// How many there are in all.
    pub waiting: usize,
}

/// Where one message of ours is.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ShowMessage {
    /// The message.
    pub message_id: String,
}

/// Asks which message a `send` with that key made: for whoever did not hear the answer, and has the message itself no more.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FindMessage {
    /// The caller's own key.
    pub key: String,
}

/// The message of a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct FoundMessage {
    /// Its name; absent where no message was made, longer ago than 30 days, or beyond this caller's ceiling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
}

/// A message of ours and where it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Outgoing {
    /// Its name.
    pub message_id: String,
    /// For whom it is.
    pub peer: String,
    /// Where it is.
    pub state: State,
    /// Since when; of what is not settled, when it was written.
    pub since: String,
    /// Why it was refused, or where its end is unknown: the name of a reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whose refusal it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<Whose>,
    /// What the peer offers, where it was refused here because it named none of several (`capability-needed`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offers: Option<Vec<String>>,
    /// What keeps it here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<WaitsFor>,
    /// The agents whose alarm keeps it here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_by: Option<Vec<String>>,
    /// When its life ends, while it is not settled; of a request that the peer has, from when on no answer is taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// What kind of message it is, while it is not settled.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub message_type: Option<String>,
    /// The session in which it was signed, while it is not settled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Its number in that session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
    /// Of a published one, whether the peer's mailbox holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored: Option<bool>,
    /// Of an open request that the peer has, whether its agent has taken it; absent where nobody can tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken: Option<bool>,
    /// Of an open request, why the last answer to it was refused here: the name of a reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_refused: Option<String>,
    /// The newest that the peer's agent told of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<ToldProgress>,
}

/// How a request of ours goes, in its peer's words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct ToldProgress {
    /// When the peer said so (RFC 3339).
    pub since: String,
    /// 1 public, 2 household, 3 sensitive, 4 restricted; absent from a daemon of an earlier release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_tier: Option<u8>,
    /// How it goes; absent where that came sealed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<ProgressState>,
    /// In the peer's words; absent where there are none, or they came sealed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

quiet!(ListOutbox, ShowMessage, FindMessage);
