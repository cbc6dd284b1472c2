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
    // A slot that a power cut tore has a wrong sum and is passed over: another slot holds the record written before it.
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
            // The file made above already holds the first record and the first tree, so the next record and the next
            // tree go into their second slots.
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
        // Synced records alternate between two slots: a power cut tears only the slot that is being written, and the
        // other slot keeps the record before.
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
    // The text before the sum ends with a space, hence the empty last word.
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
