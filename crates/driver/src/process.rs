//! A child process that ends with whoever holds it, always by its own id.

use std::io;
use std::process::{Child, Command, ExitStatus};

use rustix::process::{Pid, Signal, kill_process};

use crate::DriverError;

/// A child that is killed when it is dropped.
pub struct Process {
    what: String,
    child: Child,
}

impl Process {
    /// Starts `command`; errors will speak of `what`.
    ///
    /// # Errors
    /// `Process` where it cannot be started.
    pub fn start(what: impl Into<String>, command: &mut Command) -> Result<Self, DriverError> {
        let what = what.into();
        match command.spawn() {
            Ok(child) => Ok(Self { what, child }),
            Err(error) => Err(failed(&what, &error.to_string())),
        }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it has.
    ///
    /// # Errors
    /// `Process` where the system does not say.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>, DriverError> {
        let ended = self.child.try_wait();
        ended.map_err(|error| failed(&self.what, &error.to_string()))
    }

    /// That it still runs.
    ///
    /// # Errors
    /// `Process` with how it ended.
    pub fn still_runs(&mut self) -> Result<(), DriverError> {
        match self.ended()? {
            Some(status) => Err(failed(&self.what, &format!("ended at once, {status}"))),
            None => Ok(()),
        }
    }

    /// Asks it to stop, and waits until it has.
    ///
    /// # Errors
    /// `Process` where it did not end well.
    pub fn stop(mut self) -> Result<(), DriverError> {
        // The process may have ended by itself, and the signal then fails: the exit status below shows how it ended.
        let _ = send_signal(self.id(), Signal::TERM);
        let ended = self.child.wait();
        let status = ended.map_err(|error| failed(&self.what, &error.to_string()))?;
        match status.success() {
            true => Ok(()),
            false => Err(failed(&self.what, &format!("ended with {status}"))),
        }
    }

    /// SIGKILL, and waits until it is gone.
    ///
    /// # Errors
    /// `Process` where the system does not let us.
    pub fn kill(&mut self) -> Result<(), DriverError> {
        let killed = self.child.kill().and_then(|()| self.child.wait());
        killed
            .map(drop)
            .map_err(|error| failed(&self.what, &error.to_string()))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Sends a signal to the process of that id.
///
/// # Errors
/// What the system said; `InvalidInput` for an id that no process can have.
pub fn send_signal(id: u32, signal: Signal) -> io::Result<()> {
    let id = i32::try_from(id).ok().and_then(Pid::from_raw);
    let id = id.ok_or(io::ErrorKind::InvalidInput)?;
    Ok(kill_process(id, signal)?)
}

fn failed(what: &str, why: &str) -> DriverError {
    DriverError::Process {
        what: what.to_owned(),
        why: why.to_owned(),
    }
}
