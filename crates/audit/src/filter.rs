//! Which lines somebody wants to see.

use std::str::FromStr;

use signet_proto::entry::{Entry, LineSubject, Ruling, Verdict};
use signet_proto::envelope::Class;
use signet_proto::headers::{ConversationId, MessageType};
use signet_proto::ids::{AgentId, MessageId};
use signet_proto::time::Timestamp;

use crate::record::LogLine;
use crate::show::{body, describe};

/// Which lines are wanted; what is `None` or false is not asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only lines about this agent.
    pub peer: Option<AgentId>,
    /// Only what was said in this conversation, or for this task.
    pub conversation: Option<ConversationId>,
    /// Only messages of this type.
    pub message_type: Option<MessageType>,
    /// Only messages with this verdict.
    pub verdict: Option<VerdictName>,
    /// Only what was said, waits or was tried at this data tier.
    pub tier: Option<u8>,
    /// Only lines of these kinds; of all where none is named.
    pub kinds: Vec<String>,
    /// Only what is about the message or the task whose id begins so, and its answer.
    pub id: Option<String>,
    /// Only lines that say this, in whatever case, in what is shown of them or in what they carry in clear.
    pub text: Option<String>,
    /// Only lines of this moment and later.
    pub since: Option<Timestamp>,
    /// Only lines earlier than this moment.
    pub until: Option<Timestamp>,
    /// Not the messages that only the protocol needs, unless they were refused: handshakes, receipts, and
    /// orders, which have lines of their own.
    pub without_control: bool,
}

/// The verdicts, without their reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerdictName {
    /// Taken.
    Accepted,
    /// Refused.
    Rejected,
    /// Ours.
    Sent,
}

/// The text names no verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a verdict; use accepted, rejected or sent")]
pub struct UnknownVerdict;

impl Filter {
    /// Whether the line is wanted.
    #[must_use]
    pub fn admits(&self, line: &LogLine) -> bool {
        let verdict = match &line.entry {
            Some(Entry::Message(verdict)) => Some(verdict),
            _ => None,
        };
        let about = about(line);
        let kind = verdict.and_then(Verdict::message_type);
        let is_control = verdict.is_some_and(|verdict| {
            verdict.class() == Some(Class::Control) && verdict.reason().is_none()
        });
        self.since.is_none_or(|since| since <= line.ts)
            && self.until.is_none_or(|until| line.ts < until)
            && self.peer.is_none_or_same(about.peer.as_ref())
            && self
                .conversation
                .is_none_or_same(about.conversation.as_ref())
            && !(self.without_control && is_control)
            && self.message_type.is_none_or_same(kind.as_ref())
            && self.tier.is_none_or_same(about.tier.as_ref())
            && (self.kinds.is_empty() || self.kinds.contains(&line.kind))
            && self.id.as_deref().is_none_or(|begun| names(&about, begun))
            && self.text.as_deref().is_none_or(|text| says(line, text))
            && self.verdict.is_none_or_same(
                verdict
                    .map(|verdict| VerdictName::of(verdict.ruling))
                    .as_ref(),
            )
    }
}

impl VerdictName {
    fn of(ruling: Ruling) -> Self {
        match ruling {
            Ruling::Accepted => Self::Accepted,
            Ruling::Rejected(_) => Self::Rejected,
            Ruling::Sent => Self::Sent,
        }
    }
}

impl FromStr for VerdictName {
    type Err = UnknownVerdict;

    fn from_str(text: &str) -> Result<Self, UnknownVerdict> {
        match text {
            "accepted" => Ok(Self::Accepted),
            "rejected" => Ok(Self::Rejected),
            "sent" => Ok(Self::Sent),
            _ => Err(UnknownVerdict),
        }
    }
}

/// "Not asked for, or the very same".
trait Matches<T> {
    fn is_none_or_same(&self, found: Option<&T>) -> bool;
}

impl<T: PartialEq> Matches<T> for Option<T> {
    fn is_none_or_same(&self, found: Option<&T>) -> bool {
        self.is_none() || self.as_ref() == found
    }
}

/// What a line is about; nothing, when it is the chain's own.
pub(crate) fn about(line: &LogLine) -> LineSubject {
    line.entry.as_ref().map(Entry::about).unwrap_or_default()
}

/// Whether that is the message or the task whose id begins so.
fn names(about: &LineSubject, begun: &str) -> bool {
    let ids = about.messages.iter().flatten().map(MessageId::to_string);
    let mut ids = ids
        .chain(about.task.map(|task| task.to_string()))
        .peekable();
    let is_named = ids.peek().is_some();
    let conversation = about.conversation.as_ref();
    ids.any(|id| id.starts_with(begun))
        || (is_named && conversation.is_some_and(|whole| whole.as_str() == begun))
}

/// Whether the text stands in what people are shown of a line, its contents among it.
fn says(line: &LogLine, text: &str) -> bool {
    let text = text.to_lowercase();
    let shown = [Some(describe(line)), body(line)].into_iter().flatten();
    shown
        .map(|shown| shown.to_lowercase())
        .any(|shown| shown.contains(&text))
}
