//! Bounds at their edges: the last value that is taken, and the first that is not. The numbers stand in
//! docs/protocol.md.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use signet_proto::carrier::CarrierId;
use signet_proto::envelope::{Message, Method};
use signet_proto::handoff::{
    Authority, Chain, LONGEST_CHAIN, LONGEST_MANDATE, MANDATE_LIFE, TaskState, accepted_body,
    is_acceptance,
};
use signet_proto::ids::Digest;
use signet_proto::receipt::{Exception, Receipt};
use signet_proto::reject::Reason;
use signet_proto::session::{
    EXCEPTIONS, Ledger, OUTSTANDING, OUTSTANDING_BYTES, Overdue, SESSION_LIFE, Slot, WINDOW,
    WINDOW_LIFE, Ways, Window,
};
use signet_proto::time::Timestamp;

use crate::forge::{message, sign};
use crate::household::net::message_of;
use crate::household::tasks::{ALICE, BOB, link, mandate, task};
use crate::household::{at, identity};

const DAY: u64 = 86_400;

fn hash(n: u64) -> Digest {
    Digest::of(&[&n.to_be_bytes()])
}

fn now(ms: i64) -> Timestamp {
    at(ms).now
}

/// A message of Alice's, which expires five minutes after it was made.
fn made(name: &str) -> Arc<Message> {
    let alice = identity("agent-alice", "alice");
    let value = message(&alice, "agent-bob", Method::Request, name, 0);
    Arc::new(message_of(&sign(value, &alice.signing)))
}

fn receipt(through: u64, hash: Option<Digest>) -> Receipt {
    Receipt {
        through,
        hash,
        ..Receipt::default()
    }
}

fn fits(ledger: &Ledger, receipt: &Receipt, signed_at: Timestamp) -> bool {
    ledger.misfit(receipt, signed_at).is_none()
}

fn slot(hash: Digest, refused: Option<Reason>) -> Slot {
    let signed_at = now(0);
    Slot {
        hash,
        signed_at,
        refused,
    }
}

#[test]
fn lives_and_sizes_are_those_of_the_protocol() {
    assert_eq!(LONGEST_MANDATE, Duration::from_secs(30 * DAY));
    assert_eq!(MANDATE_LIFE, Duration::from_secs(DAY));
    assert_eq!(SESSION_LIFE, Duration::from_secs(30 * DAY));
    assert_eq!(WINDOW_LIFE, Duration::from_secs(7 * DAY + 60));
    assert_eq!(OUTSTANDING_BYTES, 16_777_216);
}

#[test]
fn an_authority_ends_after_it_begins_and_within_thirty_days() {
    let until = |not_after| Authority {
        capabilities: (0..64).map(|n| format!("c{n}").parse().unwrap()).collect(),
        tier: 4,
        depth: 7,
        not_after,
    };
    let end = now(0).saturating_add(LONGEST_MANDATE);
    let past_end = end.saturating_add(Duration::from_millis(1));
    assert!(until(now(1)).is_well_formed(now(0)));
    assert!(!until(now(0)).is_well_formed(now(0)));
    assert!(until(end).is_well_formed(now(0)));
    assert!(!until(past_end).is_well_formed(now(0)));
    let mut wide = until(end);
    wide.capabilities.insert("one.more".parse().unwrap());
    assert!(!wide.is_well_formed(now(0)));
    let deep = Authority {
        depth: 8,
        ..until(end)
    };
    assert!(!deep.is_well_formed(now(0)));
    for (tier, fits) in [(0, false), (1, true), (5, false)] {
        let tiered = Authority { tier, ..until(end) };
        assert_eq!(tiered.is_well_formed(now(0)), fits);
    }
}

#[test]
fn a_chain_has_eight_steps_at_most_and_one_at_least() {
    let steps = |n: usize| -> Value {
        let step = link(ALICE, mandate(ALICE, BOB, None, |_| {}));
        vec![step; n].into()
    };
    assert!(Chain::read(&steps(0)).is_err());
    assert_eq!(Chain::read(&steps(1)).unwrap().links().count(), 1);
    let longest = Chain::read(&steps(LONGEST_CHAIN)).unwrap();
    assert_eq!((LONGEST_CHAIN, longest.links().count()), (8, 8));
    assert_eq!(longest.to_value(), steps(8));
    assert!(Chain::read(&steps(LONGEST_CHAIN + 1)).is_err());
}

/// Taking one task is not taking another, nor is silence.
#[test]
fn an_acceptance_names_its_task() {
    let body = accepted_body(task(1));
    assert_eq!(
        body,
        json!({"task": task(1).to_string(), "decision": "accepted"})
    );
    assert!(is_acceptance(&body, task(1)));
    assert!(!is_acceptance(&body, task(2)));
    assert!(!is_acceptance(&Value::Null, task(1)));
}

