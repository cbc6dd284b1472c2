//! The sessions with one peer, and when to announce to it.

use std::time::Duration;

use crate::carrier::CarrierId;
use crate::handshake::Role;
use crate::ids::{Digest, MessageId, SessionId};
use crate::session::{Abandoned, Session, WINDOW_LIFE};
use crate::time::Timestamp;

use super::Peer;
use super::bytes::Bytes;
use crate::node::Standing;
use crate::node::offers::PeerOffers;

/// How many sessions with one peer are kept; the oldest goes first.
pub(super) const SESSIONS: usize = 8;
/// After so long without a word of the peer's it is announced to no more, until something is to be sent.
const GONE: Duration = Duration::from_secs(30 * 24 * 3600);
/// How much later than the initiator the responder renews.
const RESPONDER_PATIENCE: Duration = Duration::from_secs(300);

impl Peer {
    pub(in crate::node) fn session(&self, id: SessionId) -> Option<&Session> {
        self.sessions.iter().find(|session| session.id == id)
    }

    /// The newest, whether or not it is still open.
    pub(in crate::node) fn newest(&self) -> Option<&Session> {
        self.sessions.last()
    }

    /// All of them, the oldest first.
    pub(in crate::node) fn sessions(&self) -> &[Session] {
        &self.sessions
    }

    pub(in crate::node) fn sessions_mut(&mut self) -> &mut [Session] {
        &mut self.sessions
    }

    /// The hash of the message that the peer first used a message-id for.
    pub(in crate::node) fn seen(&self, name: MessageId) -> Option<Digest> {
        self.names.hash_of(name)
    }

    /// What programs of ours offer, as the peer was told.
    pub(in crate::node) fn offers(&self) -> &PeerOffers {
        &self.offers
    }

    pub(in crate::node) fn offers_mut(&mut self) -> &mut PeerOffers {
        &mut self.offers
    }

    /// When the orders of our person were last told.
    pub(in crate::node) fn orders_told(&self) -> Option<Timestamp> {
        self.told
    }

    pub(in crate::node) fn tell_orders_after(&mut self, told: Option<Timestamp>) {
        self.told = told;
    }

    /// What of its own the peer may write into our log.
    pub(in crate::node) fn bytes(&mut self) -> &mut Bytes {
        &mut self.budgets.bytes
    }

    /// What it says now came by that carrier.
    pub(in crate::node) fn hear_by(&mut self, carrier: CarrierId) {
        self.ways.heard_by = Some(carrier);
    }

    pub(in crate::node) fn session_mut(&mut self, id: SessionId) -> Option<&mut Session> {
        self.sessions.iter_mut().find(|session| session.id == id)
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
    pub(super) fn add(&mut self, session: Session, now: Timestamp) -> Vec<Abandoned> {
        // Only the newest session keeps what the peer offers (protocol.md, Capabilities and their schemas): the flight that
        // made it says anew all that the peer offers. Drop the offers of the older sessions.
        for old in &mut self.sessions {
            old.offered = Vec::new();
        }
        // After our clock was put back, `now` (the log's time) may lie in the future. Count from the session's beginning if
        // that is earlier: by `now` alone, the new session could count as ended.
        let now = session.began.min(now);
        // Most peers have one session: reserve room for exactly one more, since a vector would by itself reserve room for
        // several.
        self.sessions.reserve_exact(1);
        self.sessions.push(session);
        let over = self.sessions.len().saturating_sub(SESSIONS);
        let mut dropped: Vec<_> = self.sessions.drain(..over).collect();
        let ended = |old: &mut Session| now > old.ends.saturating_add(WINDOW_LIFE);
        dropped.extend(self.sessions.extract_if(.., ended));
        let abandoned = dropped.into_iter().map(|mut old| old.ledger.abandon());
        abandoned.flatten().collect()
    }

    /// The newest of our sessions, as flights 1 and 2 name them.
    pub(super) fn held(&self) -> impl Iterator<Item = SessionId> {
        self.sessions.iter().rev().take(8).map(|session| session.id)
    }

    /// When to announce by ourselves: for what waits, or to renew. `None` while a handshake is under
    /// way, and when nothing calls for one. `own_until` is when our certificate or key statement ends;
    /// `mail_waits` says whether mail waits for the peer that needs nothing but a session.
    pub(super) fn seeks_session_at(
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
            // Replace an outdated session although no mail waits: our newest certificate, keys, offers and grants have to reach
            // the peer.
            Some(session) if session.stale || session.outdated => {
                let planned = self.next_announce;
                if planned.is_some_and(|planned| planned > is_gone_at(session)) && !has_mail {
                    return None;
                }
                Timestamp::from_millis(0)
            }
            // Our certificate or key statement, or the peer's, ends this session, and would end a new one at the same
            // time. So do not renew this one early, and announce after its end only if mail waits.
            Some(session) if session.is_open() && !session.can_be_outlasted(own_until) => {
                has_mail.then_some(session.ends)?
            }
            Some(session) if session.is_open() => {
                // The initiator renews first, so that the two sides rarely announce at the same time.
                let patience = if session.role == Role::Initiator {
                    Duration::ZERO
                } else {
                    RESPONDER_PATIENCE
                };
                let renewal = session.renewal().saturating_add(patience);
                let planned = self.next_announce.unwrap_or(renewal).max(renewal);
                // If the peer stays silent beyond the end of the session, announce to it only if mail waits.
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

    /// Lets the next announce go out at once, where one is called for. To a peer that is gone only mail calls for one: the
    /// time of the next says so, since it lies behind the time from which on the peer counts as gone.
    pub(super) fn plan_announce(&mut self, now: Timestamp) {
        let gone = self.sessions.last().is_some_and(|session| {
            (session.stale || session.outdated) && is_gone_at(session) < now
        });
        self.next_announce = gone.then_some(now);
    }

    /// What waits for its time goes out now.
    pub(super) fn hasten(&mut self, now: Timestamp) {
        self.plan_announce(now);
        self.silence = std::time::Duration::ZERO;
        self.handshake.hasten(now);
        for session in &mut self.sessions {
            session.ledger.hasten(now);
            if let Some(retry) = session.retry.as_mut() {
                retry.hasten(now);
            }
        }
    }
}

/// From when on the peer of an outdated session counts as gone: once it has said nothing for long, or nothing of the
/// session is left to replace.
fn is_gone_at(session: &Session) -> Timestamp {
    let silent = session.heard().saturating_add(GONE);
    silent.min(session.ends.saturating_add(WINDOW_LIFE))
}
