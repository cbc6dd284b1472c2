//! The writer of the log, on a thread of its own: an fdatasync blocks, and nothing else should.
//!
//! ```text
//! event loop ── Group { entries, actions } ──▶ journal ── append, commit ──▶ actions ──▶ effects
//! ```
//!
//! It commits at once when idle; what arrives during an fdatasync is the next group. An action leaves
//! here only after every entry before it is durable. After a failed write nothing leaves any more.
//! Checkpoints are signed here too, after the actions are on their way.
//!
//! A log file that is not at its path any more is a failed disk: every commit looks, and so does a thread
//! that has nothing to write, every few seconds.
//!
//! A full disk is waited out. The node has applied the entries of the group already, so the group is
//! kept, and the event loop, which sees it in [`LogView`], takes nothing in until it is durable.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::thread;
use std::time::{Duration, Instant};

use signet_audit::{CHECKPOINT_LINES, Head, Log, LogError, Reserved};
use signet_proto::carrier::CarrierId;
use signet_proto::entry::{CauseLine, Entry};
use signet_proto::node::Snapshot;
use signet_proto::time::Timestamp;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tracing::{error, info};

use crate::clock;
use crate::state::{StateSnapshot, offer};

use super::action::Action;
use super::log_view::LogView;
use super::meters::Meters;
use super::watchdog::Probe;

/// The most entries that share one fdatasync.
const GROUP: usize = 256;
/// How many groups may wait; beyond it the event loop waits, and the inbox with it.
const WAITING: usize = 64;
/// How long a durable line may be without a checkpoint.
const CHECKPOINT_WAIT: Duration = Duration::from_secs(60);
/// How often it is looked whether the files of the log are at their places, while nothing is written.
const LOOK_IN_PLACE: Duration = Duration::from_secs(5);
/// How long a full disk is left alone before the next try: so many looks at what the event loop does.
const LOOKS: u32 = 20;
/// The time between two of them.
const LOOK: Duration = Duration::from_millis(50);

/// Entries to be made durable, and what they allow.
pub(super) struct JournalGroup {
    /// When it happened.
    pub(super) now: Timestamp,
    /// In the order of the log.
    pub(super) entries: Vec<Entry>,
    /// What brought the messages of some of them, by their place, where it was not NATS.
    pub(super) carried: BTreeMap<usize, CarrierId>,
    /// Actions that are performed once the entries are durable.
    pub(super) actions: Vec<Action>,
    /// What the node remembers behind them, to be written beside the log when they are durable.
    pub(super) snapshot: Option<Box<Snapshot>>,
    /// Asks whether the thread lives; answered when all of this is durable, or the disk is full.
    pub(super) probe: Option<Probe>,
}

impl JournalGroup {
    /// A group without entries and actions.
    pub(super) const fn empty(now: Timestamp) -> Self {
        Self {
            now,
            entries: Vec::new(),
            carried: BTreeMap::new(),
            actions: Vec::new(),
            snapshot: None,
            probe: None,
        }
    }

    /// A group that only asks whether the thread lives.
    pub(super) fn asking(now: Timestamp, probe: Probe) -> Self {
        Self {
            probe: Some(probe),
            ..Self::empty(now)
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.actions.is_empty() && self.snapshot.is_none()
    }
}

/// The two ends that the event loop holds, and the thread.
#[derive(Debug)]
pub(super) struct Journal {
    /// Takes groups; closing it ends the thread when all is written.
    groups: mpsc::Sender<JournalGroup>,
    view: LogView,
    thread: thread::JoinHandle<Result<(), LogError>>,
}

impl Journal {
    /// Starts the thread. Actions go to `actions`, in order, and snapshots to `snapshots`; `meters` counts what is written.
    ///
    /// # Errors
    /// When the system gives no thread, or this is called outside of a runtime.
    pub(super) fn start(
        log: Log,
        actions: mpsc::Sender<Vec<Action>>,
        snapshots: SyncSender<StateSnapshot>,
        meters: Arc<Meters>,
    ) -> std::io::Result<Self> {
        let (groups, waiting) = mpsc::channel(WAITING);
        let (durable, head) = watch::channel(log.head());
        let (is_full, full) = watch::channel(None);
        let writer = Writer {
            log,
            groups: waiting,
            held: VecDeque::new(),
            probe: None,
            clock: Handle::try_current().map_err(std::io::Error::other)?,
            due: None,
            durable,
            is_full,
            actions,
            snapshots,
            meters,
        };
        let thread = thread::Builder::new().name("journal".into());
        let thread = thread.spawn(move || writer.run())?;
        Ok(Self {
            groups,
            view: LogView::new(head, full),
            thread,
        })
    }

