//! Lines of the gateway's own log, and why a command ends: standard error, which systemd keeps.

use std::io::Write as _;
use std::process::ExitCode;

use signet_text::visible;

use crate::{hint, shown};

/// Says one line.
pub(crate) fn say(line: &str) {
    // If standard error is closed, there is nobody left to tell.
    let _ = writeln!(std::io::stderr(), "{}", visible(line));
}

/// Prints why a command ends, and gives its exit code.
pub(crate) fn failed(error: &str, code: u8) -> ExitCode {
    // If standard error is closed, there is nobody left to tell.
    let _ = std::io::stderr().write_all(error.as_bytes());
    ExitCode::from(code)
}

/// An error and what to do next, in two lines.
pub(crate) fn told(what: &str, next: &str) -> String {
    format!(
        "error: {}\n  next: {}\n",
        shown::visible(what),
        hint::typed(next)
    )
}

pub(crate) const NO_ROOM: &str = "free memory or threads, then try again";
pub(crate) const REFUSED: u8 = 1;
