//! Whether a file is still the one that was read.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// What tells one state of the file from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileStamp {
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
}

impl FileStamp {
    /// The stamp of the file at `path`; `None` where there is none.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let facts = fs::metadata(path).ok()?;
        Some(Self {
            inode: facts.ino(),
            bytes: facts.len(),
            // Use ctime and not mtime: any program can set mtime back, and a renamed file keeps its old mtime.
            changed: (facts.ctime(), facts.ctime_nsec()),
        })
    }
}
