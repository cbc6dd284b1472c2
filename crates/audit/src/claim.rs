//! What one line of a log says about the messages between its agent and one peer.

use std::sync::mpsc::SyncSender;

use signet_proto::entry::{Did, Direction, Entry, Evidence, Ruling, Verdict};
use signet_proto::envelope::{Message, Method};
use signet_proto::ids::{AgentId, Digest, MessageId, SessionId};
use signet_proto::receipt::Receipt;
use signet_proto::time::Timestamp;

/// A message that a log says was sent or came.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    /// The line that says so.
    pub(crate) seq: u64,
    pub(crate) ts: Timestamp,
    pub(crate) hash: Digest,
    pub(crate) message_id: MessageId,
    pub(crate) signed: Timestamp,
    pub(crate) place: Option<(SessionId, u64)>,
    pub(crate) head: Option<Digest>,
    pub(crate) ruling: Ruling,
    pub(crate) is_receipt: bool,
}

/// What an accepted message of the peer proves about messages of the log's agent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Learned {
    /// The message that it answers.
    pub(crate) answered: Option<MessageId>,
    /// What it receipts, and in which session.
    pub(crate) receipt: Option<(SessionId, Receipt)>,
}

/// What one line says.
#[derive(Clone, Debug)]
pub(crate) enum Told {
    /// The log does not begin with the first line of all, but then.
    Begins(Timestamp),
    /// The agent sent a message; the number is that of the line that the message names as head of this log, where that is
    /// one of the newest lines.
    Sent(Claim, Option<u64>),
    /// A message came, and whether its signature holds.
    Came(Claim, Learned, bool),
    /// A message was refused, and the log keeps its headers alone: its own word that the message came, and no proof that
    /// anybody signed it.
    Withheld(Digest),
    /// A message ran out.
    Expired(MessageId),
}

impl Told {
    /// What the entry in line `seq` says about messages with `peer`; of a head and a signature it knows nothing.
    pub(crate) fn by(seq: u64, ts: Timestamp, entry: &Entry, peer: &AgentId) -> Option<Self> {
        match entry {
            Entry::Message(verdict) => Self::by_verdict(seq, ts, verdict, peer),
            Entry::Outcome(outcome) if outcome.what == Did::Expired => {
                Some(Self::Expired(outcome.message_id))
            }
            _ => None,
        }
    }

    fn by_verdict(seq: u64, ts: Timestamp, verdict: &Verdict, peer: &AgentId) -> Option<Self> {
        if matches!(verdict.evidence, Evidence::Withheld(..)) {
            return Some(Self::Withheld(verdict.hash));
        }
        let Evidence::Whole(message) = &verdict.evidence else {
            return None;
        };
        let headers = &message.headers;
        let other = match verdict.direction {
            Direction::In => &headers.agent_id,
            Direction::Out => &headers.recipient_id,
        };
        let claim = Claim {
            seq,
            ts,
            hash: message.hash(),
            message_id: headers.message_id,
            signed: headers.timestamp,
            place: headers.session.zip(headers.sequence),
            head: headers.audit_head,
            ruling: verdict.ruling,
            is_receipt: message.form.method() == Some(Method::Receipt),
        };
        let is_accepted = verdict.ruling == Ruling::Accepted;
        (other == peer).then(|| match verdict.direction {
            Direction::Out => Self::Sent(claim, None),
            Direction::In if is_accepted => Self::Came(claim, Learned::of(message), false),
            Direction::In => Self::Came(claim, Learned::default(), false),
        })
    }
}

impl Learned {
    fn of(message: &Message) -> Self {
        let headers = &message.headers;
        let method = message.form.method();
        // Parse the body of receipts alone: nothing is needed from the bodies of other messages, and parsing each one
        // would cost time.
        let is_receipt = method == Some(Method::Receipt);
        let body = is_receipt.then(|| message.body()).flatten();
        let receipt = body.and_then(Receipt::parse);
        Self {
            answered: headers.in_reply_to.filter(|_| method.is_none()),
            receipt: headers.session.zip(receipt),
        }
    }
}

/// Passes on what the lines of a log say about messages with one peer, in their order.
#[derive(Debug)]
pub(crate) struct ClaimTeller {
    pub(crate) peer: AgentId,
    told: Vec<Told>,
    to: SyncSender<Vec<Told>>,
}

impl ClaimTeller {
    pub(crate) fn new(peer: AgentId, to: SyncSender<Vec<Told>>) -> Self {
        Self {
            peer,
            told: Vec::new(),
            to,
        }
    }

    pub(crate) fn tell(&mut self, told: Told) {
        self.told.push(told);
        if self.told.len() >= TOGETHER {
            self.pass_on();
        }
    }

    fn pass_on(&mut self) {
        // Sending fails once the comparison has ended early. Ignore that: the log still has to be verified to its end.
        let _ = self.to.send(std::mem::take(&mut self.told));
    }
}

impl Drop for ClaimTeller {
    fn drop(&mut self) {
        self.pass_on();
    }
}

/// So many claims are passed on together.
const TOGETHER: usize = 256;

#[cfg(test)]
pub(crate) mod tests;
