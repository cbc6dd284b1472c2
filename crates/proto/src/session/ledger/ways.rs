//! By which carrier a message goes next.

use super::{AwaitingReceipt, Handed};
use crate::carrier::CarrierId;

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

impl AwaitingReceipt {
    /// A carrier said something of it.
    pub(super) fn hand(&mut self, carrier: &CarrierId, handed: Handed) {
        self.handed.retain(|(known, _)| known != carrier);
        if handed != Handed::No {
            self.handed.push((carrier.clone(), handed));
        }
    }

    /// The carrier for another copy: the next that does not say that it holds one; there a copy would only
    /// fill the mailbox.
    pub(super) fn next_way<'w>(&self, ways: &'w Ways) -> Option<&'w CarrierId> {
        ways.next(self.last.as_ref(), |way| {
            let mut stored = self.handed.iter().filter(|(known, _)| known == way);
            stored.any(|(_, handed)| matches!(handed, Handed::Stored(_)))
        })
    }

    /// Whether all carriers say that they hold it.
    pub(super) fn is_parked(&self, ways: &Ways) -> bool {
        self.next_way(ways).is_none()
    }
}
