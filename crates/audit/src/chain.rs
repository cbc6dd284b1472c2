//! The chain: each line carries the hash of the line before.

use signet_proto::entry::LineVersion;
use signet_proto::ids::Digest;
use signet_proto::time::Timestamp;

use crate::record::Frame;

/// The last line of a log that is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Its number.
    pub seq: u64,
    /// SHA-256 of its raw bytes without the newline.
    pub hash: Digest,
}

/// A place in a log, behind a line: where a reader can go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The name of the month's file.
    pub file: String,
    /// Behind the line and its newline, in bytes.
    pub offset: u64,
    /// The line.
    pub head: Head,
}

/// The end of a chain: all that the next line depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tip {
    pub(crate) version: LineVersion,
    pub(crate) seq: u64,
    pub(crate) hash: Digest,
    pub(crate) ts: Timestamp,
}

impl Tip {
    /// Before the first line: its `seq` is 1 and its `prev` 64 zeros.
    pub(crate) const NONE: Self = Self {
        version: LineVersion::V1,
        seq: 0,
        hash: Digest([0; 32]),
        ts: Timestamp::from_millis(0),
    };

    /// The end that a line makes.
    pub(crate) fn of(frame: &Frame, raw: &[u8]) -> Self {
        Self {
            version: frame.version,
            seq: frame.seq,
            hash: Digest::of(&[raw]),
            ts: frame.ts,
        }
    }

    /// Why `frame` cannot be the next line, if so.
    pub(crate) fn misfit(&self, frame: &Frame) -> Option<&'static str> {
        if self.seq.checked_add(1) != Some(frame.seq) {
            Some("`seq` is not one more than the line before has")
        } else if frame.prev != self.hash {
            Some("`prev` is not the SHA-256 of the line before")
        } else if frame.ts < self.ts {
            Some("`ts` is earlier than the line before has")
        } else if frame.version < self.version {
            Some("`v` is lower than the line before has")
        } else {
            None
        }
    }

    pub(crate) fn head(&self) -> Head {
        Head {
            seq: self.seq,
            hash: self.hash,
        }
    }
}
