//! Who has a place at the control socket, and who leaves when all are taken.
//!
//! Every client that may talk to the daemon gets a place soon: a program that keeps all of them busy, or
//! holds them without a word, must not keep the person from `signet pause`. When the places are taken, one is
//! freed. A client that waits for nothing goes first; among those alike the one whose process holds the most
//! places; then the one that has been as it is the longest. So a process that fills the table throws out
//! itself, and a person's one short call is the last to go.
//!
//! A client that is only about to ask, or is just being answered, is not thrown out at once: the newcomer
//! waits for a place that comes free by itself, and many short connections follow one another.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep_until};

/// How long a client that waits for nothing keeps its place for sure: it may be about to ask.
const SETTLED: Duration = Duration::from_secs(1);
/// How long a newcomer waits for a place at most.
const PATIENCE: Duration = Duration::from_secs(2);

/// The places of a server.
#[derive(Debug)]
pub(super) struct SocketSlots {
    taken: Mutex<Vec<Arc<SocketSlot>>>,
    most: usize,
    freed: Notify,
}

/// One client's place.
#[derive(Debug)]
pub(super) struct SocketSlot {
    /// The process that connected; those that the system does not name count as one.
    process: Option<i32>,
    state: Mutex<SlotsTaken>,
    leave: Notify,
}

#[derive(Debug)]
struct SlotsTaken {
    /// How many of its lines wait for their answers.
    waits: usize,
    /// Whether it is told what happens, as `inbox.follow` asks.
    listens: Option<mpsc::WeakSender<String>>,
    /// Since when it waits, or has nothing to wait for.
    since: Instant,
}

impl SocketSlots {
    pub(super) const fn new(most: usize) -> Self {
        Self {
            taken: Mutex::new(Vec::new()),
            most,
            freed: Notify::const_new(),
        }
    }

    /// A place for a client of `process`, as soon as there is one; whether somebody has to leave for it.
    pub(super) async fn take(&self, process: Option<i32>) -> (Arc<SocketSlot>, bool) {
        let end = Instant::now() + PATIENCE;
        loop {
            let again = match self.try_take(process, end) {
                Ok(taken) => return taken,
                Err(again) => again,
            };
            tokio::select! {
                () = self.freed.notified() => {}
                () = sleep_until(again) => {}
            }
        }
    }

    /// A place, or when to ask again; at `end` there is one for sure.
    fn try_take(
        &self,
        process: Option<i32>,
        end: Instant,
    ) -> Result<(Arc<SocketSlot>, bool), Instant> {
        let now = Instant::now();
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let leaves = (taken.len() >= self.most)
            .then(|| first_to_leave(&taken, process))
            .flatten();
        if let Some(place) = leaves.and_then(|index| taken.get(index)) {
            let (is_idle, since) = place.standing();
            let again = if is_idle {
                end.min(since + SETTLED)
            } else {
                end
            };
            if now < again {
                return Err(again);
            }
            // Do not wait until the client that gives up its place has left: if it does not read, a write to it could keep the
            // new client out for as long as a write may take.
            place.leave.notify_one();
        }
        leaves.map(|index| taken.swap_remove(index));
        let place = Arc::new(SocketSlot {
            process,
            state: Mutex::new(SlotsTaken {
                waits: 0,
                listens: None,
                since: now,
            }),
            leave: Notify::new(),
        });
        taken.push(Arc::clone(&place));
        Ok((place, leaves.is_some()))
    }

    /// The client has gone.
    pub(super) fn free(&self, place: &Arc<SocketSlot>) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let before = taken.len();
        taken.retain(|other| !Arc::ptr_eq(other, place));
        // A client that had to give up its place lost it in `try_take` already, to the new client: then
        // no place becomes free here.
        if taken.len() < before {
            self.freed.notify_one();
        }
    }
}

/// Which of the places is freed for a client of `process`.
fn first_to_leave(taken: &[Arc<SocketSlot>], process: Option<i32>) -> Option<usize> {
    // A client has to leave for the new one: an idle client if there is any, else a busy one; among these, a client
    // of the process with most places. The new connection counts for its process, so a process with many clients
    // pushes out its own first.
    let mut held = HashMap::from([(process, 1_usize)]);
    for place in taken {
        *held.entry(place.process).or_default() += 1;
    }
    let now = Instant::now();
    let rank = |place: &SocketSlot| {
        let (is_idle, since) = place.standing();
        let share = held.get(&place.process).copied();
        (is_idle, share, now.saturating_duration_since(since))
    };
    let ranked = taken.iter().enumerate();
    ranked
        .max_by_key(|(_, place)| rank(place))
        .map(|(index, _)| index)
}

impl SocketSlot {
    /// Notes the queue of notifications for this client. While the client follows something, others than its
    /// connection hold the queue too.
    pub(super) fn tells_by(&self, queue: mpsc::WeakSender<String>) {
        // Keep a weak sender of the queue: `standing` counts the strong senders to see whether the client follows something,
        // and a strong one would keep the queue open after the client has gone.
        self.with(|state| state.listens = Some(queue));
    }

