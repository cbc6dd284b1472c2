//! When a message goes out again, and when it is given up.

use std::sync::Arc;
use std::time::Duration;

use super::{Handed, Ledger, Overdue, Waiting, Ways};
use crate::carrier::CarrierId;
use crate::time::Timestamp;

/// The first resend of an unreceipted message comes after this; then the delay doubles.
pub(super) const FIRST_RESEND: Duration = Duration::from_secs(5);
const LAST_RESEND: Duration = Duration::from_secs(300);
/// What the broker holds for a silent peer goes out again after this long …
pub(super) const FIRST_SILENCE: Duration = Duration::from_secs(300);
/// … and later after this long.
const LONGEST_SILENCE: Duration = Duration::from_secs(6 * 3600);
/// A number is given up this long after its message expired.
const GIVE_UP: Duration = Duration::from_secs(120);

impl Ledger {
    /// What to send again at `now`, by the next of its `ways`, and, once what waited for us is `drained`,
    /// what to give up because it expired: a receipt may have waited there.
    pub fn overdue(&mut self, now: Timestamp, drained: bool, ways: &Ways) -> Overdue {
        let mut overdue = Overdue::default();
        if self.due.is_none_or(|due| now < due) {
            return overdue;
        }
        let mut asks = self.asks(now);
        for waiting in self.waiting.values_mut() {
            let end = waiting.message.headers.expires_at;
            // After a clock was set back no timer lies further ahead than it ever would.
            waiting.resend = waiting.resend.min(now.saturating_add(LAST_RESEND));
            if drained && now >= end.saturating_add(GIVE_UP) {
                overdue.expired.push(waiting.message.headers.message_id);
                continue;
            }
            let free = waiting.next_way(ways, self.heard);
            let parked = free.is_none();
            if (now >= waiting.resend && !parked) || (parked && now < end && asks) {
                asks &= !parked;
                let next = free.or_else(|| ways.next(waiting.last.as_ref(), |_| false));
                if let Some(way) = next.filter(|_| now < end) {
                    overdue
                        .resend
                        .push((Arc::clone(&waiting.message), way.clone()));
                    waiting.hand(way, Handed::No);
                    waiting.last = Some(way.clone());
                }
                waiting.delay = (waiting.delay * 2).min(LAST_RESEND);
                waiting.resend = now.saturating_add(waiting.delay);
            }
        }
        self.look_ahead(now, ways);
        overdue
    }

    /// The connection is back: what neither a receipt covers nor a mailbox holds goes out now, and
    /// then at the first pace.
    pub fn hasten(&mut self, now: Timestamp) {
        for waiting in self.waiting.values_mut() {
            waiting.resend = waiting.resend.min(now);
            waiting.delay = FIRST_RESEND / 2;
        }
        self.due = Some(now);
    }

    /// Something changed that [`Ledger::overdue`] should look at.
    pub fn wake(&mut self) {
        self.due = Some(Timestamp::from_millis(0));
    }

    /// A carrier lost what it held.
    pub fn lose_stored(&mut self, carrier: &CarrierId) {
        for waiting in self.waiting.values_mut() {
            waiting.hand(carrier, Handed::No);
        }
        let stored = self.waiting.values();
        self.oldest_stored = stored.filter_map(Waiting::stored).min();
    }

    /// When [`Ledger::overdue`] next has something to say.
    pub fn due(&self) -> Option<Timestamp> {
        self.due.filter(|_| !self.waiting.is_empty())
    }

    /// Whether it is time to ask the peer again: its receipt may be lost. One copy in each session is
    /// enough, ever more rarely, so that an absent peer's mailbox does not fill.
    fn asks(&mut self, now: Timestamp) -> bool {
        let question = self
            .question
            .map(|at| at.min(now.saturating_add(self.silence)));
        self.question = question;
        let due = question.is_some_and(|at| now >= at);
        if due {
            self.silence = (self.silence * 2).min(LONGEST_SILENCE);
            self.question = None;
        }
        due
    }

    fn look_ahead(&mut self, now: Timestamp, ways: &Ways) {
        let heard = self.heard;
        let parked = |waiting: &&Waiting| waiting.is_parked(ways, heard);
        let parks = self.waiting.values().any(|waiting| parked(&waiting));
        let question = self.question.unwrap_or(now.saturating_add(self.silence));
        self.question = parks.then_some(question);
        let soon = now.saturating_add(FIRST_RESEND);
        let next = |waiting: &Waiting| match parked(&waiting) {
            true => soon.max(waiting.message.headers.expires_at.saturating_add(GIVE_UP)),
            false => waiting.resend,
        };
        let all = self.waiting.values().map(next);
        self.due = all.chain(self.question).min();
        let stored = self.waiting.values().filter(parked);
        self.oldest_stored = stored.filter_map(Waiting::stored).min();
    }
}

pub(super) fn first_silence() -> Duration {
    FIRST_SILENCE
}

/// Whether what was stored `at` that time could have been receipted by what the peer signed since.
pub(super) fn is_heard(heard: Timestamp, at: Timestamp) -> bool {
    heard > at.saturating_add(FIRST_RESEND)
}
