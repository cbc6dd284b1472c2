//! A budget of calls a minute.

use std::time::Duration;

use crate::time::Timestamp;

/// A token bucket. A fresh one is full: a minute's calls at once, and an hour's that waited.
///
/// What a network held back comes in one bunch and is no loop: a message that was signed a while ago
/// may be paid from what was not used in the hour before. A sender that dates its messages back gains
/// that hour and no more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bucket {
    used: u64,
    borrowed: u64,
    seen: Option<Timestamp>,
}

impl Bucket {
    /// The bucket at `now`: what has flowed back since it was last looked at is in it again.
    #[must_use]
    pub fn at(self, now: Timestamp, per_minute: u32) -> Self {
        let elapsed = self.seen.map_or(Duration::ZERO, |seen| now.since(seen));
        let elapsed = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        let earned = elapsed.saturating_mul(u64::from(per_minute));
        let rest = earned.saturating_sub(self.used);
        Self {
            used: self.used.saturating_sub(earned),
            borrowed: self.borrowed.saturating_sub(rest),
            seen: Some(self.seen.map_or(now, |seen| seen.max(now))),
        }
    }

    /// The bucket after one call more that was `age` on its way; `None` when there is no room for it.
    pub fn take(self, per_minute: u32, age: Duration) -> Option<Self> {
        let minute = u64::from(per_minute).saturating_mul(CALL);
        let used = self.used.saturating_add(CALL);
        if used <= minute.saturating_add(minute / 8) {
            return Some(Self { used, ..self });
        }
        let borrowed = self.borrowed.saturating_add(CALL);
        let room = age >= WAITED && borrowed <= minute.saturating_mul(60);
        room.then_some(Self { borrowed, ..self })
    }

    /// When there is room for one more call of our own: at once, or at that time. Ours is an eighth
    /// smaller than the peer's, for what the network bunches.
    pub fn room_at(self, per_minute: u32) -> Option<Timestamp> {
        let minute = u64::from(per_minute).saturating_mul(CALL);
        let over = self.used.saturating_add(CALL).saturating_sub(minute);
        let wait = over.div_ceil(u64::from(per_minute.max(1)));
        (wait > 0).then(|| {
            let seen = self.seen.unwrap_or(Timestamp::from_millis(0));
            seen.saturating_add(Duration::from_millis(wait))
        })
    }

    /// The bucket after one call of our own.
    #[must_use]
    pub fn spend(self) -> Self {
        let used = self.used.saturating_add(CALL);
        Self { used, ..self }
    }
}

/// What one call weighs: a millisecond gives back as much of it as there are calls a minute.
const CALL: u64 = 60_000;
/// How long ago a message must have been signed to count as one that waited on its way.
const WAITED: Duration = Duration::from_secs(5);
