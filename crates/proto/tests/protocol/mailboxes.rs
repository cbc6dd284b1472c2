//! What mailboxes are said to hold: when it goes out again, and when it does not.

use std::collections::BTreeSet;
use std::time::Duration;

use signet_proto::carrier::CarrierId;
use signet_proto::draft::LONGEST_LIFE;
use signet_proto::ids::MessageId;
use signet_proto::node::{Content, Sending, State};

use crate::household::forger::talking;
use crate::household::net::{Net, message_of};

fn word() -> Sending {
    Sending::Notification(Content {
        life: Some(LONGEST_LIFE),
        ..Content::default()
    })
}

/// Alice's messages to Bob all go into his mailbox, whose word she has for each.
struct Mailbox {
    net: Net,
    /// How much of what Alice sent was looked at.
    seen: usize,
    /// When Bob reads the next.
    reads: i64,
    /// How long he takes for one.
    pace: i64,
    names: Vec<MessageId>,
    stored: BTreeSet<MessageId>,
    copies: usize,
    /// What is lost in it.
    lost: BTreeSet<MessageId>,
}

impl Mailbox {
    fn new(pace: i64) -> Self {
        let mut net = talking();
        net.cut = Some((0, 1));
        Self {
            seen: net.sent.len(),
            reads: net.now,
            net,
            pace,
            names: Vec::new(),
            stored: BTreeSet::new(),
            copies: 0,
            lost: BTreeSet::new(),
        }
    }

    fn tell(&mut self) -> MessageId {
        let name = self.net.send(0, 1, word());
        self.names.push(name);
        self.store(false);
        name
    }

    /// What Alice sent since is stored, and read when its turn comes; unless its first copy is lost.
    fn store(&mut self, loses: bool) {
        let (at, bob) = (self.net.at(0), self.net.agents[1].id());
        let sent: Vec<_> = self.net.sent[self.seen..].to_vec();
        self.seen = self.net.sent.len();
        for (_, who, bytes) in sent {
            if who != 0 {
                continue;
            }
            let message = message_of(&bytes);
            let name = message.headers.message_id;
            let numbered = message.headers.sequence.is_some();
            if numbered {
                let node = &mut self.net.agents[0].node;
                node.turn(at)
                    .carriers()
                    .stored(&CarrierId::NATS, &bob, name);
                self.copies += usize::from(!self.stored.insert(name));
            }
            if loses && self.lost.insert(name) {
                continue;
            }
            self.reads = self.reads.max(self.net.now) + self.pace;
            let after = self.reads - self.net.now;
            self.net.put(1, bytes, after);
        }
    }

    fn run_for(&mut self, ms: i64) {
        let end = self.net.now + ms;
        while self.net.now < end {
            self.net.run_until(end.min(self.net.now + 100));
            self.store(false);
        }
    }

    fn missing(&self) -> usize {
        let node = &self.net.agents[0].node;
        let state = |name: &&MessageId| node.sent().status(**name).unwrap().state;
        let missing = self
            .names
            .iter()
            .filter(|name| state(name) != State::Received);
        missing.count()
    }
}

/// Whoever may publish to Alice's replies can say so.
#[test]
fn what_is_falsely_called_stored_goes_out_again_after_a_minute() {
    let mut net = talking();
    net.cut = Some((0, 1));
    let (at, bob) = (net.at(0), net.agents[1].id());
    let name = net.send(0, 1, word());
    let node = &mut net.agents[0].node;
    node.turn(at)
        .carriers()
        .stored(&CarrierId::NATS, &bob, name);
    net.cut = None;
    let from = net.now;
    net.run_for(59_000);
    let sent = |net: &Net| {
        let sent = net.sent.iter().filter(|(ms, _, _)| *ms > from);
        let names = sent.map(|(_, _, bytes)| message_of(bytes).headers.message_id);
        names.filter(|sent| *sent == name).count()
    };
    assert_eq!(sent(&net), 0, "the mailbox's word delays it");
    net.run_for(2_000);
    assert_eq!(
        net.agents[0].node.sent().status(name).unwrap().state,
        State::Received
    );
    assert_eq!(sent(&net), 1);
}

/// Whoever forges the mailbox's word for every copy does not outlast a short life, of one message or of several.
#[test]
fn what_is_falsely_called_stored_with_a_short_life_arrives_before_its_end() {
    for life in [20, 60, 100] {
        let mut net = talking();
        net.cut = Some((0, 1));
        let (at, bob) = (net.at(0), net.agents[1].id());
        let short = Content {
            life: Some(Duration::from_secs(life)),
            ..Content::default()
        };
        let names: Vec<_> = (0..3)
            .map(|_| net.send(0, 1, Sending::Notification(short.clone())))
            .collect();
        for name in &names {
            let node = &mut net.agents[0].node;
            node.turn(at)
                .carriers()
                .stored(&CarrierId::NATS, &bob, *name);
        }
        net.cut = None;
        let (from, half) = (net.now, life as i64 * 500);
        net.run_for(half - 1_000);
        let early = net
            .sent
            .iter()
            .filter(|(ms, who, _)| *ms > from && *who == 0);
        assert_eq!(early.count(), 0, "the mailbox's word delays them");
        net.run_for(2_000);
        for name in names {
            let state = net.agents[0].node.sent().status(name).unwrap().state;
            assert_eq!(state, State::Received, "of {life} s");
        }
    }
}

