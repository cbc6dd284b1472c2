//! When something is next to be done with each peer, the first of all in front: a turn looks at the peers that are due,
//! and at no other.
//!
//! ```text
//! KnownPeers ──who changed──▶ Dates ──▶ by the clock · by the clock that nobody sets · orders
//! ```
//!
//! What stands here follows from the peers and from nothing else, and no row holds it. A time here is never later than
//! the true one; it may be too early, so that whoever asks for the next time asks the peer itself as well.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::ids::AgentId;
use crate::time::Timestamp;

/// The peers by their next times.
#[derive(Debug, Default)]
pub(in crate::node) struct Agenda {
    // Keep `clocked` and `paced` apart, because their times cannot be sorted together: `clocked` has times of the wall clock,
    // which may be set, and `paced` times of the monotonic clock.
    clocked: BTreeSet<(Timestamp, AgentId)>,
    paced: BTreeSet<(Duration, AgentId)>,
    orders: BTreeSet<(Timestamp, AgentId)>,
    /// Whom each timeout looks at.
    awake: BTreeSet<AgentId>,
    /// Whose handshake we answered and that has not gone on.
    half_open: BTreeSet<AgentId>,
    entered: BTreeMap<AgentId, Dates>,
    /// When it was last brought up to date, and whether we could sign then; nothing stands here before that.
    upheld: Option<(Timestamp, bool)>,
    /// Whether the next timeout looks at everybody.
    is_all_due: bool,
}

/// When something is to be done with one peer: at the earliest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Dates {
    /// By the clock.
    pub(super) clocked: Option<Timestamp>,
    /// By the clock that nobody sets.
    pub(super) paced: Option<Duration>,
    /// When it is told our person's orders.
    pub(super) orders: Option<Timestamp>,
    /// Whether each timeout looks at it: what it waits for has no time.
    pub(super) is_awake: bool,
    /// Whether its handshake is half open.
    pub(super) is_half_open: bool,
}

impl Agenda {
    /// Whether what was entered holds now. It does not where the clock is behind the time at which it was entered, by
    /// however little, or our certificate has begun or ended since.
    pub(super) fn holds(&self, now: Timestamp, may_sign: bool) -> bool {
        let holds = |(then, signed)| then <= now && signed == may_sign;
        self.upheld.is_some_and(holds)
    }

    /// It is brought up to date now.
    pub(super) fn uphold(&mut self, now: Timestamp, may_sign: bool) {
        self.is_all_due |= self.upheld.is_none_or(|(_, signed)| signed != may_sign);
        self.upheld = Some((now, may_sign));
    }

    /// Enters a peer anew.
    pub(super) fn enter(&mut self, name: &AgentId, dates: Dates) {
        // Most peers have nothing due: store no entry for them.
        let before = match self.entered.get_mut(name) {
            Some(entered) => std::mem::replace(entered, dates),
            None if dates == Dates::default() => return,
            None => {
                self.entered.insert(name.clone(), dates);
                Dates::default()
            }
        };
        if before == dates {
            return;
        }
        if dates == Dates::default() {
            self.entered.remove(name);
        }
        move_in(&mut self.clocked, name, before.clocked, dates.clocked);
        move_in(&mut self.paced, name, before.paced, dates.paced);
        move_in(&mut self.orders, name, before.orders, dates.orders);
        put_in(&mut self.awake, name, dates.is_awake);
        put_in(&mut self.half_open, name, dates.is_half_open);
    }

    /// The peers by what is due by the clock.
    pub(super) fn clocked(&self) -> impl Iterator<Item = (Timestamp, &AgentId)> {
        self.clocked.iter().map(|(at, name)| (*at, name))
    }

    /// The peers by what is due by the clock that nobody sets.
    pub(super) fn paced(&self) -> impl Iterator<Item = (Duration, &AgentId)> {
        self.paced.iter().map(|(at, name)| (*at, name))
    }

    /// The peers by when they are told our person's orders.
    pub(super) fn orders(&self) -> impl Iterator<Item = (Timestamp, &AgentId)> {
        self.orders.iter().map(|(at, name)| (*at, name))
    }

    /// Who is to be told our person's orders by now, by name.
    pub(in crate::node) fn orders_by(&self, now: Timestamp) -> BTreeSet<AgentId> {
        let orders = self.orders().take_while(|(from, _)| *from <= now);
        orders.map(|(_, name)| name.clone()).collect()
    }

    /// Whose handshakes are half open.
    pub(super) fn half_open(&self) -> &BTreeSet<AgentId> {
        &self.half_open
    }

    /// Whom a timeout looks at now, by name; `None` for everybody.
    pub(super) fn take_due(
        &mut self,
        now: Timestamp,
        elapsed: Duration,
    ) -> Option<BTreeSet<AgentId>> {
        // This is the first look, or our certificate has begun or ended since the last one, and with it our right to sign. Look
        // at every peer: drafts to any of them may have waited for that.
        if std::mem::take(&mut self.is_all_due) {
            return None;
        }
        let clocked = self.clocked().take_while(|(at, _)| *at <= now);
        let clocked = clocked.map(|(_, name)| name);
        let paced = self.paced().take_while(|(at, _)| *at <= elapsed);
        let paced = paced.map(|(_, name)| name);
        let due = clocked.chain(paced).chain(&self.awake);
        Some(due.cloned().collect())
    }
}

fn move_in<T: Ord + Copy>(
    times: &mut BTreeSet<(T, AgentId)>,
    name: &AgentId,
    before: Option<T>,
    after: Option<T>,
) {
    if before == after {
        return;
    }
    if let Some(before) = before {
        times.remove(&(before, name.clone()));
    }
    if let Some(after) = after {
        times.insert((after, name.clone()));
    }
}

fn put_in(names: &mut BTreeSet<AgentId>, name: &AgentId, is_in: bool) {
    match is_in {
        true => _ = names.insert(name.clone()),
        false => _ = names.remove(name),
    }
}
