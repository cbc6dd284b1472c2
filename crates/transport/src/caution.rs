//! Mail that was lost with a connection is asked for again, and read one by one until the first of it has come.
//!
//! A message can break the connection itself, each time that it is delivered: the client library ends a connection
//! over NATS headers that are not UTF-8. The messages behind it are lost with the connection, count as delivered, and
//! would come again together with it until the mailbox gives all of them up. So they are read one by one at first:
//! the message that breaks a connection comes before those that were lost behind it, and breaks one alone. When one of
//! them has come again, none of them is the one that breaks connections.

use std::ops::Range;
use std::time::Duration;

use async_nats::Subject;
use tokio::time::Instant;

use crate::handle::MailboxDelivery;
use crate::standing::ConsumerInfo;

/// How far the deliveries of the mailbox came, from one connection to the next.
#[derive(Debug, Default)]
pub(crate) struct Caution {
    /// The last delivery that came or that nobody expects, by the consumer's count.
    number: Option<u64>,
    /// The highest number in the stream that came.
    sequence: u64,
    /// The reply subject of the first delivery by the newest connection that brought one: all of a connection have one form.
    like: Option<Subject>,
    /// Whether this connection brought none yet.
    is_new: bool,
    /// Up to which number messages were asked for again: each of them once. On a line that breaks often, more would
    /// use up the deliveries of a message.
    again: u64,
    /// Until when one by one.
    single: Option<Instant>,
}

impl Caution {
    /// A connection begins. Returns the numbers in the stream among which those messages are that were delivered and
    /// never came.
    pub(crate) fn begin(&mut self, standing: &ConsumerInfo, now: Instant) -> Range<u64> {
        self.is_new = true;
        let before = self.number.replace(standing.deliveries);
        let Some(before) = before else {
            // On the first connection ask for no message again: the server itself delivers again what an earlier process did
            // not settle.
            self.sequence = standing.delivered;
            return 0..0;
        };
        if standing.deliveries <= before || standing.unsettled == 0 || standing.pulls > 0 {
            // Ask for no message again if none was lost, nor while the server has open pulls: it then still believes our lost
            // connection alive, and would send the messages there.
            return 0..0;
        }
        let start = self.sequence.max(self.again).saturating_add(1);
        let end = standing.delivered.saturating_add(1);
        let end = end.min(start.saturating_add(MOST));
        if start >= end {
            return 0..0;
        }
        self.again = end - 1;
        self.single = Some(now + SINGLE);
        start..end
    }

    /// A message came.
    pub(crate) fn came(&mut self, delivery: &MailboxDelivery) {
        self.number = self.number.max(Some(delivery.number));
        self.sequence = self.sequence.max(delivery.sequence);
        if std::mem::take(&mut self.is_new) {
            self.like = Some(delivery.handle.reply());
        }
        if delivery.handle.deliveries() > 1 {
            self.single = None;
        }
    }

    /// The reply subject of a delivery that came, if there was one.
    pub(crate) fn like(&self) -> Option<Subject> {
        self.like.clone()
    }

    /// Whether mail is to be read one by one.
    pub(crate) fn is_on(&self, now: Instant) -> bool {
        self.single.is_some_and(|until| now < until)
    }
}

/// What was asked for again comes at once.
const SINGLE: Duration = Duration::from_secs(2);
/// How many numbers are asked for at most: the stream holds the mail of others too. The rest comes after 30 s.
const MOST: u64 = 4_096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Handle, Mailbox};

    fn standing(deliveries: u64, delivered: u64) -> ConsumerInfo {
        ConsumerInfo {
            created: 1,
            unsettled: 5,
            deliveries,
            delivered,
            ..ConsumerInfo::default()
        }
    }

    fn delivery(times: u64, sequence: u64, number: u64) -> MailboxDelivery {
        let reply = format!("$JS.ACK.AGENT_INBOX.alpha.{times}.{sequence}.{number}.0.0");
        Handle::parse(reply.as_str().into(), &Mailbox::of("alpha"), 0).expect("a delivery")
    }

    #[test]
    fn what_a_connection_took_with_it_is_asked_for_once_and_read_one_by_one_until_some_came() {
        let (now, mut caution) = (Instant::now(), Caution::default());
        assert!(caution.begin(&standing(7, 40), now).is_empty(), "a start");
        caution.came(&delivery(1, 44, 8));
        assert!(!caution.is_on(now));
        assert_eq!(caution.begin(&standing(11, 50), now), 45..51);
        assert!(caution.is_on(now) && !caution.is_on(now + SINGLE));
        assert!(caution.begin(&standing(12, 50), now).is_empty(), "again");
        caution.came(&delivery(1, 51, 13));
        assert!(caution.is_on(now), "new mail");
        caution.came(&delivery(2, 46, 14));
        assert!(!caution.is_on(now), "the first of them came");
        let newest = delivery(1, 51, 13).handle.reply();
        assert_eq!(caution.like(), Some(newest), "the form of its deliveries");
    }

    #[test]
    fn a_connection_that_broke_and_took_nothing_costs_nothing() {
        let (now, mut caution) = (Instant::now(), Caution::default());
        caution.begin(&standing(7, 40), now);
        caution.came(&delivery(1, 44, 8));
        assert!(caution.begin(&standing(8, 44), now).is_empty() && !caution.is_on(now));
        // A server restored from a backup counts on from an older state. Its numbers are lower than before, so nothing is asked
        // for again.
        assert!(caution.begin(&standing(3, 30), now).is_empty() && !caution.is_on(now));
    }

    #[test]
    fn nothing_is_asked_for_while_the_server_still_gives_to_a_connection_that_is_gone() {
        let (now, mut caution) = (Instant::now(), Caution::default());
        caution.begin(&standing(7, 40), now);
        let mut later = standing(11, 50);
        later.pulls = 1;
        assert!(caution.begin(&later, now).is_empty() && !caution.is_on(now));
        let far = caution.begin(&standing(12, 1_000_000), now);
        assert_eq!(far, 41..41 + MOST, "not the whole stream");
    }
}
