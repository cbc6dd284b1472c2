//! Why the desk does not do what it was asked, and what to do.

use std::io::{self, Write as _};

use signet::cli::{CliError, Exit};
use signet_cord::CordError;
use signet_text::visible;

/// The faults of the desk.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DeskError {
    /// The system refused.
    #[error("the system refused it: {0}")]
    System(io::Error),
    /// The cord to the launcher does not do its work.
    #[error(transparent)]
    Cord(#[from] CordError),
    /// The program was started with nothing to listen at.
    #[error("nothing to listen at came on standard input")]
    NoListener,
    /// The address names a home that is not at this desk.
    #[error("no home of that name is at this desk")]
    UnknownHome,
    /// The subject of the address or the form does not wait any more.
    #[error("that does not wait any more")]
    Gone,
    /// The form was sent before, lay too long, or was never handed out.
    #[error("that form was used already, or lay for too long")]
    Used,
    /// The daemon, a key or a file did not allow it.
    #[error("{what}")]
    Told {
        /// By which code a command would end.
        exit: Exit,
        /// The fault.
        what: String,
        /// The next step.
        next: String,
    },
}

impl DeskError {
    /// The next step of whoever started the program.
    pub(crate) const fn next(&self) -> &'static str {
        match self {
            Self::NoListener | Self::Cord(_) => "open it by: signet view",
            _ => "open it again: signet view",
        }
    }
}

impl From<CliError> for DeskError {
    fn from(error: CliError) -> Self {
        let (exit, what, next) = error.told();
        Self::Told {
            exit,
            what: what.to_owned(),
            next: next.to_owned(),
        }
    }
}

/// Says on standard error what is wrong.
pub(crate) fn tell(what: &str, next: &str) {
    // If standard error is closed, there is nobody left to tell.
    let _ = writeln!(
        io::stderr(),
        "error: {}\n  next: {}",
        visible(what),
        visible(next)
    );
}
