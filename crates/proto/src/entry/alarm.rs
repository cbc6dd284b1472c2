//! The lines of what is wrong and only a person can judge.

use super::EntryError;
use super::line::{Line, Members};
use crate::ids::{AgentId, SessionId};
use serde::{Deserialize, Serialize};
use signet_json::Value;

/// What is wrong between us and a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Alarm {
    /// The peer behaves as if somebody else acted with our keys: a second copy of this agent runs, or
    /// this one was restored from a backup while it ran, or the peer makes it look so.
    SecondCopy,
    /// The peer remembers more of us than we do: this agent was restored from a backup.
    Restored,
    /// The peer remembers less of us than it did: it was restored from a backup.
    PeerRestored,
    /// The peer used a number for two messages: it was restored from a backup, or runs twice.
    SequenceReuse,
    /// Our own log went back behind a line that we wrote, and our person accepted that.
    LogLost,
    /// A finished month of our own log is not what we wrote.
    LogChanged,
}

/// An alarm begins, or a person has cleared it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlarmLine {
    /// With whom it showed.
    pub peer: AgentId,
    /// What it is.
    pub what: Alarm,
    /// Whether a person has seen to it.
    pub cleared: bool,
}

/// Numbers of a peer's that are missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoleLine {
    /// Whose.
    pub peer: AgentId,
    /// In which session.
    pub session: SessionId,
    /// The first.
    pub from: u64,
    /// The last.
    pub to: u64,
}

impl Alarm {
    const ALL: [Self; 6] = [
        Self::SecondCopy,
        Self::Restored,
        Self::PeerRestored,
        Self::SequenceReuse,
        Self::LogLost,
        Self::LogChanged,
    ];

    /// As the line's `what` names it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SecondCopy => "second-copy",
            Self::Restored => "restored-backup",
            Self::PeerRestored => "peer-restored",
            Self::SequenceReuse => "sequence-reuse",
            Self::LogLost => "log-lost",
            Self::LogChanged => "log-changed",
        }
    }

    /// What it means and what to do, for a person. It rests on what `peer` alone did, and accuses
    /// nobody else.
    pub fn text(self, peer: &AgentId) -> String {
        match self {
            Self::SecondCopy => format!(
                "{peer} behaves as if another copy of this agent ran; it may be {peer}'s own doing. \
                 New sessions with {peer} alone wait: make sure that this agent runs once and was not \
                 put back to an older copy, ask {peer}'s person, then `signet alarms clear`"
            ),
            Self::Restored => format!(
                "{peer} says that it has messages of this agent which this log does not know: this \
                 agent was put back to an older copy, or runs twice, or {peer} is wrong; compare the \
                 logs with `signet audit reconcile`"
            ),
            Self::PeerRestored => format!(
                "{peer} has forgotten what it had receipted: it was put back to an older copy; its \
                 person should compare the logs with `signet audit reconcile`"
            ),
            Self::SequenceReuse => format!(
                "{peer} gave one number to two messages: it was put back to an older copy, or runs \
                 twice; tell its person"
            ),
            Self::LogLost => format!(
                "the end of {peer}'s own log was lost, and that was accepted: whom it trusted and what it \
                 said since is forgotten; compare the logs with those of its peers: `signet audit reconcile`"
            ),
            Self::LogChanged => format!(
                "a finished month of {peer}'s own log is not what it wrote, or the log's anchor was taken away: \
                 `signet audit verify` says whether the log holds; put a month back from a copy, and find out who \
                 writes in its directory"
            ),
        }
    }

    pub(crate) fn parse(text: &str) -> Result<Self, EntryError> {
        let mut all = Self::ALL.into_iter();
        let found = all.find(|known| known.as_str() == text);
        found.ok_or(EntryError("what"))
    }
}

impl AlarmLine {
    pub(super) fn write(&self, line: &mut Line<'_>) {
        line.text("peer", self.peer.as_str());
        line.text("what", self.what.as_str());
        line.value("cleared", &Value::from(self.cleared));
    }

    pub(super) fn parse(line: Members<'_>) -> Result<Self, EntryError> {
        let cleared = line.0.get("cleared").and_then(Value::as_bool);
        Ok(Self {
            peer: line.parsed("peer")?,
            what: Alarm::parse(line.text("what")?)?,
            cleared: cleared.ok_or(EntryError("cleared"))?,
        })
    }
}

impl HoleLine {
    pub(super) fn write(&self, line: &mut Line<'_>) {
        line.text("peer", self.peer.as_str());
        line.text("session", &self.session.to_string());
        line.number("from", self.from);
        line.number("to", self.to);
    }

    pub(super) fn parse(line: Members<'_>) -> Result<Self, EntryError> {
        Ok(Self {
            peer: line.parsed("peer")?,
            session: line.parsed("session")?,
            from: line.number("from")?,
            to: line.number("to")?,
        })
    }
}
