//! The frame of a line: the members that every line has, whatever its kind.

use signet_json::{Limits, Map, Value};
use signet_proto::entry::LineVersion;
use signet_proto::ids::Digest;
use signet_proto::time::Timestamp;

use crate::error::RecordError;

/// The members that every line has, whatever its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LineFrame<K = String> {
    pub(crate) version: LineVersion,
    pub(crate) seq: u64,
    pub(crate) ts: Timestamp,
    pub(crate) prev: Digest,
    pub(crate) kind: K,
}

impl<'l> LineFrame<&'l str> {
    /// Reads the frame, and gives the bytes behind it: those of the kind's own members, from their first comma on.
    pub(crate) fn split(raw: &'l [u8]) -> Result<(Self, &'l [u8]), RecordError> {
        let version = version_of(raw)?;
        Self::split_behind(version, raw).ok_or(RecordError::Spelling)
    }

    fn split_behind(version: LineVersion, raw: &'l [u8]) -> Option<(Self, &'l [u8])> {
        let start = raw.get(..raw.len().min(LONGEST_FRAME))?;
        // The cut at LONGEST_FRAME may split a character that comes after the frame: then read only the characters that are
        // whole.
        let start = std::str::from_utf8(start).or_else(|error| {
            std::str::from_utf8(start.get(..error.valid_up_to()).unwrap_or_default())
        });
        // `version_of` has read the version: whatever stands before the first comma is spelt as it should be.
        let start = start.ok()?;
        let (_, text) = start.split_once(',')?;
        let (seq, text) = text.strip_prefix("\"seq\":")?.split_once(',')?;
        let (ts, text) = text.strip_prefix("\"ts\":\"")?.split_once('"')?;
        let (prev, text) = text.strip_prefix(",\"prev\":\"")?.split_once('"')?;
        let (kind, text) = text.strip_prefix(",\"kind\":\"")?.split_once('"')?;
        let frame = Self {
            version,
            seq: seq.parse().ok()?,
            ts: ts.parse().ok()?,
            prev: Digest::from_hex(prev).ok()?,
            kind,
        };
        // Refuse `+7` and `07`, which `parse` accepts and no log writes. Demand the brace at the end as well: a line that a
        // crash tore may still have its whole frame.
        let is_whole = !seq.starts_with(['0', '+']) && is_spelt(ts) && raw.ends_with(b"}");
        let members = raw.get(start.len() - text.len()..)?;
        is_whole.then_some((frame, members))
    }

    /// The same, apart from the line.
    pub(crate) fn owned(self) -> LineFrame {
        LineFrame {
            version: self.version,
            seq: self.seq,
            ts: self.ts,
            prev: self.prev,
            kind: self.kind.to_owned(),
        }
    }
}

impl LineFrame {
    /// Reads the frame alone, and nothing behind it.
    pub(crate) fn scan(raw: &[u8]) -> Result<Self, RecordError> {
        LineFrame::split(raw).map(|(frame, _)| frame.owned())
    }

    /// Reads the frame and gives all members, the frame's among them.
    pub(crate) fn parse(raw: &[u8]) -> Result<(Self, Map<String, Value>), RecordError> {
        // Check the version first: a line of a newer version may not be JSON that this release can read.
        if let Err(newer @ RecordError::Newer(_)) = version_of(raw) {
            return Err(newer);
        }
        let Value::Object(members) = signet_json::parse(raw, Limits::LINE)? else {
            return Err(RecordError::Member("v"));
        };
        let version = members.get("v").and_then(Value::as_u64);
        let version = version.ok_or(RecordError::Member("v"))?;
        let version = LineVersion::of(version).ok_or(RecordError::Newer(version))?;
        let frame = Self {
            version,
            seq: members
                .get("seq")
                .and_then(Value::as_u64)
                .ok_or(RecordError::Member("seq"))?,
            ts: text(&members, "ts")?
                .parse()
                .map_err(|_| RecordError::Member("ts"))?,
            prev: digest(&members, "prev")?,
            kind: text(&members, "kind")?.to_owned(),
        };
        // The JSON parser accepts members in any order and spacing, but a log spells a frame in one way only, and `scan` reads
        // no other: compare the bytes.
        let mut start = Vec::with_capacity(LONGEST_FRAME);
        write_preamble(version, frame.seq, frame.ts, &frame.prev, &mut start);
        let rest = raw.strip_prefix(start.as_slice());
        match rest.is_some_and(|rest| rest.starts_with(b"\"kind\":\"")) {
            true => Ok((frame, members)),
            false => Err(RecordError::Spelling),
        }
    }
}

/// Whether a time that parses is written as a log writes it: `2026-02-08T17:00:00.000Z`.
pub(crate) fn is_spelt(ts: &str) -> bool {
    let ts = ts.as_bytes();
    ts.len() == 24 && ts.get(19) == Some(&b'.') && ts.ends_with(b"Z")
}

/// Appends the start of a line, up to its kind.
pub(crate) fn write_preamble(
    version: LineVersion,
    seq: u64,
    ts: Timestamp,
    prev: &Digest,
    out: &mut Vec<u8>,
) {
    // Put the texts together without `format!`, whose machinery showed in profiles: a reader of a log does this for every line.
    out.extend_from_slice(b"{\"v\":");
    let mut digits = itoa::Buffer::new();
    out.extend_from_slice(digits.format(version.number()).as_bytes());
    out.extend_from_slice(b",\"seq\":");
    out.extend_from_slice(digits.format(seq).as_bytes());
    out.extend_from_slice(b",\"ts\":\"");
    out.extend_from_slice(&ts.to_text());
    out.extend_from_slice(b"\",\"prev\":\"");
    out.extend_from_slice(&prev.hex_digits());
    out.extend_from_slice(b"\",");
}

