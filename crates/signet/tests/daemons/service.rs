//! What a service manager hears of a daemon: readiness without a server, a status in plain words, beats as long as
//! every part lives, and none when one hangs.

use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use crate::house::strace::{Tracing, is_usable};
use crate::house::{Ear, Home, House, Loose, eventually, kill};

/// Many beats a second.
const SPAN: Duration = Duration::from_millis(300);
/// Long enough for some beats on a busy machine.
const WHILE: Duration = Duration::from_secs(3);

fn started(home: &mut Home, ear: &mut Ear) {
    let run = ear.watched(home.command(&["run"]), SPAN);
    home.spawn(run);
    ear.word("READY=1");
}

#[test]
fn readiness_waits_for_the_log_and_the_sockets_and_for_no_server() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.served_by(1);
    let mut ear = Ear::new();
    let begun = Instant::now();
    let run = ear.told_of(alice.command(&["run"]));
    alice.spawn(run);
    ear.status("running; no NATS server at nats://127.0.0.1:1 answers, trying again");
    ear.word("READY=1");
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(4), "{took:?}");
    // `READY=1` was true: keys, log, lock and sockets are there although no NATS server answers.
    let status = alice.call("status", &json!({})).unwrap();
    assert_eq!(status["connected"], false);
    assert!(!alice.log().is_empty());
    assert_eq!(alice.cli(&["run"]).status.code(), Some(1));
    assert!(
        ear.during(Duration::from_millis(500)).is_empty(),
        "no beats"
    );
    assert_eq!(alice.stop().code(), Some(0));
    ear.word("STOPPING=1");
}

#[test]
fn a_daemon_that_cannot_start_is_never_ready() {
    let house = House::new();
    let alice = house.home("alice");
    let mut ear = Ear::new();
    std::fs::remove_file(alice.dir.join("keys/signing.pem")).unwrap();
    let output = ear.told_of(alice.command(&["run"])).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = ear.during(Duration::from_millis(200));
    assert!(!said.iter().any(|line| line == "READY=1"), "{said:?}");
}

#[test]
fn the_status_says_what_changed_and_says_it_once() {
    let mut house = House::new();
    let mut alice = house.home("alice");
    let mut ear = Ear::new();
    started(&mut alice, &mut ear);
    ear.status("running, connected");
    alice.done(&["pause"]);
    ear.status("connected; the agents of its person pause");
    alice.done(&["resume"]);
    ear.until("nothing more", |line| line == "STATUS=running, connected");
    for _ in 0..5 {
        alice.done(&["status"]);
    }
    let said = ear.during(Duration::from_secs(1));
    let status = |line: &&String| line.starts_with("STATUS=");
    assert_eq!(said.iter().find(status), None);
    house.server.kill();
    ear.status("no NATS server at nats://127.0.0.1:");
    house.server.restart();
    ear.status("running, connected");
}

#[test]
fn a_login_in_the_address_of_a_server_stands_in_no_status() {
    let house = House::new();
    let mut alice = house.home("alice");
    let mut ear = Ear::new();
    let mut run = ear.told_of(alice.command(&["run"]));
    run.env("NATS_URL", "nats://alice:geheim@127.0.0.1:1");
    alice.spawn(run);
    // The daemon may start or refuse such an address, as other tests decide: in both cases the login is told to nobody.
    let said = ear.during(Duration::from_secs(1)).join("\n");
    assert!(
        !said.contains("geheim") && !said.contains("alice:"),
        "{said}"
    );
}

#[test]
fn a_server_that_refuses_the_login_is_no_server_that_is_away() {
    let mut house = House::new();
    let mut alice = house.home("alice");
    let open = house.server.config();
    let closed = format!("{open}\nauthorization {{ user: carol, password: hers }}\n");
    house.server.kill();
    house.server.configure(&closed);
    house.server.restart();
    let mut ear = Ear::new();
    started(&mut alice, &mut ear);
    ear.status("refuses the login of this agent, trying again");
    house.server.kill();
    ear.status("no NATS server at nats://127.0.0.1:");
    house.server.restart();
    ear.status("refuses the login of this agent, trying again");
    house.server.kill();
    house.server.configure(&open);
    house.server.restart();
    ear.status("running, connected");
}

#[test]
fn an_idle_daemon_beats_and_writes_no_line() {
    let house = House::new();
    let mut alice = house.home("alice");
    let mut ear = Ear::new();
    started(&mut alice, &mut ear);
    ear.status("running, connected");
    let before = alice.log_bytes();
    let beats = ear.beats(WHILE);
    assert!(beats >= 10, "{beats} beats");
    assert_eq!(alice.log_bytes(), before, "beats left something in the log");
    // Halt the process: there are no beats, so its service manager would notice. They come again when it goes on.
    alice.signal(Signal::STOP);
    ear.during(SPAN);
    assert_eq!(ear.beats(WHILE), 0);
    alice.signal(Signal::CONT);
    ear.word("WATCHDOG=1");
}

#[test]
fn beats_are_for_the_process_that_is_watched_and_for_nobody_who_inherits_the_environment() {
    let house = House::new();
    let mut alice = house.home("alice");
    let mut ear = Ear::new();
    let mut run = ear.watched(alice.command(&["run"]), SPAN);
    run.env("WATCHDOG_PID", "1");
    alice.spawn(run);
    ear.word("READY=1");
    assert_eq!(ear.beats(WHILE), 0);
}

