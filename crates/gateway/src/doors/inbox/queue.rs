//! What waits for the daemon: bounded in bytes, and for each address. Under pressure the lesser verdicts are dropped first.
//!
//! ```text
//! request ── reserve ──▶ QueueSlot ── judged ── put ──▶ Queue ── take ──▶ daemon ── EnvelopeResult ──▶ request
//!            503, for whoever asks, where peers' messages alone fill it
//! ```
//!
//! Room is given before anything is judged, so that a refusal says nothing about a verdict; and what has a place and turns
//! out to be a peer's is never dropped.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::Mutex;

use bytes::Bytes;
use tokio::sync::{Notify, oneshot};

use super::pace::network;
use super::verdict::EnvelopeVerdict;
use crate::lock::Locked as _;

/// What became of an envelope.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum EnvelopeResult {
    /// The daemon has ruled on it, durably.
    Ruled,
    /// Dropped under pressure: it was no peer's.
    Shed,
    /// The daemon did not take it; nobody knows how far it came.
    Away,
}

/// An envelope on its way to the daemon.
pub(crate) struct QueuedEnvelope {
    pub(crate) bytes: Bytes,
    pub(crate) from: IpAddr,
    pub(crate) verdict: EnvelopeVerdict,
    pub(crate) done: oneshot::Sender<EnvelopeResult>,
}

/// Why there is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoSlot {
    /// Peers' messages fill the queue.
    Full,
    /// This address has its share under way.
    Share,
}

/// What waits for the daemon.
pub(crate) struct Queue {
    limit: usize,
    waiting: Mutex<QueuedEnvelopes>,
    more: Notify,
}

#[derive(Default)]
struct QueuedEnvelopes {
    /// By verdict, the least first.
    by_rank: [VecDeque<QueuedEnvelope>; RANKS],
    bytes: usize,
    /// Of these, how many are peers'.
    verified: usize,
    /// What was given away and is being judged.
    reserved: usize,
    by_address: HashMap<IpAddr, usize>,
}

impl Queue {
    /// One that holds so many bytes.
    pub(crate) fn of(limit: usize) -> Self {
        Self {
            limit,
            waiting: Mutex::default(),
            more: Notify::new(),
        }
    }

    /// Room for so many bytes of that address, before they are judged.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn reserve(&self, from: IpAddr, bytes: usize) -> Result<QueueSlot<'_>, NoSlot> {
        let mut waiting = self.waiting.locked();
        let from = network(from);
        let theirs = waiting.by_address.get(&from).copied().unwrap_or_default();
        if waiting.verified + waiting.reserved + bytes > self.limit {
            return Err(NoSlot::Full);
        }
        // An address with nothing in the queue may always bring one body, even if `queue-bytes` makes its
        // share smaller than that body.
        if theirs > 0 && theirs + bytes > self.limit / SHARE {
            return Err(NoSlot::Share);
        }
        waiting.reserved += bytes;
        *waiting.by_address.entry(from).or_default() += bytes;
        Ok(QueueSlot {
            queue: self,
            from,
            bytes,
        })
    }

    /// Up to so many envelopes and bytes, peers' first; one at least, once there is one. Cancel safe.
    pub(crate) async fn take(&self, most: usize, bytes: usize) -> Vec<QueuedEnvelope> {
        loop {
            // `notify_one` keeps a permit if nobody waits yet, so an envelope that is put between this line and
            // the wait is not missed.
            let more = self.more.notified();
            let taken = self.waiting.locked().take(most, bytes);
            if !taken.is_empty() {
                return taken;
            }
            more.await;
        }
    }

    /// Empties the queue: the daemon is away.
    pub(crate) fn give_up(&self) {
        let waiting = self.waiting.locked().take(usize::MAX, usize::MAX);
        for item in waiting {
            // The request that waits for this result may be gone. Then nobody receives the result, and the error of `send` is
            // ignored.
            let _ = item.done.send(EnvelopeResult::Away);
        }
    }
}

/// Room in the queue for what one request brought. Dropping it gives back what was not used.
pub(crate) struct QueueSlot<'a> {
    queue: &'a Queue,
    from: IpAddr,
    bytes: usize,
}

impl QueueSlot<'_> {
    /// Puts one envelope of the request into the queue.
    pub(crate) fn put(&mut self, item: QueuedEnvelope) {
        let mut waiting = self.queue.waiting.locked();
        let used = item.bytes.len().min(self.bytes);
        self.bytes -= used;
        waiting.reserved -= used;
        waiting.release(self.from, used);
        waiting.add(item);
        while waiting.bytes > self.queue.limit {
            // Drop unverified messages until the queue is within its limit. There are always enough: `reserve` keeps the
            // verified ones alone within the limit.
            let Some(shed) = waiting.shed() else { break };
            let _ = shed.done.send(EnvelopeResult::Shed);
        }
        drop(waiting);
        self.queue.more.notify_one();
    }
}

impl Drop for QueueSlot<'_> {
    fn drop(&mut self) {
        let mut waiting = self.queue.waiting.locked();
        waiting.reserved -= self.bytes;
        waiting.release(self.from, self.bytes);
    }
}

impl QueuedEnvelopes {
    fn add(&mut self, item: QueuedEnvelope) {
        let length = item.bytes.len();
        self.bytes += length;
        if item.verdict == EnvelopeVerdict::Verified {
            self.verified += length;
        }
        *self.by_address.entry(network(item.from)).or_default() += length;
        let rank = item.verdict as usize;
        if let Some(queue) = self.by_rank.get_mut(rank) {
            queue.push_back(item);
        }
    }

