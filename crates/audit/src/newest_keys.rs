//! The newest of many things, found by their keys: what a proof of a long log remembers, in memory that does not grow.

use std::collections::VecDeque;
use std::hash::{BuildHasher as _, Hash, RandomState};

use hashbrown::HashTable;

/// So many keys as it was made for, with a value each; a newer one takes the place of the oldest.
pub(crate) struct NewestKeys<K, V> {
    most: usize,
    /// From the oldest to the newest.
    order: VecDeque<(K, V)>,
    /// How many were forgotten, which is the number of the oldest.
    forgotten: u64,
    /// The lower half of each one's number, found by its key. A key stands in `order` alone, because a map with keys of its own
    /// took three times as much memory.
    numbers: HashTable<u32>,
    hashing: RandomState,
}

impl<K: Eq + Hash, V> NewestKeys<K, V> {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            order: VecDeque::new(),
            forgotten: 0,
            numbers: HashTable::new(),
            hashing: RandomState::new(),
        }
    }

    /// Takes a key as the newest; one that is known keeps its place and gets the new value.
    pub(crate) fn push(&mut self, key: K, value: V) {
        if let Some(known) = self.get_mut(&key) {
            *known = value;
            return;
        }
        // Forget the oldest key before adding one: `most` is usually a power of two, and a queue that holds one more
        // than a power of two doubles its memory.
        if self.order.len() >= self.most {
            self.forget_oldest();
        }
        let number = self.forgotten.wrapping_add(self.order.len() as u64) as u32;
        let (hash, oldest) = (self.hashing.hash_one(&key), self.oldest());
        self.order.push_back((key, value));
        let (order, hashing) = (&self.order, &self.hashing);
        self.numbers.insert_unique(hash, number, |number| {
            let known = order.get(number.wrapping_sub(oldest) as usize);
            known.map_or(0, |(key, _)| hashing.hash_one(key))
        });
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        let (_, value) = self.order.get(self.place(key)?)?;
        Some(value)
    }

    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let place = self.place(key)?;
        let (_, value) = self.order.get_mut(place)?;
        Some(value)
    }

    /// Whether there were more than it remembers.
    pub(crate) fn has_forgotten(&self) -> bool {
        self.forgotten > 0
    }

    fn forget_oldest(&mut self) {
        let Some((key, _)) = self.order.pop_front() else {
            return;
        };
        let (hash, oldest) = (self.hashing.hash_one(&key), self.oldest());
        if let Ok(found) = self.numbers.find_entry(hash, |number| *number == oldest) {
            found.remove();
        }
        self.forgotten += 1;
    }

    fn oldest(&self) -> u32 {
        self.forgotten as u32
    }

    /// Where in `order` the key stands.
    fn place(&self, key: &K) -> Option<usize> {
        let place = |number: &u32| number.wrapping_sub(self.oldest()) as usize;
        let is_it = |number: &u32| {
            let known = self.order.get(place(number));
            known.is_some_and(|(known, _)| known == key)
        };
        let number = self.numbers.find(self.hashing.hash_one(key), is_it)?;
        Some(place(number))
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        assert_eq!(self.order.len(), self.numbers.len());
        self.order.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_are_remembered_and_the_oldest_is_forgotten_first() {
        let mut newest = NewestKeys::new(100);
        for number in 0..1_000_u64 {
            assert_eq!(newest.has_forgotten(), number > 100);
            newest.push(number, number + 1);
            assert_eq!(newest.get(&number), Some(&(number + 1)));
            let oldest = number.saturating_sub(99);
            assert_eq!(newest.get(&oldest), Some(&(oldest + 1)));
            assert_eq!(
                newest.get(&number.saturating_sub(100)).is_some(),
                number < 100
            );
        }
        assert_eq!((newest.len(), newest.get(&1_000)), (100, None));
    }

    #[test]
    fn a_known_key_keeps_its_place_and_has_its_new_value() {
        let mut newest = NewestKeys::new(2);
        for (key, value) in [("a", 1), ("b", 2), ("a", 3)] {
            newest.push(key, value);
        }
        assert_eq!((newest.get(&"a"), newest.len()), (Some(&3), 2));
        *newest.get_mut(&"b").unwrap() = 4;
        newest.push("c", 5);
        let found = ["a", "b", "c"].map(|key| newest.get(&key).copied());
        assert_eq!(found, [None, Some(4), Some(5)]);
    }

    /// Numbers are kept by their lower half: after so many it begins again.
    #[test]
    fn things_are_found_when_their_numbers_pass_four_thousand_million() {
        let mut newest = NewestKeys::new(64);
        newest.forgotten = u64::from(u32::MAX) - 100;
        for number in 0..300 {
            newest.push(number, ());
            assert!(newest.get(&number).is_some(), "{number}");
        }
        assert!(newest.get(&236).is_some() && newest.get(&235).is_none());
        assert_eq!(newest.len(), 64);
    }
}
