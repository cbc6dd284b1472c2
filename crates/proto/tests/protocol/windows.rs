//! What a window makes of a peer's word about numbers that never come, and how little of it one peer can fill.

use signet_proto::ids::Digest;
use signet_proto::reject::Reason;
use signet_proto::session::{EXCEPTIONS, Hole, Slot, Window};
use signet_proto::time::Timestamp;

fn hash(n: u64) -> Digest {
    Digest::of(&[&n.to_be_bytes()])
}

/// A message of that number, which was signed that many ms after the epoch.
fn taken(n: u64) -> Slot {
    Slot {
        hash: hash(n),
        signed_at: Timestamp::from_millis(n as i64),
        refused: None,
    }
}

fn refused(n: u64) -> Slot {
    Slot {
        refused: Some(Reason::TierNotGranted),
        ..taken(n)
    }
}

/// The numbers that the next receipt tells more of, and what.
fn told(window: &Window) -> Vec<(u64, String)> {
    let except = window.receipt().except.into_iter();
    except.map(|(n, exception)| (n, exception.reason)).collect()
}

#[test]
fn a_number_that_comes_after_it_was_given_up_is_told_only_to_a_sender_who_asks() {
    let mut window = Window::default();
    window.take_floor(Some(3), &[(1, 2)]);
    assert_eq!(window.through(), 2);
    // The sender asks for nothing any more, since it has heard that numbers 1 and 2 are missing.
    window.take_floor(Some(3), &[]);
    window.reported(Timestamp::from_millis(0));
    window.note_late(1);
    assert_eq!((window.unreported(), told(&window)), (1, vec![]));
    window.take_floor(Some(3), &[(1, 1)]);
    window.note_late(1);
    window.note_late(2);
    assert_eq!(window.unreported(), 3);
    assert_eq!(told(&window), [(1, "expired".to_owned())]);
}

#[test]
fn a_full_list_of_exceptions_grows_neither_by_copies_nor_by_what_comes_late() {
    let (mut window, room) = (Window::default(), EXCEPTIONS as u64);
    for n in 1..=room {
        window.record(n, refused(n));
    }
    window.record(room + 1, taken(room + 1));
    assert_eq!(window.through(), room + 1);
    window.note_reuse(room + 1);
    assert_eq!(told(&window).len(), EXCEPTIONS);
    window.note_late(room + 1);
    assert_eq!(told(&window).len(), EXCEPTIONS);
}

#[test]
fn a_message_that_came_within_what_was_given_up_is_the_last_that_a_receipt_names() {
    let mut window = Window::default();
    window.record(6, taken(6));
    window.take_floor(Some(10), &[(2, 6)]);
    assert_eq!(window.through(), 0, "the first is still awaited");
    // Now the peer asks for number 1 alone: the window passes numbers 2 to 5 without an exception for them.
    window.take_floor(Some(10), &[(1, 1)]);
    assert_eq!(window.through(), 6);
    assert_eq!(window.receipt().hash, Some(hash(6)));
    assert_eq!(told(&window), [(1, "missing".to_owned())]);
}

#[test]
fn what_a_peer_gives_up_far_ahead_fills_a_list_that_has_an_end() {
    let far: Vec<(u64, u64)> = (1..=256).map(|n| (1_000 * n, 1_000 * n)).collect();
    assert_eq!(far.len(), EXCEPTIONS);
    let mut window = Window::default();
    window.take_floor(Some(1), &far);
    window.take_floor(Some(1), &[(1, 1)]);
    assert_eq!(window.through(), 0, "no room for one more");
    // A range that the window has passed makes room in the list for another.
    let mut window = Window::default();
    let mut word = vec![(1, 1)];
    word.extend(&far[1..]);
    window.take_floor(Some(1), &word);
    assert_eq!(window.through(), 1);
    window.take_floor(Some(1), &[(3, 3)]);
    window.record(2, taken(2));
    assert_eq!(window.through(), 3);
}

/// Otherwise one hole would hold up everything behind it for as long as the session lasts.
#[test]
fn what_a_peer_says_again_or_of_numbers_that_are_passed_takes_no_room_from_what_it_gives_up_next() {
    let most = EXCEPTIONS as u64;
    let far: Vec<(u64, u64)> = (1..most).map(|n| (1_000 * n, 1_000 * n)).collect();
    let mut window = Window::default();
    window.record(1, taken(1));
    // The list has one place left, since ranges that are said again take no further place.
    for _ in 0..3 {
        window.take_floor(Some(1), &far);
    }
    window.take_floor(Some(1), &[(1, 1), (2, 2)]);
    assert_eq!(window.through(), 2);
}

#[test]
fn what_was_given_up_counts_until_the_numbers_below_it_have_come() {
    let mut window = Window::default();
    window.take_floor(Some(4), &[(2, 3)]);
    window.take_floor(Some(4), &[]);
    assert_eq!(window.through(), 0);
    window.record(1, taken(1));
    assert_eq!(window.through(), 3);
}

#[test]
fn a_person_is_told_once_of_each_hole() {
    let mut window = Window::default();
    assert!(window.is_empty());
    window.record(1, taken(1));
    assert!(!window.is_empty());
    assert_eq!(window.hole(), None);
    window.record(4, taken(4));
    window.record(7, taken(7));
    let hole = |from, to, next: i64| Hole {
        from,
        to,
        next_signed_at: Timestamp::from_millis(next),
    };
    assert_eq!(window.hole(), Some(hole(2, 3, 4)));
    window.tell_through(4);
    assert_eq!(window.hole(), Some(hole(5, 6, 7)));
    window.tell_through(6);
    window.tell_through(2);
    assert_eq!(window.hole(), None);
}
