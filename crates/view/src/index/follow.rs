//! Follows one log: what is newest first, then what stands before it, then what is added.
//!
//! ```text
//! first   ……………………………………………………[ newest piece ]      one page's worth of lines, shown at once
//! then    …………………[ piece ][ piece ][ …          ]      backwards, each held against the hash that the next one names
//! always                                        ]+++   what was added, read on from the last line
//! ```

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use signet_audit::{Head, LogError, LogLine, LogPosition, read, read_from};
use signet_proto::ids::Digest;

use super::batch::IndexBatch;
use super::kept::{forget, put_low, put_top};
use super::names::Names;
use super::place::{behind_line, months, name_of};
use super::reading::{Low, ReadingPlace};
use super::store::IndexStore;
use crate::ViewError;

/// One log and how far it is read.
pub(super) struct LogFollower {
    log: i64,
    dir: PathBuf,
    top: Option<LogPosition>,
    low: Option<Low>,
    is_whole: bool,
    /// The newest file and its length when it was last read to its end.
    seen: Option<(PathBuf, u64)>,
    /// Bytes of one piece.
    piece: u64,
}

/// The outcome of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FollowStep {
    /// It read lines; there may be more.
    Read,
    /// There is nothing to read now.
    Idle,
}

impl LogFollower {
    /// Goes on where the index stands, or begins.
    pub(super) fn open(db: &Connection, dir: &Path) -> rusqlite::Result<Self> {
        let name = dir.to_string_lossy();
        db.execute(
            "INSERT INTO log (dir) VALUES (?1) ON CONFLICT DO NOTHING",
            [&name],
        )?;
        let sql = "SELECT id, top_file, top_offset, top_seq, top_hash, low_file, low_offset, low_seq, low_prev, whole
                   FROM log WHERE dir = ?1";
        db.query_row(sql, [&name], |row| {
            let top: Option<String> = row.get(1)?;
            let top = match top {
                Some(file) => Some(LogPosition {
                    file,
                    offset: row.get::<_, i64>(2)?.cast_unsigned(),
                    head: Head {
                        seq: row.get::<_, i64>(3)?.cast_unsigned(),
                        hash: Digest(row.get(4)?),
                    },
                }),
                None => None,
            };
            let low: Option<String> = row.get(5)?;
            let low = match low {
                Some(file) => Some(Low {
                    file,
                    offset: row.get::<_, i64>(6)?.cast_unsigned(),
                    seq: row.get::<_, i64>(7)?.cast_unsigned(),
                    prev: Digest(row.get(8)?),
                }),
                None => None,
            };
            Ok(Self {
                log: row.get(0)?,
                dir: dir.to_owned(),
                top,
                low,
                is_whole: row.get(9)?,
                seen: None,
                piece: PIECE,
            })
        })
    }

    /// Reads what was added, or else the piece before the oldest line that was read.
    pub(super) fn step(
        &mut self,
        store: &IndexStore,
        db: &mut Connection,
        names: &mut Names,
    ) -> Result<FollowStep, ViewError> {
        let files = months(&self.dir)?;
        let Some(newest) = files.last() else {
            return Ok(FollowStep::Idle);
        };
        let length = newest.metadata().map_or(0, |facts| facts.len());
        let seen = Some((newest.clone(), length));
        if self.seen != seen {
            let step = self.newest(store, db, names, &files)?;
            if step == FollowStep::Read {
                return Ok(step);
            }
            self.seen = seen;
        }
        if self.is_whole {
            return Ok(FollowStep::Idle);
        }
        self.older(store, db, names, &files)
    }

    /// Reads from the last line on, at most one piece.
    fn newest(
        &mut self,
        store: &IndexStore,
        db: &mut Connection,
        names: &mut Names,
        files: &[PathBuf],
    ) -> Result<FollowStep, ViewError> {
        let Some(top) = self.top.clone() else {
            return self.begin(store, db, names, files);
        };
        let lines = read_from(&self.dir, &top).map_err(|fault| self.unread(fault))?;
        let Some(lines) = lines else {
            return self.anew(store, db, names);
        };
        let mut cursor = ReadingPlace::at(files, &top.file, top.offset);
        let (batch, last) = match self.gather(lines, &mut cursor, None) {
            Ok(read) => read,
            Err(LogError::Broken { .. }) if self.is_rewritten(&top)? => {
                return self.anew(store, db, names);
            }
            Err(fault) => return Err(self.unread(fault)),
        };
        let Some(last) = last else {
            return Ok(FollowStep::Idle);
        };
        let top = cursor.position(&last);
        self.write(
            store,
            db,
            names,
            batch,
            Some((&top, last.ts.as_millis())),
            None,
            false,
        )?;
        self.top = Some(top);
        Ok(FollowStep::Read)
    }

