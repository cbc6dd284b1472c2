//! The calls that a start and a stop make to the disk beside the log itself, and the outcome of each answer.

use std::path::Path;
use std::sync::Arc;

use rustix::io::Errno;
use signet_audit::{Custody, Log, LogError, LogOpening, verify};

use crate::common::*;
use crate::disk::{Asked, Home, NotingDisk, write};
use crate::pair::keys;

/// A home with a finished month, whose last writer was killed or stopped in order.
fn lived(was_killed: bool) -> Home {
    let home = Home::new();
    let mut log = home.start(&NotingDisk::new()).unwrap();
    write(&mut log, "in february").unwrap();
    log.append(march(), &gap("in march")).unwrap();
    log.commit().unwrap();
    log.checkpoint().unwrap();
    if was_killed {
        log.abandon();
    }
    home
}

fn asked_at_a_start(home: &Home) -> Vec<Asked> {
    let disk = NotingDisk::new();
    let log = home.start(&disk).unwrap();
    let asked = disk.take_asked();
    log.abandon();
    asked
}

/// A disk that fails may say so when the smallest file beside the log is opened. Only "no such file" means that there is
/// none: a start that took any answer for that would go on without its anchor.
#[test]
fn a_file_that_cannot_be_opened_is_never_taken_for_one_that_is_not_there() {
    let within = |home: &Home, path: &Path| -> String {
        let root = home.anchor().parent().unwrap().to_owned();
        path.strip_prefix(root)
            .unwrap()
            .to_string_lossy()
            .into_owned()
    };
    for was_killed in [true, false] {
        let home = lived(was_killed);
        let asked = asked_at_a_start(&home).into_iter();
        let opens = asked.filter(|(name, _)| *name == "open");
        let opens: Vec<_> = opens.map(|(_, path)| within(&home, &path)).collect();
        for name in [
            "log.anchor",
            "log.months",
            "log/inter-agent-2026-02.jsonl",
            "keys/checkpoint-2026-03.key",
        ] {
            assert!(
                opens.iter().any(|path| path == name),
                "{name} is not among {opens:?}"
            );
        }
        for (number, name) in opens.iter().enumerate() {
            let home = lived(was_killed);
            let disk = NotingDisk::refusing_after(number, "open", "", Errno::IO);
            match home.start(&disk).map(Log::abandon) {
                Err(LogError::Io { path, source }) => {
                    assert_eq!(source.raw_os_error(), Some(Errno::IO.raw_os_error()));
                    assert_eq!(within(&home, &path), *name);
                }
                other => panic!("{name}, opened as number {number}: {other:?}"),
            }
        }
    }
}

/// Somebody may take the anchor away while a start reads: what was read of it counts.
#[test]
fn an_anchor_that_vanishes_between_two_looks_has_no_tree_and_is_made_anew() {
    let home = lived(false);
    let disk = NotingDisk::refusing_after(1, "open", "log.anchor", Errno::NOENT);
    let log = home.start(&disk).unwrap();
    assert_eq!(log.head().unwrap().seq, 5);
    drop(log);
    assert!(home.anchor().exists());
    let report = verify(&[home.log()]);
    assert!(report.holds(), "{report}");
    assert_eq!(report.logs[0].proven, report.logs[0].head);
}

/// The anchor knows the first line with its tree before the first checkpoint is there.
#[test]
fn a_log_that_died_before_its_first_checkpoint_is_gone_on_with_by_the_tree_of_its_anchor() {
    let home = Home::new();
    let disk = NotingDisk::refusing("create", ".checkpoints", Errno::IO);
    assert!(matches!(home.start(&disk), Err(LogError::Io { .. })));
    let custody = Custody::new(keys(&home.keys()), home.anchor()).reading_later();
    let opening = LogOpening::look(&home.log(), &genesis(), custody).unwrap();
    let unread = opening.unread().unwrap();
    assert!(unread.inspect(|_| true).unwrap());
    drop(opening.open(second(1), &genesis()).unwrap());
    let report = verify(&[home.log()]);
    assert!(report.holds(), "{report}");
    assert_eq!(report.logs[0].proven, report.logs[0].head);
}

/// A clean stop leaves nothing in memory alone; after a kill what the system shows of a file need not be on the disk.
#[test]
fn after_a_kill_the_newest_month_and_its_checkpoints_are_written_anew_and_after_a_stop_nothing_is()
{
    let renamed = |home: &Home| -> Vec<String> {
        let asked = asked_at_a_start(home).into_iter();
        let renamed =
            asked.filter(|(name, path)| *name == "rename" && path.starts_with(home.log()));
        let names =
            renamed.map(|(_, path)| path.file_name().unwrap().to_string_lossy().into_owned());
        names.collect()
    };
    let anew = [
        "inter-agent-2026-03.jsonl",
        "inter-agent-2026-03.checkpoints",
    ];
    assert_eq!(renamed(&lived(true)), anew);
    assert!(renamed(&lived(false)).is_empty());
    let home = lived(false);
    let asked = asked_at_a_start(&home);
    let changed = asked.iter().find(|(name, path)| {
        ["truncate", "write", "create"].contains(name) && path.starts_with(home.log())
    });
    assert_eq!(changed, None, "nothing was torn");
    let is_record = |(_, path): &&Asked| path.ends_with("log.months");
    let asked: Vec<_> = asked
        .iter()
        .filter(is_record)
        .map(|(name, _)| *name)
        .collect();
    assert!(
        asked.iter().all(|name| *name == "open"),
        "it is known what is finished"
    );
}

