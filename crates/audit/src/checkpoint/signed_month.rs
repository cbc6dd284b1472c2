//! One month that a log signs: its tree, and the checkpoints that are there already.

use std::path::{Path, PathBuf};

use signet_proto::ids::Digest;
use signet_proto::keys::VerifyKey;

use crate::chain::{LogPosition, Tip};
use crate::disk::Disk;
use crate::error::{LogError, broken};
use crate::file_identity::REMOVED;
use crate::frame::LineFrame;
use crate::known_tree::KnownTree;
use crate::merkle::{self, Tree};
use crate::month_file::MonthFile;
use crate::note::{Checkpoint, CheckpointSecret, NextNote, Note, Notes, last_note_before};
use crate::read::{RawLine, RawLines};
use crate::record::Mark;
use crate::unread::OTHER_LINES;

/// A checkpoint is due after so many lines: two full groups, so that under load each shares its two waits for the disk.
pub const CHECKPOINT_LINES: u64 = 512;

/// However a log is stopped, it leaves fewer lines than this without a checkpoint. More of them at the end of a month's
/// file mean that checkpoints were taken away.
const UNCOVERED: u64 = 2 * CHECKPOINT_LINES;

/// So many lines are never appended without a checkpoint; what a month's end or a start adds stays below [`UNCOVERED`].
pub(crate) const MOST_BEHIND: u64 = UNCOVERED - UNCOVERED / 4;

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
    /// How many bytes of whole checkpoints there are.
    pub(super) notes_len: u64,
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
    /// Reads the first `bytes` of the month's file at `path`, from the end of `known` on where there is one, and holds
    /// them against the checkpoints.
    ///
    /// # Errors
    /// As for [`Checkpoints::resume`](super::Checkpoints::resume).
    pub(super) fn rebuild(
        &mut self,
        path: &Path,
        bytes: u64,
        key: &VerifyKey,
        expected: Required,
        known: Option<KnownTree>,
    ) -> Result<Option<LogPosition>, LogError> {
        let (from, known_notes) = match known {
            Some(known) => {
                (self.tree, self.covered) = (known.tree, known.covered);
                (known.position.offset, known.notes)
            }
            None => (0, 0),
        };
        let mut notes = NotesAhead::open(&self.path, known_notes)?;
        if from > 0 {
            // A tree that was saved just before a checkpoint of the same lines does not know of that checkpoint. Compare the
            // two now: once further lines are added to the tree, its root is another one.
            self.take_note(path, &mut notes)?;
        }
        let mut lines = RawLines::open_at(path, from)?;
        let (mut beginning, mut covered) = (0, None);
        while lines.offset < bytes
            && let RawLine::Whole(raw) = lines.next_line()?
        {
            // Count the opening and `recovery` lines that the month begins with: its first checkpoint is made right after them,
            // so a month of such lines alone may have no checkpoint yet.
            if beginning == self.tree.size() && begins_month(&raw) {
                beginning += 1;
            }
            self.tree.push(merkle::leaf(&raw));
            if self.take_note(path, &mut notes)? {
                let frame = LineFrame::scan(&raw).ok();
                covered = frame.map(|frame| position_of(&frame, &raw, &lines));
            }
        }
        let fault = |what: &str| Err(broken(path, what));
        self.demand(path, notes.next.is_some(), expected)?;
        // Check only the last checkpoint's signature: it covers all lines that the earlier ones cover, and the roots of all
        // checkpoints that were read here fit the lines.
        if notes.last.is_some_and(|note| !note.is_signed_by(key)) {
            return fault("its last checkpoint is not signed by the key that its first line names");
        }
        if self.lacks_some(beginning, expected) {
            return fault("checkpoints are missing that were made");
        }
        self.notes_len = notes.end;
        self.notes_end = notes.notes.map(|_| notes.end);
        Ok(covered)
    }

    /// Holds the next checkpoint against the tree, if it covers no more than that. Says whether it does.
    fn take_note(&mut self, path: &Path, notes: &mut NotesAhead) -> Result<bool, LogError> {
        let size = self.tree.size();
        let Some(note) = (notes.next).take_if(|note| note.checkpoint.size <= size) else {
            return Ok(false);
        };
        if note.checkpoint != self.checkpoint() {
            return Err(broken(path, OTHER_LINES));
        }
        self.covered = size;
        notes.go_on(note)?;
        Ok(true)
    }

    /// No checkpoint covers more lines than it may.
    fn demand(&self, path: &Path, is_more: bool, expected: Required) -> Result<(), LogError> {
        let what = match expected {
            Required::Unknown if is_more => "its checkpoints cover more lines than it has",
            Required::Anchored { behind, .. }
                if is_more || self.covered > self.tree.size().saturating_sub(behind) =>
            {
                "its checkpoints cover lines that this agent has not written: somebody else has \
                 its checkpoint key"
            }
            Required::Loss | Required::Unknown | Required::Anchored { .. } => return Ok(()),
        };
        Err(broken(path, what))
    }

    /// Whether checkpoints are missing that were made.
    fn lacks_some(&self, beginning: u64, expected: Required) -> bool {
        match expected {
            Required::Loss => false,
            Required::Anchored { least, .. } => self.covered < least,
            Required::Unknown => {
                // A month whose key is lost goes on without checkpoints, so there missing checkpoints prove nothing.
                self.secret.is_some() && are_missing(self.tree.size(), beginning, self.covered)
            }
        }
    }

    /// Whether the checkpoints that were there when `known` was written down are there still, as far as their last one tells.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn fits(&self, known: &KnownTree, key: &VerifyKey) -> Result<bool, LogError> {
        if known.notes == 0 {
            return Ok(known.covered == 0);
        }
        let note = last_note_before(&self.path, known.notes)?;
        Ok(note.is_some_and(|note| {
            let Checkpoint { origin, size, root } = &note.checkpoint;
            // A root can be compared only with a tree of exactly as many lines as the checkpoint covers. If the saved tree has
            // more, `UnreadMonth::inspect` compares the root later, when it reads the lines.
            let is_whole = known.tree.size() != *size || known.tree.root() == *root;
            *origin == self.origin && *size == known.covered && is_whole && note.is_signed_by(key)
        }))
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
        // End each note with an empty line. A note has an empty line inside as well, so readers split the file at every second
        // empty line.
        note.push('\n');
        let month_file = match &mut self.month_file {
            Some(month_file) => month_file,
            none if self.path.exists() => {
                none.insert(MonthFile::resume(disk, self.path.clone())?.sparing())
            }
            // The file with the earlier checkpoints is gone. Refuse to go on: a new file with only later checkpoints would hide
            // that.
            None if self.covered > 0 => {
                return Err(LogError::Gone {
                    path: self.path.clone(),
                    what: REMOVED,
                });
            }
            none => none.insert(MonthFile::create(disk, self.path.clone())?.sparing()),
        };
        month_file.write_durably(note.as_bytes())?;
        self.notes_len += note.len() as u64;
        self.covered = self.tree.size();
        Ok(())
    }
}