#[test]
fn without_a_server_a_daemon_lives_all_the_same() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.served_by(1);
    let mut ear = Ear::new();
    started(&mut alice, &mut ear);
    assert!(ear.beats(WHILE) >= 5);
}

#[test]
fn a_server_that_hangs_with_the_connection_open_does_not_end_the_daemon() {
    let house = House::new();
    let (mut alice, bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    let mut ear = Ear::new();
    started(&mut alice, &mut ear);
    ear.status("running, connected");
    house.server.hang();
    for number in 0..20 {
        let params = json!({"peer": bob.agent, "kind": "notification", "body": number});
        alice.call("send", &params).unwrap();
    }
    let beats = ear.beats(WHILE);
    house.server.go_on();
    assert!(beats >= 5, "{beats}");
}

#[test]
fn a_full_disk_is_told_and_is_no_reason_to_end_the_daemon() {
    if !is_usable() {
        return;
    }
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    alice.stop();
    // The disk has room again after three tries.
    let mut ear = Ear::new();
    let waiting = fill(&mut alice, &mut ear, "error=ENOSPC:when=1..3");
    ear.status("running, connected");
    assert!(waiting.join().unwrap(), "the line is durable");
    assert_eq!(alice.stop().code(), Some(0));
    // Now the disk stays full, however often the daemon tries: three beats show that it waits and does not end.
    let mut ear = Ear::new();
    let _waiting = fill(&mut alice, &mut ear, "error=ENOSPC");
    for _ in 0..3 {
        let next = ear.until("a beat, or room", |line| {
            line == "WATCHDOG=1" || line.contains("running, connected")
        });
        assert_eq!(next, "WATCHDOG=1", "a full disk is waited out");
    }
    alice.kill();
}

/// Starts the daemon on a disk that answers as `what` says, and lets it write a line, until it tells of the full disk.
fn fill(home: &mut Home, ear: &mut Ear, what: &str) -> JoinHandle<bool> {
    let tracing = Tracing::inject("fallocate", what.to_owned());
    let run = home.traced(&tracing.only(home.log_files()));
    let run = ear.watched(run, SPAN);
    home.spawn(run);
    ear.word("READY=1");
    let waiting = say_something(home);
    ear.status("the disk is full; waiting");
    waiting
}

#[test]
fn a_start_that_waits_for_room_asks_for_more_time_and_is_not_ready() {
    if !is_usable() {
        return;
    }
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    alice.stop();
    let mut ear = Ear::new();
    let anchor = vec![alice.dir.join("log.new")];
    let tracing = Tracing::inject("openat", "error=ENOSPC:when=1..3".to_owned());
    let run = ear.told_of(alice.traced(&tracing.only(anchor)));
    alice.spawn(run);
    ear.status("the disk is full; waiting");
    let next = ear.until("more time, or ready", |line| {
        line.starts_with("EXTEND_TIMEOUT_USEC=") || line == "READY=1"
    });
    assert_ne!(next, "READY=1");
    ear.word("READY=1");
}

/// Lets the daemon write a line, and waits elsewhere until it is durable: whether the daemon said so.
fn say_something(home: &Home) -> JoinHandle<bool> {
    let params =
        json!({"peer": "agent-carol", "kind": "notification", "body": 1, "introduce": true});
    let mut client = home.client().unwrap();
    std::thread::spawn(move || client.raw("send", &params).is_ok())
}

/// Another process stops the thread of the log within fdatasync, as a disk does that answers no more.
fn hang_the_disk(home: &Home) -> (Child, Loose) {
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync"]);
    strace.args(["-e", "inject=fdatasync:delay_enter=40000000"]);
    strace.args(["-p", &home.pid().to_string()]);
    let child = strace.stdin(Stdio::null()).spawn().unwrap();
    let loose = Loose(child.id());
    eventually("strace holds every thread", || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", home.pid())).unwrap();
        let traced = |task: std::fs::DirEntry| {
            let text = std::fs::read_to_string(task.path().join("status")).unwrap_or_default();
            text.lines()
                .any(|line| line.starts_with("TracerPid:") && !line.ends_with("\t0"))
        };
        tasks.flatten().all(traced).then_some(())
    });
    (child, loose)
}

#[test]
fn a_disk_that_hangs_ends_the_beats_although_the_event_loop_still_answers() {
    if !is_usable() {
        return;
    }
    let house = House::new();
    let mut alice = house.home("alice");
    let mut ear = Ear::new();
    started(&mut alice, &mut ear);
    ear.status("running, connected");
    let (mut strace, _loose) = hang_the_disk(&alice);
    assert!(
        ear.beats(WHILE) >= 3,
        "nothing is written, and nothing hangs yet"
    );
    let waiting = say_something(&alice);
    ear.during(SPAN * 2);
    assert_eq!(ear.beats(WHILE), 0);
    kill(strace.id(), Signal::KILL);
    strace.wait().unwrap();
    ear.word("WATCHDOG=1");
    assert!(waiting.join().unwrap());
}
