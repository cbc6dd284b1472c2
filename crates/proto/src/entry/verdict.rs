//! What happened to one message, and what is kept of it.

use std::sync::Arc;

use super::EntryError;
use super::line::LineMembers;
use crate::envelope::{Claimed, Message, Method, Sealed};
use crate::ids::Digest;
use crate::reject::Reason;
use crate::words::words;
use signet_json::{Map, Value};

words! {
    /// Which way a message went.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Direction {
        /// To us.
        In "in",
        /// From us.
        Out "out",
    }
}

/// What was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// Taken; its effect may follow.
    Accepted,
    /// Refused, and why.
    Rejected(Reason),
    /// Ours, signed and sent.
    Sent,
}

/// What happened to one message.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// In or out.
    pub direction: Direction,
    /// What was decided.
    pub ruling: Ruling,
    /// The length of the bytes that came or went.
    pub bytes: u64,
    /// The hash of the message, or of bytes that did not parse.
    pub hash: Digest,
    /// What is kept of it.
    pub evidence: Evidence,
    /// What is sealed in it, when it was accepted or sent: sealed once more, for our own person.
    pub copy: Option<Sealed>,
}

/// What is kept of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Evidence {
    /// All of it: its signature holds.
    Whole(Arc<Message>),
    /// Its headers only: tier 3 or 4 came in clear, or its sender was over the budget of what is refused.
    Headers(Arc<Message>),
    /// Its headers only, read back from a log, and the method that the line names.
    Withheld(Map<String, Value>, Option<Method>),
    /// A copy of a message whose line stands elsewhere.
    Copy(Claimed),
    /// The first KiB of unproven input, and what it claimed.
    Raw(Vec<u8>, Claimed),
}

impl Direction {
    pub(super) fn read(line: &LineMembers<'_>) -> Result<Self, EntryError> {
        Self::of(line.text("dir")?).ok_or(EntryError("dir"))
    }
}

impl Ruling {
    /// As the line's `verdict` names it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Rejected(_) => "rejected",
            Self::Sent => "sent",
        }
    }

    /// The ruling of this name, with the reason that `rest` begins with where it needs one.
    pub(super) fn skim(name: &str, rest: &str) -> Option<Self> {
        match name {
            "accepted" => Some(Self::Accepted),
            "sent" => Some(Self::Sent),
            "rejected" => {
                let (reason, _) = rest.strip_prefix('"')?.split_once('"')?;
                reason.parse().ok().map(Self::Rejected)
            }
            _ => None,
        }
    }

    pub(super) fn parse(text: &str, reason: Option<&Value>) -> Result<Self, EntryError> {
        match text {
            "accepted" => Ok(Self::Accepted),
            "sent" => Ok(Self::Sent),
            "rejected" => {
                let reason = reason
                    .and_then(Value::as_str)
                    .and_then(|name| name.parse().ok());
                reason.map(Self::Rejected).ok_or(EntryError("reason"))
            }
            _ => Err(EntryError("verdict")),
        }
    }
}
