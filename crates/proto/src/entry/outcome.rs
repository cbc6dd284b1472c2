//! The lines of what became of messages: taken, tried, ended.

use signet_json::{Map, Value};

use super::EntryError;
use super::line::{Line, Members};
use crate::ids::{AgentId, MessageId};

/// What became of something.
#[derive(Clone, Debug, PartialEq)]
pub struct OutcomeLine {
    /// Who sent it, or for whom it waited.
    pub peer: AgentId,
    /// Which message.
    pub message_id: MessageId,
    /// What was tried or done.
    pub what: Did,
    /// The number of the try, from 1.
    pub tries: u8,
    /// Why, by a stable name, where there is a why.
    pub reason: Option<String>,
}

/// The things that become of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Did {
    /// The agent took it from the inbox.
    Acknowledged,
    /// A daemon's own answer was tried and could not be made.
    AnswerFailed,
    /// A draft's life ended before there was a session.
    DraftExpired,
    /// A draft will not be sent: the peer refused the handshake that it waited for, or our own side did.
    DraftRefused,
    /// A message of ours was given up: no receipt came two minutes after its life had ended.
    Expired,
    /// Our agent began to handle a message.
    Started,
    /// Our agent could not handle it; after the fifth time it goes to the quarantine.
    Failed,
    /// It goes to the quarantine: five tries began, and none came to an end.
    SetAside,
    /// Our agent has handled it and keeps it, to answer later: its tries count anew.
    Kept,
    /// A person took it out of the quarantine, to be tried again.
    Retried,
    /// A person gave it up.
    Dropped,
}

impl OutcomeLine {
    pub(super) fn write(&self, line: &mut Line<'_>) {
        line.text("peer", self.peer.as_str());
        line.message_id(&self.message_id);
        line.text("what", self.what.as_str());
        line.number("try", u64::from(self.tries));
        if let Some(reason) = &self.reason {
            line.text("reason", reason);
        }
    }

    pub(super) fn parse(
        members: Members<'_>,
        line: &Map<String, Value>,
    ) -> Result<Self, EntryError> {
        Ok(Self {
            peer: members.parsed("peer")?,
            message_id: members.message_id()?,
            what: Did::parse(members.text("what")?)?,
            tries: u8::try_from(members.number("try")?).map_err(|_| EntryError("try"))?,
            reason: match line.contains_key("reason") {
                true => Some(members.text("reason")?.to_owned()),
                false => None,
            },
        })
    }
}

impl Did {
    /// As the line's `what` names it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Acknowledged => "acknowledged",
            Self::AnswerFailed => "answer-failed",
            Self::DraftExpired => "draft-expired",
            Self::DraftRefused => "draft-refused",
            Self::Expired => "expired",
            Self::Started => "started",
            Self::Failed => "failed",
            Self::SetAside => "set-aside",
            Self::Kept => "kept",
            Self::Retried => "retried",
            Self::Dropped => "dropped",
        }
    }

    fn parse(text: &str) -> Result<Self, EntryError> {
        let all = [
            Self::Acknowledged,
            Self::AnswerFailed,
            Self::DraftExpired,
            Self::DraftRefused,
            Self::Expired,
            Self::Started,
            Self::Failed,
            Self::SetAside,
            Self::Kept,
            Self::Retried,
            Self::Dropped,
        ];
        all.into_iter()
            .find(|known| known.as_str() == text)
            .ok_or(EntryError("what"))
    }
}
