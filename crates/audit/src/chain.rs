//! The chain: each line carries the hash of the line before.

use signet_proto::entry::LineVersion;
use signet_proto::ids::Digest;
use signet_proto::time::Timestamp;

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
pub struct LogPosition {
    /// The name of the month's file.
    pub file: String,
    /// The offset in the file at which the line, with its newline, ends; in bytes.
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

    pub(crate) fn head(&self) -> Head {
        Head {
            seq: self.seq,
            hash: self.hash,
        }
    }
}
