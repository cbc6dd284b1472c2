//! Faults of the reading room, and what to do next.

use std::io;
use std::path::PathBuf;

use signet_audit::LogError;

/// The reading room could not start, or cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// A log that it was given cannot be read.
    #[error("{path}: {source}")]
    Log {
        /// The log's folder.
        path: PathBuf,
        /// Why not.
        source: LogError,
    },
    /// A folder or file of its own cannot be made, read or written.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Others may write in the folder in which the index would stand.
    #[error("{0} may be written by others: the index would be read from a file of theirs")]
    OpenFolder(PathBuf),
    /// The index fails.
    #[error("the index {path}: {source}")]
    Index {
        /// Its file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// A line that the index names does not stand in its log any more.
    #[error("the line is not in the log any more: the log was written anew, and is read again")]
    Gone,
    /// No address to listen at.
    #[error("cannot listen at {address}: {source}")]
    Listen {
        /// Where.
        address: String,
        /// Why not.
        source: io::Error,
    },
    /// The system lacks a part of the cage.
    #[error(
        "{what} is not there on this system: whoever took this program over could read the person's files: {why}"
    )]
    NoCage {
        /// Which part.
        what: &'static str,
        /// The system's word.
        why: String,
    },
    /// The system gives no randomness.
    #[error("the system gives no randomness for the secret of the address")]
    NoRandomness,
    /// The launcher said what this program does not understand, or nothing.
    #[error("the launcher's word cannot be read: {0}")]
    Cord(String),
}

impl ViewError {
    /// The next step.
    #[must_use]
    pub fn next(&self) -> &'static str {
        match self {
            Self::Log { .. } => {
                "name the folder of a log, and let this user read it: signet-view --log DIR"
            }
            Self::File { .. } => "let this user write there, or name another folder: --data DIR",
            Self::OpenFolder(_) => "chmod go-w that folder, or name another one: --data DIR",
            Self::Index { .. } => "remove the file: it is made from the logs, and is made again",
            Self::Gone => "load the page again",
            Self::Listen { .. } => "start it again: it looks for another address",
            Self::NoCage { .. } => {
                "run it where Landlock and seccomp are, or without a cage: --unconfined"
            }
            Self::NoRandomness => "run it where getrandom(2) is allowed",
            Self::Cord(_) => "start it by `signet view`",
        }
    }
}

/// As [`ViewError::File`] of that path.
pub(crate) fn at(path: &std::path::Path) -> impl FnOnce(io::Error) -> ViewError + '_ {
    move |source| ViewError::File {
        path: path.to_owned(),
        source,
    }
}
