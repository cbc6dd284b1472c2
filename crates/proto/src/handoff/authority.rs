//! What a holder may do, and the one judgement whether something lies within it.

use std::collections::BTreeSet;

use super::{LONGEST_CHAIN, LONGEST_MANDATE, MANDATE_LIFE, MOST_CAPABILITIES};
use crate::headers::{CapabilityName, Tier};
use crate::time::Timestamp;

/// What a mandate gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authority {
    /// The capabilities that the holder may ask others for.
    pub capabilities: BTreeSet<CapabilityName>,
    /// The highest data tier of what the holder says for the task; of what is not well formed, any number.
    pub tier: u8,
    /// How often the task may be handed on from here.
    pub depth: u8,
    /// When all of it ends.
    pub not_after: Timestamp,
}

/// What a giver wants to pass on; what is absent is as much as can be given, but for the depth.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The capabilities; without a task above, none when absent.
    pub capabilities: Option<BTreeSet<CapabilityName>>,
    /// The highest data tier; without a task above, 1 when absent.
    pub tier: Option<u8>,
    /// How often it may be handed on; 0 when absent.
    pub depth: Option<u8>,
    /// When it ends; without a task above, after 24 hours when absent.
    pub not_after: Option<Timestamp>,
}

/// In what something goes beyond an authority.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Overstep {
    /// A capability that was not given.
    #[error("the capability {0} is not among those given")]
    Capability(CapabilityName),
    /// A higher tier.
    #[error("data tier {asked} is above tier {given}, the highest given")]
    Tier {
        /// What was wanted.
        asked: u8,
        /// What there is.
        given: u8,
    },
    /// Handed on once too often.
    #[error(
        "depth {asked} is not below {given}: the depth given counts how often the task may still be handed on"
    )]
    Depth {
        /// What the next holder would have.
        asked: u8,
        /// What there is.
        given: u8,
    },
    /// It would outlast what it comes from, or that is over.
    #[error("{asked} is after {given}, when the authority ends")]
    NotAfter {
        /// Until when it was wanted.
        asked: Timestamp,
        /// When it ends.
        given: Timestamp,
    },
}

impl Authority {
    /// Whether `next` gives no more than this, and may be handed on less often: the rule between two
    /// mandates of a chain, for givers and receivers alike.
    ///
    /// # Errors
    /// The first thing in which `next` is wider.
    pub fn contains(&self, next: &Self) -> Result<(), Overstep> {
        if let Some(wider) = next.capabilities.difference(&self.capabilities).next() {
            return Err(Overstep::Capability(wider.clone()));
        }
        self.reaches(next.tier)?;
        // The depth says how often the task may still be handed on: it has to fall with each mandate. If it could stay
        // equal, a chain of mandates would have no end.
        if next.depth >= self.depth {
            let (asked, given) = (next.depth, self.depth);
            return Err(Overstep::Depth { asked, given });
        }
        self.lasts_until(next.not_after)
    }

    /// Whether a message of the holder's for the task lies within this.
    ///
    /// # Errors
    /// In what it goes beyond.
    pub fn permits(
        &self,
        capability: Option<&CapabilityName>,
        tier: Tier,
        now: Timestamp,
    ) -> Result<(), Overstep> {
        if let Some(name) = capability.filter(|name| !self.capabilities.contains(name)) {
            return Err(Overstep::Capability(name.clone()));
        }
        self.reaches(tier.number())?;
        self.lasts_until(now)
    }

    /// Whether its members are within the bounds of a mandate issued at `issued_at`.
    pub fn is_well_formed(&self, issued_at: Timestamp) -> bool {
        self.capabilities.len() <= MOST_CAPABILITIES
            && Tier::parse(self.tier).is_ok()
            // A chain has at most eight mandates, so a depth of eight or more could never be used up: refuse it.
            && usize::from(self.depth) < LONGEST_CHAIN
            && issued_at < self.not_after
            && self.not_after <= issued_at.saturating_add(LONGEST_MANDATE)
    }

    fn reaches(&self, asked: u8) -> Result<(), Overstep> {
        let given = self.tier;
        let beyond = Overstep::Tier { asked, given };
        (asked <= given).then_some(()).ok_or(beyond)
    }

    fn lasts_until(&self, moment: Timestamp) -> Result<(), Overstep> {
        if moment <= self.not_after {
            return Ok(());
        }
        let (asked, given) = (moment, self.not_after);
        Err(Overstep::NotAfter { asked, given })
    }
}

impl Limits {
    /// The authority that these limits ask for: under the one held, or afresh.
    pub fn of(self, held: Option<&Authority>, now: Timestamp) -> Authority {
        let fresh = Authority {
            capabilities: BTreeSet::new(),
            tier: 1,
            depth: 0,
            not_after: now.saturating_add(MANDATE_LIFE),
        };
        let whole = held.unwrap_or(&fresh);
        Authority {
            capabilities: self
                .capabilities
                .unwrap_or_else(|| whole.capabilities.clone()),
            tier: self.tier.unwrap_or(whole.tier),
            depth: self.depth.unwrap_or(0),
            not_after: self.not_after.unwrap_or(whole.not_after),
        }
    }
}