/// The version that a line begins with.
fn version_of(raw: &[u8]) -> Result<LineVersion, RecordError> {
    let digits = |raw: &'_ [u8]| {
        let rest = raw.strip_prefix(b"{\"v\":")?;
        let rest = rest.get(..rest.len().min(LONGEST_VERSION))?;
        let end = rest.iter().position(|byte| *byte == b',')?;
        let digits = std::str::from_utf8(rest.get(..end)?).ok()?;
        // `parse` would accept `+2` and `02`, which no log writes.
        let is_spelt = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
        digits.parse::<u64>().ok().filter(|_| is_spelt)
    };
    let number = digits(raw).ok_or(RecordError::Member("v"))?;
    LineVersion::of(number).ok_or(RecordError::Newer(number))
}

pub(crate) fn text<'a>(
    members: &'a Map<String, Value>,
    name: &'static str,
) -> Result<&'a str, RecordError> {
    members
        .get(name)
        .and_then(Value::as_str)
        .ok_or(RecordError::Member(name))
}

pub(crate) fn digest(
    members: &Map<String, Value>,
    name: &'static str,
) -> Result<Digest, RecordError> {
    Digest::from_hex(text(members, name)?).map_err(|_| RecordError::Member(name))
}

/// In bytes: more than the longest version and the comma behind it.
const LONGEST_VERSION: usize = 21;
/// In bytes: no frame with its kind is longer.
const LONGEST_FRAME: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> String {
        let prev = Digest([0xab; 32]);
        let ts = "2026-02-08T17:00:00.500Z".parse().unwrap();
        let mut line = Vec::new();
        write_preamble(LineVersion::CURRENT, 1234, ts, &prev, &mut line);
        line.extend_from_slice(b"\"kind\":\"gap\",\"cause\":\"none\"}");
        String::from_utf8(line).unwrap()
    }

    /// The frame as the quick reader has it and as the strict parser does, which has to be the same.
    fn read(raw: &[u8]) -> Result<LineFrame, RecordError> {
        let strict = LineFrame::parse(raw).map(|(frame, _)| frame);
        let quick = LineFrame::scan(raw);
        assert_eq!(
            quick.is_ok(),
            strict.is_ok(),
            "{}",
            String::from_utf8_lossy(raw)
        );
        if let (Ok(quick), Ok(strict)) = (&quick, &strict) {
            assert_eq!(quick, strict);
        }
        strict
    }

    #[test]
    fn a_frame_spelt_as_no_log_writes_it_is_read_by_neither_reader() {
        let line = line();
        assert_eq!(read(line.as_bytes()).unwrap().seq, 1234);
        let prev = "ab".repeat(32);
        for (from, to) in [
            ("{\"v\":2,", "{\"v\":02,"),
            ("{\"v\":2,", "{\"v\":+2,"),
            ("{\"v\":2,", "{\"v\": 2,"),
            ("{\"v\":2,", "{\"v\":\"2\","),
            ("{\"v\":2,", "{\"v\":,"),
            ("{\"v\":2,", "{"),
            ("{\"v\":2,", " {\"v\":2,"),
            ("1234", "01234"),
            ("1234", "+1234"),
            ("1234", "-1234"),
            ("1234", "\"1234\""),
            ("1234", ""),
            ("00.500Z", "00Z"),
            ("00.500Z", "00.5Z"),
            ("00.500Z", "00.500000Z"),
            ("00.500Z", "00.500z"),
            ("00.500Z", "00,500Z"),
            ("17:00:00.500Z", "17:00:00.500+00:00"),
            ("17:00:00.500Z", "18:00:00.500+01:00"),
            (prev.as_str(), "ab"),
            ("abab", "ABAB"),
            ("\"kind\"", " \"kind\""),
            ("\"kind\":\"gap\"", "\"cause\":\"gap\""),
            ("\"kind\":\"gap\"", "\"kind\":7"),
            ("none\"}", "none\""),
        ] {
            let other = line.replacen(from, to, 1);
            assert_ne!(other, line);
            assert!(read(other.as_bytes()).is_err(), "{from} as {to}");
        }
    }

    /// A release that is older than the log says so, and takes no line of it for a torn one.
    #[test]
    fn a_line_of_a_newer_version_is_named_whatever_stands_in_it() {
        let line = line();
        for (version, behind) in [(3, ","), (10, ",\"what\":nothing"), (u64::MAX, ",}")] {
            let newer = format!("{{\"v\":{version}{behind}");
            let found = [
                LineFrame::scan(newer.as_bytes()).err(),
                LineFrame::parse(newer.as_bytes()).err(),
            ];
            let newer = || Some(RecordError::Newer(version));
            assert_eq!(found, [newer(), newer()]);
        }
        for other in [
            "{\"v\":0,",
            "{\"v\":99999999999999999999,",
            "{\"v\":999999999999999999999999,",
        ] {
            let other = line.replacen("{\"v\":2,", other, 1);
            let found = LineFrame::scan(other.as_bytes());
            assert_eq!(found, Err(RecordError::Member("v")), "{other}");
        }
    }

    #[test]
    fn a_frame_is_found_in_front_of_text_of_whatever_characters() {
        let line = line();
        for length in 0..300 {
            let long = line.replacen(
                "none",
                &format!("{}\u{20ac}\u{20ac}", "x".repeat(length)),
                1,
            );
            assert_eq!(read(long.as_bytes()).unwrap().kind, "gap", "{length}");
        }
        let mut hidden = line.clone().into_bytes();
        hidden.splice(5..5, [0xff]);
        assert!(read(&hidden).is_err());
    }
}
