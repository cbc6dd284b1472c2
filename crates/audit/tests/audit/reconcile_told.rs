//! What the lines beside the messages say of them: outcomes, receipts, refusals and copies, whichever way two logs are read.

use serde_json::json;
use signet_audit::{Difference, DifferenceKind, Reconciliation, reconcile};
use signet_proto::entry::{Did, Direction, Entry, OutcomeLine, Ruling};
use signet_proto::envelope::Message;
use signet_proto::reject::Reason;

use crate::common::*;
use crate::pair::*;

fn outcome(what: Did, message: &Message) -> Entry {
    Entry::Outcome(OutcomeLine {
        peer: bob().certificate.agent,
        message_id: message.headers.message_id,
        what,
        tries: 1,
        reason: None,
    })
}

/// The two logs read together, and as wholes: something that nobody sent is looked for in all of both.
fn held(build: impl Fn(&mut Pair)) -> [Reconciliation; 2] {
    [false, true].map(|is_whole| {
        let mut pair = Pair::new();
        pair.talk(4, second(10));
        build(&mut pair);
        if is_whole {
            let unlogged = pair.bob.sign(&alice(), 99, second(50), "By a second copy");
            pair.alice.take(second(50), unlogged);
        }
        pair.stop();
        let mut found = reconcile(&pair.alice.dir(), &pair.bob.dir()).unwrap();
        let other_way = reconcile(&pair.bob.dir(), &pair.alice.dir()).unwrap();
        assert_eq!(found.agreed, other_way.agreed);
        if is_whole {
            assert_eq!(
                found.contradictions.pop().unwrap().kind,
                DifferenceKind::NeverSent
            );
        }
        found
    })
}

fn states(found: &[Difference]) -> Vec<(DifferenceKind, &str)> {
    found
        .iter()
        .map(|found| (found.kind, found.state.as_str()))
        .collect()
}

#[test]
fn a_message_ran_out_where_a_line_says_that_and_no_other_outcome_says_it() {
    for found in held(|pair| {
        let bob = bob();
        for (number, what) in [(5, Did::Expired), (6, Did::Acknowledged), (7, Did::Started)] {
            let message = pair.alice.send(&bob, number, second(11), "On its way");
            pair.alice.write(second(12), &outcome(what, &message));
        }
    }) {
        let expected =
            ["expired", "sent", "sent"].map(|state| (DifferenceKind::NotReceived, state));
        assert_eq!(states(&found.open), expected, "{found}");
        assert!(found.contradictions.is_empty(), "{found}");
    }
}

/// A daemon writes no line for a receipt that tells it nothing new.
#[test]
fn a_receipt_that_the_other_log_lacks_is_no_difference() {
    for found in held(|pair| {
        let receipt = receipt(&pair.bob.party, &alice(), 5, json!({"through": 3}));
        pair.bob
            .write(second(11), &entry(Direction::Out, Ruling::Sent, receipt));
    }) {
        assert!(found.contradictions.is_empty(), "{found}");
        assert_eq!((states(&found.open), found.agreed), (vec![], 4), "{found}");
    }
}

#[test]
fn a_receipt_that_its_sender_did_not_write_down_is_open_and_no_contradiction() {
    for found in held(|pair| {
        let receipt = receipt(&pair.bob.party, &alice(), 5, json!({"through": 3}));
        pair.alice.take(second(11), receipt);
    }) {
        assert!(found.contradictions.is_empty(), "{found}");
        assert_eq!(
            states(&found.open),
            [(DifferenceKind::NeverSent, "sent")],
            "{found}"
        );
    }
}

/// A sender whose answer is refused has proven nothing by it.
#[test]
fn a_refused_answer_and_a_refused_receipt_do_not_say_that_a_message_arrived() {
    let refused = Ruling::Rejected(Reason::Duplicate);
    for (ruling, expected) in [
        (refused, vec![]),
        (
            Ruling::Accepted,
            vec![
                (DifferenceKind::Lost, "answered"),
                (DifferenceKind::Lost, "received"),
            ],
        ),
    ] {
        for found in held(|pair| {
            let (alice, bob) = (alice(), bob());
            for message in [
                request(&alice, &bob, 5, "Asks"),
                sign(draft(&alice, &bob, 6, "Tells"), &alice.key),
            ] {
                pair.alice
                    .write(second(11), &entry(Direction::Out, Ruling::Sent, message));
            }
            let through = json!({"through": 6, "except": [{"sequence": 5, "reason": "missing"}]});
            for message in [
                answer(&bob, &alice, 7, 5),
                receipt(&bob, &alice, 8, through),
            ] {
                pair.bob.write(
                    second(12),
                    &entry(Direction::Out, Ruling::Sent, message.clone()),
                );
                pair.alice
                    .write(second(12), &entry(Direction::In, ruling, message));
            }
        }) {
            assert_eq!(states(&found.contradictions), expected, "{found}");
            let open = [(DifferenceKind::NotReceived, "sent"); 2];
            let open = open.iter().skip(expected.len()).copied();
            assert_eq!(states(&found.open), open.collect::<Vec<_>>(), "{found}");
        }
    }
}

