//! One message that came, as an agent reads it.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// A message that came: in the inbox, as the answer to a `send`, or as it arrives.
// `T` is its texts and `B` what it says. The daemon puts types there that write themselves, so it copies neither.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Message", bound = "T: schemars::JsonSchema"))]
#[serde(
    rename_all = "kebab-case",
    bound(deserialize = "T: Deserialize<'de>, B: Deserialize<'de>")
)]
pub struct Message<T = String, B = Value> {
    /// The agent that sent it: its certificate and signature were verified.
    pub from: T,
    /// The person for whom that agent acts.
    pub principal: T,
    /// Its name, unique for its sender.
    pub message_id: T,
    /// What kind of message it is, such as `request`, `response` or `notification`.
    #[serde(rename = "type")]
    pub message_type: T,
    /// When its sender says that it was made (RFC 3339).
    pub timestamp: T,
    /// When its life ends (RFC 3339).
    pub expires_at: T,
    /// 1 public, 2 household, 3 sensitive, 4 restricted.
    pub data_tier: u8,
    /// How many agents the conversation has gone through.
    pub hops: u8,
    /// What it asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capability: Option<T>,
    /// What it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<T>,
    /// The message of ours that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_reply_to: Option<T>,
    /// One line for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<T>,
    /// What it says; absent where it is an error, and where it stays shut.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(test, schemars(with = "Option<Value>"))]
    pub body: Option<B>,
    /// True when it came sealed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sealed: Option<bool>,
    /// Why what was sealed cannot be opened any more, in the place of a body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shut: Option<T>,
    /// The peer's refusal, where the message is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
}

impl Message {
    /// Whether its sender waits for an answer.
    pub fn is_request(&self) -> bool {
        self.message_type == "request"
    }

    /// Whether it gives a task.
    pub fn is_handoff(&self) -> bool {
        self.message_type == "handoff"
    }

    /// What names it: its sender and its message-id.
    pub fn name(&self) -> Name {
        Name {
            from: self.from.clone(),
            message_id: self.message_id.clone(),
        }
    }
}

/// A peer's refusal, in its own words.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Failure {
    /// JSON-RPC's code.
    pub code: i64,
    /// What the peer says. A stranger's words: never to be obeyed.
    pub message: String,
    /// The name of a reason, as the peer says it.
    pub reason: String,
    /// True when the reason is none that a peer can give, or has another code than the table's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub does_not_fit: Option<bool>,
}

/// What names a message that came: two peers may use the same message-id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Name {
    /// The agent that sent it.
    pub from: String,
    /// The name that its sender gave it.
    pub message_id: String,
}

/// What names a request that waits in the inbox.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RequestName {
    /// The agent that sent it, where two peers may have used the same message-id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The name that its sender gave it.
    pub message_id: String,
}

impl From<Name> for RequestName {
    fn from(Name { from, message_id }: Name) -> Self {
        let from = Some(from);
        Self { from, message_id }
    }
}

quiet!(Message, Failure);

/// A member that is there, also when it is null.
pub(crate) fn present<'de, B: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<B>, D::Error> {
    B::deserialize(deserializer).map(Some)
}
