//! The pulls of one connection: what the server says of them, and when the next one goes.
//!
//! Which words there are differs from server to server (docs/decisions/0013-our-own-reader-of-mailboxes.md). Only
//! those are known here that are not the end of a pull; every other is one, also what no server says yet.

use std::collections::VecDeque;
use std::time::Duration;

use async_nats::{Message, StatusCode};
use tokio::time::Instant;

/// What the server says of a pull.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PullStatus {
    /// It stands.
    Stands,
    /// It is over. So many of its messages did not come, where the server counts them.
    Over(Option<usize>),
    /// Nobody takes pulls: the mailbox is gone, or moves from one server of a cluster to another.
    Nobody,
    /// There is no mailbox any more to pull from.
    Gone,
}

impl PullStatus {
    /// Reads a message that came on the subject of the pulls; `None` for one without a status.
    pub(crate) fn read(message: &Message) -> Option<Self> {
        let words = message.description.as_deref().unwrap_or_default();
        Some(match message.status? {
            StatusCode::IDLE_HEARTBEAT => Self::Stands,
            StatusCode::NO_RESPONDERS => Self::Nobody,
            _ if GONE.iter().any(|gone| words.eq_ignore_ascii_case(gone)) => Self::Gone,
            _ => {
                let left = message.headers.as_ref();
                let left = left.and_then(|headers| headers.get("Nats-Pending-Messages"));
                Self::Over(left.and_then(|left| left.as_str().parse().ok()))
            }
        })
    }
}

/// The pulls that stand.
#[derive(Debug)]
pub(crate) struct Pulls {
    /// How many messages were asked for and have not come.
    asked: usize,
    sent: Instant,
    next: Instant,
    /// When those were sent that may stand, by all that was heard of them.
    open: VecDeque<Instant>,
    /// How many in a row ended at once and brought nothing.
    in_vain: u32,
}

impl Pulls {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            asked: 0,
            sent: now,
            next: now,
            open: VecDeque::new(),
            in_vain: 0,
        }
    }

    /// How many messages are still to come.
    pub(crate) fn asked(&self) -> usize {
        self.asked
    }

    /// When the next one may go.
    pub(crate) fn next(&self) -> Instant {
        self.next
    }

    /// How many stand at most: a server says of few pulls that they are over, and every pull ends after `lasts`.
    pub(crate) fn open(&self, lasts: Duration, now: Instant) -> usize {
        let stands = |sent: &&Instant| now.duration_since(**sent) < lasts;
        self.open.iter().rev().take_while(stands).count()
    }

    /// One more was sent, for so many messages.
    pub(crate) fn sent(&mut self, batch: usize, now: Instant) {
        self.asked += batch;
        if self.open.len() >= OPEN {
            self.open.pop_front();
        }
        self.open.push_back(now);
        self.sent = now;
    }

    /// A message came.
    pub(crate) fn brought(&mut self) {
        self.asked = self.asked.saturating_sub(1);
        self.stands();
    }

    /// The server takes them.
    pub(crate) fn stands(&mut self) {
        self.in_vain = 0;
    }

    /// One is over. Where nobody counted what it left, no other is taken to stand either: an additional pull costs
    /// nothing, and one that is waited for in vain costs the mail. True where it is time to say that none stands.
    pub(crate) fn over(&mut self, left: Option<usize>, now: Instant) -> bool {
        self.asked = self.asked.saturating_sub(left.unwrap_or(self.asked));
        self.open.pop_front();
        if now.duration_since(self.sent) >= AT_ONCE {
            self.stands();
            return false;
        }
        self.in_vain = self.in_vain.saturating_add(1);
        self.next = now + self.pause();
        // Return true at one pull alone of a series in which each pull ends at once: with `>=` the caller would warn
        // again at each further one.
        self.in_vain == FREE + DOUBLINGS
    }

    /// None stands any more.
    pub(crate) fn forget(&mut self) {
        self.asked = 0;
    }

    /// A server that ends each of them at once is asked a thousand times a second without this.
    fn pause(&self) -> Duration {
        let beyond = self.in_vain.saturating_sub(FREE).min(DOUBLINGS);
        match beyond {
            0 => Duration::ZERO,
            beyond => FIRST_PAUSE * (1 << (beyond - 1)),
        }
    }
}

