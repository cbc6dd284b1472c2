//! The judgement of a start about a log: what the home vouches for, what has to go, and what it is refused for.
//! It reads, and changes nothing.

use std::path::{Path, PathBuf};

use signet_proto::entry::{Entry, LineVersion, Weight};
use signet_proto::ids::{AgentId, Digest};

use crate::anchor::{self, AnchorRecord};
use crate::chain::{Head, LogPosition, Tip};
use crate::checkpoint::{Checkpoints, Required};
use crate::custody::Custody;
use crate::disk::Disk;
use crate::error::{LogError, broken};
use crate::file::{month_of, months, refuse_open_folders};
use crate::frame::LineFrame;
use crate::known_tree::KnownTree;
use crate::months::{last_known, look, record_of};
use crate::read::{RawLine, RawLines};
use crate::record::LogLine;
use crate::repair::{FoundEnd, LogEnd};
use crate::tail::holds_line;

/// A log as its files show it, and what a start makes of them.
#[derive(Debug)]
pub(crate) struct Judgement {
    pub(crate) disk: Disk,
    pub(crate) dir: PathBuf,
    pub(crate) found: FoundEnd,
    pub(crate) checkpoints: Option<Checkpoints>,
    pub(crate) anchor: Option<PathBuf>,
    /// The anchor's record; none where there is no anchor, or where the log went back behind it.
    pub(crate) record: Option<AnchorRecord>,
    /// The newest line that the log lost, when a person accepts that.
    pub(crate) loss: Option<Head>,
    /// The number of the last line that the home vouches for.
    pub(crate) trusted: u64,
    /// Whether the anchor of a log that had one is gone.
    pub(crate) lacks_anchor: bool,
    /// Whether lines whose tree the anchor has are read later.
    reads_later: bool,
    /// The tree of the newest month that the anchor has.
    pub(crate) known_tree: Option<KnownTree>,
}

impl Judgement {
    /// A judgement of the files alone: neither anchor, state nor checkpoints were looked at yet.
    pub(crate) fn of(disk: Disk, dir: &Path, found: FoundEnd) -> Self {
        Self {
            disk,
            dir: dir.to_owned(),
            found,
            checkpoints: None,
            anchor: None,
            record: None,
            loss: None,
            trusted: 0,
            lacks_anchor: false,
            reads_later: false,
            known_tree: None,
        }
    }

    /// Holds the log of `agent` against what its home keeps outside of the log's folder.
    ///
    /// # Errors
    /// The fault for which a start is refused.
    pub(crate) fn by(&mut self, agent: &AgentId, custody: Custody) -> Result<(), LogError> {
        self.anchor = custody.anchor;
        self.reads_later = custody.reads_later;
        self.checkpoints = Some(Checkpoints::new(&self.disk, custody.keys, agent.clone()));
        self.judge(custody.known, custody.accepts_loss)
    }

