//! Bundles: the lines of a log about one peer, each with the proof that it stands in the log.
//!
//! ```text
//! {"v":1,"kind":"bundle","agent":…,"peer":…,"from":…,"to":…}
//! {"kind":"checkpoint","month":"2026-02","note":…}
//! {"kind":"proof","month":"2026-02","index":0,"path":[…]}     of the line that follows
//! {"v":1,"seq":1,…,"kind":"genesis",…}                        a line of the log, byte for byte
//! {"kind":"proof",…}
//! {"v":1,"seq":7,…,"kind":"message",…}
//! ```

mod excerpt;
mod select;

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use data_encoding::BASE64;
use serde_json::json;
use signet_proto::ids::{AgentId, Digest};
use signet_proto::time::Timestamp;

use crate::checkpoint::checkpoints_of;
use crate::error::LogError;
use crate::file::month_of;
use crate::merkle::{self, Levels};
use crate::note::{NextNote, Notes};
use crate::read::{RawLine, RawLines};
use crate::record::LogLine;
use crate::verify::bundle::{BUNDLE, CERTIFICATE, CHECKPOINT, PROOF};
use crate::verify::{log_files, verify};

pub use excerpt::{ExcerptSubject, LogExcerpt};
use select::{BundleLine, Selection};

/// Which messages go into a bundle: those with one peer, in one span of time.
#[derive(Clone, Debug)]
pub struct Span {
    /// The other agent.
    pub peer: AgentId,
    /// The first moment.
    pub from: Timestamp,
    /// The moment after the last.
    pub to: Timestamp,
}

/// How many lines an export wrote into its bundle, and how many it left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Lines about the peer in the span.
    pub lines: u64,
    /// Such lines that no checkpoint covers, and that are not in the bundle.
    pub left_out: u64,
}

/// A bundle could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The log does not hold, and so proves nothing.
    #[error("the log does not hold")]
    DoesNotHold,
    /// The first line of all, with the agent's own certificate, is missing.
    #[error("the log does not begin with `genesis`")]
    Partial,
    /// There is nothing to prove, or nothing to prove it with.
    #[error("no line about {0} in that time has a checkpoint ({1} have none)")]
    Nothing(AgentId, u64),
    /// Nothing was said that is to be proven.
    #[error("no line of the log is about that")]
    Unknown,
    /// A bundle is about one peer.
    #[error("that was said with several agents: {}", names(.0))]
    SeveralPeers(Vec<AgentId>),
    /// The bundle cannot be written.
    #[error("the bundle cannot be written: {0}")]
    Write(#[from] io::Error),
}

/// Writes the lines of the log at `path` about a peer, each with an inclusion proof (RFC 6962) against
/// the last checkpoint of its month, and the certificates that its messages are proven with.
///
/// Keeps 64 bytes for each line of a month.
///
/// # Errors
/// When the log cannot be read, does not hold, or has nothing to prove.
pub fn export(path: &Path, span: &Span, out: &mut impl Write) -> Result<Exported, ExportError> {
    export_excerpt(path, &LogExcerpt::plain(span), out)
}

/// Writes those lines of the log at `path`, as [`export`] does.
///
/// # Errors
/// When the log cannot be read, does not hold, or has nothing to prove.
pub fn export_excerpt(
    path: &Path,
    excerpt: &LogExcerpt,
    out: &mut impl Write,
) -> Result<Exported, ExportError> {
    let span = &excerpt.span;
    let files = log_files(path)?;
    if !verify(&[path.to_owned()]).holds() {
        return Err(ExportError::DoesNotHold);
    }
    let mut selection = Selection::new(excerpt);
    // Read every month before writing anything: the bundle's header comes first, and has to say how many lines about the peer
    // are in the bundle and how many are left out.
    let mut months = Vec::new();
    for file in &files {
        months.push(ExportedMonth::read(file, &mut selection)?);
    }
    let agent = selection.agent().ok_or(ExportError::Partial)?;
    let exported = Exported {
        lines: months.iter().map(|month| month.proven).sum(),
        left_out: months.iter().map(|month| month.left_out).sum(),
    };
    if exported.lines == 0 {
        return Err(ExportError::Nothing(span.peer.clone(), exported.left_out));
    }
    let header = json!({
        "v": 1, "kind": BUNDLE, "agent": agent.as_str(), "peer": span.peer.as_str(),
        "from": span.from.to_string(), "to": span.to.to_string(),
        "lines": exported.lines, "left-out": exported.left_out,
    });
    writeln!(out, "{header}")?;
    for month in months {
        month.write(out)?;
    }
    out.flush()?;
    Ok(exported)
}

