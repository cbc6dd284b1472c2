//! Every line of a log in order, with the memory of one line.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use crate::chain::Tip;
use crate::error::{LogError, at, broken};
use crate::file::months;
use crate::record::{Frame, Line, MAX_LINE, RecordError};

/// Every line of a log directory in order.
///
/// The chain is followed on the way: the first line that does not fit ends the reading with
/// [`LogError::Broken`]. Bytes after the last newline are not a line yet.
///
/// # Errors
/// When the directory cannot be read.
pub fn read(dir: &Path) -> Result<impl Iterator<Item = Result<Line, LogError>> + use<>, LogError> {
    Ok(Chained {
        files: months(dir)?.into(),
        lines: None,
        tip: None,
        is_over: false,
    })
}

/// The lines of one file, whether they fit together or not.
///
/// # Errors
/// When the file cannot be opened.
pub fn read_file(path: &Path) -> Result<Lines, LogError> {
    Ok(Lines {
        raw: RawLines::open(path)?,
    })
}

/// See [`read_file`]. At the end it may be asked again: when the file has grown, it goes on.
#[derive(Debug)]
pub struct Lines {
    raw: RawLines,
}

impl Iterator for Lines {
    type Item = Result<Line, LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.raw.next_line() {
            Ok(RawLine::Whole(raw)) => {
                Some(Line::parse(raw).map_err(|source| self.raw.fault(source)))
            }
            Ok(RawLine::TooLong) => Some(Err(self.raw.too_long())),
            Ok(RawLine::Torn(_) | RawLine::End) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

struct Chained {
    files: VecDeque<PathBuf>,
    lines: Option<Lines>,
    tip: Option<Tip>,
    is_over: bool,
}

impl Iterator for Chained {
    type Item = Result<Line, LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let next = self.advance().transpose();
        self.is_over = !matches!(next, Some(Ok(_)));
        next
    }
}

impl Chained {
    fn advance(&mut self) -> Result<Option<Line>, LogError> {
        loop {
            let next = self.lines.as_mut().and_then(Iterator::next);
            if let Some(line) = next.transpose()? {
                return self.follow(line).map(Some);
            }
            let Some(path) = self.files.pop_front() else {
                return Ok(None);
            };
            self.lines = Some(read_file(&path)?);
        }
    }

    fn follow(&mut self, line: Line) -> Result<Line, LogError> {
        let frame = Frame {
            seq: line.seq,
            ts: line.ts,
            prev: line.prev,
            kind: String::new(),
        };
        // A log whose first months were archived starts with a line whose `prev` nothing here proves.
        let before = self.tip.or((line.seq == 1).then_some(Tip::NONE));
        if let (Some(what), Some(lines)) = (before.and_then(|tip| tip.misfit(&frame)), &self.lines)
        {
            let what = format!("line {}: {what}", lines.raw.number);
            return Err(broken(&lines.raw.path, &what));
        }
        self.tip = Some(Tip {
            seq: line.seq,
            hash: line.hash,
            ts: line.ts,
        });
        Ok(line)
    }
}

/// The raw lines of one file.
#[derive(Debug)]
pub(crate) struct RawLines {
    pub(crate) path: PathBuf,
    /// Of the line read last, from 1.
    pub(crate) number: u64,
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
    /// That many bytes after the last newline.
    Torn(u64),
    /// Nothing.
    End,
}

impl RawLines {
    pub(crate) fn open(path: &Path) -> Result<Self, LogError> {
        let file = File::open(path).map_err(at(path))?;
        Ok(Self {
            path: path.to_owned(),
            number: 0,
            read: 0,
            input: BufReader::with_capacity(BUFFER, file),
        })
    }

    /// The next line; at the end it may be asked again, when the file has grown.
    pub(crate) fn next_line(&mut self) -> Result<RawLine, LogError> {
        let mut raw = Vec::new();
        let mut limited = (&mut self.input).take(MAX_LINE as u64 + 1);
        limited
            .read_until(b'\n', &mut raw)
            .map_err(at(&self.path))?;
        let length = raw.len();
        Ok(match raw.pop() {
            None => RawLine::End,
            Some(b'\n') => {
                self.number += 1;
                self.read += length as u64;
                RawLine::Whole(raw)
            }
            Some(_) if length <= MAX_LINE => {
                let back = i64::try_from(length).unwrap_or(0);
                self.input.seek_relative(-back).map_err(at(&self.path))?;
                RawLine::Torn(length as u64)
            }
            Some(_) => {
                self.number += 1;
                self.skip_line()?;
                RawLine::TooLong
            }
        })
    }

    fn skip_line(&mut self) -> Result<(), LogError> {
        self.input
            .skip_until(b'\n')
            .map(drop)
            .map_err(at(&self.path))
    }

    pub(crate) fn fault(&self, source: RecordError) -> LogError {
        LogError::Record {
            file: self.path.clone(),
            line: self.number,
            source,
        }
    }

    fn too_long(&self) -> LogError {
        self.fault(RecordError::Json(signet_proto::json::JsonError::TooLarge))
    }
}

const BUFFER: usize = 64 * 1024;
