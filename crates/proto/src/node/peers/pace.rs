//! How soon a peer hears from us what we have: at once, and in step only under load. It runs on a clock
//! that nobody sets.

use std::time::Duration;

use crate::budget::Bucket;

/// So many receipts may leave at once after a quiet second …
const AT_ONCE: u32 = 50;
/// … and under load one in this time; what is judged meanwhile stands in the next one.
const EACH: Duration = Duration::from_millis(20);
/// One receipt that only answers another, or a copy, comes so long after the last.
pub(in crate::node) const ANSWER_PACE: Duration = Duration::from_secs(1);
/// So many exceptions in a receipt count as one receipt more: a peer whose every message is refused
/// makes the log grow no faster than one whose messages are taken.
const EXCEPTIONS: u32 = 8;

/// What receipts went out to one peer. Not lasting: a start may speak at once.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::node) struct Pace {
    spent: Bucket,
    last: Option<Duration>,
}

impl Pace {
    /// From when on a receipt may say what was judged.
    pub(in crate::node) fn news_at(self) -> Duration {
        self.spent.room_at(EACH, EACH * AT_ONCE, 1)
    }

    /// From when on a receipt may say again what the peer was told.
    pub(in crate::node) fn answer_at(self) -> Duration {
        let quiet = self.last.map_or(Duration::ZERO, |last| last + ANSWER_PACE);
        quiet.max(self.news_at())
    }

    /// A receipt went out, with so many exceptions.
    pub(in crate::node) fn note(&mut self, now: Duration, exceptions: usize) {
        let exceptions = u32::try_from(exceptions).unwrap_or(u32::MAX);
        let weight = 1 + exceptions / EXCEPTIONS;
        self.spent.work_off(now, 1);
        self.spent.owe(EACH.saturating_mul(weight));
        self.last = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many receipts of so many exceptions leave in a time when there is always news.
    fn under_load(exceptions: usize, span: Duration) -> u32 {
        let (mut pace, mut now, mut count) = (Pace::default(), Duration::ZERO, 0);
        while now < span {
            pace.note(now, exceptions);
            count += 1;
            now = now.max(pace.news_at());
        }
        count
    }

    #[test]
    fn fifty_leave_at_once_and_then_fifty_a_second() {
        assert_eq!(under_load(0, Duration::from_millis(1)), 50);
        assert_eq!(under_load(0, Duration::from_secs(10)), 50 + 499);
    }

    #[test]
    fn exceptions_are_paid_for() {
        let minute = Duration::from_secs(60);
        let full = under_load(256, minute);
        assert!(
            full < 60 * 2,
            "{full} receipts of 256 exceptions in a minute"
        );
    }

    #[test]
    fn an_answer_comes_a_second_after_the_last_receipt() {
        let mut pace = Pace::default();
        assert_eq!(pace.answer_at(), Duration::ZERO);
        pace.note(Duration::from_secs(5), 0);
        assert_eq!(pace.answer_at(), Duration::from_secs(6));
        assert_eq!(pace.news_at(), Duration::from_millis(5_020 - 980));
    }
}
