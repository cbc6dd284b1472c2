//! What this side remembers of the broker's store from one connection to the next, to notice its loss.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use async_nats::client::Client;
use tokio::time::Instant;

use crate::caution::Caution;
use crate::readers::ReaderWatch;
use crate::standing::ConsumerInfo;

/// The stream that confirmed a message, as far as its confirmation names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Counter {
    pub(crate) domain: Option<String>,
    pub(crate) stream: String,
}

#[derive(Debug, Default)]
pub(crate) struct MailboxStore {
    /// When our consumer was made, in nanoseconds since 1970.
    created: Mutex<Option<i128>>,
    /// The last sequence that a confirmation named, for each inbox apart: a stream of the same name in another
    /// domain or account has its own numbers, and an account's stands in no confirmation.
    confirmed: Mutex<HashMap<(Counter, String), u64>>,
    /// When a confirmation told of a loss last.
    fell: Mutex<Option<Instant>>,
    /// Counts the losses: a handle of one era must not settle a message of the next, whose numbers begin
    /// anew.
    era: AtomicU64,
    caution: Mutex<Caution>,
    readers: Mutex<ReaderWatch>,
    /// What our round trips have in common, whatever connection they were sent by.
    mark: OnceLock<String>,
    trips: AtomicU64,
}

impl MailboxStore {
    pub(crate) fn era(&self) -> u64 {
        self.era.load(Ordering::Acquire)
    }

    pub(crate) fn caution(&self) -> MutexGuard<'_, Caution> {
        self.caution.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn readers(&self) -> MutexGuard<'_, ReaderWatch> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A text that nobody else has, the same on every connection.
    pub(crate) fn mark(&self, client: &Client) -> &str {
        self.mark.get_or_init(|| client.new_inbox())
    }

