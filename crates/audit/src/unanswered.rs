//! Which requests and handoffs, ours and theirs, have no answer in a log.

use std::collections::BTreeSet;

use signet_proto::entry::{Entry, Ruling, Verdict};
use signet_proto::headers::MessageType;
use signet_proto::ids::{AgentId, MessageId};

use crate::record::LogLine;

/// The requests that a log has answers to: it is read to its end before anybody can say of one that it has none.
#[derive(Debug, Default)]
pub struct AnsweredRequests(BTreeSet<(AgentId, MessageId)>);

impl AnsweredRequests {
    /// Takes a line of the log.
    pub fn take(&mut self, line: &LogLine) {
        let answered =
            taken(line).and_then(|verdict| Some((verdict.peer()?, verdict.in_reply_to()?)));
        self.0.extend(answered);
    }

    /// Whether the line is a request or a handoff without an answer.
    #[must_use]
    pub fn lacks(&self, line: &LogLine) -> bool {
        let Some(verdict) = taken(line) else {
            return false;
        };
        let wants_one = matches!(
            verdict.message_type(),
            Some(MessageType::Request | MessageType::Handoff)
        );
        // Two peers may use the same message id, so a message is known by its peer and its id together.
        let name = verdict.peer().zip(verdict.id());
        wants_one && name.is_some_and(|name| !self.0.contains(&name))
    }
}

/// A message that was sent, or taken.
fn taken(line: &LogLine) -> Option<&Verdict> {
    match &line.entry {
        Some(Entry::Message(verdict)) if !matches!(verdict.ruling, Ruling::Rejected(_)) => {
            Some(verdict)
        }
        _ => None,
    }
}
