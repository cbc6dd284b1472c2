//! A start that takes the newest month by its anchor's word: what forgers changed in it is found behind the start, and
//! nothing of theirs is signed meanwhile.

use std::fs;

use signet_audit::{Log, LogError, LogOpening, UnreadMonth, forget_tree, verify};
use signet_proto::entry::{Entry, HoleLine};
use signet_proto::ids::{Digest, SessionId};

use crate::anchor::Home;
use crate::common::*;
use crate::pair::FEBRUARY_NOTES;

/// A log of sixty lines under several checkpoints, stopped cleanly.
fn lived() -> Home {
    let home = Home::new();
    let mut log = home.start(second(0));
    for number in 1..60 {
        log.append(second(number), &gap(&format!("the word was yes {number}")))
            .unwrap();
        if number % 7 == 0 {
            log.commit().unwrap();
        }
        if number % 20 == 0 {
            log.checkpoint().unwrap();
        }
    }
    log.commit().unwrap();
    drop(log);
    home
}

/// What a daemon's start makes of the home: the log, and what it left unread.
fn run(home: &Home) -> Result<(Log, Option<UnreadMonth>), LogError> {
    let custody = home.custody().reading_later();
    let opening = LogOpening::look(&home.path("audit"), &genesis(), custody)?;
    let unread = opening.unread();
    Ok((opening.open(second(99), &genesis())?, unread))
}

/// The fault that the thread behind the start finds while the daemon writes.
fn found_behind_the_start(home: &Home) -> String {
    let (mut log, unread) = run(home).unwrap();
    log.append(second(100), &gap("meanwhile")).unwrap();
    log.commit().unwrap();
    log.checkpoint().unwrap();
    let found = unread.unwrap().inspect(|_| true).unwrap_err();
    assert!(matches!(found, LogError::Broken { .. }), "{found}");
    found.to_string()
}

/// What is read later, and what a start at once says of it.
fn refused_at_once(home: &Home) -> String {
    let started = Log::open_with(&home.path("audit"), second(99), &genesis(), home.custody());
    started.unwrap_err().to_string()
}

fn change(home: &Home, change: impl FnOnce(&mut Vec<String>)) {
    let mut lines = lines_of(&home.file(FEBRUARY));
    change(&mut lines);
    write_lines(&home.file(FEBRUARY), &lines);
}

#[test]
fn a_log_as_it_was_written_holds_behind_the_start_and_nothing_is_read_twice() {
    let home = lived();
    for _ in 0..2 {
        let (log, unread) = run(&home).unwrap();
        assert!(unread.unwrap().inspect(|_| true).unwrap());
        drop(log);
        let report = home.holds();
        assert_eq!(report.proven, report.head);
    }
    // A start that reads all lines itself (without `reading_later`) leaves no unread lines.
    let opening = LogOpening::look(&home.path("audit"), &genesis(), home.custody()).unwrap();
    assert!(opening.unread().is_none());
}

#[test]
fn a_word_edited_in_the_newest_month_is_found_behind_the_start_as_a_start_at_once_finds_it() {
    for number in [1, 7, 20, 33, 57] {
        let home = lived();
        let word = format!("yes {number}\"");
        change(&home, |lines| {
            let line = lines.iter_mut().find(|line| line.contains(&word)).unwrap();
            *line = line.replace("was yes", "was not");
        });
        let at_once = refused_at_once(&home);
        assert_eq!(found_behind_the_start(&home), at_once, "{number}");
        assert!(at_once.contains("of other lines"), "{at_once}");
    }
}

#[test]
fn lines_that_change_places_in_the_newest_month_are_found_behind_the_start() {
    let home = lived();
    change(&home, |lines| lines.swap(30, 31));
    assert_eq!(found_behind_the_start(&home), refused_at_once(&home));
}

/// How many lines somebody gets who reads each once, the chain and the tree of what the start left unread by the same bytes; and
/// the fault that ends them.
fn read_once(home: &Home) -> (usize, Option<String>) {
    let custody = home.custody().reading_later();
    let opening = LogOpening::look(&home.path("audit"), &genesis(), custody).unwrap();
    assert!(opening.unread().is_some());
    let (mut read, mut fault) = (0, None);
    for line in opening.lines().unwrap() {
        match line {
            Ok(_) => read += 1,
            Err(error) => fault = Some(error.to_string()),
        }
    }
    (read, fault)
}

