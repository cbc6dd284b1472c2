//! The quarantine: what could not be handled, until a person decides.

use serde::{Deserialize, Serialize};

use crate::Message;

/// What is in the quarantine.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ListQuarantine {
    /// How many were already seen.
    pub skip: usize,
}

/// A part of the quarantine.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", default)]
pub struct Quarantine {
    /// Oldest first.
    pub messages: Vec<Quarantined>,
    /// How many there are in all.
    pub waiting: usize,
}

/// A message that could not be handled.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Quarantined {
    /// How the last try failed.
    pub failed: Option<String>,
    /// Since when it is there.
    pub since: String,
    /// The message.
    #[serde(flatten)]
    pub message: Message,
}

/// Puts a message back into the inbox, with all its tries before it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RetryMessage {
    /// The message.
    pub message_id: String,
    /// Whose it is, where two peers used the same message-id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}

/// It is back in the inbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Retried {
    /// The message.
    pub message_id: String,
    /// Whose it is.
    pub from: String,
}

/// Gives a message up; who asked reads that it was declined.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DropMessage {
    /// The message.
    pub message_id: String,
    /// Whose it is, where two peers used the same message-id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}

/// It is given up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct DroppedMessage {
    /// The message.
    pub message_id: String,
    /// Whose it is.
    pub from: String,
    /// Whether somebody waited for an answer, and is told.
    pub declined: bool,
}

quiet!(
    ListQuarantine,
    Quarantine,
    Quarantined,
    RetryMessage,
    DropMessage
);
