//! From the event loop to the journal: what belongs together becomes durable together, and only then is done.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use signet_proto::entry::{Direction, Entry};
use signet_proto::node::{Node, Outcome};
use signet_proto::time::Timestamp;
use tokio::sync::mpsc;

use crate::clock;

use super::action::Action;
use super::journal::JournalGroup;
use super::meters::Meters;
use super::watchdog::Probe;

/// How many lines lie between two snapshots of the state; one for each [`LINE`] of the state, where that is more, up to
/// [`MOST`]. At 10,000 the snapshots took an eighth of the processor time of a daemon that takes in mail as fast as it can.
const SNAPSHOT: u64 = 20_000;
/// A start behind a kill reads the lines since the last snapshot: so many take it less than a second, however large what waits
/// in the state may be.
const MOST: u64 = 100_000;
/// In bytes: a snapshot makes and compares the whole state, so a state of so many more is written a line more rarely.
const LINE: u64 = 128;
/// So many lines are worth a snapshot where nothing was written for [`QUIET`]; a sixteenth of those for a busy daemon with a
/// large state, where that is more. Otherwise a start behind a kill would read for seconds what was written hours before.
const QUIET_LINES: u64 = 1_000;
const QUIET: Duration = Duration::from_secs(30);

/// What the node made at one time, and what is to be done besides when its lines are durable.
pub(super) struct Batch {
    /// The time at which the node made it: another time in its lines would be another past at the next start.
    pub(super) now: Timestamp,
    /// In the order of the log.
    pub(super) outcomes: Vec<Outcome>,
    /// Actions that are performed before the effects of the outcomes.
    pub(super) before: Vec<Action>,
    /// Actions that are performed after the effects.
    pub(super) after: Vec<Action>,
}

impl Batch {
    /// A batch of the one outcome that the node made at `now`.
    pub(super) fn of(now: Timestamp, outcome: Outcome) -> Self {
        Self::all(now, vec![outcome])
    }

    /// A batch of the outcomes of several inputs.
    pub(super) fn all(now: Timestamp, outcomes: Vec<Outcome>) -> Self {
        Self {
            now,
            outcomes,
            before: Vec::new(),
            after: Vec::new(),
        }
    }

    /// A batch without lines: its actions are done after the lines of the batches before it.
    pub(super) fn doing(now: Timestamp, before: Vec<Action>) -> Self {
        Self {
            before,
            ..Self::all(now, Vec::new())
        }
    }

    /// Nothing to write: the call was answered already, or a task of its own will answer it.
    pub(super) fn nothing() -> Self {
        Self::all(clock::now(), Vec::new())
    }

    /// Adds an action that is performed before the effects.
    pub(super) fn and_before(mut self, action: Action) -> Self {
        self.before.push(action);
        self
    }

    fn into_group(self, node: &Node) -> JournalGroup {
        let mut group = JournalGroup {
            actions: self.before,
            ..JournalGroup::empty(self.now)
        };
        for outcome in self.outcomes {
            // `carried` tells the journal which line names the carrier. An outcome is about one message at most, so its
            // first entry about an arrival is the line of the message that this carrier brought.
            let place = outcome.entries.iter().position(is_arrival);
            let place = place.map(|place| group.entries.len() + place);
            group.carried.extend(place.zip(outcome.carrier));
            group.entries.extend(outcome.entries);
            let effects = outcome.effects.into_iter();
            group
                .actions
                .extend(effects.map(|effect| Action::of(node, self.now, effect)));
        }
        group.actions.extend(self.after);
        group
    }
}

/// The way into the journal, which the event loop alone has.
pub(super) struct Appender {
    groups: mpsc::Sender<JournalGroup>,
    pace: SnapshotPace,
    meters: Arc<Meters>,
}

/// When the state is written anew.
struct SnapshotPace {
    /// Lines since the last snapshot.
    since: u64,
    /// How many bytes that one had: a large state is written more rarely.
    size: Arc<AtomicU64>,
    /// When the last lines were written.
    written: Timestamp,
}

impl SnapshotPace {
    /// So many lines are written at `now`, or none. True where a snapshot belongs to them.
    fn is_due(&mut self, now: Timestamp, lines: usize) -> bool {
        // Add with saturation: `write_state_next` sets this count to the greatest number, and a plain addition to that would overflow.
        self.since = self.since.saturating_add(lines as u64);
        let of_size = self.size.load(Ordering::Relaxed) / LINE;
        let is_quiet = lines == 0 && now.since(self.written) >= QUIET;
        let most = match is_quiet {
            true => QUIET_LINES.max(of_size.min(MOST) / 16),
            false => SNAPSHOT.max(of_size.min(MOST)),
        };
        if lines > 0 {
            self.written = now;
        }
        let is_due = self.since >= most;
        if is_due {
            self.since = 0;
        }
        is_due
    }
}

