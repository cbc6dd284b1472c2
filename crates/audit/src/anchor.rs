//! The anchor of a log: what its home knows of the log's end, in a file outside of the log's directory.
//!
//! ```text
//! lines durable ──▶ anchor (synced) ──▶ checkpoint        at every checkpoint, and for every line that nobody signed
//! lines durable ──▶ anchor (written)                      at every other commit
//! ```
//!
//! With each synced line stands the tree of its month (`known_tree.rs`), for a start that reads the month later.
//!
//! Whoever writes in the log's directory alone cannot change the anchor. A start holds the log against
//! it: a log without the anchored line went back, lines behind that of a clean stop are somebody
//! else's, and behind it a start obeys only lines that bear a signature.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use signet_proto::ids::Digest;

use crate::chain::{Head, LogPosition};
use crate::disk::Disk;
use crate::error::{LogError, at, unsynced};
use crate::file::{make_dir, replace};
use crate::file_identity::FileIdentity;
use crate::known_tree::{ANCHOR_FILE, KnownTree, TREES_BEGIN, place_of};

/// What the anchor says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AnchorRecord {
    /// Whether the last writer stopped in order: then the anchored line is the last of the log.
    pub(crate) is_clean: bool,
    /// The end of the anchored line; line 0 where the log has none yet.
    pub(crate) position: LogPosition,
    /// How many lines of that line's month had a checkpoint when this record was written.
    pub(crate) covered: u64,
}

/// The anchor's file, open for writing.
#[derive(Debug)]
pub(crate) struct Anchor {
    disk: Disk,
    path: PathBuf,
    file: File,
    identity: FileIdentity,
    record: AnchorRecord,
    /// The number of the record written last; a reader takes the record with the highest.
    counter: u64,
    /// How often it was synced.
    synced: u64,
    /// The line that was synced last.
    line: u64,
    /// How often a tree was written.
    trees: u64,
}

/// The newest record in the file at `path`; `None` where there is no file, or no record in it is whole.
pub(crate) fn read(disk: &Disk, path: &Path) -> Result<Option<AnchorRecord>, LogError> {
    let file = match disk.open(path, OpenOptions::new().read(true)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(at(path)(error)),
    };
    let mut bytes = Vec::new();
    file.take(SLOTS * SLOT as u64)
        .read_to_end(&mut bytes)
        .map_err(at(path))?;
    // A power cut while a slot is written leaves a wrong checksum in that slot. Pass over it: another slot still holds an
    // earlier record.
    let records = bytes.chunks(SLOT).filter_map(parse);
    let newest = records.max_by_key(|(counter, _)| *counter);
    Ok(newest.map(|(_, record)| record))
}

/// Takes the trees out of the anchor at `path`, so that the next start hashes every line of the newest month.
///
/// # Errors
/// What the disk says.
pub fn forget_tree(path: &Path) -> Result<(), LogError> {
    let disk = Disk::default();
    read(&disk, path)?.map_or(Ok(()), |record| {
        Anchor::create(&disk, path, record, None).map(drop)
    })
}

impl Anchor {
    /// Puts a new file into the place of the old one. The old one is not written on: after a failed disk, what the
    /// system shows of it may be in memory only. `tree` is what the old one knew of the month's tree.
    ///
    /// # Errors
    /// What the disk says.
    pub(crate) fn create(
        disk: &Disk,
        path: &Path,
        record: AnchorRecord,
        tree: Option<&KnownTree>,
    ) -> Result<Self, LogError> {
        make_dir(disk, path.parent().unwrap_or(Path::new(".")))?;
        let mut bytes = slot(1, &record);
        bytes.resize(SLOT * SLOTS as usize, b' ');
        bytes.extend(tree.and_then(KnownTree::slot).unwrap_or_default());
        // Give the file its final length now, so that no later write needs more room on a full disk.
        bytes.resize(ANCHOR_FILE, b' ');
        let file = replace(disk, path, &path.with_extension("new"), &bytes)?;
        let identity = FileIdentity::of_open(&file, path)?;
        Ok(Self {
            disk: disk.clone(),
            path: path.to_owned(),
            file,
            identity,
            line: record.position.head.seq,
            record,
            counter: 1,
            // The file made above has its record, and its tree if there is one, in the first slots. Write the next ones into
            // the second slots: a power cut may tear the slot that is written.
            synced: 1,
            trees: 1,
        })
    }

    /// The file has to be at its path.
    ///
    /// # Errors
    /// [`LogError::Gone`].
    pub(crate) fn demand_in_place(&self) -> Result<(), LogError> {
        self.identity.demand().map(drop)
    }