#[test]
fn a_log_as_it_was_written_is_read_once_to_its_end() {
    let home = lived();
    assert_eq!(read_once(&home), (60, None));
    home.live(march(), "in march");
    assert!(matches!(read_once(&home), (62.., None)));
}

/// The chain holds, and so do the newest checkpoint and the tree that the anchor has: what the others say shows when the lines
/// are hashed.
#[test]
fn a_checkpoint_that_was_changed_is_found_where_lines_are_read_once_as_a_start_at_once_finds_it() {
    let home = lived();
    let mut notes = lines_of(&home.file(FEBRUARY_NOTES));
    let root = notes[2].clone();
    notes[2] = root.replace(&root[..1], if root.starts_with('A') { "B" } else { "A" });
    write_lines(&home.file(FEBRUARY_NOTES), &notes);
    let (read, found) = read_once(&home);
    assert!(read < 60, "{read}");
    assert_eq!(found, Some(refused_at_once(&home)));
}

#[test]
fn a_word_that_was_edited_ends_the_lines_that_are_read_once() {
    for number in [1, 20, 33, 57] {
        let home = lived();
        let word = format!("yes {number}\"");
        change(&home, |lines| {
            let line = lines.iter_mut().find(|line| line.contains(&word)).unwrap();
            *line = line.replace("was yes", "was not");
        });
        let (read, found) = read_once(&home);
        assert!(found.is_some() && read <= number + 1, "{number}: {read}");
    }
}

#[test]
fn what_is_signed_before_an_edited_word_is_found_does_not_hide_it() {
    let home = lived();
    change(&home, |lines| lines[30] = lines[30].replace("yes", "not"));
    found_behind_the_start(&home);
    let report = verify(&[home.path("audit")]).to_string();
    let checkpoints = report.matches("is of other lines").count();
    assert!(
        checkpoints == 1,
        "the first checkpoint over it says so: {report}"
    );
    forget_tree(&home.path("log.anchor")).unwrap();
    home.refused(second(101), "of other lines");
}

/// No checkpoint covers the lines of the last minute before a crash; the anchor's tree does.
#[test]
fn a_word_edited_where_no_checkpoint_was_yet_is_found_behind_the_start() {
    let home = lived();
    let (mut log, _) = run(&home).unwrap();
    for number in 0..5 {
        log.append(second(100), &gap(&format!("no checkpoint {number}")))
            .unwrap();
    }
    // A `hole` line bears no signature, so it is anchored at once, together with the tree; no checkpoint is made for
    // it.
    log.append(second(101), &hole()).unwrap();
    log.commit().unwrap();
    log.abandon();
    change(&home, |lines| {
        for line in lines {
            *line = line.replace("no checkpoint 2", "no checkpoint 7");
        }
    });
    let found = found_behind_the_start(&home);
    assert!(found.contains("not those that this agent wrote"), "{found}");
}

fn hole() -> Entry {
    Entry::Hole(HoleLine {
        peer: bob().certificate.agent,
        session: SessionId(Digest([2; 32])),
        from: 1,
        to: 1,
    })
}

#[test]
fn the_first_line_with_another_key_for_checkpoints_is_refused_at_once() {
    let home = lived();
    change(&home, |lines| {
        let key = lines[0].split("\"checkpoint-key\":\"").nth(1).unwrap();
        let key = key.split('"').next().unwrap().to_owned();
        let other = key_of(9);
        lines[0] = lines[0].replace(&key, &other);
    });
    home.refused(second(99), "of other lines");
}

fn key_of(seed: u8) -> String {
    key(seed).public().to_string()
}

#[test]
fn checkpoints_cut_back_or_taken_away_are_missed_at_once() {
    let home = lived();
    let notes = fs::read(home.file(FEBRUARY_NOTES)).unwrap();
    for length in [0, 100, notes.len() / 2, notes.len() - 1] {
        fs::write(home.file(FEBRUARY_NOTES), &notes[..length]).unwrap();
        home.refused(second(99), "checkpoints are missing");
    }
    fs::remove_file(home.file(FEBRUARY_NOTES)).unwrap();
    home.refused(second(99), "checkpoints are missing");
    fs::write(home.file(FEBRUARY_NOTES), &notes).unwrap();
    drop(run(&home).unwrap());
    home.holds();
}

