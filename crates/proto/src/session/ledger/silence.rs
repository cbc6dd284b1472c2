//! A peer of which nothing is heard: one message goes out to it every few seconds, and once anything is confirmed the rest.
//!
//! ```text
//!            5 s without a receipt,               a probe, after 5 s and longer
//!            a PubAck, a word               ┌───┐
//!   heard ─────────────────────────────▶ silent ◀┘
//!     ▲                                     │
//!     └─────────────────────────────────────┘  anything is confirmed: what was held back goes out at once,
//!                                              what went out before a second later, if nothing confirms it by then
//! ```
//!
//! So a site that was away is found soon after it is back, and finds few copies.

use std::time::Duration;

use super::timing::{FIRST_RESEND, LAST_RESEND};
use super::{AwaitingReceipt, Ledger};
use crate::ids::MessageId;
use crate::time::Timestamp;

/// What went out before the silence and was confirmed by nothing goes out again so long after its end: its confirmation
/// may be under way.
const CONFIRMS: Duration = Duration::from_secs(1);
/// Probes go out at such a part of the time that the silence has lasted.
const PART: u32 = 20;

/// Whether the peer is silent. Not lasting: a start hears anew.
#[derive(Clone, Debug, Default)]
pub(super) struct Silence {
    /// When it was heard last.
    heard: Option<Timestamp>,
    /// Since when it is silent, and when the next probe goes out.
    lasts: Option<(Timestamp, Timestamp)>,
}

/// How much of what is due may go out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// All of it: the peer is not silent.
    All,
    /// The first alone.
    Probe,
    /// Nothing yet.
    Nothing,
}

impl Silence {
    /// How much goes out at `now`, where something `waits` that no carrier holds, and some of it `is_due`.
    pub(super) fn due(&mut self, now: Timestamp, waits: bool, is_due: bool) -> Due {
        let Some((since, probe)) = self.lasts.filter(|_| waits) else {
            let lately = |heard: Timestamp| now < heard.saturating_add(FIRST_RESEND);
            let silent = waits && is_due && !self.heard.is_some_and(lately);
            self.lasts = silent.then(|| (now, now.saturating_add(FIRST_RESEND)));
            return if silent { Due::Probe } else { Due::All };
        };
        // After our clock was set back, both times may lie too far ahead.
        let (since, probe) = (since.min(now), probe.min(now.saturating_add(LAST_RESEND)));
        let is_time = now >= probe;
        let wait = (now.since(since) / PART).clamp(FIRST_RESEND, LAST_RESEND);
        let next = if is_time {
            now.saturating_add(wait)
        } else {
            probe
        };
        self.lasts = Some((since, next));
        if is_time { Due::Probe } else { Due::Nothing }
    }

    /// When the next probe goes out, while the peer is silent.
    pub(super) fn probes_at(&self) -> Option<Timestamp> {
        self.lasts.map(|(_, probe)| probe)
    }
}

impl Ledger {
    /// Whether a message that is new is held back, because the peer is silent and others went out to it in vain.
    pub(crate) fn holds_back(&mut self, name: MessageId) -> bool {
        let others = self.waiting.len() > 1;
        let number = self.names.get(&name).filter(|_| others);
        let silent = self.silence.lasts.is_some();
        match number.and_then(|number| self.waiting.get_mut(number)) {
            Some(waiting) if silent => {
                waiting.is_held = true;
                true
            }
            _ => false,
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

    /// Our connection is back: nobody can have heard us, nor we them.
    pub(super) fn forget_silence(&mut self, now: Timestamp) {
        self.silence = Silence {
            heard: Some(now),
            lasts: None,
        };
    }
}

impl AwaitingReceipt {
    fn resume(&mut self, now: Timestamp) {
        let wait = match std::mem::take(&mut self.is_held) {
            true => Duration::ZERO,
            false => CONFIRMS,
        };
        self.resend = now.saturating_add(wait);
        // `overdue` doubles the delay when it resends.
        self.delay = FIRST_RESEND / 2;
    }
}
