//! Whole lines of a file, many at a time: hashed on every core, each held against the line before it by the bytes that a
//! log writes.

use std::fs::File;
use std::io::{BufRead as _, Read as _};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use signet_proto::entry::LineVersion;
use signet_proto::ids::Digest;
use signet_proto::time::Timestamp;

use super::Depth;
use super::batch::NumberedLine;
use super::examine::{Examined, examine};
use crate::error::{LogError, at};
use crate::frame::is_spelt;
use crate::merkle;
use crate::plain;
use crate::record::{MAX_LINE, Mark};

/// Reads a file from its beginning, as long as it is made of whole lines that are no longer than a log writes.
pub(super) struct Blocks {
    path: PathBuf,
    file: File,
    /// What was read behind the last whole line.
    rest: Vec<u8>,
    /// Where the last block ended.
    pub(super) offset: u64,
    /// Nothing is read any more, also when the file grows.
    is_over: bool,
}

/// Lines, each with its newline.
#[derive(Default)]
pub(super) struct LineBlock(pub(super) Vec<u8>);

/// A block whose lines are hashed.
pub(super) struct HashedBlock {
    pub(super) block: LineBlock,
    pub(super) lines: Vec<HashedLine>,
}

/// One of them.
pub(super) enum HashedLine {
    /// It goes on from the line before, as a log writes it, and is no mark: nothing else is to be known of it.
    Linked {
        hash: Digest,
        /// Its hash in the tree of its month.
        leaf: Digest,
        ts: Timestamp,
    },
    /// Any other line; its place is not known here.
    Alone(Box<Examined>),
}

impl Blocks {
    pub(super) fn open(path: &Path) -> Result<Self, LogError> {
        Ok(Self {
            path: path.to_owned(),
            file: plain::read(path).map_err(at(path))?,
            rest: Vec::new(),
            offset: 0,
            is_over: false,
        })
    }

    /// The next lines, in the room of a block that is done with; `None` where the file ends, or no line ends.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn next(&mut self, block: LineBlock) -> Result<Option<LineBlock>, LogError> {
        let LineBlock(mut bytes) = block;
        bytes.clear();
        bytes.append(&mut self.rest);
        while !self.is_over {
            let read = (&mut self.file).take(BLOCK).read_to_end(&mut bytes);
            let read = read.map_err(at(&self.path))?;
            if let Some(last) = bytes.iter().rposition(|byte| *byte == b'\n') {
                self.rest.extend(bytes.drain(last + 1..));
                self.offset += bytes.len() as u64;
                return Ok(Some(LineBlock(bytes)));
            }
            self.is_over = read == 0 || bytes.len() > MAX_LINE;
        }
        Ok(None)
    }
}

/// Hashes the lines of a block.
pub(super) fn hash_block(block: LineBlock) -> HashedBlock {
    let mut lines = Vec::with_capacity(block.0.len() / USUAL_LINE);
    let mut before: Option<LineBefore> = None;
    let mut rest = block.0.as_slice();
    while let Some(line) = next_line(&mut rest) {
        let linked = before.as_ref().and_then(|before| before.next(line));
        if let (Some(ts), Some(before)) = (linked, &mut before) {
            let (hash, leaf) = merkle::hash_and_leaf(line);
            before.advance(hash, ts, line);
            lines.push(HashedLine::Linked { hash, leaf, ts });
            continue;
        }
        let bytes = (line.len() <= MAX_LINE).then(|| line.to_vec());
        let alone = examine(NumberedLine { place: 0, bytes }, Depth::Links);
        before = LineBefore::of(&alone, line);
        lines.push(HashedLine::Alone(Box::new(alone)));
    }
    HashedBlock { block, lines }
}

/// The next line, without its newline.
fn next_line<'b>(rest: &mut &'b [u8]) -> Option<&'b [u8]> {
    let here = *rest;
    // `skip_until` searches many bytes at a time, which is fast, and cannot fail on bytes in memory.
    let length = rest.skip_until(b'\n').ok()?;
    here.get(..length.checked_sub(1)?)
}

/// The line before, as far as the frame of the next one depends on it.
struct LineBefore {
    version: LineVersion,
    seq: u64,
    hash: [u8; 64],
    ts: Timestamp,
    /// The time as the line spells it: many lines are of the same millisecond.
    spelt: [u8; SPELT],
}

impl LineBefore {
    /// `None` for a line behind which another has to be looked at alone.
    fn of(line: &Examined, raw: &[u8]) -> Option<Self> {
        let frame = &line.read.as_ref().ok()?.frame;
        let mut before = Self {
            version: frame.version,
            seq: frame.seq,
            hash: [0; 64],
            ts: frame.ts,
            spelt: [0; SPELT],
        };
        HEXLOWER.encode_mut(line.hash.as_bytes(), &mut before.hash);
        before.spelt = *digits(raw, frame.version)?.2.first_chunk()?;
        (frame.kind != Mark::CLOSE).then_some(before)
    }

