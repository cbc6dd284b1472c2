//! What one line says of itself, whatever stands before it: done on every core.

use signet_proto::entry::{Entry, TaskChange};
use signet_proto::ids::Digest;
use signet_proto::keys::VerifyKey;

use super::Depth;
use super::agreement::forged_member;
use super::batch::NumberedLine;
use crate::error::RecordError;
use crate::frame::LineFrame;
use crate::merkle;
use crate::record::{LogLine, Mark};

/// What one line shows without the lines around it.
pub(super) struct Examined {
    pub(super) place: u64,
    pub(super) hash: Digest,
    /// Its hash in the tree of its month.
    pub(super) leaf: Digest,
    pub(super) read: Result<LineContent, UnreadLine>,
}

/// Why a line cannot be read.
pub(super) enum UnreadLine {
    /// The line is over 2 MiB.
    TooLong,
    /// The line is none of a log, or of a newer signet.
    Record(RecordError),
}

/// A line that can be read.
pub(super) struct LineContent {
    pub(super) frame: LineFrame,
    pub(super) entry: Option<Entry>,
    pub(super) mark: Option<Mark>,
    pub(super) checkpoint_key: Option<VerifyKey>,
    pub(super) faults: Vec<String>,
}

/// Looks at one line.
pub(super) fn examine(raw: NumberedLine, depth: Depth) -> Examined {
    let Some(bytes) = raw.bytes else {
        return Examined {
            place: raw.place,
            // A line over 2 MiB is never held in memory, so it has no hash. No line hashes to zeros, so the next line
            // does not fit either.
            hash: Digest([0; 32]),
            leaf: Digest([0; 32]),
            read: Err(UnreadLine::TooLong),
        };
    };
    let (hash, leaf) = merkle::hash_and_leaf(&bytes);
    Examined {
        place: raw.place,
        hash,
        leaf,
        read: read(bytes, hash, depth).map_err(UnreadLine::Record),
    }
}

fn read(bytes: Vec<u8>, hash: Digest, depth: Depth) -> Result<LineContent, RecordError> {
    if depth == Depth::Links {
        let frame = LineFrame::scan(&bytes)?;
        if !Mark::ALL.contains(&frame.kind.as_str()) {
            return Ok(LineContent {
                frame,
                entry: None,
                mark: None,
                checkpoint_key: None,
                faults: Vec::new(),
            });
        }
    }
    let line = match LogLine::parse_written(bytes, hash) {
        // `parse_written` accepts only lines that are spelt as a log writes them and bear no mandates, so the two checks below
        // would find no fault.
        Ok(line) => return Ok(LineContent::of(line, Vec::new())),
        Err(bytes) => LogLine::parse_any(bytes, hash)?,
    };
    let mut faults: Vec<String> = forged_member(&line).into_iter().collect();
    faults.extend(broken_chain(&line).map(str::to_owned));
    Ok(LineContent::of(line, faults))
}

impl LineContent {
    fn of(line: LogLine, faults: Vec<String>) -> Self {
        Self {
            frame: line.frame().owned(),
            entry: line.entry,
            mark: line.mark,
            checkpoint_key: line.checkpoint_key,
            faults,
        }
    }
}

/// What is wrong with the chain of mandates in a line, if anything is. It needs no other line: every mandate and every
/// certificate of the chain is in it.
pub(crate) fn broken_chain(line: &LogLine) -> Option<&'static str> {
    let Some(Entry::Handoff(handoff)) = &line.entry else {
        return None;
    };
    let TaskChange::Offered(offered) = &handoff.change else {
        return None;
    };
    offered.chain.prove().is_err().then_some(
        "the chain of mandates does not hold: a signature or a link is wrong, or a step is wider than the one before",
    )
}
