//! When a message goes out again, and when it is given up.

use std::cmp::Ordering;
use std::sync::Arc;
use std::time::Duration;

use super::silence::{FIRST_RESEND, Goes, LAST_RESEND};
use super::{AwaitingReceipt, Handed, Ledger, Overdue, Ways};
use crate::carrier::CarrierId;
use crate::time::Timestamp;

/// Of what mailboxes are said to hold, some goes out again when no receipt has covered any for this long …
const FIRST_SILENCE: Duration = Duration::from_secs(60);
/// … and while the peer stays silent after twice as long each time, up to this.
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
        let mut copies = self.question.copies(now);
        let due = self.goes(now, ways);
        for (number, waiting) in &mut self.waiting {
            let end = waiting.message.headers.expires_at;
            // After our clock was set back, `resend` may be too far ahead: cap it at `LAST_RESEND` from now.
            waiting.resend = waiting.resend.min(now.saturating_add(LAST_RESEND));
            if waiting.never_left && now >= end {
                overdue.unsent.push(waiting.message.headers.message_id);
                continue;
            }
            if drained && now >= end.saturating_add(GIVE_UP) {
                overdue.expired.push(waiting.message.headers.message_id);
                continue;
            }
            let free = waiting.next_way(ways);
            let parked = free.is_none();
            let presses = waiting.presses.take_if(|at| now >= *at).is_some();
            // A message that some carrier does not hold yet goes out when its delay is over. One that all carriers hold goes
            // out as a copy, to get its receipt: when it is among the `copies` of this turn, or at its own time (`presses_at`).
            let goes = match due {
                Goes::All => now >= waiting.resend,
                Goes::Probe(probe) => *number == probe,
                Goes::Nothing => false,
            };
            if (goes && !parked) || (parked && now < end && (copies > 0 || presses)) {
                waiting.is_held = false;
                waiting.pressed |= presses;
                if parked && !presses {
                    copies -= 1;
                    self.question.asked = *number;
                }
                // If all carriers hold the message (`free` is `None`), send a copy by the next carrier in turn all the same:
                // the peer answers a copy with a receipt.
                let next = free.or_else(|| ways.next(waiting.last.as_ref(), |_| false));
                // A peer refuses a message after its end: do not resend such a message, which now only waits to be given up.
                if let Some(way) = next.filter(|_| now < end) {
                    waiting.never_left = false;
                    overdue
                        .resend
                        .push((Arc::clone(&waiting.message), way.clone()));
                    // Forget that this carrier confirmed the last copy of the message: it has not confirmed this copy yet.
                    waiting.hand(way, Handed::No);
                    waiting.last = Some(way.clone());
                }
                // A probe keeps the pace: that of all that waits goes on once something is heard.
                if !matches!(due, Goes::Probe(_)) || parked {
                    waiting.delay = (waiting.delay * 2).min(LAST_RESEND);
                }
                waiting.resend = now.saturating_add(waiting.delay);
            }
        }
        self.look_ahead(now, ways);
        overdue
    }

    /// Messages that neither a receipt covers nor a mailbox holds go out now, and then at the first pace.
    pub fn hasten(&mut self, now: Timestamp) {
        for waiting in self.waiting.values_mut() {
            waiting.resend = waiting.resend.min(now);
            // Begin with the shortest wait again, `FIRST_RESEND`. Set half of it, since `overdue` doubles the delay when it
            // resends.
            waiting.delay = FIRST_RESEND / 2;
            waiting.resumed = false;
        }
        self.due = Some(now);
        self.forget_silence(now);
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
    }

    /// The peer said something.
    pub fn hear(&mut self, now: Timestamp) {
        self.end_silence(now);
        if self.question.silence > FIRST_SILENCE {
            self.question.silence = FIRST_SILENCE;
            self.wake();
        }
    }

    /// A receipt covered more than those before it.
    pub(crate) fn covered(&mut self, clock: Timestamp) {
        if self.waiting.is_empty() {
            self.question = Question::default();
        }
        self.question.answer(clock, self.peer_through);
        let asks = self.question.at;
        self.due = self.due.into_iter().chain(asks).min();
        self.end_silence(clock);
    }

    /// When [`Ledger::overdue`] next has something to say.
    pub fn due(&self) -> Option<Timestamp> {
        self.due.filter(|_| !self.waiting.is_empty())
    }

    fn look_ahead(&mut self, now: Timestamp, ways: &Ways) {
        let parks = self.waiting.values().any(|waiting| waiting.is_parked(ways));
        if parks {
            self.question.waits_from(now);
        } else {
            self.question.at = None;
        }
        let soon = now.saturating_add(FIRST_RESEND);
        let silent = self.silence.probes_at();
        let next = |waiting: &AwaitingReceipt| match waiting.is_parked(ways) {
            true => {
                let end = soon.max(waiting.given_up_at());
                end.min(waiting.presses.unwrap_or(end))
            }
            // While the peer is silent, only a probe goes out; what expires meanwhile is given up all the same.
            false => match silent {
                Some(probe) => probe.min(waiting.given_up_at().max(soon)),
                None => waiting.resend,
            },
        };
        let all = self.waiting.values().map(next);
        self.due = all.chain(self.question.at).min();
    }
}

