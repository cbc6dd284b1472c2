//! `send`: messages of ours, and what becomes of them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Message;

/// Sends a message to a peer, and waits for what becomes of it as long as `wait` says.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Send {
    /// The peer's agent-id.
    pub peer: String,
    /// Whether an answer is wanted.
    pub kind: Kind,
    /// What to say: any JSON.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub body: Value,
    /// One line for the people who read the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The capability that is asked for; of a request that names none, the only one that the peer offers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capability: Option<String>,
    /// Whether it is for the people of the other side: it asks for no capability, whatever the peer offers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_people: bool,
    /// What it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<String>,
    /// 1 to 4; 1 when absent. From 3 on it leaves sealed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_tier: Option<u8>,
    /// The message-id of the call that this one follows from: its hops and conversation go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continues: Option<String>,
    /// Whose call that was, where two peers used the same message-id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continues_from: Option<String>,
    /// Seconds that the message may wait and live; 72 hours when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub life: Option<u64>,
    /// The caller's own key: the same call again, with it, is the same message, for 30 days and also after a
    /// restart. 1 to 128 of `A-Z a-z 0-9 . _ : -`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Seconds to wait for what becomes of it, 3,600 at most.
    #[serde(default)]
    pub wait: f64,
    /// Seconds after which it is enough that the peer's mailbox holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mailbox_after: Option<f64>,
    /// Whether the peer may be unknown although its id resembles a known one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub introduce: bool,
}

impl Send {
    /// A message of `kind` to `peer` that nobody waits for.
    pub fn new(peer: impl Into<String>, kind: Kind, body: Value) -> Self {
        Self {
            peer: peer.into(),
            kind,
            body,
            summary: None,
            capability: None,
            for_people: false,
            conversation_id: None,
            data_tier: None,
            continues: None,
            continues_from: None,
            life: None,
            key: None,
            wait: 0.0,
            mailbox_after: None,
            introduce: false,
        }
    }
}

words! {
    /// Whether a message wants an answer.
    pub enum Kind {
        /// It wants one.
        Request "request",
        /// It wants none.
        Notification "notification",
        /// The peer's daemon itself answers: a sign of life.
        Ping "ping",
    }
}

/// Where a message of ours is, as far as it was waited for.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Sent {
    /// Its name.
    pub message_id: String,
    /// Where it is.
    pub state: State,
    /// The task that it gives, where it is a handoff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
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
    /// Whether the peer's mailbox holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored: Option<bool>,
    /// True when the daemon stopped while it was waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopping: Option<bool>,
    /// The answer, where it is answered. It stays in the inbox until it is acknowledged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Message>,
}

impl Sent {
    /// A message that is there, and of which nothing more is known.
    pub fn new(message_id: impl Into<String>, state: State) -> Self {
        Self {
            message_id: message_id.into(),
            state,
            task: None,
            reason: None,
            by: None,
            offers: None,
            waits_for: None,
            held_by: None,
            stored: None,
            stopping: None,
            answer: None,
        }
    }
}

words! {
    /// Where a message of ours is. The words move only forward.
    pub enum State {
        /// It is still here.
        Queued "queued",
        /// It went out, and has no receipt.
        Published "published",
        /// Its life ended and no receipt came; the peer may have it all the same.
        Expired "expired",
        /// A side was put back to an older copy of its log, or the session was lost.
        Unknown "unknown",
        /// The peer has it, durably.
        Received "received",
        /// Its agent answered.
        Answered "answered",
        /// The peer, or our own side, refused it.
        Refused "refused",
    }
}

words! {
    /// Who refused a message of ours.
    pub enum Whose {
        /// The peer.
        Peer "peer",
        /// Our own person or daemon.
        Own "self",
    }
}

words! {
    /// What keeps a message of ours here.
    pub enum WaitsFor {
        /// Our person's approval.
        Approval "approval",
        /// Both people's: the peer is not known yet.
        Introduction "introduction",
        /// The end of a pause.
        Resume "resume",
        /// A clock that stands within the dates of our certificate.
        Clock "clock",
        /// Somebody who sees to an alarm.
        Alarm "alarm",
        /// A session with the peer.
        Session "session",
        /// A sign of life of the peer: nobody has confirmed what went to it before. Until then it goes out in its turn, as one of
        /// few.
        Peer "peer",
        /// A connection to the server.
        Connection "connection",
    }
}

quiet!(Send, Sent);
