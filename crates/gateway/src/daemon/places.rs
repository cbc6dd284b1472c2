//! The places for calls that are under way at the daemon, which itself has 64 for everybody at its socket. Calls of each
//! kind have places of their own, so that no number of calls that wait keeps one from being done that is done at once.
//!
//! What keeps its connection has 24 places: streams take 16 of them at most, and `receive` with its leases 20, so that
//! neither takes all places of the other.
//!
//! One caller has at most as many places as are free: a single one half of all, and there is always one for a caller that
//! has none. Whoever finds no place waits in line, first come first served among those who may have one.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::fault::Fault;

/// For how long a call keeps the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lasting {
    /// It is answered as soon as it is read.
    AtOnce,
    /// It waits for what others do, or reads the log.
    AWhile,
    /// It waits for messages, and keeps its connection for as long as they are held under a lease.
    Received,
    /// It lasts as long as its connection: what is followed, and what is offered.
    AsLongAsItsLink,
}

/// The places of every kind of call.
pub(crate) struct CallPlaces {
    at_once: Arc<Pool>,
    waiting: Arc<Pool>,
    kept: Arc<Pool>,
}

/// The places of one kind, or of two that share them.
struct Pool {
    most: usize,
    /// How many of them each of the two may take.
    most_of: [usize; 2],
    taken: Mutex<PoolState>,
}

#[derive(Default)]
struct PoolState {
    all: usize,
    by_share: [usize; 2],
    by_caller: HashMap<Holder, usize>,
    line: VecDeque<InLine>,
}

/// Who has places, and which of the two that share them they are for.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Holder {
    caller: Arc<str>,
    share: Share,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Share {
    First,
    Second,
}

struct InLine {
    holder: Holder,
    turn: oneshot::Sender<CallPlace>,
}

/// A place, free again when dropped.
pub(crate) struct CallPlace {
    holder: Holder,
    kind: Arc<Pool>,
}

impl CallPlaces {
    pub(super) fn new() -> Self {
        Self {
            at_once: Pool::of(AT_ONCE, [AT_ONCE, 0]),
            waiting: Pool::of(WAITING, [WAITING, 0]),
            kept: Pool::of(KEPT, [RECEIVED, STREAMS]),
        }
    }

    /// A place for a call of that caller, within `patience`.
    ///
    /// # Errors
    /// `busy`.
    pub(super) async fn take(
        &self,
        caller: &Arc<str>,
        lasting: Lasting,
        patience: Duration,
    ) -> Result<CallPlace, Fault> {
        let turn = match self.of(lasting).ask(&holder(caller, lasting)) {
            Ok(place) => return Ok(place),
            Err(turn) => turn,
        };
        match timeout(patience, turn).await {
            Ok(Ok(place)) => Ok(place),
            _ => Err(Fault::Busy),
        }
    }

    /// A place where there is one now.
    pub(super) fn take_now(&self, caller: &Arc<str>, lasting: Lasting) -> Option<CallPlace> {
        self.of(lasting).take_now(&holder(caller, lasting))
    }

    /// A place for what may as well be left out: only while more than half of them are free.
    pub(super) fn take_spare(&self, caller: &Arc<str>, lasting: Lasting) -> Option<CallPlace> {
        let kind = self.of(lasting);
        let is_spare = kind.lock().all < kind.most / 2;
        is_spare
            .then(|| kind.take_now(&holder(caller, lasting)))
            .flatten()
    }

    /// Whether somebody waits for a place of that kind.
    pub(super) fn has_line(&self, lasting: Lasting) -> bool {
        let mut taken = self.of(lasting).lock();
        taken.line.retain(|waiting| !waiting.turn.is_closed());
        !taken.line.is_empty()
    }

    const fn of(&self, lasting: Lasting) -> &Arc<Pool> {
        match lasting {
            Lasting::AtOnce => &self.at_once,
            Lasting::AWhile => &self.waiting,
            Lasting::Received | Lasting::AsLongAsItsLink => &self.kept,
        }
    }
}

