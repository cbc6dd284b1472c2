//! The writer of a month's checkpoints: what is durable goes into the tree, and its root is signed.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

use signet_proto::entry::Entry;
use signet_proto::ids::{AgentId, Digest};
use signet_proto::keys::VerifyKey;

use crate::chain::{LogPosition, Tip};
use crate::disk::Disk;
use crate::error::{LogError, at, broken, unsynced};
use crate::file::{checkpoint_files, set_aside};
use crate::file_identity::REMOVED;
use crate::keys::CheckpointKeys;
use crate::merkle::{self, Tree};
use crate::month_file::MonthFile;
use crate::note::{Checkpoint, CheckpointSecret, NextNote, Note, Notes, origin};
use crate::read::{RawLine, RawLines};
use crate::record::{LineFrame, LogLine, Mark};

/// A checkpoint is due after so many lines.
pub const CHECKPOINT_LINES: u64 = 256;

/// However a log is stopped, it leaves fewer lines than this without a checkpoint. More of them at the end of a month's
/// file mean that checkpoints were taken away.
const UNCOVERED: u64 = 4 * CHECKPOINT_LINES;

/// Whether fewer checkpoints are there than a log of so many lines has, however it was stopped. A
/// month has its first right after its `beginning`: the lines that open it and record torn ends.
pub(crate) fn are_missing(lines: u64, beginning: u64, covered: u64) -> bool {
    lines - covered.min(lines) > UNCOVERED || (covered == 0 && lines > beginning)
}

/// Whether lines of this kind stand before the first checkpoint of a month.
pub(crate) fn is_beginning(kind: &str) -> bool {
    [Mark::GENESIS, Mark::OPEN, Mark::RECOVERY].contains(&kind)
}

/// The file of checkpoints that belongs to a month's file.
pub(crate) fn checkpoints_of(month: &Path) -> PathBuf {
    month.with_extension("checkpoints")
}

/// The checkpoints of the month that a log writes in.
#[derive(Debug)]
pub(crate) struct Checkpoints {
    disk: Disk,
    keys: CheckpointKeys,
    agent: AgentId,
    month: SignedMonth,
}

/// What it takes to sign one month.
#[derive(Debug, Default)]
struct SignedMonth {
    origin: String,
    path: PathBuf,
    /// Whether the month's file names a key.
    is_promised: bool,
    /// None when no key is named, or the one that is named is gone.
    secret: Option<CheckpointSecret>,
    month_file: Option<MonthFile>,
    /// Of the durable lines.
    tree: Tree,
    /// The lines that are not durable yet.
    waiting: Vec<Digest>,
    /// So many lines have a checkpoint.
    covered: u64,
    /// Where the last whole checkpoint ends, while something torn may stand behind it.
    notes_end: Option<u64>,
}

/// Which checkpoints a month has to have when a start goes on in it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Required {
    /// Nothing outside of the log remembers: not fewer than any log leaves.
    Unknown,
    /// The anchor remembers.
    Anchored {
        /// How many lines had a checkpoint when the anchor was written.
        least: u64,
        /// How many lines stand behind the anchored one. They have no checkpoint, since a line is anchored before a
        /// checkpoint covers it.
        behind: u64,
    },
    /// Some are lost, and a person has accepted that.
    Loss,
}

impl Checkpoints {
    pub(crate) fn new(disk: &Disk, keys: CheckpointKeys, agent: AgentId) -> Self {
        Self {
            disk: disk.clone(),
            keys,
            agent,
            month: SignedMonth::default(),
        }
    }

    /// Makes the key of a month that is about to begin in `path`.
    ///
    /// # Errors
    /// [`LogError::Broken`] when checkpoints of that month are there already: its lines were taken away.
    pub(crate) fn begin(
        &mut self,
        month: &str,
        path: &Path,
        is_anchored: bool,
    ) -> Result<VerifyKey, LogError> {
        let checkpoints = checkpoints_of(path);
        if checkpoints.metadata().is_ok_and(|facts| facts.len() > 0) {
            return Err(broken(
                &checkpoints,
                "it has checkpoints of lines that are gone",
            ));
        }
        // The key of a month is destroyed once the next month has its first checkpoint. So where the old key is gone and
        // the new month's is there, the new month was begun before. The old key may also have been moved away: an anchor,
        // where there is one, knows which month was the last.
        let is_over = !is_anchored && self.month.is_promised && self.month.secret.is_none();
        if is_over && self.keys.read(&self.disk, month)?.is_some() {
            return Err(broken(
                path,
                "the month was begun before, and its lines are gone",
            ));
        }
        let secret = self.keys.make(&self.disk, month)?;
        let public = secret.public().clone();
        self.give_back()?;
        self.month = SignedMonth {
            origin: origin(&self.agent, month),
            path: checkpoints,
            is_promised: true,
            secret: Some(secret),
            ..SignedMonth::default()
        };
        Ok(public)
    }

