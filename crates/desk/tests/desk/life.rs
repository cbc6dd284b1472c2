//! How the view begins and ends.

use std::process::Stdio;

use serde_json::json;

use crate::house::{House, eventually, says};
use crate::scene::{Scene, View};

fn is_gone(pid: u32) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    state.is_empty()
        || state
            .rsplit_once(") ")
            .is_some_and(|(_, state)| state.starts_with('Z'))
}

#[test]
fn a_view_that_nobody_uses_ends_with_its_programs_and_leaves_no_file() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let mut view = View::open(&house, &[&alice], &["--idle", "1"]);
    let processes = view.processes();
    let ended = eventually("it ends by itself", || view.child.try_wait().unwrap());
    assert!(ended.success(), "{ended}");
    assert!(processes[1..].iter().all(|pid| is_gone(*pid)));
    assert!(!view.file.exists());
    assert!(
        alice.call("status", &json!({})).is_ok(),
        "the daemon goes on"
    );
}

#[test]
fn a_desk_that_is_killed_ends_the_view_with_an_error_and_a_killed_view_ends_the_desk() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let mut view = View::open(&house, &[&alice], &[]);
    let desk = view.processes()[1];
    signet_driver::send_signal(desk, rustix::process::Signal::KILL).unwrap();
    let ended = eventually("the view ends", || view.child.try_wait().unwrap());
    assert_eq!(ended.code(), Some(1));
    let mut view = View::open(&house, &[&alice], &[]);
    let desk = view.processes()[1];
    view.child.kill().unwrap();
    view.child.wait().unwrap();
    eventually("the desk ends with it", || is_gone(desk).then_some(()));
}

#[test]
fn without_a_browser_the_address_is_said_and_it_is_good_once() {
    let scene = Scene::new();
    let mut command = scene.alice.command(&["view", "--desk"]);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    while !said.contains("/o/") {
        std::io::BufRead::read_line(&mut out, &mut said).unwrap();
    }
    let once = said
        .split_whitespace()
        .find(|word| word.contains("/o/"))
        .unwrap()
        .to_owned();
    let mut browser = crate::browser::Browser::default();
    assert!(browser.follow(None, &once).body.contains("The desk"));
    assert_eq!(
        crate::browser::Browser::default()
            .follow(None, &once)
            .status,
        410
    );
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn over_ssh_the_desk_listens_where_it_was_told() {
    let scene = Scene::new();
    let port = signet_testkit::free_port();
    let number = port.to_string();
    let mut command = scene.alice.command(&["view", "--desk", "--port", &number]);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    while !said.contains("/o/") {
        std::io::BufRead::read_line(&mut out, &mut said).unwrap();
    }
    assert!(
        said.contains(&format!("http://127.0.0.1:{port}/o/")),
        "{said}"
    );
    let once = said
        .split_whitespace()
        .find(|word| word.contains("/o/"))
        .unwrap()
        .to_owned();
    let mut browser = crate::browser::Browser::default();
    assert!(browser.follow(None, &once).body.contains("The desk"));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn what_cannot_be_shown_says_what_to_do() {
    let house = House::new();
    let alice = house.home("alice");
    let said = alice.fails(2, &["view", "--desk"]);
    assert!(said.contains("has no log yet"), "{said}");
    let output = alice.command(&["status", "--home", "x"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        says(&output).contains("--home is given more than once"),
        "{}",
        says(&output)
    );
}

#[test]
fn the_desk_started_by_hand_says_how_it_is_opened() {
    let desk = env!("CARGO_BIN_EXE_signet-desk");
    let output = std::process::Command::new(desk)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(!output.status.success());
    assert!(says(&output).contains("signet view"), "{}", says(&output));
}
