//! The inbox: what came and waits for the agent, and how handling it goes.

use serde::{Deserialize, Serialize};

use crate::{Message, Name};

/// What waits, oldest first.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ListInbox {
    /// The number of the last message already seen.
    pub after: u64,
    /// At most so many; 1,000 when absent. Fewer come when they are large.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// As `inbox.list`; after it, every message that arrives comes as a notification `inbox.message`.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct FollowInbox {}

/// A part of the inbox.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", default)]
pub struct Inbox {
    /// Oldest first.
    pub messages: Vec<Waiting>,
    /// How many there are in all.
    pub waiting: usize,
}

/// A message that waits.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Waiting {
    /// Its number in the inbox: rising.
    pub number: u64,
    /// The message.
    #[serde(flatten)]
    pub message: Message,
}

/// Messages are read, and leave the inbox: all or none.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Acknowledge {
    /// Which.
    pub messages: Vec<Name>,
}

/// They have left the inbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Acknowledged {
    /// How many.
    pub acknowledged: usize,
}

/// A try of a handler begins.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct StartTry {
    /// The agent that sent the message.
    pub from: String,
    /// The message.
    pub message_id: String,
}

/// Which try it is, or that there is none any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Started {
    /// The number of the try; null when all have begun before.
    #[serde(rename = "try")]
    pub number: Option<u8>,
    /// How many there are at most.
    pub of: u8,
    /// Whether the message went into the quarantine instead.
    pub quarantined: bool,
}

/// A try has failed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FailTry {
    /// The agent that sent the message.
    pub from: String,
    /// The message.
    pub message_id: String,
    /// How it failed, in 200 characters. It stands in the log in clear: without any content of the message.
    pub reason: String,
}

/// What becomes of the message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Failed {
    /// Whether that was the last try: the message is in the quarantine.
    pub quarantined: bool,
}

/// The message is handled and stays, for an answer; its tries are forgotten.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct KeepMessage {
    /// The agent that sent the message.
    pub from: String,
    /// The message.
    pub message_id: String,
}

/// It stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Kept {
    /// Always true.
    pub kept: bool,
}

/// What agents sent that are trusted no more, and nobody took: for the person.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ListAside {
    /// How many were already seen.
    pub skip: usize,
}

/// What was set aside.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", default)]
pub struct SetAside {
    /// Oldest first.
    pub messages: Vec<Message>,
}

quiet!(
    ListInbox,
    FollowInbox,
    Inbox,
    Waiting,
    Acknowledge,
    StartTry,
    FailTry,
    KeepMessage,
    ListAside,
    SetAside
);
