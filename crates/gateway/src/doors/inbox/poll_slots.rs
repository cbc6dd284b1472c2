//! Polls that wait at this gateway for what its daemon keeps: one for each bound peer, whose newer poll ends its older one.
//!
//! So no number of polls of one peer takes a place from another. A poll that waits is a connection of the listener and a
//! call to the daemon, which takes 16 on one connection: polls share connections of their own, and none is a message's.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use signet_api::{ClientError, DeliverMessages, Delivered};
use signet_proto::ids::AgentId;
use signet_proto::time::Timestamp;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::link::{CarrierConnection, Notifications};
use crate::lock::Locked as _;

/// The polls that wait, and the connections that they share.
pub(crate) struct PollSlots {
    waiting: Arc<Mutex<HashMap<AgentId, Newest>>>,
    /// How many peers' polls wait at once.
    most: usize,
    socket: PathBuf,
    /// Locked while a connection is opened: polls that need one meanwhile wait, and then share it.
    lines: tokio::sync::Mutex<Vec<SharedLink>>,
}

/// The newest poll of a peer.
struct Newest {
    made: Timestamp,
    ended: CancellationToken,
}

/// A connection, and its places for calls.
struct SharedLink {
    link: CarrierConnection,
    places: Arc<Semaphore>,
    /// Nothing is told on it; the connection ends when this is dropped.
    _told: Notifications,
}

/// A peer that polls, and when its poll was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Poller {
    pub(crate) peer: AgentId,
    pub(crate) made: Timestamp,
}

/// Why a poll does not wait here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotWaiting {
    /// A newer one of the same peer waits: this one is a copy, or came late.
    Older,
    /// As many peers poll as there are places.
    Full,
}

/// The place of a poll, until it is answered.
pub(crate) struct PollSlot {
    poller: Poller,
    ended: CancellationToken,
    waiting: Arc<Mutex<HashMap<AgentId, Newest>>>,
}

impl PollSlots {
    /// At that socket, for a listener that has so many connections.
    pub(crate) fn at(socket: &Path, connections: usize) -> Self {
        Self {
            waiting: Arc::default(),
            most: MOST.min(connections.saturating_sub((connections / 8).max(1))),
            socket: socket.to_owned(),
            lines: tokio::sync::Mutex::default(),
        }
    }

    /// The place of that peer, from which its older poll goes.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn admit(&self, poller: Poller) -> Result<PollSlot, NotWaiting> {
        let mut waiting = self.waiting.locked();
        match waiting.get(&poller.peer) {
            // A poll that is older than the waiting one must not end it, and neither must a replayed copy of the waiting poll.
            // Such a copy has the same time: so compare with `>=`.
            Some(newest) if newest.made >= poller.made => return Err(NotWaiting::Older),
            Some(newest) => newest.ended.cancel(),
            None if waiting.len() >= self.most => return Err(NotWaiting::Full),
            None => {}
        }
        let ended = CancellationToken::new();
        let newest = Newest {
            made: poller.made,
            ended: ended.clone(),
        };
        waiting.insert(poller.peer.clone(), newest);
        Ok(PollSlot {
            poller,
            ended,
            waiting: Arc::clone(&self.waiting),
        })
    }

    /// What the daemon says to the poll; nothing where a newer one has ended it.
    ///
    /// # Errors
    /// That the daemon does not answer.
    pub(crate) async fn ask(
        &self,
        place: &PollSlot,
        poll: DeliverMessages,
        patience: Duration,
    ) -> Result<Option<Delivered>, ClientError> {
        let (link, line) = self.line().await?;
        // This call runs in a task of its own, which keeps the permit `line` until the daemon answers: the
        // daemon counts the call until then, even if a newer poll has ended this one.
        let asking = tokio::spawn(async move {
            let delivered = link.call(&poll, patience).await;
            drop(line);
            delivered
        });
        tokio::select! {
            () = place.ended.cancelled() => Ok(None),
            asked = asking => asked.unwrap_or(Err(ClientError::Closed)).map(Some),
        }
    }

    /// A connection that has room for one more call.
    async fn line(&self) -> Result<(CarrierConnection, OwnedSemaphorePermit), ClientError> {
        let mut lines = self.lines.lock().await;
        if let Some(line) = free_line(&mut lines) {
            return Ok(line);
        }
        let (link, told) = CarrierConnection::open(&self.socket).await?;
        let places = Arc::new(Semaphore::new(OF_ONE_LINK));
        let place = Arc::clone(&places).try_acquire_owned();
        let place = place.map_err(|_| ClientError::Closed)?;
        let shared = SharedLink {
            link: link.clone(),
            places,
            _told: told,
        };
        lines.push(shared);
        Ok((link, place))
    }
}