#[test]
fn a_task_never_goes_back_and_never_leaves_its_end() {
    use TaskState::{Accepted, Completed, Declined, Expired, Failed, Offered, Returned, Working};
    let all = [
        Offered, Accepted, Working, Declined, Completed, Failed, Returned, Expired,
    ];
    let after = |state: TaskState| -> Vec<TaskState> {
        all.into_iter()
            .filter(|next| state.may_become(*next))
            .collect()
    };
    assert_eq!(after(Offered), all[1..]);
    assert_eq!(after(Accepted), [Working, Completed, Failed, Returned]);
    assert_eq!(after(Working), [Completed, Failed, Returned]);
    for end in [Declined, Completed, Failed, Returned, Expired] {
        assert_eq!(after(end), []);
        assert!(!end.is_open() && !end.is_held());
    }
    assert!(
        [Offered, Accepted, Working]
            .iter()
            .all(|state| state.is_open())
    );
    assert_eq!(
        all.map(TaskState::is_held)
            .iter()
            .filter(|held| **held)
            .count(),
        2
    );
    let reports: Vec<_> = all.into_iter().filter(|state| state.is_report()).collect();
    assert_eq!(reports, [Working, Completed, Failed, Returned]);
    for state in all {
        assert_eq!(state.as_str().parse::<TaskState>().unwrap(), state);
        assert_eq!(state.to_string(), format!("{state:?}").to_lowercase());
    }
}

#[test]
fn a_sender_runs_ahead_of_its_floor_by_the_bound_and_no_further() {
    let (mut ledger, message) = (Ledger::default(), made("m"));
    for sequence in 1..OUTSTANDING {
        ledger.record(sequence, Arc::clone(&message), now(0));
    }
    assert_eq!(ledger.next(), Some(OUTSTANDING));
    ledger.record(OUTSTANDING, Arc::clone(&message), now(0));
    assert_eq!(ledger.next(), None);
    let settled = ledger.settle(&receipt(1, None), now(1));
    assert_eq!((settled.len(), ledger.floor()), (1, 2));
    assert_eq!(ledger.next(), Some(OUTSTANDING + 1));
    assert_eq!(ledger.abandon().len() as u64, OUTSTANDING - 1);
    assert_eq!(ledger.waiting().len(), 0);
}

#[test]
fn a_receipt_of_what_was_never_sent_or_of_other_bytes_does_not_fit() {
    let mut ledger = Ledger::default();
    let messages = ["one", "two", "three"].map(made);
    for (sequence, message) in (1..).zip(&messages) {
        ledger.record(sequence, Arc::clone(message), now(0));
    }
    let true_hash = Some(messages[2].hash());
    assert!(fits(&ledger, &receipt(3, true_hash), now(1)));
    assert!(fits(&ledger, &receipt(3, None), now(1)));
    assert!(!fits(&ledger, &receipt(3, Some(hash(1))), now(1)));
    assert!(!fits(&ledger, &receipt(4, None), now(1)));
    let mut except = receipt(3, None);
    let other = Exception {
        reason: "sequence-reuse".into(),
        hash: Some(hash(2)),
    };
    except.except = vec![(2, other)];
    assert!(!fits(&ledger, &except, now(1)));
    ledger.settle(&receipt(2, None), now(5));
    // A receipt that covers less than the last one shows that the peer's log is an older copy, unless it was signed no
    // later than the last one.
    assert!(!fits(&ledger, &receipt(1, None), now(6)));
    assert!(fits(&ledger, &receipt(1, None), now(5)));
    assert!(fits(&ledger, &receipt(2, None), now(6)));
    // Two messages under a number that is settled: a copy of the log sent the other.
    let mut reused = receipt(2, None);
    let refused = |reason: Reason| Exception {
        reason: reason.name().to_owned(),
        hash: None,
    };
    reused.except = vec![(1, refused(Reason::MessageIdReuse))];
    assert!(fits(&ledger, &reused, now(6)));
    reused.except = vec![(1, refused(Reason::SequenceReuse))];
    assert!(!fits(&ledger, &reused, now(6)));
}

#[test]
fn a_receipt_that_is_not_newer_settles_nothing() {
    let mut ledger = Ledger::default();
    for sequence in 1..=3 {
        ledger.record(sequence, made("m"), now(0));
    }
    assert_eq!(ledger.settle(&receipt(1, None), now(5)).len(), 1);
    assert_eq!(ledger.settle(&receipt(3, None), now(5)), []);
    assert_eq!((ledger.peer_through(), ledger.waiting().len()), (1, 2));
    assert_eq!(ledger.settle(&receipt(3, None), now(6)).len(), 2);
    assert_eq!(ledger.word(), (4, vec![]));
}

