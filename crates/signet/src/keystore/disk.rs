//! The file operations of a change of keys, one step each: between any two of them the machine may
//! stop, and the home still opens. Tests stop it there.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

use crate::files::private::{self, PrivateError, at};

/// A new directory of mode 0700.
pub(super) fn create_directory(path: &Path) -> Result<(), PrivateError> {
    let made = step().and_then(|()| std::fs::DirBuilder::new().mode(0o700).create(path));
    made.map_err(at(path))
}

/// A new private file, durable.
pub(super) fn create(path: &Path, content: &[u8]) -> Result<(), PrivateError> {
    step().map_err(at(path))?;
    private::create(path, content)
}

/// A new private file, durable, that has its name only when it is whole.
pub(super) fn create_whole(path: &Path, content: &[u8]) -> Result<(), PrivateError> {
    step().map_err(at(path))?;
    private::create_whole(path, content)
}

/// A second name for a file; that it has it already is as well.
pub(super) fn link(from: &Path, to: &Path) -> Result<(), PrivateError> {
    let linked = step().and_then(|()| match std::fs::hard_link(from, to) {
        // The link may exist already, made by an adoption that was interrupted here and is now resumed: that is no error.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    });
    linked.map_err(at(to))
}

/// Another name for a file or directory, in the place of what stands there.
pub(super) fn rename(from: &Path, to: &Path) -> Result<(), PrivateError> {
    step()
        .and_then(|()| std::fs::rename(from, to))
        .map_err(at(to))
}

/// Takes an empty directory away.
pub(super) fn remove_directory(path: &Path) -> Result<(), PrivateError> {
    step()
        .and_then(|()| std::fs::remove_dir(path))
        .map_err(at(path))
}

/// Makes the names beside `path` durable.
pub(super) fn sync_beside(path: &Path) -> Result<(), PrivateError> {
    step().map_err(at(path))?;
    private::sync_directory_of(path)
}

/// Overwrites a secret file, and takes its name away, durably. On a disk that writes new bytes to another place than the
/// old ones, as flash does, the old bytes may stay readable; a program cannot prevent that.
pub(super) fn destroy(path: &Path) -> Result<(), PrivateError> {
    step()
        .and_then(|()| overwrite(path))
        .and_then(|()| step())
        .and_then(|()| std::fs::remove_file(path))
        .map_err(at(path))?;
    sync_beside(path)
}

/// Destroys every file in a directory and in those below it, and takes the directory away. Where there is none, nothing is to do.
pub(super) fn destroy_directory(path: &Path) -> Result<(), PrivateError> {
    let entries = match std::fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(at(path)(error)),
    };
    for entry in entries {
        let entry = entry.map_err(at(path))?;
        // The kind is that of the entry itself: a link to a directory is removed, and nothing behind it.
        match entry.file_type().map_err(at(path))?.is_dir() {
            true => destroy_directory(&entry.path())?,
            false => destroy(&entry.path())?,
        }
    }
    remove_directory(path)
}

fn overwrite(path: &Path) -> io::Result<()> {
    let facts = path.symlink_metadata()?;
    // Do not overwrite the target of a link, which may be anybody's file: only the link itself is to be removed.
    if !facts.is_file() {
        return Ok(());
    }
    let flags = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default();
    let mut file = OpenOptions::new()
        .write(true)
        .custom_flags(flags)
        .open(path)?;
    let length = usize::try_from(facts.len()).unwrap_or_default();
    file.write_all(&vec![0; length])?;
    // Sync before the name is removed: otherwise the system may never write the zeros to the disk.
    file.sync_all()
}

#[cfg(not(test))]
#[expect(clippy::unnecessary_wraps, reason = "tests stop here")]
const fn step() -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
fn step() -> io::Result<()> {
    killed::step()
}

/// Where tests stop the machine.
#[cfg(test)]
pub(super) mod killed {
    use std::cell::Cell;
    use std::io;

    thread_local! {
        static LEFT: Cell<Option<u32>> = const { Cell::new(None) };
        static STOPPED: Cell<bool> = const { Cell::new(false) };
    }

    /// Runs `deed` and stops everything before its step `number`; says whether it came so far.
    pub(in super::super) fn before<T>(number: u32, deed: impl FnOnce() -> T) -> (T, bool) {
        LEFT.set(Some(number));
        let done = deed();
        LEFT.set(None);
        (done, STOPPED.replace(false))
    }

    pub(super) fn step() -> io::Result<()> {
        match LEFT.get() {
            None => Ok(()),
            Some(0) => {
                STOPPED.set(true);
                Err(io::Error::other("the machine stopped here"))
            }
            Some(left) => {
                LEFT.set(Some(left - 1));
                Ok(())
            }
        }
    }
}
