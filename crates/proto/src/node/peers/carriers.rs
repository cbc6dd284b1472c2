//! The ways out: which carriers are up, which of them a message takes next, and what they say of it.
//!
//! Nothing here survives a restart, and nothing that a carrier says settles a message or keeps another
//! carrier from it. With one carrier the first way is the only one.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::carrier::{CarrierId, Route, Routes};
use crate::ids::AgentId;
use crate::session::Ways;

/// What the node was told of its carriers since the start. Before any was spoken of, all count as up and
/// read to their end; then one that nobody spoke of is none of ours.
#[derive(Debug)]
pub(in crate::node) struct Carriers {
    routes: Routes,
    known: BTreeMap<CarrierId, Condition>,
    /// What brought the input that is being judged.
    pub(super) arrived_by: CarrierId,
}

impl Default for Carriers {
    fn default() -> Self {
        Self {
            routes: Routes::default(),
            known: BTreeMap::new(),
            arrived_by: CarrierId::NATS,
        }
    }
}

#[derive(Debug)]
struct Condition {
    up: bool,
    /// Whether everything that waited there for us when it came up has been judged.
    drained: bool,
    /// Since when it is up, or down, by the clock that nobody sets.
    since: Duration,
    /// Whether it has been up since the start.
    used: bool,
}

impl Carriers {
    fn is_up(&self, carrier: &CarrierId) -> bool {
        let known = self.known.get(carrier);
        known.map_or(self.known.is_empty(), |known| known.up)
    }

    /// Whether any carrier is up.
    pub(in crate::node) fn is_any_up(&self) -> bool {
        self.known.is_empty() || self.known.values().any(|known| known.up)
    }

    /// Whether what waited for us has been read, so that what has no receipt will hardly get one: on one
    /// carrier at least, and on every other, unless it had an hour for it. So a carrier that is down or never
    /// says it keeps nothing from its end.
    pub(in crate::node) fn are_drained(&self, elapsed: Duration) -> bool {
        let read = |known: &Condition| known.up && known.drained;
        let late = |known: &Condition| elapsed >= known.since.saturating_add(PATIENCE);
        let mut known = self.known.values();
        let any = self.known.is_empty() || known.clone().any(read);
        any && known.all(|known| read(known) || late(known))
    }

    /// The carriers of a peer that are up, in their order; when none is, the first: what is sent into the
    /// void goes out again when one comes up.
    pub(in crate::node) fn ways_to(&self, peer: &AgentId) -> Ways {
        let routes = self.routes.of(peer);
        let names = routes.iter().map(|route| &route.carrier);
        let up: Vec<_> = names
            .clone()
            .filter(|name| self.is_up(name))
            .cloned()
            .collect();
        let first = names.take(if up.is_empty() { 1 } else { 0 }).cloned();
        Ways(up.into_iter().chain(first).collect())
    }

    pub(super) fn reaches(&self, peer: &AgentId, carrier: &CarrierId) -> bool {
        let routes = self.routes.of(peer);
        routes.iter().any(|route| route.carrier == *carrier)
    }

    /// Whether the peer has a carrier besides NATS, which refuses nothing.
    pub(super) fn go_beside_nats(&self, peer: &AgentId) -> bool {
        let routes = self.routes.of(peer);
        routes.iter().any(|route| route.carrier != CarrierId::NATS)
    }

    pub(super) fn route(&self, peer: &AgentId, carrier: &CarrierId) -> Option<Route> {
        let routes = self.routes.of(peer);
        let route = routes.iter().find(|route| route.carrier == *carrier);
        route.cloned()
    }

    pub(super) fn note(&mut self, carrier: &CarrierId, up: bool, since: Duration) {
        // `drained`: all messages that waited at the carrier were judged. It becomes false when a carrier comes up that was
        // down, or of which nobody spoke yet. A carrier that was up already begins no new connection.
        let before = self.known.get(carrier);
        let drained = up && before.is_some_and(|before| before.up && before.drained);
        // A carrier that is down may say so at each vain try to connect: it is down since the first.
        let down = before.filter(|before| !before.up && !up);
        let since = down.map_or(since, |before| before.since);
        let condition = Condition {
            up,
            drained,
            since,
            used: up || before.is_some_and(|before| before.used),
        };
        self.known.insert(carrier.clone(), condition);
    }

    /// Whether a carrier has been up since the start.
    pub(super) fn has_been_up(&self, carrier: &CarrierId) -> bool {
        self.known.get(carrier).is_some_and(|known| known.used)
    }

    /// Since when a carrier that is connected now was down, at the earliest since the start at `resumed`; `None` where it
    /// was up all the time.
    pub(super) fn down_since(&self, carrier: &CarrierId, resumed: Duration) -> Option<Duration> {
        match self.known.get(carrier) {
            Some(known) if known.up => None,
            Some(known) => Some(known.since.max(resumed)),
            None => Some(resumed),
        }
    }

    /// All that waited there has been judged.
    pub(super) fn note_drained(&mut self, carrier: &CarrierId) {
        if let Some(known) = self.known.get_mut(carrier) {
            known.drained = known.up;
        }
    }

    /// Goes by these routes from now on.
    pub(super) fn set_routes(&mut self, routes: Routes) {
        self.routes = routes;
    }
}

/// How long a carrier that is down, or has not been read to its end, holds back what expired without a
/// receipt while another has been read.
const PATIENCE: Duration = Duration::from_secs(3600);

#[cfg(test)]
mod tests {
    use super::*;

    /// What waits there for us could hold the receipt of what would be given up.
    #[test]
    fn a_carrier_that_is_first_spoken_of_as_up_is_read_to_its_end_only_when_it_says_so() {
        let (mut carriers, now) = (Carriers::default(), Duration::ZERO);
        assert!(carriers.are_drained(now), "none was spoken of");
        carriers.note(&CarrierId::NATS, true, now);
        assert!(!carriers.are_drained(now));
        carriers.note_drained(&CarrierId::NATS);
        assert!(carriers.are_drained(now));
        carriers.note(&CarrierId::NATS, true, now);
        assert!(carriers.are_drained(now), "that is no new connection");
        carriers.note(&CarrierId::NATS, false, now);
        carriers.note(&CarrierId::NATS, true, now);
        assert!(!carriers.are_drained(now));
    }
}
