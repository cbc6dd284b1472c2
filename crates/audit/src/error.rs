//! What can go wrong with a log, by whose turn it is.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use signet_json::JsonError;
use signet_proto::entry::EntryError;
use signet_proto::ids::AgentId;
use signet_text::word;

use crate::plain::NotPlain;

/// The log cannot be opened, written or read.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The system refused.
    #[error("{path}: {source}")]
    Io {
        /// What was touched.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// There is no room. A log that is open stays as it was: [`commit`](crate::Log::commit) again when
    /// there is.
    #[error("{0}: the disk is full, or the quota used up")]
    Full(PathBuf),
    /// The file system takes no writes; the system makes it so when it finds its disk at fault.
    #[error("{0}: the file system is read-only")]
    ReadOnly(PathBuf),
    /// A file that is open for writing is not the one at its path any more: no start would find what is
    /// written to it.
    #[error("{path}: the file that this agent writes is not at its place any more: {what}")]
    Gone {
        /// Where it was.
        path: PathBuf,
        /// How the file differs from the one that was opened.
        what: &'static str,
    },
    /// A line before the last does not fit the chain. This is never repaired.
    #[error("{file}: {what}; the log was changed after it was written")]
    Broken {
        /// Which file.
        file: PathBuf,
        /// What does not fit.
        what: String,
    },
    /// The log lacks a line that its home remembers: its end was cut off, or an older copy or another
    /// log stands in its place.
    #[error(
        "{dir}: the log went back: line {line} (SHA-256 {hash}), which this agent has written, is not \
         there; {what}"
    )]
    WentBack {
        /// The directory of the log.
        dir: PathBuf,
        /// The newest line that is remembered.
        line: u64,
        /// The SHA-256 of that line, hex.
        hash: String,
        /// What is there in its place.
        what: String,
    },
    /// Something stands behind the line with which the last writer stopped: it wrote nothing since.
    #[error(
        "{file}: behind line {line}, with which this agent stopped, stands something that it did not \
         write, from byte {offset} on"
    )]
    Appended {
        /// Which file.
        file: PathBuf,
        /// The last line of the agent's own.
        line: u64,
        /// Where that line ends, in bytes.
        offset: u64,
    },
    /// A line is not one of this log.
    #[error("{file}, line {line}: {source}")]
    Record {
        /// Which file.
        file: PathBuf,
        /// The number of the line in it, from 1.
        line: u64,
        /// What is wrong with it.
        source: RecordError,
    },
    /// A line of a later version: the log was written by a newer release.
    #[error(
        "{file}: a line of version {version}, from a newer signet; this one reads versions 1 and 2"
    )]
    Newer {
        /// Which file.
        file: PathBuf,
        /// The version.
        version: u64,
    },
    /// The line would exceed [`MAX_LINE`](crate::MAX_LINE). Nothing was added, and the log goes on.
    #[error("the line would have {0} bytes, over 2 MiB; refuse the message as too-large")]
    TooLong(usize),
    /// A log starts with the certificate of its own agent.
    #[error("a log starts with `genesis`, not with `{0}`; pass this agent's certificate")]
    NotGenesis(&'static str),
    /// There are no log files in the directory, nor in those in it.
    #[error("{0}: no inter-agent-YYYY-MM.jsonl in it")]
    NoLog(PathBuf),
    /// A checkpoint key that others may use could have signed anything.
    #[error("{0}: a checkpoint key that is no plain file of mode 0600; nobody else may read it")]
    OpenKey(PathBuf),
    /// Where a file of the log belongs stands something that has no end, or leads elsewhere.
    #[error("{path}: it is {what}, and a log is made of plain files")]
    NotPlain {
        /// What was to be opened.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// The group that may read the log cannot be let in.
    #[error("{path}: the group that may read the log cannot be let in: {source}")]
    NotShared {
        /// The folder, or a file in it.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Others than the owner may write in the folder of the log, or of its keys.
    #[error("{path}: others may write in this folder (mode {mode:04o}), and so change the log")]
    OpenFolder {
        /// The folder.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// Others than the owner may write in the folder above that of the log.
    #[error(
        "{path}: others may write in this folder (mode {mode:04o}), and so exchange the log's folder in it"
    )]
    OpenFolderAbove {
        /// The folder.
        path: PathBuf,
        /// Its mode.
        mode: u32,
        /// Whether it is this user's, whose rights it is to give and to take.
        is_ours: bool,
    },
    /// The anchor is gone, and the log has more than what else the home remembers of it.
    #[error(
        "{anchor}: the log's anchor is missing, and behind line {vouched} of the log, the last that the \
         state, the finished months or a checkpoint vouch for, line {line} moves something and bears no signature"
    )]
    Unanchored {
        /// Where the anchor was.
        anchor: PathBuf,
        /// The last line that something in the home vouches for.
        vouched: u64,
        /// The first line behind it that nothing vouches for.
        line: u64,
    },
    /// Two logs of one agent were given where those of two are held against each other.
    #[error("both are logs of {0}")]
    SameAgent(AgentId),
    /// Nothing in the log says whose it is.
    #[error("{0}: neither `genesis` nor a message says whose log it is")]
    NoOwner(PathBuf),
    /// Another process writes this log.
    #[error("{0}: another signet writes the log in it; one agent, one log")]
    Held(PathBuf),
    /// An earlier write or fdatasync failed, and what the disk holds is unknown until a new start.
    #[error("an earlier write to the log failed, so nothing more is written")]
    Stopped,
}