#[test]
fn an_anchor_of_an_older_release_has_no_tree_and_its_month_is_read_at_once() {
    let home = lived();
    let anchor = fs::read(home.path("log.anchor")).unwrap();
    fs::write(home.path("log.anchor"), &anchor[..3 * 512]).unwrap();
    let (log, unread) = run(&home).unwrap();
    assert!(unread.is_none());
    drop(log);
    let (log, unread) = run(&home).unwrap();
    assert!(unread.unwrap().inspect(|_| true).unwrap());
    drop(log);
    home.holds();
}

/// A power cut tears the slot of the tree that is written, at any byte: the start goes on from the other slot, or reads
/// the month at once, and signs the same tree.
#[test]
fn a_tree_that_a_power_cut_tore_is_not_believed() {
    let home = lived();
    let anchor = fs::read(home.path("log.anchor")).unwrap();
    let whole = lines_of(&home.file(FEBRUARY_NOTES));
    for from in (3 * 512..anchor.len()).step_by(41) {
        let mut torn = anchor.clone();
        torn[from..].fill(0);
        fs::write(home.path("log.anchor"), &torn).unwrap();
        let (log, unread) = run(&home).unwrap();
        if let Some(unread) = unread {
            assert!(unread.inspect(|_| true).unwrap(), "torn at {from}");
        }
        drop(log);
        assert_eq!(
            lines_of(&home.file(FEBRUARY_NOTES)),
            whole,
            "torn at {from}"
        );
    }
}

/// The anchor is written before the checkpoint, the tree with it: a crash between any two writes leaves trees of earlier
/// lines, and the lines behind them are hashed.
#[test]
fn a_tree_that_is_older_than_the_anchor_is_gone_on_from() {
    let home = lived();
    let older = fs::read(home.path("log.anchor")).unwrap();
    for number in 0..3 {
        home.live(second(100 + number), "behind the older tree");
    }
    let newer = fs::read(home.path("log.anchor")).unwrap();
    let mixed = [&newer[..3 * 512], &older[3 * 512..]].concat();
    fs::write(home.path("log.anchor"), mixed).unwrap();
    let (mut log, unread) = run(&home).unwrap();
    assert!(unread.unwrap().inspect(|_| true).unwrap());
    log.append(second(110), &gap("signed over both")).unwrap();
    log.commit().unwrap();
    drop(log);
    let report = home.holds();
    assert_eq!(report.proven, report.head);
}

/// A tree beyond the anchored line would vouch for lines that the anchor does not know.
#[test]
fn a_tree_that_is_newer_than_the_anchor_is_not_believed() {
    let home = lived();
    let (mut log, _) = run(&home).unwrap();
    let older = fs::read(home.path("log.anchor")).unwrap();
    log.append(second(100), &hole()).unwrap();
    log.commit().unwrap();
    let newer = fs::read(home.path("log.anchor")).unwrap();
    log.abandon();
    // Mix the two files as a power cut may leave them: the new tree had reached the disk, and the new record had not.
    let mixed = [&older[..3 * 512], &newer[3 * 512..]].concat();
    fs::write(home.path("log.anchor"), mixed).unwrap();
    let (log, unread) = run(&home).unwrap();
    assert!(unread.unwrap().inspect(|_| true).unwrap());
    drop(log);
    let kinds = kinds(&home.path("audit"));
    assert!(kinds.contains(&"recovery".to_owned()), "{kinds:?}");
    assert!(!kinds.contains(&"hole".to_owned()), "{kinds:?}");
    home.holds();
}

#[test]
fn a_new_month_begins_without_the_tree_of_the_month_before() {
    let home = lived();
    home.live(march(), "march");
    let (log, unread) = run(&home).unwrap();
    assert!(unread.unwrap().inspect(|_| true).unwrap());
    drop(log);
    home.holds();
}
