//! What one log says about the messages between its agent and another.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use signet_proto::entry::{Direction, Entry};
use signet_proto::ids::{AgentId, Digest, MessageId, SessionId};
use signet_proto::receipt::{MISSING, Receipt};
use signet_proto::time::Timestamp;

use crate::claim::{Claim, Told};
use crate::error::LogError;
use crate::read::read_file;
use crate::record::LogLine;
use crate::verify::log_files;

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
    /// When the first line was written, when it is not the first of the log.
    pub(super) begins: Option<Timestamp>,
    departed: HashSet<Digest>,
    receipts: HashMap<SessionId, Receipted>,
    /// Messages of ours that were answered, and that ran out.
    pub(super) answered: HashSet<MessageId>,
    pub(super) expired: HashSet<MessageId>,
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
    /// A log of which nothing was read yet.
    pub(super) fn of(agent: AgentId) -> Self {
        Self {
            agent: Some(agent),
            ..Self::default()
        }
    }

    /// What became of that message is not asked any more.
    pub(super) fn forget(&mut self, id: &MessageId) {
        self.answered.remove(id);
        self.expired.remove(id);
    }

    /// Reads the log at `path`, as far as it is about `peer`.
    pub(super) fn read(path: &Path, agent: AgentId, peer: &AgentId) -> Result<Self, LogError> {
        let mut side = Self {
            files: log_files(path)?,
            ..Self::of(agent)
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
        self.lines.insert(line.hash, line.seq);
        let told = line.entry.as_ref();
        let told = told.and_then(|entry| Told::by(line.seq, line.ts, entry, peer));
        match told {
            // A second line about the same message is a copy: verification reports the copy, so do not count the message again.
            Some(Told::Sent(claim, _)) if self.departed.insert(claim.hash) => self.sent.push(claim),
            Some(Told::Sent(..) | Told::Begins(_)) | None => {}
            Some(Told::Came(claim, learned, _)) => {
                self.answered.extend(learned.answered);
                self.learn(learned.receipt);
                self.came.push(claim);
            }
            Some(Told::Withheld(hash)) => drop(self.withheld.insert(hash)),
            Some(Told::Expired(id)) => drop(self.expired.insert(id)),
        }
    }

    /// Takes note of what a receipt of the peer says about our messages.
    pub(super) fn learn(&mut self, receipt: Option<(SessionId, Receipt)>) {
        if let Some((session, receipt)) = receipt {
            let known = self.receipts.entry(session).or_default();
            known.through = known.through.max(receipt.through);
            let except = receipt.except.into_iter();
            known
                .except
                .extend(except.map(|(number, why)| (number, why.reason)));
        }
    }

    /// For what the peer says it refused a message, if the newest receipt that names it says so.
    pub(super) fn refusal(&self, session: SessionId, number: u64) -> Option<&str> {
        let known = self.receipts.get(&session)?;
        let reason = known.except.get(&number)?;
        (reason != MISSING).then_some(reason)
    }

    /// What became of a message that this side sent.
    pub(super) fn state(&self, claim: &Claim) -> SentState {
        let known = claim
            .place
            .and_then(|(session, number)| self.receipts.get(&session).map(|known| (known, number)));
        let refused = known.and_then(|(known, number)| known.except.get(&number));
        let is_through = known.is_some_and(|(known, number)| number <= known.through);
        // An answer is the strongest proof, so check it first: a peer that answered a message has received it, whatever
        // an earlier receipt says.
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
