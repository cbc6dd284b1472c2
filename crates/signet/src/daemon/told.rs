//! What the person was told, and when to count again what stands.

use tokio::time::{Duration, Instant};

use crate::attention::{Counts, NotifyHook};

/// What was told, and when to count again what stands.
pub(super) struct Person {
    pub(super) hook: NotifyHook,
    /// Which certificate, and how many of the days before its end had passed, when its end was last told of.
    pub(super) told_of_end: Option<(u64, usize)>,
    pub(super) counts: Counts,
    pub(super) counted: Instant,
    /// When what stands is counted again, where it may have changed.
    pub(super) recount: Option<Instant>,
}

impl Person {
    pub(super) fn new(hook: NotifyHook) -> Self {
        let now = Instant::now();
        Self {
            hook,
            told_of_end: None,
            counts: Counts::default(),
            counted: now,
            recount: Some(now),
        }
    }

    /// What stands may have changed. It is counted once a second at most, however many lines are written.
    pub(super) fn note_change(&mut self) {
        let next = self.counted + APART;
        self.recount.get_or_insert(next);
    }
}

/// The time between two counts.
const APART: Duration = Duration::from_secs(1);
