//! Checkpoints that say something else than the log and its anchor: a start signs on over none of them.

use std::fs;

use signet_audit::{CHECKPOINT_LINES, Log, LogError, LogOpening};
use signet_proto::entry::Entry;

use crate::anchor::Home;
use crate::common::*;
use crate::pair::*;
use crate::tlog;

const ORIGIN: &str = "signet/agent-alice-001/2026-02";
const WRONG_KEY: &str = "its last checkpoint is not signed by the key that its first line names";
const OTHERS: &str = "its checkpoints cover lines that this agent has not written: somebody else has its checkpoint key";

/// A log with neither state nor anchor beside it, as every home of an older release.
fn bare() -> Side {
    let mut side = Side::new(alice());
    for number in 1..=9 {
        side.write(second(number), &gap(&format!("line {number}")));
        if number % 3 == 0 {
            side.log().checkpoint().unwrap();
        }
    }
    side.stop();
    side
}

fn refused(side: &mut Side, with: &str) {
    let error = side.try_start(second(20)).unwrap_err();
    assert!(error.to_string().contains(with), "no {with} in {error}");
}

#[test]
fn lines_cut_back_behind_their_checkpoints_are_missed_by_a_start() {
    let mut side = bare();
    let lines = side.lines(FEBRUARY);
    let notes = fs::read(side.file(FEBRUARY_NOTES)).unwrap();
    for kept in [1, 3, 9] {
        write_lines(&side.file(FEBRUARY), &lines[..kept]);
        refused(&mut side, "its checkpoints cover more lines than it has");
        assert_eq!(fs::read(side.file(FEBRUARY_NOTES)).unwrap(), notes);
    }
    write_lines(&side.file(FEBRUARY), &lines);
    side.start(second(20));
}

#[test]
fn a_last_checkpoint_that_somebody_else_signed_stops_the_start() {
    let mut side = bare();
    let notes = tlog::split(&fs::read_to_string(side.file(FEBRUARY_NOTES)).unwrap());
    let root = tlog::root(&side.lines(FEBRUARY));
    let mut put = |last: String, origin_fits: bool| {
        let kept = notes[..notes.len() - 1].iter();
        let text: String = kept
            .chain([&last])
            .map(|note| format!("{note}\n"))
            .collect();
        fs::write(side.file(FEBRUARY_NOTES), text).unwrap();
        let with = match origin_fits {
            true => WRONG_KEY,
            false => "its checkpoints are of other lines",
        };
        refused(&mut side, with);
    };
    put(tlog::sign(ORIGIN, 10, &root, &[66; 32]), true);
    put(tlog::sign(ORIGIN, 10, &[9; 32], &[66; 32]), false);
    put(
        tlog::sign("signet/agent-eve-001/2026-02", 10, &root, &[66; 32]),
        false,
    );
}

/// The tree of no lines has a root, too: no log signs it.
#[test]
fn a_checkpoint_of_no_line_stops_the_start_though_its_key_signed_it() {
    let mut side = bare();
    let seed = tlog::seed(&side.key(FEBRUARY_KEY));
    let none: [&str; 0] = [];
    let note = tlog::sign(ORIGIN, 0, &tlog::root(&none), &seed);
    let notes = fs::read_to_string(side.file(FEBRUARY_NOTES)).unwrap();
    fs::write(side.file(FEBRUARY_NOTES), format!("{note}\n{notes}")).unwrap();
    refused(&mut side, "its checkpoints are of other lines");
}

#[test]
fn a_log_of_another_agent_is_not_gone_on_with() {
    let mut side = bare();
    side.party = bob();
    refused(&mut side, "it is the log of another agent");
}

