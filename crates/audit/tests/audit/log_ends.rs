//! Ends that do not fit: of the newest month, where a start goes on, and of finished ones, which a start looks at from their
//! two ends and the day's reading whole. Each is told in its own words.

use std::fs;
use std::path::Path;

use signet_audit::{Log, LogError, inspect_months};
use signet_proto::time::Timestamp;

use crate::anchor::Home;
use crate::common::*;
use crate::pair::{FEBRUARY_KEY, FEBRUARY_NOTES, MARCH_NOTES};
use crate::tlog;

fn april() -> Timestamp {
    at("2026-04-02T00:00:00.000Z")
}

fn refused(dir: &Path, with: &str) {
    let error = Log::open(dir, march(), &genesis()).unwrap_err();
    assert!(matches!(error, LogError::Broken { .. }), "{error}");
    let (told, with) = (error.to_string(), format!("{with}; the log was changed"));
    assert!(told.contains(&with), "no {with} in {told}");
}

#[test]
fn a_start_says_in_which_way_the_end_of_a_log_is_wrong() {
    let dir = tempfile::tempdir().unwrap();
    drop(conversation(dir.path(), 4));
    let path = dir.path().join(FEBRUARY);
    let whole = fs::read(&path).unwrap();
    let lines = lines_of(&path);
    let put = |bytes: &[u8]| fs::write(&path, bytes).unwrap();
    put(&[&whole[..], &vec![b'x'; 9 << 20], b"\n"].concat());
    refused(dir.path(), "a line near the end is longer than 2 MiB");
    put(&[&whole[..], b"neither this\nnor that\n"].concat());
    refused(dir.path(), "a line before the last cannot be read");
    write_lines(&path, &[&lines[..4], &lines[5..]].concat());
    refused(dir.path(), "the last line does not fit the line before it");
    put(&[&whole[..], b"one line that is none\n"].concat());
    drop(open(dir.path(), second(9)));
    assert_eq!(
        kinds(dir.path())[6..],
        ["recovery"],
        "a crash may leave that"
    );
}

/// Of a month that was just begun there is one line: it has to open the file, and to follow a closed one.
#[test]
fn a_month_of_one_line_has_to_open_it_behind_a_month_that_is_closed() {
    let from = tempfile::tempdir().unwrap();
    let mut log = open(from.path(), second(0));
    log.append(second(1), &gap("in february")).unwrap();
    log.append(march(), &gap("in march")).unwrap();
    log.commit().unwrap();
    drop(log);
    let [february, march] = [FEBRUARY, MARCH].map(|name| lines_of(&from.path().join(name)));
    let start = |mut lines: Vec<String>, february: usize, relinks: bool, torn: &str| {
        let dir = tempfile::tempdir().unwrap();
        if relinks {
            relink_all(&mut lines);
        }
        let march = lines.split_off(february);
        write_lines(&dir.path().join(FEBRUARY), &lines);
        let closed = fs::read(dir.path().join(FEBRUARY)).unwrap();
        fs::write(
            dir.path().join(FEBRUARY),
            [&closed[..], torn.as_bytes()].concat(),
        )
        .unwrap();
        write_lines(&dir.path().join(MARCH), &march);
        dir
    };
    let honest = [&february[..], &march[..1]].concat();
    drop(open(start(honest.clone(), 3, false, "").path(), second(9)));
    drop(open(start(honest.clone(), 3, true, "").path(), second(9)));
    let not_closed = [&february[..2], &march[..1]].concat();
    let not_opened = [&february[..], &march[1..]].concat();
    let mut elsewhere = honest.clone();
    elsewhere[3] = elsewhere[3].replacen("\"seq\":4", "\"seq\":5", 1);
    for (what, dir) in [
        ("it is not closed", start(not_closed, 2, true, "")),
        ("no line opens it", start(not_opened, 3, true, "")),
        (
            "its line is of another place",
            start(elsewhere, 3, false, ""),
        ),
        (
            "something stands behind `close`",
            start(honest, 3, false, "{\"v\""),
        ),
    ] {
        println!("{what}");
        refused(dir.path(), "the last line does not fit the line before it");
    }
}

/// The last month of a year, and the last of all that a time can name.
#[test]
fn a_year_ends_as_a_month_does_and_the_last_month_of_all_does_not_end() {
    let december = at("2026-12-05T00:00:00.000Z");
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path(), december);
    log.append(at("2027-01-05T00:00:00.000Z"), &gap("a new year"))
        .unwrap();
    log.commit().unwrap();
    drop(log);
    // A crash came before the new month's first line, and then the clock has gone back: the new month is begun all the
    // same.
    fs::remove_file(dir.path().join("inter-agent-2027-01.jsonl")).unwrap();
    let mut log = open(dir.path(), december);
    log.append(december, &gap("still the old year, says the clock"))
        .unwrap();
    log.commit().unwrap();
    assert_eq!(kinds(dir.path()), ["genesis", "close", "open", "gap"]);
    assert_eq!(read_all(dir.path())[3].ts, at("2027-01-01T00:00:00.000Z"));
    let last = at("2261-12-31T00:00:00.000Z");
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path(), last);
    for _ in 0..2 {
        log.append(last, &gap("on and on")).unwrap();
    }
    log.commit().unwrap();
    assert_eq!(kinds(dir.path()), ["genesis", "gap", "gap"]);
}