    /// Whether the line at a place is another one, or none.
    fn is_rewritten(&self, top: &LogPosition) -> Result<bool, ViewError> {
        let found = behind_line(&self.dir.join(&top.file), top.offset)?;
        Ok(found.as_ref() != Some(top))
    }

    /// Reads the newest piece of a log of which nothing is read yet.
    fn begin(
        &mut self,
        store: &IndexStore,
        db: &mut Connection,
        names: &mut Names,
        files: &[PathBuf],
    ) -> Result<FollowStep, ViewError> {
        let Some(newest) = files.last() else {
            return Ok(FollowStep::Idle);
        };
        let length = newest.metadata().map_or(0, |facts| facts.len());
        let start = match length > FIRST {
            true => behind_line(newest, length - FIRST)?,
            false => None,
        };
        let (mut cursor, read) = match start {
            Some(place) => match self.behind(files, &place, None)? {
                Some(piece) => piece,
                None => return Ok(FollowStep::Idle),
            },
            None => self.month(files, files.len() - 1, None)?,
        };
        let (batch, last) = read.map_err(|fault| self.unread(fault))?;
        let (Some(last), Some(low)) = (last, cursor.first.take()) else {
            return Ok(FollowStep::Idle);
        };
        let top = cursor.position(&last);
        let is_whole = cursor.is_first_of_all(&low);
        self.write(
            store,
            db,
            names,
            batch,
            Some((&top, last.ts.as_millis())),
            Some(&low),
            is_whole,
        )?;
        (self.top, self.low, self.is_whole) = (Some(top), Some(low), is_whole);
        Ok(FollowStep::Read)
    }

    /// Reads a month from its first line on.
    fn month(
        &self,
        files: &[PathBuf],
        index: usize,
        end: Option<u64>,
    ) -> Result<GatheredPiece, ViewError> {
        let before = index.checked_sub(1).and_then(|before| files.get(before));
        let place = match before {
            Some(path) => {
                let length = path.metadata().map_or(0, |facts| facts.len());
                behind_line(path, length)?
            }
            None => None,
        };
        let Some(place) = place else {
            let lines = read(&self.dir).map_err(|fault| self.unread(fault))?;
            let name = files.first().map(|path| name_of(path)).unwrap_or_default();
            let mut cursor = ReadingPlace::at(files, &name, 0);
            let read = self.gather(lines, &mut cursor, end);
            return Ok((cursor, read));
        };
        let piece = self.behind(files, &place, end)?;
        let nothing = || {
            let cursor = ReadingPlace::at(files, &place.file, place.offset);
            (cursor, Ok((IndexBatch::new(self.log), None)))
        };
        Ok(piece.unwrap_or_else(nothing))
    }

    /// Reads what stands behind a place; `None` where the log has no such place any more.
    fn behind(
        &self,
        files: &[PathBuf],
        place: &LogPosition,
        end: Option<u64>,
    ) -> Result<Option<GatheredPiece>, ViewError> {
        let lines = read_from(&self.dir, place).map_err(|fault| self.unread(fault))?;
        Ok(lines.map(|lines| {
            let mut cursor = ReadingPlace::at(files, &place.file, place.offset);
            let read = self.gather(lines, &mut cursor, end);
            (cursor, read)
        }))
    }

