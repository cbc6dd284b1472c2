//! What stands in the way of `signet up`: files cut short by a kill, a server whose process nobody knows, settings that
//! others may write, and a home of which something is missing. It says what is wrong and the next command, which helps.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::{Machine, mode};
use crate::house::eventually;

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn runs(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    stat.is_ok_and(|stat| !stat.contains(") Z"))
}

#[test]
fn settings_that_others_may_write_are_refused_and_not_laundered() {
    let machine = Machine::new();
    machine.up("alice");
    machine.done("alice", &["down"]);
    let file = machine.home("alice").join("config.toml");
    let theirs = std::fs::read_to_string(&file).unwrap();
    let theirs = theirs.replace("# command = [", "command = [\"/tmp/theirs\"] # [");
    assert!(theirs.contains("\ncommand = [\"/tmp/theirs\"]"));
    std::fs::write(&file, &theirs).unwrap();
    set_mode(&file, 0o666);
    for args in [
        &["up", "--background"][..],
        &["up", "--background", "--offer", "calendar.*"],
        &["up", "--background", "--nats", "nats://127.0.0.1:1"],
    ] {
        let said = machine.fails("alice", 2, args);
        assert!(
            said.contains("mode 0666") && said.contains("next: chmod 600 "),
            "{said}"
        );
        assert_eq!(
            (mode(&file), std::fs::read_to_string(&file).unwrap()),
            (0o666, theirs.clone())
        );
    }
    set_mode(&file, 0o600);
    set_mode(&machine.home("alice"), 0o777);
    let said = machine.fails("alice", 2, &["up", "--background"]);
    assert!(said.contains("next: chmod 700 "), "{said}");
    set_mode(&machine.home("alice"), 0o700);
}

#[test]
fn a_login_that_a_kill_cut_short_is_named_and_made_anew_once_it_is_removed() {
    let machine = Machine::new();
    machine.up("alice");
    machine.done("alice", &["down"]);
    for (name, cut) in [("nats.nk", ""), ("nats.nk", "SUA"), ("nats/admin.nk", "")] {
        let seed = machine.home("alice").join(name);
        std::fs::write(&seed, cut).unwrap();
        let said = machine.fails("alice", 1, &["up", "--background"]);
        assert!(said.contains(name), "{said}");
        assert!(said.contains("next: rm "), "{said}");
        assert!(!said.contains("--file"), "{said}");
        std::fs::remove_file(&seed).unwrap();
        machine.done("alice", &["up", "--background"]);
        machine.done("alice", &["down"]);
    }
}

#[test]
fn a_server_whose_process_nobody_wrote_down_is_found_used_and_ended() {
    let machine = Machine::new();
    machine.up("alice");
    let number = machine.home("alice").join("nats/server.pid");
    let pid = std::fs::read_to_string(&number).unwrap();
    machine.done("alice", &["down", "--keep-nats"]);
    // A second one that never listened has written its own number over it; or the first was not so far yet.
    for lost in [Some("2147483647\n"), None] {
        match lost {
            Some(text) => std::fs::write(&number, text).unwrap(),
            None => std::fs::remove_file(&number).unwrap(),
        }
        let said = machine.done("alice", &["up", "--background"]);
        assert!(
            said.contains("this home's own server, which runs"),
            "{said}"
        );
        assert!(runs(&pid));
        machine.done("alice", &["down", "--keep-nats"]);
    }
    assert_eq!(
        machine.done("alice", &["down"]),
        "daemon   none ran\nnats     ended\n"
    );
    eventually("it has ended", || (!runs(&pid)).then_some(()));
}

#[test]
fn what_the_daemon_says_to_do_is_what_up_says() {
    let machine = Machine::new();
    machine.up("alice");
    machine.done("alice", &["down"]);
    let key = machine.home("alice").join("keys/signing.pem");
    set_mode(&key, 0o644);
    let said = machine.fails("alice", 2, &["up", "--background"]);
    assert!(said.contains("next: chmod 600 "), "{said}");
    set_mode(&key, 0o600);
}

#[test]
fn a_home_that_lost_its_configuration_is_not_told_to_be_made() {
    let machine = Machine::new();
    machine.done(
        "alice",
        &["init", "--agent", "alice", "--principal", "alice"],
    );
    std::fs::remove_file(machine.home("alice").join("config.toml")).unwrap();
    for args in [
        &["up", "--background"][..],
        &[
            "up",
            "--agent",
            "alice",
            "--principal",
            "alice",
            "--background",
        ],
    ] {
        let said = machine.fails("alice", 2, args);
        assert!(said.contains("put its config.toml back"), "{said}");
    }
}

#[test]
fn a_home_that_lost_its_server_makes_another_where_it_is_told_to_listen() {
    let machine = Machine::new();
    machine.up("alice");
    machine.done("alice", &["down"]);
    std::fs::remove_dir_all(machine.home("alice").join("nats")).unwrap();
    let said = machine.done("alice", &["up", "--background", "--listen", "127.0.0.1:0"]);
    assert!(
        said.contains("started: a server of this home's own"),
        "{said}"
    );
}

#[test]
fn a_login_that_the_server_refuses_is_not_told_as_a_server_that_is_down() {
    let machine = Machine::new();
    machine.up("alice");
    let login = |machine: &Machine, more: &[&str]| {
        let invited = machine.done("alice", &[&["invite", "--login", "bob"][..], more].concat());
        let mut lines = invited.lines();
        lines
            .find(|line| line.starts_with("signet-login:1:"))
            .unwrap()
            .to_owned()
    };
    let up = ["up", "--agent", "bob", "--principal", "bob", "--background"];
    let line = login(&machine, &[]);
    let with_line = [&up[..], &["--login", "-"]].concat();
    let output = machine.with_input("bob", &with_line, &line);
    assert!(output.status.success(), "{output:?}");
    // Once more: the mailbox that the login may not make is looked at, and nobody waits for a refusal.
    let said = machine.done("bob", &up);
    assert!(said.contains("mailbox  it is there"), "{said}");
    machine.done("bob", &["down"]);
    login(&machine, &["--replace"]);
    let said = machine.fails("bob", 1, &up);
    assert!(said.contains("refuses the login"), "{said}");
    assert!(said.contains("`invite --login ID` makes there"), "{said}");
}

#[test]
fn a_second_agent_of_one_person_is_made_with_their_root_key_or_not_at_all() {
    let machine = Machine::new();
    machine.up("alice");
    let alice = machine.home("alice");
    let beside = [
        "up",
        "--agent",
        "second",
        "--principal",
        "alice",
        "--background",
        "--beside",
    ];
    let beside = [&beside[..], &[alice.to_str().unwrap()]].concat();
    let said = machine.fails("second", 2, &beside);
    assert!(
        said.contains("with --root ") && said.contains("keys/root.pem"),
        "{said}"
    );
    assert!(!machine.home("second").exists());
    let root = alice.join("keys/root.pem");
    machine.done(
        "second",
        &[&beside[..], &["--root", root.to_str().unwrap()]].concat(),
    );
}
