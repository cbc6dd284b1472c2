//! One line: `v`, `seq`, `ts`, `prev`, and then the members of its kind.

use signet_json::{Limits, Map, Value, write_string};
use signet_proto::entry::{Entry, LineVersion};
use signet_proto::ids::Digest;
use signet_proto::keys::VerifyKey;
use signet_proto::time::Timestamp;

use crate::chain::Tip;
use crate::error::RecordError;
use crate::frame::{LineFrame, digest, text, write_preamble};
use crate::reserved::Reserved;
use signet_text::{is_escaped, write_escaped};

/// The longest line, in bytes without its newline (docs/protocol.md, Audit log).
pub const MAX_LINE: usize = Limits::LINE.bytes;

/// One line of a log, read back.
#[derive(Clone, Debug, PartialEq)]
pub struct LogLine {
    /// How it is written.
    pub version: LineVersion,
    /// Its number, across months, from 1.
    pub seq: u64,
    /// When it was written; never earlier than the line before.
    pub ts: Timestamp,
    /// SHA-256 of the raw bytes of the line before; zeros in the first.
    pub prev: Digest,
    /// What it is about.
    pub kind: String,
    /// SHA-256 of its own raw bytes without the newline.
    pub hash: Digest,
    /// The entry of the node that the line holds; `None` for the kinds that only the chain has.
    pub entry: Option<Entry>,
    /// What the line says of the files of the log; `None` for all other kinds.
    pub mark: Option<Mark>,
    /// In the first line of a file: the key that signs the checkpoints of its month.
    pub checkpoint_key: Option<VerifyKey>,
    /// Members that only later releases understand.
    pub reserved: Reserved,
    /// Its raw bytes without the newline.
    pub raw: Vec<u8>,
}

/// The kinds of the chain itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The first line of every file but the first.
    Open {
        /// The name of the file before.
        previous: String,
        /// The hash of its last line.
        hash: Digest,
    },
    /// The last line of a finished file.
    Close,
    /// A torn tail was set aside.
    Recovery {
        /// The name of the file that holds it, beside the log.
        file: String,
        /// Its length.
        bytes: u64,
        /// Its SHA-256.
        hash: Digest,
    },
}

/// Every kind of a line: those of entries, and the chain's own.
#[must_use]
pub fn kinds() -> Vec<&'static str> {
    let mut kinds = Entry::kinds();
    kinds.extend([Mark::OPEN, Mark::CLOSE, Mark::RECOVERY]);
    kinds
}

impl LogLine {
    /// Reads one line, given without its newline.
    ///
    /// # Errors
    /// Names the member at fault. Whether it fits the chain is not looked at.
    pub fn parse(raw: Vec<u8>) -> Result<Self, RecordError> {
        let hash = Digest::of(&[&raw]);
        Self::parse_hashed(raw, hash)
    }

    /// The same; `hash` is that of `raw`.
    pub(crate) fn parse_hashed(raw: Vec<u8>, hash: Digest) -> Result<Self, RecordError> {
        Self::parse_written(raw, hash).or_else(|raw| Self::parse_any(raw, hash))
    }

    /// Reads a line that is spelt as a log writes it and is of a kind of which there are many: of a whole message, or of what
    /// became of one. Gives back any other `raw`, for [`LogLine::parse_any`].
    ///
    /// A frame has one spelling, which [`LineFrame::split`] demands, and what stands behind it is the members that
    /// [`Entry::skim`] would write, with every hidden character escaped: so [`LogLine::rewrite`] would give the same bytes.
    pub(crate) fn parse_written(raw: Vec<u8>, hash: Digest) -> Result<Self, Vec<u8>> {
        let skimmed = LineFrame::split(&raw).ok().and_then(|(frame, members)| {
            // Leave numbers from 2^53 on to the strict parser, which refuses them: some programs would read another number.
            let is_plain = frame.seq < 1 << 53 && is_escaped(members);
            let entry = is_plain.then(|| Entry::skim(frame.version, frame.kind, members));
            Some((frame.owned(), entry.flatten()?))
        });
        match skimmed {
            Some((frame, entry)) => Ok(Self {
                entry: Some(entry),
                ..Self::of(frame, hash, raw)
            }),
            None => Err(raw),
        }
    }

    fn of(frame: LineFrame, hash: Digest, raw: Vec<u8>) -> Self {
        Self {
            version: frame.version,
            seq: frame.seq,
            ts: frame.ts,
            prev: frame.prev,
            kind: frame.kind,
            hash,
            entry: None,
            mark: None,
            checkpoint_key: None,
            reserved: Reserved::default(),
            raw,
        }
    }

    /// As [`LogLine::parse`], whatever kind it is of and however it is spelt; `hash` is that of `raw`.
    pub(crate) fn parse_any(raw: Vec<u8>, hash: Digest) -> Result<Self, RecordError> {
        let (frame, members) = LineFrame::parse(&raw)?;
        let mark = Mark::parse(&frame.kind, &members)?;
        let checkpoint_key = checkpoint_key(&frame.kind, &members)?;
        let mut reserved = Reserved::parse(&members)?;
        let entry = Entry::parse(members)?;
        // In a draft line the client key is one of the draft's own members, and is kept there: clear it among the reserved
        // members, or `rewrite` would write it twice.
        if matches!(entry, Some(Entry::Draft(_))) {
            reserved.client_key = None;
        }
        if entry.is_none() && mark.is_none() {
            return Err(RecordError::Kind);
        }
        Ok(Self {
            entry,
            mark,
            checkpoint_key,
            reserved,
            ..Self::of(frame, hash, raw)
        })
    }