    fn judge(&mut self, known: Option<LogPosition>, accepts_loss: bool) -> Result<(), LogError> {
        let path = self.anchor.as_deref();
        let record = path
            .map(|path| anchor::read(&self.disk, path))
            .transpose()?;
        let record = record.flatten();
        let anchored = record.as_ref().map(|record| record.position.clone());
        let mut remembered: Vec<LogPosition> = anchored.into_iter().chain(known).collect();
        // Look for the newest remembered line first: if it is gone, the error has to name the newest line that was lost.
        remembered.sort_by_key(|position| position.head.seq);
        for position in remembered.iter().rev() {
            if !holds_line(&self.disk, &self.dir, position)? {
                if !accepts_loss {
                    return Err(went_back(&self.dir, self.found.end.as_ref(), position.head));
                }
                self.loss = Some(position.head);
                return self.judge_what_is_left();
            }
        }
        if let (Some(path), Some(end)) = (path, &self.found.end) {
            look(&self.disk, &self.dir, &record_of(path), &end.path)?;
        }
        if let (Some(path), Some(record)) = (path, &record) {
            self.known_tree = self.believed_tree(path, record)?;
        }
        let mut newest = remembered.pop();
        // After a clean stop no line may follow the anchored one. After a crash, cut the log at the first one that is
        // unsigned and not inert (`Weight`): nothing vouches for it. Without an anchor, `judge_without_anchor` decides.
        match (&record, &newest) {
            (Some(record), _) if record.is_clean => {
                demand_end(&self.dir, &self.found, &record.position)?;
            }
            (Some(_), Some(newest)) => self.cut_behind(newest)?,
            _ => {}
        }
        let expected = record.as_ref().map(|record| self.expected(record));
        let covered = self.resume_checkpoints(expected.unwrap_or(Required::Unknown))?;
        if record.is_none() {
            let path = self.anchor.as_deref().map(record_of);
            let finished = path.map(|path| last_known(&self.disk, &path)).transpose()?;
            // These positions come from the home or a signed checkpoint. Take the newest: the chain proves all lines before it.
            let witnesses = [newest, finished.flatten(), covered].into_iter().flatten();
            newest = witnesses.max_by_key(|witness| witness.head.seq);
            self.judge_without_anchor(newest.as_ref(), accepts_loss)?;
        }
        self.trusted = newest.map_or(0, |newest| newest.head.seq);
        self.record = record;
        Ok(())
    }

    /// The tree that the anchor has, where its last line is in the newest month.
    fn believed_tree(
        &self,
        path: &Path,
        record: &AnchorRecord,
    ) -> Result<Option<KnownTree>, LogError> {
        let known = KnownTree::read(&self.disk, path, &record.position)?;
        let (Some(known), Some(end)) = (known, &self.found.end) else {
            return Ok(None);
        };
        let name = end.path.file_name();
        let is_newest = name.is_some_and(|name| *name == *known.position.file);
        let holds = is_newest && holds_line(&self.disk, &self.dir, &known.position)?;
        Ok(holds.then_some(known))
    }

    /// Judges a log whose anchor was taken away: it is believed up to the last line that `witness` names, and behind it
    /// as far as lines bear a signature. A log that ends with a line of version 1 never had an anchor, since the releases
    /// that wrote such lines made none.
    fn judge_without_anchor(
        &mut self,
        witness: Option<&LogPosition>,
        accepts_loss: bool,
    ) -> Result<(), LogError> {
        let (Some(anchor), Some(end)) = (self.anchor.clone(), &self.found.end) else {
            return Ok(());
        };
        if end.tip.version < LineVersion::V2 {
            return Ok(());
        }
        self.lacks_anchor = true;
        let base = witness.cloned().unwrap_or_else(nowhere);
        let Some(unsigned) = self.first_unsigned_behind(&base)? else {
            return Ok(());
        };
        if !accepts_loss {
            return Err(LogError::Unanchored {
                anchor,
                vouched: base.head.seq,
                line: unsigned.before.seq + 1,
            });
        }
        self.loss = Some(end.tip.head());
        self.cut(&unsigned)?;
        // The tree still holds the lines that were just cut off: build it again without them.
        self.resume_checkpoints(Required::Loss).map(drop)
    }

    /// Judges a log that lacks lines, where a person accepts the loss: without a signature only lines that its own
    /// checkpoints cover are believed.
    fn judge_what_is_left(&mut self) -> Result<(), LogError> {
        if let Some(covered) = self.resume_checkpoints(Required::Loss)? {
            self.trusted = covered.head.seq;
            self.cut_behind(&covered)?;
            // Build the tree again: the first tree may hold lines that were just cut off.
            self.resume_checkpoints(Required::Loss)?;
        }
        Ok(())
    }

