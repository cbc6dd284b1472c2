//! How a command ends when it does not end well.

use std::io::{self, ErrorKind};
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use signet_api::Reason;
use signet_audit::visible;

use crate::cli::exit::Exit;
use crate::config::ConfigError;
use crate::control::{ApiError, ClientError, ServerError};
use crate::daemon::DaemonError;
use crate::files::private::PrivateError;
use crate::hint;
use crate::home::NoHome;
use crate::keystore::KeystoreError;
use crate::lock::LockError;
use crate::memory::MemoryError;

use exits::{of_config, of_daemon, of_file, of_keys, of_lock, of_memory, of_private, of_server};

pub(super) mod exits;

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub enum CliError {
    /// Told to the person: what is wrong and what to do next.
    Told {
        /// The exit code.
        exit: Exit,
        /// A stable name for programs, where there is one.
        reason: Option<String>,
        /// One line: what is wrong.
        what: String,
        /// One line: what to do.
        next: String,
    },
    /// The output says all there is to say; only the exit code is left to give.
    Ended(Exit),
    /// Nobody reads the output any more: its pipe is closed.
    Unread,
    /// The output cannot be written: why.
    Unwritten(io::Error),
}

impl CliError {
    /// A failure to tell the person.
    pub fn new(exit: Exit, what: impl ToString, next: impl ToString) -> Self {
        Self::Told {
            exit,
            reason: None,
            what: what.to_string(),
            next: next.to_string(),
        }
    }

    /// The command line, a file or a setting is not what it has to be.
    pub(super) fn usage(what: impl ToString, next: impl ToString) -> Self {
        Self::new(Exit::Usage, what, next)
    }

    /// The daemon, a peer or a rule refused it, and would refuse it again.
    pub(super) fn refused(what: impl ToString, next: impl ToString) -> Self {
        Self::new(Exit::Refused, what, next)
    }

    /// Nobody answered.
    pub(super) fn not_reachable(what: impl ToString, next: impl ToString) -> Self {
        Self::new(Exit::NotReachable, what, next)
    }

    /// Whether nobody answered.
    pub(super) fn is_not_reachable(&self) -> bool {
        matches!(self, Self::Told { exit, .. } if *exit == Exit::NotReachable)
    }

    /// The same failure with its stable name.
    #[must_use]
    pub(super) fn named(mut self, name: &str) -> Self {
        if let Self::Told { reason, .. } = &mut self {
            *reason = Some(name.to_owned());
        }
        self
    }

    /// A file or directory that the system refused.
    pub(super) fn file(error: &io::Error, what: impl ToString, next: impl ToString) -> Self {
        Self::new(of_file(error.kind()), what, next)
    }

    /// The error for a write to standard output that failed.
    pub fn output(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::BrokenPipe => Self::Unread,
            _ => Self::Unwritten(error),
        }
    }

    /// Whether nobody could read the output.
    pub(super) const fn is_unread(&self) -> bool {
        matches!(self, Self::Unread | Self::Unwritten(_))
    }

    /// Prints the failure and gives the exit code. Whoever asked for JSON gets one line of it.
    pub fn report(self, json: bool) -> ExitCode {
        let (exit, reason, what, next) = match self {
            Self::Told {
                exit,
                reason,
                what,
                next,
            } => (exit, reason, what, next),
            Self::Ended(exit) => return exit.into(),
            Self::Unread => return Exit::Done.into(),
            Self::Unwritten(error) => (
                Exit::Disk,
                None,
                format!("standard output: {error}"),
                "send the output elsewhere; what the command has changed stays changed".to_owned(),
            ),
        };
        let next = hint::typed(&next);
        let text = match json {
            true => as_json(exit, reason.as_deref(), &what, &next),
            false => for_people(&what, &next),
        };
        // If standard error is closed, there is nobody left to tell.
        let _ = io::Write::write_all(&mut anstream::stderr(), text.as_bytes());
        exit.into()
    }
}

