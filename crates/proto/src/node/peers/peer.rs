//! All that lies between us and one peer.

use std::collections::VecDeque;
use std::time::Duration;

use crate::carrier::CarrierId;
use crate::handshake::{Handshake, Role};
use crate::ids::{MessageId, SessionId};
use crate::session::{Session, WINDOW_LIFE};
use crate::time::{CLOCK_TOLERANCE, Timestamp};

use super::budgets::Budgets;
use super::hops::Trail;
use super::pace::Pace;
use super::receipts::LastReceipt;
use super::seen::Names;
use crate::node::Standing;
use crate::node::offers::{OfferPace, ToldOffers};

/// How many sessions with one peer are kept; the oldest goes first.
pub(in crate::node) const SESSIONS: usize = 8;
/// How much later than the initiator the responder renews.
const RESPONDER_PATIENCE: Duration = Duration::from_secs(300);

/// The way to and from one peer.
#[derive(Debug, Default)]
pub(in crate::node) struct Peer {
    pub(in crate::node) handshake: Handshake,
    pub(in crate::node) sessions: Vec<Session>,
    pub(in crate::node) names: Names,
    /// The timestamp of our last announce: the next one must bear a later one.
    pub(in crate::node) announced: Option<Timestamp>,
    /// When we last announced since the start, by the clock that nobody sets.
    pub(in crate::node) last_announce: Option<Duration>,
    pub(in crate::node) heard_announce: Option<Timestamp>,
    pub(in crate::node) next_announce: Option<Timestamp>,
    pub(in crate::node) silence: Duration,
    pub(in crate::node) receipted: Option<Timestamp>,
    pub(in crate::node) pace: Pace,
    pub(in crate::node) offer_pace: OfferPace,
    /// What the peer was last told that programs of ours offer.
    pub(in crate::node) told_offers: Option<ToldOffers>,
    pub(in crate::node) unknown_sessions: VecDeque<SessionId>,
    pub(in crate::node) answered_late: Option<Timestamp>,
    pub(in crate::node) clock_noted: Option<Timestamp>,
    /// When the peer's last flight 1 or 3 was signed, where it came late, and how many in a row did.
    pub(in crate::node) late: Option<(Timestamp, u8)>,
    /// When a copy was last answered, by the clock that nobody sets.
    pub(in crate::node) repeated: Option<Duration>,
    /// Whether our person approved the peer and it has not heard from us since.
    pub(in crate::node) greets: bool,
    /// When the decrees of our person were last told.
    pub(in crate::node) told: Option<Timestamp>,
    /// The carrier that brought what the peer said last.
    pub(in crate::node) heard_by: Option<CarrierId>,
    /// The carrier that our last flight took.
    pub(in crate::node) flown_by: Option<CarrierId>,
    /// Whether a copy of the peer's shows that our last receipt did not arrive.
    pub(in crate::node) unheard: bool,
    /// Our last receipt, until a carrier has it.
    pub(in crate::node) last_receipt: Option<LastReceipt>,
    /// The timestamps of the last polls: ours, and the peer's with when it came by the clock that nobody sets.
    pub(in crate::node) asked: Option<Timestamp>,
    pub(in crate::node) polled: Option<(Timestamp, Duration)>,
    pub(in crate::node) budgets: Budgets,
    pub(in crate::node) trail: Trail,
}

impl Peer {
    pub(in crate::node) fn session(&self, id: SessionId) -> Option<&Session> {
        self.sessions.iter().find(|session| session.id == id)
    }

    pub(in crate::node) fn session_mut(&mut self, id: SessionId) -> Option<&mut Session> {
        self.sessions.iter_mut().find(|session| session.id == id)
    }

    /// The peer said something.
    pub(in crate::node) fn hear(&mut self) {
        for session in &mut self.sessions {
            session.ledger.hear();
        }
    }

    /// A message of that name goes out. Says whether it did before, and was refused because our clock was ahead:
    /// that is no longer its end.
    pub(in crate::node) fn takes_anew(&mut self, name: MessageId) -> bool {
        let mut anew = false;
        for session in &mut self.sessions {
            anew |= session.ledger.takes_anew(name);
        }
        anew
    }

    /// The newest session that a new message may use.
    pub(in crate::node) fn sendable(&self, now: Timestamp) -> Option<&Session> {
        self.sessions
            .iter()
            .rev()
            .find(|session| session.is_open_for_sending(now))
    }