    /// The time of `line`, if its frame is the one that a log writes behind this line, and it is no mark.
    fn next(&self, line: &[u8]) -> Option<Timestamp> {
        let (first, seq, rest) = digits(line, self.version)?;
        // No log writes a number with a leading zero, so this fast path does not take it: the line is then examined slowly, by
        // itself.
        if first == b'0' || seq.checked_sub(1)? != self.seq {
            return None;
        }
        let (spelt, rest) = rest.split_first_chunk::<SPELT>()?;
        let rest = rest.strip_prefix(b"\",\"prev\":\"")?;
        let rest = rest.strip_prefix(&self.hash)?;
        let rest = rest.strip_prefix(b"\",\"kind\":\"")?;
        let kind = rest.get(..rest.len().min(LONGEST_KIND))?;
        let kind = kind.get(..kind.iter().position(|byte| *byte == b'"')?)?;
        let is_plain = kind
            .iter()
            .all(|byte| byte.is_ascii_lowercase() || *byte == b'-');
        let is_mark = Mark::ALL.iter().any(|mark| mark.as_bytes() == kind);
        let is_whole = line.last() == Some(&b'}') && line.len() <= MAX_LINE;
        if !is_plain || is_mark || !is_whole {
            return None;
        }
        if *spelt == self.spelt {
            return Some(self.ts);
        }
        let text = std::str::from_utf8(spelt).ok()?;
        let ts = text.parse().ok().filter(|ts| *ts >= self.ts)?;
        is_spelt(text).then_some(ts)
    }

    fn advance(&mut self, hash: Digest, ts: Timestamp, line: &[u8]) {
        self.seq += 1;
        self.ts = ts;
        HEXLOWER.encode_mut(hash.as_bytes(), &mut self.hash);
        if let Some((_, _, rest)) = digits(line, self.version)
            && let Some(spelt) = rest.first_chunk()
        {
            self.spelt = *spelt;
        }
    }
}

/// The first digit of the number of `line`, the number, and what stands behind it from the time on.
fn digits(line: &[u8], version: LineVersion) -> Option<(u8, u64, &[u8])> {
    let begin: &[u8] = match version {
        LineVersion::V1 => b"{\"v\":1,\"seq\":",
        LineVersion::V2 => b"{\"v\":2,\"seq\":",
    };
    let rest = line.strip_prefix(begin)?;
    let length = rest
        .iter()
        .take(LONGEST_NUMBER)
        .position(|byte| !byte.is_ascii_digit())?;
    let (number, rest) = rest.split_at_checked(length)?;
    let seq = number
        .iter()
        .fold(0, |seq, digit| 10 * seq + u64::from(digit - b'0'));
    Some((*number.first()?, seq, rest.strip_prefix(b",\"ts\":\"")?))
}

/// In bytes, of a block: less than what several cores have near them, and far more than a line.
const BLOCK: u64 = 512 * 1024;
/// In bytes: what a line is expected to have.
const USUAL_LINE: usize = 512;
/// In bytes: no number of a line is as long, and none overflows.
const LONGEST_NUMBER: usize = 19;
/// In bytes: how a log spells a time.
const SPELT: usize = 24;
/// In bytes: every kind is shorter.
const LONGEST_KIND: usize = 64;

#[cfg(test)]
mod tests {
    use std::io::{Seek as _, Write as _};

    use super::*;

    const EARLY: &str = "2026-02-08T17:00:00.000Z";
    const LATER: &str = "2026-02-08T17:00:00.001Z";

    /// A line as a log writes it behind `before`.
    fn line(seq: u64, ts: &str, before: &str, kind: &str) -> String {
        let prev = Digest::of(&[before.as_bytes()]).to_hex();
        format!(
            "{{\"v\":2,\"seq\":{seq},\"ts\":\"{ts}\",\"prev\":\"{prev}\",\"kind\":\"{kind}\",\"cause\":\"x\"}}"
        )
    }

    fn hashed(lines: &[&str]) -> Vec<HashedLine> {
        let text: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
        hash_block(LineBlock(text.into_bytes())).lines
    }

    /// The time of each line that was found to go on from the one before it.
    fn linked(lines: &[&str]) -> Vec<Option<Timestamp>> {
        let time = |line| match line {
            HashedLine::Linked { ts, .. } => Some(ts),
            HashedLine::Alone(_) => None,
        };
        hashed(lines).into_iter().map(time).collect()
    }

