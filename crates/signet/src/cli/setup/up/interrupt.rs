//! Ctrl-C while `signet up` is at work: the NATS server that it has started until then is ended with it.
//!
//! ```text
//! at work ──── a signal: the server is ended, and so is this process
//!    │  hand_over
//! the daemon ── a signal: the daemon hears of it, also of one that came just before
//! ```
//!
//! The server's process belongs to another group than the terminal's: nobody else would end it.

use std::io;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::cli::{CliError, Exit};

/// Listens for signals until the process ends, and holds the server that this command has started.
pub(crate) struct Interrupts {
    work: Arc<Mutex<Undoing>>,
    asked: watch::Receiver<bool>,
}

#[derive(Default)]
struct Undoing {
    server: Option<Child>,
    /// The daemon runs in this process, and ends it.
    is_handed_over: bool,
}

impl Interrupts {
    /// Begins to listen: from now on no signal ends the process by itself.
    pub(crate) fn listen() -> Result<Self, CliError> {
        let failed =
            |error: io::Error| CliError::refused(error, "free memory or threads, then try again");
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_all().build().map_err(failed)?;
        let within = runtime.enter();
        let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
        let mut hangup = signal(SignalKind::hangup()).map_err(failed)?;
        drop(within);
        let (said, asked) = watch::channel(false);
        let work = Arc::new(Mutex::new(Undoing::default()));
        let held = Arc::clone(&work);
        let listen = async move {
            loop {
                let is_hangup = tokio::select! {
                    _ = interrupt.recv() => false,
                    _ = terminate.recv() => false,
                    _ = hangup.recv() => true,
                };
                let mut work = locked(&held);
                if !work.is_handed_over {
                    end(work.server.take());
                    interrupted();
                }
                // A hangup means that the terminal was closed: a daemon goes on then, and only other signals end it.
                if !is_hangup {
                    said.send_replace(true);
                }
            }
        };
        // Use a thread and not a task: this command waits in blocking calls, in which no task would run.
        let thread = std::thread::Builder::new().name("signals".into());
        let thread = thread.spawn(move || runtime.block_on(listen));
        thread.map_err(failed)?;
        Ok(Self { work, asked })
    }

    /// Starts a server that ends with this command, unless it is kept.
    pub(super) fn start_server(&self, command: &mut Command) -> io::Result<()> {
        // Hold the lock during the start: a signal that comes meanwhile is handled only after the start, and then
        // ends the new server as well.
        let mut work = locked(&self.work);
        work.server = Some(command.spawn()?);
        Ok(())
    }

    /// Whether the server that was started has ended by itself.
    pub(super) fn server_has_ended(&self) -> bool {
        let mut work = locked(&self.work);
        let server = work.server.as_mut();
        server.is_none_or(|child| matches!(child.try_wait(), Ok(Some(_)) | Err(_)))
    }

    /// The server stays when this command ends.
    pub(super) fn keep_server(&self) {
        drop(locked(&self.work).server.take());
    }

    /// Ends the server, if this command has started it and not kept it.
    pub(super) fn end_server(&self) {
        // Hold the lock until the server has ended: otherwise a signal could end this command while the server still runs.
        let mut work = locked(&self.work);
        end(work.server.take());
    }

    /// Lets the daemon of this process hear of signals from now on. The future is ready once a signal came.
    pub(super) fn hand_over(&self) -> impl Future<Output = ()> + use<> {
        locked(&self.work).is_handed_over = true;
        let mut asked = self.asked.clone();
        async move {
            if asked.wait_for(|asked| *asked).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

impl Drop for Interrupts {
    /// A command that fails leaves no server that nobody was told of.
    fn drop(&mut self) {
        self.end_server();
    }
}

fn locked(work: &Mutex<Undoing>) -> MutexGuard<'_, Undoing> {
    // Take the lock even if it is poisoned: no code that holds it panics, and its value is valid at every step.
    work.lock().unwrap_or_else(PoisonError::into_inner)
}

fn end(server: Option<Child>) {
    let Some(mut server) = server else { return };
    // Signal the server only while it runs: once `try_wait` has seen its end, another process may get its number.
    let is_running = matches!(server.try_wait(), Ok(None));
    let _ = is_running.then(|| kill_process(Pid::from_child(&server), Signal::TERM));
    let start = Instant::now();
    while matches!(server.try_wait(), Ok(None)) && start.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(10));
    }
    // A server that hangs is killed; `kill` does nothing to a server that has ended.
    let _ = server.kill();
    let _ = server.wait();
}

fn interrupted() -> ! {
    let what = "interrupted before the agent ran; a NATS server that was started is ended again";
    let next = "signet up  # goes on where this one stopped";
    // The exit code that `report` returns is ignored: the next line ends this process with the same code.
    let _ = CliError::refused(what, next).report(false);
    std::process::exit(i32::from(Exit::Refused.number()))
}

/// How long a server may take to end.
const PATIENCE: Duration = Duration::from_secs(10);
