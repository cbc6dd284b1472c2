//! What a start finds where the last one ended: which lines are vouched for, who may read them, and where the log goes on.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use signet_audit::{Custody, Head, Log, LogError, LogOpening, verify};
use signet_proto::ids::Digest;

use crate::anchor::Home;
use crate::common::*;
use crate::pair::{FEBRUARY_NOTES, MARCH_NOTES, keys};

fn look(home: &Home) -> LogOpening {
    LogOpening::look(&home.path("audit"), &genesis(), home.custody()).unwrap()
}

#[test]
fn a_start_says_which_lines_its_home_vouches_for_and_whether_it_lost_its_anchor() {
    let home = Home::new();
    let found = look(&home);
    let facts = |found: &LogOpening| (found.trusted(), found.end(), found.lacks_anchor());
    assert_eq!((facts(&found), found.last()), ((0, 0, false), None));
    drop(found);
    let mut log = home.start(second(0));
    log.append(second(1), &gap("one")).unwrap();
    let known = log.commit().unwrap();
    log.abandon();
    let found = look(&home);
    assert_eq!((facts(&found), found.last()), ((2, 2, false), Some(known)));
    drop(found);
    // Line 3 bears a signature, so the home does not vouch for it: the caller, who knows the keys, has to prove it.
    let mut log = Log::open(&home.path("audit"), second(2), &genesis()).unwrap();
    log.append(second(2), &accepted(3, "From somebody"))
        .unwrap();
    log.commit().unwrap();
    log.abandon();
    let found = look(&home);
    assert_eq!((facts(&found), found.loss()), ((2, 3, false), None));
    drop(found);
    fs::remove_file(home.path("log.anchor")).unwrap();
    let found = look(&home);
    // Without an anchor the home vouches for what a checkpoint covers: here the first line alone.
    assert_eq!(facts(&found), (1, 3, true));
}

#[test]
fn a_log_that_went_back_says_whether_it_is_shorter_or_another_one() {
    let home = Home::new();
    home.live(second(1), "one");
    home.live(second(2), "two");
    let other = Home::new();
    other.live(second(1), "one");
    other.live(second(2), "something else");
    other.live(second(3), "and more");
    let month = fs::read(home.file(FEBRUARY)).unwrap();
    let refused = |bytes: &[u8], with: &str| {
        fs::write(home.file(FEBRUARY), bytes).unwrap();
        home.refused(second(4), with);
    };
    refused(
        &fs::read(other.file(FEBRUARY)).unwrap(),
        "is not there; line 3 is another one now",
    );
    let shorter = month.trim_ascii_end();
    let end = shorter.iter().rposition(|byte| *byte == b'\n').unwrap();
    refused(&month[..=end], "is not there; the log ends with line 2");
    refused(b"", "is not there; the log is empty");
    fs::write(home.file(FEBRUARY), &month).unwrap();
    home.start(second(4));
}

#[test]
fn a_group_may_read_the_log_and_pass_the_home_and_nothing_else() {
    let root = tempfile::tempdir().unwrap();
    let home = root.path().join("home");
    fs::create_dir(&home).unwrap();
    fs::write(home.join("secret"), b"secret").unwrap();
    for path in [home.clone(), home.join("secret")] {
        let mode = if path == home { 0o700 } else { 0o600 };
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }
    let group = home.metadata().unwrap().gid();
    let mode = |path: &Path| path.metadata().unwrap().mode() & 0o777;
    let (dir, keys_dir) = (home.join("audit"), home.join("keys"));
    let start = |shared: Option<Option<u32>>, now| {
        let custody = Custody::new(keys(&keys_dir), home.join("log.anchor"));
        let custody = match shared {
            Some(group) => custody.shared_with(group),
            None => custody,
        };
        Log::open_with(&dir, now, &genesis(), custody).unwrap()
    };
    drop(start(None, second(0)));
    let files = [FEBRUARY, FEBRUARY_NOTES].map(|name| dir.join(name));
    let modes = || files.each_ref().map(|file| mode(file));
    assert_eq!(
        (mode(&home), mode(&dir), modes()),
        (0o700, 0o700, [0o600; 2])
    );
    for shared in [None, Some(group)] {
        let mut log = start(Some(shared), second(1));
        assert_eq!(
            (mode(&home), mode(&dir), modes()),
            (0o710, 0o750, [0o640; 2])
        );
        log.append(march(), &gap("in march")).unwrap();
        log.commit().unwrap();
        let made = [MARCH, MARCH_NOTES].map(|name| mode(&dir.join(name)));
        assert_eq!(made, [0o640; 2], "what is made later, too");
    }
    fs::set_permissions(&dir, Permissions::from_mode(0o710)).unwrap();
    drop(start(Some(None), march()));
    assert_eq!(
        mode(&dir),
        0o750,
        "what the group could do before it can do still"
    );
    for other in ["secret", "log.anchor"] {
        assert_eq!(mode(&home.join(other)), 0o600, "{other}");
    }
    assert_eq!(mode(&keys_dir), 0o700);
}

