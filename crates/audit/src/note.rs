//! Checkpoints as C2SP signed notes (c2sp.org/signed-note, c2sp.org/tlog-checkpoint).
//!
//! ```text
//! signet/agent-alice-001/2026-02        origin, and name of the key
//! 256                                   lines of that month
//! <base64 of the RFC 6962 root>
//!
//! — signet/agent-alice-001/2026-02 <base64 of key hash and Ed25519 signature>
//! ```

use std::fmt;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use data_encoding::BASE64;
use ed25519_dalek::{Signature, Signer as _, VerifyingKey};
use signet_proto::ids::{AgentId, Digest};
use signet_proto::keys::{KeyError, VerifyKey};
use zeroize::Zeroizing;

use crate::error::{LogError, at};
use crate::plain;

/// What a checkpoint says: the first `size` lines of a month have this root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    pub(crate) origin: String,
    pub(crate) size: u64,
    pub(crate) root: Digest,
}

/// Whose lines, and of which month (`YYYY-MM`).
pub(crate) fn origin(agent: &AgentId, month: &str) -> String {
    format!("signet/{agent}/{month}")
}

impl Checkpoint {
    /// The text that is signed.
    pub(crate) fn text(&self) -> String {
        let root = BASE64.encode(self.root.as_bytes());
        format!("{}\n{}\n{root}\n", self.origin, self.size)
    }

    /// Extension lines are not written by any log of ours, and not taken.
    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.strip_suffix('\n')?.split('\n');
        let (origin, size, root) = (lines.next()?, lines.next()?, lines.next()?);
        let found = Self {
            origin: origin.to_owned(),
            size: size.parse().ok()?,
            root: Digest(BASE64.decode(root.as_bytes()).ok()?.try_into().ok()?),
        };
        // Refuse a text that means the same checkpoint but is spelt otherwise, such as with leading zeros: a signature covers
        // the bytes, and logs write a checkpoint in one way only.
        (lines.next().is_none() && !origin.is_empty() && found.text() == text).then_some(found)
    }
}

/// The secret half of a month's checkpoint key. There is nothing else that it can sign; it cannot
/// print itself and is wiped when dropped.
pub(crate) struct CheckpointSecret {
    key: ed25519_dalek::SigningKey,
    public: VerifyKey,
}

impl CheckpointSecret {
    pub(crate) fn from_seed(seed: &Zeroizing<[u8; 32]>) -> Result<Self, KeyError> {
        let key = ed25519_dalek::SigningKey::from_bytes(seed);
        let public = VerifyKey::try_from(key.verifying_key().to_bytes())?;
        Ok(Self { key, public })
    }

    pub(crate) fn public(&self) -> &VerifyKey {
        &self.public
    }

    /// The note, whole.
    pub(crate) fn sign(&self, checkpoint: &Checkpoint) -> String {
        let text = checkpoint.text();
        let mut signed = key_hash(&checkpoint.origin, &self.public).to_vec();
        signed.extend_from_slice(&self.key.sign(text.as_bytes()).to_bytes());
        let signed = BASE64.encode(&signed);
        format!("{text}\n{SIGNATURE}{} {signed}\n", checkpoint.origin)
    }
}

impl fmt::Debug for CheckpointSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CheckpointSecret(public {})", self.public)
    }
}

/// A checkpoint and who signed it.
#[derive(Clone, Debug)]
pub(crate) struct Note {
    pub(crate) checkpoint: Checkpoint,
    text: String,
    signatures: Vec<NoteSignature>,
}

#[derive(Clone, Debug)]
struct NoteSignature {
    name: String,
    hash: [u8; 4],
    bytes: Vec<u8>,
}

impl Note {
    /// Reads one note.
    pub(crate) fn parse(note: &str) -> Option<Self> {
        let (text, signatures) = note.split_once("\n\n")?;
        let text = format!("{text}\n");
        let lines = signatures.strip_suffix('\n')?.split('\n');
        let signatures: Option<Vec<_>> = lines.map(NoteSignature::parse).collect();
        Some(Self {
            checkpoint: Checkpoint::parse(&text)?,
            signatures: signatures.filter(|found| found.len() <= SIGNATURES)?,
            text,
        })
    }

    /// Whether `key` signed it under the name of its origin. Signatures of other keys do not count,
    /// and one of this key that does not hold spoils the note.
    pub(crate) fn is_signed_by(&self, key: &VerifyKey) -> bool {
        let origin = &self.checkpoint.origin;
        let hash = key_hash(origin, key);
        // Name and key hash only claim whose signature it is, and four bytes of a hash are easily forged: `holds`
        // verifies each claim.
        let mut claimed = self
            .signatures
            .iter()
            .filter(|signature| signature.name == *origin && signature.hash == hash)
            .peekable();
        claimed.peek().is_some() && claimed.all(|signature| signature.holds(key, &self.text))
    }
}

impl fmt::Display for Note {
    /// The note, as it was read.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.text)?;
        self.signatures.iter().try_for_each(|signature| {
            let bytes = [&signature.hash, signature.bytes.as_slice()].concat();
            writeln!(f, "{SIGNATURE}{} {}", signature.name, BASE64.encode(&bytes))
        })
    }
}