    /// Cuts the log before the first line behind `base` that moves something and bears no signature. The writer tells
    /// nobody that such a line is durable before the anchor names it, so no one relies on it: it and what stands behind
    /// it are set aside like the torn end of a group.
    fn cut_behind(&mut self, base: &LogPosition) -> Result<(), LogError> {
        let found = self.first_unsigned_behind(base)?;
        found.map_or(Ok(()), |unsigned| self.cut(&unsigned))
    }

    fn cut(&mut self, unsigned: &Unsigned) -> Result<(), LogError> {
        // Only the newest month may end with unsigned lines after a crash: a writer anchors a month and gives it a
        // checkpoint before it begins the next month.
        let end = self.found.end.as_ref().map(|end| &end.path);
        if end != Some(&unsigned.path) {
            let what = "a line that bears no signature, and that this home does not vouch for, \
                        stands before another month";
            return Err(broken(&unsigned.path, what));
        }
        self.found.cut(unsigned.start, unsigned.before);
        Ok(())
    }

    fn first_unsigned_behind(&self, base: &LogPosition) -> Result<Option<Unsigned>, LogError> {
        let Some(end) = &self.found.end else {
            return Ok(None);
        };
        let files = months(&self.dir)?;
        // Skip months older than the one that `base` lies in (file names sort by date). An empty `base.file` skips none.
        let begins = |path: &&PathBuf| path.file_name().is_none_or(|name| *name < *base.file);
        let mut tip = None;
        for path in files.iter().skip_while(begins) {
            let is_base = path.file_name().is_some_and(|name| *name == *base.file);
            let offset = if is_base { base.offset } else { 0 };
            let mut lines = RawLines::open_at(path, offset)?;
            let is_end = *path == end.path;
            loop {
                let start = lines.offset;
                // Stop after the last whole line: torn bytes that follow it are set aside in any case.
                if is_end && start >= end.bytes {
                    return Ok(None);
                }
                let RawLine::Whole(raw) = lines.next_line()? else {
                    break;
                };
                let frame = LineFrame::scan(&raw).ok();
                let here = frame.as_ref().map(|frame| Tip::of(frame, &raw));
                // Pass over an unreadable line: the start reads it again when it recalls these lines, and is then refused.
                let entry = LogLine::parse(raw).ok().and_then(|line| line.entry);
                let weight = entry.as_ref().map_or(Weight::Light, Entry::weight);
                if weight == Weight::Light {
                    tip = here;
                } else {
                    let before = tip.map_or_else(|| self.tip_at(base), Ok)?;
                    let path = path.clone();
                    return Ok(Some(Unsigned {
                        path,
                        start,
                        before,
                    }));
                }
            }
        }
        Ok(None)
    }

    fn tip_at(&self, base: &LogPosition) -> Result<Tip, LogError> {
        if base.head.seq == 0 {
            return Ok(Tip::NONE);
        }
        let path = self.dir.join(&base.file);
        let tip = crate::tail::line_before(&path, base.offset)?;
        Ok(tip.unwrap_or(Tip::NONE))
    }

    /// Which checkpoints the newest month has to have, by what the anchor says.
    fn expected(&self, record: &AnchorRecord) -> Required {
        let Some(end) = &self.found.end else {
            return Required::Unknown;
        };
        let name = end.path.file_name();
        if name.is_some_and(|name| *name == *record.position.file) {
            Required::Anchored {
                least: record.covered,
                behind: end.tip.seq.saturating_sub(record.position.head.seq),
            }
        } else {
            // The anchor names an earlier month, and only anchored lines have checkpoints: this month may have none.
            Required::Anchored {
                least: 0,
                behind: u64::MAX,
            }
        }
    }

    /// Builds the tree of the newest month; the last line that a checkpoint covers.
    fn resume_checkpoints(&mut self, expected: Required) -> Result<Option<LogPosition>, LogError> {
        let (Some(checkpoints), Some(end)) = (&mut self.checkpoints, &self.found.end) else {
            return Ok(None);
        };
        let month = month_of(&end.path).unwrap_or_default();
        let is_anchored = matches!(expected, Required::Anchored { .. });
        // No start reads the lines of a saved tree: take it only if the anchor vouches for it and they are read later.
        let known = (self.known_tree.clone()).filter(|_| self.reads_later && is_anchored);
        checkpoints.resume(month, &end.path, end.bytes, expected, known)
    }
}

