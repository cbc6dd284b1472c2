//! Finished months: what a start looks at in the same time however long they are, and what takes reading
//! all of them.
//!
//! The home keeps a line for each, outside of the log's directory: its length, its first line, its last
//! line with its hash, and how many lines have a checkpoint. A month that is not written down yet is, once its ends
//! fit the months around it.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};

use signet_proto::ids::Digest;
use signet_proto::keys::VerifyKey;

use crate::chain::{Head, LogPosition, Tip};
use crate::checkpoint::checkpoints_of;
use crate::disk::Disk;
use crate::error::{LogError, at, broken};
use crate::file::{month_of, months, replace};
use crate::frame::LineFrame;
use crate::merkle::{self, Tree};
use crate::note::{Note, last_note};
use crate::read::{RawLine, RawLines};
use crate::record::{LogLine, Mark};
use crate::tail::last_line;

/// Where what is known of finished months stands, beside the anchor.
pub(crate) fn record_of(anchor: &Path) -> PathBuf {
    anchor.with_extension("months")
}

/// What is known of one month.
#[derive(Clone, Debug, PartialEq, Eq)]
struct KnownMonth {
    bytes: u64,
    first: u64,
    last: Head,
    /// How many lines have a checkpoint.
    covered: u64,
}

/// The two ends of a month's file.
struct MonthEnds {
    path: PathBuf,
    bytes: u64,
    first: LineFrame,
    last: Tip,
    /// The last checkpoint; `None` when there is none, or none is promised.
    note: Option<Note>,
}

/// Holds every month before `newest` against what is known of it, against its neighbours and its last
/// checkpoint, from its two ends alone.
pub(crate) fn look(disk: &Disk, dir: &Path, record: &Path, newest: &Path) -> Result<(), LogError> {
    let known = read(disk, record)?;
    let found = ends(disk, dir, newest)?;
    let names: Vec<String> = found.iter().map(|month| name_of(&month.path)).collect();
    if let Some(name) = known.keys().find(|name| !names.contains(*name)) {
        let what = "this finished month is missing: put it back where it was";
        return Err(broken(&dir.join(name), what));
    }
    for (month, name) in found.iter().zip(&names) {
        if known.get(name).is_some_and(|known| *known != month.known()) {
            let what = "this finished month is not what it was: its length, one of its ends or its last \
                        checkpoint differs";
            return Err(broken(&month.path, what));
        }
    }
    let first = RawLines::open(newest)?.next_line()?;
    let frame = match &first {
        RawLine::Whole(raw) => LineFrame::scan(raw).ok(),
        RawLine::TooLong | RawLine::Torn(_) | RawLine::End => None,
    };
    let firsts = found.iter().skip(1).map(|month| &month.first);
    for (month, next) in found.iter().zip(firsts.chain(frame.as_ref())) {
        if month.last.misfit(next).is_some() {
            let what = "the month after this one does not go on from its last line: one between them is \
                        missing, or it was changed";
            return Err(broken(&month.path, what));
        }
    }
    Ok(())
}

/// Behind the last line of the newest finished month that is known; `None` when none is.
pub(crate) fn last_known(disk: &Disk, record: &Path) -> Result<Option<LogPosition>, LogError> {
    let known = read(disk, record)?;
    Ok(known
        .into_iter()
        .next_back()
        .map(|(file, known)| LogPosition {
            file,
            offset: known.bytes,
            head: known.last,
        }))
}

/// Writes down the finished months, those before `newest`, that the record does not have yet; `anew` forgets those
/// that it has.
pub(crate) fn remember(
    disk: &Disk,
    dir: &Path,
    record: &Path,
    newest: &Path,
    anew: bool,
) -> Result<(), LogError> {
    // A person may accept that months are lost. Then begin with an empty record: the old record still names the lost months,
    // and every start would refuse the log for that.
    let mut known = match anew {
        true => BTreeMap::new(),
        false => read(disk, record)?,
    };
    let before = known.len();
    let finished = months(dir)?;
    let finished = finished.into_iter().filter(|path| path.as_path() < newest);
    for path in finished {
        if !known.contains_key(&name_of(&path)) {
            let month = MonthEnds::of(disk, path)?;
            known.insert(name_of(&month.path), month.known());
        }
    }
    // Most starts find no newly finished month: end here without a write, so that they need not wait for the disk.
    if known.len() == before && !anew {
        return Ok(());
    }
    write(disk, record, &known)
}

/// Reads every finished month of the log in `dir` whole: its chain, its last checkpoint, and what the
/// home whose anchor is `anchor` knows of it. After each piece `pace` gets its length, and says whether
/// to go on. Returns how many months hold.
///
/// # Errors
/// [`LogError::Broken`] names the first month that is not what was written, or the system refuses.
pub fn inspect_months(
    dir: &Path,
    anchor: &Path,
    mut pace: impl FnMut(u64) -> bool,
) -> Result<u64, LogError> {
    let disk = Disk::default();
    let files = months(dir)?;
    let Some(newest) = files.last() else {
        return Ok(0);
    };
    let record = record_of(anchor);
    // First compare only the two ends of each month, which is quick: so a missing month is reported before all files are read.
    look(&disk, dir, &record, newest)?;
    let known = read(&disk, &record)?;
    let mut whole = 0;
    for path in files.iter().filter(|path| *path != newest) {
        let ends = MonthEnds::of(&disk, path.clone())?;
        if !ends.inspect(&mut pace)? {
            break;
        }
        // Compare each month once more: since `look` compared it, the months before it were read, which takes long, and
        // somebody may have exchanged it meanwhile.
        if known
            .get(&name_of(path))
            .is_some_and(|known| *known != ends.known())
        {
            return Err(broken(path, "this finished month is not what it was"));
        }
        whole += 1;
    }
    Ok(whole)
}

