//! Every forgery a file can show is found, named, and does not hide the next one.

use std::fs;
use std::path::{Path, PathBuf};

use signet_audit::{LogReport, ProgressFn, Settings, verify, verify_with};
use signet_proto::entry::{Direction, Entry, Ruling, TrustChange};
use tempfile::TempDir;

use crate::common;
use crate::common::*;

/// The report on one log.
fn prove(path: &Path) -> LogReport {
    let mut report = verify(&[path.to_owned()]);
    assert!(report.unreadable.is_empty(), "{report}");
    report.logs.remove(0)
}

/// Genesis, trust, and messages: in on odd lines (3, 5, …), out on even ones.
fn log() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    drop(conversation(dir.path(), 8));
    dir
}

/// The log with its lines changed; `relink` is what an attacker does who knows how a chain is made.
fn forged(relink: bool, change: impl FnOnce(&mut Vec<String>)) -> LogReport {
    let dir = log();
    let path = dir.path().join(FEBRUARY);
    let mut lines = lines_of(&path);
    change(&mut lines);
    if relink {
        relink_all(&mut lines);
    }
    write_lines(&path, &lines);
    prove(dir.path())
}

fn found(report: &LogReport, line: u64, what: &str) {
    let named = report
        .faults
        .iter()
        .any(|fault| fault.line == line && fault.what.contains(what));
    assert!(named, "no `{what}` in line {line}: {:#?}", report.faults);
}

#[test]
fn an_honest_log_holds_and_says_up_to_where() {
    let dir = log();
    let report = prove(dir.path());
    assert!(report.faults.is_empty(), "{:#?}", report.faults);
    assert_eq!(
        (report.lines, report.signed, report.skipped, report.first),
        (10, 8, 0, Some(1))
    );
    let head = read_all(dir.path()).last().unwrap().hash;
    assert_eq!(
        report.sentence(),
        format!(
            "agent-alice-001: the log holds from seq 1 to seq 10, head {}: 10 lines in 1 file, 8 signatures; proven by its chain alone, without checkpoints, and by no peer's head: cut off at its end or written anew, it would look the same.",
            head.to_hex()
        )
    );
}

#[test]
fn an_edited_line_is_found() {
    let report = forged(false, |lines| {
        lines[3] = lines[3].replacen("\"seq\":4", "\"seq\": 4", 1)
    });
    found(&report, 4, "does not start with v, seq, ts");
    found(&report, 5, "`prev` is not the SHA-256");
    assert_eq!(report.faults.len(), 2, "{:#?}", report.faults);
    assert_eq!(report.head.unwrap().seq, 3);
}

#[test]
fn an_edit_that_only_the_hash_shows_is_found_behind_it() {
    let report = forged(false, |lines| {
        lines[2] = lines[2].replacen("17:00:01.000Z", "17:00:00.500Z", 1)
    });
    found(&report, 4, "`prev` is not the SHA-256");
    assert_eq!(report.faults.len(), 1, "{:#?}", report.faults);
    assert_eq!(
        report.head.unwrap().seq,
        2,
        "line 3 may be the one that was changed"
    );
}

#[test]
fn a_deleted_line_is_found() {
    let report = forged(false, |lines| drop(lines.remove(4)));
    found(&report, 5, "`seq` is not one more");
    assert_eq!(report.faults.len(), 1);
    let report = forged(false, |lines| drop(lines.remove(0)));
    found(&report, 1, "a file starts with `open`");
}

#[test]
fn swapped_lines_are_found() {
    let report = forged(false, |lines| lines.swap(4, 5));
    found(&report, 5, "`seq`");
    found(&report, 6, "`seq`");
    found(&report, 7, "`seq`");
}

#[test]
fn an_inserted_line_is_found() {
    let report = forged(false, |lines| lines.insert(4, lines[4].clone()));
    found(&report, 6, "`seq` is not one more");
    found(&report, 6, "its number was accepted in this session before");
    assert_eq!(report.faults.len(), 2);
}

#[test]
fn garbage_in_the_middle_is_found_and_the_rest_is_still_read() {
    let report = forged(false, |lines| {
        lines[4] = "garbage".into();
        lines[7] = "{\"v\":1".into();
    });
    found(&report, 5, "not a line of JSON");
    found(&report, 6, "`prev`");
    found(&report, 8, "not a line of JSON");
    found(&report, 9, "`prev`");
    assert_eq!((report.faults.len(), report.lines), (4, 10));
}

