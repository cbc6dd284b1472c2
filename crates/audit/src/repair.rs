//! What a start makes of the files that the last writer left.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::chain::Tip;
use crate::checkpoint::checkpoints_of;
use crate::disk::Disk;
use crate::error::{LogError, at};
use crate::file::{copy, months, remove_left, set_aside, sync_dir};
use crate::record::Mark;
use crate::tail::examine;

/// Where a log that has lines goes on.
#[derive(Debug)]
pub(crate) struct LogEnd {
    pub(crate) path: PathBuf,
    pub(crate) tip: Tip,
    pub(crate) is_closed: bool,
    /// The length of the file up to the end of its last whole line.
    pub(crate) bytes: u64,
}

/// The end of a log as its files show it, and what is torn behind it.
#[derive(Debug, Default)]
pub(crate) struct FoundEnd {
    pub(crate) end: Option<LogEnd>,
    torn: Vec<(PathBuf, u64)>,
}

impl FoundEnd {
    /// Reads, and changes nothing: a log that does not fit is evidence.
    pub(crate) fn look(disk: &Disk, dir: &Path) -> Result<Self, LogError> {
        let mut files = months(dir)?;
        let mut found = Self {
            end: None,
            torn: Vec::new(),
        };
        while let Some(path) = files.pop() {
            let tail = examine(disk, &path, files.last())?;
            // The bytes from `tail.end` on are torn. In a file without a whole line all bytes are torn: the process
            // died after it made the file and before the first line was written whole.
            found.torn.push((path.clone(), tail.end));
            if let Some((tip, kind)) = tail.last {
                found.end = Some(LogEnd {
                    path,
                    tip,
                    is_closed: kind == Mark::CLOSE,
                    bytes: tail.end,
                });
                break;
            }
        }
        Ok(found)
    }

    /// How many bytes are torn.
    pub(crate) fn torn_bytes(&self) -> Result<u64, LogError> {
        let mut bytes = 0;
        for (path, start) in &self.torn {
            let facts = path.metadata().map_err(at(path))?;
            bytes += facts.len().saturating_sub(*start);
        }
        Ok(bytes)
    }

    /// The newest file ends at `bytes`, with the line that makes `tip`: what stands behind it is torn.
    pub(crate) fn cut(&mut self, bytes: u64, tip: Tip) {
        if let Some(end) = &mut self.end {
            (end.bytes, end.tip, end.is_closed) = (bytes, tip, false);
            for (_, start) in self.torn.iter_mut().filter(|(path, _)| *path == end.path) {
                *start = bytes;
            }
        }
    }

    /// Sets aside what is torn, and writes the newest file and its checkpoints anew when the last stop
    /// was not clean: after a failed fdatasync the system may keep in memory, as if it were clean, what
    /// the disk has never got. `None` when the log has no line.
    pub(crate) fn mend(self, disk: &Disk, rewrites: bool) -> Result<Option<LogEnd>, LogError> {
        let seq = self.end.as_ref().map_or(0, |end| end.tip.seq) + 1;
        for (path, start) in &self.torn {
            set_aside(disk, path, *start, seq)?;
        }
        if let (Some(end), true) = (&self.end, rewrites) {
            rewrite(disk, &end.path, end.bytes)?;
            let checkpoints = checkpoints_of(&end.path);
            // A month without checkpoints has no file of checkpoints, so there is nothing to rewrite.
            if let Ok(facts) = checkpoints.metadata() {
                rewrite(disk, &checkpoints, facts.len())?;
            }
        }
        Ok(self.end)
    }
}

/// Puts a fresh copy of a file's first bytes into its place: new blocks, durable before they are named.
pub(crate) fn rewrite(disk: &Disk, path: &Path, bytes: u64) -> Result<(), LogError> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let copied = dir.join(COPY);
    // A start that died may have left a half-made copy under this name, and `create` would then fail.
    remove_left(disk, &copied)?;
    let old = disk.open(path, File::options().read(true));
    let old = old.map_err(at(path))?;
    let new = disk.create(&copied).map_err(at(&copied))?;
    if let Err(error) = copy(disk, &old, path, &new, &copied, 0..bytes) {
        // Remove a half-made copy: on a full disk it would take the room that the next try needs.
        let _ = disk.remove(&copied);
        return Err(error);
    }
    // Rename only now, after the sync in `copy`: so a power cut leaves either the old file or the whole new file at `path`.
    disk.rename(&copied, path).map_err(at(path))?;
    sync_dir(disk, dir)
}

const COPY: &str = "inter-agent.rewriting";
