//! What a peer shows of clocks, holes and copies: for the alarms to judge.

use std::time::Duration;

use crate::draft::FLIGHT_LIFE;
use crate::entry::{ClockLine, Entry, HoleLine};
use crate::envelope::Message;
use crate::handshake::Role;
use crate::ids::SessionId;
use crate::session::{Session, WINDOW_LIFE};
use crate::time::{CLOCK_TOLERANCE, Timestamp};

use super::Peer;
use crate::node::turn::AlarmsDoor;
use crate::node::{At, Notice};

/// So many sessions with one peer within an hour, all alike, are not made by two daemons.
const ALIKE: usize = 4;
const HOUR: Duration = Duration::from_secs(3600);
/// A receipt that asks for what is missing has this long to bring it.
const ASKED: Duration = Duration::from_secs(24 * 3600);

/// What one peer shows of its clock and ours. Not lasting.
#[derive(Debug, Default)]
pub(in crate::node) struct PeerClock {
    /// When its last flight was signed, where that came late, and how many in a row did.
    late: Option<(Timestamp, u8)>,
    /// When it was last noted that the two are far apart.
    noted: Option<Timestamp>,
}

impl AlarmsDoor<'_, '_> {
    /// What flights 1 to 3 say of their sender's clock. From the future they prove that one of us is
    /// wrong; from the past one was perhaps only late: where none waited for us, two in a row say
    /// something that are older than a flight lives, or three that are late, with nothing of the peer's
    /// in time between them.
    pub(in crate::node) fn suspect_clock(&mut self, flight: &Message) {
        let signed_at = flight.headers.timestamp;
        if signed_at > self.turn.at.now.saturating_add(CLOCK_TOLERANCE) {
            return self.note_clock(flight);
        }
        let carriers = &self.turn.node.peers.carriers;
        // Judge a flight's age only after what waited for us at the carriers was read to its end: a flight that waited there is
        // late although no clock is wrong.
        let drained = carriers.are_drained(self.turn.at.elapsed);
        let age = self.turn.at.now.since(signed_at);
        let link = self.turn.node.peers.entry(&flight.headers.agent_id);
        let (last, times) = link.clock.late.unwrap_or((signed_at, 0));
        // Count copies of one flight once: an announce is sent again byte for byte while nobody answers.
        if age > CLOCK_TOLERANCE && drained && (times == 0 || last != signed_at) {
            link.clock.late = Some((signed_at, times.saturating_add(1)));
            if times >= 2 || (times == 1 && age > FLIGHT_LIFE + CLOCK_TOLERANCE) {
                self.note_clock(flight);
            }
        }
    }

    /// Writes down that a peer's time is far from ours: at most once in five minutes, for a slow clock
    /// as for a fast one.
    pub(in crate::node) fn note_clock(&mut self, message: &Message) {
        let (peer, now) = (message.headers.agent_id.clone(), self.turn.at.now);
        let difference_ms = message.headers.timestamp.as_millis() - now.as_millis();
        let far = u128::from(difference_ms.unsigned_abs()) > CLOCK_TOLERANCE.as_millis();
        let noted = &mut self.turn.node.peers.entry(&peer).clock.noted;
        let lately = noted.is_some_and(|last| now.is_within(FLIGHT_LIFE, last));
        if far && !lately {
            *noted = Some(now);
            let notice = Notice::Clock {
                peer: peer.clone(),
                difference_ms,
            };
            let entry = Entry::Clock(ClockLine {
                peer,
                difference_ms,
            });
            self.turn.notify(notice);
            self.turn.write(entry);
        }
    }
}

impl Peer {
    /// A person was told of a hole.
    pub(in crate::node) fn apply_hole(&mut self, line: &HoleLine) {
        if let Some(session) = self.session_mut(line.session) {
            session.window.tell_through(line.to);
            session.asked = None;
        }
    }

    /// Only what we began ourselves counts, since the start or since a person cleared the alarm: a peer
    /// that announces often speaks for itself alone.
    pub(in crate::node) fn meets_too_often(&self, now: Duration, since: Duration) -> bool {
        let ours = |session: &&Session| {
            session.role == Role::Initiator && session.made.is_some_and(|made| made > since)
        };
        let mut sessions = self.sessions.iter().rev().filter(ours);
        let Some(newest) = sessions.next() else {
            return false;
        };
        // Do not count a session in which the peer never spoke: the peer may have refused it because of its time, or
        // after a crash. Nor count a session of less than an hour: a certificate or key statement ends it, and a new
        // one has to follow.
        let alike = sessions
            .filter(|old| old.confirmed && old.ends >= old.began.saturating_add(HOUR))
            .take_while(|old| {
                old.made.is_some_and(|made| now < made + HOUR) && old.has_terms_of(newest)
            });
        alike.count() + 1 >= ALIKE
    }

    /// Asks for what is missing, and gives back what was asked for a day ago.
    pub(in crate::node) fn holes(
        &mut self,
        now: Timestamp,
    ) -> impl Iterator<Item = (SessionId, u64, u64)> {
        let holes = self.sessions.iter_mut().filter_map(move |session| {
            let hole = session.window.hole()?;
            // Ask for a missing number only after seven days, the longest life of a message: until then the message may still
            // come.
            if now <= hole.next_signed_at.saturating_add(WINDOW_LIFE) {
                return None;
            }
            let asked = *session.asked.get_or_insert_with(|| {
                session.window.owe();
                now
            });
            let silent = now >= asked.saturating_add(ASKED);
            silent.then_some((session.id, hole.from, hole.to))
        });
        holes.collect::<Vec<_>>().into_iter()
    }

    /// The timestamp of our last announce. What was announced since the start is remembered by the clock that nobody
    /// sets: the log's own time of it went back when ours was put back.
    pub(in crate::node) fn last_announced(&self, now: At) -> Option<Timestamp> {
        let since = self.last_announce.map(|made| now.time_of(made));
        self.announced.max(since)
    }

    /// The peer signed a message at `signed_at`, and it was verified. Where that is in time now, the peer's clock is right, and
    /// flights that came late before it were only late.
    pub(in crate::node) fn hear_time(&mut self, now: Timestamp, signed_at: Timestamp) {
        let late = &mut self.clock.late;
        late.take_if(|_| now.since(signed_at) <= CLOCK_TOLERANCE);
    }

    /// Whether the peer's clock was far from ours since the start.
    pub(in crate::node) fn is_clock_noted(&self) -> bool {
        self.clock.noted.is_some()
    }

    /// A person cleared the alarms: only new sessions that nobody here made show another copy again.
    pub(in crate::node) fn forget_unknown_sessions(&mut self) {
        self.copies.unknown_sessions.clear();
    }

    /// Nothing holds the next announce back any more.
    pub(in crate::node) fn announce_now(&mut self) {
        self.next_announce = None;
    }
}
