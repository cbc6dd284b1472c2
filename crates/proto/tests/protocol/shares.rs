//! What one peer, or one program of our own, may fill: its share, and the others have theirs.

use signet_proto::entry::Entry;
use signet_proto::handoff::TaskState;
use signet_proto::node::{Content, Handing, LeaseId, LocalError, Sending, Wanted};
use std::time::Duration;

use crate::household::forger::talking;
use crate::household::net::Net;
use crate::household::people::DAY;
use crate::household::tasks::{
    ALICE, BOB, CAROL, DAVE, accept, given, hand, handing, household, reports,
};
use crate::household::{Agent, START, at};

/// How many requests of ours one peer may leave open while others want some.
const SHARE: usize = 2_500;
/// How many tasks we give one peer.
const TASKS: usize = 256;
/// How many messages may be handed out to programs at once.
const LEASES: usize = 4_096;

/// Sends, and lets nothing reach anybody.
fn sends(alice: &mut Agent, to: &Agent, sending: Sending, ms: i64) -> Result<(), LocalError> {
    let sent = alice.node.turn(at(ms)).sent().send(&to.id(), sending)?;
    alice.keep(at(ms), sent.outcome);
    Ok(())
}

fn request() -> Sending {
    Sending::Request(Content::default())
}

#[test]
fn a_peer_that_answers_nothing_leaves_room_to_ask_the_others() {
    let Net {
        mut agents, now, ..
    } = household();
    let mut agents = agents.drain(..);
    let (mut alice, bob) = (agents.next().unwrap(), agents.next().unwrap());
    let carol = agents.next().unwrap();
    for n in 0..SHARE {
        let sent = sends(&mut alice, &bob, request(), now);
        assert_eq!(sent, Ok(()), "{n}");
    }
    let more = sends(&mut alice, &bob, request(), now);
    assert_eq!(more, Err(LocalError::TooManyRequests));
    assert_eq!(sends(&mut alice, &carol, request(), now), Ok(()));
    let told = Sending::Notification(Content::default());
    assert_eq!(sends(&mut alice, &bob, told, now), Ok(()));
    // A request counts as open for 30 days after it has expired, since an answer is taken until then.
    let sent = alice.log.iter().rev().find_map(|(_, entry)| match entry {
        Entry::Message(verdict) => verdict.message().cloned(),
        _ => None,
    });
    let expires = sent.unwrap().headers.expires_at.as_millis() - START;
    let more = sends(&mut alice, &bob, request(), expires + 30 * DAY - 1);
    assert_eq!(more, Err(LocalError::TooManyRequests));
    let later = sends(&mut alice, &bob, request(), expires + 30 * DAY);
    assert_eq!(later, Ok(()));
}

fn handoff() -> Sending {
    let given = handing("Find an evening");
    Sending::Handoff(Box::new(Handing { ..given }))
}

/// Gives a task, and lets it come to its end.
fn ended(net: &mut Net, to: usize) -> signet_proto::handoff::TaskId {
    let task = hand(net, ALICE, to, handing("Find an evening"));
    net.run_for(5_000);
    accept(net, to, task);
    net.run_for(5_000);
    reports(net, to, task, TaskState::Completed);
    net.run_for(5_000);
    assert_eq!(given(net, ALICE, task), TaskState::Completed);
    task
}

#[test]
fn a_peer_holds_256_tasks_of_ours_and_a_new_one_takes_the_place_of_its_own_oldest() {
    let mut net = household();
    let carols = ended(&mut net, CAROL);
    let first = ended(&mut net, BOB);
    let now = net.now;
    let mut agents = std::mem::take(&mut net.agents);
    let (alice, others) = agents.split_first_mut().unwrap();
    let (bob, dave) = (&others[BOB - 1], &others[DAVE - 1]);
    for n in 1..TASKS {
        assert_eq!(sends(alice, bob, handoff(), now), Ok(()), "{n}");
    }
    let remembered = |alice: &Agent, task| alice.node.tasks().given(task).count();
    assert_eq!(remembered(alice, first), 1);
    assert_eq!(sends(alice, bob, handoff(), now), Ok(()));
    assert_eq!(
        (remembered(alice, first), remembered(alice, carols)),
        (0, 1)
    );
    let more = sends(alice, bob, handoff(), now);
    assert_eq!(more, Err(LocalError::TooManyTasks(bob.id())));
    for _ in 0..8 {
        assert_eq!(sends(alice, dave, handoff(), now), Ok(()));
    }
}

fn consumer() -> Wanted {
    Wanted {
        capabilities: None,
        tier: 4,
        peers: None,
        lease: Duration::from_secs(3_600),
        connection: 1,
        looked: 0,
    }
}

fn receive(alice: &mut Agent, wanted: &mut Wanted, ms: i64) -> Option<LeaseId> {
    let (handed, outcome) = alice.node.turn(at(ms)).leases().receive(wanted);
    alice.keep(at(ms), outcome);
    handed.map(|handed| handed.lease)
}

#[test]
fn a_consumer_that_got_nothing_because_all_leases_were_out_looks_again_when_one_ends() {
    let mut net = talking();
    for n in 0..=LEASES {
        net.send(1, 0, Sending::Notification(Content::default()));
        if n % 1_000 == 0 {
            net.run_for(2_000);
        }
    }
    net.run_for(10_000);
    let (now, alice) = (net.now, &mut net.agents[0]);
    assert_eq!(alice.node.inbox().len(), LEASES + 1);
    let mut wanted = consumer();
    let first = receive(alice, &mut wanted, now).unwrap();
    for n in 1..LEASES {
        assert!(receive(alice, &mut wanted, now).is_some(), "{n}");
    }
    let before = alice.node.inbox().supply(false);
    assert_eq!(receive(alice, &mut wanted, now), None);
    assert!(!alice.node.inbox().supply(false).has_older_than(before));
    let done = alice.node.turn(at(now)).leases().acknowledge(first);
    alice.keep(at(now), done.unwrap());
    assert!(alice.node.inbox().supply(false).has_older_than(before));
    assert!(receive(alice, &mut consumer(), now).is_some());
}
