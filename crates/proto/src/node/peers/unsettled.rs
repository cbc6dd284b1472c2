//! In which sessions a peer hears from us at a start and when a carrier is connected: only where something is open, and
//! at a start in the newest few besides.
//!
//! ```text
//! judged ──▶ told ──▶ heard, by the peer's floor
//!   open       open for so long as no copy of the peer's can have asked
//! ```
//!
//! A receipt that was lost leaves its peer with a message that has none, and the peer asks by a copy of it. So nothing
//! here is needed for a message to be settled: what is said again without being asked only makes it come sooner.
//! The newest few are told at a start because a home that was put back to an old copy knows of nothing that is open: its
//! receipt shows the peer that it forgot, and the peer's answer shows the home.

use std::time::Duration;

use super::Peers;
use crate::carrier::CarrierId;
use crate::handshake::Role;
use crate::receipt::Receipt;
use crate::session::Session;
use crate::time::{CLOCK_TOLERANCE, Timestamp};

/// Within so long a peer that was there has asked for a receipt of ours that it lacks: a message goes out again at
/// least every five minutes, and what a mailbox holds after one.
const ASKED_WITHIN: Duration = Duration::from_secs(5 * 60);

/// So many peers are told at a start how far we are although nothing is open: all of a household, and few of a crowd.
const TOLD_AT_START: usize = 16;

impl Peers {
    /// Lets a receipt go out at the first connection since the start to the peers on that carrier that we spoke to last.
    pub(super) fn greet_newest(&mut self, carrier: &CarrierId, now: Timestamp) {
        let Self {
            known, carriers, ..
        } = self;
        let reached = known
            .iter_mut()
            .filter(|(name, _)| carriers.reaches(name, carrier));
        let mut newest: Vec<_> = reached
            .filter_map(|(_, peer)| {
                let sessions = peer.sessions.iter_mut();
                let mut open = sessions.filter(|session| session.is_open_for_sending(now));
                open.next_back()
            })
            .collect();
        newest.sort_unstable_by_key(|session| std::cmp::Reverse(session.last_word()));
        for session in newest.into_iter().take(TOLD_AT_START) {
            session.window.owe();
        }
    }
}

impl Session {
    /// Whether something in it is open, where what left since shortly before `lost` may not have arrived.
    pub(super) fn is_unsettled(&self, lost: Timestamp) -> bool {
        // A message that was given up may have arrived: the peer's answer to our receipt says whether it did.
        let ours = self.ledger.waiting().len() > 0 || self.ledger.has_given_up();
        ours || self.window.is_untold() || (self.spoke_since(lost) && !self.is_heard())
    }

    /// Whether our last receipt left so late that the peer cannot have asked for it before `lost`.
    fn spoke_since(&self, lost: Timestamp) -> bool {
        self.last_word().saturating_add(ASKED_WITHIN) >= lost
    }

    /// Whether a receipt of the peer's shows that it has our last one.
    fn is_heard(&self) -> bool {
        match self.window.is_empty() {
            // The initiator's first receipt says nothing but that the session stands.
            true => self.role == Role::Responder || self.window.peer_floor() > 0,
            false => self.window.is_heard(),
        }
    }

    /// When we last said how far we are, or the session began.
    fn last_word(&self) -> Timestamp {
        self.window
            .said()
            .map_or(self.began, |said| said.max(self.began))
    }

    /// Whether a receipt of the peer's, signed over a minute after our last, speaks of its own numbers as it would not
    /// if it had that one: the lowest that it may still send is one that we told it of, so it lacks our word; or it lies
    /// beyond all that we know, and none was given up, so it has a word of ours that we lack. One side was put back to
    /// an older copy then, and our answer shows it.
    pub(super) fn differs_from_our_word(&self, receipt: &Receipt, signed_at: Timestamp) -> bool {
        let Some(floor) = receipt.floor else {
            return false;
        };
        let through = self.window.through();
        let lacks = floor <= through;
        let exceeds = floor > through + 1 && receipt.given_up.is_empty();
        // A receipt leaves now for news that none of ours tells yet, and answers the peer's as well.
        let is_later = signed_at > self.last_word().saturating_add(CLOCK_TOLERANCE);
        (lacks || exceeds) && is_later && !self.window.is_untold()
    }
}
