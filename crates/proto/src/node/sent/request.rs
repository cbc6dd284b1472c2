//! What our own side can ask for.

use std::fmt;
use std::time::Duration;

use signet_json::Value;

use crate::handoff::{Limits, TaskId};
use crate::headers::{CapabilityName, ConversationId, Tier};
use crate::ids::{AgentId, MessageId};

/// A ping asks for a sign of life now, not in three days.
pub(super) const PING_LIFE: Duration = Duration::from_secs(60);

/// Why our agent gives no answer.
#[derive(Clone, Default)]
pub struct Declining {
    /// In words for the peer.
    pub why: String,
    /// What programs read beside them (docs/protocol.md, section 9).
    pub body: Option<Value>,
}

impl From<&str> for Declining {
    fn from(why: &str) -> Self {
        let why = why.to_owned();
        Self { why, body: None }
    }
}

/// What our agent wants to say. It does not print itself: an answer's tier is its request's.
#[derive(Clone, Default)]
pub struct Content {
    /// One line for people.
    pub summary: Option<String>,
    /// Any JSON.
    pub body: Value,
    /// What is asked for.
    pub capability: Option<CapabilityName>,
    /// Whether a request that names no capability is for the only one that the peer offers.
    pub finds_capability: bool,
    /// What it belongs to.
    pub conversation_id: Option<ConversationId>,
    /// Tier 1 when absent. From 3 on, summary and body leave sealed for the recipient alone.
    pub data_tier: Option<Tier>,
    /// How long it may wait and live; 72 hours when absent.
    pub life: Option<Duration>,
    /// The call that this one follows from.
    pub continues: Option<Continues>,
}

/// A call that came to us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Continues {
    /// Who sent it; needed where two peers used the same message-id.
    pub from: Option<AgentId>,
    /// Its name.
    pub message: MessageId,
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Content")
            .field("capability", &self.capability)
            .field("conversation_id", &self.conversation_id)
            .field("data_tier", &self.data_tier)
            .field("life", &self.life)
            .finish_non_exhaustive()
    }
}

/// A task that our agent hands to a peer.
#[derive(Clone, Debug, Default)]
pub struct Handing {
    /// What is to be done, 1 to 2,000 characters.
    pub goal: String,
    /// Any JSON that the work needs.
    pub input: Option<Value>,
    /// Within which limits.
    pub limits: Limits,
    /// The task of ours that it is handed on from; a new task when absent.
    pub parent: Option<TaskId>,
    /// One line for people.
    pub summary: Option<String>,
    /// The data tier of goal and input; 1 when absent.
    pub data_tier: Option<Tier>,
}

/// A new message of ours.
#[derive(Clone, Debug)]
pub enum Sending {
    /// Wants an answer.
    Request(Content),
    /// Wants none.
    Notification(Content),
    /// Asks the peer's daemon itself for a sign of life.
    Ping,
    /// Hands work over.
    Handoff(Box<Handing>),
}
