//! The message-ids that one peer has used: many, kept small, and shared with a snapshot of the state
//! instead of copied.
//!
//! ```text
//! name ──▶ until ──▶ block ──▶ hash          a block belongs to the node and to every snapshot that
//!                    [ (until, name, hash) … ]     has it; whoever changes it copies it first
//! ```

use std::collections::{BTreeMap, VecDeque};
use std::iter;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use crate::ids::{Digest, MessageId};
use crate::time::Timestamp;

/// How many message-ids of one peer are remembered; beyond that the one that would be forgotten first
/// is, and the sequence window alone keeps its copy out.
const NAMES: usize = 200_000;
/// How long a message-id is remembered after the message expired.
const NAME_LIFE: Duration = Duration::from_secs(30 * 24 * 3600);
/// How many stand in one block.
const BLOCK: usize = 512;
/// How many share a row of a snapshot at most.
pub(in crate::node) const GROUP: usize = 256;
/// Bits of the key by which names are sorted: a time and an id.
const BITS: usize = 64 + 128;

/// A message-id that was used.
#[derive(Clone, Copy, Debug)]
pub(in crate::node) struct Name {
    /// How long it is remembered.
    pub(in crate::node) until: Timestamp,
    pub(in crate::node) name: MessageId,
    /// The hash of the message.
    pub(in crate::node) hash: Digest,
}

type Block = VecDeque<Name>;

/// What a snapshot has of them.
#[derive(Clone, Debug, Default)]
pub(in crate::node) struct Shared(VecDeque<Arc<Block>>);

/// The message-ids that a peer has used.
#[derive(Debug, Default)]
pub(in crate::node) struct SeenIds {
    // A B-tree and no hash table: while new names replace old ones again and again, a hash table grows to twice the size in the
    // end.
    until: BTreeMap<MessageId, Timestamp>,
    /// Soonest forgotten first, in each block and from block to block. None is empty.
    blocks: VecDeque<Arc<Block>>,
}

impl SeenIds {
    /// The hash of the message that was first seen under a name.
    pub(in crate::node) fn hash_of(&self, name: MessageId) -> Option<Digest> {
        let until = *self.until.get(&name)?;
        let block = self.blocks.get(self.block_of(until, name))?;
        let key = (until, name);
        let at = block.binary_search_by_key(&key, Name::key).ok()?;
        block.get(at).map(|name| name.hash)
    }

    /// Remembers a name, and forgets those whose time is over, and the first over the limit.
    pub(in crate::node) fn insert(
        &mut self,
        name: MessageId,
        hash: Digest,
        expires: Timestamp,
        now: Timestamp,
    ) {
        self.put_back(Name {
            until: expires.saturating_add(NAME_LIFE),
            name,
            hash,
        });
        let is_over = |names: &Self| {
            let first = names.blocks.front().and_then(|block| block.front());
            names.until.len() > NAMES || first.is_some_and(|first| first.until < now)
        };
        while is_over(self) {
            self.forget_first();
        }
    }

    /// Puts back a name as it was remembered. One that is known keeps its time.
    pub(in crate::node) fn put_back(&mut self, mut name: Name) {
        // Keep the time that is known for this name: names are sorted by their times, so with another time the name would stand
        // here twice.
        name.until = *self.until.entry(name.name).or_insert(name.until);
        let key = name.key();
        let index = self.block_of(name.until, name.name);
        let is_behind = |block: &Arc<Block>| block.back().is_none_or(|last| last.key() < key);
        let is_last = index + 1 >= self.blocks.len();
        let Some(block) = self.blocks.get_mut(index) else {
            return self.blocks.push_back(Arc::new(Block::from([name])));
        };
        // Names come nearly in the order in which they are forgotten. So begin a new block at the end: if a full block were cut
        // in half there, its first half would stay half empty.
        if block.len() >= BLOCK && is_last && is_behind(block) {
            return self.blocks.push_back(Arc::new(Block::from([name])));
        }
        let block = Arc::make_mut(block);
        match block.binary_search_by_key(&key, Name::key) {
            Ok(at) => block
                .get_mut(at)
                .into_iter()
                .for_each(|known| *known = name),
            Err(at) => block.insert(at, name),
        }
        if block.len() > BLOCK {
            let rest = block.split_off(BLOCK / 2);
            // Shrink the half that stays in this block: otherwise it would keep the memory of the whole block.
            block.shrink_to_fit();
            self.blocks.insert(index + 1, Arc::new(rest));
        }
    }

    /// All of them, for a snapshot: nothing is copied.
    pub(in crate::node) fn share(&self) -> Shared {
        Shared(self.blocks.clone())
    }

