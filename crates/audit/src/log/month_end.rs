//! How a month of a log ends, and the next begins.

use std::path::PathBuf;

use signet_proto::time::Timestamp;

use super::Log;
use crate::checkpoint::checkpoints_of;
use crate::error::LogError;
use crate::file;
use crate::month_file::{MonthFile, give_back_old};
use crate::months::remember;
use crate::record::{Mark, write_checkpoint_key};

impl Log {
    /// `close` durable, its checkpoint durable, the new key, the new file, its name durable, `open` as its
    /// first line, durable, the first checkpoint; then the old key is destroyed. On a full disk it ends
    /// at any step, and goes on there when it is called again; so does a start after a crash.
    pub(super) fn roll_over(&mut self, ts: Timestamp) -> Result<(), LogError> {
        if !self.is_closed {
            let mut close = Vec::new();
            Mark::Close.write(&mut close);
            self.push(self.tip.ts, &close)?;
            self.is_closed = true;
        }
        self.commit()?;
        self.checkpoint()?;
        self.begin_month(ts.max(self.month_end))
    }

    fn begin_month(&mut self, ts: Timestamp) -> Result<(), LogError> {
        let previous = file::month_name(&self.month);
        let month = ts.month();
        let path = self.dir.join(file::month_name(&month));
        let hash = self.tip.hash;
        let mut members = Vec::new();
        Mark::Open { previous, hash }.write(&mut members);
        // Make the key durable before the month's file is made: its first line names the key, and without the key the
        // month could have no checkpoints.
        if let Some(checkpoints) = &mut self.checkpoints {
            let key = checkpoints.begin(&month, &path, self.is_guarded);
            write_checkpoint_key(&self.stop_unless_full(key)?, &mut members);
        }
        // Free the disk space reserved for the old month while its file is still open here: after it is replaced by the new
        // file, only the next start would free that space.
        let given_back = self
            .month_file
            .as_mut()
            .map_or(Ok(()), MonthFile::give_back);
        self.stop_unless_full(given_back)?;
        let month_file = MonthFile::create(&self.disk, path);
        self.month_file = Some(self.stop_unless_full(month_file)?);
        self.name_month(month);
        self.is_closed = false;
        self.push(ts, &members)?;
        if self.checkpoints.is_some() {
            self.is_unproven = true;
            self.prove_month()?;
        }
        let remembered = self.remember_months(false);
        self.stop_unless_full(remembered)
    }

    /// Covers the first line of a month by a checkpoint before another line follows: a month with more lines and no
    /// checkpoint is one whose checkpoints were taken away.
    pub(super) fn prove_month(&mut self) -> Result<(), LogError> {
        self.commit()?;
        self.checkpoint()?;
        // Destroy the old keys last: a start that finds only the new month's key concludes that the new month had its
        // first line. If a crash came before that line was on the disk, the start would refuse the log.
        if let Some(checkpoints) = &self.checkpoints {
            let destroyed = checkpoints.destroy_old_keys(&self.month);
            self.stop_unless_full(destroyed)?;
        }
        self.is_unproven = false;
        Ok(())
    }

    pub(super) fn name_month(&mut self, month: String) {
        self.month_end = first_of_next(&month);
        self.month = month;
    }

    /// Takes down the months that are finished. It only helps against the host's own hands, and may wait
    /// for room.
    pub(super) fn remember_months(&self, anew: bool) -> Result<(), LogError> {
        let Some(record) = &self.months else {
            return Ok(());
        };
        let newest = self.dir.join(file::month_name(&self.month));
        match remember(&self.disk, &self.dir, record, &newest, anew) {
            Err(LogError::Full(_)) => Ok(()),
            done => done,
        }
    }

    /// The months that are over need no room beyond their ends.
    pub(super) fn give_back_old(&self) -> Result<(), LogError> {
        let newest = self.dir.join(file::month_name(&self.month));
        let mut files = file::months(&self.dir)?;
        files.retain(|month| *month != newest);
        let notes: Vec<_> = files.iter().map(|month| checkpoints_of(month)).collect();
        give_back_old(&self.disk, files.iter().chain(&notes).map(PathBuf::as_path));
        Ok(())
    }
}

/// A file that is closed stays closed, also when the clock has gone back into its month.
fn first_of_next(month: &str) -> Timestamp {
    // A month's name is `YYYY-MM`, so it is split after five characters. Any other name, which cannot occur, gives an end that
    // is long past: the month of each line is then compared with the name, which is slower and still right.
    let (year, number) = month.split_at_checked(5).unwrap_or(("1970-", "01"));
    let next = match (
        year.trim_end_matches('-').parse::<u32>(),
        number.parse::<u32>(),
    ) {
        (Ok(year), Ok(12)) => format!("{}-01", year + 1),
        (Ok(year), Ok(number)) => format!("{year:04}-{:02}", number + 1),
        _ => month.to_owned(),
    };
    format!("{next}-01T00:00:00.000Z")
        .parse()
        .unwrap_or(Timestamp::from_millis(0))
}
