//! Rows that many entries share: the message-ids that a peer has used, and what was judged under each number of a session,
//! both by the thousand. A row for each would cost a node that takes in mail a tenth of its processor time, since
//! all rows are made and compared at every snapshot.
//!
//! ```text
//! names      <peer> <until> <id>              "until 8 · id 16 · hash 32 …"   at most 256, in the order of being forgotten
//! windows    <peer> <session> <number / 256>  {"judged": "number mod 256 1 · signed 8 · hash 32 …", "refused": {number: why}}
//! ```
//!
//! Numbers of more than one byte are big-endian, and the bytes are written as base64url.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::{Digest, MessageId, decode_base64url, encode_base64url};
use crate::node::peers::seen::{GROUP, Name};
use crate::reject::Reason;
use crate::session::Slot;
use crate::time::Timestamp;

/// Records of `N` bytes each, one behind the other.
#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent)]
struct Packed<const N: usize>(String);

/// A group of message-ids.
#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct NamesRow(Packed<NAME>);

/// Numbers of a session that share all but their last eight bits.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WindowRow {
    /// Why, for those that were refused.
    refused: BTreeMap<u64, Reason>,
    judged: Packed<SLOT>,
}

impl<const N: usize> Packed<N> {
    fn of(records: impl Iterator<Item = [u8; N]>) -> Self {
        let bytes: Vec<u8> = records.flatten().collect();
        Self(encode_base64url(&bytes))
    }

    /// At least one, and at most `most`.
    fn records(&self, most: usize) -> Option<Vec<[u8; N]>> {
        let bytes = decode_base64url(&self.0).ok()?;
        let (records, rest) = bytes.as_chunks();
        let is_whole = rest.is_empty() && (1..=most).contains(&records.len());
        is_whole.then(|| records.to_vec())
    }
}

impl NamesRow {
    /// The row of a group, and the part of its key behind the peer: the time and the id of the first.
    pub(super) fn of(names: &[Name]) -> (String, Self) {
        let key = names.first().map(key_of_first).unwrap_or_default();
        let row = Self(Packed::of(names.iter().map(|name| {
            let mut record = [0; NAME];
            let (until, rest) = record.split_at_mut(TIME);
            let (id, hash) = rest.split_at_mut(ID);
            until.copy_from_slice(&name.until.to_be_bytes());
            id.copy_from_slice(name.name.as_bytes());
            hash.copy_from_slice(name.hash.as_bytes());
            record
        })));
        (key, row)
    }

    /// The names of a row with that part of a key; none where the two do not fit.
    pub(super) fn read(&self, key: &str) -> Option<Vec<Name>> {
        let names = self.0.records(GROUP)?;
        let names = names.iter().map(|record| {
            let (until, rest) = record.split_first_chunk()?;
            let (id, hash) = rest.split_first_chunk()?;
            Some(Name {
                until: Timestamp::from_be_bytes(*until)?,
                name: MessageId::from_bytes(*id)?,
                hash: Digest(hash.try_into().ok()?),
            })
        });
        let names: Vec<_> = names.collect::<Option<_>>()?;
        let fits = names
            .first()
            .is_some_and(|first| key_of_first(first) == key);
        let is_sorted = names.is_sorted_by(|one, next| one.key() < next.key());
        (fits && is_sorted).then_some(names)
    }
}

/// Sorted as text, the keys of groups come in the order of the groups.
fn key_of_first(first: &Name) -> String {
    let until = u64::from_be_bytes(first.until.to_be_bytes());
    format!("{until:016x} {}", first.name)
}

impl WindowRow {
    /// The rows of a session's numbers, which come in their order.
    pub(super) fn all<'s>(slots: impl Iterator<Item = (u64, &'s Slot)>) -> BTreeMap<u64, Self> {
        let mut groups: BTreeMap<u64, Vec<(u64, &Slot)>> = BTreeMap::new();
        for (number, slot) in slots {
            groups
                .entry(number / NUMBERS)
                .or_default()
                .push((number, slot));
        }
        let row = |(group, slots): (u64, Vec<_>)| (group, Self::of(&slots));
        groups.into_iter().map(row).collect()
    }

    fn of(slots: &[(u64, &Slot)]) -> Self {
        let refused = slots.iter();
        let refused = refused.filter_map(|(number, slot)| Some((*number, slot.refused?)));
        let judged = slots.iter().map(|(number, slot)| {
            let mut record = [0; SLOT];
            let (place, rest) = record.split_at_mut(1);
            let (signed_at, hash) = rest.split_at_mut(TIME);
            place.copy_from_slice(&[(number % NUMBERS) as u8]);
            signed_at.copy_from_slice(&slot.signed_at.to_be_bytes());
            hash.copy_from_slice(slot.hash.as_bytes());
            record
        });
        Self {
            refused: refused.collect(),
            judged: Packed::of(judged),
        }
    }

    /// The numbers of a group, and what was judged under each; none where a part of the row does not fit the rest.
    pub(super) fn read(mut self, group: u64) -> Option<Vec<(u64, Slot)>> {
        let first = group.checked_mul(NUMBERS)?;
        let slots = self.judged.records(NUMBERS as usize)?;
        let slots = slots.iter().map(|record| {
            let ([place], rest) = record.split_first_chunk()?;
            let (signed_at, hash) = rest.split_first_chunk()?;
            let number = first + u64::from(*place);
            let slot = Slot {
                hash: Digest(hash.try_into().ok()?),
                signed_at: Timestamp::from_be_bytes(*signed_at)?,
                refused: self.refused.remove(&number),
            };
            Some((number, slot))
        });
        let slots: Vec<_> = slots.collect::<Option<_>>()?;
        let is_sorted = slots.is_sorted_by(|one, next| one.0 < next.0);
        (is_sorted && self.refused.is_empty()).then_some(slots)
    }
}

