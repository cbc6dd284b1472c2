//! The way to the disk: every operation by which a log is written passes here.
//!
//! ```text
//! Log ── file ── Disk ──(is this one to fail?)──▶ the system
//! ```
//!
//! What a full, failing or vanishing disk does to a log is tested with the very code that runs for
//! people: a test hands a [`Faults`] to [`Log::open_on`](crate::Log::open_on), and it is asked before
//! each operation. Everybody else has none, which costs one comparison beside a system call; nothing
//! is compiled differently for tests.

use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::ops::Range;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::FallocateFlags;

use crate::plain;
use crate::readers::Readers;

/// Decides before each operation whether it reaches the disk.
#[doc(hidden)]
pub trait Faults: fmt::Debug + Send + Sync {
    /// Nothing happens when it gives an error: the operation ends with that.
    ///
    /// # Errors
    /// The answer that the system is to have given.
    fn before(&self, operation: Operation<'_>) -> io::Result<()>;

    /// How many of `bytes` one write takes, as write(2) may take fewer than it was given.
    ///
    /// # Errors
    /// As for [`Faults::before`].
    fn takes(&self, path: &Path, bytes: usize) -> io::Result<usize>;
}

/// One operation, for tests to let fail: what is about to be done, and to which file.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation<'a> {
    /// A file is opened.
    Open(&'a Path),
    /// A file is made.
    Create(&'a Path),
    /// A directory is made.
    MakeDir(&'a Path),
    /// Room is reserved behind a file's end.
    Reserve(&'a Path),
    /// fdatasync or fsync of a file.
    Sync(&'a Path),
    /// fsync of a directory.
    SyncDir(&'a Path),
    /// A file is cut to a length.
    Truncate(&'a Path, u64),
    /// A file takes the place of another.
    Rename(&'a Path, &'a Path),
    /// A file is removed.
    Remove(&'a Path),
}

/// The disk, and what may go wrong with it. Errors are the system's; callers name the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Disk {
    faults: Option<Arc<dyn Faults>>,
    /// Who may read what is made in which directory.
    readers: Option<(PathBuf, Readers)>,
}

impl Disk {
    /// A disk on which `faults` decides what fails.
    pub(crate) fn with(faults: Arc<dyn Faults>) -> Self {
        Self {
            faults: Some(faults),
            readers: None,
        }
    }

    /// Files that are made in `dir` from now on may be read by `readers`, too.
    pub(crate) fn share(&mut self, dir: &Path, readers: Readers) {
        self.readers = Some((dir.to_owned(), readers));
    }

    /// Opens a plain file that exists, for reading, or for whatever `options` say besides.
    pub(crate) fn open(&self, path: &Path, options: &OpenOptions) -> io::Result<File> {
        self.before(Operation::Open(path))?;
        plain::open(path, options)
    }

    /// Opens a directory, which a link may lead to: people put logs on other disks.
    pub(crate) fn open_dir(&self, dir: &Path) -> io::Result<File> {
        self.before(Operation::Open(dir))?;
        File::open(dir)
    }

    /// Makes a file that must not exist yet, for appending, for its owner and for those who may read the log.
    pub(crate) fn create(&self, path: &Path) -> io::Result<File> {
        self.create_with(path, OpenOptions::new().append(true))
    }

    /// As [`Disk::create`], with the file opened as `options` say.
    pub(crate) fn create_with(&self, path: &Path, options: &mut OpenOptions) -> io::Result<File> {
        self.before(Operation::Create(path))?;
        let Some(readers) = self.readers_of(path.parent()) else {
            // `create_new` fails if anything exists at the path, even a link: so nothing is written into a file that
            // somebody put there.
            return options.create_new(true).mode(0o600).open(path);
        };
        // Set the file's group while the file is empty: so no line can be read by anybody before the right group is set.
        let file = options.create_new(true).mode(0o640).open(path)?;
        readers.admit_to(&file)?;
        Ok(file)
    }

    /// Makes a directory and those above it, for its owner and for those who may read the log.
    pub(crate) fn make_dir(&self, dir: &Path) -> io::Result<()> {
        self.before(Operation::MakeDir(dir))?;
        let mode = self.readers_of(Some(dir)).map_or(0o700, |_| 0o750);
        DirBuilder::new().recursive(true).mode(mode).create(dir)
    }

    fn readers_of(&self, dir: Option<&Path>) -> Option<Readers> {
        let (shared, readers) = self.readers.as_ref()?;
        (dir == Some(shared)).then_some(*readers)
    }

    /// Writes everything, at the end of a file that was opened for appending, else from where it stands.
    pub(crate) fn write(&self, mut file: &File, path: &Path, mut bytes: &[u8]) -> io::Result<()> {
        let Some(faults) = &self.faults else {
            return file.write_all(bytes);
        };
        while !bytes.is_empty() {
            let taken = faults.takes(path, bytes.len())?;
            let (now, later) = bytes.split_at_checked(taken).unwrap_or((bytes, &[]));
            file.write_all(now)?;
            bytes = later;
        }
        Ok(())
    }

    /// Writes everything from `place` on, over what stands there.
    pub(crate) fn write_at(
        &self,
        file: &File,
        path: &Path,
        mut place: u64,
        mut bytes: &[u8],
    ) -> io::Result<()> {
        let Some(faults) = &self.faults else {
            return file.write_all_at(bytes, place);
        };
        while !bytes.is_empty() {
            let taken = faults.takes(path, bytes.len())?;
            let (now, later) = bytes.split_at_checked(taken).unwrap_or((bytes, &[]));
            file.write_all_at(now, place)?;
            (bytes, place) = (later, place.saturating_add(now.len() as u64));
        }
        Ok(())
    }

    /// Waits until the disk has what the file says.
    pub(crate) fn sync_data(&self, file: &File, path: &Path) -> io::Result<()> {
        self.before(Operation::Sync(path))?;
        file.sync_data()
    }

    /// As [`Disk::sync_data`], and waits for the metadata of the file as well.
    pub(crate) fn sync_all(&self, file: &File, path: &Path) -> io::Result<()> {
        self.before(Operation::Sync(path))?;
        file.sync_all()
    }

    /// Waits until the disk has the names in a directory.
    pub(crate) fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let opened = self.open_dir(dir)?;
        self.before(Operation::SyncDir(dir))?;
        opened.sync_all()
    }

    /// Reserves the bytes of `room`, without making the file longer.
    pub(crate) fn reserve(&self, file: &File, path: &Path, room: Range<u64>) -> io::Result<()> {
        // KEEP_SIZE leaves the file's length as it is: otherwise a start, which looks for the last line at the end of
        // the file, would find the reserved zeros there.
        self.before(Operation::Reserve(path))?;
        Ok(rustix::fs::fallocate(
            file,
            FallocateFlags::KEEP_SIZE,
            room.start,
            room.end.saturating_sub(room.start),
        )?)
    }

    /// Cuts a file to `len` bytes.
    pub(crate) fn truncate(&self, file: &File, path: &Path, len: u64) -> io::Result<()> {
        self.before(Operation::Truncate(path, len))?;
        file.set_len(len)
    }

    /// Puts a file into the place of another.
    pub(crate) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.before(Operation::Rename(from, to))?;
        fs::rename(from, to)
    }

    /// Removes a file.
    pub(crate) fn remove(&self, path: &Path) -> io::Result<()> {
        self.before(Operation::Remove(path))?;
        fs::remove_file(path)
    }

    fn before(&self, operation: Operation<'_>) -> io::Result<()> {
        match &self.faults {
            None => Ok(()),
            Some(faults) => faults.before(operation),
        }
    }
}
