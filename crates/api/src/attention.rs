//! What a person should see: who and what waits for their decision, and what is wrong.
//!
//! The same record goes to whoever follows it on the person's socket and to the command of `[notify]`. It holds ids
//! that were checked and sentences of the daemon's own, and nothing that a message says.

use serde::{Deserialize, Serialize};

/// Follows what the person should see: what stands now is the answer, what comes later is told as notifications
/// named [`ATTENTION`].
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct FollowAttention {}

/// What stands now, oldest first within each kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct AttentionList {
    /// The records; each says `still`.
    pub attention: Vec<Attention>,
}

/// The name of the notification that tells one more record.
pub const ATTENTION: &str = "attention.new";

/// One thing that a person should see, or several of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Attention {
    /// The version of this form: 1. Members may be added in it, none changes its meaning.
    pub version: u8,
    /// What kind it is.
    pub kind: AttentionKind,
    /// Since when.
    pub time: String,
    /// The agent whose person this is for.
    pub agent: String,
    /// Sixteen hexadecimal digits: one thing keeps its id, also across restarts. Absent where it is several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Which alarm, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alarm: Option<String>,
    /// The agent that it is about, where it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// The person of that agent, as far as anybody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// Whether `peer` and `principal` are those of a trusted certificate. If not, somebody only claims them.
    pub verified: bool,
    /// How many things it tells of.
    pub count: u64,
    /// Whether all of them stood already when the daemon started, or when the follower came.
    pub still: bool,
    /// One sentence of the daemon's own.
    pub text: String,
    /// The command to type next.
    pub next: String,
}

words! {
    /// What kind of thing a person should see.
    pub enum AttentionKind {
        /// A stranger waits for an introduction.
        Introduction "introduction",
        /// A message of ours waits for its person's approval.
        Draft "draft",
        /// An alarm rings.
        Alarm "alarm",
        /// A message that came could not be handled, and was put into the quarantine.
        Quarantine "quarantine",
        /// The agent's certificate ends soon, or has ended.
        Certificate "certificate",
    }
}

quiet!(FollowAttention);
