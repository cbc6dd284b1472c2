//! From the event loop to the journal: what belongs together becomes durable together, and only then is done.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use signet_proto::entry::{Direction, Entry};
use signet_proto::node::{Node, Outcome};
use signet_proto::time::Timestamp;
use tokio::sync::mpsc;

use crate::clock;

use super::action::Action;
use super::journal::JournalGroup;
use super::meters::Meters;
use super::watchdog::Probe;

/// How many lines lie between two snapshots of the state; as many as the state has rows, where that is more. At 10,000 the
/// snapshots took an eighth of the processor time of a daemon that takes in mail as fast as it can.
const SNAPSHOT: u64 = 20_000;

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
    /// Lines since the last snapshot.
    since: u64,
    /// How many rows that one had: a large state is written more rarely.
    rows: Arc<AtomicU64>,
    meters: Arc<Meters>,
}

/// The journal's thread has ended: the log cannot be written any more.
pub(super) struct JournalEnded;

impl Appender {
    /// A way in by `groups`; the state lacks the last `since` lines and has `rows` rows. `meters` counts what passes.
    pub(super) fn new(
        groups: mpsc::Sender<JournalGroup>,
        since: u64,
        rows: Arc<AtomicU64>,
        meters: Arc<Meters>,
    ) -> Self {
        Self {
            groups,
            since,
            rows,
            meters,
        }
    }

    /// Hands a batch over, and says whether one of its lines is about something else than a message that came.
    pub(super) async fn append(&mut self, node: &Node, batch: Batch) -> Result<bool, JournalEnded> {
        for outcome in &batch.outcomes {
            self.meters.note_outcome(batch.now, outcome);
        }
        let mut group = batch.into_group(node);
        // Add with saturation: `write_state_next` sets this count to the greatest number, and a plain addition to that would
        // overflow.
        self.since = self.since.saturating_add(group.entries.len() as u64);
        if self.since >= SNAPSHOT.max(self.rows.load(Ordering::Relaxed)) {
            self.since = 0;
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
        self.since = u64::MAX;
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