    fn forget_first(&mut self) {
        let Some(block) = self.blocks.front_mut().map(Arc::make_mut) else {
            return;
        };
        if let Some(first) = block.pop_front() {
            self.until.remove(&first.name);
        }
        if block.is_empty() {
            self.blocks.pop_front();
        }
    }

    /// The block that the name stands in, or belongs in; 0 when there is none.
    fn block_of(&self, until: Timestamp, name: MessageId) -> usize {
        let key = (until, name);
        let begins_before =
            |block: &Arc<Block>| block.front().is_some_and(|first| first.key() <= key);
        let behind = self.blocks.partition_point(begins_before);
        behind.saturating_sub(1)
    }
}

impl Name {
    /// The key by which names are sorted.
    pub(in crate::node) fn key(&self) -> (Timestamp, MessageId) {
        (self.until, self.name)
    }

    /// Whether a bit of the key is set, by its number from the front.
    fn has_bit(&self, bit: usize) -> bool {
        let (until, id) = (self.until.to_be_bytes(), self.name.as_bytes());
        let byte = until.iter().chain(id).nth(bit / 8);
        byte.is_some_and(|byte| byte << (bit % 8) & 0x80 != 0)
    }
}

impl Shared {
    /// All of them, in the order in which they are forgotten, by at most [`GROUP`] at once. Which names make a group follows
    /// from which names there are, and not from how they came: so a node that lived and one that was told its log make the
    /// same groups.
    pub(in crate::node) fn groups(&self) -> impl Iterator<Item = Vec<Name>> {
        let names = self.0.iter().flat_map(|block| block.iter());
        let names: Vec<&Name> = names.collect();
        let all = (!names.is_empty()).then_some((0..names.len(), 0));
        let mut open = Vec::from_iter(all);
        iter::from_fn(move || {
            loop {
                let (range, bit): (Range<usize>, usize) = open.pop()?;
                let group = names.get(range.clone())?;
                if group.len() <= GROUP || bit == BITS {
                    return Some(group.iter().copied().copied().collect());
                }
                // Cut in two by the next bit of what names are sorted by. A peer that chooses its ids so that they differ only
                // far behind gains nothing: cuts that leave one half empty make no group.
                let middle = range.start + group.partition_point(|name| !name.has_bit(bit));
                let halves = [middle..range.end, range.start..middle];
                let halves = halves.into_iter().filter(|half| !half.is_empty());
                open.extend(halves.map(|half| (half, bit + 1)));
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u64) -> MessageId {
        MessageId::from_parts(n, [7; 10])
    }

    fn at(n: u64) -> Timestamp {
        Timestamp::from_millis(i64::try_from(n).unwrap())
    }

    fn hash(n: u64) -> Digest {
        Digest::of(&[&n.to_be_bytes()])
    }

    /// Numbers that come in no order, and each once.
    fn mixed(n: u64) -> u64 {
        n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40
    }

    type Parts = (MessageId, Timestamp, Digest);

    /// By their ids.
    fn by_id(names: &Shared) -> Vec<Parts> {
        let names = names.groups().flatten();
        let mut names: Vec<_> = names
            .map(|name| (name.name, name.until, name.hash))
            .collect();
        names.sort_unstable();
        names
    }

    fn all(names: &SeenIds) -> Vec<Parts> {
        by_id(&names.share())
    }

    #[test]
    fn in_whatever_order_names_come_each_is_found_and_the_soonest_goes_first() {
        for order in [|n| n, mixed, |n| 1_000_000 - n] {
            let (mut names, mut model) = (SeenIds::default(), BTreeMap::new());
            for n in 0..20_000 {
                let expires = at(order(n));
                names.insert(id(n), hash(n), expires, at(0));
                model.insert(id(n), (expires.saturating_add(NAME_LIFE), hash(n)));
            }
            let expected = model
                .iter()
                .map(|(name, (until, hash))| (*name, *until, *hash));
            assert_eq!(all(&names), expected.collect::<Vec<_>>());
            for n in 0..20_000 {
                assert_eq!(names.hash_of(id(n)), Some(hash(n)));
            }
            assert_eq!(names.hash_of(id(20_000)), None);
            let blocks = names.blocks.len();
            assert!(blocks <= 20_000 / (BLOCK / 2) + 1, "{blocks} blocks");
            let middle = at(0).saturating_add(NAME_LIFE + Duration::from_millis(500_000));
            names.insert(id(30_000), hash(1), middle, middle);
            for (name, (until, hash)) in model {
                let kept = (until >= middle).then_some(hash);
                assert_eq!(names.hash_of(name), kept);
            }
        }
    }

    #[test]
    fn a_snapshot_stays_as_it_was() {
        let mut names = SeenIds::default();
        for n in 0..5_000 {
            names.insert(id(n), hash(n), at(mixed(n)), at(0));
        }
        let (before, shared) = (all(&names), names.share());
        for n in 5_000..9_000 {
            names.insert(id(n), hash(n), at(mixed(n)), at(0));
        }
        let later = at(0).saturating_add(NAME_LIFE + Duration::from_millis(3_000_000));
        names.insert(id(9_000), hash(1), later, later);
        assert_eq!(by_id(&shared), before);
    }

    /// The keys of each group.
    fn groups(names: &SeenIds) -> Vec<Vec<(Timestamp, MessageId)>> {
        let groups = names.share();
        let groups = groups.groups();
        groups
            .map(|group| group.iter().map(Name::key).collect())
            .collect()
    }

    /// A start is held against the log by its rows: other groups of the same names would be a difference.
    #[test]
    fn the_same_names_make_the_same_groups_however_they_came() {
        let all = || (0..20_000).map(|n| (id(n), hash(n), at(mixed(n))));
        let mut sorted: Vec<_> = all().collect();
        sorted.sort_unstable_by_key(|(name, _, expires)| (*expires, *name));
        let (mut ways, backwards) = (Vec::new(), all().rev());
        let ways_in: [&mut dyn Iterator<Item = _>; 3] =
            [&mut all(), &mut sorted.into_iter(), &mut { backwards }];
        for way in ways_in {
            let mut names = SeenIds::default();
            for (name, hash, expires) in way {
                names.insert(name, hash, expires, at(0));
            }
            ways.push(groups(&names));
        }
        assert!(ways.windows(2).all(|two| two[0] == two[1]));
        let sizes = ways[0].iter().map(Vec::len);
        assert!(sizes.clone().all(|size| (1..=GROUP).contains(&size)));
        assert_eq!(sizes.sum::<usize>(), 20_000);
        assert!(ways[0].len() < 20_000 / (GROUP / 4), "{}", ways[0].len());
        assert!(ways[0].iter().flatten().is_sorted());
    }

    /// The rest of the groups stays as it is, and is not written anew.
    #[test]
    fn a_name_that_comes_or_goes_changes_the_groups_beside_it_alone() {
        let mut names = SeenIds::default();
        for n in 0..20_000 {
            names.insert(id(n), hash(n), at(n), at(0));
        }
        let before = groups(&names);
        names.insert(id(20_000), hash(20_000), at(20_000), at(0));
        names.forget_first();
        let after = groups(&names);
        let changed = after.iter().filter(|group| !before.contains(group));
        assert!(changed.count() <= 3);
    }

    #[test]
    fn ids_of_one_time_that_differ_in_their_last_bits_share_groups_too() {
        let mut names = SeenIds::default();
        for n in 0..20_000_u64 {
            let [.., a, b] = n.to_be_bytes();
            let name = MessageId::from_parts(7, [0, 0, 0, 0, 0, 0, 0, 0, a, b]);
            names.insert(name, hash(n), at(5), at(0));
        }
        let groups = groups(&names).len();
        assert!(groups < 20_000 / (GROUP / 4), "{groups}");
    }

    /// The most that a peer can reach: one name beside each cut, and behind the last cut so many that all were needed.
    #[test]
    fn a_peer_that_chooses_its_times_and_ids_leaves_most_names_in_shared_groups() {
        let mut names = SeenIds::default();
        let put = |names: &mut SeenIds, until: u64, n: u64| {
            let until = Timestamp::from_be_bytes(until.to_be_bytes()).unwrap();
            let [.., a, b] = n.to_be_bytes();
            let name = MessageId::from_parts(0, [0, 0, 0, 0, 0, 0, 0, 0, a, b]);
            let hash = hash(n);
            names.put_back(Name { until, name, hash });
        };
        for n in 0..=GROUP as u64 {
            put(&mut names, 0, n);
        }
        for bit in 0..62 {
            put(&mut names, 1 << bit, 1_000 + bit);
        }
        let (groups, names) = (groups(&names).len(), names.until.len());
        assert!((60..70).contains(&groups), "{groups} groups of {names}");
    }

    #[test]
    fn two_hundred_thousand_are_kept_and_the_next_puts_out_the_first() {
        let mut names = SeenIds::default();
        for n in 0..NAMES as u64 + 10 {
            names.insert(id(n), hash(n), at(n), at(0));
        }
        assert_eq!((names.until.len(), names.hash_of(id(9))), (NAMES, None));
        assert_eq!(names.hash_of(id(10)), Some(hash(10)));
    }
}
