//! What comes late, twice, or in a session that is not known here: whom we answer, and with what.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::draft::{FLIGHT_LIFE, Signed};
use crate::envelope::{Form, KeptIn, Message, Method};
use crate::ids::SessionId;
use crate::time::{CLOCK_TOLERANCE, Timestamp};

use super::channel::SESSIONS;
use super::pace::ANSWER_PACE;
use crate::node::turn::CopiesDoor;

/// What of one peer's came late, twice, or in a session that is not known here. Not lasting.
#[derive(Debug, Default)]
pub(in crate::node) struct Copies {
    /// When a copy was last answered, by the clock that nobody sets.
    repeated: Option<Duration>,
    /// When a late announce was last answered.
    answered_late: Option<Timestamp>,
    /// The sessions that were not known here and were answered by an announce, the oldest first.
    pub(super) unknown_sessions: VecDeque<SessionId>,
}

impl CopiesDoor<'_, '_> {
    /// A flight 1 that fails only in time is answered by an announce of our own, which tells the
    /// peer our time; at most one in five minutes.
    pub(in crate::node) fn answer_late_announce(&mut self, message: &Message) {
        self.turn.alarms().suspect_clock(message);
        let peer = message.headers.agent_id.clone();
        let link = self.turn.node.peers.entry(&peer);
        let lately = link
            .copies
            .answered_late
            .is_some_and(|last| self.turn.at.now.is_within(FLIGHT_LIFE, last));
        if !lately {
            link.copies.answered_late = Some(self.turn.at.now);
            self.turn.flights().announce_if_idle(&peer);
        }
    }

    pub(in crate::node) fn answer_unknown_session(&mut self, message: &Message) {
        let peer = message.headers.agent_id.clone();
        let Some(id) = message.headers.session else {
            return;
        };
        let link = self.turn.node.peers.entry(&peer);
        let latest = self.turn.at.now.saturating_add(CLOCK_TOLERANCE);
        // If both agents' clocks were wrong, the newest session may begin in the future. Ignore that session: it would make
        // this message look old.
        let newest = link.sessions.last();
        let newest = newest.filter(|newest| newest.began <= latest);
        let old = newest.is_some_and(|newest| message.headers.timestamp < newest.began);
        // This message names a session that we do not know. A session that was made just now is already the answer to it: begin
        // no further handshake.
        let answered = newest.is_some_and(|newest| match newest.made {
            Some(made) => self.turn.at.elapsed < made.saturating_add(CLOCK_TOLERANCE),
            None => latest.is_within(CLOCK_TOLERANCE * 2, newest.began),
        });
        if old || answered || link.copies.unknown_sessions.contains(&id) {
            return;
        }
        if self.turn.alarms().suspect_copy_by_session(message) {
            return;
        }
        let link = self.turn.node.peers.entry(&peer);
        link.copies.unknown_sessions.push_back(id);
        if link.copies.unknown_sessions.len() > SESSIONS {
            link.copies.unknown_sessions.pop_front();
        }
        self.turn.flights().announce_if_idle(&peer);
    }

    /// A repeated flight is answered by the stored one, a repeated message by the next receipt; both
    /// at most once a second, so that a replay is no amplifier.
    pub(in crate::node) fn answer_copy(&mut self, message: &Arc<Message>) {
        let peer = message.headers.agent_id.clone();
        let link = self.turn.node.peers.entry(&peer);
        if link
            .copies
            .repeated
            .is_some_and(|last| self.turn.at.elapsed < last + ANSWER_PACE)
        {
            return;
        }
        link.copies.repeated = Some(self.turn.at.elapsed);
        match message.form.kept() {
            KeptIn::Handshake if message.form != Form::Call(Method::Trust) => {
                let of_session = link
                    .sessions
                    .iter()
                    .find(|session| session.answers == message.hash());
                let stored = link
                    .handshake
                    .answer_to(message.hash())
                    .map(Arc::clone)
                    // The handshake is over here, but our last flight may have been lost on its way to the peer: take the copy
                    // that the session keeps.
                    .or_else(|| of_session?.last_flight.open());
                let stored = stored.filter(|flight| self.turn.at.now < flight.headers.expires_at);
                if let Some(flight) = stored {
                    self.turn.ways().answer_by(&peer, Signed::again(flight));
                }
            }
            KeptIn::Handshake => {
                link.ways.unheard = true;
                // Send the receipt in the session that this flight opened: a newer session may be unknown to the peer, if our
                // flight 4 of that handshake was lost.
                let mut sessions = link.sessions.iter();
                let opened = sessions.find(|session| session.answers_flight(message));
                if let Some(id) = opened.map(|session| session.id) {
                    self.turn.receipts().send(&peer, id);
                }
            }
            // No receipt is sent for a receipt, so none is sent for a copy of one either.
            KeptIn::Receipts | KeptIn::Nowhere => {}
            KeptIn::Inbox | KeptIn::Request | KeptIn::Offers | KeptIn::Orders => {
                if let Some(session) = message.headers.session.and_then(|id| link.session_mut(id)) {
                    session.window.owe();
                    link.ways.unheard = true;
                }
            }
        }
    }
}
