//! The file of a month, of its lines or of its checkpoints, open for appending.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::disk::Disk;
use crate::error::{LogError, at, unsynced};
use crate::file::sync_dir;
use crate::file_identity::FileIdentity;

/// A month's file open for appending, with room reserved behind its end: so a full disk refuses a write before
/// it takes half a line.
#[derive(Debug)]
pub(crate) struct MonthFile {
    pub(crate) path: PathBuf,
    disk: Disk,
    file: File,
    identity: FileIdentity,
    len: u64,
    reserved: u64,
    /// How many bytes are reserved at once beyond the end.
    ahead: u64,
}

impl MonthFile {
    /// Makes the file of a month that has none, and its name durable.
    ///
    /// # Errors
    /// [`LogError::Full`] leaves no file.
    pub(crate) fn create(disk: &Disk, path: PathBuf) -> Result<Self, LogError> {
        let file = disk.create(&path).map_err(at(&path))?;
        // Sync the directory: if a power cut took away the file's name, it would take the durable lines of the file with it.
        if let Some(dir) = path.parent() {
            sync_dir(disk, dir)?;
        }
        Self::new(disk, path, file)
    }

    /// Goes on in a file, whose end is first made durable: a writer that died may have left it in
    /// memory only.
    pub(crate) fn resume(disk: &Disk, path: PathBuf) -> Result<Self, LogError> {
        let file = disk
            .open(&path, File::options().append(true))
            .map_err(at(&path))?;
        disk.sync_data(&file, &path).map_err(unsynced(&path))?;
        Self::new(disk, path, file)
    }

    fn new(disk: &Disk, path: PathBuf, file: File) -> Result<Self, LogError> {
        let len = file.metadata().map_err(at(&path))?.len();
        let identity = FileIdentity::of_open(&file, &path)?;
        Ok(Self {
            path,
            disk: disk.clone(),
            file,
            identity,
            len,
            reserved: 0,
            ahead: RESERVED,
        })
    }

    /// Reserves less room at once, for a file of few and short lines: on a small disk the log needs the room.
    pub(crate) fn sparing(mut self) -> Self {
        self.ahead = SPARED;
        self
    }

    /// How long the file is.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Writes `bytes` at the end in one go and waits until the disk has them.
    ///
    /// # Errors
    /// After [`LogError::Full`] the file is as it was. After anything else nobody knows what the disk
    /// has.
    pub(crate) fn write_durably(&mut self, bytes: &[u8]) -> Result<(), LogError> {
        self.reserve(bytes.len() as u64)?;
        if let Err(error) = self.disk.write(&self.file, &self.path, bytes) {
            return Err(self.cut_back(error));
        }
        self.disk
            .sync_data(&self.file, &self.path)
            .map_err(unsynced(&self.path))?;
        // Raise the length only now: `cut_back` cuts the file to this length, and so removes what a failed write left.
        self.len += bytes.len() as u64;
        Ok(())
    }

    /// The file has to be at its path, and to have all that was written to it.
    ///
    /// # Errors
    /// [`LogError::Gone`].
    pub(crate) fn demand_in_place(&self) -> Result<(), LogError> {
        self.identity.demand_of_length(self.len)
    }

    /// Gives back the room that is reserved beyond the end: nothing more is written here. Of a file
    /// that is longer than what was written nothing is cut off.
    ///
    /// # Errors
    /// What the disk says. The room is then given back by a later start.
    pub(crate) fn give_back(&mut self) -> Result<(), LogError> {
        if std::mem::take(&mut self.reserved) > self.len {
            give_back(&self.disk, &self.file, &self.path, self.len)?;
        }
        Ok(())
    }

    /// Reserves room for `more` bytes. Where the file system knows no reservation, or a signal interrupts the call,
    /// nothing is refused here: a full disk then refuses the write.
    fn reserve(&mut self, more: u64) -> Result<(), LogError> {
        let needed = self.len.saturating_add(more);
        if needed <= self.reserved {
            return Ok(());
        }
        let ahead = more.saturating_add(self.ahead);
        let room = self.len..self.len.saturating_add(ahead);
        let answer = self.disk.reserve(&self.file, &self.path, room.clone());
        self.reserved = match answer {
            Ok(()) => room.end,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => needed,
            Err(error) => match at(&self.path)(error) {
                // A file system that cannot reserve room refuses every time: take all room for reserved, so that it is not
                // asked again.
                LogError::Io { source, .. } if !is_broken(&source) => u64::MAX,
                error => return Err(error),
            },
        };
        Ok(())
    }

    /// Cuts off the part of a group that a full disk took, so that no half line stays in the file.
    fn cut_back(&mut self, error: io::Error) -> LogError {
        let error = at(&self.path)(error);
        if let LogError::Full(_) = error {
            self.reserved = 0;
            let cut = self.disk.truncate(&self.file, &self.path, self.len);
            // The cut failed too, so half a line may be left in the file. Do not report a full disk, after which writing would
            // go on: the log has to stop.
            if let Err(error) = cut {
                return unsynced(&self.path)(error);
            }
        }
        error
    }
}

/// Gives back what a crash or an older release left reserved behind files that are no longer written.
/// What cannot be given back harms nothing but the disk's room.
pub(crate) fn give_back_old<'p>(disk: &Disk, files: impl Iterator<Item = &'p Path>) {
    for path in files {
        let is_reserved = path
            .symlink_metadata()
            .is_ok_and(|facts| facts.is_file() && facts.blocks() * 512 > facts.len() + SLACK);
        if is_reserved
            && let Ok(file) = disk.open(path, File::options().append(true))
            && let Ok(facts) = file.metadata()
        {
            let _ = give_back(disk, &file, path, facts.len());
        }
    }
}

/// Cutting a file to the length that it has frees what is reserved behind it.
fn give_back(disk: &Disk, file: &File, path: &Path, len: u64) -> Result<(), LogError> {
    if file.metadata().map_err(at(path))?.len() == len {
        disk.truncate(file, path, len).map_err(at(path))?;
    }
    Ok(())
}

/// EIO: the disk itself, where other answers mean a file system that knows no reservation.
fn is_broken(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error())
}

/// Reserved beyond the end, so that a full disk shows before it tears a line.
const RESERVED: u64 = 4 * 1024 * 1024;
/// How much room is reserved for checkpoints: some hundreds of them.
const SPARED: u64 = 64 * 1024;
/// A file may take so much more than its bytes without anything being reserved: blocks, and what the
/// file system knows about them.
const SLACK: u64 = RESERVED / 4;