impl NoteSignature {
    fn parse(line: &str) -> Option<Self> {
        let (name, encoded) = line.strip_prefix(SIGNATURE)?.split_once(' ')?;
        let bytes = BASE64.decode(encoded.as_bytes()).ok()?;
        let (hash, bytes) = bytes.split_first_chunk()?;
        // The signed-note format allows no `+` in a name: in a written key `+` separates the name from the key.
        let is_name = !name.is_empty() && !name.contains('+');
        is_name.then_some(Self {
            name: name.to_owned(),
            hash: *hash,
            bytes: bytes.to_vec(),
        })
    }

    fn holds(&self, key: &VerifyKey, text: &str) -> bool {
        let key = VerifyingKey::from_bytes(key.as_bytes());
        let signature = Signature::from_slice(&self.bytes);
        match (key, signature) {
            (Ok(key), Ok(signature)) => key.verify_strict(text.as_bytes(), &signature).is_ok(),
            _ => false,
        }
    }
}

/// The first four bytes of SHA-256(name ‖ 0x0A ‖ 0x01 ‖ key).
fn key_hash(name: &str, key: &VerifyKey) -> [u8; 4] {
    let hash = Digest::of(&[name.as_bytes(), &[0x0a, ED25519], key.as_bytes()]);
    let [a, b, c, d, ..] = hash.0;
    [a, b, c, d]
}

/// What stands next in a file of checkpoints.
pub(crate) enum NextNote {
    /// A note.
    Note(Note),
    /// Something between two notes' places that is none.
    Malformed,
    /// Bytes behind the last whole note.
    Torn,
    /// The file ends here.
    End,
}

/// The notes of one file. Each is followed by an empty line, so that a note ends where the second empty
/// line of its own ends: neither its text nor its signatures can hold one.
#[derive(Debug)]
pub(crate) struct Notes {
    path: PathBuf,
    input: BufReader<File>,
    /// Where the last whole note ends, with its empty line.
    pub(crate) end: u64,
    /// The number of the note that was read last, counted from 1.
    pub(crate) number: u64,
}

impl Notes {
    pub(crate) fn open(path: &Path) -> Result<Self, LogError> {
        Self::open_at(path, 0)
    }

    /// From `offset` on, where a note begins; it is counted as the first.
    pub(crate) fn open_at(path: &Path, offset: u64) -> Result<Self, LogError> {
        let mut file = plain::read(path).map_err(at(path))?;
        file.seek(SeekFrom::Start(offset)).map_err(at(path))?;
        Ok(Self {
            input: BufReader::new(file),
            path: path.to_owned(),
            end: offset,
            number: 0,
        })
    }

    pub(crate) fn next_note(&mut self) -> Result<NextNote, LogError> {
        let (mut note, mut empty) = (Vec::new(), 0);
        while empty < 2 {
            let start = note.len();
            let mut limited = (&mut self.input).take((LONGEST - start) as u64);
            let read = limited.read_until(b'\n', &mut note);
            let read = read.map_err(at(&self.path))?;
            if read == 0 || note.last() != Some(&b'\n') {
                return match note.len() {
                    0 => Ok(NextNote::End),
                    // LONGEST bytes without a second empty line are no note. Stop here: a file without empty lines would be
                    // read into memory without end.
                    LONGEST => Ok(NextNote::Malformed),
                    torn => self.step_back(torn).map(|()| NextNote::Torn),
                };
            }
            empty += usize::from(read == 1);
        }
        self.end += note.len() as u64;
        self.number += 1;
        let text = note.strip_suffix(b"\n").unwrap_or_default();
        let note = std::str::from_utf8(text).ok().and_then(Note::parse);
        Ok(note.map_or(NextNote::Malformed, NextNote::Note))
    }

    /// Goes back to the beginning of a torn note: it may be whole when the file is read again.
    fn step_back(&mut self, bytes: usize) -> Result<(), LogError> {
        let back = i64::try_from(bytes).unwrap_or(0);
        self.input.seek_relative(-back).map_err(at(&self.path))
    }
}

/// The last note of a file, read from its end alone; `None` when there is none.
pub(crate) fn last_note(path: &Path) -> Result<Option<Note>, LogError> {
    last_note_before(path, u64::MAX)
}

/// The last note that ends at `end`, or where the file does if that is before; `None` when none does.
pub(crate) fn last_note_before(path: &Path, end: u64) -> Result<Option<Note>, LogError> {
    let mut file = match plain::read(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(at(path)(error)),
    };
    let len = file.metadata().map_err(at(path))?.len().min(end);
    let start = len.saturating_sub(2 * LONGEST as u64);
    file.seek(SeekFrom::Start(start)).map_err(at(path))?;
    let mut bytes = Vec::new();
    file.take(len - start)
        .read_to_end(&mut bytes)
        .map_err(at(path))?;
    // Reading may begin in the middle of a character such as `—`, which `from_utf8_lossy` then replaces: that does no harm,
    // since only the last note is used.
    let text = String::from_utf8_lossy(&bytes);
    // A note is two pieces, its text and its signatures, and each of them ends with an empty line.
    let pieces: Vec<&str> = text.split_inclusive("\n\n").collect();
    Ok(match pieces.as_slice() {
        [.., text, signatures] => {
            let note = format!("{text}{signatures}");
            Note::parse(note.strip_suffix('\n').unwrap_or(&note))
        }
        _ => None,
    })
}

const SIGNATURE: &str = "— ";
const ED25519: u8 = 0x01;
/// The most signatures of one note; a checkpoint has one, and one more for each witness.
const SIGNATURES: usize = 16;
/// In bytes, of one note: far more than the longest agent-id and 16 signatures need.
const LONGEST: usize = 4096;

#[cfg(test)]
mod tests;
