//! Drafts, approvals and the pause: what may leave, and when all stop, for a person to decide.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{State, WaitsFor};

/// What waits to leave, and for what.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ListDrafts {
    /// How many were already seen.
    pub skip: usize,
    /// Only those whose message-id begins so.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// A part of what waits to leave.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", default)]
pub struct Drafts {
    /// The drafts.
    pub drafts: Vec<Draft>,
    /// How many there are in all.
    pub waiting: usize,
    /// The control certificate under which a decision is signed.
    pub control: Option<Value>,
}

/// A message of ours that waits to leave.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Draft {
    /// For whom it is.
    pub peer: String,
    /// Its name.
    pub message_id: String,
    /// For what it waits.
    pub waits_for: WaitsFor,
    /// The agents whose alarm keeps it here.
    pub held_by: Option<Vec<String>>,
    /// When its life ends.
    pub until: String,
    /// What kind of message it is.
    #[serde(rename = "type")]
    pub message_type: String,
    /// 1 to 4.
    pub data_tier: u8,
    /// What it asks for.
    pub capability: Option<String>,
    /// One line for people.
    pub summary: Option<String>,
    /// What it says.
    pub body: Value,
    /// How many bytes that has, where its words are withheld from whoever only looks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// What a person decides about, where one must.
    pub draft: Option<Value>,
    /// The hash of that, which is signed.
    pub hash: Option<String>,
}

/// Decides about a draft.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DecideDraft {
    /// An approval, signed by the control key.
    pub statement: Value,
    /// The certificate of that key.
    pub control: Value,
}

words! {
    /// What a person decided about a draft.
    pub enum Decision {
        /// It may leave.
        Approved "approved",
        /// It may not.
        Refused "refused",
    }
}

/// It is decided about a draft.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Decided {
    /// How.
    pub decision: Decision,
    /// Whether it left at once.
    pub sent: bool,
}

/// Takes back what has not left.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DropDraft {
    /// The message.
    pub message_id: String,
}

/// It is taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Dropped {
    /// The message.
    pub message_id: String,
    /// For whom it was.
    pub peer: String,
    /// Always `refused`.
    pub state: State,
    /// Always `dropped`.
    pub reason: String,
}

/// Lets the agents of this person pause, or go on.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TellPause {
    /// Pause or resume, signed by the control key: `signet schema pause`.
    pub statement: Value,
    /// The certificate of that key.
    pub control: Value,
}

/// Whether the agents of this person pause.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ShowPause {}

/// Whether the agents pause, and the person's last word about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Pausing {
    /// Whether they do.
    pub paused: bool,
    /// The number of the last word under the control certificate of now; 0 when there is none.
    pub serial: u64,
    /// When it was said.
    pub since: Option<String>,
    /// How many messages wait in the inbox.
    pub waiting: usize,
    /// The control certificate.
    pub control: Option<Value>,
}

quiet!(
    ListDrafts,
    Drafts,
    Draft,
    DecideDraft,
    DropDraft,
    TellPause,
    ShowPause
);