/// With these words the consumer itself ends, or is one that nobody can pull from.
const GONE: [&str; 2] = ["Consumer Deleted", "Consumer is push based"];
/// A pull that lasted less has ended at once.
const AT_ONCE: Duration = Duration::from_secs(1);
/// How many pulls are counted: beyond, a mailbox is read so fast that the numbers of its deliveries tell enough.
const OPEN: usize = 1_024;
/// So many in a row may end at once before there is a pause.
const FREE: u32 = 16;
/// The pauses double from here, so often: to 128 ms, which is eight pulls a second.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const DOUBLINGS: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn said(status: u16, words: &str, left: Option<&str>) -> Option<PullStatus> {
        let mut headers = async_nats::HeaderMap::new();
        if let Some(left) = left {
            headers.insert("Nats-Pending-Messages", left);
        }
        PullStatus::read(&Message {
            subject: "_INBOX_alpha.1".into(),
            reply: None,
            payload: "".into(),
            headers: Some(headers),
            status: StatusCode::from_u16(status).ok(),
            description: Some(words.to_owned()),
            length: 0,
        })
    }

    /// Each word that nats-server 2.9.10 to 2.15.1 says of a pull.
    #[test]
    fn every_word_of_every_server_is_read_and_an_unknown_one_is_an_end() {
        for (status, words, expected) in [
            (100, "Idle Heartbeat", PullStatus::Stands),
            (503, "", PullStatus::Nobody),
            (409, "Consumer Deleted", PullStatus::Gone),
            (409, "Consumer is push based", PullStatus::Gone),
            (400, "Bad Request - invalid json", PullStatus::Over(None)),
            (404, "No Messages", PullStatus::Over(None)),
            (408, "Requests Pending", PullStatus::Over(None)),
            (409, "Exceeded MaxWaiting", PullStatus::Over(None)),
            (409, "Exceeded MaxRequestBatch of 1", PullStatus::Over(None)),
            (409, "Leadership Change", PullStatus::Over(None)),
            (412, "Required Api Level", PullStatus::Over(None)),
            (423, "Nats-Pin-Id mismatch", PullStatus::Over(None)),
            (599, "What nobody says yet", PullStatus::Over(None)),
        ] {
            assert_eq!(
                said(status, words, None),
                Some(expected),
                "{status} {words}"
            );
        }
        for (status, words) in [
            (408, "Request Timeout"),
            (408, "Interest Expired"),
            (409, "Batch Completed"),
            (409, "Message Size Exceeds MaxBytes"),
            (409, "Server Shutdown"),
            (423, "Nats-Wrong-Pin-Id"),
        ] {
            let over = Some(PullStatus::Over(Some(3)));
            assert_eq!(said(status, words, Some("3")), over, "{status} {words}");
        }
        assert_eq!(said(0, "", None), None, "nothing that the server says");
    }

    #[test]
    fn what_ends_a_pull_that_brought_something_is_followed_at_once() {
        let now = Instant::now();
        let mut pulls = Pulls::new(now);
        for _ in 0..1_000 {
            pulls.sent(256, now);
            pulls.brought();
            assert!(!pulls.over(Some(255), now));
            assert!(pulls.next() <= now && pulls.asked() == 0);
        }
    }

    #[test]
    fn pulls_that_end_at_once_are_sent_ever_slower_and_at_least_eight_a_second() {
        let start = Instant::now();
        let (mut now, mut pulls, mut told, mut sent) = (start, Pulls::new(start), 0, 0);
        while now < start + Duration::from_secs(10) {
            pulls.sent(256, now);
            sent += 1;
            told += usize::from(pulls.over(None, now));
            now = pulls.next().max(now);
        }
        assert_eq!(told, 1);
        assert!((80..110).contains(&sent), "{sent}");
        pulls.brought();
        pulls.over(None, now);
        assert!(pulls.next() <= now, "mail came: a first one again");
        for _ in 0..1_000 {
            pulls.sent(256, now);
            now += AT_ONCE;
            assert!(!pulls.over(None, now), "it lasted");
        }
    }
}