#[test]
fn forged_members_are_found_in_a_chain_made_anew() {
    for (name, from, to) in [
        (
            "summary",
            "\"summary\":\"Message 1\",\"bytes\"",
            "\"summary\":\"Message 7\",\"bytes\"",
        ),
        (
            "peer",
            "\"peer\":\"agent-bob-001\"",
            "\"peer\":\"agent-eve-001\"",
        ),
        ("type", "\"type\":\"notification\"", "\"type\":\"request\""),
        ("tier", "\"tier\":2", "\"tier\":1"),
        ("reason", "\"reason\":null", "\"reason\":\"expired\""),
        ("note", ",\"message\":", ",\"note\":1,\"message\":"),
    ] {
        let report = forged(true, |lines| {
            assert!(lines[2].contains(from), "{from} in {}", lines[2]);
            lines[2] = lines[2].replacen(from, to, 1);
        });
        found(&report, 3, &format!("`{name}`"));
        assert_eq!(
            (report.faults.len(), report.head.unwrap().seq),
            (1, 2),
            "{:#?}",
            report.faults
        );
    }
}

#[test]
fn forged_verdict_direction_hash_and_length_are_found_in_a_chain_made_anew() {
    for (line, from, to, what) in [
        (
            3,
            "\"verdict\":\"accepted\"",
            "\"verdict\":\"sent\"",
            "`sent` is only for what went out",
        ),
        (
            3,
            "\"dir\":\"in\"",
            "\"dir\":\"out\"",
            "not between this agent",
        ),
        (
            4,
            "\"verdict\":\"sent\"",
            "\"verdict\":\"accepted\"",
            "`accepted` is only for what came in",
        ),
        (4, "\"bytes\":", "\"bytes\":1", "`bytes` cannot be"),
        (4, "\"sha256\":\"", "\"sha256\":\"00", "absent or malformed"),
    ] {
        let report = forged(true, |lines| {
            lines[line - 1] = lines[line - 1].replacen(from, to, 1)
        });
        found(&report, line as u64, what);
    }
    let report = forged(true, |lines| {
        let (head, tail) = lines[2].split_once("\"sha256\":\"").unwrap();
        lines[2] = format!("{head}\"sha256\":\"{}{}", "0".repeat(64), &tail[64..]);
    });
    found(&report, 3, "`sha256` is not the hash of the message");
}

#[test]
fn a_message_changed_inside_or_taken_out_is_found_in_a_chain_made_anew() {
    let report = forged(true, |lines| {
        lines[2] = lines[2].replace("{\"number\":1}", "{\"number\":9}")
    });
    found(&report, 3, "signature does not hold");
    found(&report, 3, "`sha256`");
    let report = forged(true, |lines| {
        let at = lines[2].find(",\"message\":").unwrap();
        lines[2].replace_range(at.., "}");
    });
    found(&report, 3, "yet it is not inside");
}

#[test]
fn messages_between_others_or_signed_by_others_are_found() {
    let eve = Party::new("agent-eve-001", "eve", 3);
    let cases: [(Entry, &str); 4] = [
        (
            entry(
                Direction::In,
                Ruling::Accepted,
                message(&eve, &alice(), 1, "x"),
            ),
            "no line before certifies",
        ),
        (
            entry(
                Direction::In,
                Ruling::Accepted,
                message(&bob(), &eve, 1, "x"),
            ),
            "not between this agent",
        ),
        (
            entry(
                Direction::Out,
                Ruling::Sent,
                message(&bob(), &alice(), 1, "x"),
            ),
            "not between this agent",
        ),
        (
            entry(
                Direction::In,
                Ruling::Accepted,
                sign(draft(&bob(), &alice(), 1, "x"), &eve.key),
            ),
            "signature does not hold",
        ),
    ];
    for (entry, what) in cases {
        let dir = tempfile::tempdir().unwrap();
        let mut log = conversation(dir.path(), 0);
        log.append(second(1), &entry).unwrap();
        log.commit().unwrap();
        found(&prove(dir.path()), 3, what);
    }
}

#[test]
fn another_root_for_a_pinned_principal_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = conversation(dir.path(), 0);
    let (key, root) = (key(40), key(41));
    let usurper = certify("agent-bob-001", "bob", &key, &root, 2);
    log.append(second(1), &Entry::trust(TrustChange::Renewed, usurper))
        .unwrap();
    let forged = sign(
        draft(
            &Party {
                certificate: bob().certificate,
                key,
                root,
            },
            &alice(),
            1,
            "from the usurper",
        ),
        &common::key(40),
    );
    log.append(second(2), &entry(Direction::In, Ruling::Accepted, forged))
        .unwrap();
    log.commit().unwrap();
    let report = prove(dir.path());
    found(&report, 3, "root key is not the one known");
    found(&report, 4, "no line before certifies");
}

