//! Whether a file that is open for writing is still the one at its path.
//!
//! A file that was removed or moved away takes writes and fdatasync as before, and so does one on a file
//! system that was unmounted lazily: no later start finds any of it.

use std::fs::{self, File, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::error::{LogError, at};

/// A file that somebody holds open, by the path at which it was opened. While it is open, no other file
/// gets its inode.
#[derive(Clone, Debug)]
pub struct FileIdentity {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl FileIdentity {
    /// Of the file at `path`, which another library has opened.
    ///
    /// # Errors
    /// When the system does not say which file that is.
    pub fn at(path: &Path) -> Result<Self, LogError> {
        Ok(Self::of(&path.symlink_metadata().map_err(at(path))?, path))
    }

    pub(crate) fn of_open(file: &File, path: &Path) -> Result<Self, LogError> {
        Ok(Self::of(&file.metadata().map_err(at(path))?, path))
    }

    fn of(facts: &Metadata, path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            device: facts.dev(),
            inode: facts.ino(),
        }
    }

    /// The length of the file, which has to be at its path.
    ///
    /// # Errors
    /// [`LogError::Gone`], or the system's answer.
    pub(crate) fn demand(&self) -> Result<u64, LogError> {
        // Do not follow a link, even a link to this very file: a start opens no link, so it would not find the file.
        match fs::symlink_metadata(&self.path) {
            Ok(facts) if (facts.dev(), facts.ino()) == (self.device, self.inode) => Ok(facts.len()),
            Ok(_) => Err(self.gone(REPLACED)),
            Err(error) if GONE.contains(&error.kind()) => Err(self.gone(REMOVED)),
            Err(error) => Err(at(&self.path)(error)),
        }
    }

    /// The same for a file of which so many bytes are written. What somebody else put behind them stays there.
    pub(crate) fn demand_of_length(&self, written: u64) -> Result<(), LogError> {
        match self.demand()? >= written {
            true => Ok(()),
            false => Err(self.gone(CUT)),
        }
    }

    fn gone(&self, what: &'static str) -> LogError {
        LogError::Gone {
            path: self.path.clone(),
            what,
        }
    }
}

/// Neither the file nor the way to it is there.
const GONE: [ErrorKind; 2] = [ErrorKind::NotFound, ErrorKind::NotADirectory];
pub(crate) const REMOVED: &str = "it was removed or moved, or its file system was unmounted";
const REPLACED: &str = "another file stands in its place";
const CUT: &str = "somebody cut it off";
