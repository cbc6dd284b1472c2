//! Every line of a log in order, with the memory of one line.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::chain::{LogPosition, Tip};
use crate::error::{LogError, RecordError, at, broken, unread};
use crate::file::months;
use crate::merkle;
use crate::plain;
use crate::record::{LogLine, MAX_LINE};
use crate::tail::line_before;
use crate::unread::{TreeCheck, UnreadMonth};
use signet_proto::ids::Digest;

/// Every line of a log directory in order.
///
/// The chain is followed on the way: the first line that does not fit ends the reading with
/// [`LogError::Broken`]. Bytes after the last newline are not a line yet.
///
/// # Errors
/// When the directory cannot be read.
pub fn read(
    dir: &Path,
) -> Result<impl Iterator<Item = Result<LogLine, LogError>> + use<>, LogError> {
    Chained::over(dir, None)
}

/// As [`read`], and the lines of `unread` are held against their tree on the way, as [`UnreadMonth::inspect`] does it: each is
/// read once for both.
pub(crate) fn read_checking(dir: &Path, unread: Option<UnreadMonth>) -> Result<Chained, LogError> {
    Chained::over(dir, unread.map(TreeCheck::of).transpose()?)
}

/// The lines behind a place in the log, or `None` when the log has no such line there: then it is
/// another log, or a shorter one.
///
/// # Errors
/// When the directory cannot be read.
pub fn read_from(
    dir: &Path,
    position: &LogPosition,
) -> Result<Option<impl Iterator<Item = Result<LogLine, LogError>> + use<>>, LogError> {
    let mut files: VecDeque<_> = months(dir)?.into();
    let named = |path: &PathBuf| path.file_name().is_some_and(|name| *name == *position.file);
    let Some(at) = files.iter().position(named) else {
        return Ok(None);
    };
    let later = files.split_off(at + 1);
    let (Some(path), Some(tip)) = (files.pop_back(), tip_at(dir, position)?) else {
        return Ok(None);
    };
    let raw = RawLines::open_at(&path, position.offset)?;
    Ok(Some(Chained {
        files: later,
        lines: Some(LogLines { raw }),
        tip: Some(tip),
        check: None,
        checks: false,
        is_over: false,
    }))
}

fn tip_at(dir: &Path, position: &LogPosition) -> Result<Option<Tip>, LogError> {
    let tip = line_before(&dir.join(&position.file), position.offset)?;
    Ok(tip.filter(|tip| tip.head() == position.head))
}

/// The lines of one file, whether they fit together or not.
///
/// # Errors
/// When the file cannot be opened.
pub fn read_file(path: &Path) -> Result<LogLines, LogError> {
    Ok(LogLines {
        raw: RawLines::open(path)?,
    })
}

/// See [`read_file`]. At the end it may be asked again: when the file has grown, it goes on.
#[derive(Debug)]
pub struct LogLines {
    raw: RawLines,
}

impl Iterator for LogLines {
    type Item = Result<LogLine, LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_by(LogLine::parse)
    }
}

