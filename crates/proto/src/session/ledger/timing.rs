//! When a message goes out again, and when it is given up.

use std::sync::Arc;
use std::time::Duration;

use super::{Handed, Ledger, Overdue, Waiting};
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
    /// What to send again at `now`, and, once our own mailbox is `drained`, what to give up because it
    /// expired: a receipt may wait there.
    pub fn overdue(&mut self, now: Timestamp, drained: bool) -> Overdue {
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
            let parked = waiting.is_parked(self.heard);
            if (now >= waiting.resend && !parked) || (parked && now < end && asks) {
                asks &= !parked;
                if now < end {
                    overdue.resend.push(Arc::clone(&waiting.message));
                    waiting.handed = Handed::No;
                }
                waiting.delay = (waiting.delay * 2).min(LAST_RESEND);
                waiting.resend = now.saturating_add(waiting.delay);
            }
        }
        self.look_ahead(now);
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
    pub fn wake(&mut self, now: Timestamp) {
        self.due = Some(now);
    }

    /// The mailboxes lost what they held.
    pub fn lose_stored(&mut self) {
        for waiting in self.waiting.values_mut() {
            waiting.handed = Handed::No;
        }
        self.oldest_stored = None;
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

    fn look_ahead(&mut self, now: Timestamp) {
        let heard = self.heard;
        let parks = self
            .waiting
            .values()
            .any(|waiting| waiting.is_parked(heard));
        let question = self.question.unwrap_or(now.saturating_add(self.silence));
        self.question = parks.then_some(question);
        let soon = now.saturating_add(FIRST_RESEND);
        let next = |waiting: &Waiting| match waiting.is_parked(heard) {
            true => soon.max(waiting.message.headers.expires_at.saturating_add(GIVE_UP)),
            false => waiting.resend,
        };
        let all = self.waiting.values().map(next);
        self.due = all.chain(self.question).min();
        let stored = self
            .waiting
            .values()
            .filter(|waiting| waiting.is_parked(heard));
        self.oldest_stored = stored.filter_map(Waiting::stored).min();
    }
}

impl Waiting {
    /// Whether the peer's mailbox holds it and the peer has perhaps not looked since: another copy
    /// would only fill the mailbox.
    fn is_parked(&self, heard: Timestamp) -> bool {
        self.stored().is_some_and(|at| !is_heard(heard, at))
    }

    fn stored(&self) -> Option<Timestamp> {
        match self.handed {
            Handed::Stored(at) => Some(at),
            Handed::No | Handed::Unconfirmed => None,
        }
    }
}

pub(super) fn first_silence() -> Duration {
    FIRST_SILENCE
}

/// Whether what was stored `at` that time could have been receipted by what the peer signed since.
pub(super) fn is_heard(heard: Timestamp, at: Timestamp) -> bool {
    heard > at.saturating_add(FIRST_RESEND)
}
