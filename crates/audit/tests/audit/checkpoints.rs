//! Checkpoints and their keys: what stands in the files, what a start and a rollover make of them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use signet_audit::{LogReport, verify};
use signet_proto::keys::VerifyKey;

use crate::common::*;
use crate::pair::*;
use crate::tlog;

const ORIGIN: &str = "signet/agent-alice-001/2026-02";

fn prove(side: &Side) -> LogReport {
    let mut report = verify(&[side.dir()]);
    assert!(report.unreadable.is_empty(), "{report}");
    report.logs.remove(0)
}

fn named_key(side: &Side, file: &str) -> VerifyKey {
    let first = signet_audit::read_file(&side.file(file))
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    first.checkpoint_key.unwrap()
}

fn notes(side: &Side, file: &str) -> Vec<String> {
    tlog::split(&fs::read_to_string(side.file(file)).unwrap())
}

/// Lines 2 to `count` + 1, with a checkpoint every 10 lines.
fn lines(side: &mut Side, count: u64) {
    for number in 1..=count {
        side.write(second(number), &gap(&format!("line {number}")));
        if number % 10 == 0 {
            side.log().checkpoint().unwrap();
        }
    }
}

fn log(count: u64) -> Side {
    let mut side = Side::new(alice());
    lines(&mut side, count);
    side
}

#[test]
fn another_implementation_opens_every_checkpoint_and_finds_the_same_roots() {
    let mut side = log(95);
    side.stop();
    let (key, lines) = (named_key(&side, FEBRUARY), side.lines(FEBRUARY));
    let notes = notes(&side, FEBRUARY_NOTES);
    assert_eq!(notes.len(), 11, "the first line, every ten lines, the end");
    let mut last = 0;
    for note in &notes {
        let (origin, size, root) = tlog::open(note, ORIGIN, key.as_bytes()).unwrap();
        assert_eq!(
            (origin.as_str(), root),
            (ORIGIN, tlog::root(&lines[..size as usize]))
        );
        assert!(size > last);
        last = size;
    }
    assert_eq!(last, 96);
    assert_eq!(prove(&side).checkpoints, 11);
}

#[test]
fn a_checkpoint_covers_no_line_that_is_not_durable() {
    let mut side = log(3);
    side.log().append(second(4), &gap("not durable")).unwrap();
    side.log().checkpoint().unwrap();
    let (_, size, _) = tlog::open(
        &notes(&side, FEBRUARY_NOTES)[1],
        ORIGIN,
        named_key(&side, FEBRUARY).as_bytes(),
    )
    .unwrap();
    assert_eq!(
        (size, side.lines(FEBRUARY).len(), side.log().uncovered()),
        (4, 4, 0)
    );
    side.log().commit().unwrap();
    assert_eq!(side.log().uncovered(), 1);
}

#[test]
fn nothing_new_makes_no_checkpoint() {
    let mut side = log(3);
    side.stop();
    let before = fs::read(side.file(FEBRUARY_NOTES)).unwrap();
    side.start(second(9));
    side.log().checkpoint().unwrap();
    assert_eq!(fs::read(side.file(FEBRUARY_NOTES)).unwrap(), before);
}

#[test]
fn after_a_crash_a_start_covers_what_stands_behind_the_last_checkpoint() {
    let mut side = log(17);
    side.crash();
    assert_eq!(prove(&side).proven.unwrap().seq, 11);
    side.start(second(20));
    assert_eq!(prove(&side).proven.unwrap().seq, 18);
}

#[test]
fn a_checkpoint_torn_at_any_byte_is_repaired() {
    let mut whole = log(17);
    whole.stop();
    let bytes = fs::read(whole.file(FEBRUARY_NOTES)).unwrap();
    let last = notes(&whole, FEBRUARY_NOTES)[2].len() + 1;
    whole.crash();
    let copy = whole.copy();
    for cut in bytes.len() - last..bytes.len() {
        whole.restore(&copy);
        fs::write(whole.file(FEBRUARY_NOTES), &bytes[..cut]).unwrap();
        holds(&prove(&whole));
        whole.start(second(20));
        assert_eq!(
            fs::read(whole.file(FEBRUARY_NOTES)).unwrap(),
            bytes,
            "cut at {cut}"
        );
        whole.crash();
    }
}

#[test]
fn a_checkpoint_torn_into_zeros_is_no_reason_to_sign_on() {
    let mut side = log(17);
    side.crash();
    let mut bytes = fs::read(side.file(FEBRUARY_NOTES)).unwrap();
    bytes.extend([0; 100]);
    fs::write(side.file(FEBRUARY_NOTES), &bytes).unwrap();
    side.start(second(20));
    holds(&prove(&side));
    assert_eq!(prove(&side).proven.unwrap().seq, 18);
}