    /// Goes on in a month: its tree is built from the first `bytes` of its file, and every checkpoint
    /// must be true of them. Gives the last line that one covers. A torn checkpoint at the end stays
    /// until [`mend`](Checkpoints::mend).
    ///
    /// # Errors
    /// [`LogError::Broken`] when the checkpoints and the lines contradict each other, or checkpoints
    /// are missing that were made. Signing on would hide it.
    pub(crate) fn resume(
        &mut self,
        month: &str,
        path: &Path,
        bytes: u64,
        expected: Required,
    ) -> Result<Option<LogPosition>, LogError> {
        let Some(named) = self.named_key(path)? else {
            self.month = SignedMonth::default();
            return Ok(None);
        };
        let mut found = SignedMonth {
            origin: origin(&self.agent, month),
            path: checkpoints_of(path),
            is_promised: true,
            secret: self
                .keys
                .read(&self.disk, month)?
                .filter(|key| *key.public() == named),
            ..SignedMonth::default()
        };
        let covered = found.rebuild(path, bytes, &named, expected)?;
        self.month = found;
        Ok(covered)
    }

    /// Cuts off what is torn behind the last checkpoint. Where a person accepted that lines are lost, of
    /// which `next` would be the first, checkpoints of such lines are set aside.
    pub(crate) fn mend(&mut self, dir: &Path, next: Option<u64>) -> Result<(), LogError> {
        let end = self.month.notes_end.take();
        let Some(next) = next else {
            return end.map_or(Ok(()), |end| cut(&self.disk, &self.month.path, end));
        };
        if let Some(end) = end {
            set_aside(&self.disk, &self.month.path, end, next)?;
        }
        for path in checkpoint_files(dir)? {
            if !path.with_extension("jsonl").exists() {
                set_aside(&self.disk, &path, 0, next)?;
            }
        }
        Ok(())
    }

    /// How many lines of the month have a checkpoint.
    pub(crate) fn covered(&self) -> u64 {
        self.month.covered
    }

    /// Destroys the keys of the months that are over.
    pub(crate) fn destroy_old_keys(&self, month: &str) -> Result<(), LogError> {
        match self.month.is_promised {
            true => self.keys.destroy_all_but(&self.disk, month),
            false => Ok(()),
        }
    }

    /// Gives back the room that is reserved for more checkpoints of this month.
    ///
    /// # Errors
    /// What the disk says.
    pub(crate) fn give_back(&mut self) -> Result<(), LogError> {
        self.month
            .month_file
            .as_mut()
            .map_or(Ok(()), MonthFile::give_back)
    }

    /// The file of the month's checkpoints has to be at its path.
    ///
    /// # Errors
    /// [`LogError::Gone`].
    pub(crate) fn demand_in_place(&self) -> Result<(), LogError> {
        let month_file = self.month.month_file.as_ref();
        month_file.map_or(Ok(()), MonthFile::demand_in_place)
    }

    /// Takes a line that is not durable yet: no checkpoint covers it before [`settle`](Checkpoints::settle).
    pub(crate) fn push(&mut self, line: &[u8]) {
        if self.month.is_promised {
            self.month.waiting.push(merkle::leaf(line));
        }
    }

    /// Puts the lines taken so far into the tree, now that they are durable.
    pub(crate) fn settle(&mut self) {
        let month = &mut self.month;
        month
            .waiting
            .drain(..)
            .for_each(|leaf| month.tree.push(leaf));
    }

    /// How many durable lines no checkpoint covers that one could.
    pub(crate) fn uncovered(&self) -> u64 {
        let month = &self.month;
        month
            .secret
            .as_ref()
            .map_or(0, |_| month.tree.size() - month.covered)
    }

    /// How many lines no checkpoint covers, durable or not.
    pub(crate) fn behind(&self) -> u64 {
        self.uncovered() + self.month.waiting.len() as u64
    }

    /// Whether the month names a key that is gone.
    pub(crate) fn lacks_key(&self) -> bool {
        self.month.is_promised && self.month.secret.is_none()
    }

    /// Signs what is durable, durably.
    pub(crate) fn write(&mut self) -> Result<(), LogError> {
        if self.uncovered() > 0 {
            self.month.write(&self.disk)
        } else {
            Ok(())
        }
    }

    /// The key that the first line of a month's file names.
    fn named_key(&self, path: &Path) -> Result<Option<VerifyKey>, LogError> {
        let mut lines = RawLines::open(path)?;
        let RawLine::Whole(raw) = lines.next_line()? else {
            return Ok(None);
        };
        let line = LogLine::parse(raw).map_err(|source| lines.fault(source))?;
        match &line.entry {
            Some(Entry::Genesis(own)) if own.agent != self.agent => {
                Err(broken(path, "it is the log of another agent"))
            }
            _ => Ok(line.checkpoint_key),
        }
    }
}

