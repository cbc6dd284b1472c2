//! The tree of the newest month as its home keeps it: with the anchor, so that a start need not hash lines that it wrote.
//!
//! ```text
//! anchor   three slots: number, hash and place of a durable line        what a start holds the log against
//!          two slots: the peaks of the tree up to such a line           what a start goes on from, if it can
//! ```
//!
//! The slots of the tree stand behind those of the anchor, in the same file: a release that knows none does not read so
//! far. A tree is believed no further than the anchored line, and where it does not fit, the lines are hashed.

use std::fs::OpenOptions;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use signet_proto::ids::Digest;

use crate::chain::{Head, LogPosition};
use crate::disk::Disk;
use crate::error::{LogError, at};
use crate::merkle::Tree;

/// The tree of a month's first lines, and how its checkpoints stood when it was written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KnownTree {
    /// Behind the last line of the tree.
    pub(crate) position: LogPosition,
    pub(crate) tree: Tree,
    /// The length of the month's checkpoints then, in bytes.
    pub(crate) notes: u64,
    /// How many lines these checkpoints cover.
    pub(crate) covered: u64,
}

impl KnownTree {
    /// The newest tree at `anchor` that does not go beyond `anchored`, the anchored line; `None` where no slot has one, as in a home
    /// of an older release.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn read(
        disk: &Disk,
        anchor: &Path,
        anchored: &LogPosition,
    ) -> Result<Option<Self>, LogError> {
        let mut file = match disk.open(anchor, OpenOptions::new().read(true)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(at(anchor)(error)),
        };
        file.seek(SeekFrom::Start(TREES_BEGIN))
            .map_err(at(anchor))?;
        let mut bytes = Vec::new();
        file.take(TREES * SLOT as u64)
            .read_to_end(&mut bytes)
            .map_err(at(anchor))?;
        let trees = bytes.chunks(SLOT).filter_map(parse).filter(|known| {
            known.position.file == anchored.file && known.position.head.seq <= anchored.head.seq
        });
        // Two trees may end with the same line: one saved before that line's checkpoint and one after. Take the tree that knows
        // of more checkpoints: the start then has fewer checkpoints to read again.
        Ok(trees.max_by_key(|known| (known.position.head.seq, known.notes)))
    }

    /// The bytes of a slot: one line of text that ends with its own hash, filled up with spaces. `None` for a tree that has
    /// too many peaks for it, which no month has.
    pub(crate) fn slot(&self) -> Option<Vec<u8>> {
        let LogPosition { file, offset, head } = &self.position;
        let mut text = format!(
            "{NAME} {file} {offset} {} {} {} {} {} ",
            head.seq,
            head.hash.to_hex(),
            self.notes,
            self.covered,
            self.tree.size(),
        );
        for peak in self.tree.peaks() {
            text.push_str(&peak.to_hex());
            text.push(' ');
        }
        let sum = Digest::of(&[text.as_bytes()]).to_hex();
        text.push_str(&sum);
        let mut bytes = text.into_bytes();
        (bytes.len() < SLOT).then(|| {
            bytes.resize(SLOT - 1, b' ');
            bytes.push(b'\n');
            bytes
        })
    }
}

/// Where in the anchor's file the slot of number `turn` stands: they take turns, so that a power cut tears one at most.
pub(crate) fn place_of(turn: u64) -> u64 {
    TREES_BEGIN + turn % TREES * SLOT as u64
}

fn parse(slot: &[u8]) -> Option<KnownTree> {
    let text = std::str::from_utf8(slot).ok()?.trim_end();
    let (summed, sum) = text.split_at_checked(text.rfind(' ')? + 1)?;
    if Digest::of(&[summed.as_bytes()]).to_hex() != sum {
        return None;
    }
    let mut words = summed.trim_end().split(' ');
    if words.next()? != NAME {
        return None;
    }
    let position = LogPosition {
        file: words.next()?.to_owned(),
        offset: words.next()?.parse().ok()?,
        head: Head {
            seq: words.next()?.parse().ok()?,
            hash: Digest::from_hex(words.next()?).ok()?,
        },
    };
    let (notes, covered) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let size = words.next()?.parse().ok()?;
    let peaks: Result<Vec<_>, _> = words.map(Digest::from_hex).collect();
    Some(KnownTree {
        position,
        tree: Tree::of(size, peaks.ok()?)?,
        notes,
        covered,
    })
}

const NAME: &str = "signet-tree/1";
/// Where the slots of the tree begin: behind the three of the anchor.
pub(crate) const TREES_BEGIN: u64 = 3 * 512;
const TREES: u64 = 2;
/// Bytes of a slot. There is room for 57 peaks; a month of 2^57 lines has no more.
const SLOT: usize = 4096;
/// Bytes of the anchor's file.
pub(crate) const ANCHOR_FILE: usize = TREES_BEGIN as usize + TREES as usize * SLOT;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merkle::leaf;

    fn known(lines: u64) -> KnownTree {
        let mut tree = Tree::default();
        (0..lines).for_each(|line| tree.push(leaf(line.to_string().as_bytes())));
        KnownTree {
            position: LogPosition {
                file: "inter-agent-2026-02.jsonl".into(),
                offset: 40 * lines,
                head: Head {
                    seq: lines,
                    hash: Digest([7; 32]),
                },
            },
            tree,
            notes: 321,
            covered: lines / 2,
        }
    }

    #[test]
    fn a_tree_is_read_as_it_was_written() {
        for lines in [1, 2, 255, 256, 1023, 1024] {
            let (known, slot) = (known(lines), known(lines).slot().unwrap());
            assert_eq!((slot.len(), parse(&slot)), (SLOT, Some(known)));
        }
    }

    #[test]
    fn a_slot_that_is_torn_or_has_another_byte_is_none() {
        let slot = known(1023).slot().unwrap();
        let end = slot.iter().rposition(|byte| *byte > b' ').unwrap();
        for place in 0..=end {
            let mut torn = slot.clone();
            torn[place] ^= 1;
            assert_eq!(parse(&torn), None, "byte {place}");
            assert_eq!(parse(&slot[..place]), None, "cut at {place}");
        }
    }

    #[test]
    fn peaks_that_are_not_those_of_the_size_make_no_tree() {
        let peaks = known(6).tree.peaks().to_vec();
        assert!(Tree::of(6, peaks.clone()).is_some());
        for size in [0, 1, 2, 4, 7, 8, 15] {
            assert_eq!(Tree::of(size, peaks.clone()), None, "{size}");
        }
    }

    /// No month has so many lines; a tree that does not fit is hashed anew by the start.
    #[test]
    fn a_tree_with_more_peaks_than_a_slot_has_room_for_is_not_written_down() {
        let of = |peaks: usize, file: String| {
            let mut known = known(1);
            known.tree = Tree::of((1 << peaks) - 1, vec![Digest([7; 32]); peaks]).unwrap();
            known.position.file = file;
            known
        };
        let name = known(1).position.file;
        assert!(of(57, name.clone()).slot().is_some());
        assert_eq!(of(63, name).slot(), None);
        let longest = (0..999)
            .rev()
            .find(|length| of(57, "x".repeat(*length)).slot().is_some());
        let most = of(57, "x".repeat(longest.unwrap()));
        let slot = most.slot().unwrap();
        assert_eq!((slot.len(), parse(&slot)), (SLOT, Some(most)));
    }
}
