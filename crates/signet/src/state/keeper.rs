//! Writes snapshots down, on a thread of its own: SQLite blocks, and nothing waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;

use signet_audit::LogPosition;
use signet_proto::node::Snapshot;
use tracing::{debug, warn};

use super::StateStore;

/// A snapshot, and where in the log it was taken.
pub type StateSnapshot = (Box<Snapshot>, LogPosition);

/// The way to the thread, and the thread.
#[derive(Debug)]
pub struct Keeper {
    snapshots: SyncSender<StateSnapshot>,
    size: Arc<AtomicU64>,
    thread: thread::JoinHandle<()>,
}

impl Keeper {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(store: StateStore) -> std::io::Result<Self> {
        // Let one snapshot wait while another is written. A second one need not wait: the next snapshot
        // will hold all that it says.
        let (snapshots, waiting) = sync_channel(1);
        let size = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&size);
        let keep = move || keep(store, &waiting, &counted);
        let thread = thread::Builder::new().name("state".into()).spawn(keep)?;
        Ok(Self {
            snapshots,
            size,
            thread,
        })
    }

    /// Where the journal hands over what is durable.
    pub fn snapshots(&self) -> SyncSender<StateSnapshot> {
        self.snapshots.clone()
    }

    /// How many bytes the keys and values of the newest snapshot had.
    pub fn size(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.size)
    }

    /// Waits until what was handed over is written. Every other sender must be gone.
    pub async fn close(self) {
        drop(self.snapshots);
        // Ignore how the thread ended: a snapshot that was not written makes the next start read more lines of the
        // log, and costs nothing else.
        let _ = tokio::task::spawn_blocking(move || self.thread.join()).await;
    }
}

/// Hands a snapshot over, unless two are under way: the next one will say more.
pub fn offer(snapshots: &SyncSender<StateSnapshot>, kept: StateSnapshot) {
    match snapshots.try_send(kept) {
        Ok(()) => {}
        Err(TrySendError::Full(_)) => debug!("the state is written already"),
        // Where the keeper has ended, nothing is lost: the log has everything, and the next start reads more of it.
        Err(TrySendError::Disconnected(_)) => {}
    }
}

fn keep(mut store: StateStore, snapshots: &Receiver<StateSnapshot>, counted: &AtomicU64) {
    while let Ok((snapshot, position)) = snapshots.recv() {
        let mut size = 0;
        // Count while the rows are written: they are never all in memory at once.
        let rows = snapshot.each_row();
        let rows = rows.inspect(|row| size += row.key.len() + row.value.len());
        let written = store.replace(&position, rows);
        match written {
            Ok(changed) => {
                counted.store(size as u64, Ordering::Relaxed);
                debug!(changed, seq = position.head.seq, "the state is written");
            }
            Err(error) => warn!(
                %error,
                "the state was not written; the next start reads more of the log instead"
            ),
        }
    }
}
