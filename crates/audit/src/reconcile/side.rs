//! What one log says about the messages between its agent and another.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use signet_proto::entry::{Did, Direction, Entry, Evidence, Ruling, Verdict};
use signet_proto::envelope::{Message, Method};
use signet_proto::ids::{AgentId, Digest, MessageId, SessionId};
use signet_proto::receipt::{MISSING, Receipt};
use signet_proto::time::Timestamp;

use crate::error::LogError;
use crate::read::read_file;
use crate::record::LogLine;
use crate::verify::log_files;

/// A message that a log says was sent or came.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    /// The line that says so.
    pub(super) seq: u64,
    pub(super) ts: Timestamp,
    pub(super) hash: Digest,
    pub(super) message_id: MessageId,
    pub(super) signed: Timestamp,
    pub(super) place: Option<(SessionId, u64)>,
    pub(super) head: Option<Digest>,
    pub(super) ruling: Ruling,
    pub(super) is_receipt: bool,
}

/// One log, as far as it is about one peer.
#[derive(Default)]
pub(super) struct Side {
    pub(super) agent: Option<AgentId>,
    pub(super) files: Vec<PathBuf>,
    pub(super) sent: Vec<Claim>,
    pub(super) came: Vec<Claim>,
    /// Hashes of what was refused and of which the log keeps the headers alone: its own word that it came,
    /// and no proof that anybody signed it.
    pub(super) withheld: HashSet<Digest>,
    /// Every line and its number, for the heads that the peer logged.
    pub(super) lines: HashMap<Digest, u64>,
    pub(super) count: u64,
    /// When the first line was written, when it is not the first of the log.
    pub(super) begins: Option<Timestamp>,
    departed: HashSet<Digest>,
    receipts: HashMap<SessionId, Receipted>,
    answered: HashSet<MessageId>,
    expired: HashSet<MessageId>,
}

/// What the peer's receipts say of one session.
#[derive(Default)]
struct Receipted {
    through: u64,
    except: BTreeMap<u64, String>,
}

/// What became of a message, as far as its sender's log knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SentState {
    Sent,
    Expired,
    Received,
    Refused(String),
    Answered,
}

/// Whose log the files at `path` are.
pub(super) fn owner(path: &Path) -> Result<Option<AgentId>, LogError> {
    for file in log_files(path)? {
        for line in read_file(&file)?.filter_map(readable) {
            let found = match line?.entry {
                Some(Entry::Genesis(own)) => Some(own.agent),
                Some(Entry::Message(verdict)) => {
                    verdict.message().map(|message| match verdict.direction {
                        Direction::In => message.headers.recipient_id.clone(),
                        Direction::Out => message.headers.agent_id.clone(),
                    })
                }
                _ => None,
            };
            if found.is_some() {
                return Ok(found);
            }
        }
    }
    Ok(None)
}

/// Passes over what cannot be read as a line; verification reports it.
fn readable(line: Result<LogLine, LogError>) -> Option<Result<LogLine, LogError>> {
    match line {
        Err(LogError::Record { .. }) => None,
        line => Some(line),
    }
}

impl Side {
    /// Reads the log at `path`, as far as it is about `peer`.
    pub(super) fn read(path: &Path, agent: AgentId, peer: &AgentId) -> Result<Self, LogError> {
        let mut side = Self {
            agent: Some(agent),
            files: log_files(path)?,
            ..Self::default()
        };
        for file in side.files.clone() {
            for line in read_file(&file)?.filter_map(readable) {
                side.take(line?, peer);
            }
        }
        Ok(side)
    }

    fn take(&mut self, line: LogLine, peer: &AgentId) {
        if self.lines.is_empty() {
            self.begins = (line.seq != 1).then_some(line.ts);
        }
        self.count += 1;
        self.lines.insert(line.hash, line.seq);
        let (seq, ts) = (line.seq, line.ts);
        match line.entry {
            Some(Entry::Message(verdict)) => self.take_verdict(seq, ts, &verdict, peer),
            Some(Entry::Outcome(outcome)) if outcome.what == Did::Expired => {
                self.expired.insert(outcome.message_id);
            }
            _ => {}
        }
    }

    fn take_verdict(&mut self, seq: u64, ts: Timestamp, verdict: &Verdict, peer: &AgentId) {
        if matches!(verdict.evidence, Evidence::Withheld(..)) {
            self.withheld.insert(verdict.hash);
        }
        let Evidence::Whole(message) = &verdict.evidence else {
            return;
        };
        let headers = &message.headers;
        let other = match verdict.direction {
            Direction::In => &headers.agent_id,
            Direction::Out => &headers.recipient_id,
        };
        if other != peer {
            return;
        }
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
        match verdict.direction {
            // A second line of the same message is a copy, which verification reports; it is not counted again.
            Direction::Out if self.departed.insert(claim.hash) => self.sent.push(claim),
            Direction::Out => {}
            Direction::In => {
                if verdict.ruling == Ruling::Accepted {
                    self.learn(message);
                }
                self.came.push(claim);
            }
        }
    }

    /// Takes note of what an accepted message of the peer proves about our messages.
    fn learn(&mut self, message: &Message) {
        let headers = &message.headers;
        if message.form.method().is_none() {
            self.answered.extend(headers.in_reply_to);
        }
        let body = message.body();
        let is_receipt = message.form.method() == Some(Method::Receipt);
        let receipt = body.filter(|_| is_receipt).and_then(Receipt::parse);
        if let (Some(receipt), Some(session)) = (receipt, headers.session) {
            let known = self.receipts.entry(session).or_default();
            known.through = known.through.max(receipt.through);
            let except = receipt.except.into_iter();
            known
                .except
                .extend(except.map(|(number, why)| (number, why.reason)));
        }
    }

    /// What became of a message that this side sent.
    pub(super) fn state(&self, claim: &Claim) -> SentState {
        let known = claim
            .place
            .and_then(|(session, number)| self.receipts.get(&session).map(|known| (known, number)));
        let refused = known.and_then(|(known, number)| known.except.get(&number));
        let is_through = known.is_some_and(|(known, number)| number <= known.through);
        if self.answered.contains(&claim.message_id) {
            SentState::Answered
        } else if let Some(reason) = refused.filter(|reason| *reason != MISSING) {
            SentState::Refused(reason.clone())
        } else if is_through && refused.is_none() {
            SentState::Received
        } else if self.expired.contains(&claim.message_id) {
            SentState::Expired
        } else {
            SentState::Sent
        }
    }

    /// Whether something of that time may stand in a part of the log that was not given.
    pub(super) fn may_precede(&self, signed: Timestamp) -> bool {
        self.begins.is_some_and(|begins| signed <= begins)
    }
}

impl std::fmt::Display for SentState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sent => f.write_str("sent"),
            Self::Expired => f.write_str("expired"),
            Self::Received => f.write_str("received"),
            Self::Refused(reason) => write!(f, "refused ({reason})"),
            Self::Answered => f.write_str("answered"),
        }
    }
}