    /// Adds a session, and drops the oldest over the limit and those whose windows have ended. Gives
    /// back what was unreceipted in them.
    pub(in crate::node) fn add(&mut self, session: Session, now: Timestamp) -> Vec<MessageId> {
        // Offers are for people, who read the newest.
        for old in &mut self.sessions {
            old.offered = Vec::new();
        }
        // By the log's time, which stays ahead when a clock that was ahead is put right, the new one could
        // have ended as well.
        let now = session.began.min(now);
        self.sessions.push(session);
        let over = self.sessions.len().saturating_sub(SESSIONS);
        let mut dropped: Vec<_> = self.sessions.drain(..over).collect();
        let ended = |old: &mut Session| now > old.ends.saturating_add(WINDOW_LIFE);
        dropped.extend(self.sessions.extract_if(.., ended));
        let abandoned = dropped.into_iter().map(|mut old| old.ledger.abandon());
        abandoned.flatten().collect()
    }

    /// The newest of our sessions, as flights 1 and 2 name them.
    pub(in crate::node) fn held(&self) -> impl Iterator<Item = SessionId> {
        self.sessions.iter().rev().take(8).map(|session| session.id)
    }

    /// When to announce by ourselves: for what waits, or to renew. `None` while a handshake is under
    /// way, and when nothing calls for one. `own_until` is when our certificate or key statement ends;
    /// `mail_waits` says whether mail waits for the peer that needs nothing but a session.
    pub(in crate::node) fn seeks_session_at(
        &self,
        own_until: Timestamp,
        mail_waits: bool,
    ) -> Option<Timestamp> {
        if !self.handshake.is_idle() {
            return None;
        }
        let has_mail = self.greets || mail_waits;
        let from = match self.sessions.last() {
            Some(session) if session.retry.is_some() => {
                let calls = has_mail || session.outdated;
                session.retry.filter(|_| calls)?.stale_at()
            }
            // Our newest certificate, keys, offers and grants have to reach the peer, whether or not anything
            // waits: until nothing of the session is remembered any more.
            Some(session) if session.stale || session.outdated => {
                let over = session.ends.saturating_add(WINDOW_LIFE);
                let planned = self.next_announce.filter(|planned| *planned > over);
                if planned.is_some() && !has_mail {
                    return None;
                }
                Timestamp::from_millis(0)
            }
            // A new session would end with the same certificate or key statement.
            Some(session) if session.is_open() && !session.can_be_outlasted(own_until) => {
                has_mail.then_some(session.ends)?
            }
            Some(session) if session.is_open() => {
                // The initiator renews first, so that both rarely announce at once.
                let patience = if session.role == Role::Initiator {
                    Duration::ZERO
                } else {
                    RESPONDER_PATIENCE
                };
                let renewal = session.renewal().saturating_add(patience);
                let planned = self.next_announce.unwrap_or(renewal).max(renewal);
                if planned > session.ends && !has_mail {
                    return None;
                }
                renewal
            }
            _ if !has_mail => return None,
            _ => Timestamp::from_millis(0),
        };
        Some(self.next_announce.unwrap_or(from).max(from))
    }

    pub(in crate::node) fn standing(&self, now: Timestamp) -> Standing {
        let session = self.sendable(now);
        Standing {
            session: session.map(|session| session.id),
            ends: session.map(|session| session.ends),
            handshake: !self.handshake.is_idle(),
            drafts: 0,
            unconfirmed: self
                .sessions
                .iter()
                .map(|session| session.ledger.waiting().len())
                .sum(),
            over_budget: self.budgets.refused,
            withheld: self.budgets.withheld,
        }
    }

    /// What waits for its time goes out now.
    pub(in crate::node) fn hasten(&mut self, now: Timestamp) {
        self.next_announce = None;
        self.silence = std::time::Duration::ZERO;
        self.handshake.hasten(now);
        for session in &mut self.sessions {
            session.ledger.hasten(now);
            if let Some(retry) = session.retry.as_mut() {
                retry.hasten(now);
            }
        }
    }

    /// Our clock was put back to `clock`. What peers signed in the time to come, when both clocks were wrong, is
    /// no longer the last word: what they sign now is newer. A handshake that was half done then is begun anew.
    pub(in crate::node) fn put_clock_back(&mut self, clock: Timestamp) {
        let latest = clock.saturating_add(CLOCK_TOLERANCE);
        let announced = self.announced;
        self.announced = announced.map(|last| if last > latest { clock } else { last });
        self.heard_announce = self.heard_announce.filter(|heard| *heard <= latest);
        self.handshake = Default::default();
        for session in &mut self.sessions {
            session.ledger.put_back(latest);
            session.asked = session.asked.map(|asked| asked.min(clock));
        }
    }
}