/// The journal's thread has ended: the log cannot be written any more.
pub(super) struct JournalEnded;

impl Appender {
    /// A way in by `groups`; the state lacks the last `since` lines; `size` is that of the newest snapshot. `meters` counts what passes.
    pub(super) fn new(
        groups: mpsc::Sender<JournalGroup>,
        since: u64,
        size: Arc<AtomicU64>,
        meters: Arc<Meters>,
    ) -> Self {
        let written = clock::now();
        let pace = SnapshotPace {
            since,
            size,
            written,
        };
        Self {
            groups,
            pace,
            meters,
        }
    }

    /// Hands a batch over, and says whether one of its lines is about something else than a message that came.
    pub(super) async fn append(&mut self, node: &Node, batch: Batch) -> Result<bool, JournalEnded> {
        for outcome in &batch.outcomes {
            self.meters.note_outcome(batch.now, outcome);
        }
        let mut group = batch.into_group(node);
        if self.pace.is_due(group.now, group.entries.len()) {
            // The node has applied this group's lines already, so its snapshot contains them. Send the
            // snapshot with this very group: the journal stores it with the log's position behind the group's
            // lines, and the two have to fit.
            group.snapshot = Some(Box::new(node.snapshot(group.now)));
        }
        // Send no empty group: it would wake the journal's thread for nothing.
        if group.is_empty() {
            return Ok(false);
        }
        let changed = group.entries.iter().any(|entry| !is_arrival(entry));
        self.send(group).await?;
        Ok(changed)
    }

    /// Asks whether the journal's thread lives.
    pub(super) async fn pass_on(&self, now: Timestamp, probe: Probe) -> Result<(), JournalEnded> {
        self.send(JournalGroup::asking(now, probe)).await
    }

    /// With the next batch the state is written whole: the next start has no line to read behind it.
    pub(super) const fn write_state_next(&mut self) {
        self.pace.since = u64::MAX;
    }

    /// Resolves when the journal's thread has ended.
    pub(super) async fn closed(&self) {
        self.groups.closed().await;
    }

    async fn send(&self, group: JournalGroup) -> Result<(), JournalEnded> {
        self.groups.send(group).await.map_err(|_| JournalEnded)
    }
}

/// Whether a line is of a message that came.
fn is_arrival(entry: &Entry) -> bool {
    matches!(entry, Entry::Message(verdict) if verdict.direction == Direction::In)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a state of so many times [`LINE`].
    fn pace(lines: u64) -> SnapshotPace {
        SnapshotPace {
            since: 0,
            size: Arc::new(AtomicU64::new(lines * LINE)),
            written: at(0),
        }
    }

    const fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    #[test]
    fn a_daemon_that_writes_without_a_pause_writes_its_state_every_twenty_thousand_lines() {
        let mut pace = pace(0);
        let due = (0..100).filter(|second| pace.is_due(at(*second), 1_000));
        assert_eq!(due.collect::<Vec<_>>(), [19, 39, 59, 79, 99]);
        let mut large = super::tests::pace(50_000);
        let due = (0..100).filter(|second| large.is_due(at(*second), 1_000));
        assert_eq!(due.collect::<Vec<_>>(), [49, 99]);
        // Messages of megabytes wait: a start behind a kill reads no more lines for that.
        let mut huge = super::tests::pace(2_000_000);
        let due = (0..200).filter(|second| huge.is_due(at(*second), 1_000));
        assert_eq!(due.collect::<Vec<_>>(), [99, 199]);
    }

    /// A kill behind hours of silence leaves a start little to read.
    #[test]
    fn behind_a_burst_the_state_is_written_once_when_it_is_quiet() {
        let mut pace = pace(0);
        assert!(!pace.is_due(at(0), 5_000));
        let due = (1..1_000).filter(|second| pace.is_due(at(*second), 0));
        assert_eq!(due.collect::<Vec<_>>(), [30]);
        // A few lines are read faster than a state is written, and a large state waits for more of them.
        assert!(!pace.is_due(at(1_000), 999) && !pace.is_due(at(2_000), 0));
        assert!(!pace.is_due(at(2_000), 1) && pace.is_due(at(2_030), 0));
        let mut large = super::tests::pace(96_000);
        assert!(!large.is_due(at(0), 5_999) && !large.is_due(at(60), 0));
        assert!(!large.is_due(at(60), 1) && large.is_due(at(90), 0));
    }

    /// The state is what it was, only older: a clock that was put back delays a snapshot, and brings none.
    #[test]
    fn a_clock_that_is_put_back_makes_no_snapshot() {
        let mut pace = pace(0);
        assert!(!pace.is_due(at(1_000), 5_000));
        assert!(!(0..1_030).any(|second| pace.is_due(at(second), 0)));
        assert!(pace.is_due(at(1_030), 0));
    }
}