#[test]
fn given_up_is_what_lies_between_the_peers_word_and_our_floor() {
    let mut ledger = Ledger::default();
    let messages = ["one", "two", "three"].map(made);
    for (sequence, message) in (1..).zip(&messages) {
        ledger.record(sequence, Arc::clone(message), now(0));
    }
    assert_eq!(ledger.word(), (1, vec![]));
    ledger.answered(messages[0].headers.message_id);
    assert_eq!(ledger.word(), (2, vec![(1, 1)]));
    ledger.answered(messages[1].headers.message_id);
    assert_eq!(ledger.word(), (3, vec![(1, 2)]));
    ledger.answered(messages[1].headers.message_id);
    assert_eq!(ledger.waiting().len(), 1);
}

fn sent(ledger: &mut Ledger, ms: i64) -> (usize, usize) {
    let ways = Ways(vec![CarrierId::NATS]);
    let Overdue {
        resend, expired, ..
    } = ledger.overdue(now(ms), true, &ways);
    (resend.len(), expired.len())
}

#[test]
fn an_unreceipted_message_goes_again_at_doubling_delays_while_the_peer_speaks_until_it_is_given_up()
{
    let mut ledger = Ledger::default();
    assert_eq!(ledger.due(), None);
    ledger.record(1, made("m"), now(0));
    assert_eq!(ledger.due(), Some(now(5_000)));
    ledger.hear(now(4_000));
    assert_eq!(sent(&mut ledger, 4_999), (0, 0));
    assert_eq!(sent(&mut ledger, 5_000), (1, 0));
    assert_eq!(ledger.due(), Some(now(15_000)));
    ledger.hear(now(14_000));
    assert_eq!(sent(&mut ledger, 15_000), (1, 0));
    assert_eq!(ledger.due(), Some(now(35_000)));
    ledger.hasten(now(16_000));
    assert_eq!(ledger.due(), Some(now(16_000)));
    assert_eq!(sent(&mut ledger, 16_000), (1, 0));
    assert_eq!(ledger.due(), Some(now(21_000)));
    let end = 72 * 3_600_000;
    assert_eq!(sent(&mut ledger, end - 1), (1, 0));
    for (ms, expected) in [(end, 0), (end + 119_999, 0), (end + 120_000, 1)] {
        ledger.hasten(now(ms));
        assert_eq!(sent(&mut ledger, ms), (0, expected), "{ms}");
    }
    assert!(ledger.give_up(made("m").headers.message_id));
    assert!(!ledger.give_up(made("m").headers.message_id), "once");
    assert_eq!((ledger.due(), ledger.waiting().len()), (None, 0));
}

/// The numbers that go out when time asks, from one moment to another.
fn probes(ledger: &mut Ledger, from: i64, to: i64) -> Vec<(i64, usize)> {
    let mut probes = Vec::new();
    while let Some(due) = ledger.due().filter(|due| *due <= now(to)) {
        let ms = due.since(now(0)).as_nanos().div_ceil(1_000_000) as i64;
        assert!(ms >= from, "{ms} was due before");
        probes.push((ms, sent(ledger, ms).0));
    }
    probes
}

#[test]
fn to_a_silent_peer_one_message_goes_every_few_seconds_and_once_it_is_confirmed_the_rest() {
    let names = ["one", "two", "three"].map(made);
    let made_before = || {
        let mut ledger = Ledger::default();
        for (sequence, message) in (1..).zip(&names) {
            ledger.record(sequence, Arc::clone(message), now(0));
        }
        ledger
    };
    let id = |n: usize| names[n].headers.message_id;
    let stored = |ms: i64| signet_proto::session::Handed::Stored(now(ms));
    let mut ledger = made_before();
    let expected: Vec<_> = (1..=20).map(|n| (n * 5_000, 1)).collect();
    assert_eq!(probes(&mut ledger, 0, 104_999), expected);
    // From then on after a twentieth of the silence, up to every five minutes.
    let later = probes(&mut ledger, 105_000, 12 * 3_600_000);
    assert!(later.iter().all(|(_, sent)| *sent == 1));
    let waits: Vec<_> = later.windows(2).map(|two| two[1].0 - two[0].0).collect();
    assert!(
        waits.is_sorted() && waits.last() == Some(&300_000),
        "{waits:?}"
    );
    assert!(later.len() < 250, "{}", later.len());
    // A carrier that holds the probe: the others go two seconds later, unless it says that it holds them as well.
    let confirmed = 12 * 3_600_000 + 1_000;
    assert!(ledger.handed(id(0), &CarrierId::NATS, stored(confirmed)));
    assert!(ledger.handed(id(1), &CarrierId::NATS, stored(confirmed)));
    assert_eq!(sent(&mut ledger, confirmed + 1_999), (0, 0));
    assert_eq!(sent(&mut ledger, confirmed + 2_000), (1, 0));
}

