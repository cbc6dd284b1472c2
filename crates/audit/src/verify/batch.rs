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

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of each batch of a file, and its bytes and cost.
    fn batches(line: &str, count: usize) -> Vec<(usize, u64, usize)> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("month");
        std::fs::write(&path, format!("{line}\n").repeat(count)).unwrap();
        let mut lines = RawLines::open(&path).unwrap();
        let (mut found, mut is_over, mut place) = (Vec::new(), false, 0);
        while !is_over {
            let (batch, end) = take_batch(&mut lines).unwrap();
            for line in &batch.lines {
                place += 1;
                assert_eq!(line.place, place);
            }
            found.push((batch.lines.len(), batch.read, batch.cost));
            is_over = end.is_some();
        }
        found
    }

    #[test]
    fn however_long_a_file_is_a_batch_costs_little_more_than_64_kib() {
        let usual = "x".repeat(1023);
        let full = (61, 61 * 1024, 61 * (1023 + 64));
        let last = (17, 17 * 1024, 17 * (1023 + 64));
        assert_eq!(batches(&usual, 200), [full, full, full, last]);
        // An empty line counts as 64 bytes: otherwise a file of empty lines would go into one batch and fill the memory.
        let full = (1024, 1024, 64 * 1024);
        assert_eq!(batches("", 2050), [full, full, (2, 2, 128)]);
        // A line that is too long is not kept in memory: it counts as an empty one.
        let long = "x".repeat(crate::record::MAX_LINE + 1);
        assert_eq!(batches(&long, 2), [(2, 0, 128)]);
    }
}
