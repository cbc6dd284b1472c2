//! What a start holds a log against, before it changes or signs anything.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use signet_proto::entry::Entry;
use signet_proto::time::Timestamp;

use crate::chain::Head;
use crate::checkpoint::Checkpoints;
use crate::custody::Custody;
use crate::disk::{Disk, Faults};
use crate::error::{LogError, broken};
use crate::file::{lock_dir, make_dir, refuse_open_folders};
use crate::judge::Judgement;
use crate::log::Log;
use crate::read::read_checking;
use crate::record::LogLine;
use crate::repair::FoundEnd;
use crate::unread::UnreadMonth;

/// A log that was looked at, and not changed yet; its directory is locked.
///
/// Lines up to [`trusted`](LogOpening::trusted) are those that this home wrote. What stands behind them,
/// up to [`end`](LogOpening::end), is to be proved by whoever knows the keys, and then
/// [`open`](LogOpening::open) signs on.
#[derive(Debug)]
pub struct LogOpening {
    judgement: Judgement,
    lock: File,
}

impl LogOpening {
    /// Looks at the log of `dir`, of which `genesis` is or will be the first line.
    ///
    /// # Errors
    /// When the system refuses, [`LogError::Held`] when another writer has the directory,
    /// [`LogError::WentBack`] when the log lacks a line that the home remembers,
    /// [`LogError::Appended`] when it has more than its last writer left, and [`LogError::Broken`] when
    /// chain or checkpoints contradict the lines.
    pub fn look(
        dir: &Path,
        genesis: &Entry,
        custody: impl Into<Custody>,
    ) -> Result<Self, LogError> {
        Self::look_on(Disk::default(), dir, genesis, Some(custody.into()))
    }

    pub(crate) fn look_on(
        mut disk: Disk,
        dir: &Path,
        genesis: &Entry,
        custody: Option<Custody>,
    ) -> Result<Self, LogError> {
        let Entry::Genesis(own) = genesis else {
            return Err(LogError::NotGenesis(genesis.kind()));
        };
        let readers = custody.as_ref().and_then(|custody| custody.readers);
        if let Some(readers) = readers {
            disk.share(dir, readers);
        }
        make_dir(&disk, dir)?;
        // Check the folders before reading anything: where others may write, they could exchange a file after it was
        // judged and before this agent adds to it.
        refuse_open_folders(dir)?;
        // Take the lock before looking at the files: otherwise half a line of another writer that is still at work
        // would be taken for torn and cut off.
        let lock = lock_dir(&disk, dir)?;
        readers.map_or(Ok(()), |readers| readers.admit(dir))?;
        let found = FoundEnd::look(&disk, dir)?;
        let mut judgement = Judgement::of(disk, dir, found);
        if let Some(custody) = custody {
            judgement.by(&own.agent, custody)?;
        }
        Ok(Self { judgement, lock })
    }

    /// The number of the last line that this home vouches for.
    #[must_use]
    pub fn trusted(&self) -> u64 {
        self.judgement.trusted
    }

    /// The number of the last line that stays; 0 when the log has none.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.last().map_or(0, |head| head.seq)
    }

    /// The last line that stays.
    #[must_use]
    pub fn last(&self) -> Option<Head> {
        self.judgement.found.end.as_ref().map(|end| end.tip.head())
    }

    /// The newest line that the log lost, when a person accepts that.
    #[must_use]
    pub fn loss(&self) -> Option<Head> {
        self.judgement.loss
    }

    /// Whether the anchor is gone, of a log that had one; it is made anew.
    #[must_use]
    pub fn lacks_anchor(&self) -> bool {
        self.judgement.lacks_anchor
    }

    /// The lines of the newest month that were not read, where its custody is to read them later.
    #[must_use]
    pub fn unread(&self) -> Option<UnreadMonth> {
        let checkpoints = self.judgement.checkpoints.as_ref();
        checkpoints.and_then(Checkpoints::unread).cloned()
    }

    /// Every line that stays, in order. Those that were not read are read now: they are held against their tree on the way, as
    /// [`UnreadMonth::inspect`] does it, and the last of them is given once they hold.
    ///
    /// # Errors
    /// When the directory cannot be read, or the log ends before them.
    pub fn lines(
        &self,
    ) -> Result<impl Iterator<Item = Result<LogLine, LogError>> + use<>, LogError> {
        let (dir, end) = (&self.judgement.dir, self.end());
        let unread = self.unread();
        if unread
            .as_ref()
            .is_some_and(|unread| unread.last().seq > end)
        {
            return Err(broken(dir, "it ends before lines that its tree has"));
        }
        let lines = read_checking(dir, unread)?;
        Ok(lines.take(usize::try_from(end).unwrap_or(usize::MAX)))
    }

    /// Mends what a crash left, and goes on in the log; makes it if there is none.
    ///
    /// # Errors
    /// As for [`Log::open_with`].
    pub fn open(self, now: Timestamp, genesis: &Entry) -> Result<Log, LogError> {
        Log::resume_from(self.judgement, self.lock, now, genesis)
    }
}

impl Log {
    /// Opens the log of `dir` for appending, and makes it if there is none: then `genesis` is its
    /// first line.
    ///
    /// A torn tail is moved into a file of its own (`inter-agent-YYYY-MM.torn-<seq>`) and a
    /// `recovery` line names it; a rollover that a crash interrupted is finished. Only the end of
    /// the newest file is read, and that file is written anew, since what the system has of it in
    /// memory need not be on the disk.
    ///
    /// No checkpoints are made, and nothing remembers the log's end: the chain alone proves it.
    /// [`Log::open_with`] makes them.
    ///
    /// # Errors
    /// When the system refuses, [`LogError::Held`] when another writer has the directory, or
    /// [`LogError::Broken`] when the chain does not hold before its last
    /// line, which is never repaired.
    pub fn open(dir: &Path, now: Timestamp, genesis: &Entry) -> Result<Self, LogError> {
        LogOpening::look_on(Disk::default(), dir, genesis, None)?.open(now, genesis)
    }

    /// As [`Log::open`], and makes checkpoints with the keys of `custody`: one at once when lines stand
    /// behind the last, then when [`checkpoint`](Log::checkpoint) is called, with a person's decision,
    /// and at each rollover. A month that was begun without a key stays without.
    ///
    /// The newest file and its checkpoints are read whole, and must fit, but for what [`Custody::reading_later`] leaves
    /// for later; so must what the anchor of `custody` says. Lines behind the anchored one are taken as they are: who knows the keys proves
    /// them between [`LogOpening::look`] and [`LogOpening::open`].
    ///
    /// # Errors
    /// As for [`LogOpening::look`], and [`LogError::OpenKey`] when others may use the key.
    pub fn open_with(
        dir: &Path,
        now: Timestamp,
        genesis: &Entry,
        custody: impl Into<Custody>,
    ) -> Result<Self, LogError> {
        LogOpening::look(dir, genesis, custody)?.open(now, genesis)
    }

    /// Either on a disk of which `faults` decides what fails: for tests.
    ///
    /// # Errors
    /// As for [`Log::open_with`], and what `faults` says.
    #[doc(hidden)]
    pub fn open_on(
        faults: Arc<dyn Faults>,
        dir: &Path,
        now: Timestamp,
        genesis: &Entry,
        custody: Option<Custody>,
    ) -> Result<Self, LogError> {
        LogOpening::look_on(Disk::with(faults), dir, genesis, custody)?.open(now, genesis)
    }
}
