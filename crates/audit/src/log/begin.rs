//! How a log begins: with its first line, or where the last start ended.

use std::fs::File;
use std::path::{Path, PathBuf};

use signet_proto::entry::{Entry, LossLine, Weight};
use signet_proto::time::Timestamp;

use super::{Log, whole_millis};
use crate::anchor::{Anchor, AnchorRecord};
use crate::chain::{Head, Tip};
use crate::checkpoint::Checkpoints;
use crate::disk::Disk;
use crate::error::{LogError, at};
use crate::file;
use crate::judge::{Judgement, nowhere};
use crate::month_file::MonthFile;
use crate::months::record_of;
use crate::record::{Mark, write_checkpoint_key};
use crate::repair::{LogEnd, rewrite};

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
            known_tree,
            ..
        } = judgement;
        let is_clean = record.as_ref().is_some_and(|record| record.is_clean);
        // Let the anchor say "writing" before anything is mended, so that a crash during the mending looks like a crash
        // to the next start.
        let anchor = match (&path, record) {
            (Some(path), Some(record)) => {
                let record = AnchorRecord {
                    is_clean: false,
                    ..record
                };
                Some(Anchor::create(&disk, path, record, known_tree.as_ref())?)
            }
            _ => None,
        };
        let end = found.mend(&disk, !is_clean)?;
        let mut log = Self::new(disk, dir, lock, checkpoints, anchor);
        log.is_guarded = log.anchor.is_some() || lost.is_some();
        let begun = log.begin(now, genesis, end, lost, path);
        // `stopped` keeps `drop` from recording a clean stop: after a failed step nobody knows what the disk holds, and the
        // next start has to check the log again.
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
            // Remove torn checkpoints before a line is appended: otherwise the next checkpoint would follow their
            // bytes, where no reader can parse it.
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
            // Commit the lines before the first anchor names them: after a power cut, an anchor that names a line not
            // on the disk would look as if lines had been removed.
            self.commit()?;
            let (record, tree) = (self.record(false), self.known_tree());
            self.anchor = Some(Anchor::create(&self.disk, path, record, tree.as_ref())?);
            remove_old_mark(&self.disk, &self.dir)?;
        }
        self.prove_month()?;
        self.give_back_old()?;
        self.months = path.as_deref().map(record_of);
        self.remember_months(lost.is_some())
    }

    fn start(&mut self, now: Timestamp, genesis: &Entry) -> Result<(), LogError> {
        self.name_month(whole_millis(now).month());
        let path = self.dir.join(file::month_name(&self.month));
        let mut members = Vec::new();
        genesis.write(&mut members);
        // Put the key on the disk before the first line names it: a month whose key was never written could have no
        // checkpoints.
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
        // The last writer ended between `close` and the next month's first line, by a crash or on a full disk: finish the
        // change of the month now.
        if end.is_closed {
            self.is_closed = true;
            self.roll_over(self.ts(now))?;
        }
        self.record_torn(now, end.tip.seq + 1)
    }

    /// Records what was set aside where line `seq` belongs and has no line yet.
    fn record_torn(&mut self, now: Timestamp, seq: u64) -> Result<(), LogError> {
        for path in file::torn_files(&self.dir, seq)? {
            let (bytes, hash) = file::measure(&path)?;
            // An earlier start may have made this file and died before it was durable: write it anew before a line names it.
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
}

/// An older release left its mark within the log's directory.
fn remove_old_mark(disk: &Disk, dir: &Path) -> Result<(), LogError> {
    let path = dir.join(OLD_MARK);
    match path.symlink_metadata() {
        Ok(_) => disk.remove(&path).map_err(at(&path)),
        Err(_) => Ok(()),
    }
}

/// The mark of an older release, within the log's directory.
const OLD_MARK: &str = "inter-agent.writing";
