//! Ctrl-C while `signet up` is at work, and failures in the middle of it: no server stays that nobody was told of.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use signet_driver::find_nats_server;
use signet_testkit::kill;

use super::Machine;
use crate::house::eventually;

/// A machine whose nats-server writes its process id down before it begins.
fn machine() -> Machine {
    let machine = Machine::new();
    let real = find_nats_server(Path::new("/usr/local/bin")).unwrap();
    let script = format!(
        "#!/bin/sh\necho $$ >> '{}'\nexec '{}' \"$@\"\n",
        started(&machine).display(),
        real.display()
    );
    let program = program(&machine);
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    machine.done(
        "alice",
        &["init", "--agent", "alice", "--principal", "alice"],
    );
    machine
}

fn program(machine: &Machine) -> PathBuf {
    machine.dir.path().join("nats-server")
}

fn started(machine: &Machine) -> PathBuf {
    machine.dir.path().join("started")
}

/// The servers that were started so far.
fn servers(machine: &Machine) -> Vec<u32> {
    let text = std::fs::read_to_string(started(machine)).unwrap_or_default();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

fn runs(pid: &u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z"))
}

fn up(machine: &Machine, args: &[&str]) -> Command {
    let up = ["up", "--listen", "127.0.0.1:0"];
    let mut command = machine.command("alice", &[&up[..], args].concat());
    command.env("NATS_SERVER", program(machine));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// When the signal comes.
enum Moment {
    /// The server's process has just begun.
    Spawned,
    /// `up` has printed a line that begins so.
    Said(&'static str),
    /// So many milliseconds after the start.
    After(u64),
}

fn wait_for(moment: &Moment, machine: &Machine, before: usize, child: &mut Child) {
    match moment {
        Moment::Spawned => eventually("a server begins", || {
            (servers(machine).len() > before).then_some(())
        }),
        Moment::Said(begin) => {
            let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
            lines
                .find(|line| line.as_ref().unwrap().starts_with(begin))
                .unwrap()
                .unwrap();
        }
        Moment::After(millis) => std::thread::sleep(Duration::from_millis(*millis)),
    }
}

#[test]
fn a_signal_at_any_moment_of_a_start_in_the_foreground_leaves_no_server() {
    let machine = machine();
    let mut moments = vec![
        Moment::Spawned,
        Moment::Spawned,
        Moment::Said("nats"),
        Moment::Said("daemon"),
    ];
    moments.push(Moment::Said("next"));
    moments.extend([0, 20, 40, 60, 100, 150].map(Moment::After));
    let signals = [Signal::INT, Signal::TERM].into_iter().cycle();
    for (moment, signal) in moments.iter().zip(signals) {
        let before = servers(&machine).len();
        let mut child = up(&machine, &["--foreground"]).spawn().unwrap();
        wait_for(moment, &machine, before, &mut child);
        kill(child.id(), signal);
        eventually("it ends", || child.try_wait().unwrap());
        let left: Vec<u32> = servers(&machine).into_iter().filter(runs).collect();
        assert!(left.is_empty(), "{left:?} still run");
    }
    // The next start goes on with what is there.
    let output = up(&machine, &["--background"]).output().unwrap();
    assert!(output.status.success(), "{}", crate::house::says(&output));
    assert_eq!(servers(&machine).iter().filter(|pid| runs(pid)).count(), 1);
    assert_eq!(
        machine.done("alice", &["down"]),
        "daemon   ended\nnats     ended\n"
    );
}

#[test]
fn whoever_interrupts_hears_what_became_of_it() {
    let machine = machine();
    let mut child = up(&machine, &["--foreground"]).spawn().unwrap();
    wait_for(&Moment::Spawned, &machine, 0, &mut child);
    kill(child.id(), Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = crate::house::says(&output);
    assert!(
        said.starts_with("error: interrupted before the agent ran"),
        "{said}"
    );
    assert!(
        said.contains("  # goes on where this one stopped"),
        "{said}"
    );
}

#[test]
fn a_signal_behind_the_start_ends_the_daemon_and_then_the_server() {
    let machine = machine();
    let mut child = up(&machine, &["--foreground"]).spawn().unwrap();
    eventually("it runs", || {
        let status = machine.run("alice", &["status"]);
        status.status.success().then_some(())
    });
    // A terminal that closes ends nothing.
    kill(child.id(), Signal::HUP);
    std::thread::sleep(Duration::from_millis(200));
    assert!(child.try_wait().unwrap().is_none());
    kill(child.id(), Signal::INT);
    let ended = eventually("it ends", || child.try_wait().unwrap());
    assert_eq!(ended.code(), Some(0));
    assert!(!servers(&machine).iter().any(runs));
}

#[test]
fn an_up_that_fails_after_it_started_a_server_ends_it_again() {
    let machine = machine();
    let home = machine.home("alice");
    // The daemon cannot start: a part of its keys is gone.
    std::fs::remove_file(home.join("keys/sealing.pem")).unwrap();
    for how in ["--background", "--foreground"] {
        let output = up(&machine, &[how]).output().unwrap();
        assert!(!output.status.success());
        assert!(!servers(&machine).iter().any(runs), "{how}");
    }
    assert_eq!(servers(&machine).len(), 2);
}
