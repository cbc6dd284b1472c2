//! What a home keeps of its log outside of the log's directory.

use std::path::PathBuf;

use crate::chain::LogPosition;
use crate::keys::CheckpointKeys;
use crate::readers::Readers;

/// The checkpoint keys, the anchor, and what else remembers the log's end.
#[derive(Debug)]
pub struct Custody {
    pub(crate) keys: CheckpointKeys,
    pub(crate) anchor: Option<PathBuf>,
    pub(crate) known: Option<LogPosition>,
    pub(crate) accepts_loss: bool,
    pub(crate) reads_later: bool,
    pub(crate) readers: Option<Readers>,
}

impl Custody {
    /// Keys, and the file of the anchor; it is made when it is not there.
    pub fn new(keys: CheckpointKeys, anchor: impl Into<PathBuf>) -> Self {
        Self {
            anchor: Some(anchor.into()),
            ..Self::from(keys)
        }
    }

    /// The log has to contain this place as well: what was made of the log goes up to it.
    #[must_use]
    pub fn knowing(mut self, position: Option<LogPosition>) -> Self {
        self.known = position;
        self
    }

    /// The group of the log's directory may read it: that one, or without a number the one that the directory
    /// has, or that a directory with the setgid bit above it gives.
    #[must_use]
    pub fn shared_with(mut self, group: Option<u32>) -> Self {
        self.readers = Some(Readers { group });
        self
    }

    /// A person says that what the log lost is lost.
    #[must_use]
    pub fn accepting_loss(mut self) -> Self {
        self.accepts_loss = true;
        self
    }

    /// Of the newest month, the lines whose tree the anchor has are read later, by whoever takes
    /// [`LogOpening::unread`](crate::LogOpening::unread): the start does not wait for that. What is signed meanwhile is the tree
    /// of what was written.
    #[must_use]
    pub fn reading_later(mut self) -> Self {
        self.reads_later = true;
        self
    }
}

/// Custody without an anchor: nothing then says that the last stop was clean, so every start takes it for a crash.
impl From<CheckpointKeys> for Custody {
    fn from(keys: CheckpointKeys) -> Self {
        Self {
            keys,
            anchor: None,
            known: None,
            accepts_loss: false,
            reads_later: false,
            readers: None,
        }
    }
}