/// Nobody answers behind them, so that the first in each session is asked for ever more rarely.
#[test]
fn fifty_messages_of_an_hour_that_are_falsely_called_stored_all_arrive() {
    let mut net = talking();
    net.cut = Some((0, 1));
    let (bob, from) = (net.agents[1].id(), net.sent.len());
    let hour = Content {
        life: Some(Duration::from_secs(3600)),
        ..Content::default()
    };
    let names: Vec<_> = (0..50)
        .map(|_| net.send(0, 1, Sending::Notification(hour.clone())))
        .collect();
    // A forger calls every copy stored. Bob gets a message only when it goes out a second time, and never the first
    // one, whose copies ask for a receipt.
    let (end, mut copies, mut seen) = (net.now + 3_600_000, 0, from);
    let mut taken = BTreeSet::new();
    while net.now < end {
        let new: Vec<_> = net.sent.iter().skip(seen).cloned().collect();
        for (_, who, bytes) in new {
            let name = message_of(&bytes).headers.message_id;
            if who == 0 && names.contains(&name) {
                copies += 1;
                let at = net.at(0);
                let node = &mut net.agents[0].node;
                node.turn(at)
                    .carriers()
                    .stored(&CarrierId::NATS, &bob, name);
                if name != names[0] && !taken.insert(name) {
                    net.put(1, bytes, 1);
                }
            }
        }
        seen = net.sent.len().max(seen);
        net.run_for(1_000);
    }
    let inbox: BTreeSet<_> = net.agents[1]
        .node
        .inbox()
        .after(0)
        .collect::<Vec<_>>()
        .iter()
        .map(|item| item.message.headers.message_id)
        .collect();
    let came = names[1..].iter().filter(|name| inbox.contains(name));
    assert_eq!(came.count(), 49, "before their end");
    assert!(copies <= 50 * 3, "{copies} went out");
}

/// A mailbox whose reader is away gets few copies more of what lives for a minute.
#[test]
fn what_a_mailbox_holds_with_a_short_life_goes_out_a_few_times_and_no_more() {
    let mut mailbox = Mailbox::new(10);
    mailbox.reads += 600_000;
    let short = Content {
        life: Some(Duration::from_secs(60)),
        ..Content::default()
    };
    mailbox.net.send(0, 1, Sending::Notification(short));
    mailbox.store(false);
    mailbox.run_for(70_000);
    assert!(
        (1..=3).contains(&mailbox.copies),
        "{} copies",
        mailbox.copies
    );
}

/// Bob reads two a second of ten that come, and signs a receipt of each.
#[test]
fn a_slow_readers_receipts_send_nothing_again_that_waits_for_it() {
    let mut mailbox = Mailbox::new(500);
    for _ in 0..300 {
        mailbox.tell();
        mailbox.run_for(100);
    }
    mailbox.run_for(180_000);
    assert_eq!(mailbox.missing(), 0);
    assert_eq!(mailbox.copies, 0, "copies of 300");
}

/// Bob's daemon was away for five minutes and signs much before it has read its mail.
#[test]
fn what_a_peer_signs_before_it_has_read_its_mail_sends_nothing_again() {
    let mut mailbox = Mailbox::new(5);
    mailbox.reads += 30_000;
    for _ in 0..50 {
        mailbox.tell();
    }
    for _ in 0..20 {
        mailbox.net.send(1, 0, word());
        mailbox.run_for(1_500);
    }
    mailbox.run_for(5_000);
    assert_eq!((mailbox.missing(), mailbox.copies), (0, 0));
}

#[test]
fn a_mailbox_that_lost_what_it_held_is_made_good_within_minutes() {
    let mut mailbox = Mailbox::new(2);
    for _ in 0..500 {
        let name = mailbox.net.send(0, 1, word());
        mailbox.names.push(name);
        mailbox.store(true);
    }
    mailbox.run_for(150_000);
    assert_eq!(mailbox.missing(), 0);
    assert!(mailbox.copies <= 600, "{} copies", mailbox.copies);
}

/// One of many is lost, and what came behind it is there.
#[test]
fn one_message_that_a_mailbox_lost_costs_one_copy() {
    let mut mailbox = Mailbox::new(2);
    for n in 0..100 {
        let name = mailbox.net.send(0, 1, word());
        mailbox.names.push(name);
        mailbox.store(n == 40);
        mailbox.run_for(1_000);
    }
    mailbox.run_for(Duration::from_secs(60).as_millis() as i64);
    assert_eq!((mailbox.missing(), mailbox.copies), (0, 1));
}
