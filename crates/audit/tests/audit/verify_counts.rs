//! What a report counts, and what it notes without calling it a fault: lines that hold no message to prove, messages of a
//! wrong clock, and torn ends that were set aside.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use signet_audit::{LogReport, verify};
use signet_proto::entry::{Direction, Entry, Evidence, Ruling, Verdict};
use signet_proto::envelope::Claimed;
use signet_proto::ids::Digest;
use signet_proto::reject::Reason;

use crate::common::*;
use crate::verify_decisions::{faults, prove};

/// Bytes that nobody signed.
fn raw(number: u8) -> Entry {
    Entry::Message(Verdict {
        direction: Direction::In,
        ruling: Ruling::Rejected(Reason::SignatureInvalid),
        bytes: 700,
        hash: Digest([number; 32]),
        evidence: Evidence::Raw(
            b"{\"id\":\"x\"}".to_vec(),
            Claimed {
                agent: None,
                message_type: None,
            },
        ),
        copy: None,
    })
}

#[test]
fn signatures_are_counted_and_lines_that_have_none_to_prove_are_told() {
    let mut late = draft(&alice(), &bob(), 4, "With a wrong clock");
    late["params"]["headers"]["timestamp"] = "2025-12-31T23:00:00.000Z".into();
    let late = entry(Direction::Out, Ruling::Sent, sign(late, &alice().key));
    let report = prove(&[
        sent(1, "Says"),
        raw(1),
        late,
        raw(2),
        raw(3),
        accepted(5, "Hears"),
    ]);
    assert_eq!(faults(&report), []);
    assert_eq!((report.lines, report.signed, report.skipped), (8, 3, 3));
    let told = "8 lines in 1 file, 3 signatures, 3 lines without a message to prove;";
    assert!(report.sentence().contains(told), "{}", report.sentence());
    let clock = report.wrong_clock.unwrap();
    assert_eq!((clock.count, clock.first), (1, Some(5)));
    assert_eq!(
        clock.to_string(),
        "wrong clock: 1 message of this agent's own, the first in seq 5 at 2025-12-31T23:00:00.000Z, signed outside the dates of its certificate: the clock was wrong then, or the certificate had run out. The signatures hold and nothing was changed; peers refused them"
    );
}

/// A log with a torn end that a start set aside: the lines, and its folder.
fn mended() -> (tempfile::TempDir, Vec<String>) {
    let dir = tempfile::tempdir().unwrap();
    drop(conversation(dir.path(), 2));
    let path = dir.path().join(FEBRUARY);
    let mut file = fs::File::options().append(true).open(&path).unwrap();
    file.write_all(b"{\"v\"").unwrap();
    drop(open(dir.path(), second(9)));
    let lines = lines_of(&path);
    assert_eq!(lines.len(), 5, "{lines:#?}");
    (dir, lines)
}

fn report_on(dir: &Path, lines: &mut [String]) -> LogReport {
    relink_all(lines);
    write_lines(&dir.join(FEBRUARY), lines);
    verify(&[dir.to_owned()]).logs.remove(0)
}

#[test]
fn torn_ends_are_counted_and_those_that_are_not_there_any_more_are_noted_up_to_a_hundred() {
    let (dir, mut lines) = mended();
    let report = report_on(dir.path(), &mut lines);
    assert_eq!((faults(&report), report.recoveries), (vec![], 1));
    assert_eq!(report.notes, Vec::<String>::new());
    let torn = dir.path().join("inter-agent-2026-02.torn-5");
    fs::remove_file(&torn).unwrap();
    let note = format!("{}: not there, and so not compared", torn.display());
    for (count, noted) in [(1, 1), (99, 99), (100, 100), (130, 100)] {
        let again = vec![lines[4].clone(); count];
        lines.truncate(4);
        lines.extend(again);
        let report = report_on(dir.path(), &mut lines);
        assert_eq!(faults(&report), []);
        assert_eq!(report.recoveries, count as u64);
        assert_eq!(report.notes, vec![note.clone(); noted]);
    }
}

/// Otherwise a forged line would make who verifies the log read any file of theirs.
#[test]
fn a_recovery_line_names_a_file_beside_the_log_and_no_other_is_read() {
    let (dir, lines) = mended();
    let what = "`file` of `recovery` is not a plain file name";
    for name in [
        "../secret",
        "/etc/hostname",
        "..",
        "below/secret",
        "secret/",
    ] {
        let mut forged = lines.clone();
        forged[4] = forged[4].replacen("inter-agent-2026-02.torn-5", name, 1);
        assert_ne!(forged, lines);
        let report = report_on(dir.path(), &mut forged);
        assert_eq!(faults(&report), [(5, what)], "{name}");
        assert_eq!(report.notes, Vec::<String>::new(), "{name}");
    }
    let mut forged = lines.clone();
    forged[4] = forged[4].replacen("\"bytes\":4", "\"bytes\":5", 1);
    assert_ne!(forged, lines);
    let report = report_on(dir.path(), &mut forged);
    let what = "the torn bytes set aside are not those recorded";
    assert_eq!(faults(&report), [(5, what)]);
}

#[test]
fn the_first_line_of_all_stands_once_and_nowhere_else() {
    let (dir, mut lines) = mended();
    lines.insert(3, lines[0].clone());
    let later = lines[2].split_once("\"ts\":\"").unwrap().1[..24].to_owned();
    let first = lines[0].split_once("\"ts\":\"").unwrap().1[..24].to_owned();
    lines[3] = lines[3].replacen(&first, &later, 1);
    let report = report_on(dir.path(), &mut lines);
    let what = "`genesis` and `open` stand only at the start of a file";
    assert_eq!(faults(&report), [(4, what)]);
}
