//! Reading a log line by line: faults are named by the line in which an editor finds them, and a reader that waits at the
//! end goes on there, whatever a start makes of the file meanwhile.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use signet_audit::{
    LogError, LogLine, LogPosition, MAX_LINE, Reserved, read, read_file, read_from, verify,
};
use signet_proto::carrier::CarrierId;
use signet_proto::entry::Entry;

use crate::common::*;

fn put(path: &Path, lines: &[String], change: impl FnOnce(&mut Vec<String>)) {
    let mut lines = lines.to_vec();
    change(&mut lines);
    write_lines(path, &lines);
}

#[test]
fn a_fault_is_named_by_its_line_in_the_file_wherever_the_reading_began() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = conversation(dir.path(), 4);
    let third = LogPosition {
        offset: 0,
        ..log.position()
    };
    log.append(second(9), &gap("the seventh")).unwrap();
    log.commit().unwrap();
    drop(log);
    let path = dir.path().join(FEBRUARY);
    let lines = lines_of(&path);
    let all = read_all(dir.path());
    let behind = |number: usize| LogPosition {
        offset: lines[..number]
            .iter()
            .map(|line| line.len() as u64 + 1)
            .sum(),
        head: signet_audit::Head {
            seq: number as u64,
            hash: all[number - 1].hash,
        },
        ..third.clone()
    };
    let whole = read_from(dir.path(), &behind(3)).unwrap().unwrap();
    let numbers: Vec<_> = whole.map(|line| line.unwrap().seq).collect();
    assert_eq!(numbers, [4, 5, 6, 7]);
    let faults = [
        ("{\"v\":2}".to_owned(), "line 6"),
        ("x".repeat(MAX_LINE + 1), "line 6"),
        (
            lines[6].clone(),
            "line 6: `seq` is not one more than the line before has",
        ),
        (
            lines[5].replacen("\"v\":2", "\"v\":1", 1),
            "line 6: `v` is lower than the line before has",
        ),
        (
            lines[5].replacen("17:00:04", "17:00:01", 1),
            "line 6: `ts` is earlier than the line before has",
        ),
    ];
    for (line, told) in faults {
        put(&path, &lines, |lines| lines[5] = line);
        let found = read(dir.path()).unwrap().find_map(Result::err).unwrap();
        assert!(found.to_string().contains(told), "{found}");
        let mut rest = read_from(dir.path(), &behind(3)).unwrap().unwrap();
        let again = rest.find_map(Result::err).unwrap();
        assert_eq!(again.to_string(), found.to_string());
        assert!(rest.next().is_none(), "the first fault ends the reading");
    }
    // Places that the log does not have: with the head of another line, within a line, in a month without a file,
    // behind the end of the file, and at its beginning with a later head.
    write_lines(&path, &lines);
    let other = LogPosition {
        head: behind(4).head,
        ..behind(3)
    };
    let within = LogPosition {
        offset: behind(3).offset - 1,
        ..behind(3)
    };
    let nowhere = LogPosition {
        file: MARCH.into(),
        ..behind(3)
    };
    let beyond = LogPosition {
        offset: 1 << 40,
        ..behind(3)
    };
    for position in [other, within, nowhere, beyond, third] {
        assert!(
            read_from(dir.path(), &position).unwrap().is_none(),
            "{position:?}"
        );
    }
}

#[test]
fn what_stands_behind_a_place_goes_on_in_the_months_behind_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path(), second(0));
    let mut places = vec![log.position()];
    for now in [second(1), march(), at("2026-04-02T00:00:00.000Z")] {
        log.append(now, &gap("one a month")).unwrap();
        places.push(log.position());
    }
    log.commit().unwrap();
    for place in places {
        let rest = read_from(dir.path(), &place).unwrap().unwrap();
        let rest: Vec<_> = rest.map(|line| line.unwrap().seq).collect();
        let expected: Vec<_> = (place.head.seq + 1..=8).collect();
        assert_eq!(rest, expected, "{place:?}");
    }
}