/// The checkpoints of a month, as its lines are read.
struct NotesAhead {
    path: PathBuf,
    notes: Option<Notes>,
    next: Option<Note>,
    /// The last that was held against the lines, and where it ends.
    last: Option<Note>,
    end: u64,
}

impl NotesAhead {
    fn open(path: &Path, offset: u64) -> Result<Self, LogError> {
        let notes = path.exists().then(|| Notes::open_at(path, offset));
        let mut ahead = Self {
            path: path.to_owned(),
            notes: notes.transpose()?,
            next: None,
            last: None,
            end: offset,
        };
        ahead.next = ahead.read()?;
        Ok(ahead)
    }

    fn go_on(&mut self, note: Note) -> Result<(), LogError> {
        self.last = Some(note);
        self.end = self.notes.as_ref().map_or(0, |notes| notes.end);
        self.next = self.read()?;
        Ok(())
    }

    fn read(&mut self) -> Result<Option<Note>, LogError> {
        let Some(notes) = &mut self.notes else {
            return Ok(None);
        };
        match notes.next_note()? {
            NextNote::Note(note) => Ok(Some(note)),
            NextNote::Malformed => Err(broken(&self.path, "something in it is no checkpoint")),
            NextNote::Torn | NextNote::End => Ok(None),
        }
    }
}

/// Whether a line stands before the first checkpoint of a month.
fn begins_month(raw: &[u8]) -> bool {
    LineFrame::scan(raw).is_ok_and(|frame| is_beginning(&frame.kind))
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
