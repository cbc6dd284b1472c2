//! A peer of which nothing is heard: one message goes out to it every few seconds, and once anything is confirmed the rest.
//!
//! ```text
//!            5 s without a receipt,               a probe, after 5 s and longer
//!            a PubAck, a word               ┌───┐
//!   heard ─────────────────────────────▶ silent ◀┘
//!     ▲                                     │
//!     └─────────────────────────────────────┘  anything is confirmed: what was held back goes out at once,
//!                                              what went out before two seconds later, if nothing confirms it by then
//! ```
//!
//! So a site that was away is found soon after it is back, and finds few copies.

use std::time::Duration;

use super::{AwaitingReceipt, Handed, Ledger, Ways};
use crate::ids::MessageId;
use crate::time::Timestamp;

/// The first resend of an unreceipted message comes after this; then the delay doubles.
pub(super) const FIRST_RESEND: Duration = Duration::from_secs(5);
/// The longest wait between two.
pub(super) const LAST_RESEND: Duration = Duration::from_secs(300);
/// A message that went out before the silence goes out again so long after its end, unless it is confirmed: its confirmation
/// may be under way.
const CONFIRMS: Duration = Duration::from_secs(2);
/// Probes go out at such a part of the time that the silence has lasted.
const PART: u32 = 20;

/// Whether the peer is silent. Not lasting: a start hears anew.
#[derive(Clone, Debug, Default)]
pub(super) struct Silence {
    /// When it was heard last.
    heard: Option<Timestamp>,
    /// Since when it is silent, and when the next probe goes out.
    lasts: Option<(Timestamp, Timestamp)>,
    /// The number that went out last as a probe.
    probed: u64,
}

/// How much of what is due may go out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goes {
    /// All of it: the peer is not silent.
    All,
    /// The one of that number alone.
    Probe(u64),
    /// Nothing yet.
    Nothing,
}

impl Silence {
    /// Whether a probe goes out at `now`, where something `waits` that a carrier could take, some of it `is_due`, and some
    /// `is_held`. `None` where the peer is not silent.
    fn probes(&mut self, now: Timestamp, waits: bool, is_due: bool, is_held: bool) -> Option<bool> {
        let Some((since, probe)) = self.lasts.filter(|_| waits) else {
            let lately = |heard: Timestamp| now < heard.saturating_add(FIRST_RESEND);
            let silent = waits && is_due && !self.heard.is_some_and(lately);
            self.lasts = silent.then(|| (now, now.saturating_add(FIRST_RESEND)));
            return silent.then_some(true);
        };
        // After our clock was set back, both times may lie too far ahead.
        let (since, probe) = (since.min(now), probe.min(now.saturating_add(LAST_RESEND)));
        let part = if is_held {
            Duration::ZERO
        } else {
            now.since(since) / PART
        };
        let is_time = now >= probe;
        let next = match is_time {
            true => now.saturating_add(part.clamp(FIRST_RESEND, LAST_RESEND)),
            false => probe,
        };
        self.lasts = Some((since, next));
        Some(is_time)
    }

    /// When the next probe goes out, while the peer is silent.
    pub(super) fn probes_at(&self) -> Option<Timestamp> {
        self.lasts.map(|(_, probe)| probe)
    }
}

impl Ledger {
    /// Whether a message of this ledger has not gone out since the start, and waits for a sign of life of the peer.
    pub fn holds(&self, waiting: &AwaitingReceipt) -> bool {
        self.silence.lasts.is_some() && waiting.last.is_none()
    }

    /// The same of a message by its name.
    pub(crate) fn holds_named(&self, name: MessageId) -> bool {
        let waiting = { self.names.get(&name) }.and_then(|number| self.waiting.get(number));
        waiting.is_some_and(|waiting| self.holds(waiting))
    }

