//! The offers that stand: while a program serves them, and for a while after the last of them has gone.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::handshake::Offer;
use crate::headers::CapabilityName;
use crate::ids::{AgentId, Version};
use crate::policy::{Capability, MOST_CAPABILITIES, Policy, fits_together};
use crate::reject::Reason;
use crate::session::Session;

use super::Program;

/// What programs offer now. No row of the state: a start recalls it from what peers were told.
#[derive(Debug, Default)]
pub struct Offers(BTreeMap<CapabilityName, HeldOffer>);

/// The peers with whom a program has to do; `None` for everybody.
pub type OfferedTo = Option<BTreeSet<AgentId>>;

#[derive(Debug)]
struct HeldOffer {
    held: Held,
    /// What each connection that serves it says of it, and to whom. Where nobody serves it: what the last of them said,
    /// or what peers were told before a start.
    served: BTreeMap<u64, Served>,
}

/// One program's word on a name.
#[derive(Debug)]
pub(super) struct Served {
    pub(super) capability: Capability,
    pub(super) to: OfferedTo,
}

#[derive(Debug)]
enum Held {
    /// Connections of this user id serve it.
    By(u32),
    /// Nobody serves it since then, by the clock that nobody sets.
    Gone(Duration),
}

impl Served {
    fn reaches(&self, peer: &AgentId) -> bool {
        self.to.as_ref().is_none_or(|peers| peers.contains(peer))
    }
}

impl HeldOffer {
    /// The word of the oldest connection that serves this peer: a program that comes beside it changes nothing for the
    /// peers of the older one.
    fn for_peer(&self, peer: &AgentId) -> Option<&Capability> {
        let mut words = self.served.values();
        let word = words.find(|served| served.reaches(peer));
        word.map(|served| &served.capability)
    }

    /// What is said of it, each text once.
    fn texts(&self) -> Vec<&Capability> {
        let mut texts: Vec<&Capability> = Vec::new();
        for served in self.served.values() {
            if !texts.contains(&&served.capability) {
                texts.push(&served.capability);
            }
        }
        texts
    }
}

impl Offers {
    /// What that peer is told of it, and judged by; `None` where no program serves that peer.
    pub(super) fn capability(&self, name: &CapabilityName, peer: &AgentId) -> Option<&Capability> {
        self.0.get(name)?.for_peer(peer)
    }

    /// What that peer is told of.
    pub(super) fn for_peer(&self, peer: &AgentId) -> impl Iterator<Item = &Capability> {
        let offered = self.0.values();
        offered.filter_map(move |offered| offered.for_peer(peer))
    }

    /// All that is offered to anybody.
    pub fn capabilities(&self) -> impl Iterator<Item = &Capability> {
        self.0.values().flat_map(HeldOffer::texts)
    }