impl LogError {
    /// What to do about it.
    #[must_use]
    pub fn next(&self) -> String {
        match self {
            Self::Io { path, source } => match source.kind() {
                ErrorKind::NotFound => {
                    "name the directory of a log; that of a home is HOME/audit/AGENT-ID".to_owned()
                }
                ErrorKind::PermissionDenied => {
                    format!("ls -ld {}  # only its owner may read it", word(path))
                }
                _ => "see to the disk, `dmesg` says what is wrong with it".to_owned(),
            },
            Self::Full(_) => {
                "free some space there: a log needs 5 MiB to begin or to go on".to_owned()
            }
            Self::ReadOnly(_) => {
                "`dmesg` says why it is; mount it writable, then start again".to_owned()
            }
            Self::Gone { .. } => {
                "find out who took it away, and put it back where it was; then start again"
                    .to_owned()
            }
            Self::Record {
                source: RecordError::Kind,
                file,
                ..
            } => format!(
                "use the release of signet that wrote it; if none did, the log was changed: signet audit verify {}",
                word(file.parent().unwrap_or(file))
            ),
            Self::Broken { file, .. } | Self::Record { file, .. } => {
                let log = file.parent().unwrap_or(file);
                format!(
                    "signet audit verify {}  # says which lines hold and which do not",
                    word(log)
                )
            }
            Self::WentBack { dir, .. } => put_the_log_back(dir),
            Self::Appended { file, offset, .. } => format!(
                "cp -p {0} {1} && truncate -s {offset} {0}  # keeps a copy as evidence, and cuts the file behind the \
                 last line of this agent's; find out who else writes there",
                word(file),
                word(&file.with_extension("evidence"))
            ),
            Self::NoLog(_) => {
                "name the directory of a log; that of a home is HOME/audit/AGENT-ID".to_owned()
            }
            Self::OpenKey(path) => format!(
                "chmod 600 {}  # if nobody else can have read it; else move it away, and this month gets no more \
                 checkpoints",
                word(path)
            ),
            Self::SameAgent(_) => {
                "name the log of the other agent; versions of one log are for `signet audit verify`"
                    .to_owned()
            }
            Self::Newer { .. } => {
                "use the release of signet that wrote it, or a later one".to_owned()
            }
            Self::NotPlain { .. } => "move it away, or name the file itself".to_owned(),
            Self::OpenFolder { path, .. } => {
                format!("chmod 700 {}  # and look at what lies in it", word(path))
            }
            Self::OpenFolderAbove {
                path,
                is_ours: true,
                ..
            } => format!(
                "chmod go-w {}  # and look at what lies in it; where others have to write there, give the log a \
                 private folder instead: `dir` in [audit] of config.toml",
                word(path)
            ),
            Self::OpenFolderAbove { path, .. } => format!(
                "ls -ld {}  # it is not this agent's to close: move the log to a private folder, and name that by \
                 `dir` in [audit] of config.toml",
                word(path)
            ),
            Self::Unanchored { anchor, .. } => format!(
                "ls -la {}  # put {} back there; only if it is nowhere: signet state accept-loss, which sets that \
                 line and what follows it aside",
                word(anchor.parent().unwrap_or(anchor)),
                anchor.file_name().unwrap_or_default().display()
            ),
            Self::NotShared { path, .. } => {
                let dir = path.parent().unwrap_or(path).display();
                format!(
                    "as root: chgrp -R GROUP {dir} && chmod -R g+rX {dir} && find {dir} -type d -exec chmod g+s {{}} +"
                )
            }
            Self::NoOwner(_) => "give the first file of the log too".to_owned(),
            Self::Held(_) => "stop the other one; one agent, one log".to_owned(),
            Self::Stopped => "see to the disk, then start again".to_owned(),
            Self::TooLong(_) | Self::NotGenesis(_) => {
                "this is a fault in signet: tell the maintainers what it said".to_owned()
            }
        }
    }

