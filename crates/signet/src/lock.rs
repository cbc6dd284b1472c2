//! One daemon per home.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

use crate::disk_space;
use crate::hint;
use crate::home::Home;

/// The lock of one home, held until dropped; the operating system releases it when the daemon dies.
///
/// The file names its holder for people and for `signet down`: a file left behind, or an id that some other
/// program has by now, is never taken for a running daemon.
#[derive(Debug)]
pub struct HomeLock {
    home: Home,
    _file: File,
}

/// The lock could not be had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process holds the lock.
    #[error("another signet runs in {home} (process {pid})")]
    Held {
        /// The home.
        home: String,
        /// The number of the process, as it wrote it into the lock.
        pid: String,
    },
    /// The home is on a file system that takes no writes.
    #[error("{}: the file system is read-only", .0.display())]
    ReadOnly(PathBuf),
    /// Root would write in the home of another user, who could not use what root wrote.
    #[error("{home} belongs to {owner}, and what root writes there locks its owner out")]
    Foreign {
        /// The home.
        home: String,
        /// The user.
        owner: String,
        /// The user's number.
        user: u32,
    },
    /// Others than its owner may write in the home, or where its keys are.
    #[error("{}: others may write in this folder (mode {mode:04o}), and so put keys and settings there", folder.display())]
    OpenFolder {
        /// The folder.
        folder: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// In the place of the lock stands a link, or something that is no file.
    #[error("{}: it is no plain file, and a start would write through it", .0.display())]
    NotPlain(PathBuf),
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
                "signet status  # use the one that runs; to end it: signet down".to_owned()
            }
            Self::ReadOnly(_) => {
                "`dmesg` says why it is; mount it writable, then start again".to_owned()
            }
            Self::Foreign { user, .. } => hint::again_as(*user),
            Self::OpenFolder { folder, .. } => {
                format!(
                    "chmod 700 {}  # and look at what lies in it",
                    hint::word(folder)
                )
            }
            Self::NotPlain(path) => {
                format!("ls -l {}  # look at it, then remove it", hint::word(path))
            }
            Self::Io { path, source } if disk_space::is_full(source) => disk_space::make_room(path),
            Self::Io { path, source } if source.kind() == io::ErrorKind::PermissionDenied => {
                hint::unreadable(path)
            }
            Self::Io { .. } => {
                "signet up --help  # makes a home; --home names another one".to_owned()
            }
        }
    }
}

impl HomeLock {
    /// Takes the lock of `home`, or says at once who has it.
    ///
    /// # Errors
    /// `Held` while another process holds it, `Io` when the file cannot be made or written.
    pub fn acquire(home: &Home) -> Result<Self, LockError> {
        refuse_open(home)?;
        let path = home.lock_file();
        // NOFOLLOW: a write through a link would go into its target. NONBLOCK: opening a pipe or a device in the place of
        // the file may wait for another program.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
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
            // Do not truncate: the process id in the file may be that of the daemon that runs.
            .truncate(false)
            .mode(0o600)
            .custom_flags(i32::try_from(flags.bits()).unwrap_or_default());
        let opened = options.open(&path);
        // Look for a link before the error of `open` is reported: for a link, that error says only
        // that there are too many links.
        let found = path.symlink_metadata();
        if found.is_ok_and(|found| !found.is_file()) {
            return Err(LockError::NotPlain(path));
        }
        let mut file = opened.map_err(failed)?;
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
        match write_holder(&mut file) {
            // Only messages and `signet down` read the process id: where a full disk, or a quota, keeps the id out, the lock
            // is held all the same.
            Err(error) if !disk_space::is_full(&error) => return Err(failed(error)),
            _ => {}
        }
        Ok(Self {
            home: home.clone(),
            _file: file,
        })
    }

    /// The same for a daemon that starts: a command that looks into the home of a stopped agent holds the lock for a
    /// moment, and is no reason not to start.
    ///
    /// # Errors
    /// The same, `Held` after two seconds.
    pub fn acquire_to_run(home: &Home) -> Result<Self, LockError> {
        let began = Instant::now();
        loop {
            match Self::acquire(home) {
                Err(LockError::Held { .. }) if began.elapsed() < OF_A_COMMAND => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                locked => return locked,
            }
        }
    }

    /// The home that is locked.
    pub fn home(&self) -> &Home {
        &self.home
    }
}

/// Whoever may write in the home can exchange keys, settings and log; whoever may write in `keys/`, keys.
pub(crate) fn refuse_open(home: &Home) -> Result<(), LockError> {
    refuse_foreign(home)?;
    for folder in [home.path().to_owned(), home.join("keys")] {
        // A folder that is not there has no mode to refuse: a missing home shows when the lock file is made, a missing `keys/`
        // when the keys are read.
        let mode = folder.metadata().map_or(0, |facts| facts.mode()) & 0o7777;
        if mode & OTHERS_WRITE != 0 {
            return Err(LockError::OpenFolder { folder, mode });
        }
    }
    Ok(())
}

/// Refuses root a home that is another user's, before anything is written there as root's.
pub(crate) fn refuse_foreign(home: &Home) -> Result<(), LockError> {
    match hint::kept_from_root(home.path()) {
        None => Ok(()),
        Some(user) => Err(LockError::Foreign {
            home: home.path().display().to_string(),
            owner: hint::name_of(user).unwrap_or_else(|| format!("user {user}")),
            user,
        }),
    }
}

/// How long a command holds the lock at most, unless it makes a state again from a long log.
const OF_A_COMMAND: Duration = Duration::from_secs(2);
/// The bytes of two numbers of at most 20 digits, and of the end of their line.
const LONGEST: u64 = 41;
/// The mode bits by which others than the owner write.
const OTHERS_WRITE: u32 = 0o022;

