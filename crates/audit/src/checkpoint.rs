//! The writer of a month's checkpoints: what is durable goes into the tree, and its root is signed.

mod signed_month;

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

use signet_proto::entry::Entry;
use signet_proto::ids::AgentId;
use signet_proto::keys::VerifyKey;

use crate::chain::LogPosition;
use crate::disk::Disk;
use crate::error::{LogError, at, broken, unsynced};
use crate::file::{checkpoint_files, set_aside};
use crate::keys::CheckpointKeys;
use crate::known_tree::KnownTree;
use crate::merkle;
use crate::month_file::MonthFile;
use crate::note::origin;
use crate::read::{RawLine, RawLines};
use crate::record::LogLine;
use crate::unread::UnreadMonth;
pub use signed_month::CHECKPOINT_LINES;
use signed_month::SignedMonth;
pub(crate) use signed_month::{MOST_BEHIND, Required, are_missing, is_beginning};

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
    unread: Option<UnreadMonth>,
}

impl Checkpoints {
    pub(crate) fn new(disk: &Disk, keys: CheckpointKeys, agent: AgentId) -> Self {
        Self {
            disk: disk.clone(),
            keys,
            agent,
            month: SignedMonth::default(),
            unread: None,
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
        // A new month has no checkpoints. If its file of checkpoints holds anything, the month had lines before, and somebody
        // removed them.
        if checkpoints.metadata().is_ok_and(|facts| facts.len() > 0) {
            return Err(broken(
                &checkpoints,
                "it has checkpoints of lines that are gone",
            ));
        }
        // Once the new month has its first checkpoint, the old month's key is destroyed. So if the old key is gone and
        // the new key exists, the new month was begun before, and its lines were removed. Do not ask where an anchor,
        // or a person who accepted a loss, says which month was the last.
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
    /// until [`mend`](Checkpoints::mend). Where `known` fits, the lines in it and their checkpoints are not read:
    /// [`unread`](Checkpoints::unread) has them.
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
        known: Option<KnownTree>,
    ) -> Result<Option<LogPosition>, LogError> {
        self.unread = None;
        let Some(named) = self.named_key(path)? else {
            self.month = SignedMonth::default();
            return Ok(None);
        };
        let mut found = SignedMonth {
            origin: origin(&self.agent, month),
            path: checkpoints_of(path),
            is_promised: true,
            // Ignore a key that is not the one named in the month's first line: readers would refuse every checkpoint
            // that it signs.
            secret: self
                .keys
                .read(&self.disk, month)?
                .filter(|key| *key.public() == named),
            ..SignedMonth::default()
        };
        let known = match known {
            Some(known) if found.fits(&known, &named)? => Some(known),
            Some(_) | None => None,
        };
        self.unread = known.clone().map(|known| {
            let (origin, notes) = (found.origin.clone(), found.path.clone());
            UnreadMonth::new(path, notes, origin, known)
        });
        let covered = found.rebuild(path, bytes, &named, expected, known)?;
        self.month = found;
        Ok(covered)
    }

    /// The part of the month that was not read.
    pub(crate) fn unread(&self) -> Option<&UnreadMonth> {
        self.unread.as_ref()
    }

    /// The tree of the durable lines, which end at `position`; `None` in a month without checkpoints.
    pub(crate) fn known_tree(&self, position: &LogPosition) -> Option<KnownTree> {
        let month = &self.month;
        month.is_promised.then(|| KnownTree {
            position: position.clone(),
            tree: month.tree.clone(),
            notes: month.notes_len,
            covered: month.covered,
        })
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
        // Set aside the checkpoints of months whose lines are lost: otherwise `begin` would refuse to begin such a month again.
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
            // The log of another agent, put in this log's place, has a sound chain of hashes as well: refuse it by the agent's
            // name, which stands in the first line of a log's first month.
            Some(Entry::Genesis(own)) if own.agent != self.agent => {
                Err(broken(path, "it is the log of another agent"))
            }
            _ => Ok(line.checkpoint_key),
        }
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
