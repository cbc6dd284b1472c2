//! What a writer asks of the disk, in which order, and what it makes of the disk's answers. Every operation that fails,
//! one after the other, is the subject of `faults`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustix::io::Errno;
use signet_audit::{Custody, Faults, Log, LogError, Operation, hold_against_anchor, verify};
use tempfile::TempDir;

use crate::common::*;
use crate::pair::keys;

/// What is asked of the disk: a word for the operation, and the file that it changes.
pub(crate) type Asked = (&'static str, PathBuf);

/// A disk that notes what it is asked, and refuses one thing, once.
#[derive(Debug)]
pub(crate) struct NotingDisk {
    asked: Mutex<Vec<Asked>>,
    refuses: Mutex<Option<(&'static str, &'static str, Errno)>>,
    /// So many times that thing is not refused before.
    spared: Mutex<usize>,
    /// As many bytes are taken by one write.
    at_once: usize,
}

impl NotingDisk {
    pub(crate) fn new() -> Arc<Self> {
        Self::taking(usize::MAX)
    }

    fn taking(at_once: usize) -> Arc<Self> {
        Arc::new(Self {
            asked: Mutex::default(),
            refuses: Mutex::default(),
            spared: Mutex::default(),
            at_once,
        })
    }

    /// The first operation of that name on a file whose name contains `part` is answered so.
    pub(crate) fn refusing(name: &'static str, part: &'static str, with: Errno) -> Arc<Self> {
        Self::refusing_after(0, name, part, with)
    }

    /// The same after so many of them that are not refused.
    pub(crate) fn refusing_after(
        spared: usize,
        name: &'static str,
        part: &'static str,
        with: Errno,
    ) -> Arc<Self> {
        let disk = Self::new();
        *disk.refuses.lock().unwrap() = Some((name, part, with));
        *disk.spared.lock().unwrap() = spared;
        disk
    }

    fn note(&self, name: &'static str, path: &Path) -> io::Result<()> {
        self.asked.lock().unwrap().push((name, path.to_owned()));
        let mut refuses = self.refuses.lock().unwrap();
        match *refuses {
            Some((refused, part, with))
                if refused == name && path.to_string_lossy().contains(part) =>
            {
                let mut spared = self.spared.lock().unwrap();
                if *spared > 0 {
                    *spared -= 1;
                    return Ok(());
                }
                *refuses = None;
                Err(with.into())
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn take_asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }

    fn count(&self, name: &str) -> usize {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|(asked, _)| *asked == name).count()
    }
}

impl Faults for NotingDisk {
    fn before(&self, operation: Operation<'_>) -> io::Result<()> {
        match operation {
            Operation::Open(path) => self.note("open", path),
            Operation::Create(path) => self.note("create", path),
            Operation::MakeDir(path) => self.note("make-dir", path),
            Operation::Reserve(path) => self.note("reserve", path),
            Operation::Sync(path) => self.note("sync", path),
            Operation::SyncDir(path) => self.note("sync-dir", path),
            Operation::Truncate(path, _) => self.note("truncate", path),
            Operation::Rename(from, path) => {
                self.note("rename-of", from)?;
                self.note("rename", path)
            }
            Operation::Remove(path) => self.note("remove", path),
        }
    }

    fn takes(&self, path: &Path, bytes: usize) -> io::Result<usize> {
        self.note("write", path)?;
        Ok(bytes.min(self.at_once))
    }
}

pub(crate) struct Home(TempDir);

impl Home {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.0.path().join("log")
    }

    pub(crate) fn anchor(&self) -> PathBuf {
        self.0.path().join("log.anchor")
    }

    pub(crate) fn keys(&self) -> PathBuf {
        self.0.path().join("keys")
    }

    /// A writer on that disk, with checkpoints and an anchor.
    pub(crate) fn start(&self, disk: &Arc<NotingDisk>) -> Result<Log, LogError> {
        let custody = Custody::new(keys(&self.keys()), self.anchor());
        let faults = Arc::clone(disk) as _;
        Log::open_on(faults, &self.log(), second(0), &genesis(), Some(custody))
    }

    /// The same with neither.
    pub(crate) fn start_bare(&self, disk: &Arc<NotingDisk>) -> Result<Log, LogError> {
        let faults = Arc::clone(disk) as _;
        Log::open_on(faults, &self.log(), second(0), &genesis(), None)
    }
}

pub(crate) fn write(log: &mut Log, text: &str) -> Result<(), LogError> {
    log.append(second(1), &gap(text))?;
    log.commit().map(drop)
}

#[test]
fn a_disk_that_takes_a_few_bytes_at_a_time_has_all_of_them_in_the_end() {
    let home = Home::new();
    let mut log = home.start(&NotingDisk::taking(7)).unwrap();
    write(&mut log, "one").unwrap();
    log.checkpoint().unwrap();
    write(&mut log, "two").unwrap();
    let head = log.head();
    drop(log);
    let report = verify(&[home.log()]);
    assert!(report.holds(), "{report}");
    assert_eq!((report.logs[0].head, report.logs[0].proven), (head, head));
    assert_eq!(kinds(&home.log()), ["genesis", "gap", "gap"]);
    hold_against_anchor(&home.log(), &home.anchor()).unwrap();
}

#[test]
fn what_the_disk_refuses_is_told_and_the_start_fails() {
    for name in [
        "make-dir", "open", "create", "write", "reserve", "sync", "sync-dir", "rename",
    ] {
        let disk = NotingDisk::refusing(name, "", Errno::IO);
        let home = Home::new();
        let refused = home.start(&disk);
        assert!(matches!(refused, Err(LogError::Io { .. })), "{name}");
    }
}

#[test]
fn a_file_system_without_reservation_is_asked_once_and_a_signal_means_nothing() {
    for (answer, asked) in [(Errno::OPNOTSUPP, 1), (Errno::NOSYS, 1), (Errno::INTR, 2)] {
        let disk = NotingDisk::refusing("reserve", "", answer);
        let home = Home::new();
        let mut log = home.start_bare(&disk).unwrap();
        write(&mut log, "one").unwrap();
        write(&mut log, "two").unwrap();
        assert_eq!(disk.count("reserve"), asked, "{answer:?}");
    }
    let (home, disk) = (Home::new(), NotingDisk::new());
    let mut log = home.start_bare(&disk).unwrap();
    write(&mut log, "within what is reserved").unwrap();
    assert_eq!(disk.count("reserve"), 1);
    let (home, full) = (
        Home::new(),
        NotingDisk::refusing("reserve", "", Errno::NOSPC),
    );
    let refused = home.start_bare(&full);
    assert!(matches!(refused, Err(LogError::Full(_))), "{refused:?}");
}

#[test]
fn what_has_its_checkpoint_and_is_anchored_asks_nothing_more_of_the_disk() {
    let home = Home::new();
    let disk = NotingDisk::new();
    let mut log = home.start(&disk).unwrap();
    write(&mut log, "one").unwrap();
    log.checkpoint().unwrap();
    assert_eq!(log.uncovered(), 0);
    disk.take_asked();
    log.checkpoint().unwrap();
    log.commit().unwrap();
    assert_eq!(disk.take_asked(), []);
    log.append(second(2), &trust_bob()).unwrap();
    log.commit().unwrap();
    disk.take_asked();
    log.checkpoint().unwrap();
    assert_eq!(
        disk.take_asked(),
        [],
        "a person's decision got its checkpoint at once"
    );
}

#[test]
fn a_start_anchors_that_somebody_writes_before_it_mends_anything() {
    let home = Home::new();
    let mut log = home.start(&NotingDisk::new()).unwrap();
    write(&mut log, "one").unwrap();
    log.abandon();
    let disk = NotingDisk::new();
    drop(home.start(&disk).unwrap());
    let asked = disk.take_asked();
    let place = |found: &dyn Fn(&Asked) -> bool| asked.iter().position(found).unwrap();
    let anchored = place(&|(name, path)| *name == "rename" && *path == home.anchor());
    let changed = |(name, path): &Asked| {
        ["create", "write", "truncate", "rename"].contains(name) && path.starts_with(home.log())
    };
    let first = place(&changed);
    assert!(
        anchored < first,
        "{:?} comes before {anchored}",
        asked[first]
    );
}

/// Torn bytes get a name that no earlier ones have; any other refusal is no reason to try another name.
#[test]
fn torn_bytes_get_another_name_only_where_that_name_is_taken() {
    let home = Home::new();
    drop(home.start_bare(&NotingDisk::new()).unwrap());
    let month = home.log().join(FEBRUARY);
    let whole = fs::read(&month).unwrap();
    let torn = [&whole[..], b"{\"v\""].concat();
    fs::write(&month, &torn).unwrap();
    let full = NotingDisk::refusing("create", ".torn-", Errno::NOSPC);
    let refused = home.start_bare(&full);
    assert!(matches!(refused, Err(LogError::Full(_))), "{refused:?}");
    assert_eq!(fs::read(&month).unwrap(), torn, "and nothing is cut off");
    let taken = month.with_extension("torn-2");
    assert!(!taken.exists() && !month.with_extension("torn-2-2").exists());
    fs::write(&taken, b"earlier").unwrap();
    drop(home.start_bare(&NotingDisk::new()).unwrap());
    assert_eq!(fs::read(&taken).unwrap(), b"earlier");
    let beside = month.with_extension("torn-2-2");
    assert_eq!(fs::read(beside).unwrap(), b"{\"v\"");
    assert_eq!(kinds(&home.log()), ["genesis", "recovery", "recovery"]);
}

/// A crash leaves one torn end or two. Where a thousand lie beside the log, something else is wrong than a crash.
#[test]
fn a_thousand_torn_ends_of_one_place_stop_the_start_and_nothing_is_cut_off() {
    let home = Home::new();
    drop(home.start_bare(&NotingDisk::new()).unwrap());
    let month = home.log().join(FEBRUARY);
    let torn = [&fs::read(&month).unwrap()[..], b"{\"v\""].concat();
    fs::write(&month, &torn).unwrap();
    fs::write(month.with_extension("torn-2"), b"earlier").unwrap();
    for number in 2..1000 {
        fs::write(month.with_extension(format!("torn-2-{number}")), b"earlier").unwrap();
    }
    let refused = home.start_bare(&NotingDisk::new());
    assert!(matches!(refused, Err(LogError::Io { .. })), "{refused:?}");
    assert_eq!(fs::read(&month).unwrap(), torn);
    assert!(!month.with_extension("torn-2-1000").exists());
}

#[test]
fn the_name_of_every_folder_that_is_made_for_a_log_is_durable_before_the_log_begins() {
    let (home, disk) = (Home::new(), NotingDisk::new());
    let top = home.0.path();
    let folders = [top.to_owned(), top.join("audit"), top.join("audit/agents")];
    let log = folders[2].join("agent-alice");
    let faults = Arc::clone(&disk) as _;
    Log::open_on(faults, &log, second(0), &genesis(), None).unwrap();
    let asked = disk.take_asked();
    let begins = asked.iter().position(|(name, _)| *name == "create");
    for folder in folders {
        let synced = ("sync-dir", folder);
        assert!(asked[..begins.unwrap()].contains(&synced), "{synced:?}");
    }
}
