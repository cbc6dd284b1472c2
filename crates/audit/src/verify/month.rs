//! A month's checkpoints, held against its lines as they are read.

use std::path::Path;

use signet_proto::ids::{AgentId, Digest};
use signet_proto::keys::VerifyKey;
use signet_text::counted;

use crate::chain::Head;
use crate::checkpoint::{are_missing, checkpoints_of, is_beginning};
use crate::error::LogError;
use crate::file::month_of;
use crate::merkle::Tree;
use crate::note::{NextNote, Note, Notes, origin};

/// The checkpoints of one file.
#[derive(Default)]
pub(super) struct MonthCheckpoints {
    name: String,
    key: Option<VerifyKey>,
    notes: Option<Notes>,
    next: Option<Note>,
    is_torn: bool,
    /// Something was wrong, and more would only say so again.
    is_spoilt: bool,
    tree: Tree,
    /// The lines before which no checkpoint is made.
    beginning: u64,
    covered: u64,
    /// How many checkpoints hold.
    pub(super) count: u64,
    /// The last line that one of them covers.
    pub(super) proven: Option<Head>,
}

impl MonthCheckpoints {
    /// Opens what stands beside `file`.
    pub(super) fn beside(file: &Path) -> Result<Self, LogError> {
        let Some(month) = month_of(file) else {
            return Ok(Self::default());
        };
        let path = checkpoints_of(file);
        Ok(Self {
            name: month.to_owned(),
            // `symlink_metadata` finds a dangling link too, so that opening it fails and the report names it. `exists`
            // would call it absent.
            notes: path
                .symlink_metadata()
                .is_ok()
                .then(|| Notes::open(&path))
                .transpose()?,
            ..Self::default()
        })
    }

    /// Takes the first line's key. A file that is not named as a month stands without checkpoints.
    pub(super) fn promise(&mut self, key: Option<VerifyKey>) {
        self.key = key.filter(|_| !self.name.is_empty());
    }

    /// Whether its first line names a key.
    pub(super) fn is_promised(&self) -> bool {
        self.key.is_some()
    }

    /// Takes a line, and tells what a checkpoint says against the lines so far.
    pub(super) fn follow(
        &mut self,
        leaf: Digest,
        kind: &str,
        head: Option<Head>,
        agent: Option<&AgentId>,
    ) -> Result<Option<String>, LogError> {
        if self.beginning == self.tree.size() && is_beginning(kind) {
            self.beginning += 1;
        }
        self.tree.push(leaf);
        if self.is_spoilt {
            return Ok(None);
        }
        let mut fault = self.look_ahead()?;
        if self
            .next_size()
            .is_some_and(|size| size <= self.tree.size())
        {
            fault = self.hold(head, agent).or(fault);
        }
        self.is_spoilt |= fault.is_some();
        Ok(fault)
    }

    /// What is missing when the file has ended.
    pub(super) fn conclude(&mut self, is_last: bool) -> Result<Option<String>, LogError> {
        if self.is_spoilt {
            return Ok(None);
        }
        if let Some(fault) = self.look_ahead()? {
            return Ok(Some(fault));
        }
        let lines = self.tree.size();
        Ok(match (&self.key, &self.notes, self.next_size()) {
            (None, Some(_), _) => Some("checkpoints stand beside the file, and yet its first line names no key for them".to_owned()),
            (None, None, _) => None,
            (Some(_), _, Some(size)) => Some(format!(
                "a checkpoint covers {}, and the file has {lines}: lines were cut off at its end",
                counted(size, "line")
            )),
            (Some(_), None, _) if are_missing(lines, self.beginning, 0) || !is_last => Some(
                "its first line names a key for checkpoints, and there are none: they were taken away".to_owned(),
            ),
            (Some(_), _, _) if self.is_torn && !is_last => Some("its last checkpoint is torn, and yet another file follows".to_owned()),
            (Some(_), _, _) if self.lags(is_last) => Some(format!(
                "the checkpoints end with line {}, and the file has {lines}, more than a log leaves without one: some were taken away, or its key was lost",
                self.covered
            )),
            _ => None,
        })
    }

    fn lags(&self, is_last: bool) -> bool {
        let lines = self.tree.size();
        are_missing(lines, self.beginning, self.covered) || (!is_last && self.covered != lines)
    }

    fn next_size(&self) -> Option<u64> {
        self.next.as_ref().map(|note| note.checkpoint.size)
    }

    /// Reads the next checkpoint, also one that was written since the last look.
    fn look_ahead(&mut self) -> Result<Option<String>, LogError> {
        let Some(notes) = self
            .notes
            .as_mut()
            .filter(|_| self.next.is_none() && self.key.is_some())
        else {
            return Ok(None);
        };
        self.is_torn = false;
        match notes.next_note()? {
            NextNote::Note(note) => self.next = Some(note),
            NextNote::Torn => self.is_torn = true,
            NextNote::End => {}
            NextNote::Malformed => {
                return Ok(Some(format!(
                    "checkpoint {} beside the file is no signed note as a log writes it",
                    notes.number
                )));
            }
        }
        Ok(None)
    }

    /// Holds the next checkpoint against the lines it covers, of which this is the last.
    fn hold(&mut self, head: Option<Head>, agent: Option<&AgentId>) -> Option<String> {
        let (note, key) = (self.next.take()?, self.key.as_ref()?);
        let found = &note.checkpoint;
        // A checkpoint's origin names the agent and the month. If the log's first line was not given, the agent is unknown:
        // then compare only the month.
        let is_ours = match agent {
            Some(agent) => found.origin == origin(agent, &self.name),
            None => found.origin.ends_with(&format!("/{}", self.name)),
        };
        let fault = if found.size != self.tree.size() {
            "does not cover more lines than the one before"
        } else if !is_ours {
            "is of another log or month"
        } else if !note.is_signed_by(key) {
            "is not signed by the key that the first line names"
        } else if found.root != self.tree.root() {
            "is of other lines: the file was written anew, or there are two versions of it"
        } else {
            self.covered = found.size;
            self.count += 1;
            self.proven = head.or(self.proven);
            return None;
        };
        let number = self.notes.as_ref().map_or(0, |notes| notes.number);
        Some(format!(
            "checkpoint {number}, over {}, {fault}",
            counted(found.size, "line")
        ))
    }
}
