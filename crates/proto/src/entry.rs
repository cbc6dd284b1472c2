//! What the log remembers: everything `Node` says of its inputs, and can be told
//! again after a restart.
//!
//! An entry knows its own members; sequence, time and chain around them are the audit crate's.
//! Nothing here holds plaintext of tier 3 or 4.

mod alarm;
mod attempt;
mod derived;
mod handoff;
mod line;
mod outcome;
mod standing;
mod verdict;
mod version;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::certificate::Certificate;
use crate::envelope::{Claimed, Message, Method, Sealed};
use crate::ids::{AgentId, Digest, IdError, KeyId, MessageId};
use crate::reject::Reason;

use crate::statement::{PauseStatement, Revocation};

pub use alarm::{Alarm, AlarmLine, HoleLine};
pub use attempt::{AttemptLine, Tried};
pub use handoff::{HandoffLine, Offered, TaskChange};
use line::{Line, Members};
pub use outcome::{Did, OutcomeLine};
use signet_json::{Map, Value};
pub use standing::ApprovalLine;
pub use version::LineVersion;

const CLIENT_KEY: &str = "client-key";
/// How much of unproven input is kept, in bytes.
pub const RAW_KEPT: usize = 1024;

/// One line's worth of memory.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Entry {
    /// A message, in or out, and what was decided about it.
    Message(Verdict),
    /// The first line of a log: whose it is.
    Genesis(Certificate),
    /// A peer's standing changed.
    Trust(TrustChange, Certificate),
    /// A root key took certificates back.
    Revoked(Revocation),
    /// A message of ours waits for a session, or for its person.
    Draft(DraftLine),
    /// A person decided about a draft.
    Approval(ApprovalLine),
    /// Our person lets all their agents pause, or go on.
    Pause(PauseStatement),
    /// What became of an accepted message or a draft.
    Outcome(OutcomeLine),
    /// A task changed.
    Handoff(HandoffLine),
    /// Our own agent tried to send something, and our own side refused it.
    Attempt(AttemptLine),
    /// Something is wrong that only a person can judge, or a person has judged it.
    Alarm(AlarmLine),
    /// Messages of a peer's that never came, and that it did not give up.
    Hole(HoleLine),
    /// A peer's clock and ours differ.
    Clock {
        /// Whose.
        peer: AgentId,
        /// The peer's minus ours, in milliseconds.
        difference_ms: i64,
    },
    /// Input over a budget, counted instead of written.
    Flood(Flood),
    /// The state beside the log was missing or damaged, and was made again from the log.
    Rebuilt {
        /// Why, for a person.
        cause: String,
    },
    /// The log went back behind a line that was written, and a person accepted that.
    Loss {
        /// The newest line that is known to be lost.
        line: u64,
        /// SHA-256 of that line.
        hash: Digest,
    },
    /// Messages were lost before they could be judged.
    Gap {
        /// Why, for a person.
        cause: String,
    },
}

/// Which way a message went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To us.
    In,
    /// From us.
    Out,
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

/// How a peer's standing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustChange {
    /// A person pinned the root and bound the agent-id.
    Bound,
    /// A newer certificate of the same root came with a handshake.
    Renewed,
    /// A stranger announced itself and waits for a person's decision.
    Pending,
    /// A person refused a stranger.
    Refused,
    /// A person took back the trust in an agent.
    Withdrawn,
    /// A pinned principal appeared with another root key: an alarm, and nothing else.
    RootChanged,
    /// The successor that a root key had named took its place.
    RootSucceeded,
    /// A person pinned another root key, which nobody had named.
    RootReplaced,
    /// A root key took certificates back ([`Entry::Revoked`]).
    Revoked,
}

/// A message that waits: its JSON without what signing adds.
#[derive(Clone, Debug, PartialEq)]
pub struct DraftLine {
    /// For whom.
    pub peer: AgentId,
    /// Its name.
    pub message_id: MessageId,
    /// Seconds that it may wait and then live.
    pub life: u64,
    /// The root key that the recipient is bound to, when the person's approval is needed: it must be
    /// the same when the draft leaves.
    pub approve: Option<KeyId>,
    /// The whole message without timestamp, expires-at, key-id, session, sequence, audit-head and
    /// signature; what tiers 3 and 4 carry is sealed for ourselves in it.
    pub message: Value,
    /// What is sealed in it, for our own person.
    pub copy: Option<Sealed>,
    /// The tag of its caller's key and content, when the caller gave one.
    pub client_key: Option<ClientKey>,
}

/// What a line says of its caller's key: 16 bytes of the key's tag and 16 of the content's, spelt as the
/// key-ids are that readers of version 2 expect there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientKey(pub Digest);

impl FromStr for ClientKey {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let key: KeyId = text.parse()?;
        Ok(Self(*key.digest()))
    }
}

impl fmt::Display for ClientKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ed25519:{}", self.0)
    }
}

impl DraftLine {
    /// What is sealed in the message, for ourselves.
    pub fn sealed(&self) -> Option<Sealed> {
        let places = ["/params/sealed", "/result/sealed", "/error/data/sealed"];
        let found = places
            .into_iter()
            .find_map(|place| self.message.pointer(place));
        found.and_then(|sealed| Sealed::parse(sealed).ok())
    }
}

/// Input over a budget that shares a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flood {
    /// How many.
    pub count: u64,
    /// Their bytes altogether.
    pub bytes: u64,
    /// SHA-256 over the running hash and each one's hash, in order of arrival, from 32 zero bytes.
    pub hash: Digest,
}

