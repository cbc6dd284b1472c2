//! What became of the messages that we sent to one peer, for as long as somebody may ask.

use std::collections::{BTreeSet, HashMap};

use crate::ids::MessageId;
use crate::time::Timestamp;

use super::State;

/// How many ends of messages to one peer are remembered; the log has them all.
const REMEMBERED: usize = 10_000;

/// The newest ends, by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Fates {
    ends: HashMap<MessageId, (Timestamp, State)>,
    /// Since when, oldest first.
    order: BTreeSet<(Timestamp, MessageId)>,
}

impl Fates {
    /// Notes an end, unless a better one is known. Says whether it was news.
    pub(super) fn note(&mut self, now: Timestamp, name: MessageId, state: State) -> bool {
        match self.ends.get(&name) {
            Some((_, known)) if !state.outranks(known) => return false,
            Some((since, _)) => drop(self.order.remove(&(*since, name))),
            None if self.order.len() >= REMEMBERED => {
                let oldest = self.order.pop_first();
                oldest.map(|(_, oldest)| self.ends.remove(&oldest));
            }
            None => {}
        }
        self.put(now, name, state);
        true
    }

    /// It was no end.
    pub(super) fn forget(&mut self, name: MessageId) {
        if let Some((since, _)) = self.ends.remove(&name) {
            self.order.remove(&(since, name));
        }
    }

    /// Notes an end as it was noted before.
    pub(super) fn put(&mut self, since: Timestamp, name: MessageId, state: State) {
        self.order.insert((since, name));
        self.ends.insert(name, (since, state));
    }

    /// All that is remembered.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&MessageId, &(Timestamp, State))> {
        self.ends.iter()
    }

    /// Where a message is, and since when.
    pub(super) fn of(&self, name: MessageId) -> Option<&(Timestamp, State)> {
        self.ends.get(&name)
    }
}