    /// Whether the fault is with the disk: another start does not mend it, and a person has to look.
    #[must_use]
    pub fn is_of_the_disk(&self) -> bool {
        matches!(
            self,
            Self::Io { .. } | Self::Full(_) | Self::ReadOnly(_) | Self::Gone { .. } | Self::Stopped
        )
    }
}

/// The next step for a person when the newest lines of the log in `dir` are gone.
#[must_use]
pub fn put_the_log_back(dir: &Path) -> String {
    // The log's own folder may be gone: then show the nearest folder above it that still exists.
    let mut places = dir.ancestors().filter(|place| place.is_dir());
    format!(
        "ls -la {}  # put the newest copy of the log back there; only if there is none: signet state accept-loss",
        word(places.next().unwrap_or(dir))
    )
}

/// Bytes are not a line of a log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// Not JSON of the strict kind.
    #[error("not a line of JSON: {0}")]
    Json(#[from] JsonError),
    /// A line of a later version.
    #[error(
        "the line is of version {0}, from a newer signet: this one reads versions 1 and 2; use that release"
    )]
    Newer(u64),
    /// A member of the frame is absent or malformed.
    #[error("the line's `{0}` is absent or malformed")]
    Member(&'static str),
    /// `v`, `seq`, `ts`, `prev` and `kind` do not stand first, in this order and spelling.
    #[error("the line does not start with v, seq, ts, prev and kind as a log writes them")]
    Spelling,
    /// The members of its kind are at fault.
    #[error(transparent)]
    Entry(#[from] EntryError),
    /// No version of signet that this one knows writes such lines.
    #[error("the line's `kind` is unknown to this version of signet")]
    Kind,
}

/// The error for a line of `file` that cannot be read.
pub(crate) fn unread(file: &Path, line: u64, source: RecordError) -> LogError {
    let file = file.to_owned();
    match source {
        RecordError::Newer(version) => LogError::Newer { file, version },
        source => LogError::Record { file, line, source },
    }
}

/// Puts the path to a system's answer.
pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> LogError + '_ {
    |source| match source.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => LogError::Full(path.to_owned()),
        _ => unsynced(path)(source),
    }
}

/// As [`at`], for an operation that is never tried again, not even when the disk says that it is full: an fsync tells
/// of an error once, and what is on the disk nobody knows.
pub(crate) fn unsynced(path: &Path) -> impl FnOnce(io::Error) -> LogError + '_ {
    |source| {
        let inner = source.get_ref().and_then(|inner| inner.downcast_ref());
        match (source.kind(), inner) {
            (_, Some(NotPlain(what))) => LogError::NotPlain {
                path: path.to_owned(),
                what,
            },
            (ErrorKind::ReadOnlyFilesystem, _) => LogError::ReadOnly(path.to_owned()),
            _ => LogError::Io {
                path: path.to_owned(),
                source,
            },
        }
    }
}

pub(crate) fn broken(path: &Path, what: &str) -> LogError {
    LogError::Broken {
        file: path.to_owned(),
        what: what.to_owned(),
    }
}
