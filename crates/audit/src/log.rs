//! The one writer of a log.

mod begin;
mod month_end;

use std::fs::File;
use std::path::PathBuf;

use signet_proto::entry::{Entry, LineVersion, Weight};
use signet_proto::ids::Digest;
use signet_proto::time::Timestamp;

use crate::anchor::{Anchor, AnchorRecord};
use crate::chain::{Head, LogPosition, Tip};
use crate::checkpoint::{Checkpoints, MOST_BEHIND};
use crate::disk::Disk;
use crate::error::LogError;
use crate::file;
use crate::file_identity::FileIdentity;
use crate::known_tree::KnownTree;
use crate::month_file::MonthFile;
use crate::record::{MAX_LINE, Mark, write_line};
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
        // Take the buffer out, since `append_members` borrows the whole log, and put it back, so that the next line reuses it.
        let mut members = std::mem::take(&mut self.members);
        members.clear();
        entry.write(&mut members);
        ways.write(&mut members);
        let appended = self.append_members(now, &members);
        self.members = members;
        if appended.is_ok() {
            // Raise the weight after the append: if `append_members` ends a month, it commits the earlier lines and
            // resets the weight, and this line would not be anchored.
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
            // Put only durable lines into the tree: if a power cut took away a line that a checkpoint covers, the next start
            // would refuse the log.
            self.checkpoints.iter_mut().for_each(Checkpoints::settle);
        }
        // Write the lines before the anchor: an anchor that names a line not on the disk looks as if lines had been removed.
        let anchored = self.anchor_written();
        self.stop_unless_full(anchored)?;
        // Check after the write that the files are still at their paths: a file that was moved away still takes writes,
        // but no start would find its lines.
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

    fn record(&self, is_clean: bool) -> AnchorRecord {
        AnchorRecord {
            is_clean,
            position: self.written.clone(),
            covered: self.checkpoints.as_ref().map_or(0, Checkpoints::covered),
        }
    }

    fn known_tree(&self) -> Option<KnownTree> {
        let checkpoints = self.checkpoints.as_ref()?;
        checkpoints.known_tree(&self.written)
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
        let (record, tree) = (self.record(false), self.known_tree());
        match &mut self.anchor {
            Some(anchor) if anchor.synced_line() < record.position.head.seq => {
                anchor.sync(record, tree.as_ref())
            }
            _ => Ok(()),
        }
    }

    /// The anchor first: a checkpoint that covers more than it knows is somebody else's.
    fn cover(&mut self) -> Result<(), LogError> {
        self.sync_anchor()?;
        self.checkpoints.as_mut().map_or(Ok(()), Checkpoints::write)
    }

    /// However many lines are appended before a commit, a crash never leaves more behind the last
    /// checkpoint than an honest log has.
    fn keep_up(&mut self) -> Result<(), LogError> {
        let behind = self.checkpoints.as_ref().map_or(0, Checkpoints::behind);
        if behind >= MOST_BEHIND {
            self.commit()?;
            self.checkpoint()?;
        }
        Ok(())
    }

    fn append_members(&mut self, now: Timestamp, members: &[u8]) -> Result<(), LogError> {
        if self.stopped {
            return Err(LogError::Stopped);
        }
        // Compare with `month_end` first: that is cheap, and only a line past the month's end needs the second comparison. A
        // full disk may have stopped the change of the month after `close`: if `is_closed`, finish that change.
        if self.ts(now) >= self.month_end && self.ts(now).month() != self.month || self.is_closed {
            self.roll_over(self.ts(now))?;
        // The month's first checkpoint failed on a full disk: make it before another line, or the next start would refuse the
        // month.
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
        // The length is known only now, since escapes lengthen a line. A line that is too long is taken out again.
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
        // A log whose files have left their paths did not stop cleanly: the next start will not find its last lines.
        let is_lost = is_lost || self.look_in_place().is_err();
        if self.stopped || is_lost || self.give_back().is_err() {
            return;
        }
        // Record the clean stop last: after an error in an earlier step it must not count as clean, since the next start has to
        // write the newest file anew.
        let (record, tree) = (self.record(true), self.known_tree());
        if let Some(anchor) = &mut self.anchor {
            // If this last record cannot be written, the next start takes the stop for a crash and checks more, which
            // harms nothing.
            let _ = anchor.sync(record, tree.as_ref());
        }
    }
}

/// One group of large lines does not keep its room in memory for ever.
const GROUP_KEPT: usize = 1024 * 1024;

/// A line is written with milliseconds, and its month follows from what is written.
fn whole_millis(time: Timestamp) -> Timestamp {
    Timestamp::from_millis(time.as_millis())
}