/// One month of a log that is being exported.
struct ExportedMonth {
    file: PathBuf,
    name: String,
    /// The last checkpoint: its note and size.
    note: Option<(String, u64)>,
    leaves: Vec<Digest>,
    wanted: BTreeSet<u64>,
    proven: u64,
    left_out: u64,
}

impl ExportedMonth {
    /// Reads a month, and chooses its lines for the bundle. A line that only holds certificates proves itself by
    /// their signatures, and needs no checkpoint.
    fn read(file: &Path, selection: &mut Selection<'_>) -> Result<Self, LogError> {
        let mut month = Self {
            file: file.to_owned(),
            name: month_of(file).unwrap_or_default().to_owned(),
            note: last_note(file)?,
            leaves: Vec::new(),
            wanted: BTreeSet::new(),
            proven: 0,
            left_out: 0,
        };
        let size = month.note.as_ref().map_or(0, |(_, size)| *size);
        let mut lines = RawLines::open(file)?;
        while let RawLine::Whole(raw) = lines.next_line()? {
            let index = month.leaves.len() as u64;
            month.leaves.push(merkle::leaf(&raw));
            let line = LogLine::parse(raw).map_err(|source| lines.fault(source))?;
            match selection.judge(&line) {
                BundleLine::Message if index < size => {
                    month.proven += 1;
                    month.wanted.insert(index);
                }
                BundleLine::Message => month.left_out += 1,
                BundleLine::Decision if index < size => drop(month.wanted.insert(index)),
                BundleLine::Certificate => drop(month.wanted.insert(index)),
                BundleLine::Decision | BundleLine::No => {}
            }
        }
        if size > 0 && !month.wanted.is_empty() {
            // The month's first line goes into the bundle as well, because it names the key that signed the
            // checkpoint.
            month.wanted.insert(0);
        }
        Ok(month)
    }

    fn write(self, out: &mut impl Write) -> Result<(), ExportError> {
        let Some(size) = self.note.as_ref().map(|(_, size)| *size) else {
            return self.write_lines(out, None);
        };
        if let Some((note, _)) = self.note.as_ref().filter(|_| !self.wanted.is_empty()) {
            let checkpoint = json!({"kind": CHECKPOINT, "month": self.name, "note": note});
            writeln!(out, "{checkpoint}")?;
        }
        let covered = usize::try_from(size).unwrap_or(usize::MAX);
        // The checkpoint's root covers only the first `size` lines, so the proofs are made in a tree of only these lines.
        let leaves = self.leaves.get(..covered).unwrap_or_default().to_vec();
        self.write_lines(out, Some((Levels::of(leaves), size)))
    }

    fn write_lines(
        &self,
        out: &mut impl Write,
        tree: Option<(Levels, u64)>,
    ) -> Result<(), ExportError> {
        let mut lines = RawLines::open(&self.file)?;
        let mut index = 0;
        while let RawLine::Whole(raw) = lines.next_line()? {
            if self.wanted.contains(&index) {
                let levels = tree.as_ref().filter(|(_, size)| index < *size);
                let path = levels.map(|(levels, _)| levels.path(index));
                let proof = match path {
                    Some(path) => {
                        let path: Vec<String> = path
                            .iter()
                            .map(|hash| BASE64.encode(hash.as_bytes()))
                            .collect();
                        json!({"kind": PROOF, "month": self.name, "index": index, "path": path})
                    }
                    None => json!({"kind": CERTIFICATE, "month": self.name}),
                };
                writeln!(out, "{proof}")?;
                out.write_all(&raw)?;
                out.write_all(b"\n")?;
            }
            index += 1;
        }
        Ok(())
    }
}

fn names(agents: &[AgentId]) -> String {
    let names: Vec<&str> = agents.iter().map(AgentId::as_str).collect();
    names.join(", ")
}

fn last_note(file: &Path) -> Result<Option<(String, u64)>, LogError> {
    let path = checkpoints_of(file);
    if path.symlink_metadata().is_err() {
        return Ok(None);
    }
    let mut notes = Notes::open(&path)?;
    let mut last = None;
    while let NextNote::Note(note) = notes.next_note()? {
        last = Some((note.to_string(), note.checkpoint.size));
    }
    Ok(last)
}
