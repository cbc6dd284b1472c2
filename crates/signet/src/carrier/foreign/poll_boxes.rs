//! What is kept for peers that can only dial out, until they poll for it. It lies in memory: the ledger sends
//! again what a restart loses.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use signet_proto::envelope::Message;
use signet_proto::ids::{AgentId, MessageId};
use signet_proto::node::Polled;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::clock;

/// Boxes by peer: of those alone whose address is that they poll.
#[derive(Default)]
pub(super) struct PollBoxes(Mutex<BTreeMap<AgentId, PollBox>>);

#[derive(Default)]
struct PollBox {
    /// Oldest first.
    messages: VecDeque<Arc<Message>>,
    bytes: usize,
    more: Arc<Notify>,
    /// Rises with every poll that is taken: the newest alone waits.
    polls: u64,
}

impl PollBoxes {
    /// Keeps a message for its recipient. A copy changes nothing; what has no room pushes out the oldest, which
    /// its ledger sends again.
    pub(super) fn put(&self, message: &Arc<Message>) {
        let mut boxes = self.boxes();
        let kept = boxes
            .entry(message.headers.recipient_id.clone())
            .or_default();
        kept.drop_expired();
        let id = message.headers.message_id;
        if kept
            .messages
            .iter()
            .any(|other| other.headers.message_id == id)
        {
            return;
        }
        kept.bytes += message.canonical().len();
        kept.messages.push_back(Arc::clone(message));
        while kept.messages.len() > MESSAGES || kept.bytes > BYTES {
            kept.pop();
        }
        kept.more.notify_waiters();
    }

    /// Drops a message of which the peer has said what became of it: the peer need not poll for it any more.
    pub(super) fn forget(&self, peer: &AgentId, id: MessageId) {
        if let Some(kept) = self.boxes().get_mut(peer) {
            kept.retain(|message| message.headers.message_id != id);
        }
    }

    /// What is kept for whoever polled, oldest first; where there is nothing, what comes within `wait`, or until the same
    /// peer polls anew.
    pub(super) async fn give(&self, polled: &Polled, wait: Duration) -> Vec<Arc<[u8]>> {
        let until = Instant::now() + wait;
        let mut after = polled.after;
        let own = {
            let mut boxes = self.boxes();
            let kept = boxes.entry(polled.peer.clone()).or_default();
            kept.polls += 1;
            kept.more.notify_waiters();
            kept.polls
        };
        loop {
            let more = {
                let mut boxes = self.boxes();
                let kept = boxes.entry(polled.peer.clone()).or_default();
                // A peer that polls again has given up its earlier poll: only the newest poll may take the messages.
                if kept.polls != own {
                    return Vec::new();
                }
                kept.drop_expired();
                // Drop the messages up to `after`: by this poll the peer says that it has them. `take` leaves `None`, so later
                // rounds of this loop drop nothing.
                kept.drop_through(after.take());
                if !kept.messages.is_empty() {
                    return kept.first();
                }
                // Register for wake-ups while the boxes are locked: a message that comes between
                // here and the wait would not end the wait otherwise.
                Arc::clone(&kept.more).notified_owned()
            };
            if timeout_at(until, more).await.is_err() {
                return Vec::new();
            }
        }
    }

    fn boxes(&self) -> MutexGuard<'_, BTreeMap<AgentId, PollBox>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PollBox {
    fn pop(&mut self) {
        if let Some(message) = self.messages.pop_front() {
            self.bytes = self.bytes.saturating_sub(message.canonical().len());
        }
    }

    fn retain(&mut self, keep: impl Fn(&Message) -> bool) {
        self.messages.retain(|message| keep(message));
        self.bytes = self
            .messages
            .iter()
            .map(|message| message.canonical().len())
            .sum();
    }

    fn drop_expired(&mut self) {
        let now = clock::now();
        let is_over = |message: &Message| message.headers.expires_at <= now;
        if self.messages.iter().any(|message| is_over(message)) {
            self.retain(|message| !is_over(message));
        }
    }

    /// Drops the message `last` and those before it, which the peer has. A name that is not here removes nothing.
    fn drop_through(&mut self, last: Option<MessageId>) {
        let named = |message: &Arc<Message>| Some(message.headers.message_id) == last;
        if let Some(place) = self.messages.iter().position(named) {
            for _ in 0..=place {
                self.pop();
            }
        }
    }

    fn first(&self) -> Vec<Arc<[u8]>> {
        let mut bytes = 0;
        let fits = |message: &&Arc<Message>| {
            // Give at least one message, whatever its size: if none were given, the peer would ask again and again. (No
            // message is larger than `GIVEN_BYTES` today.)
            let is_first = bytes == 0;
            bytes += message.canonical().len();
            is_first || bytes <= GIVEN_BYTES
        };
        let given = self.messages.iter().take(GIVEN).take_while(fits);
        given
            .map(|message| Arc::clone(message.canonical()))
            .collect()
    }
}

/// How much is kept for one peer.
const MESSAGES: usize = 1_024;
const BYTES: usize = 8 * 1024 * 1024;
/// How much one poll is given.
const GIVEN: usize = 64;
const GIVEN_BYTES: usize = 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_newer_poll_ends_the_older_one_of_the_same_peer_and_nobody_elses() {
        let kept = Arc::new(PollBoxes::default());
        let polls = |peer: &str| {
            let (kept, peer) = (Arc::clone(&kept), peer.parse().unwrap());
            tokio::spawn(async move {
                let began = Instant::now();
                let polled = Polled { peer, after: None };
                let given = kept.give(&polled, Duration::from_secs(20)).await;
                assert!(given.is_empty());
                began.elapsed()
            })
        };
        let (first, other) = (polls("agent-bob"), polls("agent-carol"));
        tokio::time::sleep(Duration::from_secs(1)).await;
        let second = polls("agent-bob");
        assert_eq!(first.await.unwrap(), Duration::from_secs(1));
        assert_eq!(second.await.unwrap(), Duration::from_secs(20));
        assert_eq!(other.await.unwrap(), Duration::from_secs(20));
    }
}
