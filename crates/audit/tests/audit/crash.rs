//! What a start makes of the state that a crash left, at every place it can come.

use std::fs;
use std::path::Path;

use signet_audit::{Log, LogError, Mark, verify};
use signet_proto::ids::Digest;

use crate::common::*;

fn holds(dir: &Path) {
    let report = verify(&[dir.to_owned()]);
    assert!(report.holds(), "{report}");
}

/// A log of three durable lines and a last group of two, and the length of the durable part.
fn durable_and_group(dir: &Path) -> (Vec<u8>, usize) {
    let mut log = conversation(dir, 1);
    let durable = fs::read(dir.join(FEBRUARY)).unwrap().len();
    log.append(second(2), &gap("first of the group")).unwrap();
    log.append(second(3), &gap("second of the group")).unwrap();
    log.commit().unwrap();
    (fs::read(dir.join(FEBRUARY)).unwrap(), durable)
}

#[test]
fn a_group_torn_at_any_byte_is_set_aside_and_recorded() {
    let whole = tempfile::tempdir().unwrap();
    let (bytes, durable) = durable_and_group(whole.path());
    for cut in durable..bytes.len() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(FEBRUARY), &bytes[..cut]).unwrap();
        let head = open(dir.path(), second(9)).head().unwrap();
        let end = bytes[..cut]
            .iter()
            .rposition(|byte| *byte == b'\n')
            .unwrap()
            + 1;
        let sound = bytes[..end].iter().filter(|byte| **byte == b'\n').count() as u64;
        if end == cut {
            assert_eq!(head.seq, sound, "nothing is torn at {cut}");
            continue;
        }
        let lines = read_all(dir.path());
        let file = format!("inter-agent-2026-02.torn-{}", sound + 1);
        let torn = &bytes[end..cut];
        assert_eq!(fs::read(dir.path().join(&file)).unwrap(), torn);
        let recovery = Mark::Recovery {
            file,
            bytes: torn.len() as u64,
            hash: Digest::of(&[torn]),
        };
        assert_eq!(
            (lines.len() as u64, lines.last().unwrap().mark.clone()),
            (sound + 1, Some(recovery))
        );
        assert_eq!(head.hash, lines.last().unwrap().hash);
    }
}

#[test]
fn after_a_recovery_the_whole_log_holds_and_a_second_start_adds_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (bytes, _) = durable_and_group(dir.path());
    fs::write(dir.path().join(FEBRUARY), &bytes[..bytes.len() - 7]).unwrap();
    drop(open(dir.path(), second(9)));
    let once = fs::read(dir.path().join(FEBRUARY)).unwrap();
    drop(open(dir.path(), second(10)));
    assert_eq!(fs::read(dir.path().join(FEBRUARY)).unwrap(), once);
    holds(dir.path());
}

/// Every start that writes a file anew makes a copy under this name first.
#[test]
fn a_link_to_nowhere_in_the_place_of_a_copy_keeps_no_log_from_starting() {
    let dir = tempfile::tempdir().unwrap();
    let (bytes, _) = durable_and_group(dir.path());
    fs::write(dir.path().join(FEBRUARY), &bytes[..bytes.len() - 7]).unwrap();
    let copy = dir.path().join("inter-agent.rewriting");
    std::os::unix::fs::symlink("nowhere", &copy).unwrap();
    drop(open(dir.path(), second(9)));
    copy.symlink_metadata().unwrap_err();
    dir.path().join("nowhere").metadata().unwrap_err();
    holds(dir.path());
}

#[test]
fn a_last_line_of_zeros_is_torn() {
    let dir = tempfile::tempdir().unwrap();
    let (mut bytes, durable) = durable_and_group(dir.path());
    bytes[durable..].fill(0);
    fs::write(dir.path().join(FEBRUARY), &bytes).unwrap();
    drop(open(dir.path(), second(9)));
    assert_eq!(
        kinds(dir.path()),
        ["genesis", "trust", "message", "recovery"]
    );
    bytes.push(b'\n');
    fs::write(dir.path().join(FEBRUARY), &bytes).unwrap();
    fs::remove_file(dir.path().join("inter-agent-2026-02.torn-4")).unwrap();
    drop(open(dir.path(), second(9)));
    assert_eq!(
        kinds(dir.path()),
        ["genesis", "trust", "message", "recovery"]
    );
}

#[test]
fn a_last_line_that_was_changed_or_does_not_fit_is_never_repaired() {
    let dir = tempfile::tempdir().unwrap();
    let (bytes, durable) = durable_and_group(dir.path());
    let text = String::from_utf8(bytes).unwrap();
    let renumbered = text[durable..].replacen("\"seq\":4", "\"seq\":8", 1);
    let skipped = format!("{}\n", text[durable..].lines().next_back().unwrap());
    for tail in [renumbered, skipped] {
        let whole = format!("{}{tail}", &text[..durable]);
        fs::write(dir.path().join(FEBRUARY), &whole).unwrap();
        Log::open(dir.path(), second(9), &genesis())
            .expect_err("a whole line that does not fit is no torn one");
        assert_eq!(
            fs::read_to_string(dir.path().join(FEBRUARY)).unwrap(),
            whole,
            "nothing is moved"
        );
    }
}

