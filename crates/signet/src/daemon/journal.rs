//! The writer of the log, on a thread of its own: an fdatasync blocks, and nothing else should.
//!
//! ```text
//! heart ── Group { entries, deeds } ──▶ journal ── append, commit ──▶ deeds ──▶ effects
//! ```
//!
//! It commits at once when idle; what arrives during an fdatasync is the next group. A deed leaves
//! here only after every entry before it is durable. After a failed write nothing leaves any more.
//! Checkpoints are signed here too, after the deeds are on their way.

use std::thread;
use std::time::{Duration, Instant};

use signet_audit::{CHECKPOINT_LINES, Head, Log, LogError};
use signet_proto::entry::Entry;
use signet_proto::time::Timestamp;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};

use crate::effects::Deed;

/// The most entries that share one fdatasync.
const GROUP: usize = 256;
/// How many groups may wait; beyond it the heart waits, and the inbox with it.
const WAITING: usize = 64;
/// How long a durable line may be without a checkpoint.
const CHECKPOINT_WAIT: Duration = Duration::from_secs(60);

/// Entries to be made durable, and what they allow.
#[derive(Debug)]
pub struct Group {
    /// When it happened.
    pub now: Timestamp,
    /// In the order of the log.
    pub entries: Vec<Entry>,
    /// To be performed when they are durable.
    pub deeds: Vec<Deed>,
}

/// The two ends that the heart holds, and the thread.
#[derive(Debug)]
pub struct Journal {
    /// Takes groups; closing it ends the thread when all is written.
    pub groups: mpsc::Sender<Group>,
    /// The newest durable line.
    pub head: watch::Receiver<Option<Head>>,
    thread: thread::JoinHandle<Result<(), LogError>>,
}

impl Journal {
    /// Starts the thread. Deeds go to `deeds`, in order.
    ///
    /// # Errors
    /// When the system gives no thread, or this is called outside of a runtime.
    pub fn start(log: Log, deeds: mpsc::Sender<Vec<Deed>>) -> std::io::Result<Self> {
        let (groups, waiting) = mpsc::channel(WAITING);
        let (durable, head) = watch::channel(log.head());
        let clock = Handle::try_current().map_err(std::io::Error::other)?;
        let write = move || write(log, waiting, &clock, &durable, &deeds);
        let thread = thread::Builder::new().name("journal".into()).spawn(write)?;
        Ok(Self {
            groups,
            head,
            thread,
        })
    }

    /// Closes the way in and waits until everything is durable.
    ///
    /// # Errors
    /// The write that failed.
    pub async fn close(self) -> Result<(), LogError> {
        drop(self.groups);
        let joined = tokio::task::spawn_blocking(move || self.thread.join()).await;
        match joined {
            Ok(Ok(written)) => written,
            // The thread cannot panic by our own code; if it did, what is durable is unknown.
            Ok(Err(_)) | Err(_) => Err(LogError::Stopped),
        }
    }
}

fn write(
    mut log: Log,
    mut groups: mpsc::Receiver<Group>,
    clock: &Handle,
    durable: &watch::Sender<Option<Head>>,
    deeds: &mpsc::Sender<Vec<Deed>>,
) -> Result<(), LogError> {
    let mut due = None;
    while let Some(first) = next(&mut log, &mut groups, clock, due)? {
        due = due.filter(|_| log.uncovered() > 0);
        let mut allowed = Vec::new();
        let mut count = append(&mut log, first, &mut allowed)?;
        while count < GROUP
            && let Ok(next) = groups.try_recv()
        {
            count += append(&mut log, next, &mut allowed)?;
        }
        durable.send_replace(Some(log.commit()?));
        if !allowed.is_empty() && deeds.blocking_send(allowed).is_err() {
            break;
        }
        due = checkpoint_if_due(&mut log, due)?;
    }
    log.checkpoint()
}

/// The next group; meanwhile, the checkpoint that falls due.
fn next(
    log: &mut Log,
    groups: &mut mpsc::Receiver<Group>,
    clock: &Handle,
    due: Option<Instant>,
) -> Result<Option<Group>, LogError> {
    if let Some(due) = due {
        let wait = due.saturating_duration_since(Instant::now());
        let waited = clock.block_on(async { tokio::time::timeout(wait, groups.recv()).await });
        match waited {
            Ok(next) => return Ok(next),
            Err(_) => log.checkpoint()?,
        }
    }
    Ok(groups.blocking_recv())
}

/// When the next checkpoint is due.
fn checkpoint_if_due(log: &mut Log, due: Option<Instant>) -> Result<Option<Instant>, LogError> {
    let is_due = due.is_some_and(|due| due <= Instant::now());
    if is_due || log.uncovered() >= CHECKPOINT_LINES {
        log.checkpoint()?;
    }
    Ok(match log.uncovered() {
        0 => None,
        _ => due.or_else(|| Some(Instant::now() + CHECKPOINT_WAIT)),
    })
}

fn append(log: &mut Log, group: Group, allowed: &mut Vec<Deed>) -> Result<usize, LogError> {
    for entry in &group.entries {
        log.append(group.now, entry)?;
    }
    allowed.extend(group.deeds);
    Ok(group.entries.len().max(1))
}
