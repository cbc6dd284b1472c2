//! The command of `[notify]`: it reads one record as JSON on its standard input and tells the person, by whatever
//! means that person has.
//!
//! It runs beside the event loop, one at a time, at most once a minute for each kind, with 30 seconds of time. It
//! gets no output of ours, none of our descriptors, and of our environment what a program needs to find a desktop.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use signet_api::{Attention, NotifyState};
use signet_handlers::run_to_end;
use tokio::process::Command;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tracing::{info, warn};

use super::{NotifyPace, PaceStep};
use crate::clock;
use crate::config::NotifyCommand;
use crate::hint::typed;
use crate::home::Home;

/// Tells by the command. Clones tell by the same one; when the last is dropped, the command that runs is killed.
#[derive(Clone, Debug)]
pub(crate) struct NotifyHook {
    shared: Arc<SharedHook>,
    _task: Arc<CommandTask>,
}

impl NotifyHook {
    /// Within a runtime.
    pub(crate) fn start(home: &Home, command: Option<NotifyCommand>) -> Self {
        Self::with(Runner::new(home.path().to_owned(), PATIENCE), command)
    }

    fn with(runner: Runner, command: Option<NotifyCommand>) -> Self {
        let shared = Arc::new(SharedHook {
            state: Mutex::new(HookState::default()),
            wake: Notify::new(),
        });
        let hook = Self {
            _task: Arc::new(CommandTask(
                tokio::spawn(tell_all(Arc::clone(&shared), runner)).abort_handle(),
            )),
            shared,
        };
        hook.set(command);
        hook
    }

    /// Another command from now on, or none. What the one before could not tell, a new one is told at once.
    pub(crate) fn set(&self, command: Option<NotifyCommand>) {
        let mut state = self.shared.state();
        match command {
            Some(_) => state.pace.free(),
            // Without a command, drop the records that wait: a command that is configured later is told anew of
            // everything that needs attention then.
            None => state.pace.clear(),
        }
        (state.command, state.failure) = (command, None);
        drop(state);
        self.shared.wake.notify_one();
    }

    /// Lets the command tell it, in its turn. Waits for nothing.
    pub(crate) fn tell(&self, attention: Attention) {
        let mut state = self.shared.state();
        if state.command.is_some() {
            // A command of `[notify]` shows `next` unchanged, so put this program and this home into it here, for the
            // records of all callers of `tell`.
            let next = typed(&attention.next);
            state.pace.put(Attention { next, ..attention });
            drop(state);
            self.shared.wake.notify_one();
        }
    }

    /// Which command tells, and why the last try failed; `None` where there is no command.
    pub(crate) fn state(&self) -> Option<NotifyState> {
        let state = self.shared.state();
        let command = state.command.as_ref()?;
        Some(NotifyState {
            program: command.program.clone(),
            fault: state.failure.as_ref().map(|failure| failure.why.clone()),
            tries: state.failure.as_ref().map_or(0, |failure| failure.times),
        })
    }
}

#[derive(Debug)]
struct CommandTask(AbortHandle);

impl Drop for CommandTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[derive(Debug)]
struct SharedHook {
    state: Mutex<HookState>,
    wake: Notify,
}

#[derive(Debug, Default)]
struct HookState {
    command: Option<NotifyCommand>,
    pace: NotifyPace,
    failure: Option<CommandFailure>,
}

/// The command failed since it last told something.
#[derive(Debug)]
struct CommandFailure {
    why: String,
    times: u32,
    /// The time before which the command is not tried again.
    until: Duration,
}

impl SharedHook {
    fn state(&self) -> MutexGuard<'_, HookState> {
        // Take a poisoned lock as well: no code that holds it panics, and its state is valid at every step.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The records that are due now, and the command that tells them.
    fn next(&self, now: Duration) -> (PaceStep, Option<NotifyCommand>) {
        let mut state = self.state();
        let until = state.failure.as_ref().map(|failure| failure.until);
        let next = match until.filter(|until| now < *until) {
            // The command failed and is not tried again before `until`. If no record waits, there would be
            // nothing to tell then: sleep until a record comes.
            Some(_) if state.pace.is_empty() => PaceStep::Nothing,
            Some(until) => PaceStep::Later(until),
            None => state.pace.take(now),
        };
        (next, state.command.clone())
    }

