//! What became of the messages that we sent to one peer, for as long as somebody may ask.

use std::collections::{HashMap, VecDeque};

use crate::ids::MessageId;
use crate::time::Timestamp;

use super::State;

/// How many ends of messages to one peer are remembered; the log has them all.
const REMEMBERED: usize = 10_000;

/// The newest ends, by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Fates {
    ends: HashMap<MessageId, (Timestamp, State)>,
    order: VecDeque<MessageId>,
}

impl Fates {
    /// Notes an end, unless a better one is known. Says whether it was news.
    pub(super) fn note(&mut self, now: Timestamp, name: MessageId, state: State) -> bool {
        if let Some(known) = self.ends.get_mut(&name) {
            let news = state.outranks(&known.1);
            if news {
                *known = (now, state);
            }
            return news;
        }
        if self.order.len() >= REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.ends.remove(&oldest);
        }
        self.order.push_back(name);
        self.ends.insert(name, (now, state));
        true
    }

    /// Where a message is, and since when.
    pub(super) fn of(&self, name: MessageId) -> Option<&(Timestamp, State)> {
        self.ends.get(&name)
    }
}
