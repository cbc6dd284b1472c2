//! The lines that somebody wants of a log, read on every core and given in their order.

use std::path::{Path, PathBuf};

use signet_json::JsonError;
use signet_proto::time::Timestamp;

use crate::error::{LogError, RecordError, unread};
use crate::frame::LineFrame;
use crate::read::{RawLine, RawLines};
use crate::record::LogLine;
use crate::verify::{in_order, log_files};

/// Gives `take` each line of the log at `path` that is wanted, by when it was written and its kind, or what is wrong with it. Other
/// lines are passed over by their frame alone, without reading the rest of them; a line whose frame is no log's is read. Whether the
/// lines fit together is not looked at.
///
/// # Errors
/// When a file cannot be read, or with the first error of `take`.
pub fn for_each_wanted(
    path: &Path,
    is_wanted: impl Fn(Timestamp, &str) -> bool,
    mut take: impl FnMut(Result<LogLine, LogError>) -> Result<(), LogError>,
) -> Result<(), LogError> {
    let mut reading = WantedReading {
        files: log_files(path)?.into_iter(),
        lines: None,
    };
    in_order(
        |()| reading.next_chunk(&is_wanted),
        WantedChunk::parse,
        |lines| lines.into_iter().try_for_each(&mut take),
    )
}

/// A place in the files of a log.
struct WantedReading {
    files: std::vec::IntoIter<PathBuf>,
    lines: Option<RawLines>,
}

/// Raw lines of one file, each with its number; `None` for one that is too long.
struct WantedChunk {
    path: PathBuf,
    lines: Vec<(u64, Option<Vec<u8>>)>,
}

impl WantedReading {
    /// The next lines that are wanted; `None` behind the last file.
    fn next_chunk(
        &mut self,
        is_wanted: &impl Fn(Timestamp, &str) -> bool,
    ) -> Result<Option<WantedChunk>, LogError> {
        loop {
            let Some(raw) = &mut self.lines else {
                let Some(path) = self.files.next() else {
                    return Ok(None);
                };
                self.lines = Some(RawLines::open(&path)?);
                continue;
            };
            let mut lines = Vec::with_capacity(CHUNK);
            let mut is_over = false;
            while lines.len() < CHUNK && !is_over {
                match raw.next_line()? {
                    RawLine::Whole(line) => {
                        let is_other = |frame: LineFrame| !is_wanted(frame.ts, &frame.kind);
                        if !LineFrame::scan(&line).is_ok_and(is_other) {
                            lines.push((raw.number, Some(line)));
                        }
                    }
                    RawLine::TooLong => lines.push((raw.number, None)),
                    RawLine::Torn(_) | RawLine::End => is_over = true,
                }
            }
            let path = raw.path.clone();
            if is_over {
                self.lines = None;
            }
            if !lines.is_empty() {
                return Ok(Some(WantedChunk { path, lines }));
            }
        }
    }
}

impl WantedChunk {
    fn parse(self) -> Vec<Result<LogLine, LogError>> {
        let too_long = || RecordError::Json(JsonError::TooLarge);
        let lines = self.lines.into_iter().map(|(number, raw)| {
            let line = raw.ok_or_else(too_long).and_then(LogLine::parse);
            line.map_err(|source| unread(&self.path, number, source))
        });
        lines.collect()
    }
}

/// Lines that one core reads before the next ones are handed out.
const CHUNK: usize = 512;
