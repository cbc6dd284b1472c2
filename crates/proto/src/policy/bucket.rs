//! A budget of calls a minute.

use std::time::Duration;

use crate::budget::Bucket;
use crate::time::Timestamp;

/// What is left of it. A fresh one is full: a minute's calls at once, and an hour's that waited.
///
/// What a network held back comes in one bunch and is no loop: a message that was signed a while ago
/// is paid from what was not used in the hour before. A sender that dates its messages back gains
/// that hour and no more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallBudget {
    used: Bucket,
    borrowed: Duration,
}

impl CallBudget {
    /// The budget at `now`: what has flowed back since it was last looked at is in it again.
    #[must_use]
    pub fn at(mut self, now: Timestamp, per_minute: u32) -> Self {
        let rest = self.used.work_off(now, per_minute);
        // `rest` is the time that was left after the minute's budget was full again. In that time the hour's budget
        // (`borrowed`) refills, which pays for calls that were held up on their way.
        self.borrowed = self.borrowed.saturating_sub(rest);
        self
    }

    /// The budget after one call more that was `age` on its way; `None` when there is no room for it.
    pub fn take(self, per_minute: u32, age: Duration) -> Option<Self> {
        let minute = CALL.saturating_mul(per_minute);
        let borrowed = self.borrowed.saturating_add(CALL);
        if age >= WAITED && borrowed <= minute.saturating_mul(60) {
            return Some(Self { borrowed, ..self });
        }
        // Allow an eighth more than was granted: a network may deliver evenly sent messages in bunches (protocol.md, Budgets).
        let has_room = self.used.has_room(CALL, minute.saturating_add(minute / 8));
        has_room.then(|| self.spend())
    }

    /// When there is room for one more call of our own: at once, or at that time. Ours is an eighth
    /// smaller than the peer's, for what the network bunches.
    pub fn room_at(self, per_minute: u32) -> Option<Timestamp> {
        let minute = CALL.saturating_mul(per_minute);
        let room = || self.used.room_at(CALL, minute, per_minute);
        (!self.used.has_room(CALL, minute)).then(|| Timestamp::EPOCH.saturating_add(room()))
    }

    /// The budget after one call of our own.
    #[must_use]
    pub fn spend(mut self) -> Self {
        self.used.owe(CALL);
        self
    }
}

/// What one call weighs: a second gives back as many seconds as there are calls a minute.
const CALL: Duration = Duration::from_secs(60);
/// How long ago a message must have been signed to count as one that waited on its way.
const WAITED: Duration = Duration::from_secs(5);