    fn take(&mut self, most: usize, bytes: usize) -> Vec<QueuedEnvelope> {
        let mut taken: Vec<QueuedEnvelope> = Vec::new();
        let mut length = 0;
        for rank in (0..RANKS).rev() {
            while taken.len() < most {
                let next = self.by_rank.get(rank).and_then(VecDeque::front);
                let Some(next) = next.map(|item| item.bytes.len()) else {
                    break;
                };
                // Take the first envelope whatever its length: otherwise a very long one would never leave the queue.
                if !taken.is_empty() && length + next > bytes {
                    return taken;
                }
                let item = self.by_rank.get_mut(rank).and_then(VecDeque::pop_front);
                taken.extend(item.map(|item| self.left(item)));
                length += next;
            }
        }
        taken
    }

    /// The youngest of the least verdict, where any is no peer's.
    fn shed(&mut self) -> Option<QueuedEnvelope> {
        let mut lesser = self
            .by_rank
            .iter_mut()
            .take(EnvelopeVerdict::Verified as usize);
        let item = lesser.find_map(VecDeque::pop_back)?;
        Some(self.left(item))
    }

    fn left(&mut self, item: QueuedEnvelope) -> QueuedEnvelope {
        let length = item.bytes.len();
        self.bytes -= length;
        if item.verdict == EnvelopeVerdict::Verified {
            self.verified -= length;
        }
        self.release(network(item.from), length);
        item
    }

    fn release(&mut self, from: IpAddr, bytes: usize) {
        let theirs = self.by_address.get_mut(&from);
        let left = theirs.map(|theirs| {
            *theirs = theirs.saturating_sub(bytes);
            *theirs
        });
        if left == Some(0) {
            self.by_address.remove(&from);
        }
    }
}

const RANKS: usize = 4;
/// One address may have this part of the queue under way.
const SHARE: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    fn put(
        queue: &Queue,
        from: u8,
        verdict: EnvelopeVerdict,
        length: usize,
    ) -> oneshot::Receiver<EnvelopeResult> {
        let mut place = queue.reserve(address(from), length).unwrap();
        let (done, fate) = oneshot::channel();
        let bytes = Bytes::from(vec![b'x'; length]);
        place.put(QueuedEnvelope {
            bytes,
            from: address(from),
            verdict,
            done,
        });
        fate
    }

    #[test]
    fn forged_ones_go_first_and_a_peers_stays() {
        let queue = Queue::of(400);
        let mut forged = put(&queue, 1, EnvelopeVerdict::Forged, 100);
        let mut unknown = put(&queue, 2, EnvelopeVerdict::Unknown, 100);
        let mut flight = put(&queue, 3, EnvelopeVerdict::Flight, 100);
        let mut first = put(&queue, 4, EnvelopeVerdict::Verified, 100);
        let _second = put(&queue, 5, EnvelopeVerdict::Verified, 100);
        assert_eq!(forged.try_recv(), Ok(EnvelopeResult::Shed));
        assert!(unknown.try_recv().is_err());
        let mut late = put(&queue, 6, EnvelopeVerdict::Forged, 100);
        assert_eq!(late.try_recv(), Ok(EnvelopeResult::Shed));
        let _third = put(&queue, 6, EnvelopeVerdict::Verified, 100);
        assert_eq!(unknown.try_recv(), Ok(EnvelopeResult::Shed));
        let taken = queue.waiting.locked().take(2, 1_000);
        assert!(
            taken
                .iter()
                .all(|item| item.verdict == EnvelopeVerdict::Verified)
        );
        assert!(flight.try_recv().is_err() && first.try_recv().is_err());
    }

    #[test]
    fn a_refusal_comes_before_the_verdict_and_is_the_same_for_all() {
        let queue = Queue::of(400);
        let _peers: Vec<_> = (0..4)
            .map(|n| put(&queue, n, EnvelopeVerdict::Verified, 100))
            .collect();
        assert_eq!(queue.reserve(address(9), 1).err(), Some(NoSlot::Full));
        queue.give_up();
        assert!(queue.reserve(address(9), 1).is_ok());
    }

    #[test]
    fn one_address_has_its_share_and_no_more() {
        let queue = Queue::of(400);
        let place = queue.reserve(address(1), 300).unwrap();
        assert_eq!(queue.reserve(address(1), 1).err(), Some(NoSlot::Share));
        assert!(queue.reserve(address(2), 100).is_ok());
        drop(place);
        assert!(queue.reserve(address(1), 1).is_ok());
        let _forged = put(&queue, 1, EnvelopeVerdict::Forged, 100);
        assert_eq!(queue.reserve(address(1), 1).err(), Some(NoSlot::Share));
        queue.waiting.locked().take(9, 999);
        assert!(queue.waiting.locked().by_address.is_empty() && queue.waiting.locked().bytes == 0);
    }

    #[test]
    fn a_batch_is_bounded_and_never_empty() {
        let queue = Queue::of(4_000);
        let _all: Vec<_> = (0..4)
            .map(|n| put(&queue, n, EnvelopeVerdict::Verified, 600))
            .collect();
        assert_eq!(queue.waiting.locked().take(9, 1_300).len(), 2);
        assert_eq!(queue.waiting.locked().take(9, 1).len(), 1);
        assert_eq!(queue.waiting.locked().take(9, 1).len(), 1);
        assert_eq!(queue.waiting.locked().take(9, 1).len(), 0);
    }
}
