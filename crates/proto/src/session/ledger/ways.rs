//! By which carrier a message goes next.

use super::timing::is_heard;
use super::{Handed, Waiting};
use crate::carrier::CarrierId;
use crate::time::Timestamp;

/// The carriers that may take a message to a peer now, in the order of preference.
#[derive(Clone, Debug, Default)]
pub struct Ways(pub Vec<CarrierId>);

impl Ways {
    /// The first, or the one after `last`, in a circle; of those that are `held` none.
    pub fn next(
        &self,
        last: Option<&CarrierId>,
        held: impl Fn(&CarrierId) -> bool,
    ) -> Option<&CarrierId> {
        let place = last.and_then(|last| self.0.iter().position(|way| way == last));
        let start = place.map_or(0, |place| place + 1);
        let circle = self.0.iter().cycle().skip(start).take(self.0.len());
        circle.into_iter().find(|way| !held(way))
    }

    /// Whether a carrier is among them.
    pub fn has(&self, carrier: &CarrierId) -> bool {
        self.0.contains(carrier)
    }
}

impl Waiting {
    /// A carrier said something of it.
    pub(super) fn hand(&mut self, carrier: &CarrierId, handed: Handed) {
        self.handed.retain(|(known, _)| known != carrier);
        if handed != Handed::No {
            self.handed.push((carrier.clone(), handed));
        }
    }

    /// The carrier for another copy: the next that does not hold one already which the peer has perhaps not
    /// seen; there a copy would only fill the mailbox.
    pub(super) fn next_way<'w>(&self, ways: &'w Ways, heard: Timestamp) -> Option<&'w CarrierId> {
        ways.next(self.last.as_ref(), |way| {
            let stored = self.handed.iter().filter(|(known, _)| known == way);
            stored
                .clone()
                .any(|(_, handed)| matches!(handed, Handed::Stored(at) if !is_heard(heard, *at)))
        })
    }

    /// Whether all carriers hold it and the peer has perhaps not looked since.
    pub(super) fn is_parked(&self, ways: &Ways, heard: Timestamp) -> bool {
        self.next_way(ways, heard).is_none()
    }

    /// Since when the first of its carriers has held it.
    pub(super) fn stored(&self) -> Option<Timestamp> {
        let stored = self.handed.iter().filter_map(|(_, handed)| match handed {
            Handed::Stored(at) => Some(*at),
            Handed::No | Handed::Unconfirmed => None,
        });
        stored.min()
    }
}
