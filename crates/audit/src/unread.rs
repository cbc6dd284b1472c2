//! The part of the newest month that a start took by the anchor's word: read whole behind it, and held against the tree
//! that was written down and every checkpoint over it.

use std::path::{Path, PathBuf};

use crate::error::{LogError, broken};
use crate::known_tree::KnownTree;
use crate::merkle::{self, Tree};
use crate::note::{Checkpoint, NextNote, Note, Notes};
use crate::read::{RawLine, RawLines};

/// Lines that the agent wrote, by its anchor's word, and that no start has read since.
#[derive(Clone, Debug)]
pub struct UnreadMonth {
    path: PathBuf,
    notes: PathBuf,
    origin: String,
    known: KnownTree,
}

impl UnreadMonth {
    pub(crate) fn new(path: &Path, notes: PathBuf, origin: String, known: KnownTree) -> Self {
        let path = path.to_owned();
        Self {
            path,
            notes,
            origin,
            known,
        }
    }

    /// Hashes the lines, and holds them against the tree of the anchor and every checkpoint that covers some of them: what
    /// a start does that reads the month at once. The log may be written meanwhile. After each piece `pace` gets its
    /// length, and says whether to go on. Returns whether all was read.
    ///
    /// # Errors
    /// [`LogError::Broken`] when one line is not what the agent wrote, or the system refuses.
    pub fn inspect(&self, mut pace: impl FnMut(u64) -> bool) -> Result<bool, LogError> {
        // Before its first checkpoint a month may have no file of checkpoints: do not open that file, since its absence would
        // count as an error.
        let mut notes = match self.known.notes {
            0 => None,
            _ => Some(Notes::open(&self.notes)?),
        };
        let mut next = self.next_note(notes.as_mut())?;
        let mut lines = RawLines::open(&self.path)?;
        let mut tree = Tree::default();
        // Stop at the last line of the saved tree: the start has read the later lines, or they are being written just now.
        while lines.offset < self.known.position.offset
            && let RawLine::Whole(raw) = lines.next_line()?
        {
            tree.push(merkle::leaf(&raw));
            if let Some(note) = next.take_if(|note| note.checkpoint.size <= tree.size()) {
                if note.checkpoint != self.checkpoint(&tree) {
                    return Err(broken(&self.path, OTHER_LINES));
                }
                next = self.next_note(notes.as_mut())?;
            }
            if lines.read >= PIECE && !pace(std::mem::take(&mut lines.read)) {
                return Ok(false);
            }
        }
        // Trees are equal only if their sizes are: so a month whose last lines were removed is found too.
        match tree == self.known.tree {
            true => Ok(pace(lines.read)),
            false => Err(broken(
                &self.path,
                "its lines are not those that this agent wrote",
            )),
        }
    }

    fn checkpoint(&self, tree: &Tree) -> Checkpoint {
        Checkpoint {
            origin: self.origin.clone(),
            size: tree.size(),
            root: tree.root(),
        }
    }

    /// The next checkpoint of those that were there when the tree was written down.
    fn next_note(&self, notes: Option<&mut Notes>) -> Result<Option<Note>, LogError> {
        let Some(notes) = notes.filter(|notes| notes.end < self.known.notes) else {
            return Ok(None);
        };
        match notes.next_note()? {
            NextNote::Note(note) => Ok(Some(note)),
            NextNote::Malformed => Err(broken(&self.notes, "something in it is no checkpoint")),
            NextNote::Torn | NextNote::End => Ok(None),
        }
    }
}

/// What is wrong where a checkpoint has another root than the lines.
pub(crate) const OTHER_LINES: &str = "its checkpoints are of other lines";
/// Bytes that are read before `pace` is asked whether to go on.
const PIECE: u64 = 1024 * 1024;
