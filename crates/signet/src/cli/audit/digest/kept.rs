//! The part that a digest keeps of much: the newest, and how much more there was. However long a log is, and whatever names strangers make
//! up in it, this does not grow.

use std::collections::{BTreeMap, VecDeque};

use signet_proto::ids::AgentId;

/// The newest of many, and how many there were.
#[derive(Debug)]
pub(super) struct NewestEvents<T> {
    pub(super) kept: VecDeque<T>,
    pub(super) count: u64,
}

/// Whose refusal it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RefusedBy {
    /// This agent's daemon, of what came.
    Here,
    /// Another agent, of what was said to it.
    There,
    /// This agent's daemon, of what its own programs tried.
    OwnRules,
}

/// Refusals by who refused and why.
#[derive(Debug, Default)]
pub(super) struct RefusalGroups {
    pub(super) groups: BTreeMap<(RefusedBy, String), RefusalGroup>,
    /// Refusals under reasons beyond the first [`MOST_REASONS`]: a peer may name each time another one.
    pub(super) others: u64,
}

/// Those of one reason.
#[derive(Debug, Default)]
pub(super) struct RefusalGroup {
    pub(super) count: u64,
    /// Agents that it concerns, as far as a signature proves it; the first few.
    pub(super) peers: Vec<AgentId>,
    pub(super) has_more: bool,
}

impl RefusalGroups {
    pub(super) fn count(&mut self, by: RefusedBy, reason: &str, peer: Option<AgentId>, times: u64) {
        let name = (by, reason.to_owned());
        if self.groups.len() >= MOST_REASONS && !self.groups.contains_key(&name) {
            self.others = self.others.saturating_add(times);
            return;
        }
        let group = self.groups.entry(name).or_default();
        group.count = group.count.saturating_add(times);
        let Some(peer) = peer.filter(|peer| !group.peers.contains(peer)) else {
            return;
        };
        match group.peers.len() < NAMED {
            true => group.peers.push(peer),
            false => group.has_more = true,
        }
    }
}

impl<T> NewestEvents<T> {
    pub(super) fn push(&mut self, one: T) {
        self.count += 1;
        if self.kept.len() == ROWS {
            self.kept.pop_front();
        }
        self.kept.push_back(one);
    }
}

impl<T> Default for NewestEvents<T> {
    fn default() -> Self {
        Self {
            kept: VecDeque::new(),
            count: 0,
        }
    }
}

/// Events of a kind that are told one by one: the newest.
pub(super) const ROWS: usize = 20;
/// Reasons that are told apart.
const MOST_REASONS: usize = 100;
/// Agents that are named beside a reason.
const NAMED: usize = 3;
