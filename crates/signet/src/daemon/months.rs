//! Months of the log, read whole in the background: the part of the newest that the start took by the anchor's word, and
//! then the finished ones, at whose ends alone a start looks.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use signet_audit::{LogError, UnreadMonth, inspect_months};
use tokio::sync::mpsc;
use tracing::{debug, warn};

use crate::config::Config;
use crate::home::Home;
use crate::memory::MemoryError;

/// How long the reader rests after each piece, of a MiB or a month's end: a log of hundreds of GiB is
/// read within a day, and nobody notices.
const REST: Duration = Duration::from_millis(100);
/// How long it rests after each MiB of the newest month: what was written in it is known to hold soon after the start.
const SHORT_REST: Duration = Duration::from_millis(10);
/// How often the months are looked at.
const DAY: Duration = Duration::from_secs(24 * 3600);

/// Somebody changed the log.
#[derive(Debug)]
pub(super) enum MonthFault {
    /// A finished month, in words: people hear of it, and the agent goes on.
    Finished(String),
    /// The newest month: a start that reads it at once is refused for this, and so the daemon ends.
    Newest(LogError),
}

/// The reader's thread, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct Months {
    _stop: SyncSender<()>,
}

impl Months {
    /// Begins to read: what the start left unread, then the finished months. What is wrong with a month goes to `found`.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(super) fn watch(
        home: &Home,
        config: &Config,
        unread: Option<UnreadMonth>,
        found: mpsc::Sender<MonthFault>,
    ) -> std::io::Result<Self> {
        // Nothing is ever sent: the thread rests by waiting on this channel, and dropping the sender ends the rest at once.
        let (stop, stopped) = sync_channel(0);
        let (dir, anchor) = (config.audit_dir.clone(), home.log_anchor());
        let thread = thread::Builder::new().name("months".into());
        let read = move || {
            // Lower the priority so that reading slows down no other program; on Linux only the calling
            // thread is affected. Where the system refuses, the pauses between the reads have to do.
            let _ = rustix::process::setpriority_process(None, LOWEST);
            if read_unread(unread, &stopped, &found) {
                read_finished(&dir, &anchor, &stopped, &found);
            }
        };
        thread.spawn(read)?;
        Ok(Self { _stop: stop })
    }
}

/// The newest month is not what this agent wrote: the next start is to read it whole, and to be refused at once.
pub(super) fn forged(home: &Home, error: LogError) -> MemoryError {
    if let Err(refused) = signet_audit::forget_tree(&home.log_anchor()) {
        warn!(%refused, "the anchor was not written: the next start finds the fault as late as this one did");
    }
    MemoryError::Log(error)
}

/// Reads what the start left unread. Says whether to go on.
fn read_unread(
    unread: Option<UnreadMonth>,
    stop: &Receiver<()>,
    found: &mpsc::Sender<MonthFault>,
) -> bool {
    let Some(unread) = unread else { return true };
    let rests = |rest| stop.recv_timeout(rest) == Err(RecvTimeoutError::Timeout);
    loop {
        match unread.inspect(|_| rests(SHORT_REST)) {
            Ok(is_whole) => {
                debug!("what the start left unread of the newest month holds");
                return is_whole;
            }
            // Only a line that breaks the chain, or is none of this log, shows that somebody changed the log, so only such a
            // line stops the daemon: after a read error of the disk the next try may succeed.
            Err(error @ (LogError::Broken { .. } | LogError::Record { .. })) => {
                // Sending fails only where the daemon has stopped: its next start reads the month again.
                let _ = found.blocking_send(MonthFault::Newest(error));
                return false;
            }
            Err(error) => {
                warn!(%error, "the newest month of the log could not be read; trying again")
            }
        }
        if !rests(AGAIN) {
            return false;
        }
    }
}

fn read_finished(dir: &Path, anchor: &Path, stop: &Receiver<()>, found: &mpsc::Sender<MonthFault>) {
    loop {
        let rests = |rest| stop.recv_timeout(rest) == Err(RecvTimeoutError::Timeout);
        match inspect_months(dir, anchor, |_| rests(REST)) {
            Ok(months) => debug!(months, "finished months of the log hold"),
            Err(error @ (LogError::Broken { .. } | LogError::Record { .. })) => {
                let fault = MonthFault::Finished(error.to_string());
                if found.blocking_send(fault).is_err() {
                    return;
                }
            }
            Err(error) => warn!(%error, "finished months of the log could not be read"),
        }
        if !rests(DAY) {
            return;
        }
    }
}

/// How long until the newest month is tried again, where the system did not give it.
const AGAIN: Duration = Duration::from_secs(60);
/// The lowest priority that `nice` knows.
const LOWEST: i32 = 19;