#[test]
fn months_are_one_log_and_their_seams_are_proven() {
    let dir = log();
    let mut log = open(dir.path(), march());
    log.append(march(), &gap("march")).unwrap();
    log.commit().unwrap();
    let report = prove(dir.path());
    assert_eq!(
        (report.faults.len(), report.files, report.lines),
        (0, 2, 13),
        "{:#?}",
        report.faults
    );
    let (february, march) = (dir.path().join(FEBRUARY), dir.path().join(MARCH));
    let both = verify(&[march.clone(), february.clone(), march.clone()]);
    assert_eq!(
        (both.logs.len(), both.logs[0].lines, both.holds()),
        (1, 13, true),
        "in any order, each once: {both}"
    );

    let mut lines = lines_of(&february);
    let close = lines.pop().unwrap();
    write_lines(&february, &lines);
    found(&prove(dir.path()), 10, "does not end with `close`");
    lines.extend([close.clone(), close]);
    write_lines(&february, &lines);
    found(&prove(dir.path()), 12, "behind its `close`");

    let other = dir.path().join("inter-agent-2026-04.jsonl");
    fs::rename(&march, &other).unwrap();
    found(&prove(dir.path()), 1, "another month");
}

#[test]
fn a_file_alone_holds_from_where_it_starts_and_says_so() {
    let dir = log();
    let mut log = open(dir.path(), march());
    log.append(march(), &gap("march")).unwrap();
    let mut late = draft(&bob(), &alice(), 9, "in march");
    late["params"]["headers"]["timestamp"] = march().to_string().into();
    log.append(
        march(),
        &entry(Direction::In, Ruling::Accepted, sign(late, &bob().key)),
    )
    .unwrap();
    log.commit().unwrap();
    let report = prove(&dir.path().join(MARCH));
    assert!(report.faults.is_empty(), "{:#?}", report.faults);
    assert!(report.is_partial());
    assert_eq!(
        (report.first, report.signed, report.uncertified),
        (Some(12), 0, 1)
    );
    assert!(
        report
            .sentence()
            .contains("was not given and is not proven"),
        "{}",
        report.sentence()
    );
    assert!(
        report
            .sentence()
            .contains("1 message whose certificate stands in an earlier file")
    );
}

#[test]
fn a_torn_tail_is_no_tampering_and_is_told() {
    let dir = log();
    let path = dir.path().join(FEBRUARY);
    let mut bytes = fs::read(&path).unwrap();
    bytes.truncate(bytes.len() - 5);
    fs::write(&path, bytes).unwrap();
    let report = prove(dir.path());
    assert_eq!(
        (report.faults.len(), report.lines, report.notes.len()),
        (0, 9, 1)
    );
    assert!(report.notes[0].contains("after the last newline"));
}

#[test]
fn torn_bytes_changed_afterwards_are_found() {
    let dir = log();
    let path = dir.path().join(FEBRUARY);
    let mut bytes = fs::read(&path).unwrap();
    bytes.truncate(bytes.len() - 5);
    fs::write(&path, bytes).unwrap();
    drop(open(dir.path(), second(20)));
    assert_eq!(prove(dir.path()).faults, []);
    fs::write(dir.path().join("inter-agent-2026-02.torn-10"), b"other").unwrap();
    found(&prove(dir.path()), 10, "not those recorded");
}

#[test]
fn the_first_line_says_in_one_sentence_what_is_proven_and_what_is_not() {
    let dir = log();
    let headline = || verify(&[dir.path().to_owned()]).headline();
    assert_eq!(
        headline(),
        "OK: 10 lines of agent-alice-001, 2026-02, fit together by their chain alone, which does not show a log cut off at its end or written anew; no peer's log was compared."
    );
    let path = dir.path().join(FEBRUARY);
    let mut lines = lines_of(&path);
    lines[3] = lines[3].replacen("Message", "Massage", 1);
    write_lines(&path, &lines);
    assert_eq!(
        headline(),
        "NOT OK: 2 findings in 10 lines of agent-alice-001: changed, damaged, or evidence is missing; it holds up to line 3."
    );
    let nowhere = verify(&[dir.path().join("nowhere")]);
    assert_eq!(nowhere.headline(), "NOT OK: 1 path cannot be read.");
    let text = nowhere.to_string();
    assert_eq!(text.lines().next().unwrap(), nowhere.headline());
}

#[test]
fn a_log_that_ends_with_a_closed_month_says_that_the_next_may_be_missing() {
    let dir = log();
    let mut later = open(dir.path(), march());
    later.append(march(), &gap("march")).unwrap();
    later.commit().unwrap();
    drop(later);
    assert_eq!(prove(dir.path()).notes, Vec::<String>::new());
    fs::remove_file(dir.path().join(MARCH)).unwrap();
    let report = prove(dir.path());
    assert_eq!(report.faults, []);
    let note = &report.notes[0];
    assert!(
        note.contains("the next month's file is not there"),
        "{note}"
    );
}

