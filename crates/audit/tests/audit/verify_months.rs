//! Seams between months and the ends of their checkpoints: whatever is wrong there is told once, in words, by either depth.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use signet_audit::{Depth, ProgressFn, Settings, verify_with};

use crate::common::*;
use crate::pair::*;
use crate::tlog;

/// Eighteen lines in February, under several checkpoints, its `close`, and a line in March.
fn two_months() -> Side {
    let mut side = Side::new(alice());
    for number in 1..18 {
        side.write(second(number), &gap(&format!("line {number}")));
        if number % 5 == 0 {
            side.log().checkpoint().unwrap();
        }
    }
    side.write(march(), &gap("in march"));
    side.stop();
    side
}

/// The faults of the log, each with its file and line, which both depths find.
fn faults(side: &Side) -> Vec<(String, u64, String)> {
    let [links, whole] = [Depth::Links, Depth::Signatures].map(|depth| {
        let settings = Settings {
            depth,
            ..Settings::default()
        };
        let mut report = verify_with(&[side.dir()], settings, &mut ProgressFn::new(|_, _| {}));
        let faults = report.logs.remove(0).faults.into_iter();
        let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        let told: Vec<_> = faults
            .map(|fault| (name(&fault.file), fault.line, fault.what))
            .collect();
        told
    });
    assert_eq!(links, whole);
    whole
}

fn fault(file: &str, line: u64, what: &str) -> Vec<(String, u64, String)> {
    vec![(file.to_owned(), line, what.to_owned())]
}

fn append(path: &Path, bytes: &[u8]) {
    let mut file = fs::File::options().append(true).open(path).unwrap();
    file.write_all(bytes).unwrap();
}

#[test]
fn what_is_appended_to_a_finished_month_is_no_torn_end() {
    let side = two_months();
    assert_eq!(faults(&side), []);
    append(&side.file(FEBRUARY), b"{\"v\":2,\"seq\":20");
    let what = "behind this line the file ends within a line, and yet another file follows";
    assert_eq!(faults(&side), fault(FEBRUARY, 19, what));
}

#[test]
fn a_checkpoint_that_is_begun_behind_those_of_a_finished_month_is_found() {
    let side = two_months();
    append(
        &side.file(MARCH_NOTES),
        b"signet/agent-alice-001/2026-03\n4",
    );
    assert_eq!(faults(&side), [], "a crash tears the newest one");
    append(
        &side.file(FEBRUARY_NOTES),
        b"signet/agent-alice-001/2026-02\n20",
    );
    let what = "its last checkpoint is torn, and yet another file follows";
    assert_eq!(faults(&side), fault(FEBRUARY, 19, what));
}

#[test]
fn checkpoints_that_were_all_made_anew_are_one_fault_and_not_one_for_each() {
    let side = two_months();
    let lines = side.lines(FEBRUARY);
    let notes = fs::read_to_string(side.file(FEBRUARY_NOTES)).unwrap();
    let notes = tlog::split(&notes);
    assert!(notes.len() > 3, "{notes:#?}");
    let anew: String = notes
        .iter()
        .map(|note| {
            let (origin, size) = (note.lines().next().unwrap(), note.lines().nth(1).unwrap());
            let size: usize = size.parse().unwrap();
            tlog::sign(origin, size as u64, &tlog::root(&lines[..size]), &[66; 32]) + "\n"
        })
        .collect();
    fs::write(side.file(FEBRUARY_NOTES), anew).unwrap();
    let what = "checkpoint 1, over 1 line, is not signed by the key that the first line names";
    assert_eq!(faults(&side), fault(FEBRUARY, 1, what));
}

#[test]
fn what_is_wrong_with_a_checkpoint_is_told_with_its_number_and_its_lines() {
    let side = two_months();
    let (lines, old) = (
        side.lines(MARCH),
        fs::read_to_string(side.file(MARCH_NOTES)).unwrap(),
    );
    let seed = tlog::seed(&side.key(MARCH_KEY));
    let origin = "signet/agent-alice-001/2026-03";
    let count = lines.len() as u64;
    let whole =
        |root: &tlog::Hash, origin: &str, size: u64| tlog::sign(origin, size, root, &seed) + "\n";
    let root = tlog::root(&lines);
    for (notes, line, what) in [
        (
            whole(&[9; 32], origin, count),
            count,
            "checkpoint 1, over 2 lines, is of other lines: the file was written anew, or there are two versions of it".to_owned(),
        ),
        (
            whole(&root, "signet/agent-alice-001/2026-02", count),
            count,
            "checkpoint 1, over 2 lines, is of another log or month".to_owned(),
        ),
        (
            whole(&tlog::root(&lines[..1]), origin, 1).repeat(2) + &whole(&root, origin, count),
            count,
            "checkpoint 2, over 1 line, does not cover more lines than the one before".to_owned(),
        ),
        (
            whole(&root, origin, count + 1),
            count,
            "a checkpoint covers 3 lines, and the file has 2: lines were cut off at its end".to_owned(),
        ),
        (
            "garbage\n\nmore\n\n".to_owned(),
            1,
            "checkpoint 1 beside the file is no signed note as a log writes it".to_owned(),
        ),
        (
            String::new(),
            count,
            "the checkpoints end with line 0, and the file has 2, more than a log leaves without one: some were taken away, or its key was lost".to_owned(),
        ),
    ] {
        fs::write(side.file(MARCH_NOTES), notes).unwrap();
        let found = faults(&side);
        assert_eq!(found.len(), 1, "{found:#?}");
        assert_eq!((found[0].1, &found[0].2), (line, &what));
    }
    fs::write(side.file(MARCH_NOTES), old).unwrap();
    assert_eq!(faults(&side), []);
}
