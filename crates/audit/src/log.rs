//! The one writer of a log.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use signet_proto::entry::Entry;
use signet_proto::ids::Digest;
use signet_proto::time::Timestamp;

use crate::chain::{Head, Tip};
use crate::disk::{Disk, Faults};
use crate::error::LogError;
use crate::file;
use crate::mend::{End, Found, Trace, rewrite};
use crate::record::{MAX_LINE, Mark, write_line};
use crate::tape::Tape;

/// The one writer of a log directory (`audit/<agent-id>/inter-agent-YYYY-MM.jsonl`).
///
/// Lines are gathered by [`append`](Log::append) and made durable by [`commit`](Log::commit). The
/// directory is locked meanwhile: two writers would end its chain for good.
#[derive(Debug)]
pub struct Log {
    disk: Disk,
    dir: PathBuf,
    month: String,
    month_end: Timestamp,
    tape: Tape,
    tip: Tip,
    durable: Head,
    group: Vec<u8>,
    members: Vec<u8>,
    /// The last line is `close`, and the next month's file is not there yet.
    is_closed: bool,
    stopped: bool,
    trace: Option<Trace>,
    lock: Option<File>,
}

impl Log {
    /// Opens the log of `dir` for appending, and makes it if there is none: then `genesis` is its
    /// first line.
    ///
    /// A torn tail is moved into a file of its own (`inter-agent-YYYY-MM.torn-<seq>`) and a
    /// `recovery` line names it; a rollover that a crash interrupted is finished. Only the end of
    /// the newest file is read; after a stop that was not clean that file is written anew, since what
    /// the system has of it in memory need not be on the disk.
    ///
    /// # Errors
    /// When the system refuses, [`LogError::Held`] when another writer has the directory, or
    /// [`LogError::Broken`] when the chain does not hold before its last
    /// line, which is never repaired.
    pub fn open(dir: &Path, now: Timestamp, genesis: &Entry) -> Result<Self, LogError> {
        Self::open_with(Disk::default(), dir, now, genesis)
    }

    /// The same on a disk of which `faults` decides what fails: for tests.
    ///
    /// # Errors
    /// As for [`Log::open`], and what `faults` says.
    #[doc(hidden)]
    pub fn open_on(
        faults: Arc<dyn Faults>,
        dir: &Path,
        now: Timestamp,
        genesis: &Entry,
    ) -> Result<Self, LogError> {
        Self::open_with(Disk::with(faults), dir, now, genesis)
    }

    fn open_with(
        disk: Disk,
        dir: &Path,
        now: Timestamp,
        genesis: &Entry,
    ) -> Result<Self, LogError> {
        if !matches!(genesis, Entry::Genesis(_)) {
            return Err(LogError::NotGenesis(genesis.kind()));
        }
        file::make_dir(&disk, dir)?;
        let lock = file::lock_dir(&disk, dir)?;
        let found = Found::look(&disk, dir)?;
        let trace = Trace::leave(&disk, dir)?;
        let mut log = match found.mend(&disk, &trace)? {
            Some(end) => Self::resume(disk, dir, now, end)?,
            None => Self::start(disk, dir, now, genesis)?,
        };
        log.trace = Some(trace);
        log.lock = Some(lock);
        log.commit()?;
        Ok(log)
    }

    /// Adds a line to the open group; it is not durable before the next [`commit`](Log::commit).
    ///
    /// Its `ts` is `now` or that of the line before, whichever is later. When that lies in a new
    /// month, the old file is finished and committed and the new one begun.
    ///
    /// # Errors
    /// [`LogError::TooLong`] and [`LogError::Full`] leave out this line and nothing else; after any
    /// other error the log is stopped.
    pub fn append(&mut self, now: Timestamp, entry: &Entry) -> Result<(), LogError> {
        let mut members = std::mem::take(&mut self.members);
        members.clear();
        entry.write(&mut members);
        let appended = self.append_members(now, &members);
        self.members = members;
        appended
    }

    /// Writes the group in one write and waits for the disk; without a group it does nothing.
    ///
    /// # Errors
    /// [`LogError::Full`] keeps the group: nothing of it is durable, and the next commit tries again.
    /// After any other refusal of the system the log is stopped: what the disk holds is unknown, and
    /// another fdatasync would not tell (it reports an error once).
    pub fn commit(&mut self) -> Result<Head, LogError> {
        if self.stopped {
            return Err(LogError::Stopped);
        }
        if !self.group.is_empty() {
            let written = self.tape.write_durably(&self.group);
            self.stop_unless_full(written)?;
            self.group.clear();
            self.durable = self.tip.head();
        }
        Ok(self.durable)
    }

    /// The last durable line.
    #[must_use]
    pub fn head(&self) -> Option<Head> {
        (self.durable.seq > 0).then_some(self.durable)
    }

    fn start(disk: Disk, dir: &Path, now: Timestamp, genesis: &Entry) -> Result<Self, LogError> {
        let month = whole_millis(now).month();
        let path = dir.join(file::month_name(&month));
        let tape = Tape::create(&disk, path)?;
        let mut log = Self::new(disk, dir, month, tape, Tip::NONE);
        log.append(now, genesis)?;
        log.record_torn(now, 1)?;
        Ok(log)
    }

