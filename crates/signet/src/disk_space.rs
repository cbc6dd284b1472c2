//! Room on a disk: how much there is, and what to do where there is none.

use std::io::{self, ErrorKind};
use std::path::Path;

/// The room that is left for users other than root.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DiskSpace {
    /// Bytes.
    pub(crate) bytes: u64,
    /// Files that can be made.
    pub(crate) files: u64,
}

impl DiskSpace {
    /// Where `dir` is, or will be; `None` where the system does not say.
    pub(crate) fn at(dir: &Path) -> Option<Self> {
        let dir = dir.ancestors().find(|dir| dir.is_dir())?;
        let facts = rustix::fs::statvfs(dir).ok()?;
        Some(Self {
            bytes: facts.f_bavail.saturating_mul(facts.f_frsize),
            // A file system that does not count its files reports 0 here: treat 0 as room for any number of files.
            files: match facts.f_files {
                0 => u64::MAX,
                _ => facts.f_favail,
            },
        })
    }
}

/// Whether the system has no room for what was to be written.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded
    )
}

/// The hint for a person where the disk of `path` is full.
pub(crate) fn make_room(path: &Path) -> String {
    let place = path.parent().unwrap_or(path).display();
    format!("make room there (df -h {place}), then the same command again")
}
