//! Finished months of the log, read whole in the background: a start looks at their ends alone.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use signet_audit::{LogError, inspect_months};
use tokio::sync::mpsc;
use tracing::{debug, warn};

use crate::config::Config;
use crate::home::Home;

/// How long the reader rests after each piece, of a MiB or a month's end: a log of hundreds of GiB is
/// read within a day, and nobody notices.
const REST: Duration = Duration::from_millis(100);
/// How often the months are looked at.
const DAY: Duration = Duration::from_secs(24 * 3600);

/// The reader's thread, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct Months {
    _stop: SyncSender<()>,
}

impl Months {
    /// Begins to read; what is wrong with a month goes to `found`, in words.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(super) fn watch(
        home: &Home,
        config: &Config,
        found: mpsc::Sender<String>,
    ) -> std::io::Result<Self> {
        let (stop, stopped) = sync_channel(0);
        let (dir, anchor) = (config.audit_dir.clone(), home.log_anchor());
        let thread = thread::Builder::new().name("months".into());
        thread.spawn(move || read(&dir, &anchor, &stopped, &found))?;
        Ok(Self { _stop: stop })
    }
}

fn read(dir: &Path, anchor: &Path, stop: &Receiver<()>, found: &mpsc::Sender<String>) {
    // Where the system sets no priority for a thread, the pauses between the pieces are all that spares other
    // programs.
    let _ = rustix::process::setpriority_process(None, LOWEST);
    loop {
        let rests = |rest| stop.recv_timeout(rest) == Err(RecvTimeoutError::Timeout);
        match inspect_months(dir, anchor, |_| rests(REST)) {
            Ok(months) => debug!(months, "finished months of the log hold"),
            Err(error @ (LogError::Broken { .. } | LogError::Record { .. })) => {
                if found.blocking_send(error.to_string()).is_err() {
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

/// The lowest priority that `nice` knows.
const LOWEST: i32 = 19;
