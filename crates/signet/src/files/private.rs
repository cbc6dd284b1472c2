//! Files that only their owner may read: every read looks at the mode of the file it opened, every
//! write makes a new file of mode 0600 and is durable when it returns.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, OFlags, RenameFlags};
use rustix::io::Errno;
use zeroize::Zeroizing;

use crate::disk_space::{is_full, make_room};
use crate::files::leftovers;
use crate::hint;

/// A file that should be private could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum PrivateError {
    /// Group or others may read or write it.
    #[error("{} has mode {mode:04o}: others than its owner may use it", path.display())]
    Mode {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The file belongs to another user.
    #[error("{} belongs to user {owner}, not to you", path.display())]
    Owner {
        /// The file.
        path: PathBuf,
        /// The user id of its owner.
        owner: u32,
    },
    /// A directory, a device, or too large to be what it should be.
    #[error("{} is not a plain file of at most {MAX_BYTES} bytes of text", .0.display())]
    NotPlain(PathBuf),
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl PrivateError {
    /// What to do about it.
    pub fn next(&self) -> String {
        match self {
            Self::Mode { path, .. } => format!("chmod 600 {}", hint::word(path)),
            // Do not advise to run the command as root: a file that root makes in somebody's home could not
            // be read by the home's owner.
            Self::Owner { path, .. } => hint::unreadable(path),
            Self::NotPlain(path) => format!("put the right file at {}", path.display()),
            Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                "name the right path: there is no such file".to_owned()
            }
            Self::Io { path, source } if is_full(source) => make_room(path),
            Self::Io { path, source } if source.kind() == io::ErrorKind::PermissionDenied => {
                hint::unreadable(path)
            }
            Self::Io { path, .. } => format!("ls -ld {}", hint::word(path)),
        }
    }
}

/// Puts the path to a system's answer.
pub(crate) fn at(path: &Path) -> impl Fn(io::Error) -> PrivateError + '_ {
    |source| PrivateError::Io {
        path: path.to_owned(),
        source,
    }
}

/// Opens `path` if nobody but its owner (this user, or root) can read or write it.
///
/// # Errors
/// The first of: it cannot be opened, is no plain file, belongs to someone else, is open to others.
pub fn open(path: &Path) -> Result<File, PrivateError> {
    open_up_to(path, MAX_BYTES)
}

/// As [`open`], for a file that may have as many bytes as `most`.
///
/// # Errors
/// As for [`open`].
pub(crate) fn open_up_to(path: &Path, most: u64) -> Result<File, PrivateError> {
    // NONBLOCK: without it, opening a pipe in the place of a file would wait for a writer.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = opened.map_err(at(path))?;
    let facts = file.metadata().map_err(at(path))?;
    if !facts.is_file() || facts.len() > most {
        return Err(PrivateError::NotPlain(path.to_owned()));
    }
    // Accept a credential of the service manager before owner and mode are checked: it belongs to root and its group may read
    // it, which the check of the mode would refuse.
    if is_credential(path) && is_handed_over(&facts) {
        return Ok(file);
    }
    let me = rustix::process::geteuid().as_raw();
    // Accept files of root's too: root can read every file anyway, so nobody gains access.
    if facts.uid() != me && facts.uid() != ROOT {
        return Err(PrivateError::Owner {
            path: path.to_owned(),
            owner: facts.uid(),
        });
    }
    let mode = facts.mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(PrivateError::Mode {
            path: path.to_owned(),
            mode,
        });
    }
    Ok(file)
}

/// The text of a private file, wiped when dropped.
///
/// # Errors
/// Those of [`open`], and `NotPlain` for what is not UTF-8.
pub fn read(path: &Path) -> Result<Zeroizing<String>, PrivateError> {
    let file = open(path)?;
    // Reserve the whole capacity at once: a text that grows would leave copies of the secret behind in freed memory.
    let capacity = usize::try_from(MAX_BYTES).unwrap_or_default();
    let mut text = Zeroizing::new(String::with_capacity(capacity));
    match file.take(MAX_BYTES).read_to_string(&mut text) {
        Ok(_) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(PrivateError::NotPlain(path.to_owned()))
        }
        Err(error) => Err(at(path)(error)),
    }
}

/// Makes a new file of mode 0600; durable when it returns. Never overwrites.
///
/// # Errors
/// `Io`, with `AlreadyExists` when anything stands at `path`.
pub fn create(path: &Path, content: &[u8]) -> Result<(), PrivateError> {
    write_new(path, content).map_err(at(path))?;
    sync_directory_of(path)
}

