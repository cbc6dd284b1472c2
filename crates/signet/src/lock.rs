//! One daemon per home.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use crate::home::Home;

/// The lock of one home, held until dropped; the operating system releases it when the daemon dies.
///
/// The process id in the file is for people to read: a file left behind, or an id that some other
/// program has by now, is never taken for a running daemon.
#[derive(Debug)]
pub struct HomeLock {
    home: Home,
    _file: File,
}

/// The lock could not be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Another process holds it.
    #[error("another signet runs in {home} (process {pid})")]
    Held {
        /// The home.
        home: String,
        /// What the holder wrote of itself.
        pid: String,
    },
    /// The home is on a file system that takes no writes.
    #[error("{}: the file system is read-only", .0.display())]
    ReadOnly(PathBuf),
    /// The file cannot be used.
    #[error("{}: {source}", path.display())]
    Io {
        /// The lock file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl LockError {
    /// What to do about it.
    pub fn next(&self) -> String {
        match self {
            Self::Held { .. } => {
                "use the one that runs (signet status), or stop it first".to_owned()
            }
            Self::ReadOnly(_) => {
                "`dmesg` says why it is; mount it writable, then start again".to_owned()
            }
            Self::Io { .. } => "signet init makes a home; --home names another".to_owned(),
        }
    }
}

impl HomeLock {
    /// Takes the lock of `home`, or says at once who has it.
    ///
    /// # Errors
    /// `Held` while another process holds it, `Io` when the file cannot be made or written.
    pub fn acquire(home: &Home) -> Result<Self, LockError> {
        let path = home.lock_file();
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::ReadOnlyFilesystem => LockError::ReadOnly(path.clone()),
            _ => LockError::Io {
                path: path.clone(),
                source,
            },
        };
        let mut options = OpenOptions::new();
        options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600);
        let mut file = options.open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(LockError::Held {
                    home: home.path().display().to_string(),
                    pid: holder(&mut file),
                });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        file.set_len(0).map_err(failed)?;
        match writeln!(file, "{}", std::process::id()) {
            // The number is for people; a full disk is no reason not to run.
            Err(error) if error.kind() != io::ErrorKind::StorageFull => return Err(failed(error)),
            _ => {}
        }
        Ok(Self {
            home: home.clone(),
            _file: file,
        })
    }

    /// The home that is locked.
    pub fn home(&self) -> &Home {
        &self.home
    }
}

fn holder(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.take(20).read_to_string(&mut text);
    let pid = text.trim();
    let known = read.is_ok() && !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit());
    if known {
        pid.to_owned()
    } else {
        "unknown".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_daemon_is_told_who_runs() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::at(directory.path());
        let first = HomeLock::acquire(&home).unwrap();
        let error = HomeLock::acquire(&home).unwrap_err();
        assert!(
            matches!(&error, LockError::Held { pid, .. } if *pid == std::process::id().to_string())
        );
        drop(first);
        HomeLock::acquire(&home).unwrap();
    }

    #[test]
    fn a_stale_pid_is_not_taken_for_a_running_daemon() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::at(directory.path());
        // Process 1 always runs.
        std::fs::write(home.lock_file(), "1\nand what an older release wrote\n").unwrap();
        let lock = HomeLock::acquire(&home).unwrap();
        let text = std::fs::read_to_string(lock.home().lock_file()).unwrap();
        assert_eq!(text, format!("{}\n", std::process::id()));
    }
}