/// `tail -f` of a log, as `signet audit log --follow` does it.
#[test]
fn a_reader_at_the_end_goes_on_with_what_is_written_behind_it() {
    let dir = tempfile::tempdir().unwrap();
    drop(conversation(dir.path(), 1));
    let path = dir.path().join(FEBRUARY);
    let whole = fs::read(&path).unwrap();
    let second = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    fs::write(&path, &whole[..second + 50]).unwrap();
    let mut lines = read_file(&path).unwrap();
    assert_eq!(lines.next().unwrap().unwrap().seq, 1);
    for _ in 0..2 {
        assert!(lines.next().is_none(), "half a line is none");
    }
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(&whole[second + 50..]).unwrap();
    let rest: Vec<_> = lines.by_ref().map(|line| line.unwrap().seq).collect();
    assert_eq!(rest, [2, 3]);
}

/// After a crash a start puts a fresh copy into the place of the file that the reader has open.
#[test]
fn a_reader_that_saw_a_torn_line_goes_on_in_the_copy_that_the_next_start_makes() {
    for (torn, long) in [(30, 0), (900, 0), (9, MAX_LINE + 2)] {
        let dir = tempfile::tempdir().unwrap();
        drop(conversation(dir.path(), 1));
        let path = dir.path().join(FEBRUARY);
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(&vec![b'x'; torn]).unwrap();
        let first = lines_of(&path)[0].len() + 1;
        let mut lines = read_file(&path).unwrap();
        assert_eq!(lines.by_ref().map(Result::unwrap).count(), 3);
        assert!(lines.next().is_none());
        if long > 0 {
            // A line over the limit is reported once, and then passed over.
            file.write_all(&vec![b'x'; long]).unwrap();
            file.write_all(b"\n").unwrap();
            assert!(matches!(
                lines.next(),
                Some(Err(LogError::Record { line: 4, .. }))
            ));
            assert!(lines.next().is_none());
            // The long line is passed over in another file at the path as well: the reader goes on with the line behind
            // it.
            let mut copy = fs::read(&path).unwrap();
            copy.extend_from_slice(&fs::read(&path).unwrap()[..first]);
            fs::write(path.with_extension("copy"), copy).unwrap();
            fs::rename(path.with_extension("copy"), &path).unwrap();
            assert_eq!(lines.next().unwrap().unwrap().seq, 1);
            continue;
        }
        let mut log = open(dir.path(), second(9));
        log.append(second(9), &gap("behind the crash")).unwrap();
        log.commit().unwrap();
        let rest: Vec<_> = lines.by_ref().map(|line| line.unwrap().kind).collect();
        assert_eq!(rest, ["recovery", "gap"], "{torn} bytes were torn");
        assert!(lines.next().is_none());
        log.append(second(9), &gap("and more")).unwrap();
        log.commit().unwrap();
        assert_eq!(lines.next().unwrap().unwrap().seq, 6, "the copy is read on");
        fs::remove_file(&path).unwrap();
        assert!(lines.next().is_none(), "no file is no fault of the log");
    }
}

#[test]
fn the_longest_line_is_taken_and_read_and_one_byte_more_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path(), second(0));
    log.append(second(1), &gap("")).unwrap();
    log.commit().unwrap();
    let around = read_all(dir.path())[1].raw.len();
    let most = "x".repeat(MAX_LINE - around);
    let refused = log.append(second(2), &gap(&format!("{most}x")));
    assert!(
        matches!(refused, Err(LogError::TooLong(len)) if len == MAX_LINE + 1),
        "{refused:?}"
    );
    log.append(second(2), &gap(&most)).unwrap();
    log.append(second(2), &gap("behind it")).unwrap();
    log.commit().unwrap();
    drop(log);
    let lines = read_all(dir.path());
    assert_eq!((lines.len(), lines[2].raw.len()), (4, MAX_LINE));
    assert!(verify(&[dir.path().to_owned()]).holds());
    let log = open(dir.path(), second(3));
    assert_eq!(log.head().unwrap().seq, 4);
}