#[test]
fn a_crash_within_the_recovery_keeps_all_torn_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let (bytes, durable) = durable_and_group(dir.path());
    let path = dir.path().join(FEBRUARY);
    // A crash while the torn bytes were copied: the copy is too short, and the log still ends with the torn bytes.
    fs::write(
        dir.path().join("inter-agent-2026-02.torn-4"),
        &bytes[durable..durable + 3],
    )
    .unwrap();
    fs::write(&path, &bytes[..durable + 9]).unwrap();
    drop(open(dir.path(), second(9)));
    assert_eq!(
        fs::read(dir.path().join("inter-agent-2026-02.torn-4-2")).unwrap(),
        &bytes[durable..durable + 9]
    );
    assert_eq!(
        kinds(dir.path()),
        ["genesis", "trust", "message", "recovery", "recovery"]
    );
    holds(dir.path());
    // A crash a moment later: the torn bytes are copied and cut off the log, but no line records the copy yet.
    let dir = tempfile::tempdir().unwrap();
    fs::write(
        dir.path().join("inter-agent-2026-02.torn-4"),
        &bytes[durable..durable + 9],
    )
    .unwrap();
    fs::write(dir.path().join(FEBRUARY), &bytes[..durable]).unwrap();
    drop(open(dir.path(), second(9)));
    assert_eq!(
        kinds(dir.path()),
        ["genesis", "trust", "message", "recovery"]
    );
    holds(dir.path());
}

#[test]
fn a_torn_genesis_is_set_aside_and_the_log_begins_anew() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path(), second(0)));
    let bytes = fs::read(dir.path().join(FEBRUARY)).unwrap();
    for cut in [0, 1, bytes.len() - 1] {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(FEBRUARY), &bytes[..cut]).unwrap();
        drop(open(dir.path(), second(1)));
        let expected: &[&str] = if cut == 0 {
            &["genesis"]
        } else {
            &["genesis", "recovery"]
        };
        assert_eq!(kinds(dir.path()), expected);
        holds(dir.path());
    }
}

#[test]
fn a_rollover_interrupted_anywhere_is_finished() {
    let whole = tempfile::tempdir().unwrap();
    let mut log = conversation(whole.path(), 1);
    log.append(march(), &gap("march")).unwrap();
    log.commit().unwrap();
    drop(log);
    let february = fs::read(whole.path().join(FEBRUARY)).unwrap();
    let march_bytes = fs::read(whole.path().join(MARCH)).unwrap();
    let closed = |cut: usize| -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(FEBRUARY), &february[..cut]).unwrap();
        dir
    };
    let before_close = february[..february.len() - 1]
        .iter()
        .rposition(|byte| *byte == b'\n')
        .unwrap()
        + 1;
    for cut in (before_close..february.len()).step_by(5) {
        go_on_in_march(closed(cut).path(), &format!("{cut} bytes of February"));
    }
    go_on_in_march(closed(february.len()).path(), "no file of March");
    for cut in (0..march_bytes.len()).step_by(5) {
        let dir = closed(february.len());
        fs::write(dir.path().join(MARCH), &march_bytes[..cut]).unwrap();
        go_on_in_march(dir.path(), &format!("{cut} bytes of March"));
    }
}

fn go_on_in_march(dir: &Path, when: &str) {
    let mut log =
        Log::open(dir, march(), &genesis()).unwrap_or_else(|error| panic!("{when}: {error}"));
    log.append(march(), &gap("go on")).unwrap();
    let head = log.commit().unwrap();
    let report = verify(&[dir.to_owned()]);
    assert!(report.holds(), "{when}: {report}");
    assert_eq!(report.logs[0].head, Some(head), "{when}");
    assert_eq!(report.logs[0].files, 2, "{when}");
}

#[test]
fn a_clock_gone_back_into_the_closed_month_does_not_reopen_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = conversation(dir.path(), 1);
    log.append(march(), &gap("march")).unwrap();
    drop(log);
    fs::remove_file(dir.path().join(MARCH)).unwrap();
    let mut log = open(dir.path(), second(5));
    log.append(second(6), &gap("still february, says the clock"))
        .unwrap();
    log.commit().unwrap();
    assert_eq!(
        kinds(dir.path()),
        ["genesis", "trust", "message", "close", "open", "gap"]
    );
    assert_eq!(read_all(dir.path())[5].ts, at("2026-03-01T00:00:00Z"));
    holds(dir.path());
}

#[test]
fn a_line_changed_before_the_last_is_never_repaired() {
    let dir = tempfile::tempdir().unwrap();
    drop(conversation(dir.path(), 4));
    let path = dir.path().join(FEBRUARY);
    let mut lines = lines_of(&path);
    let at = lines.len() - 2;
    lines[at] = lines[at].replacen("\"seq\":5", "\"seq\":9", 1);
    write_lines(&path, &lines);
    let before = fs::read(&path).unwrap();
    let error = Log::open(dir.path(), second(9), &genesis()).unwrap_err();
    assert!(matches!(error, LogError::Broken { .. }), "{error}");
    assert!(error.next().contains("signet audit verify"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(
        fs::read_dir(dir.path()).unwrap().count(),
        1,
        "nothing is set aside either"
    );
}

#[test]
fn reading_stops_at_the_first_line_that_does_not_fit() {
    let dir = tempfile::tempdir().unwrap();
    drop(conversation(dir.path(), 4));
    let path = dir.path().join(FEBRUARY);
    let mut lines = lines_of(&path);
    lines.remove(3);
    write_lines(&path, &lines);
    let read: Vec<_> = signet_audit::read(dir.path()).unwrap().collect();
    assert_eq!(read.len(), 4);
    assert!(matches!(read[3], Err(LogError::Broken { .. })));
}

#[test]
fn kill_points_leave_a_log_that_goes_on_from_what_was_durable() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path(), second(0));
    for number in 1..20 {
        log.append(second(number), &accepted(number, "x")).unwrap();
        let killed = copy_dir(dir.path());
        assert_eq!(
            open(killed.path(), second(number)).head(),
            log.head(),
            "appended, not committed"
        );
        let head = log.commit().unwrap();
        let killed = copy_dir(dir.path());
        assert_eq!(
            open(killed.path(), second(number)).head(),
            Some(head),
            "committed"
        );
    }
}
