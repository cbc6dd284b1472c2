//! Which lines somebody wants to see.

use std::str::FromStr;

use signet_proto::entry::{Entry, Ruling};
use signet_proto::envelope::Class;
use signet_proto::headers::{ConversationId, MessageType};
use signet_proto::ids::AgentId;
use signet_proto::time::Timestamp;

use crate::about::{message_type, peer_of};
use crate::record::Line;
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
    pub fn admits(&self, line: &Line) -> bool {
        let verdict = match &line.entry {
            Some(Entry::Message(verdict)) => Some(verdict),
            _ => None,
        };
        let kind = verdict.and_then(message_type);
        let is_control = verdict.is_some_and(|verdict| {
            verdict.class() == Some(Class::Control) && verdict.reason().is_none()
        });
        self.since.is_none_or(|since| since <= line.ts)
            && self.until.is_none_or(|until| line.ts < until)
            && self.peer.is_none_or_same(peer(line).as_ref())
            && self
                .conversation
                .is_none_or_same(conversation(line).as_ref())
            && !(self.without_control && is_control)
            && self.message_type.is_none_or_same(kind.as_ref())
            && self.tier.is_none_or_same(tier(line).as_ref())
            && (self.kinds.is_empty() || self.kinds.contains(&line.kind))
            && self.id.as_deref().is_none_or(|begun| is_about(line, begun))
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
trait Wanted<T> {
    fn is_none_or_same(&self, found: Option<&T>) -> bool;
}

impl<T: PartialEq> Wanted<T> for Option<T> {
    fn is_none_or_same(&self, found: Option<&T>) -> bool {
        self.is_none() || self.as_ref() == found
    }
}

/// Whom a line is about.
pub(crate) fn peer(line: &Line) -> Option<AgentId> {
    match line.entry.as_ref()? {
        Entry::Message(verdict) => peer_of(verdict),
        Entry::Trust(_, certificate) => Some(certificate.agent.clone()),
        Entry::Draft(draft) => Some(draft.peer.clone()),
        Entry::Revoked(revocation) => Some(revocation.agent.clone()),
        Entry::Approval(line) => Some(line.peer.clone()),
        Entry::Outcome(outcome) => Some(outcome.peer.clone()),
        Entry::Handoff(handoff) => Some(handoff.peer.clone()),
        Entry::Clock { peer, .. } => Some(peer.clone()),
        Entry::Alarm(alarm) => Some(alarm.peer.clone()),
        Entry::Hole(hole) => Some(hole.peer.clone()),
        Entry::Attempt(attempt) => attempt.peer.clone(),
        _ => None,
    }
}

/// The data tier of what a line is about.
fn tier(line: &Line) -> Option<u8> {
    match line.entry.as_ref()? {
        Entry::Message(verdict) => verdict.tier(),
        Entry::Draft(draft) => draft.tier(),
        Entry::Attempt(attempt) => attempt.tried.as_ref().map(|tried| tried.tier),
        _ => None,
    }
}

/// Whether a line is about the message or the task whose id begins so.
fn is_about(line: &Line, begun: &str) -> bool {
    let Some(entry) = &line.entry else {
        return false;
    };
    let ids = match entry {
        Entry::Message(verdict) => [verdict.id(), verdict.in_reply_to()],
        Entry::Draft(draft) => [Some(draft.message_id), None],
        Entry::Approval(approval) => [Some(approval.message_id), None],
        Entry::Outcome(outcome) => [Some(outcome.message_id), None],
        Entry::Handoff(handoff) => return handoff.task.to_string().starts_with(begun),
        _ => return false,
    };
    let mut ids = ids.into_iter().flatten();
    ids.any(|id| id.to_string().starts_with(begun))
        || conversation(line).is_some_and(|task| task.as_str() == begun)
}

/// Whether the text stands in what people are shown of a line, its contents among it.
fn says(line: &Line, text: &str) -> bool {
    let text = text.to_lowercase();
    let shown = [Some(describe(line)), body(line)].into_iter().flatten();
    shown
        .map(|shown| shown.to_lowercase())
        .any(|shown| shown.contains(&text))
}

/// The conversation that a line belongs to; a task is one too.
fn conversation(line: &Line) -> Option<ConversationId> {
    match line.entry.as_ref()? {
        Entry::Message(verdict) => verdict.conversation(),
        Entry::Draft(draft) => draft.conversation(),
        Entry::Handoff(handoff) => handoff.task.to_string().parse().ok(),
        Entry::Attempt(attempt) => attempt.tried.as_ref()?.conversation.clone(),
        _ => None,
    }
}