/// A line of a log does not say what its kind must.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the line's `{0}` is absent or malformed")]
pub struct EntryError(pub &'static str);

impl Entry {
    /// The kind, as the line names it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Message(_) => "message",
            Self::Genesis(_) => "genesis",
            Self::Trust(..) | Self::Revoked(_) => "trust",
            Self::Draft(_) => "draft",
            Self::Approval(_) => "approval",
            Self::Pause(_) => "pause",
            Self::Outcome(_) => "outcome",
            Self::Handoff(_) => "handoff",
            Self::Attempt(_) => "attempt",
            Self::Alarm(_) => "alarm",
            Self::Hole(_) => "hole",
            Self::Clock { .. } => "clock",
            Self::Flood(_) => "flood",
            Self::Rebuilt { .. } => "rebuilt",
            Self::Loss { .. } => "loss",
            Self::Gap { .. } => "gap",
        }
    }

    /// Writes `"kind":…` and the entry's members, without braces.
    pub fn write(&self, out: &mut Vec<u8>) {
        self.write_as(LineVersion::CURRENT, out);
    }

    /// As [`Entry::write`], in the members of that version.
    pub fn write_as(&self, version: LineVersion, out: &mut Vec<u8>) {
        let mut line = Line { out, version };
        line.first("kind", self.kind());
        match self {
            Self::Message(verdict) => verdict.write(&mut line),
            Self::Genesis(certificate) => line.certificate(certificate),
            Self::Trust(change, certificate) => {
                line.text("change", change.as_str());
                line.text("peer", certificate.agent.as_str());
                line.certificate(certificate);
            }
            Self::Revoked(revocation) => standing::write_revocation(revocation, &mut line),
            Self::Approval(approved) => standing::write_approval(approved, &mut line),
            Self::Pause(statement) => standing::write_pause(statement, &mut line),
            Self::Draft(draft) => {
                line.text("peer", draft.peer.as_str());
                line.message_id(&draft.message_id);
                if version >= LineVersion::V2 {
                    derived::write_draft(draft, &mut line);
                }
                line.number("life", draft.life);
                if let Some(root) = draft.approve {
                    line.text("approve", &root.to_string());
                }
                line.value("message", &draft.message);
                line.copy(draft.copy.as_ref());
                if let Some(key) = draft.client_key.filter(|_| version >= LineVersion::V2) {
                    line.text(CLIENT_KEY, &key.to_string());
                }
            }
            Self::Outcome(outcome) => outcome.write(&mut line),
            Self::Handoff(handoff) => handoff.write(&mut line),
            Self::Attempt(attempt) => attempt.write(&mut line),
            Self::Alarm(alarm) => alarm.write(&mut line),
            Self::Hole(hole) => hole.write(&mut line),
            Self::Clock {
                peer,
                difference_ms,
            } => {
                line.text("peer", peer.as_str());
                line.value("difference-ms", &Value::from(*difference_ms));
            }
            Self::Flood(flood) => {
                line.number("count", flood.count);
                line.number("bytes", flood.bytes);
                line.text("sha256", &flood.hash.to_hex());
            }
            Self::Loss { line: number, hash } => {
                line.number("line", *number);
                line.text("sha256", &hash.to_hex());
            }
            Self::Gap { cause } | Self::Rebuilt { cause } => line.text("cause", cause),
        }
    }

    /// Reads an entry from the members of a log line. `None` for kinds that are the chain's own.
    ///
    /// # Errors
    /// Names the member at fault.
    pub fn parse(mut line: Map<String, Value>) -> Result<Option<Self>, EntryError> {
        let members = Members(&line);
        Ok(Some(match members.text("kind")? {
            "message" => return Verdict::parse(line).map(|verdict| Some(Self::Message(verdict))),
            "genesis" => Self::Genesis(members.certificate()?),
            "trust" => match TrustChange::parse(members.text("change")?)? {
                TrustChange::Revoked => Self::Revoked(standing::parse_revocation(&line)?),
                change => Self::Trust(change, members.certificate()?),
            },
            "approval" => Self::Approval(standing::parse_approval(&line)?),
            "pause" => Self::Pause(standing::parse_pause(&line)?),
            "draft" => Self::Draft(DraftLine {
                peer: members.parsed("peer")?,
                message_id: members.message_id()?,
                life: members.number("life")?,
                approve: match line.contains_key("approve") {
                    true => Some(members.parsed("approve")?),
                    false => None,
                },
                copy: members.copy()?,
                client_key: match line.contains_key(CLIENT_KEY) {
                    true => Some(members.parsed(CLIENT_KEY)?),
                    false => None,
                },
                message: line.remove("message").ok_or(EntryError("message"))?,
            }),
            "outcome" => Self::Outcome(OutcomeLine::parse(members, &line)?),
            "handoff" => Self::Handoff(HandoffLine::parse(&line)?),
            "attempt" => Self::Attempt(AttemptLine::parse(&line)?),
            "alarm" => Self::Alarm(AlarmLine::parse(members)?),
            "hole" => Self::Hole(HoleLine::parse(members)?),
            "clock" => Self::Clock {
                peer: members.parsed("peer")?,
                difference_ms: line
                    .get("difference-ms")
                    .and_then(Value::as_i64)
                    .ok_or(EntryError("difference-ms"))?,
            },
            "flood" => Self::Flood(Flood {
                count: members.number("count")?,
                bytes: members.number("bytes")?,
                hash: members.digest("sha256")?,
            }),
            "rebuilt" => Self::Rebuilt {
                cause: members.text("cause")?.to_owned(),
            },
            "loss" => Self::Loss {
                line: members.number("line")?,
                hash: members.digest("sha256")?,
            },
            "gap" => Self::Gap {
                cause: members.text("cause")?.to_owned(),
            },
            _ => return Ok(None),
        }))
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