    /// A capability of ours, configured or offered to that peer by a program: the configured one goes first.
    pub(in crate::node) fn own<'a>(
        &'a self,
        policy: &'a Policy,
        peer: &AgentId,
        name: &CapabilityName,
    ) -> Option<&'a Capability> {
        let configured = policy.capability(name);
        configured.or_else(|| self.capability(name, peer))
    }

    /// Whether a program offers it, and the peer was or will be told so in a session of that version.
    pub(in crate::node) fn is_live(
        &self,
        policy: &Policy,
        peer: &AgentId,
        name: &CapabilityName,
        version: Version,
    ) -> bool {
        version >= Version::PROGRESS
            && policy.capability(name).is_none()
            && self.capability(name, peer).is_some()
    }

    /// Whether an offer may be taken (check V12).
    pub(in crate::node) fn rule(&self, session: &Session, offers: &[Offer]) -> Result<(), Reason> {
        let settled = |offer: &Offer| {
            session
                .settled_offers()
                .any(|known| known.name == offer.name)
        };
        let all = offers.len() + session.settled_offers().count();
        match offers.iter().any(settled) || all > MOST_CAPABILITIES {
            true => Err(Reason::OfferInvalid),
            false => Ok(()),
        }
    }

    /// Whether programs of another user id serve it.
    pub(super) fn is_held_by_another(&self, name: &CapabilityName, program: Program) -> bool {
        let held = self.0.get(name).map(|offered| &offered.held);
        matches!(held, Some(Held::By(user)) if *user != program.user)
    }

    /// Whether one more, or a changed one, fits in beside the configured ones. Offers that nobody serves make room,
    /// those first whose programs went first. Two texts of one name count as two.
    pub(super) fn make_room(
        &mut self,
        policy: &Policy,
        connection: u64,
        more: &Capability,
    ) -> bool {
        let is_served = |offered: &HeldOffer| matches!(offered.held, Held::By(_));
        // If the offers that programs serve now leave no room by themselves, refuse before any other offer is dropped in vain.
        if !self.fits(policy, connection, more, is_served) {
            return false;
        }
        while !self.fits(policy, connection, more, |_| true) && self.drop_longest_gone() {}
        true
    }

    fn fits(
        &self,
        policy: &Policy,
        connection: u64,
        more: &Capability,
        counts: impl Fn(&HeldOffer) -> bool,
    ) -> bool {
        let others = self.0.iter().filter(|(_, offered)| counts(offered));
        let others = others.flat_map(|(name, offered)| {
            // `more` takes the place of some offers of its name: this connection's own, those of programs that have gone, and
            // an equal one of another program. Count none of these.
            let goes = |by: u64| match offered.held {
                Held::By(_) => by == connection,
                Held::Gone(_) => true,
            };
            let mut texts: Vec<&Capability> = Vec::new();
            for (by, served) in &offered.served {
                let is_same = *name == more.name && (goes(*by) || served.capability == *more);
                if !is_same && !texts.contains(&&served.capability) {
                    texts.push(&served.capability);
                }
            }
            texts
        });
        fits_together(policy.capabilities.iter().chain(others).chain([more])).is_ok()
    }

    /// Drops the offer that nobody has served for the longest time. Says whether there was one.
    fn drop_longest_gone(&mut self) -> bool {
        let gone = self
            .0
            .iter()
            .filter_map(|(name, offered)| match offered.held {
                Held::Gone(since) => Some((since, name.clone())),
                Held::By(_) => None,
            });
        let longest = gone.min();
        longest.is_some_and(|(_, name)| self.0.remove(&name).is_some())
    }

    pub(super) fn serve(&mut self, program: Program, to: OfferedTo, capability: Capability) {
        let name = capability.name.clone();
        // Offers of programs that have gone are kept for a while, or until a program serves the name again, as this program
        // does: drop them.
        let mut served = match self.0.remove(&name) {
            Some(offered) if matches!(offered.held, Held::By(_)) => offered.served,
            Some(_) | None => BTreeMap::new(),
        };
        served.insert(program.connection, Served { capability, to });
        let held = Held::By(program.user);
        self.0.insert(name, HeldOffer { held, served });
    }

    /// A connection serves nothing any more. Whether peers may have to hear of it: its word has ended, beside others
    /// that serve on. Where nobody does, its word stands for a while.
    pub(super) fn leave(&mut self, connection: u64, now: Duration) -> bool {
        let mut has_changed = false;
        for offered in self.0.values_mut() {
            let serves = matches!(offered.held, Held::By(_));
            if !serves || !offered.served.contains_key(&connection) {
                continue;
            }
            match offered.served.len() {
                1 => offered.held = Held::Gone(now),
                _ => has_changed |= offered.served.remove(&connection).is_some(),
            }
        }
        has_changed
    }

    /// An offer from before the start, which nobody serves yet: in the words that peers were told.
    pub(super) fn recall(&mut self, name: CapabilityName, told: Vec<Served>, now: Duration) {
        // No program serves this offer yet, so there are no connection ids: use the numbers from 0 in their place. When a
        // program serves the offer, `serve` drops them all.
        let served = (0..).zip(told).collect();
        let held = Held::Gone(now);
        self.0.entry(name).or_insert(HeldOffer { held, served });
    }

    /// Drops what nobody has served for `linger`. Says whether there was any.
    pub(super) fn overdue(&mut self, now: Duration, linger: Duration) -> bool {
        let before = self.0.len();
        let lapsed =
            |held: &Held| matches!(held, Held::Gone(since) if since.saturating_add(linger) <= now);
        self.0.retain(|_, offered| !lapsed(&offered.held));
        self.0.len() != before
    }

    /// When the first of them is dropped if nobody comes to serve it.
    pub(in crate::node) fn due(&self, linger: Duration) -> Option<Duration> {
        let since = |offered: &HeldOffer| match offered.held {
            Held::Gone(since) => Some(since.saturating_add(linger)),
            Held::By(_) => None,
        };
        self.0.values().filter_map(since).min()
    }

    /// Drops what the policy settles itself, allows no more or leaves no room for.
    pub(in crate::node) fn end_unfit(&mut self, policy: &Policy) {
        self.0.retain(|name, offered| {
            let words = &mut offered.served;
            words.retain(|_, served| policy.may_leave_unapproved(&served.capability));
            policy.capability(name).is_none() && policy.allows_offer(name) && !words.is_empty()
        });
        while fits_together(policy.capabilities.iter().chain(self.capabilities())).is_err() {
            if !self.drop_longest_gone() && self.0.pop_last().is_none() {
                break;
            }
        }
    }
}
