//! The one writer of a log.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use signet_proto::entry::{Entry, LineVersion};
use signet_proto::ids::Digest;
use signet_proto::time::Timestamp;

use crate::chain::{Head, Position, Tip};
use crate::checkpoint::{CHECKPOINT_LINES, Checkpoints, checkpoints_of};
use crate::disk::{Disk, Faults};
use crate::error::LogError;
use crate::file;
use crate::keys::CheckpointKeys;
use crate::mend::{End, Found, Trace, rewrite};
use crate::record::{MAX_LINE, Mark, write_checkpoint_key, write_line};
use crate::tape::{Tape, give_back_old};

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
    checkpoints: Option<Checkpoints>,
    /// The last line is `close`, and the next month's file is not there yet.
    is_closed: bool,
    /// The month's first line has no checkpoint yet, and the keys of older months are still there.
    is_unproven: bool,
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
    /// No checkpoints are made: the chain alone proves the log. [`Log::open_with`] makes them.
    ///
    /// # Errors
    /// When the system refuses, [`LogError::Held`] when another writer has the directory, or
    /// [`LogError::Broken`] when the chain does not hold before its last
    /// line, which is never repaired.
    pub fn open(dir: &Path, now: Timestamp, genesis: &Entry) -> Result<Self, LogError> {
        Self::open_either(Disk::default(), dir, now, genesis, None)
    }

    /// As [`Log::open`], and makes checkpoints with the keys of `keys`: one at once when lines stand
    /// behind the last, then when [`checkpoint`](Log::checkpoint) is called, and at each rollover. A
    /// month that was begun without a key stays without.
    ///
    /// The newest file and its checkpoints are read whole, and must fit.
    ///
    /// # Errors
    /// As [`Log::open`]; [`LogError::Broken`] also when lines and checkpoints do not fit, and
    /// [`LogError::OpenKey`] when others may use the key.
    pub fn open_with(
        dir: &Path,
        now: Timestamp,
        genesis: &Entry,
        keys: CheckpointKeys,
    ) -> Result<Self, LogError> {
        Self::open_either(Disk::default(), dir, now, genesis, Some(keys))
    }

    /// Either on a disk of which `faults` decides what fails: for tests.
    ///
    /// # Errors
    /// As for [`Log::open_with`], and what `faults` says.
    #[doc(hidden)]
    pub fn open_on(
        faults: Arc<dyn Faults>,
        dir: &Path,
        now: Timestamp,
        genesis: &Entry,
        keys: Option<CheckpointKeys>,
    ) -> Result<Self, LogError> {
        Self::open_either(Disk::with(faults), dir, now, genesis, keys)
    }

    fn open_either(
        disk: Disk,
        dir: &Path,
        now: Timestamp,
        genesis: &Entry,
        keys: Option<CheckpointKeys>,
    ) -> Result<Self, LogError> {
        let Entry::Genesis(own) = genesis else {
            return Err(LogError::NotGenesis(genesis.kind()));
        };
        let checkpoints = keys.map(|keys| Checkpoints::new(&disk, keys, own.agent.clone()));
        file::make_dir(&disk, dir)?;
        let lock = file::lock_dir(&disk, dir)?;
        let found = Found::look(&disk, dir)?;
        let trace = Trace::leave(&disk, dir)?;
        let mut log = match found.mend(&disk, &trace)? {
            Some(end) => Self::resume(disk, dir, now, end, checkpoints)?,
            None => Self::start(disk, dir, now, genesis, checkpoints)?,
        };
        log.trace = Some(trace);
        log.lock = Some(lock);
        log.prove_month()?;
        log.give_back_old()?;
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
        self.keep_up()?;
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
            self.group.shrink_to(GROUP_KEPT);
            self.durable = self.tip.head();
            self.checkpoints.iter_mut().for_each(Checkpoints::settle);
        }
        Ok(self.durable)
    }

    /// How many durable lines no checkpoint covers: one is due at [`CHECKPOINT_LINES`], a minute after
    /// the first of them, and at the end. Always 0 when no checkpoints are made.
    ///
    /// [`CHECKPOINT_LINES`]: crate::CHECKPOINT_LINES
    #[must_use]
    pub fn uncovered(&self) -> u64 {
        self.checkpoints.as_ref().map_or(0, Checkpoints::uncovered)
    }

    /// Signs a checkpoint of all durable lines of the month, and waits for the disk; when the last
    /// covers them it does nothing.
    ///
    /// # Errors
    /// As for [`Log::commit`]: after [`LogError::Full`] it may be tried again.
    pub fn checkpoint(&mut self) -> Result<(), LogError> {
        if self.stopped {
            return Err(LogError::Stopped);
        }
        let written = self.checkpoints.as_mut().map_or(Ok(()), Checkpoints::write);
        self.stop_unless_full(written)
    }

    /// Whether the checkpoint key of this month is gone, so that no checkpoints can be made before
    /// the next month.
    #[must_use]
    pub fn lacks_checkpoint_key(&self) -> bool {
        self.checkpoints
            .as_ref()
            .is_some_and(Checkpoints::lacks_key)
    }

    /// Behind the last line that was appended; durable once it is committed.
    #[must_use]
    pub fn position(&self) -> Position {
        Position {
            file: file::month_name(&self.month),
            offset: self.tape.len() + self.group.len() as u64,
            head: self.tip.head(),
        }
    }

    /// The last durable line.
    #[must_use]
    pub fn head(&self) -> Option<Head> {
        (self.durable.seq > 0).then_some(self.durable)
    }

    fn start(
        disk: Disk,
        dir: &Path,
        now: Timestamp,
        genesis: &Entry,
        mut checkpoints: Option<Checkpoints>,
    ) -> Result<Self, LogError> {
        let month = whole_millis(now).month();
        let path = dir.join(file::month_name(&month));
        let mut members = Vec::new();
        genesis.write(&mut members);
        if let Some(checkpoints) = &mut checkpoints {
            write_checkpoint_key(&checkpoints.begin(&month, &path)?, &mut members);
        }
        let tape = Tape::create(&disk, path)?;
        let mut log = Self::new(disk, dir, month, tape, Tip::NONE);
        log.checkpoints = checkpoints;
        log.append_members(now, &members)?;
        log.record_torn(now, 1)?;
        Ok(log)
    }

    fn resume(
        disk: Disk,
        dir: &Path,
        now: Timestamp,
        end: End,
        mut checkpoints: Option<Checkpoints>,
    ) -> Result<Self, LogError> {
        let month = file::month_of(&end.path).unwrap_or_default().to_owned();
        if let Some(checkpoints) = &mut checkpoints {
            checkpoints.resume(&month, &end.path)?;
        }
        let tape = Tape::resume(&disk, end.path)?;
        let mut log = Self::new(disk, dir, month, tape, end.tip);
        log.checkpoints = checkpoints;
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
            checkpoints: None,
            is_closed: false,
            is_unproven: false,
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

    /// However many lines are appended before a commit, a crash never leaves more behind the last
    /// checkpoint than an honest log has.
    fn keep_up(&mut self) -> Result<(), LogError> {
        let behind = self.checkpoints.as_ref().map_or(0, Checkpoints::behind);
        if behind >= 2 * CHECKPOINT_LINES {
            self.commit()?;
            self.checkpoint()?;
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
        } else if self.is_unproven {
            self.prove_month()?;
        }
        self.push(self.ts(now), members)
    }

    fn append_mark(&mut self, now: Timestamp, mark: &Mark) -> Result<(), LogError> {
        let mut members = Vec::new();
        mark.write(&mut members);
        self.append_members(now, &members)
    }

    /// `close` durable, its checkpoint durable, the new key, the new file, its name durable, `open` as its
    /// first line, durable, the first checkpoint; then the old key is destroyed. On a full disk it ends
    /// at any step, and goes on there when it is called again; so does a start after a crash.
    fn roll_over(&mut self, ts: Timestamp) -> Result<(), LogError> {
        if !self.is_closed {
            let mut close = Vec::new();
            Mark::Close.write(&mut close);
            self.push(self.tip.ts, &close)?;
            self.is_closed = true;
        }
        self.commit()?;
        self.checkpoint()?;
        self.begin_month(ts.max(self.month_end))
    }

    fn begin_month(&mut self, ts: Timestamp) -> Result<(), LogError> {
        let previous = file::month_name(&self.month);
        let month = ts.month();
        let path = self.dir.join(file::month_name(&month));
        let hash = self.tip.hash;
        let mut members = Vec::new();
        Mark::Open { previous, hash }.write(&mut members);
        if let Some(checkpoints) = &mut self.checkpoints {
            let key = checkpoints.begin(&month, &path);
            write_checkpoint_key(&self.stop_unless_full(key)?, &mut members);
        }
        let given_back = self.tape.give_back();
        self.stop_unless_full(given_back)?;
        let tape = Tape::create(&self.disk, path);
        self.tape = self.stop_unless_full(tape)?;
        self.month_end = first_of_next(&month);
        self.month = month;
        self.is_closed = false;
        self.push(ts, &members)?;
        if self.checkpoints.is_some() {
            self.is_unproven = true;
            self.prove_month()?;
        }
        Ok(())
    }

    /// Nothing follows the first line of a month before it has a checkpoint: that there is none would
    /// mean that they were taken away.
    fn prove_month(&mut self) -> Result<(), LogError> {
        self.commit()?;
        self.checkpoint()?;
        if let Some(checkpoints) = &self.checkpoints {
            let destroyed = checkpoints.destroy_old_keys(&self.month);
            self.stop_unless_full(destroyed)?;
        }
        self.is_unproven = false;
        Ok(())
    }

    /// The months that are over need no room beyond their ends.
    fn give_back_old(&self) -> Result<(), LogError> {
        let mut files = file::months(&self.dir)?;
        files.retain(|month| *month != self.tape.path);
        let notes: Vec<_> = files.iter().map(|month| checkpoints_of(month)).collect();
        give_back_old(&self.disk, files.iter().chain(&notes).map(PathBuf::as_path));
        Ok(())
    }

    /// What a full disk leaves as it was may be tried again, and nothing else.
    fn stop_unless_full<T>(&mut self, done: Result<T, LogError>) -> Result<T, LogError> {
        self.stopped = !matches!(done, Ok(_) | Err(LogError::Full(_)));
        done
    }

    fn push(&mut self, ts: Timestamp, members: &[u8]) -> Result<(), LogError> {
        let start = self.group.len();
        write_line(
            LineVersion::CURRENT,
            &self.tip,
            ts,
            members,
            &mut self.group,
        );
        let line = self.group.get(start..).unwrap_or_default();
        if line.len() > MAX_LINE {
            let len = line.len();
            self.group.truncate(start);
            return Err(LogError::TooLong(len));
        }
        self.tip = Tip {
            version: LineVersion::CURRENT,
            seq: self.tip.seq + 1,
            hash: Digest::of(&[line]),
            ts,
        };
        self.checkpoints
            .iter_mut()
            .for_each(|checkpoints| checkpoints.push(line));
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
        let Some(trace) = self.trace.take().filter(|_| !self.stopped) else {
            return;
        };
        let checkpoints = self.checkpoints.as_mut();
        let given_back = checkpoints.map_or(Ok(()), Checkpoints::give_back);
        if given_back.and(self.tape.give_back()).is_ok() {
            trace.wipe(&self.disk);
        }
    }
}

/// One group of large lines does not keep its room in memory for ever.
const GROUP_KEPT: usize = 1024 * 1024;

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
