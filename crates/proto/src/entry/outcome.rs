//! The lines of what became of messages: taken, tried, ended.

use super::line::Line;
use super::members::{members, names};
use super::{LineKind as _, LineSubject, LineVersion, quoted};
use crate::ids::{AgentId, MessageId};

members! {
    /// What became of something.
    #[derive(Clone, Debug, PartialEq)]
    pub struct OutcomeLine {
        /// Who sent it, or for whom it waited.
        "peer" peer: AgentId,
        /// Which message.
        "id" message_id: MessageId,
        /// What was tried or done.
        "what" what: Did,
        /// The number of the try, from 1; of one that never began, that of the try before it, or 0 where there was none.
        "try" tries: u8 = at_least(0),
        /// Why, by a stable name, where there is a why.
        "reason" reason: Option<String> = serde_json::json!({"type": "string", "maxLength": 200}),
    }

    fn about(&self) -> LineSubject {
        LineSubject::message(&self.peer, self.message_id)
    }

    fn describe(&self) -> String {
        let (what, peer, tries, id) = (self.what.as_str(), &self.peer, self.tries, self.message_id);
        let why = self.reason.as_deref().map(quoted);
        let why = why.map_or(String::new(), |why| format!("  {why}"));
        format!("{what:<12}  {peer:<14}  try {tries}  {id}{why}")
    }
}

impl OutcomeLine {
    /// See [`Entry::skim`](super::Entry::skim): reads the line of an outcome without a reason.
    pub(super) fn skim(version: LineVersion, members: &str) -> Option<Self> {
        let members = members.strip_suffix('}')?;
        let (peer, rest) = members.strip_prefix(",\"peer\":\"")?.split_once('"')?;
        let (id, rest) = rest.strip_prefix(",\"id\":\"")?.split_once('"')?;
        let (what, rest) = rest.strip_prefix(",\"what\":\"")?.split_once('"')?;
        let said = Self {
            peer: peer.parse().ok()?,
            message_id: id.parse().ok()?,
            what: Did::of(what)?,
            tries: rest.strip_prefix(",\"try\":")?.parse().ok()?,
            reason: None,
        };
        Line::writes(version, members, |line| said.write(line)).then_some(said)
    }

    /// The line of what became of a message, that nobody tried before.
    pub(crate) fn of(peer: &AgentId, message_id: MessageId, what: Did) -> Self {
        Self {
            peer: peer.clone(),
            message_id,
            what,
            tries: 1,
            reason: None,
        }
    }
}

names! {
    /// The things that become of messages.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Did in "what" {
        /// The agent took it from the inbox.
        Acknowledged "acknowledged",
        /// A daemon's own answer was tried and could not be made.
        AnswerFailed "answer-failed",
        /// A draft's life ended before there was a session.
        DraftExpired "draft-expired",
        /// A draft will not be sent: the peer refused the handshake that it waited for, or our own side did. Or a signed
        /// message never left, because nothing was heard of the peer until its life or its session ended.
        DraftRefused "draft-refused",
        /// A message of ours was given up: no receipt came two minutes after its life had ended.
        Expired "expired",
        /// Our agent began to handle a message.
        Started "started",
        /// Our agent could not handle it; after the fifth time it goes to the quarantine.
        Failed "failed",
        /// It goes to the quarantine: five tries began, and none came to an end.
        SetAside "set-aside",
        /// Our agent has handled it and keeps it, to answer later: its tries count anew.
        Kept "kept",
        /// A person took it out of the quarantine, to be tried again.
        Retried "retried",
        /// A person gave it up.
        Dropped "dropped",
    }
}
