//! What stands in the way of an agent's memory, and what to do about it.

use signet_audit::LogError;
use signet_proto::ids::AgentId;

use crate::hint;
use crate::keystore::KeystoreError;
use crate::state::StateError;

/// The state cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The log.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The keys.
    #[error(transparent)]
    Keys(#[from] KeystoreError),
    /// The system gives no random bytes.
    #[error("the system gives no random bytes: {0}")]
    Random(#[from] std::io::Error),
    /// The log's first months are not there, and the state cannot be used without them.
    #[error("the log begins with line {0}: its first months are missing, and the state needs them")]
    NoBeginning(u64),
    /// A line that a crash left unanchored does not hold.
    #[error(
        "line {line} of the log, written behind the last that this agent anchored, does not hold: {what}; \
         somebody else wrote it, and the start does not sign on"
    )]
    Unproven {
        /// Its number.
        line: u64,
        /// What does not hold.
        what: String,
    },
    /// The log has every line that the home remembers.
    #[error("the log has every line that this agent remembers: nothing is lost")]
    NothingLost,
    /// The state: it cannot be read now, or nothing else was asked for.
    #[error(transparent)]
    State(#[from] StateError),
    /// Nobody made the group that may read the log.
    #[error("the log: there is no group {0:?} in /etc/group")]
    NoGroup(String),
    /// The log in this directory is another agent's.
    #[error("the log is that of {found}, not of {expected}")]
    OtherAgent {
        /// Whose log it is.
        found: AgentId,
        /// Whose home it is.
        expected: AgentId,
    },
}

impl MemoryError {
    /// What to do about it.
    pub fn next(&self) -> String {
        match self {
            Self::Keys(error) => error.next(),
            Self::Log(LogError::Held(_)) => {
                "stop the other one, or set `dir` in [audit] to a directory of its own".to_owned()
            }
            Self::Log(error) => next_for_log(error),
            Self::Unproven { .. } => {
                "find out who else writes in the log's directory; keep a copy of the log, then take that \
                 line and what follows it out"
                    .to_owned()
            }
            Self::NoGroup(name) => {
                {
                let made = hint::as_root(&format!("groupadd {name}"));
                format!("{made}  # or correct `group` in [audit] of config.toml")
            }
            }
            Self::NothingLost => hint::start(),
            Self::Random(_) => "try again when the system has started completely".to_owned(),
            Self::NoBeginning(_) => "put the log's first months back where they were".to_owned(),
            Self::State(StateError::Full | StateError::Refused(_)) => {
                "see to the disk that holds state.db, then try again".to_owned()
            }
            Self::State(StateError::Newer { .. }) => NEWER.to_owned(),
            Self::State(StateError::NotPlain(path)) => format!(
                "ls -l {}  # look at it, then remove it: the start makes the state again from the log",
                hint::word(path)
            ),
            Self::State(_) => "signet state rebuild  # makes it again from the log".to_owned(),
            Self::OtherAgent { .. } => {
                "set `dir` in [audit] of config.toml to a directory of this agent's own".to_owned()
            }
        }
    }
}

/// What to do about a log that cannot be opened, or not be written any more.
pub(crate) fn next_for_log(error: &LogError) -> String {
    match error {
        LogError::Gone { .. } => error.next(),
        error if error.is_of_the_disk() => DISK.to_owned(),
        LogError::Newer { .. } => NEWER.to_owned(),
        error => error.next(),
    }
}

/// Nothing that the log does not hold was answered: what to do when it can hold no more.
const DISK: &str = "look at `df` and `dmesg`, copy the home to a sound disk if this one fails, then start \
                               again: the start writes the end of the log anew before it trusts it";

/// A home goes on with a later release, and not back: what that one wrote would be lost.
const NEWER: &str = "use the release of signet that wrote it, or a later one; to go back, put a copy of the whole \
                     home from before the upgrade in its place";
