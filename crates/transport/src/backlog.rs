//! What has arrived and was not read yet: bounded in messages and in bytes, so that a flood that is
//! read more slowly than it comes costs messages and not memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Notify, mpsc};

use crate::Arrival;

/// The way in.
#[derive(Clone)]
pub(crate) struct Backlog {
    arrivals: mpsc::Sender<Arrival>,
    held: Arc<AtomicUsize>,
    read: Arc<Notify>,
    most_bytes: usize,
}

/// The way out.
#[derive(Debug)]
pub(crate) struct BacklogReader {
    arrivals: mpsc::Receiver<Arrival>,
    held: Arc<AtomicUsize>,
    read: Arc<Notify>,
}

/// What became of an arrival.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BacklogResult {
    Taken,
    /// There is no room: it was dropped.
    Full,
    /// Nobody reads any more.
    Unwanted,
}

/// Room for so many messages of so many bytes together, and for events beside them.
pub(crate) fn backlog(messages: usize, most_bytes: usize) -> (Backlog, BacklogReader) {
    let (sender, arrivals) = mpsc::channel(messages.max(1).saturating_add(EVENTS));
    let (held, read) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let backlog = Backlog {
        arrivals: sender,
        held: Arc::clone(&held),
        read: Arc::clone(&read),
        most_bytes,
    };
    let waiting = BacklogReader {
        arrivals,
        held,
        read,
    };
    (backlog, waiting)
}

impl Backlog {
    /// Waits for room.
    pub(crate) async fn send(&self, arrival: Arrival) -> BacklogResult {
        // Count the bytes before waiting for room, so that `offer` gives that room to no other message meanwhile.
        self.held.fetch_add(cost(&arrival), Ordering::Relaxed);
        match self.arrivals.send(arrival).await {
            Ok(()) => BacklogResult::Taken,
            Err(_) => BacklogResult::Unwanted,
        }
    }

    /// Takes a message that there is room for, and drops another.
    pub(crate) fn offer(&self, message: Arrival) -> BacklogResult {
        let cost = cost(&message);
        // Only one task offers messages, so no other message can take the room between this check and `try_send`.
        let held = self.held.load(Ordering::Relaxed);
        // Keep the last EVENTS places free for events, so that no flood of messages delays an event.
        if self.arrivals.capacity() <= EVENTS || held.saturating_add(cost) > self.most_bytes {
            return self.unless_closed(BacklogResult::Full);
        }
        self.held.fetch_add(cost, Ordering::Relaxed);
        match self.arrivals.try_send(message) {
            Ok(()) => BacklogResult::Taken,
            Err(_) => self.unless_closed(BacklogResult::Full),
        }
    }

    /// Whether so many more messages may be asked for: half of the bytes is left to what was asked before.
    pub(crate) fn has_room(&self, messages: usize) -> bool {
        let held = self.held.load(Ordering::Relaxed);
        self.arrivals.capacity() >= messages.saturating_add(EVENTS) && held <= self.most_bytes / 2
    }

    /// Until something was read.
    pub(crate) async fn room(&self) {
        self.read.notified().await;
    }

    /// Resolves when nobody reads the inbox any more.
    pub(crate) async fn closed(&self) {
        self.arrivals.closed().await;
    }

    fn unless_closed(&self, offered: BacklogResult) -> BacklogResult {
        if self.arrivals.is_closed() {
            BacklogResult::Unwanted
        } else {
            offered
        }
    }
}

impl BacklogReader {
    pub(crate) async fn receive(&mut self) -> Option<Arrival> {
        let arrival = self.arrivals.recv().await?;
        self.held.fetch_sub(cost(&arrival), Ordering::Relaxed);
        // `notify_one` also wakes a task that begins to wait only after this call, so no freed room goes unnoticed.
        self.read.notify_one();
        Some(arrival)
    }

    pub(crate) async fn receive_many(&mut self, out: &mut Vec<Arrival>, max: usize) -> usize {
        let before = out.len();
        let count = self.arrivals.recv_many(out, max).await;
        let read: usize = out.iter().skip(before).map(cost).sum();
        self.held.fetch_sub(read, Ordering::Relaxed);
        self.read.notify_one();
        count
    }
}

fn cost(arrival: &Arrival) -> usize {
    match arrival {
        Arrival::Message { bytes, .. } => EACH + bytes.len(),
        Arrival::Oversized { head, .. } => EACH + head.len(),
        Arrival::Gap(_)
        | Arrival::Connected
        | Arrival::NoMailbox(_)
        | Arrival::Readers(_)
        | Arrival::Drained
        | Arrival::StoreLost
        | Arrival::Disconnected
        | Arrival::Refused(_)
        | Arrival::Stopped => 0,
    }
}

/// Events that may wait besides messages.
const EVENTS: usize = 64;
/// What a message costs beside its bytes.
const EACH: usize = 256;

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn message(length: usize) -> Arrival {
        Arrival::Message {
            bytes: Bytes::from(vec![0; length]),
            subject: "agent.alpha.inbox".into(),
            handle: None,
        }
    }

    #[tokio::test]
    async fn a_flood_of_large_messages_is_bounded_in_bytes_and_of_small_ones_in_number() {
        let (backlog, mut waiting) = backlog(100, 1 << 20);
        let fits = |length: usize| {
            let taken = |_: &usize| backlog.offer(message(length)) == BacklogResult::Taken;
            (0..1_000).filter(taken).count()
        };
        assert_eq!(fits(200 << 10), 5, "a MiB of 200 KiB each");
        assert_eq!(backlog.offer(message(200 << 10)), BacklogResult::Full);
        assert_eq!(backlog.send(Arrival::Connected).await, BacklogResult::Taken);
        let mut out = vec![Arrival::Disconnected];
        assert_eq!(waiting.receive_many(&mut out, 64).await, 6, "events pass");
        assert_eq!(fits(1), 100, "reading makes room");
        assert!(waiting.receive().await.is_some());
        assert_eq!(fits(1), 1);
        drop(waiting);
        assert_eq!(backlog.offer(message(1)), BacklogResult::Unwanted);
    }
}
