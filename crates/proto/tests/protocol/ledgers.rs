//! When what a mailbox is said to hold goes out again although it holds it, and what a receipt says of what expired.

use std::sync::Arc;
use std::time::Duration;

use signet_proto::carrier::CarrierId;
use signet_proto::envelope::{Message, Method};
use signet_proto::receipt::{Exception, Receipt};
use signet_proto::session::{Handed, Ledger, Settled, Ways};
use signet_proto::time::Timestamp;

use crate::forge::{headers, message, sign};
use crate::household::net::message_of;
use crate::household::{at, identity};

const NONE: [u64; 0] = [];
const SECOND: i64 = 1_000;
const DAY: i64 = 24 * 3_600 * SECOND;

fn now(ms: i64) -> Timestamp {
    at(ms).now
}

/// A message of Alice's that expires that long after the start.
fn expiring(name: &str, life: i64) -> Arc<Message> {
    let alice = identity("agent-alice", "alice");
    let mut value = message(&alice, "agent-bob", Method::Request, name, 0);
    headers(&mut value).insert("expires-at".into(), now(life).to_string().into());
    Arc::new(message_of(&sign(value, &alice.signing)))
}

/// What a ledger sent, by number, and what it is said to hold since when.
struct Sent {
    ledger: Ledger,
    numbers: Vec<(u64, Arc<Message>)>,
}

impl Sent {
    fn of(lives: &[(u64, i64)]) -> Self {
        let mut sent = Self {
            ledger: Ledger::default(),
            numbers: Vec::new(),
        };
        for (number, life) in lives {
            let message = expiring(&format!("m{number}"), *life);
            sent.ledger.record(*number, Arc::clone(&message), now(0));
            sent.numbers.push((*number, message));
        }
        sent
    }

    fn message(&self, number: u64) -> &Arc<Message> {
        let mut all = self.numbers.iter();
        &all.find(|(known, _)| *known == number).unwrap().1
    }

    fn stored(&mut self, number: u64, ms: i64) {
        let name = self.message(number).headers.message_id;
        let stored = Handed::Stored(now(ms));
        assert!(self.ledger.handed(name, &CarrierId::NATS, stored));
    }

    /// The numbers of what goes out again.
    fn again(&mut self, ms: i64) -> Vec<u64> {
        let ways = Ways(vec![CarrierId::NATS]);
        let resend = self.ledger.overdue(now(ms), false, &ways).resend;
        let number = |message: &Arc<Message>| {
            let mut all = self.numbers.iter();
            all.find(|(_, known)| known == message).unwrap().0
        };
        resend.iter().map(|(message, _)| number(message)).collect()
    }
}

#[test]
fn what_a_mailbox_holds_goes_out_behind_half_of_its_life() {
    let mut sent = Sent::of(&[(1, 3 * DAY), (66, 256 * SECOND)]);
    for number in [1, 66] {
        sent.stored(number, 0);
    }
    // Number 1, the first that waits, goes out to ask whether the mailbox still holds all. Number 66 goes out after
    // half of its life (128 s) and, as 66 is 2 beyond a multiple of 64, two 64ths of a quarter of its life (2 s) later:
    // this spreads a burst.
    assert_eq!(sent.again(130 * SECOND - 1), [1]);
    assert_eq!(sent.again(130 * SECOND), [66]);
}

#[test]
fn what_lives_for_less_than_two_minutes_is_not_spread() {
    let mut sent = Sent::of(&[(1, 3 * DAY), (32, 120 * SECOND), (33, 120 * SECOND - 2)]);
    for number in [1, 32, 33] {
        sent.stored(number, 0);
    }
    assert_eq!(sent.again(60 * SECOND - 2), NONE);
    assert_eq!(sent.again(60 * SECOND - 1), [33]);
    assert_eq!(sent.again(60 * SECOND), [1], "which asks for all");
    for number in [1, 33] {
        sent.stored(number, 60 * SECOND);
    }
    assert_eq!(sent.again(75 * SECOND - 1), NONE);
    assert_eq!(sent.again(75 * SECOND), [32]);
}

#[test]
fn what_ends_in_less_than_ten_seconds_has_no_time_for_a_copy() {
    let mut sent = Sent::of(&[(1, 10 * SECOND), (2, 10 * SECOND - 2)]);
    for number in [1, 2] {
        sent.stored(number, 0);
    }
    assert_eq!(sent.again(5 * SECOND - 1), NONE);
    assert_eq!(sent.again(5 * SECOND), [1]);
}

#[test]
fn a_message_that_ends_at_this_moment_takes_no_other_messages_copy() {
    let mut sent = Sent::of(&[(1, 60 * SECOND), (2, 3 * DAY)]);
    sent.stored(2, 0);
    // Number 1 is stored nine seconds before its end, too late for a copy of its own: the copy that is due then is
    // number 2's.
    sent.stored(1, 51 * SECOND);
    assert_eq!(sent.again(60 * SECOND), [2]);
}

#[test]
fn what_a_carrier_lost_goes_out_as_soon_as_somebody_looks() {
    let mut sent = Sent::of(&[(1, 3 * DAY)]);
    sent.stored(1, 0);
    assert_eq!(sent.again(6 * SECOND), NONE);
    sent.ledger.lose_stored(&CarrierId::NATS);
    assert_eq!(sent.again(7 * SECOND), NONE, "nobody knows yet");
    sent.ledger.wake();
    assert_eq!(sent.again(7 * SECOND), [1]);
}

#[test]
fn a_late_receipt_tells_of_each_expired_message_what_came_of_it() {
    let mut sent = Sent::of(&[(1, SECOND), (2, SECOND)]);
    let names = [1, 2].map(|number| sent.message(number).headers.message_id);
    assert!(!sent.ledger.has_given_up());
    for name in names {
        assert!(sent.ledger.give_up(name));
    }
    assert!(sent.ledger.has_given_up());
    let receipt = Receipt {
        through: 2,
        except: vec![(1, Exception::missing())],
        ..Receipt::default()
    };
    let later = now(0).saturating_add(Duration::from_secs(200));
    let settled = sent.ledger.settle(&receipt, later);
    let received = Settled {
        message_id: names[1],
        refused: None,
    };
    assert_eq!(settled, [received]);
    assert!(!sent.ledger.has_given_up());
}
