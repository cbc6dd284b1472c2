//! Which keys have a table, and which is the next to get one or to lose it. It makes none itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::TableBudget;
use super::strict::KeyTable;

/// Keys without a table whose signatures are counted; the one that signed longest ago makes room.
const COUNTED: usize = 256;
/// Signatures that hold until a table that none of them used may make room for another. With 64 tables one is made for every
/// 64 signatures at most, however many peers take turns: making them can cost a message 4 microseconds, and no more.
const IDLE: u64 = 4_096;

/// A public key as it is looked up (RFC 8032).
type KeyBytes = [u8; 32];

/// The tables, and the count that decides about them.
pub(super) struct TableShelf {
    budget: TableBudget,
    /// Signatures that held so far: the only clock here.
    clock: u64,
    made: u64,
    places: BTreeMap<KeyBytes, TablePlace>,
    counts: BTreeMap<KeyBytes, Count>,
}

/// A table's place.
struct TablePlace {
    /// None while somebody makes it.
    table: Option<Arc<KeyTable>>,
    /// The clock when a signature last held by it.
    last: u64,
}

/// What is known of a key without a table.
struct Count {
    uses: u32,
    last: u64,
}

impl TableShelf {
    pub(super) fn new(budget: TableBudget) -> Self {
        Self {
            budget,
            clock: 0,
            made: 0,
            places: BTreeMap::new(),
            counts: BTreeMap::new(),
        }
    }

    /// The key's table.
    pub(super) fn table(&self, key: &KeyBytes) -> Option<Arc<KeyTable>> {
        self.places.get(key)?.table.clone()
    }

    /// A signature held by the key's table.
    pub(super) fn mark(&mut self, key: &KeyBytes) {
        self.clock += 1;
        if let Some(place) = self.places.get_mut(key) {
            place.last = self.clock;
        }
    }

    /// A signature held without a table: whether it is time to make one.
    pub(super) fn count(&mut self, key: &KeyBytes) -> bool {
        if self.budget.tables == 0 {
            return false;
        }
        self.clock += 1;
        let last = self.clock;
        // Forget the counter of the key that signed longest ago: otherwise ten thousand peers, each of which signs once, would
        // fill the memory with counters.
        if !self.counts.contains_key(key) && self.counts.len() >= COUNTED {
            let oldest = self.counts.iter().min_by_key(|(_, count)| count.last);
            let oldest = oldest.map(|(key, _)| *key);
            oldest.and_then(|oldest| self.counts.remove(&oldest));
        }
        let count = self.counts.entry(*key).or_insert(Count { uses: 0, last });
        count.uses = count.uses.saturating_add(1);
        count.last = last;
        count.uses >= self.budget.uses
    }

    /// Keeps a place for the key's table, where another makes room. Whoever is given it has to `put` the table.
    pub(super) fn reserve(&mut self, key: &KeyBytes) -> bool {
        if self.places.contains_key(key) || !self.has_room() {
            return false;
        }
        self.counts.remove(key);
        let place = TablePlace {
            table: None,
            last: self.clock,
        };
        self.places.insert(*key, place);
        true
    }

    /// Puts a table at its place.
    pub(super) fn put(&mut self, key: &KeyBytes, table: Arc<KeyTable>) {
        if let Some(place) = self.places.get_mut(key) {
            place.table = Some(table);
            self.made += 1;
        }
    }

    /// Tables there are now.
    pub(super) fn held(&self) -> usize {
        self.tables().count()
    }

    /// Tables made so far.
    pub(super) fn made(&self) -> u64 {
        self.made
    }

    /// Bytes of all tables.
    pub(super) fn bytes(&self) -> usize {
        self.tables().map(|table| table.bytes()).sum()
    }

    fn tables(&self) -> impl Iterator<Item = &Arc<KeyTable>> {
        self.places
            .values()
            .filter_map(|place| place.table.as_ref())
    }

    /// Whether a place is free, or becomes free because its table lay idle.
    fn has_room(&mut self) -> bool {
        if self.places.len() < self.budget.tables {
            return true;
        }
        // Free only a place that has a table: a place without one is reserved by a thread that is making its table now.
        let made = self
            .places
            .iter()
            .filter(|(_, place)| place.table.is_some());
        let longest = made.min_by_key(|(_, place)| place.last);
        let idle = longest.filter(|(_, place)| self.clock.saturating_sub(place.last) >= IDLE);
        let idle = idle.map(|(key, _)| *key);
        idle.and_then(|idle| self.places.remove(&idle)).is_some()
    }
}
