//! The places for connections, and who gives one up when all are taken.
//!
//! A caller that opens connections and sends nothing takes no place from others. The first to go are connections on which
//! nobody has proved to be known, the one that has been idle for the longest time before the others; then those of known
//! callers, in the same order. A connection whose request is being worked on keeps its place.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

/// How a connection stands: in the extensions of each of its requests.
#[derive(Clone)]
pub struct ConnectionActivity(Arc<Activity>);

struct Activity {
    /// Whether somebody known has sent a request by it.
    is_known: AtomicBool,
    under_way: AtomicUsize,
    /// Rises with every request that ends, of whatever connection.
    idle_since: AtomicU64,
    clock: Arc<AtomicU64>,
}

/// A request that is being worked on, until it is dropped.
pub struct RequestUnderWay(Arc<Activity>);

impl ConnectionActivity {
    /// A request of a caller who has shown to be known, such as by a token, a certificate or a session.
    pub fn of_caller(&self) -> RequestUnderWay {
        self.0.is_known.store(true, Ordering::Relaxed);
        self.at_work()
    }

    /// Marks a request as worked on whose sender need not be known, and whose body is complete. While a body is still
    /// awaited its connection is not protected: a slow sender would keep its slot for ever.
    pub fn at_work(&self) -> RequestUnderWay {
        self.0.under_way.fetch_add(1, Ordering::Relaxed);
        RequestUnderWay(Arc::clone(&self.0))
    }
}

impl Drop for RequestUnderWay {
    fn drop(&mut self) {
        // Store the end of this request before the count goes down: once the count is 0, `free_one` goes by `idle_since`, which
        // would still hold the end of an earlier request.
        let now = self.0.clock.fetch_add(1, Ordering::Relaxed);
        self.0.idle_since.store(now, Ordering::Relaxed);
        self.0.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}

/// So many places.
pub(crate) struct ListenerSlots {
    most: usize,
    clock: Arc<AtomicU64>,
    taken: Arc<Mutex<Taken>>,
}

type Taken = BTreeMap<u64, (Arc<Activity>, CancellationToken)>;

/// The table, also after a panic of a thread that held it: each of its changes is whole.
fn locked(taken: &Mutex<Taken>) -> MutexGuard<'_, Taken> {
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The place of one connection, free again when dropped.
pub(crate) struct ListenerSlot {
    number: u64,
    activity: Arc<Activity>,
    given_up: CancellationToken,
    taken: Arc<Mutex<Taken>>,
}

impl ListenerSlots {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            clock: Arc::default(),
            taken: Arc::default(),
        }
    }

    /// A place, for which another connection is given up where there is none. Where every connection is at work, the new
    /// one is given up itself.
    pub(crate) fn take(&self) -> ListenerSlot {
        let number = self.clock.fetch_add(1, Ordering::Relaxed);
        let activity = Arc::new(Activity {
            is_known: AtomicBool::new(false),
            under_way: AtomicUsize::new(0),
            idle_since: AtomicU64::new(number),
            clock: Arc::clone(&self.clock),
        });
        let given_up = CancellationToken::new();
        let is_full = {
            let mut taken = locked(&self.taken);
            let is_full = taken.len() >= self.most;
            taken.insert(number, (Arc::clone(&activity), given_up.clone()));
            is_full
        };
        if is_full && !self.free_one(Some(number)) {
            self.free_one(None);
        }
        ListenerSlot {
            number,
            activity,
            given_up,
            taken: Arc::clone(&self.taken),
        }
    }

    /// Gives up the connection that has the least claim to its place, but not that one. Whether there was any.
    pub(crate) fn free_one(&self, but: Option<u64>) -> bool {
        let mut taken = locked(&self.taken);
        let idle = taken.iter().filter(|(number, (activity, _))| {
            Some(**number) != but && activity.under_way.load(Ordering::Relaxed) == 0
        });
        let least = idle.min_by_key(|(_, (activity, _))| {
            let is_known = activity.is_known.load(Ordering::Relaxed);
            (is_known, activity.idle_since.load(Ordering::Relaxed))
        });
        let least = least.map(|(number, _)| *number);
        // Remove the connection here, and not when its task ends: otherwise the next caller that needs a slot
        // would choose it again.
        let freed = least.and_then(|number| taken.remove(&number));
        if let Some((_, given_up)) = &freed {
            given_up.cancel();
        }
        freed.is_some()
    }
}

impl ListenerSlot {
    pub(crate) fn standing(&self) -> ConnectionActivity {
        ConnectionActivity(Arc::clone(&self.activity))
    }

    /// Cancelled when the connection has to go.
    pub(crate) fn given_up(&self) -> CancellationToken {
        self.given_up.clone()
    }
}

impl Drop for ListenerSlot {
    fn drop(&mut self) {
        let mut taken = locked(&self.taken);
        taken.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_connection_that_is_idle_for_longest_makes_room_and_one_at_work_never() {
        let places = ListenerSlots::new(3);
        let (first, second, third) = (places.take(), places.take(), places.take());
        let under_way = first.standing().at_work();
        drop(second.standing().at_work());
        let fourth = places.take();
        assert!(third.given_up.is_cancelled(), "second was at work later");
        let fifth = places.take();
        assert!(second.given_up.is_cancelled() && !first.given_up.is_cancelled());
        drop(under_way);
        let sixth = places.take();
        assert!(fourth.given_up.is_cancelled() && !first.given_up.is_cancelled());
        drop((fifth, sixth));
        let _seventh = places.take();
        assert!(!first.given_up.is_cancelled(), "there is room again");
    }

    #[test]
    fn ten_thousand_strangers_take_one_place_from_those_who_are_known() {
        let places = ListenerSlots::new(8);
        let known: Vec<ListenerSlot> = (0..8).map(|_| places.take()).collect();
        known
            .iter()
            .for_each(|place| drop(place.standing().of_caller()));
        let mut strangers = std::collections::VecDeque::new();
        for _ in 0..10_000 {
            strangers.push_back(places.take());
            let newest = strangers.back().unwrap();
            assert!(
                !newest.given_up.is_cancelled(),
                "the newest may show who it is"
            );
            strangers.retain(|place| !place.given_up.is_cancelled());
        }
        let lost = known.iter().filter(|place| place.given_up.is_cancelled());
        assert_eq!(lost.count(), 1);
    }

    #[test]
    fn where_everybody_is_at_work_a_new_connection_is_given_up() {
        let places = ListenerSlots::new(2);
        let (first, second) = (places.take(), places.take());
        let _work = (first.standing().at_work(), second.standing().of_caller());
        let third = places.take();
        assert!(third.given_up.is_cancelled());
        assert!(!first.given_up.is_cancelled() && !second.given_up.is_cancelled());
    }
}
