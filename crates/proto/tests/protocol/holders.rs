//! What counts of whoever has a message in hand: until when it has it, its own word on how that goes, and why it failed.

use std::time::Duration;

use signet_proto::entry::{Did, Entry};
use signet_proto::node::{LocalError, TRIES};
use signet_proto::progress::Progress;

use crate::household::people::does;
use crate::leases_and_keys::{ALICE, BOB, anything, ask_for, met, receive};
use crate::progress_and_offers::try_tell;

#[test]
fn a_lease_holds_until_its_end_and_no_longer() {
    let mut net = met();
    ask_for(&mut net, "lamp");
    let handed = receive(&mut net, &anything(1)).unwrap();
    let end = net.at(BOB).elapsed + Duration::from_secs(60);
    let inbox = net.agents[BOB].node.inbox();
    let before = inbox.leased(end - Duration::from_millis(1), handed.lease);
    assert!(before.is_ok());
    let then = inbox.leased(end, handed.lease);
    assert_eq!(then.unwrap_err(), LocalError::LeaseEnded);
}

/// A second later the daemon says that somebody is at it, to whoever has heard nothing: that would take the place of
/// what the program said.
#[test]
fn what_a_program_says_of_its_work_is_not_followed_by_less_from_its_daemon() {
    let mut net = met();
    let request = ask_for(&mut net, "lamp");
    receive(&mut net, &anything(1)).unwrap();
    net.run_for(500);
    let half = Progress {
        note: Some("half of it is done".into()),
        ..Progress::working()
    };
    try_tell(&mut net, BOB, request, &half).unwrap();
    net.run_for(5_000);
    let newest = net.agents[ALICE].node.sent().progress_of(request).unwrap();
    assert_eq!(newest.note.as_deref(), Some("half of it is done"));
}

#[test]
fn a_person_can_read_why_each_try_failed() {
    let mut net = met();
    let request = ask_for(&mut net, "lamp");
    let alice = net.agents[ALICE].id();
    let why = |tries| format!("exit status {tries}");
    for tries in 1..=TRIES {
        does(&mut net, BOB, |node, at| {
            node.turn(at).inbox().start(&alice, request).unwrap().1
        });
        does(&mut net, BOB, |node, at| {
            let failed = node.turn(at).inbox().fail(&alice, request, &why(tries));
            failed.unwrap().1
        });
    }
    let log = net.agents[BOB].log.iter();
    let told = log.filter_map(|(_, entry)| match entry {
        Entry::Outcome(line) if line.what == Did::Failed => line.reason.clone(),
        _ => None,
    });
    assert_eq!(
        told.collect::<Vec<_>>(),
        (1..=TRIES).map(why).collect::<Vec<_>>()
    );
    let inbox = net.agents[BOB].node.inbox();
    let shelved = inbox.quarantine().named(request).next().unwrap();
    assert_eq!(shelved.reason, Some(why(TRIES)));
}
