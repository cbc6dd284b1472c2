//! What is read behind a start is read piece by piece: whoever reads says after each whether to go on.

use std::fs::{self, File};

use signet_audit::{LogOpening, UnreadMonth, inspect_months};

use crate::anchor::Home;
use crate::common::*;
use crate::pair::{FEBRUARY_NOTES, MARCH_NOTES};

const PIECE: u64 = 1024 * 1024;

/// A home whose February has four long lines, and whose March has begun: `months` of them.
fn long(months: usize) -> Home {
    let home = Home::new();
    let mut log = home.start(second(0));
    for number in 1..=4 {
        let line = gap(&format!("{number}{}", "x".repeat(700_000)));
        log.append(second(number), &line).unwrap();
        log.commit().unwrap();
        log.checkpoint().unwrap();
    }
    drop(log);
    if months > 1 {
        home.live(march(), "in march");
    }
    if months > 2 {
        home.live(at("2026-04-02T00:00:00.000Z"), "in april");
    }
    home
}

fn length(home: &Home) -> u64 {
    home.file(FEBRUARY).metadata().unwrap().len()
}

/// The pieces that are read until `most` of them were: the last may be a short one.
fn pieces<T>(most: usize, read: impl FnOnce(&mut dyn FnMut(u64) -> bool) -> T) -> (Vec<u64>, T) {
    let mut pieces = Vec::new();
    let found = read(&mut |piece| {
        pieces.push(piece);
        pieces.len() < most
    });
    (pieces, found)
}

fn are_whole(pieces: &[u64], length: u64) {
    assert_eq!(pieces.iter().sum::<u64>(), length, "{pieces:?}");
    let (_, but_last) = pieces.split_last().unwrap();
    let is_one = |piece: &u64| (PIECE..2 * PIECE).contains(piece);
    assert!(
        but_last.len() == 2 && but_last.iter().all(is_one),
        "{pieces:?}"
    );
}

#[test]
fn a_finished_month_is_read_in_pieces_until_nobody_wants_more() {
    let home = long(2);
    let inspect = |most| {
        pieces(most, |pace| {
            inspect_months(&home.path("audit"), &home.path("log.anchor"), pace).unwrap()
        })
    };
    let (read, whole) = inspect(99);
    are_whole(&read, length(&home));
    assert_eq!(whole, 1);
    for most in 1..=3 {
        let (read, whole) = inspect(most);
        assert_eq!((read.len(), whole), (most, 0), "nobody wanted it whole");
    }
}

fn unread(home: &Home) -> UnreadMonth {
    let custody = home.custody().reading_later();
    let opening = LogOpening::look(&home.path("audit"), &genesis(), custody).unwrap();
    opening.unread().unwrap()
}

#[test]
fn the_newest_month_is_read_in_pieces_until_nobody_wants_more() {
    let home = long(1);
    let inspect = |most| pieces(most, |pace| unread(&home).inspect(pace).unwrap());
    let (read, whole) = inspect(99);
    are_whole(&read, length(&home));
    assert!(whole);
    for most in 1..=3 {
        let (read, whole) = inspect(most);
        assert_eq!((read.len(), whole), (most, false));
    }
}

#[test]
fn a_month_that_is_cut_while_it_is_read_is_no_month_that_was_read() {
    let home = long(2);
    let path = home.file(FEBRUARY);
    let end = lines_of(&path).pop().unwrap().len() as u64 + 1;
    let mut cut = Some(length(&home) - end);
    let found = inspect_months(&home.path("audit"), &home.path("log.anchor"), |_| {
        if let Some(length) = cut.take() {
            let file = File::options().write(true).open(&path).unwrap();
            file.set_len(length).unwrap();
        }
        true
    });
    let found = found.unwrap_err().to_string();
    assert!(found.contains("it changed while it was read"), "{found}");
    let home = long(3);
    let found = inspect_months(&home.path("audit"), &home.path("log.anchor"), |_| {
        let _ = fs::remove_file(home.file(MARCH_NOTES));
        true
    });
    let found = found.unwrap_err().to_string();
    assert!(
        found.contains("this finished month is not what it was"),
        "{found}"
    );
}

/// Its last checkpoint is what it was, so the start goes on.
#[test]
fn a_checkpoint_before_the_last_that_is_none_any_more_is_found_behind_the_start() {
    let home = long(1);
    let path = home.file(FEBRUARY_NOTES);
    let notes = fs::read_to_string(&path).unwrap();
    let unread = unread(&home);
    assert!(unread.inspect(|_| true).unwrap());
    for (from, to) in [
        ("— signet/", "xxx signet/"),
        ("\n2\n", "\n3\n"),
        ("\n2\n", "\n1\n"),
    ] {
        fs::write(&path, notes.replacen(from, to, 1)).unwrap();
        let found = unread.inspect(|_| true).unwrap_err().to_string();
        let told = match to.starts_with('x') {
            true => "something in it is no checkpoint",
            false => "its checkpoints are of other lines",
        };
        assert!(found.contains(told), "{found}");
    }
    // Checkpoints written after the start, even malformed ones, are none of those that were there before: `inspect`
    // ignores them.
    fs::write(&path, format!("{notes}what is\n\nthis\n\n")).unwrap();
    assert!(unread.inspect(|_| true).unwrap());
}