impl AwaitingReceipt {
    /// When it is given up: a receipt may come late for what may have left.
    fn given_up_at(&self) -> Timestamp {
        let end = self.message.headers.expires_at;
        match self.never_left {
            true => end,
            false => end.saturating_add(GIVE_UP),
        }
    }
}

/// When the message of that number, which a mailbox is said to hold since `at`, goes out again whatever waits before it:
/// behind half of what is left of its life, by up to half of the rest later where it lives for long, so that a burst of
/// messages is no burst of copies. The last seconds of a life are left to it: a copy would come too late.
///
/// What lives for long does so once: the mailbox of a peer that is away gets one copy of it so, and not many.
pub(super) fn presses_at(
    waiting: &AwaitingReceipt,
    number: u64,
    at: Timestamp,
) -> Option<Timestamp> {
    let half = waiting.message.headers.expires_at.since(at) / 2;
    let later = match half {
        _ if half < FIRST_RESEND => return None,
        _ if half < FIRST_SILENCE => Duration::ZERO,
        _ if waiting.pressed => return None,
        _ => half / 2 * u32::try_from(number % SPREAD).unwrap_or_default() / SPREAD as u32,
    };
    Some(at.saturating_add(half + later))
}

/// Over so many moments copies are spread.
const SPREAD: u64 = 64;

/// When the first of what mailboxes are said to hold goes out again, although they hold it: their word may be
/// false, or the receipt lost. A copy of all of it would fill an absent peer's mailbox.
///
/// A mailbox is read in order, so that a receipt says how far it was read, and of what came later nothing. Only
/// where a receipt ends with the copies, and no more is covered behind them, were those needed: twice as many
/// go out then, so that a mailbox that lost much is soon made good.
#[derive(Clone, Debug)]
pub(super) struct Question {
    at: Option<Timestamp>,
    /// How long after the next there is none.
    silence: Duration,
    /// How many messages go out with it.
    copies: usize,
    /// The highest number that went out with the last.
    asked: u64,
}

impl Default for Question {
    fn default() -> Self {
        Self {
            at: None,
            silence: FIRST_SILENCE,
            copies: 1,
            asked: 0,
        }
    }
}

impl Question {
    /// When it is asked, if something is held from now on.
    pub(super) fn waits_from(&mut self, now: Timestamp) -> Timestamp {
        let asks = now.saturating_add(self.silence);
        // `at` is the time at which a copy goes out to ask the peer for its receipt. After our clock was set back, `at` may lie
        // too far ahead: cap it at `silence` from now.
        let asks = self.at.map_or(asks, |at| at.min(asks));
        self.at = Some(asks);
        asks
    }

    /// How many copies may go out at `now`.
    fn copies(&mut self, now: Timestamp) -> usize {
        if self.at.is_none_or(|_| now < self.waits_from(now)) {
            return 0;
        }
        self.at = None;
        self.silence = (self.silence * 2).min(LONGEST_SILENCE);
        self.copies
    }

    /// A receipt covers all up to `through`.
    fn answer(&mut self, clock: Timestamp, through: u64) {
        self.silence = FIRST_SILENCE;
        let wait = match through.cmp(&self.asked) {
            Ordering::Less => FIRST_SILENCE,
            Ordering::Equal => {
                self.copies = (self.copies * 2).min(MOST_COPIES);
                FIRST_RESEND
            }
            Ordering::Greater => {
                self.copies = 1;
                FIRST_SILENCE
            }
        };
        self.at = self.at.map(|_| clock.saturating_add(wait));
    }
}

/// How many of what a mailbox seems to have lost go out at once.
const MOST_COPIES: usize = 1_024;
