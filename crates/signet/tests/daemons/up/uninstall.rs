//! `signet uninstall`: what `up` made goes, and nothing that nobody makes again.

use std::os::unix::fs::symlink;
use std::path::Path;

use super::Machine;
use crate::house::eventually;

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn keys(machine: &Machine, name: &str) -> Vec<(String, Vec<u8>)> {
    let directory = machine.home(name).join("keys");
    let read = |file: String| (file.clone(), std::fs::read(directory.join(file)).unwrap());
    names(&directory).into_iter().map(read).collect()
}

#[test]
fn server_and_daemon_go_while_keys_and_log_stay_and_up_goes_on_with_them() {
    let machine = Machine::new();
    machine.up("alice");
    let (before, words) = (keys(&machine, "alice"), machine.words("alice"));
    let home = machine.home("alice");
    let said = machine.done("alice", &["uninstall"]);
    assert!(
        said.contains("daemon   ended") && said.contains("nats     ended, and removed"),
        "{said}"
    );
    assert!(said.contains("keeps keys, log and configuration"), "{said}");
    let left = names(&home);
    for gone in ["nats", "daemon.log", "control.sock", "agent.sock", "view"] {
        assert!(!left.iter().any(|name| name == gone), "{left:?}");
    }
    assert_eq!(keys(&machine, "alice"), before);
    machine.done(
        "alice",
        &[
            "audit",
            "verify",
            home.join("audit/alice").to_str().unwrap(),
        ],
    );
    // Again it finds nothing to do, and says so.
    let again = machine.done("alice", &["uninstall"]);
    assert!(
        again.contains("daemon   no unit starts it") && !again.contains("nats "),
        "{again}"
    );
    machine.up("alice");
    assert_eq!(machine.words("alice"), words);
}

#[test]
fn keys_and_log_go_only_with_the_agents_own_name_and_never_the_persons_keys() {
    let machine = Machine::new();
    machine.up("alice");
    let home = machine.home("alice");
    let before = keys(&machine, "alice");
    for (code, args) in [
        (2, vec!["uninstall", "--keys-and-log"]),
        (1, vec!["uninstall", "--keys-and-log", "bob"]),
        (1, vec!["uninstall", "--keys-and-log", "alice"]),
    ] {
        let said = machine.fails("alice", code, &args);
        assert_eq!(keys(&machine, "alice"), before, "{said}");
        assert!(
            home.join("nats/server.json").exists(),
            "nothing is stopped or removed: {said}"
        );
    }
    machine.done("alice", &["status"]);
    let stick = machine.home("stick");
    std::fs::create_dir(&stick).unwrap();
    machine.done("alice", &["key", "stash", stick.to_str().unwrap()]);
    // A file of somebody else's, and links to their things, are in the home.
    let other = machine.home("diary");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("page"), "dear diary").unwrap();
    symlink(&other, home.join("view")).unwrap();
    symlink(
        other.join("page"),
        home.join("audit/alice/inter-agent-link.jsonl"),
    )
    .unwrap();
    symlink(&other, home.join("keys/link")).unwrap();
    std::fs::write(home.join("letter.txt"), "mine").unwrap();
    let said = machine.done("alice", &["uninstall", "--keys-and-log", "alice"]);
    assert!(said.contains("letter.txt"), "{said}");
    assert_eq!(names(&home), ["letter.txt"]);
    assert_eq!(
        std::fs::read_to_string(other.join("page")).unwrap(),
        "dear diary"
    );
    assert!(stick.join("root.pem").exists());
}

#[test]
fn a_server_that_others_log_in_to_is_not_taken_from_them_by_the_way() {
    let machine = Machine::new();
    machine.up("alice");
    machine.done(
        "bob",
        &[
            "up",
            "--agent",
            "bob",
            "--principal",
            "bob",
            "--background",
            "--beside",
            machine.home("alice").to_str().unwrap(),
        ],
    );
    let said = machine.fails("alice", 1, &["uninstall"]);
    assert!(
        said.contains("bob") && said.contains("--drop-logins"),
        "{said}"
    );
    machine.done("alice", &["status"]);
    // Bob has no server of his own: his goes without a question.
    let bob = machine.done("bob", &["uninstall"]);
    assert!(!bob.contains("nats "), "{bob}");
    machine.done("alice", &["uninstall", "--drop-logins"]);
    assert!(!machine.home("alice").join("nats").exists());
}

#[test]
fn an_uninstall_that_was_killed_is_finished_by_the_next() {
    let machine = Machine::new();
    machine.up("alice");
    machine.done("alice", &["down"]);
    let home = machine.home("alice");
    // It was killed in the middle: the configuration has gone, and the list of logins has not.
    for gone in ["nats/server.conf", "nats/admin.nk"] {
        std::fs::remove_file(home.join(gone)).unwrap();
    }
    machine.done("alice", &["uninstall"]);
    assert!(!home.join("nats").exists());
    // The same of the keys: the configuration still names the home.
    let stick = machine.home("stick");
    std::fs::create_dir(&stick).unwrap();
    machine.done("alice", &["key", "stash", stick.to_str().unwrap()]);
    std::fs::remove_dir_all(home.join("keys")).unwrap();
    machine.done("alice", &["uninstall", "--keys-and-log", "alice"]);
    assert!(!home.exists());
}

#[test]
fn up_says_how_to_look_where_the_programs_for_it_lie_beside_it() {
    let machine = Machine::new();
    let programs = machine.dir.path().join("bin");
    std::fs::create_dir(&programs).unwrap();
    let copy = programs.join("signet");
    signet_testkit::copy_program(signet_testkit::signet(), &copy);
    machine.up("alice");
    let up = || {
        let mut command = std::process::Command::new(&copy);
        command
            .args(["up", "--background", "--home"])
            .arg(machine.home("alice"));
        command
            .env_clear()
            .env("PATH", "/nowhere")
            .env("HOME", machine.dir.path());
        if let Some(server) = std::env::var_os("NATS_SERVER") {
            command.env("NATS_SERVER", server);
        }
        // The copy may still be open for writing in a process that another test has just forked.
        let output = eventually("it starts", || command.output().ok());
        assert!(output.status.success(), "{}", signet_testkit::says(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let alone = up();
    assert!(
        alone.contains("invite") && !alone.contains(" view"),
        "{alone}"
    );
    std::fs::write(programs.join("signet-view"), "").unwrap();
    let without_desk = up();
    assert!(!without_desk.contains(" view"), "{without_desk}");
    std::fs::write(programs.join("signet-desk"), "").unwrap();
    let both = up();
    assert!(
        both.contains("view") && both.contains("in a browser") && !both.contains("--desk"),
        "{both}"
    );
    std::fs::remove_file(programs.join("signet-view")).unwrap();
    let desk = up();
    assert!(desk.contains("view") && desk.contains("--desk"), "{desk}");
}