#[test]
fn a_line_says_what_carried_its_message_where_that_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path(), second(0));
    log.append(second(0), &trust_bob()).unwrap();
    let ways = [None, Some(CarrierId::HTTP), Some(CarrierId::DISCORD)];
    for (number, way) in (1..).zip(&ways) {
        let carried = Reserved::carried_by(way.as_ref());
        log.append_with(second(number), &accepted(number, "x"), &carried)
            .unwrap();
    }
    log.commit().unwrap();
    let lines = read_all(dir.path()).split_off(2);
    for (line, way) in lines.iter().zip(ways) {
        assert_eq!(line.reserved.carrier, way);
        assert_eq!(line.reserved.client_key, None);
        assert_eq!(line.rewrite(), line.raw);
    }
    assert!(verify(&[dir.path().to_owned()]).holds());
}

#[test]
fn a_line_is_shown_to_programs_as_it_is_and_a_forged_one_with_its_hidden_characters_escaped() {
    let dir = tempfile::tempdir().unwrap();
    drop(conversation(dir.path(), 2));
    for line in read_all(dir.path()) {
        assert_eq!(line.to_json(), line.raw);
    }
    let honest = lines_of(&dir.path().join(FEBRUARY)).remove(2);
    let forged = honest.replacen("Message 1", "Message \u{202e}1\u{7f}", 1);
    let line = LogLine::parse(forged.into_bytes()).unwrap();
    let shown = String::from_utf8(line.to_json()).unwrap();
    assert_eq!(
        shown,
        honest.replacen("Message 1", "Message \\u202e1\\u007f", 1)
    );
}

/// Who may not list a folder or open a file is told so, and no log is taken for an empty one.
#[test]
fn what_is_no_folder_and_no_file_is_not_read_as_an_empty_log() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    File::create(&file).unwrap();
    assert!(read(&file).is_err());
    assert!(read_file(dir.path()).is_err());
    assert_eq!(read(dir.path()).unwrap().count(), 0);
    assert_eq!(read_file(&file).unwrap().count(), 0);
}

/// What people put beside a log, and what other programs leave there, is no month of it.
#[test]
fn a_file_whose_name_is_no_month_is_no_part_of_the_log() {
    let dir = tempfile::tempdir().unwrap();
    drop(conversation(dir.path(), 1));
    for name in [
        "inter-agent-2026-00.jsonl",
        "inter-agent-2026-13.jsonl",
        "inter-agent-2026-3.jsonl",
        "inter-agent-2026-003.jsonl",
        "inter-agent-2026-+3.jsonl",
        "inter-agent-+026-03.jsonl",
        "inter-agent-2026_03.jsonl",
        "inter-agent-2026-03.jsonl.gz",
        "inter-agent-2026-03-copy.jsonl",
        "inter-agent-.jsonl",
        "inter-agent-2026-13.checkpoints",
        "inter-agent-2026-13.torn-4",
        "inter-agent-2026-02.torn-41",
        "inter-agent-2026-02.torn-4x",
        "an-inter-agent-2026-03.jsonl",
    ] {
        fs::write(dir.path().join(name), "no line\nof a log").unwrap();
    }
    drop(open(dir.path(), second(9)));
    assert_eq!(kinds(dir.path()), ["genesis", "trust", "message"]);
    let report = verify(&[dir.path().to_owned()]);
    assert!(report.holds() && report.logs[0].files == 1, "{report}");
}

#[test]
fn the_kinds_of_lines_are_those_of_entries_and_of_the_chain_each_once() {
    let kinds = signet_audit::kinds();
    let (entries, own) = kinds.split_at(kinds.len() - 3);
    assert_eq!(
        (entries, own),
        (&Entry::kinds()[..], &["open", "close", "recovery"][..])
    );
    let mut sorted = kinds.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), kinds.len());
    for kind in ["genesis", "message", "trust", "gap"] {
        assert!(kinds.contains(&kind), "{kind}");
    }
}
