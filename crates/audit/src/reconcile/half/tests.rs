use serde_json::json;
use signet_proto::reject::Reason;

use super::*;
use crate::claim::tests::{claim, refused};

#[test]
fn messages_that_came_in_another_order_name_heads_in_the_order_of_their_numbers() {
    let mut heads = HeadOrder::default();
    for (number, line) in [(1, 10), (3, 12), (2, 11), (4, 12), (2, 11)] {
        assert!(heads.take(number, line).is_ok(), "{number}");
    }
    for (number, line) in [(5, 11), (1, 12), (3, 10), (2, 12)] {
        assert!(heads.take(number, line).is_err(), "{number} names {line}");
    }
    // Messages 7 and 8 arrive after message 9, which names line 20: they were signed earlier, so neither may name a later line.
    assert!(heads.take(9, 20).is_ok());
    for line in [21, 22] {
        assert!(heads.take(7, line).is_err(), "{line}");
    }
    assert!(heads.take(8, 20).is_ok() && heads.take(7, 19).is_ok());
}

#[test]
fn a_session_without_end_costs_no_memory_without_end_and_nothing_comes_from_behind() {
    let mut heads = HeadOrder::default();
    let end = 3 * IN_ORDER as u64;
    for number in 0..end {
        assert!(heads.take(number, number).is_ok());
    }
    assert_eq!(heads.newest.len(), IN_ORDER);
    assert!(heads.take(1, 1).is_err());
    assert!(heads.take(end, 1).is_err(), "an older head");
    assert!(heads.take(end, end).is_ok());
}

#[test]
fn of_what_stands_in_both_logs_the_newest_is_remembered() {
    let mut matched = NewestKeys::new(NEWEST);
    for number in 0..2 * NEWEST {
        matched.push(number, ());
        matched.push(number, ());
    }
    assert_eq!(matched.len(), NEWEST);
    assert!(matched.get(&0).is_none() && matched.get(&(2 * NEWEST - 1)).is_some());
}

fn session() -> SessionId {
    SessionId(Digest([9; 32]))
}

fn halves() -> [Half; 2] {
    ["agent-alice-001", "agent-bob-001"].map(|name| Half::new(&name.parse().unwrap()))
}

/// A receipt of the peer's that came, and excepts these numbers.
fn receipt(through: u64, except: &[(u64, &str)]) -> Told {
    let except: Vec<_> = except
        .iter()
        .map(|(number, reason)| json!({"sequence": number, "reason": reason}))
        .collect();
    let body = match except.is_empty() {
        true => json!({"through": through}),
        false => json!({"through": through, "except": except}),
    };
    let learned = Learned {
        answered: None,
        receipt: Receipt::parse(&body).map(|receipt| (session(), receipt)),
    };
    assert!(learned.receipt.is_some(), "{body}");
    Told::Came(claim(50), learned, true)
}

/// Takes claims of Alice's log and of Bob's in turns, and says whether the two simply agree.
fn agree(told: [(&str, Told); 4]) -> bool {
    let [mut alice, mut bob] = halves();
    let said = told.into_iter().try_for_each(|(whose, told)| match whose {
        "alice" => take(&mut alice, &mut bob, vec![told]),
        _ => take(&mut bob, &mut alice, vec![told]),
    });
    said.is_ok() && alice.finish().is_ok() && bob.finish().is_ok()
}

#[test]
fn what_a_receipt_refuses_has_to_be_refused_in_both_logs_whichever_says_so_first() {
    let full = Ruling::Rejected(Reason::InboxFull);
    for (except, ruling, agrees) in [
        (None, Ruling::Accepted, true),
        (Some("inbox-full"), full, true),
        (Some("inbox-full"), Ruling::Accepted, false),
        // Two messages had the same number: the refused one is not the one that was accepted, so the logs agree.
        (Some(SEQUENCE_REUSE), Ruling::Accepted, true),
        (Some(MISSING), Ruling::Accepted, true),
        (None, full, true),
    ] {
        let except: Vec<_> = except.into_iter().map(|reason| (3, reason)).collect();
        let went = || ("alice", Told::Sent(claim(3), None));
        let came = || {
            (
                "bob",
                Told::Came(refused(3, ruling), Learned::default(), true),
            )
        };
        let told = || ("alice", receipt(3, &except));
        let receipted = || ("bob", Told::Sent(claim(50), None));
        for order in [
            [went(), came(), receipted(), told()],
            [went(), told(), receipted(), came()],
            [receipted(), told(), came(), went()],
        ] {
            let text = format!("{order:?}");
            assert_eq!(agree(order), agrees, "{ruling:?} {except:?}: {text}");
        }
    }
}

/// A head that only an unproven message names was written by anybody.
#[test]
fn the_newest_line_that_a_proven_message_names_is_the_one_that_the_other_log_remembers() {
    let [mut alice, mut bob] = halves();
    for (number, line, is_proven, newest) in [
        (1, 20, true, 20),
        (2, 10, true, 20),
        (3, 30, false, 20),
        (4, 25, true, 25),
    ] {
        let named = Claim {
            head: Some(Digest([line; 32])),
            place: Some((SessionId(Digest([line; 32])), number)),
            ..claim(number)
        };
        let went = Told::Sent(named.clone(), Some(line.into()));
        take(&mut alice, &mut bob, vec![went]).unwrap();
        let came = Told::Came(named, Learned::default(), is_proven);
        take(&mut bob, &mut alice, vec![came]).unwrap();
        let hash = Digest([newest; 32]);
        let seq = newest.into();
        assert_eq!(alice.confirmed, Some(Head { seq, hash }), "{number}");
    }
    assert_eq!((bob.unproven, alice.agreed, bob.agreed), (vec![3], 4, 0));
}

#[test]
fn a_copy_of_a_line_is_no_other_message_whether_its_first_one_arrived_or_not() {
    let [mut alice, mut bob] = halves();
    let sent = |number| vec![Told::Sent(claim(number), None)];
    let came = || vec![Told::Came(claim(1), Learned::default(), true)];
    take(&mut alice, &mut bob, sent(1)).unwrap();
    take(&mut bob, &mut alice, came()).unwrap();
    for number in [1, 2, 2] {
        take(&mut alice, &mut bob, sent(number)).unwrap();
    }
    assert_eq!((alice.agreed, alice.open()), (1, 1));
    let left: Vec<_> = alice
        .finish()
        .unwrap()
        .sent
        .iter()
        .map(|claim| claim.seq)
        .collect();
    assert_eq!(left, [2]);
}