    /// The anchored line: durable, or only written since.
    pub(crate) fn record(&self) -> &AnchorRecord {
        &self.record
    }

    /// The number of the anchored line that the disk has.
    pub(crate) fn synced_line(&self) -> u64 {
        self.line
    }

    /// Anchors a durable line, with the tree of the month up to it, and waits for the disk.
    ///
    /// # Errors
    /// What the disk says.
    pub(crate) fn sync(
        &mut self,
        record: AnchorRecord,
        tree: Option<&KnownTree>,
    ) -> Result<(), LogError> {
        if let Some(bytes) = tree.and_then(KnownTree::slot) {
            let place = place_of(self.trees);
            let written = self.disk.write_at(&self.file, &self.path, place, &bytes);
            written.map_err(at(&self.path))?;
            self.trees += 1;
        }
        // Synced records alternate between two slots: a power cut tears only the slot that is being written, and the other slot
        // keeps the synced record before.
        self.write(record, self.synced % (SLOTS - 1))?;
        let synced = self.disk.sync_data(&self.file, &self.path);
        synced.map_err(unsynced(&self.path))?;
        self.synced += 1;
        self.line = self.record.position.head.seq;
        Ok(())
    }

    /// Writes that a line is durable, and does not wait for the disk: the record outlives this process, but not a
    /// power cut.
    pub(crate) fn note(&mut self, record: AnchorRecord) -> Result<(), LogError> {
        // Records that are not synced have the last slot to themselves: if a power cut tears it, no synced record is lost.
        self.write(record, SLOTS - 1)
    }

    fn write(&mut self, record: AnchorRecord, place: u64) -> Result<(), LogError> {
        let bytes = slot(self.counter + 1, &record);
        self.disk
            .write_at(&self.file, &self.path, place * SLOT as u64, &bytes)
            .map_err(at(&self.path))?;
        (self.counter, self.record) = (self.counter + 1, record);
        Ok(())
    }
}

/// The bytes of a slot: one line of text that ends with its own hash, filled up with spaces.
fn slot(counter: u64, record: &AnchorRecord) -> Vec<u8> {
    let LogPosition { file, offset, head } = &record.position;
    let state = if record.is_clean { CLEAN } else { OPEN };
    let file = if file.is_empty() { NO_FILE } else { file };
    let mut text = format!(
        "{NAME} {counter} {state} {file} {offset} {} {} {} ",
        head.seq,
        head.hash.to_hex(),
        record.covered
    );
    let sum = Digest::of(&[text.as_bytes()]).to_hex();
    text.push_str(&sum);
    let mut bytes = text.into_bytes();
    bytes.resize(SLOT - 1, b' ');
    bytes.push(b'\n');
    bytes
}

fn parse(slot: &[u8]) -> Option<(u64, AnchorRecord)> {
    let text = std::str::from_utf8(slot).ok()?.trim_end();
    let (signed, sum) = text.split_at_checked(text.rfind(' ')? + 1)?;
    if Digest::of(&[signed.as_bytes()]).to_hex() != sum {
        return None;
    }
    let words: Vec<&str> = signed.split(' ').collect();
    // The text before the checksum ends with a space, so splitting it at spaces leaves an empty last word.
    let [NAME, counter, state, file, offset, seq, hash, covered, ""] = words.as_slice() else {
        return None;
    };
    let record = AnchorRecord {
        is_clean: *state == CLEAN,
        position: LogPosition {
            file: Some(*file)
                .filter(|file| *file != NO_FILE)
                .unwrap_or_default()
                .to_owned(),
            offset: offset.parse().ok()?,
            head: Head {
                seq: seq.parse().ok()?,
                hash: Digest::from_hex(hash).ok()?,
            },
        },
        covered: covered.parse().ok()?,
    };
    Some((counter.parse().ok()?, record))
}

