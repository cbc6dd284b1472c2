//! The part of the newest month that a start took by the anchor's word: read whole behind it, and held against the tree
//! that was written down and every checkpoint over it.

mod inspect;

use std::path::{Path, PathBuf};

use signet_proto::ids::Digest;

use crate::chain::Head;
use crate::error::{LogError, broken};
use crate::known_tree::KnownTree;
use crate::merkle::Tree;
use crate::note::{Checkpoint, NextNote, Note, Notes};

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

    /// The last of the lines.
    pub(crate) fn last(&self) -> Head {
        self.known.position.head
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

/// Such lines on their way into a tree of their own.
pub(crate) struct TreeCheck {
    month: UnreadMonth,
    tree: Tree,
    notes: Option<Notes>,
    /// The next checkpoint.
    next: Option<Note>,
}

impl TreeCheck {
    /// Before the first line.
    pub(crate) fn of(month: UnreadMonth) -> Result<Self, LogError> {
        // Before its first checkpoint a month may have no file of checkpoints: do not open that file, since its absence would
        // count as an error.
        let mut notes = match month.known.notes {
            0 => None,
            _ => Some(Notes::open(&month.notes)?),
        };
        let next = month.next_note(notes.as_mut())?;
        Ok(Self {
            month,
            tree: Tree::default(),
            notes,
            next,
        })
    }

    /// The file of the month.
    pub(crate) fn path(&self) -> &Path {
        &self.month.path
    }

    /// Whether the line that begins at `offset` is one of them. The later ones the start has read, or they are being written
    /// just now.
    pub(crate) fn goes_beyond(&self, offset: u64) -> bool {
        offset < self.month.known.position.offset
    }

    /// Takes the leaf of the next line.
    pub(crate) fn take(&mut self, leaf: Digest) -> Result<(), LogError> {
        let (month, tree) = (&self.month, &mut self.tree);
        tree.push(leaf);
        if let Some(note) = (self.next).take_if(|note| note.checkpoint.size <= tree.size()) {
            if note.checkpoint != month.checkpoint(tree) {
                return Err(broken(&month.path, OTHER_LINES));
            }
            self.next = month.next_note(self.notes.as_mut())?;
        }
        Ok(())
    }

    /// Behind the last line.
    pub(crate) fn end(self) -> Result<(), LogError> {
        // Trees are equal only if their sizes are: so a month whose last lines were removed is found too.
        match self.tree == self.month.known.tree {
            true => Ok(()),
            false => Err(broken(
                &self.month.path,
                "its lines are not those that this agent wrote",
            )),
        }
    }
}

/// What is wrong where a checkpoint has another root than the lines.
pub(crate) const OTHER_LINES: &str = "its checkpoints are of other lines";
