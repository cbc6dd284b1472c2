//! The offers that stand: while a program serves them, and for a while after the last of them has gone.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::headers::CapabilityName;
use crate::policy::{Capability, Policy, fits_together};

use super::Program;

/// What programs offer now. No row of the state: a start recalls it from what peers were told.
#[derive(Debug, Default)]
pub(in crate::node) struct Offers(BTreeMap<CapabilityName, Offered>);

#[derive(Debug)]
struct Offered {
    capability: Capability,
    held: Held,
}

#[derive(Debug)]
enum Held {
    /// These connections of one user id serve it.
    By {
        user: u32,
        connections: BTreeSet<u64>,
    },
    /// Nobody serves it since then, by the clock that nobody sets.
    Gone(Duration),
}

impl Offers {
    pub(super) fn capability(&self, name: &CapabilityName) -> Option<&Capability> {
        self.0.get(name).map(|offered| &offered.capability)
    }

    pub(super) fn capabilities(&self) -> impl Iterator<Item = &Capability> {
        self.0.values().map(|offered| &offered.capability)
    }

    /// Whether programs of another user id serve it.
    pub(super) fn is_held_by_another(&self, name: &CapabilityName, program: Program) -> bool {
        let held = self.0.get(name).map(|offered| &offered.held);
        matches!(held, Some(Held::By { user, .. }) if *user != program.user)
    }

    /// Whether one more, or a changed one, fits in beside the configured ones. Offers that nobody serves make room,
    /// those first whose programs went first.
    pub(super) fn make_room(&mut self, policy: &Policy, more: &Capability) -> bool {
        let is_served = |offered: &Offered| matches!(offered.held, Held::By { .. });
        if !self.fits(policy, more, is_served) {
            return false;
        }
        while !self.fits(policy, more, |_| true) && self.drop_longest_gone() {}
        true
    }

    fn fits(&self, policy: &Policy, more: &Capability, counts: impl Fn(&Offered) -> bool) -> bool {
        let others = self.0.values().filter(|offered| counts(offered));
        let others = others.map(|offered| &offered.capability);
        let others = others.filter(|other| other.name != more.name);
        fits_together(policy.capabilities.iter().chain(others).chain([more])).is_ok()
    }

    /// Drops the offer that nobody has served for the longest time. Says whether there was one.
    fn drop_longest_gone(&mut self) -> bool {
        let gone = self
            .0
            .iter()
            .filter_map(|(name, offered)| match offered.held {
                Held::Gone(since) => Some((since, name.clone())),
                Held::By { .. } => None,
            });
        let longest = gone.min();
        longest.is_some_and(|(_, name)| self.0.remove(&name).is_some())
    }

    pub(super) fn serve(&mut self, program: Program, capability: Capability) {
        let name = capability.name.clone();
        let mut connections = match self.0.remove(&name).map(|offered| offered.held) {
            Some(Held::By { connections, .. }) => connections,
            Some(Held::Gone(_)) | None => BTreeSet::new(),
        };
        connections.insert(program.connection);
        let user = program.user;
        let held = Held::By { user, connections };
        self.0.insert(name, Offered { capability, held });
    }

    /// A connection serves nothing any more.
    pub(super) fn leave(&mut self, connection: u64, now: Duration) {
        for offered in self.0.values_mut() {
            if let Held::By { connections, .. } = &mut offered.held {
                let left = connections.remove(&connection);
                if left && connections.is_empty() {
                    offered.held = Held::Gone(now);
                }
            }
        }
    }

    /// An offer from before the start, which nobody serves yet.
    pub(super) fn recall(&mut self, capability: Capability, now: Duration) {
        let name = capability.name.clone();
        let held = Held::Gone(now);
        self.0.entry(name).or_insert(Offered { capability, held });
    }

    /// Drops what nobody has served for `linger`. Says whether there was any.
    pub(super) fn end_lapsed(&mut self, now: Duration, linger: Duration) -> bool {
        let before = self.0.len();
        let lapsed =
            |held: &Held| matches!(held, Held::Gone(since) if since.saturating_add(linger) <= now);
        self.0.retain(|_, offered| !lapsed(&offered.held));
        self.0.len() != before
    }

    /// When the first of them is dropped if nobody comes to serve it.
    pub(super) fn lapses_at(&self, linger: Duration) -> Option<Duration> {
        let since = |offered: &Offered| match offered.held {
            Held::Gone(since) => Some(since.saturating_add(linger)),
            Held::By { .. } => None,
        };
        self.0.values().filter_map(since).min()
    }

    /// Drops what the policy settles itself, allows no more or leaves no room for.
    pub(super) fn end_unfit(&mut self, policy: &Policy) {
        self.0
            .retain(|name, _| policy.capability(name).is_none() && policy.allows_offer(name));
        while fits_together(policy.capabilities.iter().chain(self.capabilities())).is_err() {
            if !self.drop_longest_gone() && self.0.pop_last().is_none() {
                break;
            }
        }
    }
}