    /// The frame of this line: the members that every line has.
    pub(crate) fn frame(&self) -> LineFrame<&str> {
        LineFrame {
            version: self.version,
            seq: self.seq,
            ts: self.ts,
            prev: self.prev,
            kind: &self.kind,
        }
    }

    /// The line as JSON that is safe to show: an honest line is its raw bytes, and in a forged one
    /// hidden characters are escaped.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.raw.len());
        write_escaped(&self.raw, &mut out);
        out
    }

    /// The bytes that a log would write for what was read: anything else in a line is forged.
    #[must_use]
    pub fn rewrite(&self) -> Vec<u8> {
        let mut members = Vec::with_capacity(self.raw.len());
        match (&self.entry, &self.mark) {
            (Some(entry), _) => entry.write_as(self.version, &mut members),
            (None, Some(mark)) => mark.write(&mut members),
            (None, None) => {}
        }
        if let Some(key) = &self.checkpoint_key {
            write_checkpoint_key(key, &mut members);
        }
        // Version 1 has no reserved members: leave them out, so that a line of version 1 with forged reserved members differs
        // from what is written here.
        if self.version >= LineVersion::V2 {
            self.reserved.write(&mut members);
        }
        let before = Tip {
            version: self.version,
            // Saturate, since a forged line may have the number 0.
            seq: self.seq.saturating_sub(1),
            hash: self.prev,
            ts: self.ts,
        };
        let mut out = Vec::with_capacity(self.raw.len());
        write_line(self.version, &before, self.ts, &members, &mut out);
        out
    }
}

impl Mark {
    pub(crate) const GENESIS: &'static str = "genesis";
    pub(crate) const OPEN: &'static str = "open";
    pub(crate) const CLOSE: &'static str = "close";
    pub(crate) const RECOVERY: &'static str = "recovery";
    /// The kinds that shape the files, with that of the first line.
    pub(crate) const ALL: [&str; 4] = [Self::GENESIS, Self::OPEN, Self::CLOSE, Self::RECOVERY];

    /// Writes `"kind":…` and the mark's members, without braces.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\"kind\":");
        match self {
            Self::Open { previous, hash } => {
                out.extend_from_slice(b"\"open\",\"previous\":");
                write_string(previous, out);
                out.extend_from_slice(format!(",\"sha256\":\"{}\"", hash.to_hex()).as_bytes());
            }
            Self::Close => out.extend_from_slice(b"\"close\""),
            Self::Recovery { file, bytes, hash } => {
                out.extend_from_slice(b"\"recovery\",\"file\":");
                write_string(file, out);
                out.extend_from_slice(
                    format!(",\"bytes\":{bytes},\"sha256\":\"{}\"", hash.to_hex()).as_bytes(),
                );
            }
        }
    }

    fn parse(kind: &str, members: &Map<String, Value>) -> Result<Option<Self>, RecordError> {
        Ok(match kind {
            Self::OPEN => Some(Self::Open {
                previous: text(members, "previous")?.to_owned(),
                hash: digest(members, "sha256")?,
            }),
            Self::CLOSE => Some(Self::Close),
            Self::RECOVERY => Some(Self::Recovery {
                file: text(members, "file")?.to_owned(),
                bytes: members
                    .get("bytes")
                    .and_then(Value::as_u64)
                    .ok_or(RecordError::Member("bytes"))?,
                hash: digest(members, "sha256")?,
            }),
            _ => None,
        })
    }
}

impl Tip {
    /// The end that a line makes.
    pub(crate) fn of(frame: &LineFrame, raw: &[u8]) -> Self {
        Self::at(frame, Digest::of(&[raw]))
    }

    /// The end that a line with this frame and this hash makes.
    pub(crate) fn at<K>(frame: &LineFrame<K>, hash: Digest) -> Self {
        Self {
            version: frame.version,
            seq: frame.seq,
            hash,
            ts: frame.ts,
        }
    }

    /// Why `frame` cannot be the next line, if so.
    pub(crate) fn misfit<K>(&self, frame: &LineFrame<K>) -> Option<&'static str> {
        // Check for overflow, since a forged line may have the largest number that there is.
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
}

/// Appends the member that names the key of a month's checkpoints.
pub(crate) fn write_checkpoint_key(key: &VerifyKey, members: &mut Vec<u8>) {
    members.extend_from_slice(format!(",\"{CHECKPOINT_KEY}\":\"{key}\"").as_bytes());
}

fn checkpoint_key(
    kind: &str,
    members: &Map<String, Value>,
) -> Result<Option<VerifyKey>, RecordError> {
    // Only the first line of a file names a checkpoint key. Ignore one in any other line: `rewrite` then leaves it out, so the
    // bytes differ and the forgery shows.
    let begins_file = [Mark::GENESIS, Mark::OPEN].contains(&kind);
    if !begins_file || !members.contains_key(CHECKPOINT_KEY) {
        return Ok(None);
    }
    let key = text(members, CHECKPOINT_KEY)?.parse();
    key.map(Some)
        .map_err(|_| RecordError::Member(CHECKPOINT_KEY))
}

/// Appends the line after `tip` to `out`, without its newline.
pub(crate) fn write_line(
    version: LineVersion,
    tip: &Tip,
    ts: Timestamp,
    members: &[u8],
    out: &mut Vec<u8>,
) {
    write_preamble(version, tip.seq + 1, ts, &tip.hash, out);
    write_escaped(members, out);
    out.push(b'}');
}

const CHECKPOINT_KEY: &str = "checkpoint-key";

#[cfg(test)]
mod tests;
