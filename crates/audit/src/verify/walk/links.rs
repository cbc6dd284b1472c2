//! The links of a file: blocks of lines, hashed while others are read, and followed in their order.

use std::path::Path;

use signet_proto::ids::Digest;
use signet_proto::time::Timestamp;

use super::Walk;
use super::place::OTHER_MONTH;
use crate::chain::{Head, Tip};
use crate::error::LogError;
use crate::read::RawLines;
use crate::verify::block::{Blocks, HashedBlock, HashedLine, LineBlock, hash_block};
use crate::verify::parallel;
use crate::verify::prove::prove;

impl Walk<'_, '_> {
    /// Proves the links of `file` from its beginning up to the end of its whole lines, or up to a line that is longer than a
    /// log writes; gives the reader of what is left.
    pub(super) fn read_links(&mut self, file: &Path) -> Result<RawLines, LogError> {
        let mut blocks = Blocks::open(file)?;
        let mut number = 0;
        parallel::in_order(
            |block| blocks.next(block),
            hash_block,
            |hashed| self.follow_block(hashed, &mut number),
        )?;
        RawLines::open_behind(file, blocks.offset, number)
    }

    fn follow_block(
        &mut self,
        hashed: HashedBlock,
        number: &mut u64,
    ) -> Result<LineBlock, LogError> {
        for line in hashed.lines {
            *number += 1;
            match line {
                HashedLine::Linked { hash, leaf, ts } => {
                    self.follow_linked(*number, hash, leaf, ts)?;
                }
                HashedLine::Alone(mut line) => {
                    line.place = *number;
                    let followed = self.follow(*line)?;
                    let (line, proof) = prove(followed, &self.tables);
                    self.conclude(line, proof);
                }
            }
        }
        self.progress.advance(hashed.block.0.len() as u64);
        Ok(hashed.block)
    }

    /// Follows a line that was found to go on from the one before it in its file.
    fn follow_linked(
        &mut self,
        place: u64,
        hash: Digest,
        leaf: Digest,
        ts: Timestamp,
    ) -> Result<(), LogError> {
        // A linked line is one that was found to follow the line before it in its file, so `tip` is never empty here.
        let Some(tip) = &mut self.tip else {
            return Ok(());
        };
        let (version, seq) = (tip.version, tip.seq + 1);
        *tip = Tip {
            version,
            seq,
            hash,
            ts,
        };
        // `before`, the kind of the line before, is only compared with `open`, `close` and other marks. A linked line
        // is none of these, so an empty text is enough.
        self.before = Some(String::new());
        if let Some(testimony) = &mut self.testimony {
            testimony.lines.push(hash);
        }
        let head = Head { seq, hash };
        let in_month = self.lies_in_month(ts);
        let contradicted = self
            .month
            .follow(leaf, "", Some(head), self.authority.me())?;
        if !in_month {
            self.fault(place, Some(seq), OTHER_MONTH);
        }
        if let Some(what) = contradicted {
            self.fault(place, Some(seq), &what);
        }
        self.count(Some(head));
        Ok(())
    }
}
