//! The lines of a file in batches: few enough that every core has some, and that they are in memory at the same time.

use crate::error::LogError;
use crate::read::{RawLine, RawLines};

/// A line, and where in its file it stands, from 1.
pub(super) struct NumberedLine {
    pub(super) place: u64,
    /// `None` when it was too long to be read.
    pub(super) bytes: Option<Vec<u8>>,
}

/// Lines that are worked on together.
pub(super) struct LineBatch {
    pub(super) lines: Vec<NumberedLine>,
    /// The cost of these lines, in bytes of memory: each costs a little beside its own bytes.
    pub(super) cost: usize,
    /// The bytes of whole lines, with their newlines.
    pub(super) read: u64,
}

/// The next lines of a file, and what ends them when the file does.
pub(super) fn take_batch(lines: &mut RawLines) -> Result<(LineBatch, Option<RawLine>), LogError> {
    let mut batch = LineBatch {
        lines: Vec::new(),
        cost: 0,
        read: 0,
    };
    let mut end = None;
    while batch.cost < BATCH {
        let bytes = match lines.next_line()? {
            RawLine::Whole(line) => Some(line),
            RawLine::TooLong => None,
            other => {
                end = Some(other);
                break;
            }
        };
        batch.cost += LEAST + bytes.as_ref().map_or(0, Vec::len);
        batch.lines.push(NumberedLine {
            place: lines.number,
            bytes,
        });
    }
    batch.read = std::mem::take(&mut lines.read);
    Ok((batch, end))
}

/// Bytes that are read before they are given to a core: some fifty lines, so that waking a thread for them costs nothing
/// beside the work.
const BATCH: usize = 64 * 1024;
/// What a line costs at least, in bytes.
const LEAST: usize = 64;
