//! A sorted map that others hold as it was: a change copies one block of it, and not all.
//!
//! ```text
//! map ──▶ [ block, block, … ] ──▶ [ (key, value) … ]      a block belongs to every map that has it
//! ```
//!
//! Workers verify by the trust store as it was when they began, so that each change of it meets somebody who holds what
//! it was before. Nothing is ever taken out.

use std::sync::Arc;

/// How many stand in one block.
const BLOCK: usize = 64;

/// A sorted map, cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct SharedMap<K, V>(Arc<Vec<SharedBlock<K, V>>>);

/// Sorted, in each block and from block to block. None is empty.
type SharedBlock<K, V> = Arc<Vec<(K, V)>>;

impl<K, V> Default for SharedMap<K, V> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K: Ord + Clone, V: Clone> SharedMap<K, V> {
    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        let block = self.0.get(self.block_of(key))?;
        let at = block.binary_search_by(|(other, _)| other.cmp(key)).ok()?;
        block.get(at).map(|(_, value)| value)
    }

    pub(crate) fn contains_key(&self, key: &K) -> bool {
        self.get(key).is_some()
    }

    /// All of them, by key.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        let all = self.0.iter().flat_map(|block| block.iter());
        all.map(|(key, value)| (key, value))
    }

    pub(crate) fn insert(&mut self, key: K, value: V) {
        let (new, other) = (value.clone(), value);
        self.change_or_insert(&key, || new, |place| *place = other);
    }

    /// Changes what stands under a key; `new` is put there first where nothing does.
    pub(crate) fn change_or_insert(
        &mut self,
        key: &K,
        new: impl FnOnce() -> V,
        change: impl FnOnce(&mut V),
    ) {
        let index = self.block_of(key);
        let blocks = Arc::make_mut(&mut self.0);
        if blocks.is_empty() {
            blocks.push(Arc::default());
        }
        let Some(block) = blocks.get_mut(index).map(Arc::make_mut) else {
            return;
        };
        let at = match block.binary_search_by(|(other, _)| other.cmp(key)) {
            Ok(at) => at,
            Err(at) => {
                block.insert(at, (key.clone(), new()));
                at
            }
        };
        if let Some((_, value)) = block.get_mut(at) {
            change(value);
        }
        if block.len() > BLOCK {
            let rest = block.split_off(BLOCK / 2);
            block.shrink_to_fit();
            blocks.insert(index + 1, Arc::new(rest));
        }
    }

    /// Whether both are the same moment of one map. A map that changes shares not all with those before.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The block that the key stands in, or belongs in.
    fn block_of(&self, key: &K) -> usize {
        let begins_before =
            |block: &SharedBlock<K, V>| block.first().is_some_and(|(first, _)| first <= key);
        let behind = self.0.partition_point(begins_before);
        // Take the last block that begins at or before the key. If no block does, the key is smaller than all others and
        // belongs in the first block.
        behind.saturating_sub(1)
    }
}

impl<K: Ord + Clone, V: Clone> FromIterator<(K, V)> for SharedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(all: I) -> Self {
        let mut map = Self::default();
        for (key, value) in all {
            map.insert(key, value);
        }
        map
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn all(map: &SharedMap<u64, u64>) -> Vec<(u64, u64)> {
        map.iter().map(|(key, value)| (*key, *value)).collect()
    }

    #[test]
    fn in_whatever_order_keys_come_it_holds_what_a_tree_holds() {
        let mixed = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 50;
        for order in [|n| n, |n| 10_000 - n, mixed] {
            let (mut map, mut tree) = (SharedMap::default(), BTreeMap::new());
            for n in 0..5_000 {
                map.insert(order(n), n);
                tree.insert(order(n), n);
                map.change_or_insert(&order(n / 2), || 0, |value| *value += 1);
                *tree.entry(order(n / 2)).or_insert(0) += 1;
            }
            assert_eq!(all(&map), tree.clone().into_iter().collect::<Vec<_>>());
            for key in 0..20_000 {
                assert_eq!(map.get(&key), tree.get(&key));
            }
            assert!(map.0.len() <= tree.len() / (BLOCK / 2) + 1);
        }
    }

    #[test]
    fn who_holds_it_as_it_was_sees_no_change_and_most_of_it_is_shared() {
        let mut map: SharedMap<u64, u64> = (0..10_000).map(|n| (2 * n, n)).collect();
        let (before, held) = (all(&map), map.clone());
        assert!(held.is_same(&map));
        map.insert(5_001, 0);
        map.insert(8_000, 0);
        assert!(!held.is_same(&map));
        assert_eq!(all(&held), before);
        let shared = map
            .0
            .iter()
            .filter(|block| held.0.iter().any(|other| Arc::ptr_eq(block, other)));
        assert!(
            map.0.len() - shared.count() <= 3,
            "two blocks were changed, and one of them split"
        );
    }
}