#[test]
fn the_key_is_for_its_owner_alone_and_prints_nowhere() {
    let mut side = log(1);
    let mode = fs::metadata(side.key(FEBRUARY_KEY))
        .unwrap()
        .permissions()
        .mode()
        & 0o777;
    assert_eq!(mode, 0o600);
    let hex = fs::read_to_string(side.key(FEBRUARY_KEY)).unwrap();
    let seed = tlog::seed(&side.key(FEBRUARY_KEY));
    let printed = format!("{:?}", side.log());
    assert!(!printed.contains(hex.trim_end()) && !printed.contains(&format!("{seed:?}")));
    side.crash();
    fs::set_permissions(side.key(FEBRUARY_KEY), fs::Permissions::from_mode(0o640)).unwrap();
    let refused = side.try_start(second(2)).unwrap_err().to_string();
    assert!(
        refused.contains("nobody else may read it") && !refused.contains(hex.trim_end()),
        "{refused}"
    );
}

#[test]
fn at_a_rollover_the_month_is_covered_to_its_end_and_its_key_destroyed() {
    let mut side = log(17);
    let (february, seed) = (
        named_key(&side, FEBRUARY),
        tlog::seed(&side.key(FEBRUARY_KEY)),
    );
    side.write(march(), &gap("march"));
    side.stop();
    let held: Vec<String> = names(&side.keys());
    assert_eq!(held, [MARCH_KEY]);
    let march = named_key(&side, MARCH);
    assert_ne!(march, february);
    assert_ne!(tlog::seed(&side.key(MARCH_KEY)), seed);
    let note = notes(&side, FEBRUARY_NOTES).pop().unwrap();
    let (_, size, _) = tlog::open(&note, ORIGIN, february.as_bytes()).unwrap();
    assert_eq!(
        size as usize,
        side.lines(FEBRUARY).len(),
        "`close` is covered"
    );
    assert!(tlog::open(&note, ORIGIN, march.as_bytes()).is_err());
    let report = prove(&side);
    holds(&report);
    assert_eq!(report.proven.unwrap(), report.head.unwrap());
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// The states of a home between any two steps of a rollover, each as a crash would leave it.
fn states_of_a_rollover() -> (Side, Vec<(&'static str, tempfile::TempDir)>) {
    let mut side = log(17);
    side.crash();
    let before = side.copy();
    side.start(second(20));
    side.write(march(), &gap("march"));
    side.crash();
    let after = side.copy();
    let mut states = vec![("before", before)];
    let closed = side.lines(FEBRUARY);
    let from_after = |dir: &Path, part: &str, name: &str| {
        fs::copy(
            after.path().join(part).join(name),
            dir.join(part).join(name),
        )
        .unwrap();
    };
    let mut step = |what: &'static str, change: &dyn Fn(&Path)| {
        side.restore(&states.last().unwrap().1);
        change(side.home.path());
        states.push((what, side.copy()));
    };
    step("`close` durable", &|home| {
        write_lines(&home.join("audit").join(FEBRUARY), &closed)
    });
    let notes = fs::read(after.path().join("audit").join(FEBRUARY_NOTES)).unwrap();
    step("its checkpoint torn", &|home| {
        fs::write(
            home.join("audit").join(FEBRUARY_NOTES),
            &notes[..notes.len() - 9],
        )
        .unwrap()
    });
    step("its checkpoint durable", &|home| {
        from_after(home, "audit", FEBRUARY_NOTES)
    });
    step("the new key half written", &|home| {
        fs::write(
            home.join("checkpoint-keys/checkpoint-2026-03.key.new"),
            "01",
        )
        .unwrap()
    });
    step("the new key durable", &|home| {
        fs::remove_file(home.join("checkpoint-keys/checkpoint-2026-03.key.new")).unwrap();
        from_after(home, "checkpoint-keys", MARCH_KEY);
    });
    step("the new file made", &|home| {
        fs::write(home.join("audit").join(MARCH), "").unwrap()
    });
    let open = lines_of(&after.path().join("audit").join(MARCH)).remove(0);
    step("`open` torn", &|home| {
        fs::write(home.join("audit").join(MARCH), &open[..99]).unwrap()
    });
    step("`open` durable", &|home| {
        fs::write(home.join("audit").join(MARCH), format!("{open}\n")).unwrap()
    });
    step("its checkpoint durable", &|home| {
        from_after(home, "audit", MARCH_NOTES)
    });
    step("the old key overwritten", &|home| {
        fs::write(home.join("checkpoint-keys").join(FEBRUARY_KEY), [0; 65]).unwrap()
    });
    step("the old key destroyed", &|home| {
        fs::remove_file(home.join("checkpoint-keys").join(FEBRUARY_KEY)).unwrap()
    });
    (side, states)
}

#[test]
fn a_crash_between_any_two_steps_of_a_rollover_is_gone_on_from() {
    let (mut side, states) = states_of_a_rollover();
    for (what, state) in &states {
        side.restore(state);
        side.try_start(march())
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        side.write(march(), &gap("go on"));
        side.stop();
        let report = prove(&side);
        assert!(report.faults.is_empty(), "{what}: {:#?}", report.faults);
        assert_eq!((report.files, report.proven), (2, report.head), "{what}");
        assert_eq!(names(&side.keys()), [MARCH_KEY], "{what}");
        assert!(tlog::seed(&side.key(MARCH_KEY)) != [0; 32]);
    }
    assert_eq!(states.len(), 12);
}

#[test]
fn a_home_moved_without_its_key_goes_on_and_the_log_says_where_proof_ends() {
    let mut side = log(17);
    side.stop();
    fs::remove_dir_all(side.keys()).unwrap();
    side.start(second(20));
    assert!(side.log().lacks_checkpoint_key());
    side.write(second(21), &gap("without proof"));
    side.crash();
    let report = prove(&side);
    holds(&report);
    assert_eq!(
        (report.head.unwrap().seq, report.proven.unwrap().seq),
        (19, 18)
    );
    assert!(
        report.sentence().contains("up to seq 18"),
        "{}",
        report.sentence()
    );
    // March has a key again. Now that February is finished, verification says that it was not covered to its end.
    side.start(march());
    side.write(march(), &gap("march"));
    assert!(!side.log().lacks_checkpoint_key());
    side.stop();
    finds(&prove(&side), "its key was lost");
}

/// What is found when checkpoints of a stopped log with 96 lines are changed.
fn forged(change: impl FnOnce(&Side, Vec<String>) -> String) -> LogReport {
    let mut side = log(95);
    side.stop();
    let text = change(&side, notes(&side, FEBRUARY_NOTES));
    fs::write(side.file(FEBRUARY_NOTES), text).unwrap();
    prove(&side)
}

fn join(notes: &[String]) -> String {
    notes.iter().map(|note| format!("{note}\n")).collect()
}

#[test]
fn checkpoints_changed_forked_or_of_another_key_are_found() {
    let swapped = forged(|_, mut notes| {
        notes.swap(3, 4);
        join(&notes)
    });
    finds(&swapped, "does not cover more lines than the one before");
    let twice = forged(|_, mut notes| {
        notes.insert(3, notes[3].clone());
        join(&notes)
    });
    finds(&twice, "does not cover more lines");
    let forked = forged(|side, mut notes| {
        let seed = tlog::seed(&side.key(FEBRUARY_KEY));
        notes[3] = tlog::sign(ORIGIN, 31, &[9; 32], &seed);
        join(&notes)
    });
    finds(&forked, "is of other lines");
    let other_key = forged(|side, mut notes| {
        let lines = side.lines(FEBRUARY);
        notes[3] = tlog::sign(ORIGIN, 31, &tlog::root(&lines[..31]), &[66; 32]);
        join(&notes)
    });
    finds(&other_key, "is not signed by the key");
    let other_log = forged(|side, mut notes| {
        let (lines, seed) = (side.lines(FEBRUARY), tlog::seed(&side.key(FEBRUARY_KEY)));
        notes[3] = tlog::sign(
            "signet/agent-eve-001/2026-02",
            31,
            &tlog::root(&lines[..31]),
            &seed,
        );
        join(&notes)
    });
    finds(&other_log, "is of another log or month");
    let garbage = forged(|_, notes| {
        format!(
            "{}garbage\n\nmore\n\n{}",
            join(&notes[..3]),
            join(&notes[3..])
        )
    });
    finds(&garbage, "is no signed note");
    let beyond = forged(|side, mut notes| {
        let seed = tlog::seed(&side.key(FEBRUARY_KEY));
        notes.push(tlog::sign(ORIGIN, 97, &[9; 32], &seed));
        join(&notes)
    });
    finds(&beyond, "covers 97 lines, and the file has 96");
}

#[test]
fn absent_checkpoints_are_found() {
    finds(
        &forged(|_, _| String::new()),
        "the checkpoints end with line 0",
    );
    let mut side = log(95);
    side.stop();
    fs::remove_file(side.file(FEBRUARY_NOTES)).unwrap();
    finds(&prove(&side), "they were taken away");
    let mut side = Side::new(alice());
    side.crash();
    fs::remove_file(side.file(FEBRUARY_NOTES)).unwrap();
    holds(&prove(&side));
    side.start(second(2));
    holds(&prove(&side));
    assert_eq!(
        prove(&side).checkpoints,
        1,
        "a crash before the first checkpoint"
    );
    side.write(second(3), &gap("one line"));
    side.crash();
    fs::remove_file(side.file(FEBRUARY_NOTES)).unwrap();
    finds(&prove(&side), "they were taken away");
    let mut side = log(1);
    for number in 0..1100 {
        side.log()
            .append(second(2), &gap(&format!("{number}")))
            .unwrap();
    }
    side.log().commit().unwrap();
    side.crash();
    holds(&prove(&side));
    let all = fs::read_to_string(side.file(FEBRUARY_NOTES)).unwrap();
    let first = tlog::split(&all).swap_remove(0);
    assert!(all.starts_with(&first), "the first of them alone is left");
    fs::write(
        side.file(FEBRUARY_NOTES),
        format!("{}\n\n", first.trim_end()),
    )
    .unwrap();
    finds(
        &prove(&side),
        "the checkpoints end with line 1, and the file has 1102",
    );
    assert!(
        side.try_start(second(3))
            .unwrap_err()
            .to_string()
            .contains("missing")
    );
}

#[test]
fn checkpoints_of_a_past_month_that_do_not_reach_its_end_are_found() {
    let mut side = log(17);
    side.write(march(), &gap("march"));
    side.stop();
    let mut kept = notes(&side, FEBRUARY_NOTES);
    kept.pop();
    fs::write(side.file(FEBRUARY_NOTES), join(&kept)).unwrap();
    finds(&prove(&side), "the checkpoints end with line 11");
    fs::remove_file(side.file(FEBRUARY_NOTES)).unwrap();
    finds(&prove(&side), "they were taken away");
}

#[test]
fn a_key_taken_out_of_the_first_line_leaves_checkpoints_that_tell() {
    let mut side = log(17);
    side.stop();
    let mut lines = side.lines(FEBRUARY);
    let at = lines[0].find(",\"checkpoint-key\"").unwrap();
    lines[0].truncate(at);
    lines[0].push('}');
    relink_all(&mut lines);
    write_lines(&side.file(FEBRUARY), &lines);
    finds(&prove(&side), "names no key for them");
}

#[test]
fn a_month_between_that_is_missing_is_found() {
    let mut side = log(3);
    side.write(march(), &gap("march"));
    side.write(at("2026-04-02T00:00:00.000Z"), &gap("april"));
    side.stop();
    holds(&prove(&side));
    fs::remove_file(side.file(MARCH)).unwrap();
    fs::remove_file(side.file(MARCH_NOTES)).unwrap();
    let report = prove(&side);
    finds(&report, "is missing");
    finds(&report, "`seq` is not one more");
}

/// Of files that are named one by one only what they hold can be asked for.
#[test]
fn a_first_month_that_is_missing_is_found() {
    let mut side = log(3);
    side.write(march(), &gap("march"));
    side.stop();
    fs::remove_file(side.file(FEBRUARY)).unwrap();
    fs::remove_file(side.file(FEBRUARY_NOTES)).unwrap();
    finds(&prove(&side), "first months are missing");
    let report = verify(&[side.file(MARCH)]);
    assert!(report.holds(), "{report}");
}

#[test]
fn a_last_month_taken_away_whole_is_not_begun_anew() {
    let mut side = log(3);
    side.write(march(), &gap("march"));
    side.stop();
    fs::remove_file(side.file(MARCH)).unwrap();
    fs::remove_file(side.file(MARCH_NOTES)).unwrap();
    let refused = side.try_start(march()).unwrap_err().to_string();
    assert!(refused.contains("its lines are gone"), "{refused}");
}

/// A day's expiries are one group: a kill between its write and its checkpoint leaves an honest log.
#[test]
fn a_group_of_thousands_of_lines_that_a_crash_parts_from_its_checkpoint_is_no_tampering() {
    let mut side = Side::new(alice());
    for number in 1..=4_000 {
        let entry = gap(&format!("line {number}"));
        side.log().append(second(number), &entry).unwrap();
    }
    side.log().commit().unwrap();
    side.crash();
    holds(&prove(&side));
    side.start(second(4_001));
    side.stop();
    holds(&prove(&side));
}
