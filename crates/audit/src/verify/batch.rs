//! The lines of a file in batches: as many at a time as every core can be given, and no more in memory.

use super::parallel;
use crate::error::LogError;
use crate::read::{RawLine, RawLines};

/// A line, and where in its file it stands, from 1.
pub(super) struct NumberedLine {
    pub(super) place: u64,
    /// `None` when it was too long to be read.
    pub(super) bytes: Option<Vec<u8>>,
}

/// The next lines of a file, and what ends them when the file does.
pub(super) fn take_batch(
    lines: &mut RawLines,
) -> Result<(Vec<NumberedLine>, Option<RawLine>), LogError> {
    let (mut batch, mut bytes) = (Vec::new(), 0);
    let most = BATCH * parallel::workers();
    while bytes < most {
        let bytes_of_line = match lines.next_line()? {
            RawLine::Whole(line) => {
                bytes += line.len();
                Some(line)
            }
            RawLine::TooLong => None,
            end => return Ok((batch, Some(end))),
        };
        bytes += LEAST;
        batch.push(NumberedLine {
            place: lines.number,
            bytes: bytes_of_line,
        });
    }
    Ok((batch, None))
}

/// Bytes that are read for each core before they are proven.
const BATCH: usize = 512 * 1024;
/// What a line costs at least, in bytes.
const LEAST: usize = 64;
