//! Links are proven in blocks, whose lines are compared with what a log writes: whatever a forger does, and wherever in a
//! block, is found as a walk finds it that reads each line.

use signet_audit::{Depth, LogReport, ProgressFn, Settings, verify_with};

use crate::common::*;

/// Lines of the log: several blocks.
const LINES: usize = 2_400;

/// A log of more than a megabyte, in lines of several lengths.
fn lines() -> (tempfile::TempDir, Vec<String>) {
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path(), second(0));
    for number in 1..LINES {
        let cause = "x".repeat(number % 17 * 60);
        log.append(second(number as u64 / 3), &gap(&cause)).unwrap();
    }
    log.commit().unwrap();
    drop(log);
    let lines = lines_of(&dir.path().join(FEBRUARY));
    (dir, lines)
}

fn report(dir: &std::path::Path, depth: Depth) -> LogReport {
    let settings = Settings {
        depth,
        findings: 10,
    };
    let mut report = verify_with(&[dir.to_owned()], settings, &mut ProgressFn::new(|_, _| {}));
    report.logs.remove(0)
}

/// The lines in which both depths find faults, which have to be the same, as has the line up to which the log holds.
fn found(dir: &std::path::Path, lines: &[String], what: &str) -> Vec<u64> {
    write_lines(&dir.join(FEBRUARY), lines);
    let [links, whole] = [Depth::Links, Depth::Signatures].map(|depth| report(dir, depth));
    let told = |report: &LogReport| -> Vec<u64> {
        let faults = report.faults.iter();
        let mut lines: Vec<_> = faults.map(|fault| fault.line).collect();
        lines.dedup();
        lines
    };
    assert_eq!(told(&links), told(&whole), "{what}");
    assert_eq!(
        (links.head, links.lines),
        (whole.head, whole.lines),
        "{what}"
    );
    told(&links)
}

#[test]
fn a_log_of_several_blocks_holds() {
    let (dir, lines) = lines();
    assert!(lines.iter().map(String::len).sum::<usize>() > 1024 * 1024);
    assert!(found(dir.path(), &lines, "as written").is_empty());
}

#[test]
fn whatever_is_done_to_a_line_of_any_block_is_found_as_line_by_line() {
    type Forgery = fn(&mut Vec<String>, usize);
    let forgeries: [(&str, Forgery); 12] = [
        ("a byte", |lines, at| {
            lines[at] = lines[at].replace("\"cause\":\"", "\"cause\":\"z");
        }),
        ("deleted", |lines, at| drop(lines.remove(at))),
        ("twice", |lines, at| lines.insert(at, lines[at].clone())),
        ("swapped", |lines, at| lines.swap(at, at + 1)),
        ("garbage", |lines, at| lines.insert(at, "garbage".into())),
        ("empty", |lines, at| lines.insert(at, String::new())),
        ("too long", |lines, at| {
            lines.insert(at, "y".repeat(2 * 1024 * 1024 + 1));
        }),
        ("a number with a zero", |lines, at| {
            lines[at] = lines[at].replace("\"seq\":", "\"seq\":0");
        }),
        ("another number", |lines, at| {
            lines[at] = lines[at].replace("\"seq\":", "\"seq\":1");
        }),
        ("an older version", |lines, at| {
            lines[at] = lines[at].replace("{\"v\":2", "{\"v\":1");
        }),
        ("another month", |lines, at| {
            lines[at] = lines[at].replace("\"ts\":\"2026-02", "\"ts\":\"2026-03");
        }),
        ("an earlier time", |lines, at| {
            lines[at] = lines[at].replace("\"ts\":\"2026-02-08", "\"ts\":\"2026-02-07");
        }),
    ];
    let (dir, lines) = lines();
    for (what, forge) in forgeries {
        for at in [1, 2, 1_013, LINES - 2] {
            let mut forged = lines.clone();
            forge(&mut forged, at);
            let found = found(dir.path(), &forged, &format!("{what} at {at}"));
            assert!(!found.is_empty(), "{what} at {at}");
        }
    }
}

/// The chain made anew behind a forged line hides a byte, and no frame that a log does not write.
#[test]
fn a_frame_that_no_log_writes_is_found_although_the_chain_fits() {
    let (dir, lines) = lines();
    for (from, to) in [
        ("\"kind\":\"gap\"", "\"kind\":\"close\""),
        ("\"kind\":\"gap\"", "\"kind\":\"open\""),
        ("\"ts\":\"2026-02-08", "\"ts\":\"2026-02-09"),
    ] {
        let mut forged = lines.clone();
        forged[1_200] = forged[1_200].replace(from, to);
        relink_all(&mut forged);
        write_lines(&dir.path().join(FEBRUARY), &forged);
        let report = report(dir.path(), Depth::Links);
        assert!(!report.faults.is_empty(), "{to}");
    }
}

#[test]
fn a_torn_end_behind_whole_blocks_is_told_and_no_fault() {
    let (dir, lines) = lines();
    let text: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
    std::fs::write(
        dir.path().join(FEBRUARY),
        format!("{text}{{\"v\":2,\"seq\""),
    )
    .unwrap();
    let report = report(dir.path(), Depth::Links);
    assert_eq!((report.faults.len(), report.lines), (0, LINES as u64));
    assert!(
        report.notes.iter().any(|note| note.contains("12 bytes")),
        "{:?}",
        report.notes
    );
}