    /// The way in, and how the log stands; `fault` is what the start found in it.
    pub(super) fn ends(&self, fault: Option<String>) -> (mpsc::Sender<JournalGroup>, LogView) {
        (self.groups.clone(), self.view.with_fault(fault))
    }

    /// Closes the way in and waits until everything is durable.
    ///
    /// # Errors
    /// The write that failed. A disk that is full is not waited for any more: what the log does not
    /// hold was not answered either, and its senders send it again.
    pub(super) async fn close(self) -> Result<(), LogError> {
        drop(self.groups);
        let joined = tokio::task::spawn_blocking(move || self.thread.join()).await;
        match joined {
            Ok(Ok(written)) => written,
            // The journal's thread has panicked, or could not be waited for: nobody knows which lines are durable, so report
            // that the log has stopped.
            Ok(Err(_)) | Err(_) => Err(LogError::Stopped),
        }
    }
}

/// What the thread owns.
struct Writer {
    log: Log,
    groups: mpsc::Receiver<JournalGroup>,
    /// Groups that were under way when the disk was full.
    held: VecDeque<JournalGroup>,
    /// The question of the watchdog that came with the groups under way.
    probe: Option<Probe>,
    clock: Handle,
    /// When the next checkpoint is due.
    due: Option<Instant>,
    durable: watch::Sender<Option<Head>>,
    is_full: watch::Sender<Option<Timestamp>>,
    actions: mpsc::Sender<Vec<Action>>,
    snapshots: SyncSender<StateSnapshot>,
    meters: Arc<Meters>,
}

/// What the thread does once a group is durable.
#[derive(Default)]
struct Allowed {
    actions: Vec<Action>,
    kept: Option<StateSnapshot>,
}

impl Writer {
    fn run(mut self) -> Result<(), LogError> {
        while let Some(first) = self.next()? {
            // A group without lines, actions and snapshot only asks whether the thread lives: answer it without an fdatasync,
            // which each beat of the watchdog would cost.
            if first.is_empty() {
                self.probe = first.probe;
                self.answer();
                continue;
            }
            let (began, before) = (clock::elapsed(), self.log.position());
            let mut allowed = Allowed::default();
            let mut count = self.append(first, &mut allowed)?;
            while count < GROUP
                && let Some(next) = self.next_at_once()
            {
                count += self.append(next, &mut allowed)?;
            }
            self.patiently(Log::commit)?;
            self.tell_head()?;
            self.meters
                .note_append(began, &before, &self.log.position());
            self.answer();
            // Hand the snapshot over only after the commit: if the state knew lines that the log
            // lacks, the next start would conclude that the log lost lines.
            if let Some(kept) = allowed.kept {
                offer(&self.snapshots, kept);
            }
            let actions = allowed.actions;
            // The channel is bounded on purpose: where effects are slow, this thread waits here,
            // and so slows down the event loop and the intake.
            if !actions.is_empty() && self.actions.blocking_send(actions).is_err() {
                break;
            }
            self.checkpoint_if_due()?;
        }
        // At a stop, sign the lines that no checkpoint covers yet: the next start, which would sign them, may be far away.
        self.patiently(Log::checkpoint)
    }

    /// Tells the watchdog that the thread lives, where it has asked.
    fn answer(&mut self) {
        // Ignore a failed send: the watchdog may have stopped waiting for this answer.
        self.probe.take().map(|probe| probe.send(()));
    }

    /// The next group; meanwhile, the checkpoint that falls due, and whether the files are at their places.
    fn next(&mut self) -> Result<Option<JournalGroup>, LogError> {
        loop {
            // Take the groups first that came while the disk was full: in the log their lines come before those of later
            // groups.
            if let Some(held) = self.held.pop_front() {
                return Ok(Some(held));
            }
            let due = self.due;
            let left = due.map(|due| due.saturating_duration_since(Instant::now()));
            let wait = left.map_or(LOOK_IN_PLACE, |left| left.min(LOOK_IN_PLACE));
            // `blocking_recv` has no timeout, so use the runtime's timer.
            let next = async { tokio::time::timeout(wait, self.groups.recv()).await };
            match self.clock.block_on(next) {
                Ok(next) => return Ok(next),
                Err(_) if due.is_some_and(|due| due <= Instant::now()) => self.checkpoint()?,
                Err(_) => self.log.demand_in_place()?,
            }
        }
    }