fn ends(disk: &Disk, dir: &Path, newest: &Path) -> Result<Vec<MonthEnds>, LogError> {
    let files = months(dir)?;
    let finished = files.into_iter().filter(|path| path.as_path() < newest);
    finished.map(|path| MonthEnds::of(disk, path)).collect()
}

impl MonthEnds {
    fn of(disk: &Disk, path: PathBuf) -> Result<Self, LogError> {
        let mut lines = RawLines::open(&path)?;
        let RawLine::Whole(raw) = lines.next_line()? else {
            return Err(broken(&path, "this finished month has no line"));
        };
        let first = LineFrame::scan(&raw).ok();
        let line = LogLine::parse(raw).map_err(|source| lines.fault(source))?;
        let first = first.ok_or_else(|| broken(&path, "its first line is no line of a log"))?;
        let bytes = path.metadata().map_err(at(&path))?.len();
        let last = last_line(disk, &path)?;
        let Some((last, Mark::CLOSE)) = last.as_ref().map(|(tip, kind)| (*tip, kind.as_str()))
        else {
            return Err(broken(
                &path,
                "this finished month does not end with `close`",
            ));
        };
        let mut found = Self {
            path,
            bytes,
            first,
            last,
            note: None,
        };
        if let Some(key) = &line.checkpoint_key {
            found.note = found.last_checkpoint(key)?;
        }
        Ok(found)
    }

    fn known(&self) -> KnownMonth {
        KnownMonth {
            bytes: self.bytes,
            first: self.first.seq,
            last: self.last.head(),
            covered: self.note.as_ref().map_or(0, |note| note.checkpoint.size),
        }
    }

    fn lines(&self) -> u64 {
        (self.last.seq + 1).saturating_sub(self.first.seq)
    }

    fn last_checkpoint(&self, key: &VerifyKey) -> Result<Option<Note>, LogError> {
        let path = checkpoints_of(&self.path);
        let note = last_note(&path)?;
        let what = match &note {
            Some(note) if !note.is_signed_by(key) => {
                "its last checkpoint is not signed by the key that the month names"
            }
            Some(note) if note.checkpoint.size > self.lines() => {
                "its last checkpoint covers more lines than the month has"
            }
            _ => return Ok(note),
        };
        Err(broken(&path, what))
    }

    fn inspect(&self, pace: &mut impl FnMut(u64) -> bool) -> Result<bool, LogError> {
        let mut lines = RawLines::open(&self.path)?;
        let (mut tree, mut tip) = (Tree::default(), None::<Tip>);
        while let RawLine::Whole(raw) = lines.next_line()? {
            let frame = LineFrame::scan(&raw).map_err(|_| {
                let what = format!("line {} is no line of a log", lines.number);
                broken(&self.path, &what)
            })?;
            if let Some(what) = tip.and_then(|tip| tip.misfit(&frame)) {
                let what = format!("line {}: {what}", lines.number);
                return Err(broken(&self.path, &what));
            }
            tree.push(merkle::leaf(&raw));
            tip = Some(Tip::of(&frame, &raw));
            if let Some(note) = self
                .note
                .as_ref()
                .filter(|note| note.checkpoint.size == tree.size())
                && note.checkpoint.root != tree.root()
            {
                let what = "its last checkpoint is of other lines";
                return Err(broken(&self.path, what));
            }
            if lines.read >= PIECE && !pace(std::mem::take(&mut lines.read)) {
                return Ok(false);
            }
        }
        match tip.map(|tip| tip.head()) == Some(self.last.head()) {
            true => Ok(pace(lines.read)),
            false => Err(broken(&self.path, "it changed while it was read")),
        }
    }
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn read(disk: &Disk, path: &Path) -> Result<BTreeMap<String, KnownMonth>, LogError> {
    let file = match disk.open(path, OpenOptions::new().read(true)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(at(path)(error)),
    };
    let text = io::read_to_string(file).map_err(at(path))?;
    let known = text.lines().map(|line| {
        // Refuse a damaged record instead of making a new one: otherwise somebody could damage the record and then
        // change a month unnoticed.
        let what = "what the home keeps of finished months is damaged: move this file away";
        parse(line).ok_or_else(|| broken(path, what))
    });
    known.collect()
}

fn parse(line: &str) -> Option<(String, KnownMonth)> {
    let words: Vec<&str> = line.split(' ').collect();
    let [name, bytes, first, last, hash, covered] = words.as_slice() else {
        return None;
    };
    month_of(Path::new(name))?;
    let known = KnownMonth {
        bytes: bytes.parse().ok()?,
        first: first.parse().ok()?,
        last: Head {
            seq: last.parse().ok()?,
            hash: Digest::from_hex(hash).ok()?,
        },
        covered: covered.parse().ok()?,
    };
    Some(((*name).to_owned(), known))
}

fn write(disk: &Disk, path: &Path, known: &BTreeMap<String, KnownMonth>) -> Result<(), LogError> {
    let mut text = String::new();
    for (name, known) in known {
        let (seq, hash) = (known.last.seq, known.last.hash.to_hex());
        let KnownMonth {
            bytes,
            first,
            covered,
            ..
        } = known;
        text.push_str(&format!("{name} {bytes} {first} {seq} {hash} {covered}\n"));
    }
    let new = path.with_extension("months.new");
    replace(disk, path, &new, text.as_bytes()).map(drop)
}

/// Bytes that are read before `pace` is asked whether to go on.
const PIECE: u64 = 1024 * 1024;
