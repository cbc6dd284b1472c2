//! Where a reading of a log is: lines do not say in which file they stand.

use std::path::PathBuf;

use signet_audit::{Head, LogLine, LogPosition};
use signet_proto::ids::Digest;

use super::place::name_of;

/// Goes from line to line, and from file to file.
pub(super) struct ReadingPlace {
    files: Vec<String>,
    pub(super) file: String,
    pub(super) offset: u64,
    pub(super) first: Option<Low>,
}

impl ReadingPlace {
    pub(super) fn at(files: &[PathBuf], file: &str, offset: u64) -> Self {
        Self {
            files: files.iter().map(|path| name_of(path)).collect(),
            file: file.to_owned(),
            offset,
            first: None,
        }
    }

    /// Goes behind a line, and says where it begins.
    pub(super) fn pass(&mut self, line: &LogLine) -> u64 {
        // `open` is the first line of every file but the first, and stands nowhere else.
        if line.kind == OPEN && self.offset > 0 {
            let here = self.files.iter().position(|name| *name == self.file);
            let next = here.and_then(|here| self.files.get(here + 1));
            self.file = next.cloned().unwrap_or_default();
            self.offset = 0;
        }
        let begin = self.offset;
        self.offset += line.raw.len() as u64 + 1;
        self.first.get_or_insert_with(|| Low {
            file: self.file.clone(),
            offset: begin,
            seq: line.seq,
            prev: line.prev,
        });
        begin
    }

    pub(super) fn position(&self, last: &LogLine) -> LogPosition {
        LogPosition {
            file: self.file.clone(),
            offset: self.offset,
            head: Head {
                seq: last.seq,
                hash: last.hash,
            },
        }
    }

    pub(super) fn is_first_of_all(&self, low: &Low) -> bool {
        low.offset == 0 && self.files.first().is_none_or(|first| *first == low.file)
    }
}

/// Where the oldest line that was read begins.
#[derive(Clone, Debug)]
pub(super) struct Low {
    pub(super) file: String,
    pub(super) offset: u64,
    pub(super) seq: u64,
    /// The hash that it names of the line before.
    pub(super) prev: Digest,
}

/// The kind of the line with which every file but the first begins.
const OPEN: &str = "open";