fn holder(caller: &Arc<str>, lasting: Lasting) -> Holder {
    Holder {
        caller: Arc::clone(caller),
        share: match lasting {
            Lasting::AsLongAsItsLink => Share::Second,
            _ => Share::First,
        },
    }
}

impl Pool {
    fn of(most: usize, most_of: [usize; 2]) -> Arc<Self> {
        Arc::new(Self {
            most,
            most_of,
            taken: Mutex::default(),
        })
    }

    /// A place, or the turn at which there will be one.
    fn ask(self: &Arc<Self>, holder: &Holder) -> Result<CallPlace, oneshot::Receiver<CallPlace>> {
        if let Some(place) = self.take_now(holder) {
            return Ok(place);
        }
        let (turn, comes) = oneshot::channel();
        let holder = holder.clone();
        self.lock().line.push_back(InLine { holder, turn });
        // A place may have come free in between.
        self.serve_line();
        Err(comes)
    }

    fn take_now(self: &Arc<Self>, holder: &Holder) -> Option<CallPlace> {
        let admitted = self.lock().admit(holder, self);
        admitted.then(|| self.place(holder))
    }

    fn place(self: &Arc<Self>, holder: &Holder) -> CallPlace {
        CallPlace {
            holder: holder.clone(),
            kind: Arc::clone(self),
        }
    }

