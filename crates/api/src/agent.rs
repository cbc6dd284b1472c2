//! The calls of an agent that works off what came: leases, progress, offers, its own history.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::present;
use crate::{Message, Name, RequestName, State};

/// Takes the next messages that wait, each under a lease: until it ends nobody else gets them.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Receive {
    /// Only what asks for one of these; everything when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Vec<String>>,
    /// Seconds to wait when nothing is there, 3,600 at most.
    pub wait: f64,
    /// Seconds that the lease lasts; 60 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<f64>,
    /// At most so many; 1 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// What was taken; nothing when the wait was over.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(
    test,
    schemars(
        rename = "Received",
        bound = "M: schemars::JsonSchema + Default + Serialize"
    )
)]
#[serde(rename_all = "kebab-case", default)]
pub struct Received<M = Vec<Leased>> {
    /// Oldest first.
    pub messages: M,
}

/// A message under a lease.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Leased", bound = "M: schemars::JsonSchema"))]
#[serde(rename_all = "kebab-case")]
pub struct Leased<M = Message> {
    /// Names the lease in `acknowledge`, `respond` and `fail`.
    pub lease: String,
    /// When it ends (RFC 3339).
    pub lease_ends: String,
    /// The idempotency key: the same for this message whenever and to whomever it comes again.
    pub key: String,
    /// Which try this is, from 1 on.
    pub tries: u8,
    /// The message.
    #[serde(flatten)]
    pub message: M,
}

/// Answers a request with `body`, or says with `decline` why there is no answer: `lease` or `message` names it.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Respond {
    /// The lease under which it was received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<String>,
    /// The request, where it was not received under a lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<RequestName>,
    /// The answer: any JSON. With `decline`, what programs read beside those words.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(test, schemars(with = "Option<Value>"))]
    pub body: Option<Value>,
    /// Why there is no answer, in words for the peer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decline: Option<String>,
    /// One line for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// The answer is on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Replied {
    /// The name of the answer.
    pub message_id: String,
}

/// Messages are read or handled, and leave the inbox: what a lease is for, or `messages`, all of them or none.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Acknowledge {
    /// The lease under which it was received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<String>,
    /// The messages, where they were not received under a lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<Name>>,
    /// Whether what the lease is for stays in the inbox for an answer of somebody else's: nobody receives it again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub keep: bool,
}

impl Acknowledge {
    /// Of messages that were not received under a lease.
    pub fn of(messages: Vec<Name>) -> Self {
        Self {
            messages: Some(messages),
            ..Self::default()
        }
    }
}

/// They have left the inbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Acknowledged {
    /// How many.
    pub acknowledged: usize,
}

/// The holder of a lease needs longer.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ExtendLease {
    /// The lease.
    pub lease: String,
    /// Seconds that it lasts from now on.
    pub seconds: f64,
}

/// When the lease ends now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Extended {
    /// The time (RFC 3339).
    pub lease_ends: String,
}

/// A message that was received could not be handled: the next one gets it, or the quarantine.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Fail {
    /// The lease under which it was received.
    pub lease: String,
    /// How it failed, in 200 characters. It stands in the log in clear: without any content of the message.
    pub reason: String,
    /// Whether handling never began, because the handler could not be started: then it is no try.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unbegun: bool,
    /// Seconds until the next try; when absent 1, doubled with each try.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause: Option<f64>,
}

/// What becomes of the message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Failed {
    /// Whether that was the last try: the message is in the quarantine.
    pub quarantined: bool,
    /// Seconds until the next one gets it, where it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub again_in: Option<f64>,
}

/// Says to whoever asked how a request goes. It never settles the request.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Progress {
    /// The request.
    pub message: Name,
    /// How it goes.
    pub state: ProgressState,
    /// In words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// A part of the answer that is ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
}

words! {
    /// How a request goes.
    pub enum ProgressState {
        /// Somebody is at it.
        Working "working",
        /// Whoever asked has to say more first.
        InputRequired "input-required",
    }
}

/// A part of an answer.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Part {
    /// Its number, from 0 on.
    pub index: u32,
    /// Whether it is the last one.
    pub last: bool,
    /// To which of several results it belongs, in 200 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it says.
    #[serde(default)]
    pub body: Value,
}

/// The name of a message that a call made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Progressed {
    /// Its message-id.
    pub message_id: String,
}

/// Wants to be told what moves: in a conversation, or about one message. One of both is named.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Subscribe {
    /// The conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// The message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// From now on what moves comes as notifications: `conversation.message` and `message.progress`, each with a
/// message, and `message.moved` with where a message of ours is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", default)]
pub struct Subscribed {
    /// Where the message is, where one was named that this agent sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// Whether the peer's agent has taken it; absent where nobody can tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken: Option<bool>,
}

/// Where a message of ours is now: what `message.moved` tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Moved {
    /// Its name.
    pub message_id: String,
    /// For whom it is.
    pub peer: String,
    /// Where it is.
    pub state: State,
    /// Why it was refused, or where its end is unknown: the name of a reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Offers a capability to the peers while this connection lasts, and for `[offer] linger-seconds` after it.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct OfferCapability {
    /// Its name.
    pub capability: String,
    /// The JSON Schema that the body of a request has to fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// One line for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The highest data tier that it takes; 1 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<u8>,
}

/// The capability is offered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Offered {
    /// Its name.
    pub capability: String,
    /// The highest data tier that it takes.
    pub tier: u8,
}

/// What was said in this agent's own conversations, newest first.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ListHistory {
    /// Only with this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// Only in this conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// Only what stands before this line of the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// At most so many; 100 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// A part of it.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", default)]
pub struct History {
    /// The newest first. What travelled sealed is not among them.
    pub messages: Vec<Said>,
}

/// A message that came or went.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Said {
    /// The line of the log that tells of it.
    pub line: u64,
    /// `in` or `out`.
    pub direction: String,
    /// For whom it is.
    pub to: String,
    /// The message.
    #[serde(flatten)]
    pub message: Message,
}

/// Narrows this connection: from now on it reaches what both this and its ceiling so far allow. Nothing widens it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Narrow {
    /// The agents that it has to do with; those of the ceiling so far when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peers: Option<Vec<String>>,
    /// The highest data tier.
    pub tier: u8,
    /// Whether it may only look.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read: bool,
}

/// It is narrowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Narrowed {
    /// The highest data tier that it reaches now.
    pub tier: u8,
}

quiet!(
    Receive,
    Received,
    Leased,
    Respond,
    Fail,
    Acknowledge,
    ExtendLease,
    Progress,
    Part,
    Subscribe,
    OfferCapability,
    ListHistory,
    History,
    Said
);
