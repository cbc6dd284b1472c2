//! The lines of what is wrong and only a person can judge.

use super::LineSubject;
use super::members::{members, names};
use crate::ids::{AgentId, SessionId};
use serde::{Deserialize, Serialize};

names! {
    /// What is wrong between us and a peer.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Alarm in "what" {
        /// The peer behaves as if somebody else acted with our keys: a second copy of this agent runs, or
        /// this one was restored from a backup while it ran, or the peer makes it look so.
        SecondCopy "second-copy",
        /// The peer remembers more of us than we do: this agent was restored from a backup.
        Restored "restored-backup",
        /// The peer remembers less of us than it did: it was restored from a backup.
        PeerRestored "peer-restored",
        /// The peer used a number for two messages: it was restored from a backup, or runs twice.
        SequenceReuse "sequence-reuse",
        /// Our own log went back behind a line that we wrote, and our person accepted that.
        LogLost "log-lost",
        /// A finished month of our own log is not what we wrote.
        LogChanged "log-changed",
    }
}

members! {
    /// An alarm begins, or a person has cleared it.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct AlarmLine {
        /// With whom it showed.
        "peer" peer: AgentId,
        /// What it is.
        "what" what: Alarm,
        /// Whether a person has seen to it.
        "cleared" cleared: bool,
    }

    fn about(&self) -> LineSubject {
        LineSubject::peer(&self.peer)
    }

    fn describe(&self) -> String {
        let state = if self.cleared { "cleared" } else { "rings" };
        format!("{state:<12}  {:<14}  {}", self.peer, self.what.as_str())
    }
}

members! {
    /// Numbers of a peer's that are missing.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct HoleLine {
        /// Whose.
        "peer" peer: AgentId,
        /// In which session.
        "session" session: SessionId,
        /// The first.
        "from" from: u64,
        /// The last.
        "to" to: u64,
    }

    fn about(&self) -> LineSubject {
        LineSubject::peer(&self.peer)
    }

    fn describe(&self) -> String {
        let Self { peer, from, to, .. } = self;
        format!("{:<12}  {peer:<14}  {from} to {to} never came", "missing")
    }
}

impl Alarm {
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
}