#[test]
fn the_findings_that_are_told_are_those_that_were_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(FEBRUARY), "garbage\n".repeat(30)).unwrap();
    for (findings, told, left_out) in [(0, 1, 29), (20, 20, 10), (usize::MAX, 30, 0)] {
        let settings = Settings {
            findings,
            ..Settings::default()
        };
        let report = verify_with(
            &[dir.path().to_owned()],
            settings,
            &mut ProgressFn::new(|_, _| {}),
        );
        let log = &report.logs[0];
        assert_eq!((log.faults.len(), log.left_out), (told, left_out));
        let more = format!("… and {left_out} findings more");
        let is_told = report.to_string().contains(&more);
        assert_eq!((is_told, report.holds()), (left_out > 0, false), "{report}");
    }
}

#[test]
fn a_thousand_faults_are_counted_and_a_hundred_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FEBRUARY);
    fs::write(&path, "garbage\n".repeat(1000)).unwrap();
    let report = prove(dir.path());
    assert_eq!(
        (report.faults.len(), report.left_out, report.lines),
        (100, 900, 1000)
    );
}

/// Its lines are worked on in many batches at the same time.
#[test]
fn faults_of_a_long_log_are_told_in_order_up_to_a_line_of_a_newer_signet() {
    let dir = tempfile::tempdir().unwrap();
    drop(conversation(dir.path(), 600));
    let path = dir.path().join(FEBRUARY);
    let mut lines = lines_of(&path);
    let changed: Vec<usize> = (10..550).step_by(30).collect();
    for (count, at) in changed.iter().enumerate() {
        // Make every second fault garbage, found before any signature is proven, and the others changed signatures,
        // found only by proving them.
        if count % 2 == 0 {
            lines[*at] = "garbage".to_owned();
            continue;
        }
        let (_, signature) = lines[*at].split_once("\"signature\":\"").unwrap();
        let begin = lines[*at].len() - signature.len();
        let other = if signature.starts_with('A') { "B" } else { "A" };
        lines[*at].replace_range(begin..=begin, other);
    }
    lines[550] = lines[550].replacen("{\"v\":2,", "{\"v\":3,", 1);
    lines[560] = "garbage".to_owned();
    write_lines(&path, &lines);
    let report = prove(dir.path());
    let told: Vec<u64> = report.faults.iter().map(|fault| fault.line).collect();
    assert!(told.is_sorted(), "{told:?}");
    for at in changed {
        assert!(told.contains(&(at as u64 + 1)), "{at}: {told:?}");
    }
    let last = report.faults.last().unwrap();
    assert_eq!((last.line, report.lines), (550, 550));
    assert!(last.what.contains("behind this line"), "{}", last.what);
}

#[test]
fn a_line_without_end_does_not_fill_the_memory_and_is_found() {
    let dir = log();
    let path = dir.path().join(FEBRUARY);
    let mut lines = lines_of(&path);
    lines.insert(4, "x".repeat(9 * 1024 * 1024));
    write_lines(&path, &lines);
    let report = prove(dir.path());
    found(&report, 5, "over 2 MiB");
    assert_eq!(report.lines, 11);
}

#[test]
fn each_directory_below_is_a_log_and_nothing_is_no_log() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["agent-alice-001", "other"] {
        drop(conversation(&dir.path().join(name), 2));
    }
    let report = verify(&[dir.path().to_owned()]);
    assert_eq!((report.logs.len(), report.holds()), (2, true), "{report}");
    let empty = tempfile::tempdir().unwrap();
    let report = verify(&[empty.path().to_owned(), PathBuf::from("does/not/exist")]);
    assert_eq!((report.unreadable.len(), report.holds()), (2, false));
    assert_eq!(report.to_json()["holds"], false);
}

/// Flight 1 of Bob with the certificate of a new signing key.
fn announce(root_seed: u8) -> (Entry, Entry) {
    let (new, root) = (key(50), key(root_seed));
    let certificate = certify("agent-bob-001", "bob", &new, &root, 2);
    let party = Party {
        certificate,
        key: new,
        root,
    };
    let mut flight = draft(&party, &alice(), 1, "");
    flight["method"] = "agent.announce".into();
    flight["params"]["body"] = serde_json::json!({ "certificate": party.certificate.to_value() });
    let flight = entry(Direction::In, Ruling::Accepted, sign(flight, &party.key));
    (
        flight,
        entry(
            Direction::In,
            Ruling::Accepted,
            message(&party, &alice(), 2, "with the new key"),
        ),
    )
}

#[test]
fn a_flight_brings_a_new_key_only_under_the_pinned_root() {
    let pinned = 102; // Bob's root
    for (root, faults) in [(pinned, 0), (60, 2)] {
        let (flight, message) = announce(root);
        let dir = tempfile::tempdir().unwrap();
        let mut log = conversation(dir.path(), 0);
        log.append(second(1), &flight).unwrap();
        log.append(second(2), &message).unwrap();
        log.commit().unwrap();
        assert_eq!(prove(dir.path()).faults.len(), faults);
    }
}