/// A line that moves something and bears no signature.
struct Unsigned {
    path: PathBuf,
    /// Where the unsigned line begins, in bytes.
    start: u64,
    /// The head of the log before these lines.
    before: Tip,
}

fn went_back(dir: &Path, end: Option<&LogEnd>, missing: Head) -> LogError {
    let what = match end {
        None => "the log is empty".to_owned(),
        Some(end) if end.tip.seq >= missing.seq => {
            format!("line {} is another one now", missing.seq)
        }
        Some(end) => format!("the log ends with line {}", end.tip.seq),
    };
    LogError::WentBack {
        dir: dir.to_owned(),
        line: missing.seq,
        hash: missing.hash.to_hex(),
        what,
    }
}

/// After a clean stop the anchored line is the last.
fn demand_end(dir: &Path, found: &FoundEnd, last: &LogPosition) -> Result<(), LogError> {
    let end = found.end.as_ref();
    let is_end = end.is_some_and(|end| end.tip.head() == last.head);
    // A clean stop leaves no torn bytes either: if half a line follows the last line, somebody else wrote it.
    match is_end && found.torn_bytes()? == 0 {
        true => Ok(()),
        false => Err(LogError::Appended {
            file: dir.join(&last.file),
            line: last.head.seq,
            offset: last.offset,
        }),
    }
}

/// How the log of a stopped agent stands when its start is not refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outlook {
    /// The log is what the home remembers.
    Holds,
    /// The anchor is gone, and what else the home remembers vouches for the log: the anchor is made anew, and
    /// people hear of it.
    LacksAnchor,
}

/// Judges the log in `dir` as the agent's next start will. Nothing is locked, made or mended, so the log of a daemon that
/// runs meanwhile may look wrong.
///
/// # Errors
/// What the start is refused for.
pub fn foresee(dir: &Path, agent: &AgentId, custody: Custody) -> Result<Outlook, LogError> {
    let disk = Disk::default();
    let found = match dir.is_dir() {
        true => {
            refuse_open_folders(dir)?;
            FoundEnd::look(&disk, dir)?
        }
        false => FoundEnd::default(),
    };
    let mut judgement = Judgement::of(disk, dir, found);
    judgement.by(agent, custody)?;
    Ok(match judgement.lacks_anchor {
        true => Outlook::LacksAnchor,
        false => Outlook::Holds,
    })
}

/// Whether the log in `dir`, to which a daemon may write meanwhile, has the line that its anchor says, and nothing behind
/// that of a clean stop. Without an anchor it says nothing: [`foresee`] tells of a log to which nobody writes.
///
/// # Errors
/// [`LogError::WentBack`] or [`LogError::Appended`], or the system refuses.
pub fn hold_against_anchor(dir: &Path, anchor: &Path) -> Result<(), LogError> {
    let disk = Disk::default();
    let Some(record) = anchor::read(&disk, anchor)? else {
        return Ok(());
    };
    if !dir.is_dir() {
        let head = record.position.head;
        return match head.seq {
            0 => Ok(()),
            _ => Err(went_back(dir, None, head)),
        };
    }
    let found = FoundEnd::look(&disk, dir)?;
    if !holds_line(&disk, dir, &record.position)? {
        return Err(went_back(dir, found.end.as_ref(), record.position.head));
    }
    match record.is_clean {
        true => demand_end(dir, &found, &record.position),
        false => Ok(()),
    }
}

/// The end of a log without any line.
pub(crate) fn nowhere() -> LogPosition {
    LogPosition {
        file: String::new(),
        offset: 0,
        head: Head {
            seq: 0,
            hash: Digest([0; 32]),
        },
    }
}
