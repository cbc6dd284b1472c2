//! Where a log ends: looked for from the back, so that a start costs the same however long it is.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use crate::chain::{LogPosition, Tip};
use crate::disk::Disk;
use crate::error::{LogError, RecordError, at, broken, unread};
use crate::file::month_of;
use crate::frame::LineFrame;
use crate::record::{MAX_LINE, Mark};

/// The end of one file.
#[derive(Debug)]
pub(crate) struct FileTail {
    /// Bytes from here on are torn.
    pub(crate) end: u64,
    /// The last sound line; `None` when there is none.
    pub(crate) last: Option<(Tip, String)>,
}

/// Finds the last sound line of `path`. Only what follows it may be torn: no newline, or one last
/// line that does not parse.
///
/// # Errors
/// [`LogError::Broken`] when the last whole line does not fit what stands before it.
pub(crate) fn examine(
    disk: &Disk,
    path: &Path,
    previous: Option<&PathBuf>,
) -> Result<FileTail, LogError> {
    let ends = TailEnds::open(disk, path)?;
    let whole = ends.after_last_newline()?;
    for is_retry in [false, true] {
        let end = if is_retry {
            ends.start_of_line(whole)?.ok_or(TailFault::Long)
        } else {
            Ok(whole)
        };
        let end = end.map_err(|fault| broken(path, fault.text()))?;
        if end == 0 {
            return Ok(FileTail { end, last: None });
        }
        match ends.line(end, previous)? {
            Ok((tip, kind)) => {
                return Ok(FileTail {
                    end,
                    last: Some((tip, kind)),
                });
            }
            // A whole line that does not fit to the line before it was not torn by a crash: somebody changed the file.
            Err(fault @ TailFault::Unfit) => return Err(broken(path, fault.text())),
            Err(fault) if is_retry => return Err(broken(path, fault.text())),
            Err(_) => {}
        }
    }
    Err(broken(path, TailFault::Unfit.text()))
}

/// The last line of a file that ends with its newline, and its kind.
pub(crate) fn last_line(disk: &Disk, path: &Path) -> Result<Option<(Tip, String)>, LogError> {
    let ends = TailEnds::open(disk, path)?;
    if ends.len == 0 || ends.bytes(ends.len - 1, ends.len)? != b"\n" {
        return Ok(None);
    }
    Ok(match ends.before(ends.len)? {
        Before::Line(tip, kind) => Some((tip, kind)),
        Before::Nothing | Before::Garbage => None,
    })
}

/// Whether the log in `dir` has that very line at that place.
pub(crate) fn holds_line(
    disk: &Disk,
    dir: &Path,
    position: &LogPosition,
) -> Result<bool, LogError> {
    // A position with line number 0 is the empty log. Every log was empty at first, so there is no line to look for.
    if position.head.seq == 0 {
        return Ok(true);
    }
    let path = dir.join(&position.file);
    if month_of(Path::new(&position.file)).is_none() || !path.is_file() {
        return Ok(false);
    }
    let ends = TailEnds::open(disk, &path)?;
    Ok(line_ending(&ends, position.offset)?.is_some_and(|tip| tip.head() == position.head))
}

/// The line that ends right before `offset`; `None` when none does.
pub(crate) fn line_before(path: &Path, offset: u64) -> Result<Option<Tip>, LogError> {
    let disk = Disk::default();
    line_ending(&TailEnds::open(&disk, path)?, offset)
}

fn line_ending(ends: &TailEnds<'_>, offset: u64) -> Result<Option<Tip>, LogError> {
    if offset == 0 || offset > ends.len || ends.bytes(offset - 1, offset)? != b"\n" {
        return Ok(None);
    }
    Ok(match ends.before(offset)? {
        Before::Line(tip, _) => Some(tip),
        Before::Nothing | Before::Garbage => None,
    })
}

enum TailFault {
    Long,
    Unreadable,
    Unfit,
}

impl TailFault {
    fn text(&self) -> &'static str {
        match self {
            Self::Long => "a line near the end is longer than 2 MiB",
            Self::Unreadable => "a line before the last cannot be read",
            Self::Unfit => "the last line does not fit the line before it",
        }
    }
}

struct TailEnds<'a> {
    disk: &'a Disk,
    path: &'a Path,
    file: File,
    len: u64,
}

impl<'a> TailEnds<'a> {
    fn open(disk: &'a Disk, path: &'a Path) -> Result<Self, LogError> {
        let file = disk.open(path, File::options().read(true));
        let file = file.map_err(at(path))?;
        let len = file.metadata().map_err(at(path))?.len();
        Ok(Self {
            disk,
            path,
            file,
            len,
        })
    }