    fn next_at_once(&mut self) -> Option<JournalGroup> {
        let held = self.held.pop_front();
        held.or_else(|| self.groups.try_recv().ok())
    }

    fn append(
        &mut self,
        mut group: JournalGroup,
        allowed: &mut Allowed,
    ) -> Result<usize, LogError> {
        // Take the watchdog's probe before the first write: where the disk is full, `wait` answers
        // it while this thread waits for room.
        self.probe = group.probe.take().or(self.probe.take());
        for (place, entry) in group.entries.iter().enumerate() {
            let ways = Reserved::carried_by(group.carried.get(&place));
            self.patiently(|log| log.append_with(group.now, entry, &ways))?;
        }
        allowed.actions.extend(group.actions);
        let kept = group
            .snapshot
            .map(|snapshot| (snapshot, self.log.position()));
        // Of several snapshots in one write the newest is enough: each holds the whole state.
        allowed.kept = kept.or(allowed.kept.take());
        // A group without lines counts as one: otherwise a stream of calls that write nothing
        // would put off the commit, and with it every answer.
        Ok(group.entries.len().max(1))
    }

    /// Signs a checkpoint when it is time, and says when the next one is due.
    fn checkpoint_if_due(&mut self) -> Result<(), LogError> {
        let is_due = self.due.is_some_and(|due| due <= Instant::now());
        if is_due || self.log.uncovered() >= CHECKPOINT_LINES {
            self.checkpoint()?;
        }
        self.due = match self.log.uncovered() {
            0 => None,
            // Keep a time that was set before: otherwise lines that keep coming would put off the checkpoint for ever.
            _ => self.due.or_else(|| Some(Instant::now() + CHECKPOINT_WAIT)),
        };
        Ok(())
    }

    fn checkpoint(&mut self) -> Result<(), LogError> {
        self.patiently(Log::checkpoint)?;
        self.due = None;
        self.tell_head()
    }

    /// Tells up to which line all is durable; after a full disk, behind the line that tells of it.
    fn tell_head(&mut self) -> Result<(), LogError> {
        let Some(since) = *self.is_full.borrow() else {
            self.durable.send_replace(self.log.head());
            return Ok(());
        };
        let now = clock::now();
        let seconds = now.since(since).as_secs();
        let cause = format!("the disk was full for {seconds} s, and nothing was taken in");
        let entry = Entry::Gap(CauseLine { cause });
        // Date this line like the last one that was written. No time in the log may go back, and the groups that wait are
        // older than now: behind a line with the present time, their lines would be dated too late.
        let before = self.log.time();
        self.patiently(|log| log.append(before, &entry))?;
        let head = self.patiently(Log::commit)?;
        // Publish the new head before `is_full` is cleared: a task that waits for room on the disk
        // then finds the lines durable.
        self.durable.send_replace(Some(head));
        self.is_full.send_replace(None);
        info!(seconds, "there is room on the disk again: going on");
        Ok(())
    }

    /// Tries until there is room, or until the daemon stops.
    fn patiently<T>(
        &mut self,
        mut attempt: impl FnMut(&mut Log) -> Result<T, LogError>,
    ) -> Result<T, LogError> {
        loop {
            match attempt(&mut self.log) {
                Err(LogError::Full(_)) if !self.groups.is_closed() => self.wait(),
                done => return done,
            }
        }
    }

    fn wait(&mut self) {
        if self.is_full.borrow().is_none() {
            error!(
                "refusing: the disk is full; nothing is taken in, answered or sent until there is \
                 room where the log is"
            );
            // Note only the first try that failed: the `gap` line says later for how long the disk was full in all.
            self.is_full.send_replace(Some(clock::now()));
        }
        // Answer the watchdog: a thread that waits for room on the disk is alive, and the service manager must not end its
        // daemon.
        self.answer();
        for _ in 0..LOOKS {
            if self.groups.is_closed() {
                return;
            }
            thread::sleep(LOOK);
            // Take groups out of the channel while this thread waits: otherwise the channel fills,
            // the event loop waits too, and nobody answers a person who asks what is wrong.
            while let Ok(mut next) = self.groups.try_recv() {
                self.probe = next.probe.take();
                self.answer();
                if !next.is_empty() {
                    self.held.push_back(next);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