/// Two messages that were signed before either was written name the same line.
#[test]
fn heads_that_stay_where_they_were_do_not_go_back() {
    for found in held(|pair| {
        let bob = bob();
        let both = [5, 6].map(|number| pair.alice.sign(&bob, number, second(11), "At once"));
        for message in both {
            pair.alice.write(
                second(12),
                &entry(Direction::Out, Ruling::Sent, message.clone()),
            );
            pair.bob.take(second(12), message);
        }
    }) {
        assert!(found.contradictions.is_empty(), "{found}");
        assert_eq!((found.agreed, found.open.len()), (6, 0), "{found}");
    }
}

/// However strange the order of a log: what its peer signed says that the message arrived.
#[test]
fn an_answer_that_stands_before_its_request_says_that_it_arrived_as_well() {
    for found in held(|pair| {
        let (alice, bob) = (alice(), bob());
        let told = answer(&bob, &alice, 6, 5);
        pair.bob.write(
            second(11),
            &entry(Direction::Out, Ruling::Sent, told.clone()),
        );
        pair.alice.take(second(11), told);
        let asked = request(&alice, &bob, 5, "Asks");
        pair.alice
            .write(second(12), &entry(Direction::Out, Ruling::Sent, asked));
    }) {
        assert_eq!(
            states(&found.contradictions),
            [(DifferenceKind::Lost, "answered")],
            "{found}"
        );
    }
}

/// What lies before the part that was given is asked of nobody, neither messages nor heads.
#[test]
fn of_a_part_of_a_log_no_earlier_head_is_missed_though_something_else_contradicts() {
    let mut pair = Pair::new();
    pair.talk(6, second(10));
    pair.talk(6, march());
    let later = at("2026-03-02T00:00:00.000Z");
    let unlogged = pair.bob.sign(&alice(), 99, later, "By a second copy");
    pair.alice.take(later, unlogged);
    pair.stop();
    let found = reconcile(&pair.alice.dir(), &pair.bob.file(MARCH)).unwrap();
    assert_eq!(
        states(&found.contradictions),
        [(DifferenceKind::NeverSent, "-")],
        "{found}"
    );
    assert!(found.verification.holds(), "{found}");
    assert_eq!((found.agreed, found.not_compared), (6, 6), "{found}");
}

#[test]
fn agents_that_never_spoke_agree() {
    let (alice, bob) = (Side::new(alice()), Side::new(bob()));
    let found = reconcile(&alice.dir(), &bob.dir()).unwrap();
    assert!(found.agrees(), "{found}");
    assert_eq!(
        (found.agreed, found.open.len(), found.not_compared),
        (0, 0, 0)
    );
    assert_eq!(
        (found.mine, found.theirs),
        (alice.party.certificate.agent, bob.party.certificate.agent)
    );
}

#[test]
fn a_line_written_twice_counts_once() {
    for found in held(|pair| {
        let bob = bob();
        let arrived = pair.alice.send(&bob, 5, second(11), "Arrived");
        pair.bob.take(second(11), arrived.clone());
        let on_its_way = pair.alice.send(&bob, 6, second(11), "On its way");
        for message in [arrived, on_its_way] {
            pair.alice
                .write(second(12), &entry(Direction::Out, Ruling::Sent, message));
        }
    }) {
        assert!(!found.verification.holds(), "verification names the copy");
        assert_eq!((found.agreed, found.open.len()), (5, 1), "{found}");
    }
}

/// What lies in one folder is one log: files of two agents beside each other do not go on from each other.
#[test]
fn months_of_two_agents_in_one_folder_are_proven_as_one_log_and_do_not_hold() {
    let mut pair = Pair::new();
    pair.talk(4, second(10));
    pair.talk(4, march());
    pair.stop();
    let hold = |apart: bool| {
        let dir = tempfile::tempdir().unwrap();
        let folders =
            ["one", if apart { "another" } else { "one" }].map(|name| dir.path().join(name));
        let files = [(&pair.alice, FEBRUARY), (&pair.bob, MARCH)];
        let paths = [0, 1].map(|at| {
            std::fs::create_dir_all(&folders[at]).unwrap();
            let (side, name) = files[at];
            let path = folders[at].join(name);
            std::fs::copy(side.file(name), &path).unwrap();
            path
        });
        let found = reconcile(&paths[0], &paths[1]).unwrap();
        (found.verification.logs.len(), found.verification.holds())
    };
    assert_eq!(hold(false), (1, false));
    assert_eq!(hold(true).0, 2);
}
