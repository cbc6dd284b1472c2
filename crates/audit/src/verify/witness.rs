//! Heads that other logs remember: every message names the newest durable line of its sender's log, so
//! each peer's log is a witness.

use std::collections::{HashMap, HashSet, VecDeque};

use signet_proto::ids::{AgentId, Digest};
use signet_proto::time::Timestamp;

use super::report::Witness;
use crate::chain::Head;
use crate::claim::ClaimTeller;

/// A head that a message carries.
pub(super) struct SeenHead {
    pub(super) sender: AgentId,
    pub(super) head: Digest,
    /// When the sender of the head signed it.
    pub(super) signed: Timestamp,
    /// The line of the log that holds the message.
    pub(super) seq: u64,
}

/// What a walk is to tell beside its report.
pub(super) enum WalkTelling {
    /// Nothing.
    Nothing,
    /// What other logs remember of this one, and this one of them.
    Testimony,
    /// What its lines say of messages with one peer, as they are read.
    Claims(ClaimTeller),
}

/// What one log can say about others, and be asked by them. Kept only when several logs are given:
/// 32 bytes a line and 64 a message.
#[derive(Default)]
pub(super) struct Testimony {
    /// Whose log it is, known even where its first file was not given.
    pub(super) agent: Option<AgentId>,
    /// The hash of every line, from `first` on.
    pub(super) lines: Vec<Digest>,
    pub(super) first: u64,
    /// The time of the first line given, where earlier files may exist that were not given.
    pub(super) begins: Option<Timestamp>,
    /// The heads that proven incoming messages carry.
    pub(super) seen: Vec<SeenHead>,
}

/// What a witness says.
#[derive(Default)]
pub(crate) struct WitnessStatement {
    pub(super) confirmed: Option<Witness>,
    /// The first heads that no line has, and how many there are.
    pub(crate) unknown: Vec<u64>,
    pub(crate) unknown_count: u64,
}

impl Testimony {
    /// What `witness` remembers of this log, whose lines went on with `grown` since.
    pub(super) fn ask(&self, witness: &Self, grown: &HashSet<Digest>) -> WitnessStatement {
        let mut heads: Vec<(Digest, &SeenHead, Option<u64>)> = self
            .said_by(witness)
            .map(|seen| (seen.head, seen, None))
            .collect();
        heads.sort_unstable_by_key(|(head, ..)| *head);
        for (seq, line) in (self.first..).zip(&self.lines) {
            let start = heads.partition_point(|(head, ..)| head < line);
            let same = heads
                .iter_mut()
                .skip(start)
                .take_while(|(head, ..)| head == line);
            same.for_each(|(.., found)| *found = Some(seq));
        }
        let mut statement = WitnessStatement::default();
        for (head, seen, found) in heads {
            match found {
                Some(seq) => statement.confirm(witness.agent.as_ref(), Head { seq, hash: head }),
                None if grown.contains(&head) || self.may_precede(seen) => {}
                None => statement.doubt(seen.seq),
            }
        }
        statement.unknown.sort_unstable();
        statement
    }

    /// The first line in which two logs of one agent differ.
    pub(super) fn differs_from(&self, other: &Self) -> Option<u64> {
        if self.agent.is_none() || self.agent != other.agent {
            return None;
        }
        let first = self.first.max(other.first);
        let (ours, theirs) = (self.from(first), other.from(first));
        let differs = ours
            .iter()
            .zip(theirs)
            .position(|(our, their)| our != their);
        differs.map(|index| first + index as u64)
    }

    fn from(&self, first: u64) -> &[Digest] {
        let skipped = usize::try_from(first.saturating_sub(self.first)).unwrap_or(usize::MAX);
        self.lines.get(skipped..).unwrap_or_default()
    }

    fn said_by<'a>(&self, witness: &'a Self) -> impl Iterator<Item = &'a SeenHead> {
        let me = self.agent.clone();
        witness
            .seen
            .iter()
            .filter(move |seen| Some(&seen.sender) == me.as_ref())
    }

    /// Whether the head may be a line before those that were given.
    fn may_precede(&self, seen: &SeenHead) -> bool {
        self.begins.is_some_and(|begins| seen.signed <= begins)
    }
}

impl WitnessStatement {
    pub(crate) fn confirm(&mut self, witness: Option<&AgentId>, head: Head) {
        let Some(agent) = witness else { return };
        let newest = self.confirmed.as_ref().map_or(0, |known| known.head.seq);
        if newest < head.seq {
            self.confirmed = Some(Witness {
                agent: agent.clone(),
                head,
            });
        }
    }

    pub(crate) fn doubt(&mut self, seq: u64) {
        self.unknown_count += 1;
        if self.unknown.len() < TOLD {
            self.unknown.push(seq);
        }
    }
}

/// The newest lines of a log: what its own messages may name as its head.
#[derive(Default)]
pub(super) struct RecentLines {
    order: VecDeque<Digest>,
    known: HashMap<Digest, u64>,
    count: u64,
    is_full: bool,
}

impl RecentLines {
    pub(super) fn push(&mut self, line: Digest) {
        self.order.push_back(line);
        self.count += 1;
        self.known.insert(line, self.count);
        if self.order.len() > WINDOW
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
            self.is_full = true;
        }
    }

    /// Which line it is, counted from the first that was given.
    pub(super) fn place(&self, head: &Digest) -> Option<u64> {
        self.known.get(head).copied()
    }

    /// Whether a message of our own, written now, cannot have had `head`. Of a log whose beginning was
    /// not given, only lines that were seen can be judged.
    pub(super) fn refutes(&self, head: &Digest, is_partial: bool) -> bool {
        !self.known.contains_key(head) && (!is_partial || self.is_full)
    }
}

/// Far more lines than are ever written between signing a message and its own line.
const WINDOW: usize = 65_536;
/// How many unknown heads are told by their line.
const TOLD: usize = 5;