    fn resume(disk: Disk, dir: &Path, now: Timestamp, end: End) -> Result<Self, LogError> {
        let month = file::month_of(&end.path).unwrap_or_default().to_owned();
        let tape = Tape::resume(&disk, end.path)?;
        let mut log = Self::new(disk, dir, month, tape, end.tip);
        if end.is_closed {
            log.is_closed = true;
            log.roll_over(log.ts(now))?;
        }
        log.record_torn(now, end.tip.seq + 1)?;
        Ok(log)
    }

    fn new(disk: Disk, dir: &Path, month: String, tape: Tape, tip: Tip) -> Self {
        let (group, members) = (Vec::new(), Vec::new());
        Self {
            disk,
            dir: dir.to_owned(),
            month_end: first_of_next(&month),
            month,
            tape,
            tip,
            durable: tip.head(),
            group,
            members,
            is_closed: false,
            stopped: false,
            trace: None,
            lock: None,
        }
    }

    /// Records what was set aside where line `seq` belongs and has no line yet.
    fn record_torn(&mut self, now: Timestamp, seq: u64) -> Result<(), LogError> {
        for path in file::torn_files(&self.dir, seq)? {
            let (bytes, hash) = file::measure(&path)?;
            // An earlier start may have died or failed over it.
            rewrite(&self.disk, &path, bytes)?;
            let name = path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned());
            self.append_mark(
                now,
                &Mark::Recovery {
                    file: name.unwrap_or_default(),
                    bytes,
                    hash,
                },
            )?;
        }
        Ok(())
    }

    fn append_members(&mut self, now: Timestamp, members: &[u8]) -> Result<(), LogError> {
        if self.stopped {
            return Err(LogError::Stopped);
        }
        // The first test is the cheap one, for every line but those at a month's end.
        if self.ts(now) >= self.month_end && self.ts(now).month() != self.month || self.is_closed {
            self.roll_over(self.ts(now))?;
        }
        self.push(self.ts(now), members)
    }

    fn append_mark(&mut self, now: Timestamp, mark: &Mark) -> Result<(), LogError> {
        let mut members = Vec::new();
        mark.write(&mut members);
        self.append_members(now, &members)
    }

    /// `close` durable, then the new file, its name durable, and `open` as its first line. On a full
    /// disk it ends at any step, and goes on there when it is called again.
    fn roll_over(&mut self, ts: Timestamp) -> Result<(), LogError> {
        if !self.is_closed {
            let mut close = Vec::new();
            Mark::Close.write(&mut close);
            self.push(self.tip.ts, &close)?;
            self.is_closed = true;
        }
        self.commit()?;
        self.begin_month(ts.max(self.month_end))
    }

    fn begin_month(&mut self, ts: Timestamp) -> Result<(), LogError> {
        let month = ts.month();
        let path = self.dir.join(file::month_name(&month));
        let tape = Tape::create(&self.disk, path);
        self.tape = self.stop_unless_full(tape)?;
        let previous = file::month_name(&self.month);
        self.month_end = first_of_next(&month);
        self.month = month;
        self.is_closed = false;
        let hash = self.tip.hash;
        self.append_mark(ts, &Mark::Open { previous, hash })
    }

    /// What a full disk leaves as it was may be tried again, and nothing else.
    fn stop_unless_full<T>(&mut self, done: Result<T, LogError>) -> Result<T, LogError> {
        self.stopped = !matches!(done, Ok(_) | Err(LogError::Full(_)));
        done
    }

    fn push(&mut self, ts: Timestamp, members: &[u8]) -> Result<(), LogError> {
        let start = self.group.len();
        write_line(&self.tip, ts, members, &mut self.group);
        let line = self.group.get(start..).unwrap_or_default();
        if line.len() > MAX_LINE {
            let len = line.len();
            self.group.truncate(start);
            return Err(LogError::TooLong(len));
        }
        self.tip = Tip {
            seq: self.tip.seq + 1,
            hash: Digest::of(&[line]),
            ts,
        };
        self.group.push(b'\n');
        Ok(())
    }

    fn ts(&self, now: Timestamp) -> Timestamp {
        whole_millis(now).max(self.tip.ts)
    }
}

/// Whatever was written is durable, unless a write failed: then the next start has to know.
impl Drop for Log {
    fn drop(&mut self) {
        if let (false, Some(trace)) = (self.stopped, self.trace.take()) {
            trace.wipe(&self.disk);
        }
    }
}

/// A line is written with milliseconds, and its month follows from what is written.
fn whole_millis(time: Timestamp) -> Timestamp {
    Timestamp::from_millis(time.as_millis())
}

/// A file that is closed stays closed, also when the clock has gone back into its month.
fn first_of_next(month: &str) -> Timestamp {
    let (year, number) = month.split_at_checked(5).unwrap_or(("1970-", "01"));
    let next = match (
        year.trim_end_matches('-').parse::<u32>(),
        number.parse::<u32>(),
    ) {
        (Ok(year), Ok(12)) => format!("{}-01", year + 1),
        (Ok(year), Ok(number)) => format!("{year:04}-{:02}", number + 1),
        _ => month.to_owned(),
    };
    format!("{next}-01T00:00:00.000Z")
        .parse()
        .unwrap_or(Timestamp::from_millis(0))
}
