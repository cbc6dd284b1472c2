//! Reads the lines that a start left unread, behind it.

use super::{TreeCheck, UnreadMonth};
use crate::error::LogError;
use crate::merkle;
use crate::read::{RawLine, RawLines};

impl UnreadMonth {
    /// Hashes the lines, and holds them against the tree of the anchor and every checkpoint that covers some of them: what
    /// a start does that reads the month at once. The log may be written meanwhile. After each piece `pace` gets its
    /// length, and says whether to go on. Returns whether all was read.
    ///
    /// # Errors
    /// [`LogError::Broken`] when one line is not what the agent wrote, or the system refuses.
    pub fn inspect(&self, mut pace: impl FnMut(u64) -> bool) -> Result<bool, LogError> {
        let mut check = TreeCheck::of(self.clone())?;
        let mut lines = RawLines::open(&self.path)?;
        while check.goes_beyond(lines.offset)
            && let RawLine::Whole(raw) = lines.next_line()?
        {
            check.take(merkle::leaf(&raw))?;
            if lines.read >= PIECE && !pace(std::mem::take(&mut lines.read)) {
                return Ok(false);
            }
        }
        check.end().map(|()| pace(lines.read))
    }
}

/// Bytes that are read before `pace` is asked whether to go on.
const PIECE: u64 = 1024 * 1024;