    /// Reads the piece before the oldest line that was read.
    fn older(
        &mut self,
        store: &IndexStore,
        db: &mut Connection,
        names: &mut Names,
        files: &[PathBuf],
    ) -> Result<FollowStep, ViewError> {
        let Some(low) = self.low.clone() else {
            return Ok(FollowStep::Idle);
        };
        let index = files.iter().position(|path| name_of(path) == low.file);
        let Some(index) = index else {
            return self.anew(store, db, names);
        };
        // Where the month is read from its beginning, go on in the month before.
        let (index, end) = match (low.offset, index.checked_sub(1)) {
            (0, None) => return self.finish(store, db, names),
            (0, Some(before)) => {
                let length = files.get(before).and_then(|path| path.metadata().ok());
                (before, length.map_or(0, |facts| facts.len()))
            }
            (offset, _) => (index, offset),
        };
        let Some(path) = files.get(index) else {
            return Ok(FollowStep::Idle);
        };
        let start = match end > self.piece {
            true => behind_line(path, end - self.piece)?,
            false => None,
        };
        let (mut cursor, read) = match start {
            Some(place) => match self.behind(files, &place, Some(end))? {
                Some(piece) => piece,
                None => return Ok(FollowStep::Idle),
            },
            None => self.month(files, index, Some(end))?,
        };
        let (batch, last) = read.map_err(|fault| self.unread(fault))?;
        let (Some(last), Some(first)) = (last, cursor.first.take()) else {
            return self.finish(store, db, names);
        };
        // The oldest line read so far names the hash of the line before it. If this piece ends with another line, the
        // log was written anew meanwhile.
        if last.hash != low.prev {
            return self.anew(store, db, names);
        }
        let is_whole = cursor.is_first_of_all(&first);
        self.write(store, db, names, batch, None, Some(&first), is_whole)?;
        (self.low, self.is_whole) = (Some(first), is_whole);
        Ok(FollowStep::Read)
    }

    fn gather(
        &self,
        lines: impl Iterator<Item = Result<LogLine, LogError>>,
        cursor: &mut ReadingPlace,
        end: Option<u64>,
    ) -> Result<Gathered, LogError> {
        let (mut batch, mut last) = (IndexBatch::new(self.log), None);
        let mut bytes = 0;
        for line in lines {
            let line = line?;
            let offset = cursor.pass(&line);
            batch.take(&line, &cursor.file, offset);
            bytes += line.raw.len() as u64 + 1;
            last = Some(line);
            let is_over = match end {
                Some(end) => cursor.offset >= end,
                None => bytes >= self.piece || batch.len() >= MOST_LINES,
            };
            if is_over {
                break;
            }
        }
        Ok((batch, last))
    }

    #[allow(clippy::too_many_arguments)]
    fn write(
        &self,
        store: &IndexStore,
        db: &mut Connection,
        names: &mut Names,
        batch: IndexBatch,
        top: Option<(&LogPosition, i64)>,
        low: Option<&Low>,
        is_whole: bool,
    ) -> Result<(), ViewError> {
        let log = self.log;
        let written = batch.write(db, names, |turn| {
            if let Some((top, at)) = top {
                put_top(turn, log, top, at)?;
            }
            match low {
                Some(low) => put_low(turn, log, low, is_whole),
                None => Ok(()),
            }
        });
        written.map_err(|source| {
            names.clear();
            store.fault(source)
        })
    }

    /// Marks that nothing older is left to read.
    fn finish(
        &mut self,
        store: &IndexStore,
        db: &mut Connection,
        _: &mut Names,
    ) -> Result<FollowStep, ViewError> {
        self.is_whole = true;
        let done = db.execute("UPDATE log SET whole = 1 WHERE id = ?1", [self.log]);
        done.map_err(|source| store.fault(source))?;
        Ok(FollowStep::Read)
    }

    /// Forgets all that the index has of this log: it is another one now.
    fn anew(
        &mut self,
        store: &IndexStore,
        db: &mut Connection,
        names: &mut Names,
    ) -> Result<FollowStep, ViewError> {
        names.clear();
        let forgotten = forget(db, self.log);
        forgotten.map_err(|source| store.fault(source))?;
        (self.top, self.low, self.is_whole, self.seen) = (None, None, false, None);
        Ok(FollowStep::Read)
    }

    fn unread(&self, source: LogError) -> ViewError {
        ViewError::Log {
            path: self.dir.clone(),
            source,
        }
    }
}

/// Lines that were read, and the last of them.
type Gathered = (IndexBatch, Option<LogLine>);
/// A piece of a log, and how far it was read.
type GatheredPiece = (ReadingPlace, Result<Gathered, LogError>);

/// In bytes: what is read at first, so that the first page stands within the first second.
const FIRST: u64 = 2 * 1024 * 1024;
/// In bytes: what is read at once later.
const PIECE: u64 = 8 * 1024 * 1024;
/// The most lines of one transaction, where they are short.
const MOST_LINES: usize = 20_000;
