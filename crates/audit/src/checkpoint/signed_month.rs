//! One month that a log signs: its tree, and the checkpoints that are there already.

use std::path::{Path, PathBuf};

use signet_proto::ids::Digest;
use signet_proto::keys::VerifyKey;

use crate::chain::{LogPosition, Tip};
use crate::disk::Disk;
use crate::error::{LogError, broken};
use crate::file_identity::REMOVED;
use crate::merkle::{self, Tree};
use crate::month_file::MonthFile;
use crate::note::{Checkpoint, CheckpointSecret, NextNote, Note, Notes};
use crate::read::{RawLine, RawLines};
use crate::record::{LineFrame, Mark};

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

/// What it takes to sign one month.
#[derive(Debug, Default)]
pub(super) struct SignedMonth {
    pub(super) origin: String,
    pub(super) path: PathBuf,
    /// Whether the month's file names a key.
    pub(super) is_promised: bool,
    /// None when no key is named, or the one that is named is gone.
    pub(super) secret: Option<CheckpointSecret>,
    pub(super) month_file: Option<MonthFile>,
    /// The Merkle tree of the durable lines.
    pub(super) tree: Tree,
    /// The lines that are not durable yet.
    pub(super) waiting: Vec<Digest>,
    /// How many lines have a checkpoint.
    pub(super) covered: u64,
    /// Where the last whole checkpoint ends, while something torn may stand behind it.
    pub(super) notes_end: Option<u64>,
}

/// Which checkpoints a month has to have when a start goes on in it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Required {
    /// Nothing outside of the log says which there were: no fewer than a log has however it was stopped.
    Unknown,
    /// The anchor remembers.
    Anchored {
        /// How many lines had a checkpoint when the anchor was written.
        least: u64,
        /// How many lines stand behind the anchored one. They have no checkpoint, since a line is anchored before a
        /// checkpoint covers it.
        behind: u64,
    },
    /// Some checkpoints are lost, and a person has accepted that.
    Loss,
}

impl SignedMonth {
    pub(super) fn rebuild(
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
            Required::Unknown | Required::Anchored { .. } => {}
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

    pub(super) fn write(&mut self, disk: &Disk) -> Result<(), LogError> {
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

/// The end of the line that was just read.
fn position_of(frame: &LineFrame, raw: &[u8], lines: &RawLines) -> LogPosition {
    let name = lines.path.file_name().unwrap_or_default();
    LogPosition {
        file: name.to_string_lossy().into_owned(),
        offset: lines.offset,
        head: Tip::of(frame, raw).head(),
    }
}
