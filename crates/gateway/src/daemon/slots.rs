//! The places for calls that are under way at the daemon, which itself has 64 for everybody at its socket. Calls of each
//! kind have places of their own, so that no number of calls that wait keeps one from being done that is done at once.
//!
//! What keeps its connection has 24 places: streams take 16 of them at most, and `receive` with its leases 20, so that
//! neither takes all places of the other.
//!
//! One caller may hold as many slots as are free. So a single caller gets half of them, and there is always one for a
//! caller that has none. A call that finds no slot waits in line; a free slot goes to the first in line whose caller may
//! have it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::fault::DoorError;
use crate::lock::Locked as _;

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
pub(crate) struct CallSlots {
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
    by_caller: HashMap<SlotHolder, usize>,
    line: VecDeque<InLine>,
}

/// Who has places, and which of the two that share them they are for.
#[derive(Clone, PartialEq, Eq, Hash)]
struct SlotHolder {
    caller: Arc<str>,
    share: PoolShare,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum PoolShare {
    First,
    Second,
}

struct InLine {
    holder: SlotHolder,
    turn: oneshot::Sender<CallSlot>,
}

/// A place, free again when dropped.
pub(crate) struct CallSlot {
    holder: SlotHolder,
    kind: Arc<Pool>,
}

impl CallSlots {
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
    ) -> Result<CallSlot, DoorError> {
        let turn = match self.of(lasting).ask(&holder(caller, lasting)) {
            Ok(place) => return Ok(place),
            Err(turn) => turn,
        };
        // The slot may be granted just as the patience ends. No slot is lost then: it is dropped together with `turn`, and its
        // `Drop` gives it back.
        match timeout(patience, turn).await {
            Ok(Ok(place)) => Ok(place),
            _ => Err(DoorError::Busy),
        }
    }

    /// A place where there is one now.
    pub(super) fn take_now(&self, caller: &Arc<str>, lasting: Lasting) -> Option<CallSlot> {
        self.of(lasting).take_now(&holder(caller, lasting))
    }

    /// A place for what may as well be left out: only while more than half of them are free.
    pub(super) fn take_spare(&self, caller: &Arc<str>, lasting: Lasting) -> Option<CallSlot> {
        let kind = self.of(lasting);
        let is_spare = kind.taken.locked().all < kind.most / 2;
        is_spare.then(|| kind.take_now(&holder(caller, lasting)))?
    }

    /// Whether somebody waits for a place that calls of that kind may give back.
    pub(super) fn has_line(&self, lasting: Lasting) -> bool {
        let pool = self.of(lasting);
        pool.taken.locked().has_line(share(lasting), pool)
    }

    const fn of(&self, lasting: Lasting) -> &Arc<Pool> {
        match lasting {
            Lasting::AtOnce => &self.at_once,
            Lasting::AWhile => &self.waiting,
            Lasting::Received | Lasting::AsLongAsItsLink => &self.kept,
        }
    }
}

fn holder(caller: &Arc<str>, lasting: Lasting) -> SlotHolder {
    SlotHolder {
        caller: Arc::clone(caller),
        share: share(lasting),
    }
}

const fn share(lasting: Lasting) -> PoolShare {
    match lasting {
        Lasting::AsLongAsItsLink => PoolShare::Second,
        Lasting::AtOnce | Lasting::AWhile | Lasting::Received => PoolShare::First,
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
    fn ask(self: &Arc<Self>, holder: &SlotHolder) -> Result<CallSlot, oneshot::Receiver<CallSlot>> {
        let mut taken = self.taken.locked();
        // There is no need to look at `line`: `release` has given a slot to each caller in it that may have one, so none of
        // those that are still in line may have a slot that is free now.
        if taken.admit(holder, self) {
            return Ok(self.place(holder));
        }
        let (turn, comes) = oneshot::channel();
        let holder = holder.clone();
        taken.line.push_back(InLine { holder, turn });
        Err(comes)
    }

    fn take_now(self: &Arc<Self>, holder: &SlotHolder) -> Option<CallSlot> {
        self.taken
            .locked()
            .admit(holder, self)
            .then(|| self.place(holder))
    }

    fn place(self: &Arc<Self>, holder: &SlotHolder) -> CallSlot {
        CallSlot {
            holder: holder.clone(),
            kind: Arc::clone(self),
        }
    }
}

impl PoolState {
    fn held(&self, holder: &SlotHolder) -> usize {
        self.by_caller.get(holder).copied().unwrap_or_default()
    }

    /// A caller may have one more while it holds fewer than are free: the smaller of what the pool and its share have left.
    fn may_have(&self, holder: &SlotHolder, pool: &Pool) -> bool {
        let free = self
            .left_of(holder.share, pool)
            .min(pool.most.saturating_sub(self.all));
        self.held(holder) < free
    }

    /// What is left of that share alone.
    const fn left_of(&self, share: PoolShare, pool: &Pool) -> usize {
        let (most, taken) = match share {
            PoolShare::First => (pool.most_of[0], self.by_share[0]),
            PoolShare::Second => (pool.most_of[1], self.by_share[1]),
        };
        most.saturating_sub(taken)
    }

    /// Whether anybody waits for a slot that a call of that share could give back. Nobody is helped by it who waits because
    /// their own share is used up.
    fn has_line(&mut self, of: PoolShare, pool: &Pool) -> bool {
        self.line.retain(|waiting| !waiting.turn.is_closed());
        self.line.iter().any(|InLine { holder, .. }| {
            holder.share == of || self.held(holder) < self.left_of(holder.share, pool)
        })
    }

    fn admit(&mut self, holder: &SlotHolder, pool: &Pool) -> bool {
        let admitted = self.may_have(holder, pool);
        if admitted {
            self.all += 1;
            *self.share(holder.share) += 1;
            *self.by_caller.entry(holder.clone()).or_default() += 1;
        }
        admitted
    }

    const fn share(&mut self, share: PoolShare) -> &mut usize {
        let [first, second] = &mut self.by_share;
        match share {
            PoolShare::First => first,
            PoolShare::Second => second,
        }
    }

    /// The first in line who may have a place, which is counted as theirs.
    fn next(&mut self, pool: &Pool) -> Option<InLine> {
        // Remove the callers that have given up waiting: otherwise the slot would be given to one of them, who does not take
        // it.
        self.line.retain(|waiting| !waiting.turn.is_closed());
        let first = self
            .line
            .iter()
            .position(|waiting| self.may_have(&waiting.holder, pool))?;
        let next = self.line.remove(first)?;
        self.admit(&next.holder, pool);
        Some(next)
    }

    /// Gives a slot back. Those in line who have one now, already counted, before anybody who asks later.
    fn release(&mut self, holder: &SlotHolder, pool: &Pool) -> Vec<InLine> {
        self.all = self.all.saturating_sub(1);
        let share = self.share(holder.share);
        *share = share.saturating_sub(1);
        let left = self.by_caller.get_mut(holder).map(|held| {
            *held = held.saturating_sub(1);
            *held
        });
        // Remove the entry of a caller that holds no slot: otherwise the map would grow with every caller that ever was.
        if left == Some(0) {
            self.by_caller.remove(holder);
        }
        std::iter::from_fn(|| self.next(pool)).collect()
    }
}

impl Drop for CallSlot {
    fn drop(&mut self) {
        let next = self.kind.taken.locked().release(&self.holder, &self.kind);
        // The lock on `taken` must be free before this loop: a slot that is sent to a caller who has gone is
        // dropped here, and its `Drop` takes the lock.
        for next in next {
            drop(next.turn.send(self.kind.place(&next.holder)));
        }
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
mod tests;