const NAME: &str = "signet-anchor/1";
const CLEAN: &str = "stopped";
const OPEN: &str = "writing";
const NO_FILE: &str = "-";
/// Two slots for records that are synced, one for a record that is only written.
const SLOTS: u64 = 3;
/// Bytes of a slot: a sector, which a disk writes whole or not at all.
const SLOT: usize = 512;
/// The slots of the tree begin where those of the anchor end.
const _: () = assert!(TREES_BEGIN == SLOTS * SLOT as u64);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::known_tree::place_of;
    use crate::merkle::{Tree, leaf};

    fn record(line: u64) -> AnchorRecord {
        AnchorRecord {
            is_clean: false,
            position: LogPosition {
                file: "inter-agent-2026-02.jsonl".into(),
                offset: 40 * line,
                head: Head {
                    seq: line,
                    hash: Digest::of(&[&line.to_be_bytes()]),
                },
            },
            covered: line / 2,
        }
    }

    fn tree(line: u64) -> KnownTree {
        let mut tree = Tree::default();
        (0..line).for_each(|line| tree.push(leaf(&line.to_be_bytes())));
        KnownTree {
            position: record(line).position,
            tree,
            notes: 7 * line,
            covered: line / 2,
        }
    }

    /// The lines that a start reads in the file: the anchored line, and that of the tree.
    fn lines(path: &Path) -> (Option<u64>, Option<u64>) {
        let disk = Disk::default();
        let record = read(&disk, path).unwrap();
        let tree = KnownTree::read(&disk, path, &self::record(99).position).unwrap();
        let tree = tree.map(|tree| tree.position.head.seq);
        (record.map(|record| record.position.head.seq), tree)
    }

    /// The lines that are read where a power cut tore the file from byte `from` to byte `to`.
    fn torn(path: &Path, from: u64, to: u64) -> (Option<u64>, Option<u64>) {
        let whole = std::fs::read(path).unwrap();
        let mut torn = whole.clone();
        torn[from as usize..to as usize].fill(0);
        std::fs::write(path, torn).unwrap();
        let found = lines(path);
        std::fs::write(path, whole).unwrap();
        found
    }

    #[test]
    fn a_power_cut_within_a_sync_leaves_the_line_that_was_synced_before_and_its_tree() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::default());
        let path = dir.path().join("log.anchor");
        let first = Some(tree(1));
        let mut anchor = Anchor::create(&disk, &path, record(1), first.as_ref()).unwrap();
        assert_eq!(lines(&path), (Some(1), Some(1)));
        for line in 2..12 {
            anchor.sync(record(line), Some(&tree(line))).unwrap();
            assert_eq!(read(&disk, &path).unwrap(), Some(record(line)));
            let known = KnownTree::read(&disk, &path, &record(line).position).unwrap();
            assert_eq!(
                (lines(&path), known),
                ((Some(line), Some(line)), Some(tree(line)))
            );
            let older = KnownTree::read(&disk, &path, &record(line - 1).position).unwrap();
            assert_eq!(
                older,
                Some(tree(line - 1)),
                "a tree beyond the anchor is not read"
            );
            let slots = [0, 512, 1024].map(|from| torn(&path, from, from + 512).0);
            let (synced, before) = (Some(line), Some(line - 1));
            assert_eq!(slots.iter().filter(|found| **found == before).count(), 1);
            assert_eq!(slots.iter().filter(|found| **found == synced).count(), 2);
            let trees = [0, 1].map(|turn| torn(&path, place_of(turn), place_of(turn) + 4096).1);
            assert!(
                trees.contains(&synced) && trees.contains(&before),
                "{trees:?}"
            );
        }
        assert_eq!(path.metadata().unwrap().len(), ANCHOR_FILE as u64);
    }

    #[test]
    fn a_line_that_was_only_written_down_counts_and_a_power_cut_leaves_the_one_that_was_synced() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::default());
        let path = dir.path().join("log.anchor");
        let mut anchor = Anchor::create(&disk, &path, record(1), None).unwrap();
        for line in [4, 7, 10] {
            anchor.sync(record(line), None).unwrap();
            for noted in [line + 1, line + 2] {
                anchor.note(record(noted)).unwrap();
                assert_eq!(lines(&path).0, Some(noted));
                assert_eq!(torn(&path, 1024, 1536).0, Some(line));
            }
            assert_eq!(anchor.synced_line(), line);
        }
        assert_eq!(lines(&path).1, None, "no tree was given");
    }

    #[test]
    fn a_record_is_read_as_it_was_written_and_none_whose_bytes_are_others() {
        let stopped = AnchorRecord {
            is_clean: true,
            ..record(7)
        };
        let mut none = record(0);
        none.position.file = String::new();
        for record in [record(7), stopped, none] {
            let slot = slot(3, &record);
            assert_eq!((slot.len(), parse(&slot)), (SLOT, Some((3, record))));
            let end = slot.iter().rposition(|byte| *byte > b' ').unwrap();
            for place in 0..=end {
                let mut other = slot.clone();
                other[place] ^= 1;
                assert_eq!(parse(&other), None, "byte {place}");
            }
        }
    }
}
