//! A group that may read the log, and nothing else of the home: with another user's eyes.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::house::{Home, House, copy_program, says, signet};

/// Whoever reads: a user, and the group that may.
const READER: u32 = 61_235;
const READERS: u32 = 61_234;
/// The daemon's own user, where it is not root.
const KEEPER: u32 = 61_236;

fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        println!("SKIPPED, nothing was tested: only root becomes other users");
    }
    root
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// The program where everybody may run it, and a way to the home for whoever knows its name.
fn opened(house: &House, home: &Home) -> PathBuf {
    mode(&house.path(""), 0o711);
    mode(&home.dir, 0o711);
    let program = house.path("signet");
    copy_program(signet(), &program);
    program
}

fn by(user: u32, group: u32, program: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(program);
    command
        .args(args)
        .env_clear()
        .uid(user)
        .gid(group)
        .current_dir("/");
    command.output().unwrap()
}

/// What a reader may and may not, with that home.
fn looks(home: &Home, program: &Path) {
    let log = home.dir.join("audit").join(&home.agent);
    let log = log.to_str().unwrap();
    let verified = by(READER, READERS, program, &["audit", "verify", log]);
    assert!(verified.status.success(), "{}", says(&verified));
    let shown = by(READER, READERS, program, &["audit", "show", "--all", log]);
    assert!(
        shown.status.success() && !shown.stdout.is_empty(),
        "{}",
        says(&shown)
    );
    let others = by(READER, READER, program, &["audit", "verify", log]);
    assert!(
        !others.status.success(),
        "whoever is not in the group reads nothing"
    );
    for name in [
        "keys",
        "keys/signing.pem",
        "checkpoint-keys",
        "state.db",
        "log.anchor",
        "log.months",
        "lock",
        "config.toml",
        "",
    ] {
        let path = home.dir.join(name);
        if path.is_file() {
            let read = by(
                READER,
                READERS,
                Path::new("/bin/cat"),
                &[path.to_str().unwrap()],
            );
            let open = name == "config.toml" || name == "lock";
            assert!(!read.status.success() || open, "{name} is readable");
            assert!(!open || path.metadata().unwrap().mode() & 0o022 == 0);
        } else if path.is_dir() {
            let list = by(
                READER,
                READERS,
                Path::new("/bin/ls"),
                &[path.to_str().unwrap()],
            );
            assert!(!list.status.success(), "{name} can be listed");
        }
    }
    for socket in ["control.sock", "agent.sock"] {
        let socket = home.dir.join(socket);
        let status = by(
            READER,
            READERS,
            program,
            &["status", "--home", home.dir.to_str().unwrap()],
        );
        assert!(!status.status.success(), "{}", socket.display());
    }
    for entry in fs::read_dir(log).unwrap() {
        let (path, facts) = entry
            .map(|entry| (entry.path(), entry.metadata().unwrap()))
            .unwrap();
        let found = (facts.mode() & 0o7777, facts.gid());
        assert_eq!(found, (0o640, READERS), "{}", path.display());
        let written = by(
            READER,
            READERS,
            Path::new("/bin/sh"),
            &["-c", &format!("echo >> {}", path.display())],
        );
        assert!(
            !written.status.success(),
            "{} can be written",
            path.display()
        );
    }
}

#[test]
fn a_group_reads_the_log_of_a_daemon_that_gives_it_to_them_and_nothing_else() {
    if !is_root() {
        return;
    }
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    bob.start();
    // Begin with a log made before the group is configured, which only its owner may read: the next start has to open
    // that one too.
    alice.start();
    alice.ping(&bob);
    alice.stop();
    let program = opened(&house, &alice);
    let line = "# group = \"signet-audit\"";
    alice.configure(line, &format!("group = \"{READERS}\""));
    alice.start();
    alice.ping(&bob);
    looks(&alice, &program);
    // A start after a crash writes some files anew: the group has to be able to read these as well.
    alice.kill();
    alice.start();
    alice.ping(&bob);
    looks(&alice, &program);
}

/// In a sandbox without chown(2): the directory gives the group, and the daemon is no member of it.
#[test]
fn a_directory_with_the_setgid_bit_gives_the_log_its_readers_where_the_daemon_may_not() {
    if !is_root() {
        return;
    }
    let house = House::new();
    let mut alice = house.home("alice");
    alice.configure("# mode = 0o640", "mode = 0o640");
    let program = opened(&house, &alice);
    let audit = alice.dir.join("audit");
    let _ = fs::create_dir(&audit);
    let all = Command::new("chown")
        .arg("-R")
        .arg(format!("{KEEPER}:{KEEPER}"))
        .arg(&alice.dir)
        .status();
    assert!(all.unwrap().success());
    chown(&audit, Some(KEEPER), Some(READERS)).unwrap();
    mode(&audit, 0o2750);
    let run = alice.command(&["run"]);
    let mut keeper = Command::new("/bin/sh");
    keeper
        .args(["-c", "umask 027; exec \"$@\"", "sh"])
        .arg(&program)
        .args(run.get_args());
    keeper.env_clear();
    for (name, value) in run.get_envs() {
        keeper.envs(value.map(|value| (name, value)));
    }
    keeper.uid(KEEPER).gid(KEEPER);
    alice.start_as(keeper);
    looks(&alice, &program);
    let dir = audit.join(&alice.agent).metadata().unwrap();
    assert_eq!((dir.mode() & 0o7777, dir.gid()), (0o2750, READERS));
}

#[test]
fn a_group_that_is_not_there_stops_the_start_with_its_name() {
    let house = House::new();
    let alice = house.home("alice");
    let line = "# group = \"signet-audit\"";
    alice.configure(line, "group = \"no-such-group\"");
    let said = alice.fails(2, &["run"]);
    assert!(
        said.contains("there is no group \"no-such-group\""),
        "{said}"
    );
    assert!(
        said.contains("groupadd no-such-group  # or correct"),
        "{said}"
    );
}