impl SignedMonth {
    fn rebuild(
        &mut self,
        path: &Path,
        bytes: u64,
        key: &VerifyKey,
        expected: Required,
    ) -> Result<Option<LogPosition>, LogError> {
        let fault = |what: &str| Err(broken(path, what));
        let mut notes = self
            .path
            .exists()
            .then(|| Notes::open(&self.path))
            .transpose()?;
        let mut next = next_note(notes.as_mut(), &self.path)?;
        let mut notes_end = 0;
        let mut lines = RawLines::open(path)?;
        let (mut last, mut beginning, mut covered) = (None, 0, None);
        while lines.offset < bytes
            && let RawLine::Whole(raw) = lines.next_line()?
        {
            let frame = LineFrame::scan(&raw).ok();
            let kind = frame.as_ref().map(|frame| frame.kind.as_str());
            if beginning == self.tree.size() && kind.is_some_and(is_beginning) {
                beginning += 1;
            }
            self.tree.push(merkle::leaf(&raw));
            let Some(note) = next.take_if(|note| note.checkpoint.size <= self.tree.size()) else {
                continue;
            };
            if note.checkpoint != self.checkpoint() {
                return fault("its checkpoints are of other lines");
            }
            self.covered = self.tree.size();
            covered = frame.map(|frame| position_of(&frame, &raw, &lines));
            last = Some(note);
            notes_end = notes.as_ref().map_or(0, |notes| notes.end);
            next = next_note(notes.as_mut(), &self.path)?;
        }
        let lines = self.tree.size();
        match expected {
            Required::Loss => {}
            Required::Unknown if next.is_some() => {
                return fault("its checkpoints cover more lines than it has");
            }
            Required::Anchored { behind, .. }
                if next.is_some() || self.covered > lines.saturating_sub(behind) =>
            {
                return fault(
                    "its checkpoints cover lines that this agent has not written: somebody else has \
                     its checkpoint key",
                );
            }
            _ => {}
        }
        if last.is_some_and(|note| !note.is_signed_by(key)) {
            return fault("its last checkpoint is not signed by the key that its first line names");
        }
        let is_missing = match expected {
            Required::Loss => false,
            Required::Anchored { least, .. } => self.covered < least,
            Required::Unknown => {
                self.secret.is_some() && are_missing(lines, beginning, self.covered)
            }
        };
        if is_missing {
            return fault("checkpoints are missing that were made");
        }
        self.notes_end = notes.map(|_| notes_end);
        Ok(covered)
    }

    fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            origin: self.origin.clone(),
            size: self.tree.size(),
            root: self.tree.root(),
        }
    }

    fn write(&mut self, disk: &Disk) -> Result<(), LogError> {
        let Some(secret) = &self.secret else {
            return Ok(());
        };
        let mut note = secret.sign(&self.checkpoint());
        note.push('\n');
        let month_file = match &mut self.month_file {
            Some(month_file) => month_file,
            none if self.path.exists() => {
                none.insert(MonthFile::resume(disk, self.path.clone())?.sparing())
            }
            None if self.covered > 0 => {
                return Err(LogError::Gone {
                    path: self.path.clone(),
                    what: REMOVED,
                });
            }
            none => none.insert(MonthFile::create(disk, self.path.clone())?.sparing()),
        };
        month_file.write_durably(note.as_bytes())?;
        self.covered = self.tree.size();
        Ok(())
    }
}

fn next_note(notes: Option<&mut Notes>, path: &Path) -> Result<Option<Note>, LogError> {
    let Some(notes) = notes else {
        return Ok(None);
    };
    match notes.next_note()? {
        NextNote::Note(note) => Ok(Some(note)),
        NextNote::Malformed => Err(broken(path, "something in it is no checkpoint")),
        NextNote::Torn | NextNote::End => Ok(None),
    }
}

/// Behind the line that was just read.
fn position_of(frame: &LineFrame, raw: &[u8], lines: &RawLines) -> LogPosition {
    let name = lines.path.file_name().unwrap_or_default();
    LogPosition {
        file: name.to_string_lossy().into_owned(),
        offset: lines.offset,
        head: Tip::of(frame, raw).head(),
    }
}

/// Cuts off what stands behind the last whole checkpoint. A torn one need not be kept as evidence: the next checkpoint
/// covers the same lines.
fn cut(disk: &Disk, path: &Path, end: u64) -> Result<(), LogError> {
    let file = disk.open(path, OpenOptions::new().write(true));
    let file = file.map_err(at(path))?;
    if file.metadata().map_err(at(path))?.len() > end {
        disk.truncate(&file, path, end).map_err(at(path))?;
        disk.sync_all(&file, path).map_err(unsynced(path))?;
    }
    Ok(())
}
