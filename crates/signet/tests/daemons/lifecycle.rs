//! How a daemon starts, stops and stays: signals, terminals, locks.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::json;

use crate::house::{self, House, Loose, eventually, says};

#[test]
fn sigterm_stops_cleanly_and_what_was_agreed_is_remembered() {
    let house = House::new();
    let (mut alice, bob) = house.alice_and_bob();
    alice.ping(&bob);
    let session = alice.standing(&bob.agent, "session");
    let ended = alice.stop();
    assert_eq!(
        (ended.code(), ended.signal()),
        (Some(0), None),
        "{}",
        alice.said()
    );
    alice.walk();
    alice.start();
    assert_eq!(alice.standing(&bob.agent, "session"), session);
    alice.ping(&bob);
}

/// Seventeen of seventeen had arrived, and each caller heard "the daemon is stopping".
#[test]
fn messages_that_left_before_the_daemon_stopped_are_named_with_their_state() {
    let house = House::new();
    let (mut alice, bob) = house.alice_and_bob();
    alice.ping(&bob);
    // Halt Bob's daemon: Alice's messages leave, and no receipt comes back.
    bob.signal(Signal::STOP);
    let sending: Vec<_> = ["--notify", "--request", "--notify"]
        .iter()
        .map(|kind| {
            let mut command = alice.command(&["send", &bob.agent, kind, "{}"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().unwrap()
        })
        .collect();
    eventually("all have left", || {
        let out = alice.json(&["outbox"]);
        let left = out.iter().filter(|one| one["state"] == "published");
        (left.count() == sending.len()).then_some(())
    });
    alice.stop();
    let sent: Vec<String> = sending
        .into_iter()
        .map(|child| {
            let output = child.wait_with_output().unwrap();
            let said = says(&output);
            assert_eq!(output.status.code(), Some(3), "{said}");
            assert!(
                said.starts_with(
                    "error: no-answer: the daemon stopped before agent-bob said anything; "
                ),
                "{said}"
            );
            let (_, rest) = said.split_once("anything; ").unwrap();
            let (id, rest) = rest.split_once(" is published: ").expect(rest);
            assert!(
                rest.contains(&format!(
                    " {id}  # says where it is, once the daemon runs again"
                )),
                "{said}"
            );
            id.to_owned()
        })
        .collect();
    bob.signal(Signal::CONT);
    eventually("all are in bob's inbox", || {
        let inbox = bob.inbox();
        let is_there = |id: &String| inbox.iter().any(|item| item["message-id"] == **id);
        sent.iter().all(is_there).then_some(())
    });
    alice.start();
    for id in &sent {
        eventually("its end is known", || {
            let shown = alice.json(&["status", id]).remove(0);
            (shown["state"] == "received").then_some(())
        });
    }
}

#[test]
fn whoever_waits_when_the_daemon_is_killed_hears_that_nobody_knows() {
    let house = House::new();
    let (mut alice, bob) = house.alice_and_bob();
    alice.ping(&bob);
    bob.signal(Signal::STOP);
    let mut command = alice.command(&["send", &bob.agent, "--notify", "{}"]);
    let sending = command.stderr(Stdio::piped()).spawn().unwrap();
    eventually("it has left", || {
        let out = alice.json(&["outbox"]);
        out.iter()
            .any(|one| one["state"] == "published")
            .then_some(())
    });
    alice.kill();
    let output = sending.wait_with_output().unwrap();
    let said = says(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(
        said.starts_with("error: outcome-unknown: ") && said.contains("signet outbox --home "),
        "{said}"
    );
    bob.signal(Signal::CONT);
    eventually("bob has it all the same", || {
        (bob.inbox().len() == 1).then_some(())
    });
}

#[test]
fn the_daemon_outlives_sighup_and_a_reader_of_its_errors_that_goes_away() {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    bob.start();
    let mut command = alice.command(&["run"]);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let _loose = Loose(child.id());
    alice.connected();
    drop(child.stderr.take());
    house::kill(child.id(), Signal::HUP);
    // Nobody reads the daemon's standard error any more: whatever it prints when Bob's daemon goes and comes must not
    // end it.
    bob.stop();
    bob.start();
    alice.ping(&bob);
    assert!(child.try_wait().unwrap().is_none());
    house::kill(child.id(), Signal::TERM);
    assert_eq!(
        eventually("it ends", || child.try_wait().unwrap()).code(),
        Some(0)
    );
}

#[test]
fn the_daemon_does_not_die_with_the_terminal_that_started_it() {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    bob.start();
    let run = format!(
        "'{}' run --home '{}'",
        env!("CARGO_BIN_EXE_signet"),
        alice.dir.display()
    );
    let mut terminal = Command::new("script");
    terminal
        .args(["-q", "-c", &run, "/dev/null"])
        .env("NATS_URL", house.server.url());
    let mut terminal = terminal
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    alice.connected();
    let pid = alice.call("status", &json!({})).unwrap()["pid"]
        .as_u64()
        .unwrap()
        .try_into()
        .unwrap();
    let _loose = Loose(pid);
    assert_ne!(pid, terminal.id());
    terminal.kill().unwrap();
    terminal.wait().unwrap();
    alice.ping(&bob);
    house::kill(pid, Signal::TERM);
    eventually("it ends", || alice.client().is_err().then_some(()));
}

#[test]
fn a_second_daemon_is_refused_and_a_stale_lock_is_not() {
    let house = House::new();
    let (mut alice, bob) = house.alice_and_bob();
    let second = alice.cli(&["run"]);
    assert_eq!(second.status.code(), Some(1));
    let running = format!("process {}", alice.pid());
    assert!(says(&second).contains(&running), "{}", says(&second));
    alice.ping(&bob);
    alice.kill();
    // Write the number of process 1 into the lock: it always runs, but holds no lock. Neither that number nor the
    // socket left behind may keep a daemon from starting.
    let lock = signet::home::Home::at(&alice.dir).lock_file();
    std::fs::write(lock, "1\n").unwrap();
    assert!(alice.dir.join("control.sock").exists());
    alice.start();
    alice.ping(&bob);
}

#[test]
fn a_connection_that_was_never_there_is_not_told_of_as_lost() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    assert!(!alice.said().contains("disconnected"), "{}", alice.said());
    alice.stop();
    // Without a server, nothing was lost either.
    alice.served_by(1);
    let mut command = alice.command(&["run"]);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let _loose = Loose(child.id());
    eventually("it runs", || alice.client().ok());
    std::thread::sleep(std::time::Duration::from_secs(1));
    house::kill(child.id(), Signal::TERM);
    eventually("it ends", || child.try_wait().unwrap());
    let mut said = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut said).unwrap();
    assert!(!said.contains("disconnected"), "{said}");
}

#[test]
fn a_connection_that_is_lost_is_told_of() {
    let mut house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    house.server.kill();
    eventually("it says so", || {
        alice.said().contains("disconnected").then_some(())
    });
}

/// Another program of the same user holds every place of the control socket.
#[test]
fn connections_that_ask_nothing_do_not_keep_the_person_from_a_pause() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let socket = alice.dir.join("control.sock");
    let held: Vec<_> = (0..64)
        .map(|_| {
            let mut client = alice.client().unwrap();
            client.raw("status", &json!({})).unwrap();
            client
        })
        .collect();
    let more: Vec<_> = (0..64)
        .map(|_| std::os::unix::net::UnixStream::connect(&socket).unwrap())
        .collect();
    assert!(
        alice
            .done(&["pause"])
            .starts_with("the agents of alice pause")
    );
    assert!(alice.done(&["status"]).contains("signet resume"));
    alice.done(&["resume"]);
    drop((held, more));
}
