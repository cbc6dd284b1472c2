//! Files that are taken away, exchanged or cut off while a log is written: nothing that is written since
//! counts as durable.

use std::fs;
use std::path::{Path, PathBuf};

use signet_audit::{FileIdentity, Log, LogError, hold_against_anchor};
use tempfile::TempDir;

use crate::common::*;
use crate::pair::{FEBRUARY_NOTES, keys};

/// A log that is written, with its keys and its anchor, and a file beside it.
struct Scene {
    dir: TempDir,
    log: Log,
}

impl Scene {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut log = start(dir.path()).unwrap();
        let state = dir.path().join("state.db");
        fs::write(&state, "rows").unwrap();
        log.demand_also(FileIdentity::at(&state).unwrap());
        log.append(second(1), &gap("durable")).unwrap();
        log.commit().unwrap();
        log.checkpoint().unwrap();
        Self { dir, log }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

fn start(home: &Path) -> Result<Log, LogError> {
    let custody = signet_audit::Custody::new(keys(&home.join("keys")), home.join("log.anchor"));
    Log::open_with(&home.join("audit"), second(0), &genesis(), custody)
}

fn month() -> String {
    format!("audit/{FEBRUARY}")
}

fn is_gone(found: Result<impl std::fmt::Debug, LogError>, what: &str) {
    match found {
        Err(error @ LogError::Gone { .. }) => {
            assert!(error.is_of_the_disk());
            assert!(error.to_string().contains(what), "{error}");
        }
        other => panic!("{what}: {other:?}"),
    }
}

/// Each thing that somebody does to a home, and how the log says it.
type Deed = (&'static str, fn(&Scene), &'static str);

const DEEDS: [Deed; 9] = [
    (
        "the month is removed",
        |scene| fs::remove_file(scene.path(&month())).unwrap(),
        "removed or moved",
    ),
    (
        "the month is moved",
        |scene| fs::rename(scene.path(&month()), scene.path("elsewhere")).unwrap(),
        "removed or moved",
    ),
    (
        "the folder is removed",
        |scene| fs::remove_dir_all(scene.path("audit")).unwrap(),
        "removed or moved",
    ),
    (
        "the folder is moved, as when its file system is unmounted",
        |scene| {
            fs::rename(scene.path("audit"), scene.path("elsewhere")).unwrap();
            fs::create_dir(scene.path("audit")).unwrap();
        },
        "removed or moved",
    ),
    (
        "a copy takes the month's place",
        |scene| {
            fs::copy(scene.path(&month()), scene.path("copy")).unwrap();
            fs::rename(scene.path("copy"), scene.path(&month())).unwrap();
        },
        "another file",
    ),
    (
        "the month is emptied",
        |scene| fs::write(scene.path(&month()), "").unwrap(),
        "cut it off",
    ),
    (
        "the anchor is removed",
        |scene| fs::remove_file(scene.path("log.anchor")).unwrap(),
        "removed or moved",
    ),
    (
        "the checkpoints are removed",
        |scene| fs::remove_file(scene.path(&format!("audit/{FEBRUARY_NOTES}"))).unwrap(),
        "removed or moved",
    ),
    (
        "the state is removed",
        |scene| fs::remove_file(scene.path("state.db")).unwrap(),
        "removed or moved",
    ),
];

#[test]
fn what_is_written_after_a_file_is_taken_away_is_never_durable() {
    for (name, deed, what) in DEEDS {
        let mut scene = Scene::new();
        let head = scene.log.head();
        deed(&scene);
        scene.log.append(second(2), &gap(name)).unwrap();
        is_gone(scene.log.commit(), what);
        assert_eq!(scene.log.head(), head, "{name}");
        let again = scene.log.commit();
        assert!(matches!(again, Err(LogError::Stopped)), "{name}: {again:?}");
    }
}

#[test]
fn a_log_that_nobody_writes_to_can_be_asked_whether_it_is_in_its_place() {
    for (name, deed, what) in DEEDS {
        let mut scene = Scene::new();
        scene.log.demand_in_place().unwrap();
        deed(&scene);
        is_gone(scene.log.demand_in_place(), what);
        let stopped = scene.log.append(second(2), &gap(name));
        assert!(matches!(stopped, Err(LogError::Stopped)), "{name}");
    }
}

#[test]
fn a_log_that_was_taken_away_is_never_said_to_have_stopped_cleanly() {
    for removed in ["audit", "elsewhere"] {
        let scene = Scene::new();
        let kept = scene.path("elsewhere");
        fs::rename(scene.path("audit"), &kept).unwrap();
        let Scene { dir, log } = scene;
        drop(log);
        let anchor = dir.path().join("log.anchor");
        assert!(!fs::read_to_string(&anchor).unwrap().contains(" stopped "));
        let seen = hold_against_anchor(&dir.path().join("audit"), &anchor);
        assert!(matches!(seen, Err(LogError::WentBack { .. })), "{seen:?}");
        if removed == "audit" {
            fs::remove_dir_all(&kept).unwrap();
            let refused = start(dir.path()).unwrap_err();
            assert!(matches!(refused, LogError::WentBack { .. }), "{refused}");
        } else {
            fs::rename(&kept, dir.path().join("audit")).unwrap();
            assert_eq!(start(dir.path()).unwrap().head().unwrap().seq, 2);
        }
    }
}

/// Where the system says something else than that the file is not there, nobody knows whether it is.
#[test]
fn an_answer_of_the_system_that_does_not_tell_where_a_file_is_is_passed_on() {
    let mut scene = Scene::new();
    fs::rename(scene.path("audit"), scene.path("elsewhere")).unwrap();
    std::os::unix::fs::symlink(scene.path("audit"), scene.path("audit")).unwrap();
    let found = scene.log.demand_in_place();
    assert!(matches!(found, Err(LogError::Io { .. })), "{found:?}");
    assert!(matches!(scene.log.commit(), Err(LogError::Stopped)));
    // If a file stands where the log's folder was, the system's answer (not a directory) leaves no doubt that the log
    // is gone.
    let mut scene = Scene::new();
    fs::rename(scene.path("audit"), scene.path("elsewhere")).unwrap();
    fs::write(scene.path("audit"), "no folder").unwrap();
    is_gone(scene.log.demand_in_place(), "removed or moved");
}
