//! The lines that a start believes of a log whose anchor, or whose end, is not what its home left: lines that move something are
//! obeyed only where something vouches for them.

use std::fs;
use std::path::Path;

use signet_audit::{
    Custody, Log, LogError, LogOpening, Outlook, foresee, hold_against_anchor, read_file,
};
use signet_proto::entry::Entry;
use signet_proto::ids::{AgentId, Digest};

use crate::anchor::Home;
use crate::common::*;
use crate::pair::{FEBRUARY_NOTES, keys};

fn me() -> AgentId {
    alice().certificate.agent
}

/// Somebody who can write in the log's folder adds this, with the chain as it has to be.
fn slip_in(home: &Home, now: signet_proto::time::Timestamp, entries: &[Entry]) {
    let mut log = Log::open(&home.path("audit"), now, &genesis()).unwrap();
    for entry in entries {
        log.append(now, entry).unwrap();
    }
    log.commit().unwrap();
    log.abandon();
}

/// An anchor as a home has it before its log has a line.
fn anchor_of_nothing(path: &Path, line: u64) {
    let hash = "0".repeat(64);
    let text = format!("signet-anchor/1 1 writing - 0 {line} {hash} 0 ");
    let sum = Digest::of(&[text.as_bytes()]).to_hex();
    let mut slot = format!("{text}{sum}").into_bytes();
    slot.resize(511, b' ');
    slot.push(b'\n');
    fs::write(path, slot).unwrap();
}

#[test]
fn a_log_that_is_not_there_went_back_unless_it_never_had_a_line() {
    let home = Home::new();
    let (dir, anchor) = (home.path("audit"), home.path("log.anchor"));
    hold_against_anchor(&dir, &anchor).unwrap();
    anchor_of_nothing(&anchor, 0);
    hold_against_anchor(&dir, &anchor).unwrap();
    anchor_of_nothing(&anchor, 1);
    let found = hold_against_anchor(&dir, &anchor);
    assert!(
        matches!(found, Err(LogError::WentBack { line: 1, .. })),
        "{found:?}"
    );
}

#[test]
fn the_first_line_that_nothing_vouches_for_is_named_when_the_anchor_is_gone() {
    let home = Home::new();
    let mut log = home.start(second(0));
    log.append(second(1), &trust_bob()).unwrap();
    log.append(march(), &gap("in march")).unwrap();
    log.append(march(), &trust_bob()).unwrap();
    log.commit().unwrap();
    drop(log);
    let vouched = read_all(&home.path("audit")).len() as u64;
    for light in 0..3 {
        slip_in(&home, march(), &vec![gap("nothing rests on it"); light]);
        let _ = fs::remove_file(home.path("log.anchor"));
        let foreseen = foresee(&home.path("audit"), &me(), home.custody());
        assert_eq!(foreseen.unwrap(), Outlook::LacksAnchor, "{light}");
    }
    slip_in(&home, march(), &[trust_bob(), gap("behind it")]);
    let error = foresee(&home.path("audit"), &me(), home.custody()).unwrap_err();
    let LogError::Unanchored {
        vouched: up_to,
        line,
        ..
    } = &error
    else {
        panic!("{error}");
    };
    // Between the vouched lines and this one stand the 0 + 1 + 2 lines from the loop above: nothing rests on them, so
    // they need no anchor.
    assert_eq!((*up_to, *line), (vouched, vouched + 4));
}

#[test]
fn the_line_right_behind_what_is_vouched_for_is_named_as_well() {
    let home = Home::new();
    home.live(second(1), "one");
    slip_in(&home, second(2), &[trust_bob()]);
    fs::remove_file(home.path("log.anchor")).unwrap();
    let error = foresee(&home.path("audit"), &me(), home.custody()).unwrap_err();
    assert!(
        matches!(
            error,
            LogError::Unanchored {
                vouched: 2,
                line: 3,
                ..
            }
        ),
        "{error}"
    );
}