/// However an honest log is stopped, it has no more lines than this behind its last checkpoint.
#[test]
fn as_many_lines_as_a_crash_may_leave_without_a_checkpoint_are_no_sign_that_some_were_taken_away() {
    let mut side = Side::new(alice());
    let most = 2 * CHECKPOINT_LINES as usize;
    for number in 0..=most {
        side.log()
            .append(second(2), &gap(&number.to_string()))
            .unwrap();
    }
    side.log().commit().unwrap();
    side.crash();
    let notes = tlog::split(&fs::read_to_string(side.file(FEBRUARY_NOTES)).unwrap());
    let lines = side.lines(FEBRUARY);
    for (kept, is_missed) in [(most + 2, true), (most + 1, false)] {
        write_lines(&side.file(FEBRUARY), &lines[..kept]);
        fs::write(side.file(FEBRUARY_NOTES), format!("{}\n", notes[0])).unwrap();
        let started = side.try_start(second(20));
        match is_missed {
            true => {
                let error = started.unwrap_err().to_string();
                assert!(
                    error.contains("checkpoints are missing that were made"),
                    "{error}"
                );
            }
            false => started.unwrap(),
        }
    }
}

#[test]
fn checkpoints_that_are_taken_away_between_the_start_and_the_next_one_are_missed() {
    let mut side = bare();
    side.start(second(20));
    fs::remove_file(side.file(FEBRUARY_NOTES)).unwrap();
    side.write(second(21), &gap("one more"));
    let gone = side.log().checkpoint().unwrap_err();
    assert!(matches!(gone, LogError::Gone { .. }), "{gone}");
    let text = gone.to_string();
    assert!(
        text.contains(FEBRUARY_NOTES) && text.contains("it was removed or moved"),
        "{text}"
    );
    assert!(
        !side.file(FEBRUARY_NOTES).exists(),
        "none is made that lacks the ones before"
    );
}

/// A home whose log was killed, and a thief of its checkpoint key.
fn stolen() -> (Home, [u8; 32]) {
    let home = Home::new();
    let mut log = home.start(second(0));
    for number in 1..4 {
        log.append(second(number), &gap("of the agent's own"))
            .unwrap();
        log.commit().unwrap();
    }
    log.checkpoint().unwrap();
    log.abandon();
    let seed = tlog::seed(&home.path("keys").join(FEBRUARY_KEY));
    (home, seed)
}

fn forge(home: &Home, entry: &Entry, count: usize) {
    let keys = keys(&home.path("keys"));
    let mut log = Log::open_with(&home.path("audit"), second(9), &genesis(), keys).unwrap();
    for _ in 0..count {
        log.append(second(9), entry).unwrap();
    }
    log.commit().unwrap();
    log.checkpoint().unwrap();
    log.abandon();
}

#[test]
fn attack_lines_are_forged_behind_the_anchor_and_signed_with_the_stolen_key() {
    for count in [1, 5] {
        let (home, _) = stolen();
        forge(&home, &gap("forged"), count);
        home.refused(second(20), OTHERS);
    }
}

#[test]
fn attack_a_checkpoint_is_signed_with_the_stolen_key_over_lines_that_do_not_exist() {
    let (home, seed) = stolen();
    let note = tlog::sign(ORIGIN, 5, &[9; 32], &seed);
    let notes = fs::read_to_string(home.file(FEBRUARY_NOTES)).unwrap();
    fs::write(home.file(FEBRUARY_NOTES), format!("{notes}{note}\n")).unwrap();
    home.refused(second(20), OTHERS);
    fs::write(home.file(FEBRUARY_NOTES), notes).unwrap();
    drop(home.start(second(20)));
    home.holds();
}

/// Lines that a kill left behind the anchored one have no checkpoint, and need none.
#[test]
fn lines_behind_the_anchored_one_are_gone_on_with_where_nobody_signed_them() {
    let (home, _) = stolen();
    let mut log = Log::open(&home.path("audit"), second(9), &genesis()).unwrap();
    log.append(second(9), &gap("written, and not anchored yet"))
        .unwrap();
    log.commit().unwrap();
    log.abandon();
    let log = home.start(second(20));
    assert_eq!(log.head().unwrap().seq, 5);
    drop(log);
    home.holds();
}

