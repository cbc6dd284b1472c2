//! The one writer of a log.

use std::fs::File;
use std::path::{Path, PathBuf};

use signet_proto::entry::{Entry, LineVersion, LossLine, Weight};
use signet_proto::ids::Digest;
use signet_proto::time::Timestamp;

use crate::anchor::{Anchor, AnchorRecord};
use crate::chain::{Head, LogPosition, Tip};
use crate::checkpoint::{CHECKPOINT_LINES, Checkpoints, checkpoints_of};
use crate::disk::Disk;
use crate::error::{LogError, at};
use crate::file;
use crate::file_identity::FileIdentity;
use crate::judge::{Judgement, nowhere};
use crate::month_file::{MonthFile, give_back_old};
use crate::months::{record_of, remember};
use crate::record::{MAX_LINE, Mark, write_checkpoint_key, write_line};
use crate::repair::{LogEnd, rewrite};
use crate::reserved::Reserved;

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
    /// Every log that is given out has one.
    month_file: Option<MonthFile>,
    tip: Tip,
    /// The end of the last line that the disk has. That line counts as durable once it is anchored as its weight
    /// asks.
    written: LogPosition,
    durable: Head,
    group: Vec<u8>,
    members: Vec<u8>,
    checkpoints: Option<Checkpoints>,
    anchor: Option<Anchor>,
    /// Where finished months are taken down.
    months: Option<PathBuf>,
    /// What the lines need that were appended since the last commit.
    weight: Weight,
    /// The last line is `close`, and the next month's file is not there yet.
    is_closed: bool,
    /// The month's first line has no checkpoint yet, and the keys of older months are still there.
    is_unproven: bool,
    /// Whether an anchor, or a person who accepted a loss, says which month was the last.
    is_guarded: bool,
    /// Files beside the log that have to be at their paths as well.
    beside: Vec<FileIdentity>,
    stopped: bool,
    _lock: File,
}

impl Log {
    /// Goes on where a start looked: first the anchor says that somebody writes, then what a crash left
    /// is mended.
    pub(crate) fn resume_from(
        judgement: Judgement,
        lock: File,
        now: Timestamp,
        genesis: &Entry,
    ) -> Result<Self, LogError> {
        let Judgement {
            loss: lost,
            disk,
            dir,
            found,
            checkpoints,
            anchor: path,
            record,
            ..
        } = judgement;
        let is_clean = record.as_ref().is_some_and(|record| record.is_clean);
        let anchor = match (&path, record) {
            (Some(path), Some(record)) => {
                let record = AnchorRecord {
                    is_clean: false,
                    ..record
                };
                Some(Anchor::create(&disk, path, record)?)
            }
            _ => None,
        };
        let end = found.mend(&disk, !is_clean)?;
        let mut log = Self::new(disk, dir, lock, checkpoints, anchor);
        log.is_guarded = log.anchor.is_some() || lost.is_some();
        let begun = log.begin(now, genesis, end, lost, path);
        // A step of the opening failed, and what the disk holds is unknown: this log writes nothing more, and the
        // next start looks again.
        log.stopped = begun.is_err();
        begun.map(|()| log)
    }

    fn begin(
        &mut self,
        now: Timestamp,
        genesis: &Entry,
        end: Option<LogEnd>,
        lost: Option<Head>,
        path: Option<PathBuf>,
    ) -> Result<(), LogError> {
        if let Some(checkpoints) = &mut self.checkpoints {
            let next = end.as_ref().map_or(0, |end| end.tip.seq) + 1;
            checkpoints.mend(&self.dir, lost.map(|_| next))?;
        }
        match end {
            Some(end) => self.resume(now, end)?,
            None => self.start(now, genesis)?,
        }
        if let Some(head) = lost {
            let (line, hash) = (head.seq, head.hash);
            self.append(now, &Entry::Loss(LossLine { line, hash }))?;
        }
        if let (None, Some(path)) = (&self.anchor, &path) {
            self.commit()?;
            self.anchor = Some(Anchor::create(&self.disk, path, self.record(false))?);
            remove_old_mark(&self.disk, &self.dir)?;
        }
        self.prove_month()?;
        self.give_back_old()?;
        self.months = path.as_deref().map(record_of);
        self.remember_months(lost.is_some())
    }

