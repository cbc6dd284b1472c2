//! Our own clock: what happens when it is put back, and what waits while it stands outside the dates of
//! our certificate.

use crate::entry::Entry;
use crate::time::Timestamp;

use super::Node;
use super::inbound::CLOCK_TOLERANCE;
use super::turn::Turn;

impl Node {
    /// The dates of our certificate, when the clock stands outside of them: then nothing is signed, for
    /// no peer would take it, and what we have to say waits.
    pub fn outside_certificate(&self, now: Timestamp) -> Option<(Timestamp, Timestamp)> {
        let own = &self.identity.certificate;
        (!own.covers(now)).then_some((own.not_before, own.not_after))
    }

    /// Whether something may be signed that bears this time.
    pub(super) fn may_sign(&self, time: Timestamp) -> bool {
        self.identity.certificate.covers(time)
    }

    /// When the certificate begins, if that lies ahead.
    pub(super) fn may_sign_at(&self, now: Timestamp) -> Option<Timestamp> {
        let begins = self.identity.certificate.not_before;
        (now < begins).then_some(begins)
    }

    /// Whether the clock was put back by more than a minute since it was last read.
    pub fn was_put_back(&self, now: Timestamp) -> bool {
        now.saturating_add(CLOCK_TOLERANCE) < self.clock
    }

    /// A line says that our clock was put back, and by how much it is behind the line's own time. What
    /// peers signed in the time to come, when both clocks were wrong, is no longer the last word: what
    /// they sign now is newer. A handshake that was half done then is begun anew.
    pub(super) fn apply_put_back(&mut self, line: Timestamp, difference_ms: i64) {
        self.clock = Timestamp::from_millis(line.as_millis().saturating_add(difference_ms));
        let (clock, latest) = (self.clock, self.clock.saturating_add(CLOCK_TOLERANCE));
        for link in self.links.values_mut() {
            let announced = link.announced;
            link.announced = announced.map(|last| if last > latest { clock } else { last });
            link.heard_announce = link.heard_announce.filter(|heard| *heard <= latest);
            link.handshake = Default::default();
            for session in &mut link.sessions {
                session.ledger.put_back(latest);
                session.asked = session.asked.map(|asked| asked.min(clock));
            }
        }
    }
}

impl Turn<'_> {
    /// Reads the clock. That it was put back is written down, since the log's own times do not go back;
    /// and whatever was to wait for the time that has not come now is tried at once.
    pub(super) fn read_clock(&mut self) {
        self.node.elapsed = Some(self.at.elapsed);
        if !self.node.was_put_back(self.at.now) {
            self.node.clock = self.at.now;
            return;
        }
        let entry = Entry::Clock {
            peer: self.node.identity.agent().clone(),
            difference_ms: self.at.now.as_millis() - self.node.written.max(self.at.now).as_millis(),
        };
        self.write(entry);
        self.node.clock = self.at.now;
        self.node.strangers.put_back(self.at.now);
        for link in self.node.links.values_mut() {
            link.told = link.told.filter(|told| *told <= self.at.now);
        }
        // What we said meanwhile lay in the peers' future.
        let links = self.node.links.values_mut();
        for session in links.flat_map(|link| &mut link.sessions) {
            if !session.window.is_empty() {
                session.window.owe();
            }
        }
        self.node.hasten(self.at.now);
        let peers: Vec<_> = self.node.links.keys().cloned().collect();
        for peer in peers {
            self.sign_anew(&peer);
        }
    }
}