    /// Notes how many of the client's lines wait for their answers.
    pub(super) fn waits_for(&self, lines: usize) {
        self.with(|state| {
            // Of clients that are alike otherwise, `first_to_leave` takes the one that has been idle longest. Its idle time
            // begins anew only when it becomes busy or idle, not with each further line.
            if (state.waits == 0) != (lines == 0) {
                state.since = Instant::now();
            }
            state.waits = lines;
        });
    }

    /// Resolves when the place is needed for somebody else.
    pub(super) async fn is_needed(&self) {
        self.leave.notified().await;
    }

    /// Whether the client waits for nothing, neither answers nor notifications, and since when.
    fn standing(&self) -> (bool, Instant) {
        self.with(|state| {
            // The connection itself holds one strong sender of the queue of notifications. A second one means that the client
            // follows something, and so is not idle.
            let holders = state.listens.as_ref().map(mpsc::WeakSender::strong_count);
            let listens = holders.is_some_and(|holders| holders > 1);
            (state.waits == 0 && !listens, state.since)
        })
    }

    fn with<T>(&self, change: impl FnOnce(&mut SlotsTaken) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A place for a client that has no patience left.
    fn take(places: &SocketSlots, process: i32) -> (Arc<SocketSlot>, bool) {
        places.try_take(Some(process), Instant::now()).unwrap()
    }

    /// How a client that has been there for `seconds` stands.
    fn place(places: &SocketSlots, process: i32, waits: usize, seconds: u64) -> Arc<SocketSlot> {
        let (place, _) = take(places, process);
        place.with(|state| {
            state.waits = waits;
            state.since -= std::time::Duration::from_secs(seconds);
        });
        place
    }

    fn leaves(place: &SocketSlot) -> bool {
        let mut told = std::pin::pin!(place.leave.notified());
        told.as_mut().enable()
    }

    #[test]
    fn while_there_is_room_nobody_leaves() {
        let places = SocketSlots::new(2);
        let first = place(&places, 1, 0, 100);
        assert!(!take(&places, 2).1);
        assert!(!leaves(&first));
        places.free(&first);
        assert!(!take(&places, 3).1, "what was freed is free");
    }

    #[test]
    fn who_waits_for_nothing_leaves_before_who_waits() {
        let places = SocketSlots::new(3);
        let all = [
            place(&places, 1, 1, 900),
            place(&places, 2, 0, 5),
            place(&places, 3, 0, 50),
        ];
        assert!(take(&places, 4).1);
        assert_eq!(
            all.each_ref().map(|place| leaves(place)),
            [false, false, true]
        );
    }

    #[test]
    fn a_process_that_takes_every_place_throws_out_itself() {
        let places = SocketSlots::new(4);
        let person = place(&places, 1, 1, 900);
        let hostile: Vec<_> = (0..3).map(|at| place(&places, 2, 1, at)).collect();
        for _ in 0..3 {
            take(&places, 2).0.waits_for(1);
        }
        assert!(!leaves(&person));
        assert!(hostile.iter().all(|place| leaves(place)));
    }

    #[test]
    fn who_listens_is_not_idle() {
        let places = SocketSlots::new(2);
        let (queue, _told) = mpsc::channel(1);
        let listener = place(&places, 1, 0, 900);
        listener.tells_by(queue.downgrade());
        let _held_by_the_daemon = queue.clone();
        let idle = place(&places, 2, 0, 1);
        assert!(take(&places, 3).1);
        assert!(leaves(&idle) && !leaves(&listener));
    }

    #[tokio::test]
    async fn a_newcomer_waits_for_a_place_that_comes_free_and_throws_nobody_out() {
        let places = Arc::new(SocketSlots::new(1));
        let (first, _) = places.take(Some(1)).await;
        first.waits_for(1);
        let newcomer = tokio::spawn({
            let places = Arc::clone(&places);
            async move { places.take(Some(2)).await.1 }
        });
        tokio::time::sleep(PATIENCE / 2).await;
        assert!(!newcomer.is_finished());
        places.free(&first);
        assert!(!newcomer.await.unwrap());
    }

    #[tokio::test]
    async fn a_newcomer_waits_no_longer_than_it_has_patience() {
        let places = SocketSlots::new(1);
        let (first, _) = places.take(Some(1)).await;
        for (lines, patience) in [(0, SETTLED), (1, PATIENCE)] {
            first.waits_for(lines);
            let began = Instant::now();
            let (second, leaves) = places.take(Some(2)).await;
            assert!(leaves && began.elapsed() <= patience + Duration::from_secs(5));
            assert!(lines == 0 || began.elapsed() >= patience);
            places.free(&second);
            places.taken.lock().unwrap().push(Arc::clone(&first));
        }
    }
}