    /// Takes down the months that are finished. It only helps against the host's own hands, and may wait
    /// for room.
    fn remember_months(&self, anew: bool) -> Result<(), LogError> {
        let Some(record) = &self.months else {
            return Ok(());
        };
        let newest = self.dir.join(file::month_name(&self.month));
        match remember(&self.disk, &self.dir, record, &newest, anew) {
            Err(LogError::Full(_)) => Ok(()),
            done => done,
        }
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
        self.append_with(now, entry, &Reserved::default())
    }

    /// As [`Log::append`], with what the line says of the ways of its message.
    ///
    /// # Errors
    /// As there.
    pub fn append_with(
        &mut self,
        now: Timestamp,
        entry: &Entry,
        ways: &Reserved,
    ) -> Result<(), LogError> {
        self.keep_up()?;
        let mut members = std::mem::take(&mut self.members);
        members.clear();
        entry.write(&mut members);
        ways.write(&mut members);
        let appended = self.append_members(now, &members);
        self.members = members;
        if appended.is_ok() {
            self.weight = self.weight.max(entry.weight());
        }
        appended
    }

    /// Writes the group in one write and waits for the disk; without a group it does nothing. Lines that
    /// bear no signature and move something are anchored before they count as durable, and a person's
    /// decision is covered by a checkpoint.
    ///
    /// # Errors
    /// [`LogError::Full`] keeps the group: nothing of it is durable, and the next commit tries again.
    /// After any other refusal of the system the log is stopped: what the disk holds is unknown, and
    /// another fdatasync would not tell (it reports an error once). [`LogError::Gone`] likewise: what was
    /// written is in a file that no start would find.
    pub fn commit(&mut self) -> Result<Head, LogError> {
        if self.stopped {
            return Err(LogError::Stopped);
        }
        if !self.group.is_empty() {
            let month_file = self.month_file.as_mut().ok_or(LogError::Stopped)?;
            let written = month_file.write_durably(&self.group);
            self.stop_unless_full(written)?;
            self.group.clear();
            self.group.shrink_to(GROUP_KEPT);
            self.written = self.position();
            self.checkpoints.iter_mut().for_each(Checkpoints::settle);
        }
        let anchored = self.anchor_written();
        self.stop_unless_full(anchored)?;
        self.demand_in_place()?;
        self.durable = self.written.head;
        Ok(self.durable)
    }

    /// How many durable lines no checkpoint covers, or the anchor does not know: one is due at
    /// [`CHECKPOINT_LINES`], a minute after the first of them, and at the end. Always 0 when neither is
    /// made.
    ///
    /// [`CHECKPOINT_LINES`]: crate::CHECKPOINT_LINES
    #[must_use]
    pub fn uncovered(&self) -> u64 {
        let anchored = self.anchor.as_ref().map_or(0, |anchor| {
            self.written.head.seq.saturating_sub(anchor.synced_line())
        });
        let checkpoints = self.checkpoints.as_ref();
        checkpoints.map_or(0, Checkpoints::uncovered).max(anchored)
    }

    /// Anchors all durable lines and signs a checkpoint of those of the month, and waits for the disk;
    /// when both are done it does nothing.
    ///
    /// # Errors
    /// As for [`Log::commit`]: after [`LogError::Full`] it may be tried again.
    pub fn checkpoint(&mut self) -> Result<(), LogError> {
        if self.stopped {
            return Err(LogError::Stopped);
        }
        let covered = self.cover();
        self.stop_unless_full(covered)?;
        self.demand_in_place()
    }

    /// From now on nothing is durable unless this file is at its path, too.
    pub fn demand_also(&mut self, file: FileIdentity) {
        self.beside.push(file);
    }

    /// Looks whether every file that is written is still the one at its path. Each commit does; a log to
    /// which nothing is written can ask from time to time.
    ///
    /// # Errors
    /// [`LogError::Gone`], or what the system says; then the log is stopped.
    pub fn demand_in_place(&mut self) -> Result<(), LogError> {
        if self.stopped {
            return Err(LogError::Stopped);
        }
        let found = self.look_in_place();
        self.stop_unless_full(found)
    }