    /// A number that no round trip had before.
    pub(crate) fn next_trip(&self) -> u64 {
        self.trips.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Whether the consumer is another one than before.
    pub(crate) fn is_lost_by(&self, standing: &ConsumerInfo) -> bool {
        let mut known = self.created.lock().unwrap_or_else(PoisonError::into_inner);
        let lost = known.is_some_and(|before| !standing.is_of(before));
        if lost || known.is_none() {
            *known = Some(standing.created);
        }
        if lost {
            // Forget the numbers of the old store: otherwise the lower numbers of the new store would be reported as a
            // second loss.
            self.confirmed().clear();
            *self.caution() = Caution::default();
            self.era.fetch_add(1, Ordering::AcqRel);
        }
        lost
    }

    /// Whether a stream that confirms a message for `inbox` counts from a lower number than before: it confirms
    /// in the order of its numbers. That it lost its store is told once, for all inboxes, and every ten minutes at most:
    /// whoever keeps a peer's mailbox can answer with any number, and after a loss everything goes out again.
    pub(crate) fn is_behind(
        &self,
        counter: Counter,
        inbox: &str,
        sequence: u64,
        now: Instant,
    ) -> bool {
        let mut confirmed = self.confirmed();
        let place = (counter, inbox.to_owned());
        let fell = confirmed.get(&place).is_some_and(|last| *last >= sequence);
        let lost = fell && self.may_tell(now);
        if fell {
            confirmed.retain(|(known, _), _| *known != place.0);
        }
        if lost {
            self.era.fetch_add(1, Ordering::AcqRel);
        }
        if confirmed.len() >= COUNTERS && !confirmed.contains_key(&place) {
            confirmed.clear();
        }
        confirmed.insert(place, sequence);
        lost
    }

    fn may_tell(&self, now: Instant) -> bool {
        let mut fell = self.fell.lock().unwrap_or_else(PoisonError::into_inner);
        let may = fell.is_none_or(|last| now.duration_since(last) >= BETWEEN_LOSSES);
        if may {
            *fell = Some(now);
        }
        may
    }

    fn confirmed(&self) -> MutexGuard<'_, HashMap<(Counter, String), u64>> {
        self.confirmed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many streams and inboxes are counted. Whoever may publish to the reply subject of a message can make up names
/// of streams; when there are more, all are forgotten, and the next number of each is taken as it comes.
const COUNTERS: usize = 1_000;
/// A second loss within this time is noticed by this agent's own mailbox, or made good by the ledgers' own copies.
const BETWEEN_LOSSES: Duration = Duration::from_secs(10 * 60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_consumer_or_a_falling_number_is_a_loss_told_once() {
        let (store, now) = (MailboxStore::default(), Instant::now());
        let behind = |sequence| store.is_behind(hub(), "agent.bob.inbox", sequence, now);
        assert!(!store.is_lost_by(&made(5)) && !store.is_lost_by(&made(5)));
        assert!(!behind(7) && !behind(9));
        assert!(store.is_lost_by(&made(6)), "made anew");
        assert!(!behind(1), "the loss was told already");
        assert_eq!(store.era(), 1);
        assert!(behind(1) && !behind(2));
        assert_eq!(store.era(), 2);
    }

    /// Each loss makes all that is unreceipted go out again, to every peer.
    #[test]
    fn a_peer_whose_mailbox_counts_backwards_again_and_again_causes_a_loss_every_ten_minutes() {
        let (store, start) = (MailboxStore::default(), Instant::now());
        let told = |second| {
            let counter = Counter {
                domain: Some(format!("made-up-{}", second % 7)),
                ..hub()
            };
            let now = start + Duration::from_secs(second);
            store.is_behind(counter, "agent.carol.inbox", 1, now)
        };
        let losses = (0..3_600).filter(|second| told(*second)).count();
        assert_eq!((losses, store.era()), (6, 6));
        let late = start + 2 * Duration::from_secs(3_600);
        let behind = |sequence| store.is_behind(hub(), "agent.bob.inbox", sequence, late);
        assert!(!behind(9) && behind(9), "a true one is told as ever");
    }

    /// nats-server 2.10.25 told three times within 8 ms of one consumer, by which server led.
    #[test]
    fn copies_of_a_consumer_that_were_made_at_slightly_different_times_are_no_loss() {
        let store = MailboxStore::default();
        let copy = |milliseconds: i128| ConsumerInfo {
            is_replicated: true,
            ..made(milliseconds * 1_000_000)
        };
        for told in [39_272, 39_280, 39_272, 39_290, 49_272, 29_272] {
            assert!(!store.is_lost_by(&copy(told)), "{told}");
        }
        assert!(store.is_lost_by(&copy(60_000)), "made anew");
        assert!(!store.is_lost_by(&copy(60_008)));
        assert_eq!(store.era(), 1);
    }

    #[test]
    fn two_streams_of_one_name_are_counted_apart_and_the_loss_of_one_is_told_once() {
        let (store, now) = (MailboxStore::default(), Instant::now());
        let later = now + BETWEEN_LOSSES;
        let of = |domain: Option<&str>| Counter {
            domain: domain.map(str::to_owned),
            ..hub()
        };
        let inboxes = ["agent.bob.inbox", "agent.carol.inbox"];
        for n in 1..100 {
            for (inbox, far) in [(inboxes[0], 0), (inboxes[1], 10_000)] {
                assert!(
                    !store.is_behind(of(None), inbox, far + n, now),
                    "two accounts"
                );
            }
            for (domain, far) in [("leaf", 20_000), ("hub", 30_000)] {
                let counter = of(Some(domain));
                assert!(!store.is_behind(counter, inboxes[0], far + n, now));
            }
        }
        assert_eq!(store.era(), 0);
        assert!(store.is_behind(of(None), inboxes[1], 1, now));
        assert!(
            !store.is_behind(of(None), inboxes[0], 2, later),
            "told already"
        );
        assert!(!store.is_behind(of(Some("leaf")), inboxes[0], 20_100, later));
        assert!(store.is_behind(of(Some("hub")), inboxes[0], 1, later));
        assert_eq!(store.era(), 2);
    }

    /// The price of counting each inbox apart: one whose last number was low sees later that it begins anew.
    #[test]
    fn a_loss_is_noticed_when_an_inbox_does_not_rise_above_its_own_last_number() {
        let (store, now) = (MailboxStore::default(), Instant::now());
        let behind = |inbox, sequence| store.is_behind(hub(), inbox, sequence, now);
        assert!(!behind("agent.bob.inbox", 2) && !behind("agent.carol.inbox", 900));
        assert!(
            !behind("agent.bob.inbox", 3),
            "of the new store, and above 2"
        );
        assert!(behind("agent.carol.inbox", 4));
        assert!(!behind("agent.bob.inbox", 5), "told already");
    }

    #[test]
    fn confirmations_that_a_stranger_writes_fill_no_memory_and_are_no_loss() {
        let (store, now) = (MailboxStore::default(), Instant::now());
        for n in 0..10_000_u64 {
            let counter = Counter {
                domain: Some(format!("made-up-{n}")),
                ..hub()
            };
            assert!(!store.is_behind(counter, "agent.bob.inbox", n + 1, now));
            assert!(store.confirmed().len() <= COUNTERS);
        }
        assert_eq!(store.era(), 0);
    }

    fn made(created: i128) -> ConsumerInfo {
        ConsumerInfo {
            created,
            ..ConsumerInfo::default()
        }
    }

    fn hub() -> Counter {
        Counter {
            domain: None,
            stream: "AGENT_INBOX".into(),
        }
    }
}
