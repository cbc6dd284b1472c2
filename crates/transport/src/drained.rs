//! When everything that waited in the mailbox at connect has been handed over.
//!
//! What was never delivered comes first and is counted. What was delivered before and not settled, to us
//! before a crash for instance, comes again in its time: the server tells when that is over.

use std::time::Duration;

use tokio::time::Instant;

use crate::standing::ConsumerInfo;

#[derive(Debug)]
pub(crate) struct Drained {
    created: i128,
    /// How many that were never delivered have not come yet.
    fresh: u64,
    /// What was delivered before: up to which number.
    delivered: u64,
    unsettled: bool,
    looked: Instant,
    /// When everything unsettled must have come again.
    limit: Instant,
    told: bool,
}

impl Drained {
    pub(crate) fn expected(standing: &ConsumerInfo, now: Instant) -> Self {
        Self {
            created: standing.created,
            fresh: standing.fresh,
            delivered: standing.delivered,
            unsettled: standing.unsettled > 0,
            looked: now,
            limit: now + REDELIVERY,
            told: false,
        }
    }

    /// When the mailbox was made.
    pub(crate) fn created(&self) -> i128 {
        self.created
    }

    /// The message of that number was handed over.
    pub(crate) fn came(&mut self, sequence: u64) {
        if sequence > self.delivered {
            self.fresh = self.fresh.saturating_sub(1);
        }
    }

    pub(crate) fn wants_a_look(&self) -> bool {
        !self.told
    }

    pub(crate) fn next_look(&self) -> Instant {
        self.looked + LOOK
    }

    /// The server did not tell.
    pub(crate) fn postpone(&mut self, now: Instant) {
        self.looked = now;
    }

    /// The server's newest numbers. What expired meanwhile never comes, and is in none of them.
    pub(crate) fn look(&mut self, standing: &ConsumerInfo, now: Instant) {
        self.looked = now;
        // Let the count of messages still to come only fall: mail that arrives after the connect would raise it, and the
        // mailbox might never count as drained.
        self.fresh = self.fresh.min(standing.fresh);
        let settled = standing.unsettled == 0 || standing.settled >= self.delivered;
        self.unsettled = self.unsettled && !settled && now < self.limit;
    }

    /// Whether it is so: true once.
    pub(crate) fn is_now(&mut self) -> bool {
        let now = !self.told && self.fresh == 0 && !self.unsettled;
        self.told |= now;
        now
    }
}

const LOOK: Duration = Duration::from_secs(2);
/// After which what was not settled once or twice has come again. What was not settled more often may never be:
/// somebody's message that ends every connection would keep us waiting for ever.
const REDELIVERY: Duration = Duration::from_secs(95);

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(fresh: u64, unsettled: usize, delivered: u64, settled: u64) -> ConsumerInfo {
        ConsumerInfo {
            created: 1,
            fresh,
            unsettled,
            deliveries: delivered,
            delivered,
            settled,
            ..ConsumerInfo::default()
        }
    }

    #[test]
    fn an_empty_mailbox_is_drained_at_once_and_once() {
        let mut drained = Drained::expected(&standing(0, 0, 9, 9), Instant::now());
        assert!(drained.is_now() && !drained.is_now() && !drained.wants_a_look());
    }

    #[test]
    fn what_waits_is_counted_and_a_redelivery_is_not_it() {
        let mut drained = Drained::expected(&standing(2, 0, 9, 9), Instant::now());
        drained.came(9);
        drained.came(10);
        assert!(!drained.is_now());
        drained.came(11);
        assert!(drained.is_now());
    }

    #[test]
    fn what_was_delivered_before_a_crash_has_to_be_settled_or_come_again() {
        let now = Instant::now();
        let mut drained = Drained::expected(&standing(0, 3, 9, 6), now);
        assert!(!drained.is_now());
        drained.look(&standing(0, 5, 12, 8), now);
        assert!(!drained.is_now(), "8 is not 9");
        drained.look(&standing(0, 5, 14, 9), now);
        assert!(
            drained.is_now(),
            "new mail is under way, the old is settled"
        );
        let mut stuck = Drained::expected(&standing(0, 3, 9, 6), now);
        stuck.look(&standing(0, 3, 9, 6), now + REDELIVERY);
        assert!(stuck.is_now());
    }

    #[test]
    fn what_expired_at_the_broker_is_not_waited_for() {
        let now = Instant::now();
        let mut drained = Drained::expected(&standing(5, 0, 0, 0), now);
        drained.look(&standing(0, 0, 0, 0), now);
        assert!(drained.is_now());
    }
}