    /// Ends as a kill does: for tests.
    #[doc(hidden)]
    pub fn abandon(mut self) {
        self.stopped = true;
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
    pub fn position(&self) -> LogPosition {
        let written = self.month_file.as_ref().map_or(0, MonthFile::len);
        LogPosition {
            file: file::month_name(&self.month),
            offset: written + self.group.len() as u64,
            head: self.tip.head(),
        }
    }

    /// The time of the last line that was appended: no later line bears an earlier one.
    #[must_use]
    pub fn time(&self) -> Timestamp {
        self.tip.ts
    }

    /// The last durable line.
    #[must_use]
    pub fn head(&self) -> Option<Head> {
        (self.durable.seq > 0).then_some(self.durable)
    }

    fn start(&mut self, now: Timestamp, genesis: &Entry) -> Result<(), LogError> {
        self.name_month(whole_millis(now).month());
        let path = self.dir.join(file::month_name(&self.month));
        let mut members = Vec::new();
        genesis.write(&mut members);
        if let Some(checkpoints) = &mut self.checkpoints {
            let key = checkpoints.begin(&self.month, &path, self.is_guarded)?;
            write_checkpoint_key(&key, &mut members);
        }
        self.month_file = Some(MonthFile::create(&self.disk, path)?);
        self.append_members(now, &members)?;
        self.record_torn(now, 1)
    }

    fn resume(&mut self, now: Timestamp, end: LogEnd) -> Result<(), LogError> {
        self.name_month(file::month_of(&end.path).unwrap_or_default().to_owned());
        self.month_file = Some(MonthFile::resume(&self.disk, end.path)?);
        self.tip = end.tip;
        self.written = self.position();
        self.durable = self.written.head;
        if end.is_closed {
            self.is_closed = true;
            self.roll_over(self.ts(now))?;
        }
        self.record_torn(now, end.tip.seq + 1)
    }

    fn new(
        disk: Disk,
        dir: PathBuf,
        lock: File,
        checkpoints: Option<Checkpoints>,
        anchor: Option<Anchor>,
    ) -> Self {
        let (group, members) = (Vec::new(), Vec::new());
        let tip = Tip::NONE;
        Self {
            disk,
            dir,
            month: String::new(),
            month_end: Timestamp::from_millis(0),
            month_file: None,
            tip,
            written: nowhere(),
            durable: tip.head(),
            group,
            members,
            checkpoints,
            anchor,
            months: None,
            weight: Weight::Light,
            is_closed: false,
            is_unproven: false,
            is_guarded: false,
            beside: Vec::new(),
            stopped: false,
            _lock: lock,
        }
    }

    fn name_month(&mut self, month: String) {
        self.month_end = first_of_next(&month);
        self.month = month;
    }

    fn record(&self, is_clean: bool) -> AnchorRecord {
        AnchorRecord {
            is_clean,
            position: self.written.clone(),
            covered: self.checkpoints.as_ref().map_or(0, Checkpoints::covered),
        }
    }

    /// Anchors what was written as its lines need it.
    fn anchor_written(&mut self) -> Result<(), LogError> {
        match self.weight {
            Weight::Light => self.note_anchor()?,
            Weight::Anchored => self.sync_anchor()?,
            Weight::Decision => self.cover()?,
        }
        self.weight = Weight::Light;
        Ok(())
    }

    /// Writes into the anchor how far the log goes. The anchor only protects against changes on this host, so on a
    /// full disk it waits.
    fn note_anchor(&mut self) -> Result<(), LogError> {
        let record = self.record(false);
        match &mut self.anchor {
            Some(anchor) if anchor.record().position != record.position => {
                match anchor.note(record) {
                    Err(LogError::Full(_)) => Ok(()),
                    noted => noted,
                }
            }
            _ => Ok(()),
        }
    }

    fn sync_anchor(&mut self) -> Result<(), LogError> {
        let record = self.record(false);
        match &mut self.anchor {
            Some(anchor) if anchor.synced_line() < record.position.head.seq => anchor.sync(record),
            _ => Ok(()),
        }
    }

    /// The anchor first: a checkpoint that covers more than it knows is somebody else's.
    fn cover(&mut self) -> Result<(), LogError> {
        self.sync_anchor()?;
        self.checkpoints.as_mut().map_or(Ok(()), Checkpoints::write)
    }

    /// Records what was set aside where line `seq` belongs and has no line yet.
    fn record_torn(&mut self, now: Timestamp, seq: u64) -> Result<(), LogError> {
        for path in file::torn_files(&self.dir, seq)? {
            let (bytes, hash) = file::measure(&path)?;
            // An earlier start may have made this file and died before it was durable, so it is written anew before a
            // line names it.
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
        // `month_end` is compared first because that is cheap: it settles every line but those at a month's end.
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
            let key = checkpoints.begin(&month, &path, self.is_guarded);
            write_checkpoint_key(&self.stop_unless_full(key)?, &mut members);
        }
        let given_back = self
            .month_file
            .as_mut()
            .map_or(Ok(()), MonthFile::give_back);
        self.stop_unless_full(given_back)?;
        let month_file = MonthFile::create(&self.disk, path);
        self.month_file = Some(self.stop_unless_full(month_file)?);
        self.name_month(month);
        self.is_closed = false;
        self.push(ts, &members)?;
        if self.checkpoints.is_some() {
            self.is_unproven = true;
            self.prove_month()?;
        }
        let remembered = self.remember_months(false);
        self.stop_unless_full(remembered)
    }

    /// Covers the first line of a month by a checkpoint before another line follows: a month with more lines and no
    /// checkpoint is one whose checkpoints were taken away.
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
        let newest = self.dir.join(file::month_name(&self.month));
        let mut files = file::months(&self.dir)?;
        files.retain(|month| *month != newest);
        let notes: Vec<_> = files.iter().map(|month| checkpoints_of(month)).collect();
        give_back_old(&self.disk, files.iter().chain(&notes).map(PathBuf::as_path));
        Ok(())
    }