fn free_line(lines: &mut Vec<SharedLink>) -> Option<(CarrierConnection, OwnedSemaphorePermit)> {
    lines.retain(|line| line.link.is_open());
    // Close an idle connection if another one is idle as well: one in reserve is enough.
    let idle = |line: &SharedLink| line.places.available_permits() == OF_ONE_LINK;
    if lines.iter().filter(|line| idle(line)).count() > 1 {
        let first = lines.iter().position(idle)?;
        lines.remove(first);
    }
    lines.iter().find_map(|line| {
        let place = Arc::clone(&line.places).try_acquire_owned().ok()?;
        Some((line.link.clone(), place))
    })
}

impl Drop for PollSlot {
    fn drop(&mut self) {
        let mut waiting = self.waiting.locked();
        let newest = waiting.get(&self.poller.peer);
        // Remove only the entry of this poll: a newer poll of the same peer may have replaced it.
        if newest.is_some_and(|newest| newest.made == self.poller.made) {
            waiting.remove(&self.poller.peer);
        }
    }
}

/// Peers whose polls wait at once, at most. An eighth of the connections that the listener has stays for who brings
/// something: 64 of the usual 512.
const MOST: usize = 448;
/// Calls that the daemon takes at once on one connection.
const OF_ONE_LINK: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::CallerLimits;

    fn poller(peer: &str, second: u64) -> Poller {
        Poller {
            peer: peer.parse().unwrap(),
            made: format!("2026-01-01T00:{:02}:{:02}.000Z", second / 60, second % 60)
                .parse()
                .unwrap(),
        }
    }

    fn at_usual() -> PollSlots {
        PollSlots::at(Path::new("/nowhere"), CallerLimits::default().connections)
    }

    #[test]
    fn a_newer_poll_ends_the_older_one_of_its_peer_and_nobody_elses() {
        let places = at_usual();
        let first = places.admit(poller("agent-bob", 1)).unwrap();
        let other = places.admit(poller("agent-carol", 1)).unwrap();
        let copy = places.admit(poller("agent-bob", 1));
        assert_eq!(copy.err(), Some(NotWaiting::Older), "a copy ends nothing");
        assert!(!first.ended.is_cancelled());
        let second = places.admit(poller("agent-bob", 2)).unwrap();
        assert!(first.ended.is_cancelled() && !other.ended.is_cancelled());
        drop(first);
        let late = places.admit(poller("agent-bob", 1));
        assert_eq!(late.err(), Some(NotWaiting::Older));
        drop(second);
        assert!(places.admit(poller("agent-bob", 1)).is_ok());
    }

    #[test]
    fn polls_of_ever_more_peers_leave_connections_to_who_brings_something() {
        let places = at_usual();
        let peers = (0..MOST).map(|n| places.admit(poller(&format!("agent-{n:03}"), 1)));
        let all: Vec<_> = peers.map(Result::unwrap).collect();
        let more = places.admit(poller("agent-bob", 1));
        assert_eq!(more.err(), Some(NotWaiting::Full));
        let connections = CallerLimits::default().connections;
        assert!(connections >= all.len() + 64, "{connections}");
        let again = places.admit(poller("agent-000", 2));
        assert!(again.is_ok(), "whoever waits may come again");
    }

    #[test]
    fn a_listener_with_few_connections_keeps_an_eighth_of_them_from_polls() {
        for (connections, polls) in [(1, 0), (2, 1), (8, 7), (32, 28), (128, 112), (4_096, MOST)] {
            let places = PollSlots::at(Path::new("/nowhere"), connections);
            let peers = (0..connections).map(|n| places.admit(poller(&format!("agent-{n}"), 1)));
            let all: Vec<_> = peers.filter_map(Result::ok).collect();
            assert_eq!(all.len(), polls, "{connections}");
        }
    }

    #[tokio::test]
    async fn sixteen_polls_that_begin_together_open_one_connection_to_the_daemon() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("carrier.sock");
        let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let places = Arc::new(PollSlots::at(&socket, 512));
        let mut asked = tokio::task::JoinSet::new();
        for _ in 0..OF_ONE_LINK {
            let places = Arc::clone(&places);
            asked.spawn(async move { places.line().await });
        }
        let lines = asked.join_all().await;
        assert!(lines.iter().all(Result::is_ok));
        listener.set_nonblocking(true).unwrap();
        assert_eq!(listener.incoming().map_while(Result::ok).count(), 1);
    }

    #[test]
    fn one_peer_that_polls_without_end_has_one_place() {
        let places = at_usual();
        let all: Vec<_> = (0..600)
            .map(|second| places.admit(poller("agent-bob", second)).unwrap())
            .collect();
        let waits = all.iter().filter(|place| !place.ended.is_cancelled());
        assert_eq!((waits.count(), places.waiting.locked().len()), (1, 1));
        assert!(places.admit(poller("agent-carol", 0)).is_ok());
    }
}
