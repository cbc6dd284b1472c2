//! How a command ends when it does not end well.

use std::fmt::Write as _;
use std::io;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};

use crate::config::ConfigError;
use crate::control::ClientError;
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
        let Self::Told { exit, what, next } = self else {
            return ExitCode::SUCCESS;
        };
        let (error, hint) = (AnsiColor::Red.on_default().bold(), Style::new().bold());
        let (what, next) = (printable(&what), printable(&next));
        let text = format!("{error}error:{error:#} {what}\n  {hint}next:{hint:#} {next}\n");
        // If standard error is closed as well, there is nobody left to tell.
        let _ = io::Write::write_all(&mut anstream::stderr(), text.as_bytes());
        ExitCode::from(exit as u8)
    }
}

/// `text` on one line, unable to drive a terminal: control and direction characters escaped.
pub(crate) fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() || is_format(character) {
            // Writing to a String cannot fail.
            let _ = write!(out, "{}", character.escape_unicode());
        } else {
            out.push(character);
        }
    }
    out
}

/// Line separators, zero-width and bidirectional controls, which turn a line into another one.
fn is_format(character: char) -> bool {
    matches!(character,
        '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
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
            ClientError::Refused(refusal) => {
                let reason = refusal.data.as_ref().and_then(|data| data.get("reason")).and_then(|reason| reason.as_str());
                let what = reason.map_or(refusal.message.clone(), |reason| format!("{reason}: {}", refusal.message));
                Self::new(Exit::Refused, what, "signet status shows peers and sessions")
            }
            _ => Self::new(Exit::NotReachable, &error, "start the daemon: signet run, with the same --home"),
        }
    }
}

impl From<MemoryError> for Failure {
    fn from(error: MemoryError) -> Self {
        Self::new(Exit::Refused, error, "mend what it names, then try again")
    }
}

refused!(DaemonError, ConfigError, KeystoreError, LockError, PrivateError);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_forges_a_line_or_drives_the_terminal_is_escaped() {
        assert_eq!(
            printable("a\nerror: b\u{1b}[2J"),
            "a\\u{a}error: b\\u{1b}[2J"
        );
        assert_eq!(
            printable("\u{202e}txt\u{9b}m\u{2028}"),
            "\\u{202e}txt\\u{9b}m\\u{2028}"
        );
        assert_eq!(printable("Grüße, 東京 🙂"), "Grüße, 東京 🙂");
    }
}