    /// Gives back the room that is reserved for more of this month.
    fn give_back(&mut self) -> Result<(), LogError> {
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.give_back()?;
        }
        self.month_file
            .as_mut()
            .map_or(Ok(()), MonthFile::give_back)
    }

    fn look_in_place(&self) -> Result<(), LogError> {
        if let Some(month_file) = &self.month_file {
            month_file.demand_in_place()?;
        }
        if let Some(checkpoints) = &self.checkpoints {
            checkpoints.demand_in_place()?;
        }
        if let Some(anchor) = &self.anchor {
            anchor.demand_in_place()?;
        }
        let mut beside = self.beside.iter();
        beside.try_for_each(|file| file.demand().map(drop))
    }

    /// Stops the log after every error but a full disk, which leaves the file as it was, so that the same can be
    /// tried again.
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

/// A clean stop: every line is anchored and has its checkpoint, and the anchor says that nobody writes.
/// After an error nothing is touched any more: then the next start has to know.
impl Drop for Log {
    fn drop(&mut self) {
        let is_lost = self.anchor.is_some() && !self.stopped && self.cover().is_err();
        let is_lost = is_lost || self.look_in_place().is_err();
        if self.stopped || is_lost || self.give_back().is_err() {
            return;
        }
        let record = self.record(true);
        if let Some(anchor) = &mut self.anchor {
            // Where this last record cannot be written, the next start takes this stop for a crash and looks more
            // closely, which harms nothing.
            let _ = anchor.sync(record);
        }
    }
}

/// An older release left its mark within the log's directory.
fn remove_old_mark(disk: &Disk, dir: &Path) -> Result<(), LogError> {
    let path = dir.join(OLD_MARK);
    match path.symlink_metadata() {
        Ok(_) => disk.remove(&path).map_err(at(&path)),
        Err(_) => Ok(()),
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

/// The mark of an older release, within the log's directory.
const OLD_MARK: &str = "inter-agent.writing";