/// Makes a new file of mode 0600, durably, under a name beside `path` first: a kill leaves nothing at `path`, or the
/// whole. What a killed one left beside it is removed by the next. Never overwrites.
///
/// # Errors
/// `Io`, with `AlreadyExists` when anything stands at `path`.
pub fn create_whole(path: &Path, content: &[u8]) -> Result<(), PrivateError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = format!(".{name}.new-");
    leftovers::remove(path, &beside);
    let fresh = path.with_file_name(format!("{beside}{}", std::process::id()));
    let written = write_new(&fresh, content).and_then(|()| place(&fresh, path));
    if let Err(error) = written {
        // Writing or naming failed: remove the new file, which would otherwise stay under its temporary name.
        let _ = std::fs::remove_file(&fresh);
        return Err(at(path)(error));
    }
    sync_directory_of(path)
}

/// Gives the file the name `path`, unless something has it.
fn place(fresh: &Path, path: &Path) -> io::Result<()> {
    match rustix::fs::renameat_with(CWD, fresh, CWD, path, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        // Some file systems, such as NFS, cannot rename without overwriting; a hard link never overwrites either.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            std::fs::hard_link(fresh, path).and_then(|()| std::fs::remove_file(fresh))
        }
        Err(error) => Err(error.into()),
    }
}

/// Puts a new file in the place of the one at `path`; a crash leaves the old or the new, whole.
///
/// The caller holds the lock of the home, so that nobody else uses the same temporary name.
///
/// # Errors
/// `Io`.
pub fn replace(path: &Path, content: &[u8]) -> Result<(), PrivateError> {
    let fresh = path.with_extension("new");
    let replaced = signet_files::replace(path, &fresh, 0o600, content, |file| {
        // The umask may have taken rights away from the owner, so set the mode explicitly.
        file.set_permissions(Permissions::from_mode(0o600))
    });
    replaced.map_err(at(path))
}

/// Makes the names in the directory that holds `path` durable.
///
/// # Errors
/// `Io`.
pub fn sync_directory_of(path: &Path) -> Result<(), PrivateError> {
    signet_files::sync_folder_of(path).map_err(at(path))
}

/// The file of a credential that the service manager hands over (systemd.exec(5), `LoadCredential=`), where there
/// is one of that name.
pub fn credential(name: &str) -> Option<PathBuf> {
    let path = credentials()?.join(name);
    path.exists().then_some(path)
}

/// The directory of the credentials, where the service manager hands any over.
pub fn credentials() -> Option<PathBuf> {
    let dir = std::env::var_os("CREDENTIALS_DIRECTORY").map(PathBuf::from);
    dir.filter(|dir| dir.is_absolute())
}

fn is_credential(path: &Path) -> bool {
    credentials().is_some_and(|dir| path.parent() == Some(&dir))
}

/// Root's own file, which an access list opens to this user alone: its mask shows as the rights of the group, which
/// is root's.
fn is_handed_over(facts: &std::fs::Metadata) -> bool {
    facts.uid() == ROOT && facts.gid() == ROOT && facts.mode() & 0o7777 & !0o440 == 0
}

fn write_new(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    // The umask may have taken away even the owner's rights, so set the mode explicitly.
    file.set_permissions(Permissions::from_mode(0o600))?;
    file.write_all(content)?;
    file.sync_all()
}

const MAX_BYTES: u64 = 64 * 1024;
const ROOT: u32 = 0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_command_left_half_written_is_removed_and_never_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("nats.nk");
        // The number in the name stands for a process that has ended, since Linux gives no number so high: the half-written
        // file counts as a leftover.
        let half = directory.path().join(".nats.nk.new-2147483647");
        std::fs::write(&half, "SUA").unwrap();
        create_whole(&path, b"SUAWHOLE\n").unwrap();
        assert_eq!(read(&path).unwrap().as_str(), "SUAWHOLE\n");
        let names: Vec<_> = std::fs::read_dir(directory.path())
            .unwrap()
            .flatten()
            .collect();
        assert_eq!(names.len(), 1, "{names:?}");
    }

    #[test]
    fn a_file_that_is_there_is_never_overwritten_and_nothing_is_left_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("nats.nk");
        std::fs::write(&path, "kept").unwrap();
        let error = create_whole(&path, b"other").unwrap_err();
        assert!(
            matches!(&error, PrivateError::Io { source, .. } if source.kind() == io::ErrorKind::AlreadyExists),
            "{error}"
        );
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "kept");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