/// Writes into the lock's file which process holds it: its number, and when it started.
fn write_holder(file: &mut File) -> io::Result<()> {
    let pid = std::process::id();
    let started = started(&pid.to_string()).map_or_else(String::new, |ticks| ticks.to_string());
    // Fill the number up to 20 bytes: older releases read 20 bytes of this file, and expect
    // nothing but the number in them.
    let text = format!("{pid:<20}{started}\n");
    // Write over what is there, and cut off the rest afterwards: on a full disk a file that was emptied first may get no room
    // again.
    file.write_all(text.as_bytes())?;
    file.set_len(text.len() as u64)
}

/// The number of the process that holds the lock; "unknown" where the file does not tell it.
fn holder(file: &mut File) -> String {
    let mut text = String::new();
    // Messages print this number, and `signet down` signals its process: accept digits alone. The file may be longer
    // than a holder makes it, so read no more bytes than a holder writes.
    let read = file.take(LONGEST).read_to_string(&mut text);
    let mut words = text.split_ascii_whitespace();
    let pid = words.next().unwrap_or_default();
    let known = read.is_ok() && !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit());
    // A process that has just taken the lock may not have written yet. The file then names an earlier
    // holder, whose number another process may have by now: its start does not fit the time in the file.
    // Older releases wrote no time.
    let is_it = |since: &str| started(pid).is_some_and(|ticks| ticks.to_string() == since);
    match known && words.next().is_none_or(is_it) {
        true => pid.to_owned(),
        false => "unknown".to_owned(),
    }
}

/// When a process started: proc_pid_stat(5) says it in hundredths of a second since the machine's start.
pub(crate) fn started(process: &str) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The second field is the program's name in brackets. The name may itself hold brackets, so the third
    // field begins after the last one.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(22 - 3)?.parse().ok()
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
        // Process 1 always runs, but the file that names it is not locked: so the lock is free, whatever the number says.
        std::fs::write(home.lock_file(), "1\nand what an older release wrote\n").unwrap();
        let lock = HomeLock::acquire(&home).unwrap();
        let text = std::fs::read_to_string(lock.home().lock_file()).unwrap();
        let (pid, since) = text.split_at(20);
        assert_eq!(pid.trim_end(), std::process::id().to_string());
        assert_eq!(since.trim_end(), started("self").unwrap().to_string());
    }

    /// Between taking the lock and writing the number, the file names the holder before.
    #[test]
    fn a_process_that_has_the_number_of_an_earlier_holder_is_not_taken_for_the_one_that_holds_the_lock()
     {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::at(directory.path());
        let own = std::process::id();
        let since = started("self").unwrap();
        for (text, named) in [
            (format!("{own:<20}{since}\n"), own.to_string()),
            // Older releases wrote the number without a time: the process is named all the same.
            (format!("{own}\n"), own.to_string()),
            (format!("{own:<20}{}\n", since - 1), "unknown".to_owned()),
            (format!("{own:<20}{since}0\n"), "unknown".to_owned()),
            (String::new(), "unknown".to_owned()),
        ] {
            std::fs::write(home.lock_file(), &text).unwrap();
            let holder = File::open(home.lock_file()).unwrap();
            holder.try_lock().unwrap();
            let error = HomeLock::acquire(&home).unwrap_err();
            let LockError::Held { pid, .. } = error else {
                panic!("{error}");
            };
            assert_eq!(pid, named, "{text:?}");
        }
    }

    #[test]
    fn a_link_in_the_place_of_the_lock_is_neither_followed_nor_cut() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::at(directory.path());
        let victim = directory.path().join("victim");
        std::fs::write(&victim, "what somebody wrote").unwrap();
        std::os::unix::fs::symlink(&victim, home.lock_file()).unwrap();
        let error = HomeLock::acquire(&home).unwrap_err();
        assert!(matches!(error, LockError::NotPlain(_)), "{error}");
        assert_eq!(
            std::fs::read_to_string(victim).unwrap(),
            "what somebody wrote"
        );
    }

    #[test]
    fn a_daemon_that_starts_while_a_command_looks_into_its_home_waits_for_it() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::at(directory.path());
        let lock = HomeLock::acquire(&home).unwrap();
        let command = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(200));
            drop(lock);
        });
        let daemon = HomeLock::acquire_to_run(&home).unwrap();
        command.join().unwrap();
        let second = HomeLock::acquire_to_run(&home).unwrap_err();
        assert!(matches!(second, LockError::Held { .. }), "{second}");
        drop(daemon);
    }

    #[test]
    fn a_home_in_which_everybody_may_write_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::at(directory.path());
        for (mode, refused) in [(0o777, true), (0o720, true), (0o755, false)] {
            let open = std::os::unix::fs::PermissionsExt::from_mode(mode);
            std::fs::set_permissions(home.path(), open).unwrap();
            let lock = HomeLock::acquire(&home);
            assert_eq!(lock.is_err(), refused, "{mode:o}");
            if let Err(error) = lock {
                assert!(error.next().starts_with("chmod 700 "), "{}", error.next());
            }
        }
    }

    #[test]
    fn a_home_whose_keys_everybody_may_exchange_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::at(directory.path());
        let keys = home.join("keys");
        std::fs::create_dir(&keys).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode;
        std::fs::set_permissions(home.path(), mode(0o711)).unwrap();
        std::fs::set_permissions(&keys, mode(0o777)).unwrap();
        let error = HomeLock::acquire(&home).unwrap_err();
        let next = format!(
            "chmod 700 {}  # and look at what lies in it",
            keys.display()
        );
        assert_eq!(error.next(), next);
        std::fs::set_permissions(&keys, mode(0o755)).unwrap();
        HomeLock::acquire(&home).unwrap();
    }
}
