//! How a command ends when it does not end well.

use std::io;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use signet_audit::visible;

use crate::config::ConfigError;
use crate::control::{ClientError, RpcError, ServerError};
use crate::daemon::DaemonError;
use crate::home::NoHome;
use crate::keystore::KeystoreError;
use crate::lock::LockError;
use crate::memory::MemoryError;
use crate::private::PrivateError;

/// The exit codes beside 0. Code 2, a wrong command line, is also clap's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// 1: refused, or tampered with.
    Refused = 1,
    /// 2: the command line is wrong.
    Usage = 2,
    /// 3: the daemon or the peer does not answer.
    NotReachable = 3,
    /// 4: the disk with the log takes nothing. No restart mends that, people have to look.
    Disk = 4,
    /// 5: done as far as this agent can: a message waits until people have introduced the two agents.
    Introduction = 5,
}

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub enum Failure {
    /// Told to the person: what is wrong and what to do next.
    Told {
        /// The exit code.
        exit: Exit,
        /// One line: what is wrong.
        what: String,
        /// One line: what to do.
        next: String,
    },
    /// All is said on standard output already.
    Said(Exit),
    /// Nobody reads the output any more.
    Unread,
}

impl Failure {
    /// A failure to tell the person.
    pub fn new(exit: Exit, what: impl ToString, next: impl ToString) -> Self {
        Self::Told {
            exit,
            what: what.to_string(),
            next: next.to_string(),
        }
    }

    /// What became of writing to standard output.
    pub fn output(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Unread,
            _ => Self::new(
                Exit::Refused,
                format!("standard output: {error}"),
                "send the output elsewhere",
            ),
        }
    }

    /// Prints the failure and gives the exit code.
    pub fn report(self) -> ExitCode {
        let (exit, what, next) = match self {
            Self::Told { exit, what, next } => (exit, what, next),
            Self::Said(exit) => return ExitCode::from(exit as u8),
            Self::Unread => return ExitCode::SUCCESS,
        };
        let (error, hint) = (AnsiColor::Red.on_default().bold(), Style::new().bold());
        let (what, next) = (visible(&what), visible(&next));
        let text = format!("{error}error:{error:#} {what}\n  {hint}next:{hint:#} {next}\n");
        // If standard error is closed as well, there is nobody left to tell.
        let _ = io::Write::write_all(&mut anstream::stderr(), text.as_bytes());
        ExitCode::from(exit as u8)
    }
}

/// A configuration that a restart will not mend, which is how the service manager takes code 2.
impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::new(Exit::Usage, &error, error.next())
    }
}

impl From<DaemonError> for Failure {
    fn from(error: DaemonError) -> Self {
        match error {
            DaemonError::Config(error) => error.into(),
            error if error.is_of_the_disk() => Self::new(Exit::Disk, &error, error.next()),
            error => Self::new(Exit::Refused, &error, error.next()),
        }
    }
}

impl From<NoHome> for Failure {
    fn from(error: NoHome) -> Self {
        Self::new(
            Exit::Usage,
            error,
            "name the directory of the agent with --home",
        )
    }
}

macro_rules! refused {
    ($($error:ty),*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::new(Exit::Refused, &error, error.next())
            }
        }
    )*};
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        match &error {
            ClientError::Refused(refusal) if refusal.code == INVALID_PARAMS => {
                let what = refusal.data.as_ref().and_then(|data| data.as_str());
                let what = what.unwrap_or(&refusal.message).to_owned();
                Self::new(Exit::Usage, what, "--help shows the form of each argument")
            }
            ClientError::Refused(refusal) => refused_by(Exit::Refused, refusal),
            ClientError::Stopped(stopped) => refused_by(Exit::NotReachable, stopped),
            ClientError::NotReachable { .. } => Self::new(
                Exit::NotReachable,
                &error,
                "is the daemon running? signet run, with the same --home",
            ),
            _ => Self::new(
                Exit::NotReachable,
                &error,
                "look at the daemon: signet status, with the same --home",
            ),
        }
    }
}

impl From<MemoryError> for Failure {
    fn from(error: MemoryError) -> Self {
        let exit = match &error {
            MemoryError::Log(error) if error.is_of_the_disk() => Exit::Disk,
            _ => Exit::Refused,
        };
        Self::new(exit, error, "mend what it names, then try again")
    }
}

refused!(KeystoreError, LockError, PrivateError, ServerError);

/// The daemon's own refusal: its stable name, what is wrong, and what to do about it.
fn refused_by(exit: Exit, refusal: &RpcError) -> Failure {
    let member = |name: &str| refusal.data.as_ref()?.get(name)?.as_str();
    // The texts of refusals have the form `what is wrong; what to do`.
    let text = refusal.message.trim_end_matches('.');
    let (what, next) = match (member("next"), text.rsplit_once("; ")) {
        (Some(next), _) => (text, next),
        (None, Some((what, next))) => (what, next),
        (None, None) => (text, "signet status shows peers and sessions"),
    };
    let what = member("reason").map_or(what.to_owned(), |reason| format!("{reason}: {what}"));
    Failure::new(exit, what, next)
}

/// JSON-RPC's code for it.
const INVALID_PARAMS: i64 = -32602;