    /// Notes how a try ended. A command that keeps failing is warned of once.
    fn note(&self, command: &NotifyCommand, attention: Attention, ended: Result<(), String>) {
        let mut state = self.state();
        if state.command.as_ref() != Some(command) {
            // The configuration names another command by now, or none. If the old command failed, let the new one tell
            // its record. Without a command, drop the record: a later command hears of all that stands then.
            if ended.is_err() && state.command.is_some() {
                state.pace.put_back(attention);
            }
            return;
        }
        let program = &command.program;
        match (ended, state.failure.take()) {
            (Ok(()), None) => {}
            (Ok(()), Some(_)) => info!(program, "the command of [notify] tells again"),
            (Err(why), failed) => {
                if failed.is_none() {
                    warn!(
                        program,
                        why,
                        "the command of [notify] failed: nobody was told; it is tried again; next: {}",
                        typed("signet doctor")
                    );
                }
                let times = failed.map_or(0, |failed| failed.times).saturating_add(1);
                state.failure = Some(CommandFailure {
                    why,
                    times,
                    // Measure the pause after a failed command by a clock that nobody can set: if the wall clock were put back,
                    // the pause could last for years.
                    until: clock::elapsed().saturating_add(pause_after(times)),
                });
                state.pace.put_back(attention);
            }
        }
    }
}

/// The pause after so many failures: one minute, then twice as long each time, up to an hour.
fn pause_after(times: u32) -> Duration {
    let minutes = 1_u64.checked_shl(times.saturating_sub(1)).unwrap_or(60);
    Duration::from_secs(60) * u32::try_from(minutes.min(60)).unwrap_or(60)
}

async fn tell_all(shared: Arc<SharedHook>, runner: Runner) {
    loop {
        let now = clock::elapsed();
        match shared.next(now) {
            (PaceStep::Due(attention), Some(command)) => {
                let ended = runner.run(&command, &attention).await;
                shared.note(&command, attention, ended);
            }
            (PaceStep::Later(at), _) => {
                tokio::select! {
                    () = tokio::time::sleep(at.saturating_sub(now)) => {}
                    () = shared.wake.notified() => {}
                }
            }
            // If a record came between `next` above and this wait, `notify_one` was remembered and ends the wait at once:
            // so no record is left waiting.
            _ => shared.wake.notified().await,
        }
    }
}

/// How the command is run.
struct Runner {
    home: PathBuf,
    patience: Duration,
}

impl Runner {
    const fn new(home: PathBuf, patience: Duration) -> Self {
        Self { home, patience }
    }

    async fn run(&self, command: &NotifyCommand, attention: &Attention) -> Result<(), String> {
        let mut input = serde_json::to_vec(attention).map_err(|error| error.to_string())?;
        input.push(b'\n');
        let ended = run_to_end(&mut self.prepared(command), &input, self.patience).await;
        match ended {
            Ok(ended) => ended.map(drop).map_err(|fault| fault.to_string()),
            Err(error) => Err(format!("it cannot be started: {error}")),
        }
    }

    fn prepared(&self, command: &NotifyCommand) -> Command {
        let mut prepared = Command::new(&command.program);
        // Pass on only the variables that `KEPT` names. With a list of variables to leave out instead, a variable that
        // a later systemd adds could lead the command to a secret.
        prepared.args(&command.arguments).env_clear();
        let kept = KEPT
            .iter()
            .filter_map(|name| Some((name, std::env::var_os(name)?)));
        prepared.envs(kept).env("SIGNET_HOME", &self.home);
        // Do not run the program in the home: programs may leave files where they run, and the home holds the keys.
        prepared.current_dir("/");
        prepared.stdout(Stdio::null()).stderr(Stdio::null());
        prepared
    }
}

/// What a program needs to be found, to speak a language, and to reach its user's desktop. Neither the way to the
/// service manager nor the directory of credentials is in it.
const KEPT: [&str; 12] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LC_ALL",
    "TZ",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
];
/// How long one run may take.
const PATIENCE: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests;
