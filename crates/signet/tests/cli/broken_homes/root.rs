//! Root at work in a person's home.

use std::fs;
use std::process::Command;

use super::Machine;
use super::cases::{Ran, mode};
use crate::house::{copy_program, says, signet};

/// Root's files in a home lock its owner out.
#[test]
fn root_in_somebody_elses_home_is_told_to_do_it_as_its_owner_and_writes_nothing() {
    let machine = Machine::new();
    if !rustix::process::geteuid().is_root() {
        eprintln!("NOT tried: only root is somebody else everywhere");
        return;
    }
    let nobody = 65_534;
    let home = machine.make(Ran, 1);
    // Copy the program: the owner of the home has to run it, and Cargo's target folder may be closed to other users.
    let program = machine.house.path("signet");
    copy_program(signet(), &program);
    for place in [machine.dir.as_path(), machine.dir.parent().unwrap()] {
        mode(place.to_owned(), 0o755);
    }
    mode(program.clone(), 0o755);
    let given = Command::new("chown")
        .args(["-R", "65534:65534"])
        .arg(&home)
        .status();
    assert!(given.unwrap().success());
    let owners = || {
        let found = Command::new("find")
            .arg(&home)
            .args(["!", "-uid", "65534"])
            .output();
        String::from_utf8(found.unwrap().stdout).unwrap()
    };
    let names = || {
        let found = Command::new("find")
            .arg(&home)
            .args(["-printf", "%P %T@\n"])
            .output();
        String::from_utf8(found.unwrap().stdout).unwrap()
    };
    let before = names();
    for (typed, code, word) in [
        (&["up", "--background"][..], 2, "up"),
        (&["down"], 2, "down"),
        (&["run"], 2, "run"),
        (&["trust", "list"], 2, "trust"),
        (&["key", "show"], 2, "key"),
        (&["invite"], 2, "invite"),
        (&["nats", "key"], 2, "nats key"),
        (&["token", "make", "laptop"], 2, "token make"),
        (&["token", "revoke", "laptop"], 2, "token revoke"),
        (&["handler", "trace", "on"], 2, "handler trace on"),
        (&["inbox", "--each", "--", "true"], 2, "inbox --each"),
        // `status` writes nothing, so root may run it: root hears that no daemon answers, as the owner would.
        (&["status"], 3, " run --home "),
    ] {
        let mut command = Command::new(&program);
        command.arg("--home").arg(&home).args(typed);
        let output = machine.with_shell(command, true).output().unwrap();
        let said = says(&output);
        assert_eq!(output.status.code(), Some(code), "{typed:?}: {said}");
        let next = said.split_once("  next: ").unwrap().1.trim_end();
        assert!(!next.contains("chown"), "{typed:?}: {said}");
        assert!(
            next.contains("-u nobody") && next.contains(word),
            "{typed:?}: {said}"
        );
        assert_eq!(
            (owners(), names()),
            (String::new(), before.clone()),
            "{typed:?}"
        );
    }
    // The printed command works, and runs as the owner: all files that it writes belong to the owner.
    let mut command = Command::new(&program);
    command.arg("--home").arg(&home).args(["trust", "list"]);
    let said = says(&machine.with_shell(command, true).output().unwrap());
    let next = said.split_once("  next: ").unwrap().1.trim_end().to_owned();
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &next]);
    let output = machine.with_shell(shell, true).output().unwrap();
    assert!(output.status.success(), "{next}: {}", says(&output));
    assert_eq!(owners(), "");
    let _ = nobody;
}

/// `sudo signet up` where the person has no home yet.
#[test]
fn sudo_makes_no_home_in_a_folder_of_the_person_who_called_it() {
    is_refused_in_a_folder_of_nobodys(|command| {
        command.env("SUDO_UID", "65534");
    });
}

/// `su`, `doas` and `pkexec` say of nobody who called them: whose folder it is stands at the folder.
#[test]
fn root_by_su_makes_no_home_in_a_folder_of_somebody_else() {
    is_refused_in_a_folder_of_nobodys(|_| {});
    // Root makes no home there either if it was a third user who called sudo.
    is_refused_in_a_folder_of_nobodys(|command| {
        command.env("SUDO_UID", "1");
    });
}

/// Root makes a new home in a folder that belongs to the user nobody, by a command that is called in that way.
fn is_refused_in_a_folder_of_nobodys(called: impl Fn(&mut Command)) {
    let machine = Machine::new();
    if !rustix::process::geteuid().is_root() {
        eprintln!("NOT tried: only root is somebody else everywhere");
        return;
    }
    let person = machine.house.path("somebody");
    fs::create_dir(&person).unwrap();
    std::os::unix::fs::chown(&person, Some(65_534), Some(65_534)).unwrap();
    let home = person.join(".local/share/signet");
    let up = "up --agent agent-a --principal a --background";
    for typed in [up, "init --agent agent-a --principal a"] {
        let words: Vec<&str> = typed.split(' ').collect();
        let mut command = machine.typed(&home, &words, true);
        called(&mut command);
        let output = command.output().unwrap();
        let said = says(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(
            said.contains("locks its owner out") && said.contains("-u nobody"),
            "{said}"
        );
        assert_eq!(fs::read_dir(&person).unwrap().count(), 0, "{said}");
    }
}
