//! Pipes, devices and links where a log's files belong: nothing waits for them and nothing follows them;
//! and folders in which everybody may write.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use signet_audit::{Log, LogError, VerifyReport, reconcile, verify, word};

use crate::common::*;
use crate::pair::*;

fn pipe(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

/// What verification says, which has to say something.
fn verified(path: PathBuf) -> VerifyReport {
    let (tell, hear) = mpsc::channel();
    thread::spawn(move || tell.send(verify(&[path])));
    let said = hear.recv_timeout(Duration::from_secs(30));
    said.expect("verification ends")
}

fn is_refused(report: &VerifyReport, what: &str) {
    let refused = report.unreadable.iter();
    let named = refused
        .filter(|error| matches!(error, LogError::NotPlain { .. }))
        .any(|error| error.to_string().contains(what));
    assert!(named && !report.holds(), "no `{what}` in {report}");
}

#[test]
fn verification_ends_at_a_pipe_a_device_a_link_and_a_folder() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    pipe(&at("pipe"));
    is_refused(&verified(at("pipe")), "it is a pipe");
    symlink("/dev/zero", at("zero")).unwrap();
    is_refused(&verified(at("zero")), "it is a symbolic link");
    is_refused(&verified("/dev/zero".into()), "it is a device");
    for name in ["piped", "folder"] {
        fs::create_dir(at(name)).unwrap();
    }
    pipe(&at("piped").join(FEBRUARY));
    is_refused(&verified(at("piped")), "it is a pipe");
    fs::create_dir(at("folder").join(FEBRUARY)).unwrap();
    is_refused(&verified(at("folder")), "it is a directory");
}

#[test]
fn verification_ends_at_checkpoints_and_torn_bytes_that_are_a_pipe() {
    let pair = Pair::talked();
    let notes = pair.alice.file(FEBRUARY_NOTES);
    fs::remove_file(&notes).unwrap();
    pipe(&notes);
    is_refused(&verified(pair.alice.dir()), "it is a pipe");
    fs::remove_file(&notes).unwrap();
    symlink("nowhere", &notes).unwrap();
    is_refused(&verified(pair.alice.dir()), "it is a symbolic link");
    assert!(reconcile(&pair.alice.dir(), &pair.bob.dir()).is_ok_and(|found| !found.agrees()));
}

/// The file of somebody else that a start must not touch, with what makes a start cut a log.
fn victim(dir: &Path) -> PathBuf {
    let victim = dir.join("victim");
    fs::write(&victim, "what somebody wrote\nand did not end").unwrap();
    victim
}

fn is_whole(victim: &Path) {
    let text = fs::read_to_string(victim).unwrap();
    assert_eq!(text, "what somebody wrote\nand did not end");
}

#[test]
fn a_start_neither_follows_a_link_nor_cuts_what_it_leads_to() {
    let dir = tempfile::tempdir().unwrap();
    let victim = victim(dir.path());
    for name in [FEBRUARY, MARCH] {
        let log = dir.path().join(name.replace('.', "-"));
        drop(conversation(&log, 2));
        let _ = fs::remove_file(log.join(name));
        symlink(&victim, log.join(name)).unwrap();
        let refused = Log::open(&log, second(9), &genesis()).unwrap_err();
        assert!(matches!(refused, LogError::NotPlain { .. }), "{refused}");
        is_whole(&victim);
    }
}

#[test]
fn a_start_neither_follows_nor_cuts_linked_checkpoints() {
    let mut pair = Pair::talked();
    let victim = victim(pair.alice.home.path());
    let notes = pair.alice.file(FEBRUARY_NOTES);
    fs::remove_file(&notes).unwrap();
    symlink(&victim, &notes).unwrap();
    let refused = pair.alice.try_start(second(60)).unwrap_err();
    assert!(matches!(refused, LogError::NotPlain { .. }), "{refused}");
    is_whole(&victim);
}

#[test]
fn a_start_ends_at_a_pipe() {
    let dir = tempfile::tempdir().unwrap();
    pipe(&dir.path().join(FEBRUARY));
    let refused = Log::open(dir.path(), second(0), &genesis()).unwrap_err();
    assert!(matches!(refused, LogError::NotPlain { .. }), "{refused}");
}

#[test]
fn a_folder_in_which_others_may_write_is_refused_with_the_command_that_closes_it() {
    for mode in [0o777, 0o770, 0o702] {
        let mut pair = Pair::talked();
        for folder in [pair.alice.dir(), pair.alice.keys()] {
            let open = |mode| {
                fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
            };
            open(mode);
            let refused = pair.alice.try_start(second(60)).unwrap_err();
            assert!(matches!(refused, LogError::OpenFolder { .. }), "{refused}");
            let advice = format!("chmod 700 {}", folder.display());
            assert!(refused.next().contains(&advice), "{refused}");
            open(0o700);
        }
        pair.alice.start(second(60));
    }
}

/// Another folder could be put in the place of the log's.
#[test]
fn a_folder_above_the_log_in_which_others_may_write_is_refused() {
    let above = tempfile::Builder::new()
        .prefix("Alice's logs")
        .tempdir()
        .unwrap();
    let open = |mode| {
        fs::set_permissions(above.path(), fs::Permissions::from_mode(mode)).unwrap();
    };
    let log = above.path().join("agent-alice");
    drop(Log::open(&log, second(0), &genesis()).unwrap());
    for mode in [0o777, 0o770, 0o702] {
        open(mode);
        let refused = Log::open(&log, second(1), &genesis()).unwrap_err();
        assert!(
            matches!(refused, LogError::OpenFolderAbove { .. }),
            "{refused}"
        );
        let advice = format!("chmod go-w {}  # ", word(above.path()));
        assert!(refused.next().starts_with(&advice), "{}", refused.next());
    }
    // In these folders nobody can move the folder of another user: the first is sticky, as /tmp is, and in the others
    // only their owner may write.
    for mode in [0o1777, 0o755, 0o700] {
        open(mode);
        drop(Log::open(&log, second(2), &genesis()).unwrap());
    }
}

/// What others share is not to be closed to them for the sake of a log.
#[test]
fn a_folder_above_the_log_that_is_somebody_elses_is_not_advised_to_be_closed() {
    let above = tempfile::tempdir().unwrap();
    let log = above.path().join("agent-alice");
    drop(Log::open(&log, second(0), &genesis()).unwrap());
    fs::set_permissions(above.path(), fs::Permissions::from_mode(0o775)).unwrap();
    if std::os::unix::fs::chown(above.path(), Some(65_534), None).is_err() {
        println!("NOT tried: only root gives a folder to somebody else");
        return;
    }
    let refused = Log::open(&log, second(1), &genesis()).unwrap_err();
    assert!(
        matches!(refused, LogError::OpenFolderAbove { .. }),
        "{refused}"
    );
    let next = refused.next();
    assert!(
        !next.contains("chmod") && next.contains("`dir` in [audit]"),
        "{next}"
    );
    let command = next.split("  # ").next().unwrap();
    assert_eq!(command, format!("ls -ld {}", word(above.path())));
}