/// The anchor's tree lets a start pass over the lines, and over none of what their last checkpoint says.
#[test]
fn a_last_checkpoint_that_another_one_of_the_same_length_replaces_is_found_at_once() {
    let missing = "checkpoints are missing that were made";
    let other = "its checkpoints are of other lines";
    for (origin, fewer, is_root, is_key, told) in [
        (ORIGIN, 0, true, false, WRONG_KEY),
        (ORIGIN, 0, false, true, other),
        (ORIGIN, 1, true, true, missing),
        ("signet/agent-alice-001/2026-03", 0, true, true, other),
    ] {
        let (home, _) = stolen();
        drop(home.start(second(8)));
        let seed = tlog::seed(&home.path("keys").join(FEBRUARY_KEY));
        let lines = lines_of(&home.file(FEBRUARY));
        let covered = lines.len() - fewer;
        let root = match is_root {
            true => tlog::root(&lines[..covered]),
            false => [9; 32],
        };
        let notes = fs::read_to_string(home.file(FEBRUARY_NOTES)).unwrap();
        let last = tlog::split(&notes).pop().unwrap();
        let seed = if is_key { seed } else { [66; 32] };
        let put = tlog::sign(origin, covered as u64, &root, &seed);
        assert_eq!(put.len(), last.len());
        fs::write(home.file(FEBRUARY_NOTES), notes.replace(&last, &put)).unwrap();
        home.refused(second(20), told);
    }
}

/// A person who accepts that a month is lost keeps all that is left of it, and what else lies beside the log.
#[test]
fn checkpoints_of_a_month_that_is_lost_are_set_aside_and_nothing_else_is() {
    let home = Home::new();
    home.live(second(1), "february");
    home.live(march(), "march");
    fs::remove_file(home.file(MARCH)).unwrap();
    let notes = fs::read(home.file(MARCH_NOTES)).unwrap();
    let beside = [
        "mine.checkpoints",
        "inter-agent-2026-03.torn-99",
        "inter-agent-2026-13.checkpoints",
    ];
    for name in beside {
        fs::write(home.file(name), name).unwrap();
    }
    let custody = home.custody().accepting_loss();
    let opening = LogOpening::look(&home.path("audit"), &genesis(), custody).unwrap();
    assert_eq!((opening.loss().unwrap().seq, opening.end()), (5, 3));
    drop(opening.open(march(), &genesis()).unwrap());
    for name in beside {
        assert_eq!(fs::read_to_string(home.file(name)).unwrap(), name);
    }
    let aside = home.file("inter-agent-2026-03.torn-4");
    assert_eq!(fs::read(aside).unwrap(), notes);
    assert!(home.file(FEBRUARY_NOTES).exists());
    home.holds();
}

/// Anchor, keys and checkpoints of the newest month are gone: what the home took down of finished months is left.
#[test]
fn finished_months_vouch_for_their_last_line_where_nothing_else_is_left() {
    let home = Home::new();
    home.live(second(1), "february");
    let mut log = home.start(march());
    log.append(march(), &gap("march")).unwrap();
    log.commit().unwrap();
    log.abandon();
    let mut log = Log::open(&home.path("audit"), march(), &genesis()).unwrap();
    log.append(march(), &trust_bob()).unwrap();
    log.commit().unwrap();
    log.abandon();
    fs::remove_file(home.file(MARCH_NOTES)).unwrap();
    fs::remove_file(home.path("log.anchor")).unwrap();
    fs::remove_dir_all(home.path("keys")).unwrap();
    let custody = home.custody();
    let refused = Log::open_with(&home.path("audit"), march(), &genesis(), custody).unwrap_err();
    match refused {
        LogError::Unanchored { vouched, line, .. } => assert_eq!((vouched, line), (3, 6)),
        other => panic!("{other}"),
    }
}