#[test]
fn what_is_sent_to_a_silent_peer_waits_for_the_next_word_of_it() {
    let mut ledger = Ledger::default();
    ledger.record(1, made("one"), now(0));
    assert_eq!(sent(&mut ledger, 5_000), (1, 0));
    let later = ["two", "three"].map(made);
    ledger.record(2, Arc::clone(&later[0]), now(6_000));
    assert_eq!(sent(&mut ledger, 6_000), (0, 0), "only a probe would go");
    ledger.settle(&receipt(1, None), now(7_000));
    ledger.hear(now(7_000));
    assert_eq!(sent(&mut ledger, 8_999), (0, 0));
    assert_eq!(sent(&mut ledger, 9_000), (1, 0));
}

#[test]
fn a_window_forgets_its_oldest_number_and_takes_none_below() {
    let mut window = Window::default();
    assert!(window.is_empty());
    assert_eq!(window.admit(0, hash(0)), Err(Reason::SequenceBelowWindow));
    for sequence in 1..=WINDOW {
        assert_eq!(window.admit(sequence, hash(sequence)), Ok(()));
        window.record(sequence, slot(hash(sequence), None));
    }
    assert_eq!(window.admit(1, hash(1)), Err(Reason::Duplicate));
    assert_eq!(window.admit(1, hash(2)), Err(Reason::SequenceReuse));
    window.record(WINDOW + 1, slot(hash(WINDOW + 1), None));
    assert_eq!(window.admit(1, hash(1)), Err(Reason::SequenceBelowWindow));
    assert_eq!(window.admit(2, hash(2)), Err(Reason::Duplicate));
    assert_eq!(
        (window.through(), window.unreported()),
        (WINDOW + 1, WINDOW + 1)
    );
    window.reported(Timestamp::from_millis(0));
    assert_eq!(window.unreported(), 0);
}

#[test]
fn a_leap_in_the_numbers_moves_the_window_and_keeps_all_below_it_shut() {
    for leap in [WINDOW, WINDOW + 1, 2 * WINDOW, 5 * WINDOW] {
        let mut window = Window::default();
        window.record(1, slot(hash(1), None));
        window.record(leap, slot(hash(leap), None));
        let lowest = leap + 1 - WINDOW;
        let below = window.admit(lowest - 1, hash(0));
        assert_eq!(below, Err(Reason::SequenceBelowWindow), "{leap}");
        let known = (lowest == 1).then_some(Err(Reason::Duplicate));
        assert_eq!(
            window.admit(lowest, hash(1)),
            known.unwrap_or(Ok(())),
            "{leap}"
        );
        assert_eq!(window.admit(leap, hash(leap)), Err(Reason::Duplicate));
        assert_eq!(window.admit(leap + 1, hash(0)), Ok(()));
        assert_eq!(window.through(), 1);
    }
}

#[test]
fn a_receipt_has_room_for_its_exceptions_and_waits_beyond() {
    let mut window = Window::default();
    let room = EXCEPTIONS as u64;
    for sequence in 1..=room + 1 {
        window.record(sequence, slot(hash(sequence), Some(Reason::Expired)));
    }
    assert_eq!(window.through(), room);
    assert_eq!(window.receipt().except.len(), EXCEPTIONS);
    window.take_floor(Some(room + 1), &[]);
    assert_eq!(
        (window.through(), window.receipt().except.len()),
        (room + 1, 1)
    );
}

#[test]
fn what_the_peer_gave_up_is_not_waited_for_but_what_came_of_it_counts() {
    let mut window = Window::default();
    window.record(3, slot(hash(3), None));
    window.record(6, slot(hash(6), None));
    assert_eq!(window.through(), 0);
    window.take_floor(Some(6), &[(1, 5)]);
    assert_eq!(window.through(), 6);
    assert_eq!(window.receipt().hash, Some(hash(6)));
    let missing = |window: &Window| -> Vec<u64> {
        let except = window.receipt().except;
        except.iter().map(|(number, _)| *number).collect()
    };
    assert_eq!(missing(&window), [1, 2, 4, 5]);
    assert_eq!((window.unreported(), window.owes()), (2, true));
    window.reported(Timestamp::from_millis(0));
    window.take_floor(Some(6), &[(1, 5), (9, 8)]);
    assert_eq!((window.through(), window.unreported()), (6, 0));
    assert!(window.owes(), "the peer asks for what it gave up");
    // The peer names nothing as given up any more, since it has heard that these messages are missing: so the next
    // receipt leaves them out.
    window.take_floor(Some(6), &[]);
    assert!(missing(&window).is_empty());
    // The peer gives up number 7, which is above its floor: the next receipt names it.
    window.take_floor(None, &[(7, 7)]);
    assert_eq!(window.receipt().except[0].0, 7);
}