fn for_people(what: &str, next: &str) -> String {
    let (error, hint) = (AnsiColor::Red.on_default().bold(), Style::new().bold());
    let (what, next) = (visible(what), visible(next));
    format!("{error}error:{error:#} {what}\n  {hint}next:{hint:#} {next}\n")
}

fn as_json(exit: Exit, reason: Option<&str>, what: &str, next: &str) -> String {
    let error = FailureMembers {
        code: exit.number(),
        hint: next,
        message: what,
        name: exit.name(),
        reason,
    };
    // `to_string` does not fail: the report holds only texts and a number.
    let line = serde_json::to_string(&FailureReport { error }).unwrap_or_default();
    format!("{}\n", visible(&line))
}

/// The one line of JSON on standard error.
#[derive(Serialize)]
struct FailureReport<'a> {
    error: FailureMembers<'a>,
}

#[derive(Serialize)]
struct FailureMembers<'a> {
    code: u8,
    hint: &'a str,
    message: &'a str,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

impl From<NoHome> for CliError {
    fn from(error: NoHome) -> Self {
        Self::usage(error, "name the directory of the agent with --home")
    }
}

macro_rules! told {
    ($($error:ty: $exit:ident),*) => {$(
        impl From<$error> for CliError {
            fn from(error: $error) -> Self {
                Self::new($exit(&error), &error, error.next())
            }
        }
    )*};
}

told!(
    ConfigError: of_config,
    DaemonError: of_daemon,
    KeystoreError: of_keys,
    LockError: of_lock,
    MemoryError: of_memory,
    PrivateError: of_private,
    ServerError: of_server
);

impl From<ClientError> for CliError {
    fn from(error: ClientError) -> Self {
        match &error {
            ClientError::Refused(refusal) if refusal.is_of_params() => {
                let what = refusal.fault().unwrap_or(&refusal.message).to_owned();
                Self::usage(what, "--help shows the form of each argument")
            }
            ClientError::Refused(refusal) if refusal.is(&Reason::PlaceNeeded) => {
                let next = "ask again; signet status MESSAGE says where a message is";
                Self::new(Exit::NotReachable, &refusal.message, next)
                    .named(Reason::PlaceNeeded.as_str())
            }
            ClientError::Refused(refusal) if refusal.is(&Reason::CapabilityNeeded) => {
                let text = refusal.message.as_str();
                let (what, _) = text.rsplit_once("; ").unwrap_or((text, ""));
                let name = Reason::CapabilityNeeded.as_str().to_owned();
                let next = "name one with --capability, or ask the people there with --for-people";
                Self::refused(format!("{name}: {what}"), next).named(&name)
            }
            ClientError::Refused(refusal) if refusal.is(&Reason::DiskFull) => {
                refused_by(Exit::Disk, refusal)
            }
            ClientError::Refused(refusal) => refused_by(Exit::Refused, refusal),
            ClientError::Stopped(stopped) => refused_by(Exit::NotReachable, stopped),
            ClientError::NotReachable { .. } => {
                Self::new(Exit::NotReachable, &error, hint::start())
            }
            ClientError::Closed
            | ClientError::TimedOut(_)
            | ClientError::Malformed
            | ClientError::Io(_) => Self::new(
                Exit::NotReachable,
                &error,
                "signet status  # how the daemon does",
            ),
        }
    }
}

/// The daemon's own refusal: its stable name, what is wrong, and what to do about it.
fn refused_by(exit: Exit, error: &ApiError) -> CliError {
    let next = error.refusal().and_then(|refusal| refusal.next.as_deref());
    // A refusal without a hint may name the next step in its text, as in `what is wrong; what to do`: so take
    // what follows the last semicolon for the hint.
    let text = error.message.trim_end_matches('.');
    let (what, next) = match (next, text.rsplit_once("; ")) {
        (Some(next), _) => (text, next),
        (None, Some((what, next))) => (what, next),
        (None, None) => (text, "signet status  # shows peers and sessions"),
    };
    match error.reason() {
        Some(reason) => {
            CliError::new(exit, format!("{reason}: {what}"), next).named(reason.as_str())
        }
        None => CliError::new(exit, what, next),
    }
}