    /// Whether a message that is new is held back, because the peer is silent and others went out to it in vain, by the `ways`
    /// that it could take. What a mailbox holds did not go out in vain, although the next way has to be tried for it.
    pub(crate) fn holds_back(&mut self, name: MessageId, now: Timestamp, ways: &Ways) -> bool {
        if self.silence.lasts.is_none() {
            return false;
        }
        let Some(number) = self.names.get(&name).copied() else {
            return false;
        };
        let in_vain = self.waiting.iter().any(|(other, it)| {
            let has_gone = it.last.as_ref().is_some_and(|last| ways.has(last));
            let waits = now < it.message.headers.expires_at && has_gone;
            *other != number && waits && !matches!(it.handed(), Handed::Stored(_))
        });
        // A message that is signed anew went out in its first form.
        let never_left = in_vain && !self.anew.is_second(name);
        if let Some(waiting) = self.waiting.get_mut(&number) {
            (waiting.is_held, waiting.never_left) = (in_vain, never_left);
        }
        // It is a probe soon, however long the silence has lasted: what went out before may be what no carrier takes.
        if let Some((_, probe)) = self.silence.lasts.as_mut().filter(|_| in_vain) {
            *probe = (*probe).min(now.saturating_add(FIRST_RESEND));
        }
        in_vain
    }

    /// How much goes out at `now` of all that is due and that some carrier does not hold. Probes are the new messages first, and
    /// then each of the others in turn, so that none that no carrier takes stands before the rest for ever.
    pub(super) fn goes(&mut self, now: Timestamp, ways: &Ways) -> Goes {
        let free = self.waiting.iter().filter(|(_, it)| !it.is_parked(ways));
        let is_due = free.clone().any(|(_, it)| now >= it.resend);
        let alive = free
            .clone()
            .filter(|(_, it)| now < it.message.headers.expires_at);
        let held = alive.clone().find(|(_, it)| it.is_held);
        let turn = alive
            .clone()
            .find(|(number, _)| **number > self.silence.probed);
        let next = held.or(turn).or_else(|| alive.clone().next());
        let next = next.map(|(number, _)| *number);
        let (waits, is_held) = (free.clone().next().is_some(), held.is_some());
        match self.silence.probes(now, waits, is_due, is_held) {
            None => Goes::All,
            Some(true) => {
                self.silence.probed = next.unwrap_or_default();
                next.map_or(Goes::Nothing, Goes::Probe)
            }
            Some(false) => Goes::Nothing,
        }
    }

    /// The peer said something, or a carrier that it holds something for it.
    pub(super) fn end_silence(&mut self, now: Timestamp) {
        self.silence.heard = self.silence.heard.max(Some(now));
        if self.silence.lasts.take().is_none() {
            return;
        }
        for waiting in self.waiting.values_mut() {
            waiting.resume(now);
        }
        self.wake();
    }

    /// A carrier is connected: a probe goes out now, and the rest once anything is heard. What went out before may have
    /// arrived although its confirmation was lost with the connection.
    pub fn probe(&mut self, now: Timestamp) {
        let mut waiting = self.waiting.values();
        let waits = waiting.any(|it| now < it.message.headers.expires_at);
        self.silence.lasts = waits.then_some((now, now));
    }

    /// All goes out now, whatever was heard.
    pub(super) fn forget_silence(&mut self, now: Timestamp) {
        self.silence = Silence {
            heard: Some(now),
            ..Silence::default()
        };
    }
}

impl AwaitingReceipt {
    fn resume(&mut self, now: Timestamp) {
        let wait = match std::mem::take(&mut self.is_held) {
            true => Duration::ZERO,
            false => CONFIRMS,
        };
        let soonest = now.saturating_add(wait);
        // A peer may speak and confirm nothing: what went out again behind an end of a silence keeps its own pace at the next.
        if std::mem::replace(&mut self.resumed, true) {
            self.resend = self.resend.max(soonest);
            return;
        }
        self.resend = soonest;
        // `overdue` doubles the delay when it resends.
        self.delay = FIRST_RESEND / 2;
    }
}
