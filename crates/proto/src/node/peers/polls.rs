//! Polls (docs/protocol.md, section 11): an agent that can only dial out asks a peer for what is kept for it.
//!
//! A poll stands outside sessions, lives 60 s, and is served once: whoever overheard one gets nothing for a copy.
//! It leaves no line of its own in the log, removes nothing, and says nothing about any number of a session.

use std::time::Duration;

use signet_json::{Map, Value};

use crate::draft::{Draft, Signed, Stamp};
use crate::entry::Flood;
use crate::envelope::{Message, Method};
use crate::ids::{AgentId, Digest, MessageId};
use crate::reject::Reason;
use crate::time::{CLOCK_TOLERANCE, Timestamp};

use crate::node::LocalError;
use crate::node::clock::after;
use crate::node::rule::has_session_headers;
use crate::node::turn::PeersDoor;
use crate::node::{Disposition, Polled};

/// The longest life of a poll.
const POLL_LIFE: Duration = Duration::from_secs(60);
/// After this long the last poll of a peer has expired by every clock that its next could be judged by.
const FORGOTTEN: Duration = Duration::from_secs(240);
/// Polls are counted this long before a line says how many there were.
const COUNTED: Duration = Duration::from_secs(3600);

/// The timestamps of the last polls between us and one peer. Not lasting.
#[derive(Debug, Default)]
pub(in crate::node) struct PeerPolls {
    /// Ours.
    asked: Option<Timestamp>,
    /// The peer's, with when it came by the clock that nobody sets.
    polled: Option<(Timestamp, Duration)>,
}

/// How many polls came since the last line that says so. Not lasting.
#[derive(Debug, Default)]
pub(super) struct Polls {
    counted: Option<(Duration, Flood)>,
}

impl Polls {
    fn count(&mut self, elapsed: Duration, bytes: u64, hash: Digest) {
        let none = Flood {
            count: 0,
            bytes: 0,
            hash: Digest([0; 32]),
        };
        let (_, flood) = self.counted.get_or_insert((elapsed, none));
        flood.count += 1;
        flood.bytes = flood.bytes.saturating_add(bytes);
        flood.hash = Digest::of(&[flood.hash.as_bytes(), hash.as_bytes()]);
    }

    /// When the line is due, by the clock that nobody sets.
    pub(super) fn due(&self) -> Option<Duration> {
        let (since, _) = self.counted.as_ref()?;
        Some(since.saturating_add(COUNTED))
    }

    /// The line, when it is due.
    pub(super) fn overdue(&mut self, elapsed: Duration) -> Option<Flood> {
        let due = self.due().is_some_and(|due| due <= elapsed);
        due.then(|| self.flush()).flatten()
    }

    /// The line, now.
    pub(super) fn flush(&mut self) -> Option<Flood> {
        self.counted.take().map(|(_, flood)| flood)
    }
}

impl PeersDoor<'_, '_> {
    /// A poll of ours for a trusted peer. `last` names the last message of an earlier poll's answer.
    ///
    /// # Errors
    /// The peer is unknown or trusted no more, or our certificate does not cover the time.
    pub fn poll(&mut self, peer: &AgentId, last: Option<MessageId>) -> Result<Signed, LocalError> {
        let at = self.turn.at;
        let node = &mut *self.turn.node;
        if node.trust().peer(peer).is_none() {
            return Err(LocalError::PeerUnknown(peer.clone()));
        }
        if node.trust().trusted(peer).is_none() {
            return Err(LocalError::PeerRevoked(peer.clone()));
        }
        let mut body = Map::new();
        last.map(|last| body.insert("after".to_owned(), last.to_string().into()));
        let id = node.ids.fresh(at.now);
        let draft = Draft {
            life: POLL_LIFE,
            ..Draft::call(Method::Poll, peer.clone(), id, Value::Object(body))
        };
        let own = node.me.identity();
        let asked = node.peers.get(peer).and_then(|peer| peer.polls.asked);
        let stamp = Stamp {
            // The peer takes a poll only if its timestamp is later than the timestamp of our last poll (protocol.md, Polls).
            now: after(at.now, asked),
            session: None,
            sequence: None,
            audit_head: at.head,
            version: own.certificate.lowest_version(),
        };
        if !node.me.may_sign(stamp.now) {
            return Err(LocalError::WrongClock {
                now: stamp.now,
                from: own.certificate.not_before,
                to: own.certificate.not_after,
            });
        }
        let signed = draft.sign(own, stamp).map_err(LocalError::Message)?;
        node.peers.entry(peer).polls.asked = Some(stamp.now);
        Ok(signed)
    }

    /// Judges a poll whose signature holds. One that is refused is counted like a stranger's input that is
    /// over the budget: it is a copy, or its sender's clock is wrong, and the next poll says the same.
    pub(in crate::node) fn take_poll(
        &mut self,
        bytes: u64,
        message: &Message,
        last: Option<MessageId>,
    ) {
        let hash = message.hash();
        if self.rule_poll(message).is_err() {
            return self.turn.node.people.count(self.turn.at.now, bytes, hash);
        }
        self.turn
            .node
            .peers
            .polls
            .count(self.turn.at.elapsed, bytes, hash);
        let headers = &message.headers;
        let peer = headers.agent_id.clone();
        self.turn.node.peers.entry(&peer).polls.polled =
            Some((headers.timestamp, self.turn.at.elapsed));
        self.turn.out.polled = Some(Polled { peer, after: last });
        self.turn.out.ruled = Some(Disposition::Accepted);
    }

    /// Changes nothing.
    fn rule_poll(&self, message: &Message) -> Result<(), Reason> {
        let headers = &message.headers;
        if has_session_headers(message) {
            return Err(Reason::HeaderInvalid);
        }
        if headers.timestamp > self.turn.at.now.saturating_add(CLOCK_TOLERANCE) {
            return Err(Reason::TimestampInFuture);
        }
        if headers.expires_at <= self.turn.at.now {
            return Err(Reason::Expired);
        }
        let life = headers.expires_at.since(headers.timestamp);
        if headers.timestamp >= headers.expires_at || life > POLL_LIFE {
            return Err(Reason::LifetimeTooLong);
        }
        // Refuse a poll that was signed before our start: a start forgets which polls were served, so a copy of an old poll
        // would be served again.
        let started = Some(self.turn.at.time_of(self.turn.node.clock.resumed()));
        let peer = self.turn.node.peers.get(&headers.agent_id);
        let last = peer.and_then(|peer| peer.polls.polled);
        let last = last.filter(|(_, came)| self.turn.at.elapsed < came.saturating_add(FORGOTTEN));
        let latest = started.max(last.map(|(polled, _)| polled));
        match latest.is_some_and(|latest| headers.timestamp <= latest) {
            true => Err(Reason::Duplicate),
            false => Ok(()),
        }
    }
}