/// February and March, which are over, and April.
fn three_months() -> (Home, [u8; 32]) {
    let home = Home::new();
    home.live(second(1), "the word was yes");
    let seed = tlog::seed(&home.path("keys").join(FEBRUARY_KEY));
    home.live(march(), "march");
    home.live(april(), "april");
    (home, seed)
}

fn put_note(home: &Home, more_lines: i64, seed: &[u8; 32]) {
    let lines = lines_of(&home.file(FEBRUARY));
    let size = (lines.len() as u64).saturating_add_signed(more_lines);
    let note = tlog::sign(
        "signet/agent-alice-001/2026-02",
        size,
        &tlog::root(&lines),
        seed,
    );
    fs::write(home.file(FEBRUARY_NOTES), note + "\n").unwrap();
}

/// A change that a thief makes to a home whose key of February the thief knows.
type Deed = fn(&Home, &[u8; 32]);

#[test]
fn a_start_says_in_which_way_a_finished_month_is_wrong() {
    let deeds: [(Deed, &str); 8] = [
        (
            |home, _| {
                let mut bytes = fs::read(home.file(FEBRUARY)).unwrap();
                *bytes.last_mut().unwrap() = b' ';
                fs::write(home.file(FEBRUARY), bytes).unwrap();
            },
            "this finished month does not end with `close`",
        ),
        (
            |home, _| {
                let mut lines = lines_of(&home.file(FEBRUARY));
                lines.pop();
                write_lines(&home.file(FEBRUARY), &lines);
            },
            "this finished month does not end with `close`",
        ),
        (
            |home, _| fs::write(home.file(FEBRUARY), "").unwrap(),
            "this finished month has no line",
        ),
        (
            |home, _| put_note(home, 0, &[66; 32]),
            "its last checkpoint is not signed by the key that the month names",
        ),
        (
            |home, seed| put_note(home, 1, seed),
            "its last checkpoint covers more lines than the month has",
        ),
        (
            |home, _| fs::write(home.path("log.months"), "what is this\n").unwrap(),
            "what the home keeps of finished months is damaged: move this file away",
        ),
        (
            |home, _| {
                fs::remove_file(home.path("log.months")).unwrap();
                fs::remove_file(home.file(MARCH)).unwrap();
            },
            "the month after this one does not go on from its last line: one between them is missing, or it was changed",
        ),
        (
            |home, _| fs::remove_file(home.file(MARCH_NOTES)).unwrap(),
            "this finished month is not what it was: its length, one of its ends or its last checkpoint differs",
        ),
    ];
    for (deed, told) in deeds {
        let (home, seed) = three_months();
        deed(&home, &seed);
        home.refused(april(), told);
    }
    let (home, seed) = three_months();
    put_note(&home, 0, &seed);
    drop(home.start(april()));
    // The last checkpoint may honestly cover less than the month: the key may have been lost before the month's end.
    // Only the home's record of the month (`log.months`) tells that this month had a later checkpoint.
    put_note(&home, -1, &seed);
    home.refused(april(), "this finished month is not what it was");
    fs::remove_file(home.path("log.months")).unwrap();
    drop(home.start(april()));
}

fn change(home: &Home, name: &str, change: impl FnOnce(&mut Vec<String>)) {
    let mut lines = lines_of(&home.file(name));
    change(&mut lines);
    write_lines(&home.file(name), &lines);
}

/// A thief who edits a word makes the chain behind it anew, in every month, and takes away what the home knows of them.
fn edited_throughout(home: &Home) {
    let names = [FEBRUARY, MARCH, "inter-agent-2026-04.jsonl"];
    let months = names.map(|name| lines_of(&home.file(name)));
    let mut all = months.concat();
    all[1] = all[1].replace("was yes", "was not");
    relink_all(&mut all);
    let mut rest = all.as_slice();
    for (name, lines) in names.iter().zip(months) {
        let (month, later) = rest.split_at(lines.len());
        write_lines(&home.file(name), month);
        rest = later;
    }
    fs::remove_file(home.path("log.months")).unwrap();
}

#[test]
fn the_day_s_reading_says_in_which_line_a_finished_month_is_wrong() {
    let deeds: [(Deed, &str); 4] = [
        (
            |home, _| {
                change(home, FEBRUARY, |lines| {
                    lines[1] = "x".repeat(lines[1].len())
                })
            },
            "line 2 is no line of a log",
        ),
        (
            |home, _| {
                change(home, MARCH, |lines| {
                    lines[1] = lines[1].replacen("\"seq\":5", "\"seq\":7", 1);
                });
            },
            "line 2: `seq` is not one more than the line before has",
        ),
        (
            |home, _| {
                change(home, FEBRUARY, |lines| {
                    lines[1] = lines[1].replace("was yes", "was not")
                });
            },
            "line 3: `prev` is not the SHA-256 of the line before",
        ),
        (
            |home, _| edited_throughout(home),
            "its last checkpoint is of other lines",
        ),
    ];
    for (deed, told) in deeds {
        let (home, seed) = three_months();
        let inspect = || inspect_months(&home.path("audit"), &home.path("log.anchor"), |_| true);
        assert_eq!(inspect().unwrap(), 2);
        deed(&home, &seed);
        let found = inspect().unwrap_err();
        assert!(matches!(found, LogError::Broken { .. }), "{found}");
        assert!(found.to_string().contains(told), "no {told} in {found}");
    }
}