#[test]
fn what_takes_the_place_of_another_file_is_durable_before_and_its_name_behind() {
    let (home, disk) = (Home::new(), NotingDisk::new());
    let mut log = home.start(&disk).unwrap();
    write(&mut log, "one").unwrap();
    log.append(march(), &gap("in march")).unwrap();
    log.abandon();
    home.start(&disk).unwrap().abandon();
    let asked = disk.take_asked();
    let mut names = Vec::new();
    for (place, (_, from)) in asked
        .iter()
        .enumerate()
        .filter(|(_, (name, _))| *name == "rename-of")
    {
        assert_eq!(
            asked[place - 1],
            ("sync", from.clone()),
            "{}",
            from.display()
        );
        let (_, to) = &asked[place + 1];
        let folder = to.parent().unwrap().to_owned();
        let behind = &asked[place + 2..place + 4];
        assert_eq!(behind, [("open", folder.clone()), ("sync-dir", folder)]);
        names.push(to.file_name().unwrap().to_string_lossy().into_owned());
    }
    for name in [
        "log.anchor",
        "log.months",
        "checkpoint-2026-02.key",
        "checkpoint-2026-03.key",
        "inter-agent-2026-03.jsonl",
    ] {
        assert!(
            names.iter().any(|renamed| renamed == name),
            "{name} is not among {names:?}"
        );
    }
    let place = |of: Asked| asked.iter().position(|asked| *asked == of).unwrap();
    let made = place(("make-dir", home.log()));
    let above = home.log().parent().unwrap().to_owned();
    assert_eq!(
        asked[made + 2],
        ("sync-dir", above),
        "the folder has its name"
    );
    let destroyed = home.keys().join("checkpoint-2026-02.key");
    let removed = place(("remove", destroyed.clone()));
    assert_eq!(
        asked[removed - 1],
        ("sync", destroyed),
        "it was overwritten before"
    );
    assert_eq!(asked[removed + 2], ("sync-dir", home.keys()));
}

#[test]
fn a_read_only_file_system_a_full_one_and_a_broken_one_are_told_apart() {
    for (answer, is_meant) in [
        (
            Errno::ROFS,
            (|error| matches!(error, LogError::ReadOnly(_))) as fn(&LogError) -> bool,
        ),
        (Errno::NOSPC, |error| matches!(error, LogError::Full(_))),
        (Errno::DQUOT, |error| matches!(error, LogError::Full(_))),
        (Errno::IO, |error| matches!(error, LogError::Io { .. })),
    ] {
        for operation in ["create", "write"] {
            let disk = NotingDisk::refusing(operation, FEBRUARY, answer);
            let error = Home::new().start_bare(&disk).unwrap_err();
            assert!(is_meant(&error), "{operation}: {answer:?} as {error}");
        }
    }
    // A failed fsync must not be reported as `Full`, even if it said that the disk is full: after `Full` the log tries
    // again, but a second fsync would not tell of the loss.
    let disk = NotingDisk::refusing("sync", FEBRUARY, Errno::NOSPC);
    let error = Home::new().start_bare(&disk).unwrap_err();
    assert!(matches!(error, LogError::Io { .. }), "{error}");
}

/// The room that is reserved ahead, seen by what is asked: whether the file system of the tests keeps room or not.
#[test]
fn a_stop_gives_back_the_room_of_both_files_and_only_where_some_was_reserved() {
    let given_back = |home: &Home, text: Option<&str>| -> Vec<Asked> {
        let disk: Arc<NotingDisk> = NotingDisk::new();
        let mut log = home.start(&disk).unwrap();
        if let Some(text) = text {
            write(&mut log, text).unwrap();
            log.checkpoint().unwrap();
        }
        disk.take_asked();
        drop(log);
        let asked = disk.take_asked().into_iter();
        asked.filter(|(name, _)| *name == "truncate").collect()
    };
    let home = Home::new();
    let files = ["inter-agent-2026-02.checkpoints", FEBRUARY];
    let both = files.map(|name| ("truncate", home.log().join(name)));
    assert_eq!(given_back(&home, Some("one")), both);
    assert_eq!(given_back(&home, None), [], "nothing was written");
    assert_eq!(given_back(&home, Some("two")), both);
    // If a signal interrupts the reservation, no room is reserved beyond the lines: the stop has none to give back, and
    // asks for no `truncate`.
    let disk = NotingDisk::refusing("reserve", "", Errno::INTR);
    drop(Home::new().start_bare(&disk).unwrap());
    assert!(
        disk.take_asked()
            .iter()
            .all(|(name, _)| *name != "truncate")
    );
    assert!(verify(&[home.log()]).holds());
}
