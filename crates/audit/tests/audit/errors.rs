//! What a person is told to do next, of each thing that can go wrong with a log.

use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

use signet_audit::{LogError, RecordError, put_the_log_back};

fn month() -> PathBuf {
    PathBuf::from("/nowhere/audit/it's/inter-agent-2026-02.jsonl")
}

fn io(kind: ErrorKind) -> LogError {
    LogError::Io {
        path: month(),
        source: Error::from(kind),
    }
}

fn above(is_ours: bool) -> LogError {
    LogError::OpenFolderAbove {
        path: "/nowhere".into(),
        mode: 0o777,
        is_ours,
    }
}

#[test]
fn each_error_says_what_to_do_next() {
    let record = |source| LogError::Record {
        file: month(),
        line: 7,
        source,
    };
    for (error, next) in [
        (
            io(ErrorKind::NotFound),
            "name the directory of a log; that of a home is HOME/audit/AGENT-ID",
        ),
        (
            io(ErrorKind::PermissionDenied),
            "  # only its owner may read it",
        ),
        (
            io(ErrorKind::Other),
            "see to the disk, `dmesg` says what is wrong with it",
        ),
        (
            LogError::Full(month()),
            "free some space there: a log needs 5 MiB",
        ),
        (
            LogError::ReadOnly(month()),
            "mount it writable, then start again",
        ),
        (
            LogError::Gone {
                path: month(),
                what: "it was removed",
            },
            "put it back where it was; then start again",
        ),
        (
            LogError::Broken {
                file: month(),
                what: "changed".into(),
            },
            "signet audit verify",
        ),
        (
            record(RecordError::Spelling),
            "  # says which lines hold and which do not",
        ),
        (
            record(RecordError::Kind),
            "use the release of signet that wrote it; if none did, the log was changed",
        ),
        (
            LogError::WentBack {
                dir: "/nowhere/audit".into(),
                line: 7,
                hash: "ab".into(),
                what: "it is empty".into(),
            },
            "ls -la /  # put the newest copy of the log back there; only if there is none: signet state accept-loss",
        ),
        (
            LogError::Appended {
                file: month(),
                line: 7,
                offset: 99,
            },
            "truncate -s 99 ",
        ),
        (
            LogError::NoLog("/nowhere".into()),
            "name the directory of a log",
        ),
        (
            LogError::OpenKey("/nowhere/a key".into()),
            "chmod 600 '/nowhere/a key'  # if nobody else",
        ),
        (
            LogError::SameAgent("agent-bob".parse().unwrap()),
            "name the log of the other agent",
        ),
        (
            LogError::Newer {
                file: month(),
                version: 3,
            },
            "use the release of signet that wrote it, or a later one",
        ),
        (
            LogError::NotPlain {
                path: month(),
                what: "a pipe",
            },
            "move it away, or name the file itself",
        ),
        (
            LogError::OpenFolder {
                path: "/nowhere".into(),
                mode: 0o777,
            },
            "chmod 700 /nowhere  # and look at what",
        ),
        (
            above(true),
            "chmod go-w /nowhere  # and look at what lies in it",
        ),
        (
            above(false),
            "ls -ld /nowhere  # it is not this agent's to close",
        ),
        (
            LogError::Unanchored {
                anchor: "/nowhere/log.anchor".into(),
                vouched: 3,
                line: 4,
            },
            "ls -la /nowhere  # put log.anchor back there; only if it is nowhere: signet state accept-loss",
        ),
        (
            LogError::NotShared {
                path: "/nowhere/audit".into(),
                source: Error::from(ErrorKind::PermissionDenied),
            },
            "as root: chgrp -R GROUP /nowhere && chmod -R g+rX /nowhere",
        ),
        (
            LogError::NoOwner(month()),
            "give the first file of the log too",
        ),
        (
            LogError::Held("/nowhere".into()),
            "stop the other one; one agent, one log",
        ),
        (LogError::Stopped, "see to the disk, then start again"),
        (LogError::TooLong(3_000_000), "this is a fault in signet"),
        (LogError::NotGenesis("gap"), "this is a fault in signet"),
    ] {
        let told = error.next();
        assert!(told.contains(next), "{error}: {told}");
    }
}

#[test]
fn a_log_is_put_back_into_the_nearest_folder_that_is_there() {
    let home = tempfile::tempdir().unwrap();
    let told = put_the_log_back(&home.path().join("audit/agent-bob"));
    let place = format!("ls -la {}  #", home.path().display());
    assert!(told.starts_with(&place), "{told}");
    let told = put_the_log_back(Path::new("audit/agent-bob"));
    assert!(told.starts_with("ls -la audit/agent-bob  #"), "{told}");
}

#[test]
fn what_another_start_does_not_mend_is_of_the_disk() {
    let gone = LogError::Gone {
        path: month(),
        what: "it was removed",
    };
    let full = LogError::Full(month());
    for error in [
        io(ErrorKind::Other),
        full,
        LogError::ReadOnly(month()),
        gone,
        LogError::Stopped,
    ] {
        assert!(error.is_of_the_disk(), "{error}");
    }
    for error in [
        LogError::NoLog(month()),
        LogError::TooLong(9),
        LogError::Held(month()),
        above(true),
    ] {
        assert!(!error.is_of_the_disk(), "{error}");
    }
}
