//! Places in a log's files: where a line ends before some offset, so that reading can begin near the end of a long log.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use signet_audit::{Head, LogLine, LogPosition, MAX_LINE, log_files};
use signet_proto::ids::Digest;

use crate::ViewError;
use crate::fault::at;

/// The files of one log, oldest first.
///
/// # Errors
/// When the folder cannot be read, or has no log.
pub(super) fn months(dir: &Path) -> Result<Vec<PathBuf>, ViewError> {
    log_files(dir).map_err(|source| ViewError::Log {
        path: dir.to_owned(),
        source,
    })
}

/// The name of a month's file, without its folder.
pub(super) fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// The place behind the last whole line that ends at `upto` or before it; `None` where no line of a log ends there.
///
/// # Errors
/// When the file cannot be read.
pub(super) fn behind_line(path: &Path, upto: u64) -> Result<Option<LogPosition>, ViewError> {
    let file = File::open(path).map_err(at(path))?;
    let found = line_ending(&file, upto).map_err(at(path))?;
    Ok(found.and_then(|(raw, offset)| {
        let line = LogLine::parse(raw).ok()?;
        Some(LogPosition {
            file: name_of(path),
            offset,
            head: Head {
                seq: line.seq,
                hash: line.hash,
            },
        })
    }))
}

/// The last whole line that ends at `upto` or before it, without its line feed, and where it ends.
fn line_ending(file: &File, upto: u64) -> io::Result<Option<(Vec<u8>, u64)>> {
    let reach = (2 * (MAX_LINE as u64 + 1)).min(upto);
    let from = upto - reach;
    let mut window = vec![0; usize::try_from(reach).unwrap_or_default()];
    file.read_exact_at(&mut window, from)?;
    let Some(end) = window.iter().rposition(|byte| *byte == b'\n') else {
        return Ok(None);
    };
    window.truncate(end);
    let begin = window.iter().rposition(|byte| *byte == b'\n');
    // No line feed stands before this line, so it has to begin where the file begins. Otherwise it is longer than a
    // line of a log may be.
    if begin.is_none() && from > 0 {
        return Ok(None);
    }
    let raw = window.split_off(begin.map_or(0, |begin| begin + 1));
    Ok(Some((raw, from + end as u64 + 1)))
}

/// The number that the index keeps of a line's hash.
pub(crate) fn short(hash: &Digest) -> i64 {
    let bytes = hash.as_bytes();
    bytes
        .iter()
        .take(8)
        .fold(0, |sum: i64, byte| sum << 8 | i64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> PathBuf {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../audit/sample/agent-alice-001");
        months(&root).unwrap().pop().unwrap()
    }

    #[test]
    fn every_offset_of_a_log_finds_the_line_that_ends_at_it_or_before_it() {
        let path = sample();
        let bytes = std::fs::read(&path).unwrap();
        let mut ends: Vec<(u64, u64)> = Vec::new();
        for (index, byte) in bytes.iter().enumerate() {
            if *byte == b'\n' {
                ends.push((index as u64 + 1, ends.len() as u64 + 1));
            }
        }
        for offset in (0..=bytes.len() as u64)
            .step_by(97)
            .chain([bytes.len() as u64])
        {
            let wanted = ends.iter().rev().find(|(end, _)| *end <= offset);
            let found = behind_line(&path, offset).unwrap();
            let found = found.map(|place| (place.offset, place.head.seq));
            assert_eq!(found, wanted.copied(), "{offset}");
        }
    }

    #[test]
    fn where_no_line_of_a_log_ends_there_is_no_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("inter-agent-2026-01.jsonl");
        for junk in ["", "no line", "{}\n", "\n\n"] {
            std::fs::write(&path, junk).unwrap();
            let found = behind_line(&path, junk.len() as u64).unwrap();
            assert_eq!(found, None, "{junk:?}");
        }
    }
}