    /// Gives what is free to those who wait, in their order.
    fn serve_line(self: &Arc<Self>) {
        loop {
            // The lock is free again before a place may be given back by somebody who has gone meanwhile.
            let next = self.lock().next(self);
            let Some(next) = next else { return };
            let place = self.place(&next.holder);
            drop(next.turn.send(place));
        }
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PoolState {
    fn held(&self, holder: &Holder) -> usize {
        self.by_caller.get(holder).copied().unwrap_or_default()
    }

    /// Half of what is free is for one caller, and what is free is what both the kind and its share have left.
    fn may_have(&self, holder: &Holder, pool: &Pool) -> bool {
        let (most_of, taken) = match holder.share {
            Share::First => (pool.most_of[0], self.by_share[0]),
            Share::Second => (pool.most_of[1], self.by_share[1]),
        };
        let free = most_of
            .saturating_sub(taken)
            .min(pool.most.saturating_sub(self.all));
        self.held(holder) < free
    }

    fn admit(&mut self, holder: &Holder, pool: &Pool) -> bool {
        let admitted = self.may_have(holder, pool);
        if admitted {
            self.all += 1;
            *self.share(holder.share) += 1;
            *self.by_caller.entry(holder.clone()).or_default() += 1;
        }
        admitted
    }

    const fn share(&mut self, share: Share) -> &mut usize {
        let [first, second] = &mut self.by_share;
        match share {
            Share::First => first,
            Share::Second => second,
        }
    }

    /// The first in line who may have a place, which is counted as theirs.
    fn next(&mut self, pool: &Pool) -> Option<InLine> {
        self.line.retain(|waiting| !waiting.turn.is_closed());
        let first = self
            .line
            .iter()
            .position(|waiting| self.may_have(&waiting.holder, pool))?;
        let next = self.line.remove(first)?;
        self.admit(&next.holder, pool);
        Some(next)
    }

    fn release(&mut self, holder: &Holder) {
        self.all = self.all.saturating_sub(1);
        let share = self.share(holder.share);
        *share = share.saturating_sub(1);
        let left = self.by_caller.get_mut(holder).map(|held| {
            *held = held.saturating_sub(1);
            *held
        });
        if left == Some(0) {
            self.by_caller.remove(holder);
        }
    }
}

impl Drop for CallPlace {
    fn drop(&mut self) {
        self.kind.lock().release(&self.holder);
        self.kind.serve_line();
    }
}

/// Together 48 of the daemon's 64: the others are for the agent's own programs.
const AT_ONCE: usize = 8;
const WAITING: usize = 16;
const KEPT: usize = 24;
/// So `receive` has 8 of them always, and streams have 4.
const STREAMS: usize = 16;
const RECEIVED: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(name: &str) -> Arc<str> {
        name.into()
    }

    /// As many places as that caller can have now.
    fn all_of(places: &CallPlaces, name: &str, lasting: Lasting) -> Vec<CallPlace> {
        std::iter::from_fn(|| places.take_now(&caller(name), lasting)).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn calls_that_wait_take_no_place_of_those_that_are_done_at_once() {
        let places = CallPlaces::new();
        let _waiting: Vec<_> = ["a", "b", "c", "d", "e", "f"]
            .iter()
            .flat_map(|name| all_of(&places, name, Lasting::AWhile))
            .collect();
        let _kept: Vec<_> = ["a", "b", "c", "d", "e", "f"]
            .iter()
            .flat_map(|name| all_of(&places, name, Lasting::AsLongAsItsLink))
            .collect();
        for name in ["a", "z"] {
            let caller = caller(name);
            let place = places.take(&caller, Lasting::AtOnce, Duration::ZERO);
            assert!(place.await.is_ok(), "{name}");
        }
    }

    #[test]
    fn one_caller_has_half_of_the_places_and_there_is_one_for_the_next() {
        let places = CallPlaces::new();
        let first = all_of(&places, "one", Lasting::AsLongAsItsLink);
        assert_eq!(first.len(), STREAMS / 2);
        let second = all_of(&places, "two", Lasting::AsLongAsItsLink);
        assert_eq!(second.len(), STREAMS / 4);
        assert!(!all_of(&places, "three", Lasting::AsLongAsItsLink).is_empty());
        drop((first, second));
        let kind = places.of(Lasting::AsLongAsItsLink);
        assert!(kind.lock().by_caller.is_empty() && kind.lock().all == 0);
    }

    #[test]
    fn neither_streams_nor_leases_of_many_callers_take_all_places_of_the_other() {
        let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
        for (taken, left, always) in [
            (Lasting::AsLongAsItsLink, Lasting::Received, KEPT - STREAMS),
            (Lasting::Received, Lasting::AsLongAsItsLink, KEPT - RECEIVED),
        ] {
            let places = CallPlaces::new();
            let all = |lasting| -> Vec<CallPlace> {
                let each = names.iter().flat_map(|name| all_of(&places, name, lasting));
                each.collect()
            };
            let held = all(taken);
            assert_eq!(held.len(), KEPT - always, "{taken:?}");
            // Who holds some of the one is not kept from the other.
            assert!(places.take_now(&caller("a"), left).is_some());
            assert_eq!(all(left).len(), always, "{left:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_finds_no_place_waits_in_line_and_has_the_next_one() {
        let places = Arc::new(CallPlaces::new());
        let mut held = all_of(&places, "one", Lasting::AWhile);
        let waits = |name: &'static str| {
            let places = Arc::clone(&places);
            tokio::spawn(async move {
                let patience = Duration::from_secs(60);
                places.take(&caller(name), Lasting::AWhile, patience).await
            })
        };
        let (first, second) = (waits("one"), waits("one"));
        tokio::task::yield_now().await;
        assert!(places.has_line(Lasting::AWhile));
        // Another caller has places of its own, and does not wait behind them.
        assert!(places.take_now(&caller("two"), Lasting::AWhile).is_some());
        held.pop();
        let first = first.await.unwrap();
        assert!(first.is_ok() && !second.is_finished());
        second.abort();
        let _ = second.await;
        drop((first, held));
        assert!(!places.has_line(Lasting::AWhile));
        assert_eq!(places.of(Lasting::AWhile).lock().all, 0, "nothing is lost");
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_in_line_for_ever() {
        let places = CallPlaces::new();
        let _held = all_of(&places, "one", Lasting::AtOnce);
        let began = tokio::time::Instant::now();
        let patience = Duration::from_secs(10);
        let late = places.take(&caller("one"), Lasting::AtOnce, patience).await;
        assert!(matches!(late, Err(Fault::Busy)) && began.elapsed() == patience);
        let next = places.take(&caller("two"), Lasting::AtOnce, patience).await;
        assert!(next.is_ok(), "who gave up stands in nobody's way");
    }
}
