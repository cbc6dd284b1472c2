//! The inbox: what came and waits for the agent, and how handling it goes.

use serde::{Deserialize, Serialize};

use crate::Message;

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

/// As `inbox.list`, or null while the agents of this person pause; after it, every message that arrives comes
/// as a notification `inbox.message`.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct FollowInbox {}

/// A part of the inbox.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(
    test,
    schemars(
        rename = "Inbox",
        bound = "M: schemars::JsonSchema + Default + Serialize"
    )
)]
#[serde(rename_all = "kebab-case", default)]
pub struct Inbox<M = Vec<Waiting>> {
    /// Oldest first.
    // The daemon puts something here that writes itself as this list, one message after the other.
    pub messages: M,
    /// How many there are in all.
    pub waiting: usize,
}

/// A message that waits.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Waiting", bound = "M: schemars::JsonSchema"))]
pub struct Waiting<M = Message> {
    /// Its number in the inbox: rising.
    pub number: u64,
    /// The message.
    #[serde(flatten)]
    pub message: M,
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

quiet!(ListInbox, FollowInbox, Inbox, Waiting, ListAside, SetAside);