impl LogLines {
    fn next_by(
        &mut self,
        parse: impl FnOnce(Vec<u8>) -> Result<LogLine, RecordError>,
    ) -> Option<Result<LogLine, LogError>> {
        let next = self.raw.next_line();
        let next = match next {
            Ok(RawLine::Torn(_) | RawLine::End) => self.raw.next_in_copy(),
            next => next,
        };
        match next {
            Ok(RawLine::Whole(raw)) => Some(parse(raw).map_err(|source| self.raw.fault(source))),
            Ok(RawLine::TooLong) => Some(Err(self.raw.too_long())),
            Ok(RawLine::Torn(_) | RawLine::End) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

/// Lines whose chain is followed.
pub(crate) struct Chained {
    files: VecDeque<PathBuf>,
    lines: Option<LogLines>,
    tip: Option<Tip>,
    /// Of the lines of a month that are held against their tree; none behind the last of them.
    check: Option<TreeCheck>,
    /// Whether the next line is one of these.
    checks: bool,
    is_over: bool,
}

impl Iterator for Chained {
    type Item = Result<LogLine, LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let next = self.advance().transpose();
        // After a fault give nothing more: the chain is broken there, so no later line can be proven.
        self.is_over = !matches!(next, Some(Ok(_)));
        next
    }
}

impl Chained {
    fn over(dir: &Path, check: Option<TreeCheck>) -> Result<Self, LogError> {
        Ok(Self {
            files: months(dir)?.into(),
            lines: None,
            tip: None,
            check,
            checks: false,
            is_over: false,
        })
    }

    fn advance(&mut self) -> Result<Option<LogLine>, LogError> {
        loop {
            if let Some(line) = self.next_line()? {
                return Ok(Some(line));
            }
            let Some(path) = self.files.pop_front() else {
                // A check that is not over yet lacks lines of its month, which the tree shows.
                let check = self.check.take();
                return check.map_or(Ok(()), TreeCheck::end).map(|()| None);
            };
            let lines = read_file(&path)?;
            let check = self.check.as_ref();
            self.checks =
                check.is_some_and(|it| it.path() == path && it.goes_beyond(lines.raw.offset));
            self.lines = Some(lines);
        }
    }

    /// The next line of the file that is read.
    fn next_line(&mut self) -> Result<Option<LogLine>, LogError> {
        let Some(lines) = &mut self.lines else {
            return Ok(None);
        };
        let mut leaf = None;
        let next = match self.checks {
            false => lines.next(),
            true => lines.next_by(|raw| {
                let (hash, in_tree) = merkle::hash_and_leaf(&raw);
                leaf = Some(in_tree);
                LogLine::parse_hashed(raw, hash)
            }),
        };
        let Some(line) = next.transpose()? else {
            return Ok(None);
        };
        let line = self.follow(line)?;
        leaf.map_or(Ok(()), |leaf| self.hold(leaf))?;
        Ok(Some(line))
    }

    fn hold(&mut self, leaf: Digest) -> Result<(), LogError> {
        let (Some(check), Some(lines)) = (&mut self.check, &self.lines) else {
            return Ok(());
        };
        check.take(leaf)?;
        self.checks = check.goes_beyond(lines.raw.offset);
        match self.checks {
            true => Ok(()),
            false => self.check.take().map_or(Ok(()), TreeCheck::end),
        }
    }

    fn follow(&mut self, line: LogLine) -> Result<LogLine, LogError> {
        let frame = line.frame();
        // Of the lines that are read, the first is checked only if it is line 1: if the first months were archived, the line
        // that its `prev` names is not here.
        let before = self.tip.or((line.seq == 1).then_some(Tip::NONE));
        if let (Some(what), Some(lines)) = (before.and_then(|tip| tip.misfit(&frame)), &self.lines)
        {
            let what = format!("line {}: {what}", lines.raw.line_number());
            return Err(broken(&lines.raw.path, &what));
        }
        self.tip = Some(Tip::at(&frame, line.hash));
        Ok(line)
    }
}

/// The raw lines of one file.
#[derive(Debug)]
pub(crate) struct RawLines {
    pub(crate) path: PathBuf,
    /// The number of the line read last, counted from 1 at the place where the reading began.
    pub(crate) number: u64,
    /// Where the reading began.
    begin: u64,
    /// Where the line that was read last ends, with its newline.
    pub(crate) offset: u64,
    /// Bytes of lines read since the reader last set it to 0.
    pub(crate) read: u64,
    input: BufReader<File>,
}

/// What stands next in a file.
pub(crate) enum RawLine {
    /// A line, without its newline.
    Whole(Vec<u8>),
    /// A line over [`MAX_LINE`], skipped.
    TooLong,
    /// The file ends in that many bytes without a newline: a line that was not written whole.
    Torn(u64),
    /// The file ends here.
    End,
}

impl RawLines {
    /// From `offset` on, where a line begins; it is counted as the first.
    pub(crate) fn open_at(path: &Path, offset: u64) -> Result<Self, LogError> {
        let mut lines = Self::open(path)?;
        lines.begin = offset;
        let moved = lines.input.seek(SeekFrom::Start(offset));
        moved.map_err(at(path))?;
        lines.offset = offset;
        Ok(lines)
    }

    /// From `offset` on, behind line `number` of the file.
    pub(crate) fn open_behind(path: &Path, offset: u64, number: u64) -> Result<Self, LogError> {
        let mut lines = Self::open_at(path, offset)?;
        (lines.begin, lines.number) = (0, number);
        Ok(lines)
    }

    pub(crate) fn open(path: &Path) -> Result<Self, LogError> {
        let file = plain::read(path).map_err(at(path))?;
        Ok(Self {
            path: path.to_owned(),
            number: 0,
            begin: 0,
            offset: 0,
            read: 0,
            input: BufReader::with_capacity(BUFFER, file),
        })
    }

    /// The next line; at the end it may be asked again, when the file has grown.
    pub(crate) fn next_line(&mut self) -> Result<RawLine, LogError> {
        let mut raw = self.read_line().map_err(at(&self.path))?;
        let length = raw.len();
        self.offset += length as u64;
        Ok(match raw.pop() {
            None => RawLine::End,
            Some(b'\n') => {
                self.number += 1;
                self.read += length as u64;
                RawLine::Whole(raw)
            }
            Some(_) if length <= MAX_LINE => {
                // A writer may still be writing this line: go back, so that the next call reads the line from its beginning.
                let back = i64::try_from(length).unwrap_or(0);
                self.input.seek_relative(-back).map_err(at(&self.path))?;
                self.offset -= length as u64;
                RawLine::Torn(length as u64)
            }
            Some(_) => {
                self.number += 1;
                self.skip_line()?;
                RawLine::TooLong
            }
        })
    }

    /// Up to the next line feed, with that. As `read_until` of the library would, but for the search, which is ten times as
    /// fast, and the memory, which is no more than a line takes.
    fn read_line(&mut self) -> io::Result<Vec<u8>> {
        let mut raw = Vec::new();
        // Read at most the longest line and its line feed: a file without line feeds would otherwise be read into memory whole.
        while let room @ 1.. = MAX_LINE + 1 - raw.len() {
            let buffer = match self.input.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                buffer => buffer?,
            };
            let buffer = buffer.get(..room).unwrap_or(buffer);
            let end = memchr::memchr(b'\n', buffer);
            let taken = buffer.get(..=end.unwrap_or(usize::MAX)).unwrap_or(buffer);
            raw.extend_from_slice(taken);
            let length = taken.len();
            self.input.consume(length);
            if end.is_some() || length == 0 {
                break;
            }
        }
        Ok(raw)
    }

    fn skip_line(&mut self) -> Result<(), LogError> {
        let skipped = self.input.skip_until(b'\n').map_err(at(&self.path))?;
        self.offset += skipped as u64;
        Ok(())
    }

    /// The next line of the file that stands at the path now: a writer that starts after a crash may have put a fresh
    /// copy into the place of the one that is open here.
    fn next_in_copy(&mut self) -> Result<RawLine, LogError> {
        let Ok(named) = std::fs::metadata(&self.path) else {
            return Ok(RawLine::End);
        };
        let open = self.input.get_ref().metadata().map_err(at(&self.path))?;
        if (named.dev(), named.ino()) == (open.dev(), open.ino()) || named.len() <= self.offset {
            return Ok(RawLine::End);
        }
        let mut file = plain::read(&self.path).map_err(at(&self.path))?;
        file.seek(SeekFrom::Start(self.offset))
            .map_err(at(&self.path))?;
        self.input = BufReader::with_capacity(BUFFER, file);
        self.next_line()
    }

    pub(crate) fn fault(&self, source: RecordError) -> LogError {
        unread(&self.path, self.line_number(), source)
    }

    /// The line read last as an editor counts it. Only a fault needs that, so the lines before the reading
    /// began are counted then.
    fn line_number(&self) -> u64 {
        let before = File::open(&self.path).map(|file| {
            let before = BufReader::with_capacity(BUFFER, file.take(self.begin));
            before.split(b'\n').map_while(Result::ok).count()
        });
        // If the file cannot be opened any more, take the lines before this reading for none: the number is then too low, and
        // the fault is reported all the same.
        let before = before.unwrap_or_default();
        self.number
            .saturating_add(u64::try_from(before).unwrap_or_default())
    }

    fn too_long(&self) -> LogError {
        self.fault(RecordError::Json(signet_json::JsonError::TooLarge))
    }
}

const BUFFER: usize = 64 * 1024;
