//! The memory of a daemon, where the keys are.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::scene::tree;
use crate::house::{House, copy_program, says};

#[test]
fn the_daemon_leaves_no_core_dump_and_shows_its_memory_to_nobody() {
    use std::os::unix::fs::MetadataExt as _;
    let house = House::new();
    let mut alice = house.home("alice");
    // If a process is not dumpable, its files in /proc belong to root (proc(5)). Root would see no difference, so run
    // the daemon as another user.
    let user = match rustix::process::geteuid().is_root() {
        true => 65_534,
        false => rustix::process::geteuid().as_raw(),
    };
    let program = house.path("signet");
    copy_program(env!("CARGO_BIN_EXE_signet"), &program);
    let root = house.path(".");
    for path in tree(&root)
        .iter()
        .chain([&root, &alice.dir, &alice.dir.join("keys")])
    {
        std::os::unix::fs::chown(path, Some(user), None).unwrap();
    }
    let mut command = Command::new(&program);
    command
        .args(["run", "--home", alice.dir.to_str().unwrap()])
        .env_clear();
    command
        .env("NATS_URL", house.server.url())
        .stdin(Stdio::null());
    if rustix::process::geteuid().is_root() {
        std::os::unix::process::CommandExt::uid(&mut command, user);
    }
    alice.start_as(command);
    let process = PathBuf::from(format!("/proc/{}", alice.pid()));
    let limits = std::fs::read_to_string(process.join("limits")).unwrap();
    let core = limits
        .lines()
        .find(|line| line.starts_with("Max core file size"))
        .unwrap();
    let words: Vec<&str> = core.split_whitespace().collect();
    assert_eq!(words[4..6], ["0", "0"], "{core}");
    let status = std::fs::read_to_string(process.join("status")).unwrap();
    assert!(
        status.contains(&format!("Uid:\t{user}\t{user}")),
        "{status}"
    );
    for name in ["mem", "maps", "environ", "fd"] {
        let owner = process.join(name).metadata().unwrap().uid();
        assert_eq!(owner, 0, "/proc/…/{name}");
    }
    let other = says(&alice.cli(&["key", "show"]));
    assert!(other.is_empty() || other.lines().count() == 2, "{other}");
    assert!(alice.stop().success());
}