    #[test]
    fn of_what_a_log_wrote_only_the_first_line_of_a_block_is_looked_at_alone() {
        let mut lines = vec![line(98, EARLY, "", "gap")];
        for (seq, ts) in [(99, EARLY), (100, LATER), (101, LATER)] {
            let next = line(seq, ts, lines.last().unwrap(), "key-lost");
            lines.push(next);
        }
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let [early, later] = [EARLY, LATER].map(|ts| ts.parse().ok());
        assert_eq!(linked(&lines), [None, early, later, later]);
        for (line, found) in lines.iter().zip(hashed(&lines)).skip(1) {
            let HashedLine::Linked { hash, leaf, .. } = found else {
                panic!("{line}");
            };
            assert_eq!(hash, Digest::of(&[line.as_bytes()]));
            assert_eq!(leaf, merkle::leaf(line.as_bytes()));
        }
    }

    #[test]
    fn a_frame_that_a_log_does_not_write_behind_that_line_is_looked_at_alone() {
        let before = line(12, EARLY, "", "gap");
        let honest = line(13, LATER, &before, "gap");
        let is_linked = |line: &str| linked(&[&before, line])[1].is_some();
        assert!(is_linked(&honest));
        let prev = Digest::of(&[before.as_bytes()]).to_hex();
        let (other, long) = ("ab".repeat(32), format!("\"{}\"", "g".repeat(64)));
        let mut forgeries = vec![
            ("\"v\":2", "\"v\":1"),
            ("\"seq\":13", "\"seq\":12"),
            ("\"seq\":13", "\"seq\":14"),
            ("\"seq\":13", "\"seq\":013"),
            ("\"seq\":13", "\"seq\":1"),
            ("\"seq\":13", "\"seq\":\"13\""),
            // 2^64 + 13, which would pass for 13 if the reader overflowed.
            ("\"seq\":13", "\"seq\":18446744073709551629"),
            (",\"ts\":\"", ",\"ts\": \""),
            (LATER, "2026-02-08T16:59:59.999Z"),
            (LATER, "2026-02-30T17:00:00.001Z"),
            (&prev, &other),
            ("\"}", "\"} "),
            ("\"gap\"", "\"Gap\""),
            ("\"gap\"", "\"g4p\""),
            ("\"gap\"", "\"g_p\""),
            ("\"gap\"", &long),
        ];
        let marks = Mark::ALL.map(|mark| format!("\"{mark}\""));
        forgeries.extend(marks.iter().map(|mark| ("\"gap\"", mark.as_str())));
        for (from, to) in forgeries {
            let forged = honest.replacen(from, to, 1);
            assert_ne!(forged, honest, "{from}");
            assert!(!is_linked(&forged), "{forged}");
        }
    }

    #[test]
    fn behind_a_closed_file_and_behind_what_cannot_be_read_a_line_is_looked_at_alone() {
        let before = line(12, EARLY, "", "close");
        assert_eq!(
            linked(&[&before, &line(13, EARLY, &before, "gap")])[1],
            None
        );
        let garbage = "garbage";
        assert_eq!(linked(&[garbage, &line(1, EARLY, garbage, "gap")])[1], None);
    }

    #[test]
    fn the_longest_line_is_read_and_a_longer_one_is_not() {
        let before = line(12, EARLY, "", "gap");
        let short = line(13, EARLY, &before, "gap");
        let of_length = |length: usize| {
            let cause = format!("\"{}\"", "x".repeat(1 + length - short.len()));
            short.replacen("\"x\"", &cause, 1)
        };
        let longest = of_length(MAX_LINE);
        assert_eq!(longest.len(), MAX_LINE);
        assert!(linked(&[&before, &longest])[1].is_some());
        let found = hashed(&[&before, &of_length(MAX_LINE + 1)]).pop();
        let Some(HashedLine::Alone(alone)) = found else {
            panic!("it was taken for a line of a log");
        };
        assert!(alone.read.is_err());
    }

    #[test]
    fn blocks_end_with_their_last_whole_line_and_nothing_that_is_written_later_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("month");
        std::fs::write(&path, "one\ntwo\nthr").unwrap();
        let mut blocks = Blocks::open(&path).unwrap();
        let first = blocks.next(LineBlock::default()).unwrap().unwrap();
        assert_eq!((first.0.as_slice(), blocks.offset), (&b"one\ntwo\n"[..], 8));
        assert!(blocks.next(first).unwrap().is_none());
        let mut file = File::options().append(true).open(&path).unwrap();
        file.write_all(b"ee\n").unwrap();
        assert!(blocks.next(LineBlock::default()).unwrap().is_none());
        assert_eq!(blocks.offset, 8);
    }

    #[test]
    fn of_a_line_without_end_no_more_is_read_than_a_line_may_have() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("month");
        std::fs::write(&path, vec![b'x'; 2 * MAX_LINE]).unwrap();
        let mut blocks = Blocks::open(&path).unwrap();
        assert!(blocks.next(LineBlock::default()).unwrap().is_none());
        let read = blocks.file.stream_position().unwrap();
        assert_eq!((read, blocks.offset), (MAX_LINE as u64 + BLOCK, 0));
    }
}
