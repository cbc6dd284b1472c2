//! Heads that other logs remember: every message names the newest durable line of its sender's log, so
//! each peer's log is a witness.

use std::collections::HashSet;

use signet_proto::ids::{AgentId, Digest};
use signet_proto::time::Timestamp;

use super::report::Witness;
use crate::chain::Head;
use crate::claim::ClaimTeller;
use crate::newest_keys::NewestKeys;

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
pub(super) struct RecentLines {
    /// With the place of each.
    lines: NewestKeys<Digest, u64>,
    count: u64,
}

impl Default for RecentLines {
    fn default() -> Self {
        Self {
            lines: NewestKeys::new(WINDOW),
            count: 0,
        }
    }
}

impl RecentLines {
    pub(super) fn push(&mut self, line: Digest) {
        self.count += 1;
        self.lines.push(line, self.count);
    }

    /// Which line it is, counted from the first that was given.
    pub(super) fn place(&self, head: &Digest) -> Option<u64> {
        self.lines.get(head).copied()
    }

    /// Whether a message of our own, written now, cannot have had `head`. Of a log whose beginning was
    /// not given, only lines that were seen can be judged.
    pub(super) fn refutes(&self, head: &Digest, is_partial: bool) -> bool {
        self.lines.get(head).is_none() && (!is_partial || self.lines.has_forgotten())
    }
}

/// Far more lines than are ever written between signing a message and its own line.
const WINDOW: usize = 65_536;
/// How many unknown heads are told by their line.
const TOLD: usize = 5;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn hash(number: u64) -> Digest {
        Digest::of(&[&number.to_be_bytes()])
    }

    fn moment(number: u64) -> Timestamp {
        Timestamp::from_millis(1_770_570_000_000).saturating_add(Duration::from_millis(number))
    }

    /// The statement of a witness in whose line `n` stands the head `n`, signed at the moment `n`.
    fn asked(log: &Testimony, heads: &[u64]) -> WitnessStatement {
        let seen = heads.iter().map(|number| SeenHead {
            sender: "agent-alice-001".parse().unwrap(),
            head: hash(*number),
            signed: moment(*number),
            seq: *number,
        });
        let witness = Testimony {
            agent: "agent-bob-001".parse().ok(),
            seen: seen.collect(),
            ..Testimony::default()
        };
        log.ask(&witness, &[hash(100)].into())
    }

    /// A log of which the lines 11 to 14 were given, the first of them written at moment 11.
    fn part() -> Testimony {
        Testimony {
            agent: "agent-alice-001".parse().ok(),
            lines: (11..15).map(hash).collect(),
            first: 11,
            begins: Some(moment(11)),
            seen: Vec::new(),
        }
    }

    #[test]
    fn a_head_may_stand_before_the_lines_that_were_given_but_not_behind_their_first_moment() {
        let mut log = part();
        log.lines.remove(0);
        log.first = 12;
        let said = asked(&log, &[3, 10, 11, 12, 14, 20, 100]);
        assert_eq!((said.unknown, said.unknown_count), (vec![20], 1));
        let confirmed = said.confirmed.unwrap();
        let head = Head {
            seq: 14,
            hash: hash(14),
        };
        assert_eq!(confirmed.head, head, "the newest");
        log.begins = None;
        let said = asked(&log, &[3, 10, 11, 12]);
        assert_eq!(said.unknown, [3, 10, 11], "the whole log was given");
    }

    #[test]
    fn of_many_unknown_heads_the_first_are_told_and_all_are_counted() {
        let mut statement = WitnessStatement::default();
        (1..=7).for_each(|seq| statement.doubt(seq));
        assert_eq!(statement.unknown, [1, 2, 3, 4, 5]);
        assert_eq!(statement.unknown_count, 7);
    }

    #[test]
    fn two_logs_of_one_agent_differ_from_the_first_line_that_both_have_and_that_is_not_the_same() {
        let (log, mut other) = (part(), part());
        assert_eq!(log.differs_from(&other), None);
        other.lines[2] = hash(99);
        assert_eq!(log.differs_from(&other), Some(13));
        other.lines.remove(0);
        other.first = 12;
        assert_eq!(log.differs_from(&other), Some(13));
        assert_eq!(other.differs_from(&log), Some(13));
        other.agent = "agent-bob-001".parse().ok();
        assert_eq!(log.differs_from(&other), None, "logs of two agents");
    }

    #[test]
    fn a_head_is_refuted_only_where_every_line_that_could_be_it_was_seen() {
        let mut recent = RecentLines::default();
        (1..=3).for_each(|number| recent.push(hash(number)));
        assert_eq!(recent.place(&hash(2)), Some(2));
        let refuted = |head, is_partial| recent.refutes(&hash(head), is_partial);
        assert_eq!((refuted(2, false), refuted(2, true)), (false, false));
        assert_eq!((refuted(9, false), refuted(9, true)), (true, false));
        let end = WINDOW as u64 + 1;
        (4..=end).for_each(|number| recent.push(hash(number)));
        assert_eq!(recent.place(&hash(1)), None);
        assert_eq!(recent.place(&hash(2)), Some(2));
        assert!(recent.refutes(&hash(1), true), "it was seen, long ago");
    }
}
