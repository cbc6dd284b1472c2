use super::*;

fn standing(pulls: usize, deliveries: u64) -> ConsumerInfo {
    ConsumerInfo {
        created: 1,
        pulls,
        deliveries,
        delivered: deliveries,
        settled: deliveries,
        ..ConsumerInfo::default()
    }
}

/// A watch that has read for `time` at `now`.
fn reading(now: Instant, time: Duration) -> ReaderWatch {
    let mut watch = ReaderWatch::default();
    watch.begin(
        &standing(0, 7),
        now.checked_sub(time).expect("an early time"),
    );
    assert!(watch.may_read());
    watch
}

fn now() -> Instant {
    Instant::now() + Duration::from_secs(3_600)
}

#[test]
fn a_start_beside_another_reader_waits_tells_it_and_reads_some_looks_after_its_end() {
    let (mut now, mut watch) = (now(), ReaderWatch::default());
    watch.begin(&standing(1, 7), now);
    assert!(!watch.may_read());
    now += LOOK;
    let left = watch.looked(&standing(1, 9), 0, now);
    assert_eq!(left, None, "its own process may have left them");
    now += LEFT_PULLS;
    assert_eq!(
        watch.looked(&standing(1, 9), 0, now),
        Some(Readership::Other)
    );
    assert_eq!(watch.looked(&standing(1, 9), 0, now), None, "told once");
    for _ in 1..LOOKS_BEFORE_A_TURN {
        assert_eq!(watch.looked(&standing(0, 9), 0, now), None);
        assert!(!watch.may_read());
    }
    assert_eq!(watch.looked(&standing(0, 9), 0, now), Some(Readership::Own));
    assert!(watch.may_read());
    assert_eq!(watch.came(10, false, now), None);
}

#[test]
fn the_pulls_of_ones_own_killed_process_are_waited_for_without_a_word() {
    let (now, mut watch) = (now(), ReaderWatch::default());
    watch.begin(&standing(1, 7), now);
    assert!(!watch.may_read());
    assert_eq!(watch.looked(&standing(0, 7), 0, now + LOOK), None);
    assert!(watch.may_read());
}

#[test]
fn pulls_that_take_nothing_of_what_waits_keep_nobody_from_reading_for_ever() {
    let (now, mut watch) = (now(), ReaderWatch::default());
    let waits = |deliveries| ConsumerInfo {
        fresh: 3,
        ..standing(1, deliveries)
    };
    watch.begin(&waits(7), now);
    watch.looked(&waits(7), 0, now);
    watch.looked(&waits(8), 0, now + UNTAKEN);
    assert!(!watch.may_read(), "somebody takes mail");
    watch.looked(&standing(1, 8), 0, now + UNTAKEN * 2);
    watch.looked(&waits(8), 0, now + UNTAKEN * 2);
    assert!(!watch.may_read(), "there was nothing to take");
    watch.looked(&waits(8), 0, now + UNTAKEN * 3);
    assert!(watch.may_read());
}

#[test]
fn the_pulls_of_ones_own_lost_connection_keep_nobody_from_reading() {
    let now = now();
    let mut watch = reading(now, SETTLED);
    watch.pulled(now, Duration::from_secs(30));
    let back = now + LOOK;
    watch.begin(&standing(1, 7), back);
    assert!(watch.may_read());
    assert_eq!(
        watch.came(12, false, back),
        None,
        "given to the lost connection"
    );
    assert_eq!(watch.looked(&standing(2, 12), 1, back), None);
    let late = now + Duration::from_secs(36);
    assert_eq!(watch.came(14, false, late), Some(Readership::Both));
    watch.begin(&standing(1, 7), late);
    assert!(!watch.may_read(), "this side had no pull for long");
}

#[test]
fn a_thief_beside_a_settled_reader_is_told_at_once_and_stops_nothing() {
    let now = now();
    let mut watch = reading(now, SETTLED);
    assert_eq!(watch.came(8, false, now), None);
    assert_eq!(watch.came(10, false, now), Some(Readership::Both));
    assert_eq!(watch.came(12, false, now), None, "told once");
    assert!(watch.may_read());
    for _ in 1..LOOKS_TO_TAKE_BACK {
        assert_eq!(watch.looked(&standing(1, 12), 1, now), None);
    }
    assert_eq!(
        watch.looked(&standing(1, 12), 1, now),
        Some(Readership::Own)
    );
}

#[test]
fn in_a_cluster_a_number_left_out_is_a_reason_to_look_and_two_looks_tell() {
    let now = now();
    let mut watch = reading(now, SETTLED);
    assert_eq!(watch.came(20, true, now), None);
    assert_eq!(watch.next_look(now), now);
    assert_eq!(watch.looked(&standing(1, 20), 1, now), None, "it was lost");
    assert_eq!(watch.came(30, true, now), None);
    assert_eq!(watch.looked(&standing(2, 30), 1, now), None);
    assert_eq!(
        watch.looked(&standing(2, 30), 1, now),
        Some(Readership::Both)
    );
}

#[test]
fn two_that_began_in_the_same_moment_both_step_back_for_a_while() {
    let now = now();
    let mut watch = reading(now, LOOK);
    assert_eq!(watch.looked(&standing(2, 7), 1, now), None);
    assert_eq!(
        watch.looked(&standing(2, 7), 1, now),
        Some(Readership::Other)
    );
    assert!(!watch.may_read());
    let pause = watch.next_look(now) - now;
    assert!(
        pause >= FIRST_PAUSE && pause <= FIRST_PAUSE + LONGEST_PAUSE,
        "{pause:?}"
    );
}

/// Otherwise a number that the other one got would be told as `Both`, and both would share the mail for ever.
#[test]
fn two_that_began_together_part_also_where_mail_tells_them_of_each_other() {
    let now = now();
    let mut watch = reading(now, LOOK);
    let mut number = 9;
    assert_eq!(watch.came(number, false, now), Some(Readership::Both));
    assert_eq!(watch.looked(&standing(2, number), 1, now), None);
    number += 2;
    assert_eq!(watch.came(number, false, now), None, "told already");
    assert_eq!(
        watch.looked(&standing(2, number), 1, now),
        Some(Readership::Other)
    );
    assert!(!watch.may_read());
}

#[test]
fn a_thief_does_not_drive_out_a_reader_that_connects_anew() {
    let now = now();
    let mut watch = reading(now, SETTLED);
    watch.pulled(now, Duration::from_secs(8));
    watch.begin(&standing(0, 7), now + LOOK);
    watch.begin(&standing(1, 7), now + LOOK);
    let certain = now + Duration::from_secs(20);
    assert_eq!(watch.looked(&standing(2, 7), 1, certain), None);
    let told = watch.looked(&standing(2, 7), 1, certain);
    assert_eq!(told, Some(Readership::Both));
    assert!(watch.may_read());
}

#[test]
fn after_a_server_s_restart_who_had_waited_lets_the_reader_go_first() {
    let (now, mut watch) = (now(), ReaderWatch::default());
    watch.begin(&standing(1, 7), now);
    watch.looked(&standing(1, 7), 0, now + LEFT_PULLS);
    watch.begin(&standing(0, 7), now + LEFT_PULLS);
    assert!(!watch.may_read(), "the reader is not back yet");
}