    /// The line that ends before `end`, if it parses and fits what stands before it.
    fn line(
        &self,
        end: u64,
        previous: Option<&PathBuf>,
    ) -> Result<Result<(Tip, String), TailFault>, LogError> {
        let Some((start, raw)) = self.line_ending_at(end)? else {
            return Ok(Err(TailFault::Long));
        };
        let Some(frame) = self.frame(&raw)? else {
            return Ok(Err(TailFault::Unreadable));
        };
        let fits = match (self.before(start)?, previous) {
            // A line of kind `open` can only be the first of a file: if a line precedes it, somebody inserted it.
            (Before::Line(tip, _), _) => tip.misfit(&frame).is_none() && frame.kind != Mark::OPEN,
            // The first file may begin with a line of kind `open`, if earlier months were archived. If the home knows a
            // month that is missing, `months::look` refuses.
            (Before::Nothing, None) => {
                frame.kind == Mark::OPEN || Tip::NONE.misfit(&frame).is_none()
            }
            (Before::Nothing, Some(previous)) => continues(self.disk, &frame, previous)?,
            (Before::Garbage, _) => false,
        };
        Ok(if fits {
            Ok((Tip::of(&frame, &raw), frame.kind))
        } else {
            Err(TailFault::Unfit)
        })
    }

    fn before(&self, start: u64) -> Result<Before, LogError> {
        if start == 0 {
            return Ok(Before::Nothing);
        }
        let Some((_, raw)) = self.line_ending_at(start)? else {
            return Ok(Before::Garbage);
        };
        Ok(match self.frame(&raw)? {
            Some(frame) => Before::Line(Tip::of(&frame, &raw), frame.kind),
            None => Before::Garbage,
        })
    }

    /// The frame of a line; `None` where the bytes are no line. A line of a newer version is an error of its own:
    /// this release cannot read it, but must not cut it off as torn.
    fn frame(&self, raw: &[u8]) -> Result<Option<LineFrame>, LogError> {
        match LineFrame::parse(raw) {
            Ok((frame, _)) => Ok(Some(frame)),
            Err(newer @ RecordError::Newer(_)) => Err(unread(self.path, 0, newer)),
            Err(_) => Ok(None),
        }
    }

    /// The offset after the last newline; 0 if there is none.
    fn after_last_newline(&self) -> Result<u64, LogError> {
        let mut end = self.len;
        while end > 0 {
            let start = end.saturating_sub(CHUNK);
            let chunk = self.bytes(start, end)?;
            if let Some(place) = chunk.iter().rposition(|byte| *byte == b'\n') {
                return Ok(start + place as u64 + 1);
            }
            end = start;
        }
        Ok(0)
    }

    fn start_of_line(&self, end: u64) -> Result<Option<u64>, LogError> {
        if end == 0 {
            return Ok(Some(0));
        }
        Ok(self.line_ending_at(end)?.map(|(start, _)| start))
    }

    /// The line whose newline stands at `end - 1`, and where it starts; `None` when it is too long.
    fn line_ending_at(&self, end: u64) -> Result<Option<(u64, Vec<u8>)>, LogError> {
        let newline = end.saturating_sub(1);
        let mut reach = CHUNK;
        loop {
            let from = newline.saturating_sub(reach);
            let mut bytes = self.bytes(from, newline)?;
            if let Some(place) = bytes.iter().rposition(|byte| *byte == b'\n') {
                let line = bytes.split_off(place + 1);
                return Ok(Some((from + place as u64 + 1, line)));
            }
            if from == 0 {
                return Ok(Some((0, bytes)));
            }
            // Give up beyond the longest line: if somebody removed the line feeds of a file, the whole file would be
            // read into memory.
            if reach > MAX_LINE as u64 {
                return Ok(None);
            }
            reach *= 8;
        }
    }

    fn bytes(&self, start: u64, end: u64) -> Result<Vec<u8>, LogError> {
        let mut bytes = vec![0; usize::try_from(end.saturating_sub(start)).unwrap_or(0)];
        self.file
            .read_exact_at(&mut bytes, start)
            .map_err(at(self.path))?;
        Ok(bytes)
    }
}

enum Before {
    Line(Tip, String),
    Nothing,
    Garbage,
}

/// Whether `frame` opens the file after `previous`, which must be closed.
fn continues(disk: &Disk, frame: &LineFrame, previous: &Path) -> Result<bool, LogError> {
    let ends = TailEnds::open(disk, previous)?;
    let end = ends.after_last_newline()?;
    Ok(match ends.before(end)? {
        // A finished month ends with `close` and its line feed. A crash leaves no bytes after them, so somebody else
        // added such bytes.
        Before::Line(tip, kind) if end == ends.len => {
            kind == Mark::CLOSE && frame.kind == Mark::OPEN && tip.misfit(frame).is_none()
        }
        Before::Line(..) | Before::Nothing | Before::Garbage => false,
    })
}

/// Read at once from the back; most lines are shorter.
const CHUNK: u64 = 16 * 1024;