/// In bytes.
const TIME: usize = 8;
const ID: usize = 16;
const HASH: usize = 32;
const NAME: usize = TIME + ID + HASH;
const SLOT: usize = 1 + TIME + HASH;
/// How many numbers share a row.
const NUMBERS: u64 = 1 << u8::BITS;

#[cfg(test)]
mod tests {
    use super::*;

    fn name(n: u64) -> Name {
        Name {
            until: Timestamp::from_millis(n as i64),
            name: MessageId::from_parts(n, [7; 10]),
            hash: Digest::of(&[&n.to_be_bytes()]),
        }
    }

    fn slot(n: u64, refused: Option<Reason>) -> Slot {
        Slot {
            hash: Digest::of(&[&n.to_be_bytes()]),
            signed_at: Timestamp::from_millis(n as i64),
            refused,
        }
    }

    fn parts(names: &[Name]) -> Vec<(Timestamp, MessageId, Digest)> {
        let names = names.iter();
        names
            .map(|name| (name.until, name.name, name.hash))
            .collect()
    }

    #[test]
    fn names_are_read_as_they_were_written_and_under_their_own_key_alone() {
        for count in [1, 2, GROUP as u64] {
            let names: Vec<_> = (5..5 + count).map(name).collect();
            let (key, row) = NamesRow::of(&names);
            assert_eq!(parts(&row.read(&key).unwrap()), parts(&names));
            let (other, _) = NamesRow::of(&[name(4)]);
            assert!(other < key && row.read(&other).is_none());
        }
    }

    #[test]
    fn numbers_are_read_as_they_were_written_and_keep_why_they_were_refused() {
        let why = |n| (n % 7 == 0).then_some(Reason::Expired);
        let slots: Vec<_> = [1, 7, 255, 256, 511, 1024, (1 << 53) - 1]
            .map(|n| (n, slot(n, why(n))))
            .to_vec();
        let rows = WindowRow::all(slots.iter().map(|(number, slot)| (*number, slot)));
        assert_eq!(rows.len(), 4);
        let read = rows.into_iter();
        let read = read.flat_map(|(group, row)| row.read(group).unwrap());
        assert_eq!(read.collect::<Vec<_>>(), slots);
    }

    /// The log makes again what a damaged row does not say.
    #[test]
    fn a_row_that_no_node_writes_is_read_by_nobody() {
        let whole = Packed::<NAME>::of(std::iter::repeat_n([0; NAME], GROUP + 1));
        assert!(whole.records(GROUP).is_none());
        let none = Packed::<NAME>::of([].into_iter());
        assert!(none.records(GROUP).is_none());
        let cut = Packed::<NAME>(encode_base64url(&[0; NAME + 1]));
        assert!(cut.records(GROUP).is_none());
        let mut rows = WindowRow::all([(300, &slot(300, None))].into_iter());
        let mut row = rows.remove(&1).unwrap();
        row.refused.insert(301, Reason::Expired);
        assert!(row.read(1).is_none());
        let twice = WindowRow {
            refused: BTreeMap::new(),
            judged: Packed::of(std::iter::repeat_n([0; SLOT], 2)),
        };
        assert!(twice.read(0).is_none());
        let (key, row) = NamesRow::of(&[name(5), name(4)]);
        assert!(row.read(&key).is_none());
        let more = r#"{"judged":"","other":1,"refused":{}}"#;
        assert!(serde_json::from_str::<WindowRow>(more).is_err());
        let last = WindowRow::all([(300, &slot(300, None))].into_iter());
        assert!(last.into_values().all(|row| row.read(u64::MAX).is_none()));
    }

    #[test]
    fn a_time_or_an_id_that_is_none_is_read_by_nobody() {
        for at in [0, TIME + 6, TIME + 8] {
            let names = [name(5)];
            let (key, row) = NamesRow::of(&names);
            let mut records = row.0.records(1).unwrap();
            records[0][at] = 0xff;
            let row = NamesRow(Packed::of(records.into_iter()));
            assert!(row.read(&key).is_none(), "{at}");
        }
    }
}