/// The month before may be the longer file: how far the newest one goes says nothing about it.
#[test]
fn a_month_that_somebody_began_behind_a_longer_one_is_not_obeyed() {
    let home = Home::new();
    let mut log = home.start(second(0));
    for number in 2..=30 {
        log.append(second(number), &gap("a long month")).unwrap();
    }
    log.commit().unwrap();
    drop(log);
    slip_in(&home, march(), &[trust_bob()]);
    fs::remove_file(home.path("log.anchor")).unwrap();
    let error = foresee(&home.path("audit"), &me(), home.custody()).unwrap_err();
    assert!(
        matches!(error, LogError::Unanchored { line: 33, .. }),
        "{error:?}"
    );
}

/// An older copy of the log is put back, and a person accepts that: what somebody added to it does not come to count by that.
#[test]
fn who_accepts_a_loss_does_not_accept_a_line_that_was_slipped_in() {
    let home = Home::new();
    home.live(second(1), "one");
    let [lines, notes] = [FEBRUARY, FEBRUARY_NOTES].map(|name| fs::read(home.file(name)).unwrap());
    home.live(second(2), "two");
    fs::write(home.file(FEBRUARY), lines).unwrap();
    fs::write(home.file(FEBRUARY_NOTES), notes).unwrap();
    slip_in(
        &home,
        second(3),
        &[gap("light"), trust_bob(), gap("behind it")],
    );
    home.refused(second(4), "went back");
    let custody = home.custody().accepting_loss();
    let found = LogOpening::look(&home.path("audit"), &genesis(), custody).unwrap();
    assert_eq!((found.trusted(), found.end()), (2, 3));
    assert_eq!(found.loss().map(|head| head.seq), Some(3));
    drop(found.open(second(4), &genesis()).unwrap());
    let kinds = kinds(&home.path("audit"));
    assert_eq!(kinds, ["genesis", "gap", "gap", "recovery", "loss"]);
    drop(home.start(second(5)));
    home.holds();
}

/// The releases that wrote version 1 made no anchor, so none is missing.
#[test]
fn a_log_that_ends_with_a_line_of_version_1_lacks_no_anchor() {
    const NOVEMBER: &str = "inter-agent-2026-11.jsonl";
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/v1");
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("audit");
    fs::create_dir(&dir).unwrap();
    fs::copy(vectors.join(NOVEMBER), dir.join(NOVEMBER)).unwrap();
    let first = read_file(&dir.join(NOVEMBER)).unwrap().next().unwrap();
    let own = first.unwrap().entry.unwrap();
    let custody = || {
        Custody::new(
            keys(&home.path().join("keys")),
            home.path().join("log.anchor"),
        )
    };
    let now = at("2026-11-22T10:00:00.000Z");
    let found = LogOpening::look(&dir, &own, custody()).unwrap();
    assert_eq!((found.lacks_anchor(), found.end()), (false, 55));
    let mut log = found.open(now, &own).unwrap();
    log.append(now, &gap("in version 2")).unwrap();
    log.commit().unwrap();
    drop(log);
    let found = LogOpening::look(&dir, &own, custody()).unwrap();
    assert_eq!((found.lacks_anchor(), found.trusted()), (false, 56));
    drop(found);
    fs::remove_file(home.path().join("log.anchor")).unwrap();
    let found = LogOpening::look(&dir, &own, custody());
    let error = found.map(|found| found.lacks_anchor());
    assert!(
        matches!(error, Ok(true) | Err(LogError::Unanchored { .. })),
        "{error:?}"
    );
}

/// The tree of the newest month that lies beside the anchor is believed only as long as its last line stands there.
#[test]
fn a_tree_whose_line_was_changed_is_not_believed_and_the_lines_are_read_at_once() {
    let home = Home::new();
    let mut log = home.start(second(0));
    for number in 1..=12 {
        log.append(second(number), &gap("the word was yes"))
            .unwrap();
        log.commit().unwrap();
        if number == 9 {
            log.checkpoint().unwrap();
        }
    }
    log.abandon();
    let path = home.file(FEBRUARY);
    let mut lines = lines_of(&path);
    // Change the last line that the checkpoint covers: the tree that is saved beside the anchor ends with this line.
    lines[9] = lines[9].replace("was yes", "was not");
    write_lines(&path, &lines);
    home.refused(second(20), "of other lines");
}