/// Of a home whose folders belong to a group of their own, that group reads the log, and nobody else's.
#[test]
fn the_group_that_may_read_is_the_one_that_is_named_or_that_of_the_folder() {
    let root = tempfile::tempdir().unwrap();
    let (dir, keys_dir) = (root.path().join("audit"), root.path().join("keys"));
    fs::create_dir(&dir).unwrap();
    fs::set_permissions(&dir, Permissions::from_mode(0o2700)).unwrap();
    if std::os::unix::fs::chown(&dir, None, Some(4_242)).is_err() {
        println!("NOT tried: only root gives a folder to another group");
        return;
    }
    // Set the setgid bit again, since `chown` has cleared it: by this bit new files get the folder's group.
    fs::set_permissions(&dir, Permissions::from_mode(0o2700)).unwrap();
    let start = |group, now| {
        let custody = Custody::new(keys(&keys_dir), root.path().join("log.anchor"));
        Log::open_with(&dir, now, &genesis(), custody.shared_with(group)).unwrap()
    };
    let group = |name: &str| dir.join(name).metadata().unwrap().gid();
    let changed = |name: &str| {
        let facts = dir.join(name).metadata().unwrap();
        (facts.ctime(), facts.ctime_nsec())
    };
    let home = root.path().metadata().unwrap().gid();
    drop(start(None, second(0)));
    let [above, log] = [root.path(), &dir].map(|path| path.metadata().unwrap().gid());
    assert_eq!((above, log), (home, 4_242));
    assert_eq!([group(FEBRUARY), group(FEBRUARY_NOTES)], [4_242; 2]);
    // Without the setgid bit a new file gets the group of the process: the start has to give it the named group.
    fs::set_permissions(&dir, Permissions::from_mode(0o750)).unwrap();
    let mut log = start(Some(4_343), second(1));
    log.append(march(), &gap("in march")).unwrap();
    log.commit().unwrap();
    drop(log);
    for path in [root.path(), &dir] {
        assert_eq!(path.metadata().unwrap().gid(), 4_343, "{}", path.display());
    }
    let names = [FEBRUARY, FEBRUARY_NOTES, MARCH, MARCH_NOTES];
    assert_eq!(names.map(group), [4_343; 4]);
    // Where every group is the right one already, a start changes nothing: a sandbox may forbid such changes.
    let before = changed(FEBRUARY);
    drop(start(Some(4_343), march()));
    assert_eq!(changed(FEBRUARY), before);
}

#[test]
fn a_first_file_begins_with_genesis_or_with_the_line_that_opens_a_month() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path(), second(0));
    log.append(march(), &gap("in march")).unwrap();
    log.commit().unwrap();
    drop(log);
    let lines = lines_of(&dir.path().join(MARCH));
    // Somebody put February elsewhere, and March has only its first line, `open`: the log goes on behind that line.
    fs::remove_file(dir.path().join(FEBRUARY)).unwrap();
    write_lines(&dir.path().join(MARCH), &lines[..1]);
    let opened = Digest::of(&[lines[0].as_bytes()]);
    let log = open(dir.path(), march());
    assert_eq!(
        log.head(),
        Some(Head {
            seq: 3,
            hash: opened
        })
    );
    drop(log);
    write_lines(&dir.path().join(MARCH), &lines[1..]);
    let refused = Log::open(dir.path(), march(), &genesis());
    assert!(
        matches!(refused, Err(LogError::Broken { .. })),
        "{refused:?}"
    );
}

#[test]
fn a_last_line_is_found_however_long_it_is() {
    for len in [100, 16_000, 20_000, 200_000, 1_900_000] {
        let dir = tempfile::tempdir().unwrap();
        let mut log = open(dir.path(), second(0));
        log.append(second(1), &gap("before it")).unwrap();
        log.append(second(1), &gap(&"x".repeat(len))).unwrap();
        let head = log.commit().unwrap();
        drop(log);
        let mut log = open(dir.path(), second(2));
        assert_eq!(log.head(), Some(head), "{len}");
        log.append(second(2), &gap("behind it")).unwrap();
        log.commit().unwrap();
        assert!(verify(&[dir.path().to_owned()]).holds(), "{len}");
    }
}

/// A crash leaves such a file behind: it was made, and no checkpoint was written yet.
#[test]
fn an_empty_file_of_checkpoints_is_no_evidence_of_lines_that_are_gone() {
    let home = Home::new();
    fs::create_dir(home.path("audit")).unwrap();
    let place = |name: &str, text: &str| fs::write(home.file(name), text).unwrap();
    place(FEBRUARY_NOTES, "");
    home.live(second(1), "in february");
    place(MARCH_NOTES, "");
    home.live(march(), "in march");
    let report = home.holds();
    assert_eq!((report.proven, report.checkpoints > 1), (report.head, true));
    place("inter-agent-2026-04.checkpoints", "something");
    let mut log = home.start(march());
    let refused = log.append(at("2026-04-02T00:00:00.000Z"), &gap("in april"));
    let error = refused.unwrap_err().to_string();
    assert!(
        error.contains("it has checkpoints of lines that are gone"),
        "{error}"
    );
}
