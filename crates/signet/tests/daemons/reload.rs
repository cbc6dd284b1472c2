//! `config.toml` read anew by a daemon that runs: what it takes over and tells its peers, what it leaves as it was,
//! and what it does with a file that cannot be used.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::doctor::{ill, says_next};
use crate::house::{Ear, Home, House, eventually, says};

const DOOR: &str = "[[capability]]\nname = \"door.open\"\ntier = 1\n";

fn write(home: &Home, more: &str) {
    let file = home.dir.join("config.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(file, format!("{text}\n{more}")).unwrap();
}

fn known(alice: &Home, bob: &Home) -> Vec<String> {
    let offered = alice.standing(&bob.agent, "capabilities");
    let offered = offered.as_array().cloned().unwrap_or_default();
    let name = |one: &Value| one["name"].as_str().unwrap_or_default().to_owned();
    offered.iter().map(name).collect()
}

/// Alice, and Bob with somebody who listens to what he tells.
fn talking() -> (House, Home, Home, Ear) {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    alice.start();
    let mut ear = Ear::new();
    let run = ear.told_of(bob.command(&["run"]));
    bob.start_as(run);
    ear.word("READY=1");
    alice.ping(&bob);
    (house, alice, bob, ear)
}

#[test]
fn a_capability_that_is_added_reaches_peers_without_a_restart_or_a_message() {
    let (_house, alice, bob, mut ear) = talking();
    assert!(known(&alice, &bob).is_empty());
    let pid = bob.call("status", &json!({})).unwrap()["pid"].clone();
    write(&bob, DOOR);
    bob.signal(Signal::HUP);
    ear.word("RELOADING=1");
    ear.until("the time of it", |line| line.starts_with("MONOTONIC_USEC="));
    ear.word("READY=1");
    eventually("alice knows", || {
        (known(&alice, &bob) == ["door.open"]).then_some(())
    });
    let asked =
        json!({"peer": bob.agent, "kind": "request", "capability": "door.open", "body": {}});
    alice.call("send", &asked).unwrap();
    eventually("it arrives", || (bob.inbox().len() == 1).then_some(()));
    assert_eq!(bob.call("status", &json!({})).unwrap()["pid"], pid);
}

#[test]
fn the_command_says_what_is_in_force_who_is_told_and_what_waits_for_a_start() {
    let (_house, alice, bob, _ear) = talking();
    assert_eq!(
        bob.done(&["reload"]),
        "nothing that a running daemon takes over has changed\n"
    );
    write(&bob, DOOR);
    assert_eq!(
        bob.done(&["reload"]),
        "in force now: [[capability]]\ntold at once: agent-alice\n"
    );
    eventually("alice knows", || {
        (known(&alice, &bob) == ["door.open"]).then_some(())
    });
    bob.configure(
        "# tier = 4                               # the highest",
        "tier = 2 # the highest",
    );
    bob.configure("# layers = [0, 1, 2, 3]", "layers = [0, 1]");
    let waits = "nothing that a running daemon takes over has changed\n\
                 changed too, and as before until the daemon is started again: [agent], [agent-socket]\n";
    assert_eq!(bob.done(&["reload"]), waits);
    let again: Value = serde_json::from_str(&bob.done(&["reload", "--json"])).unwrap();
    assert_eq!(again["restart"], json!(["[agent]", "[agent-socket]"]));
    assert!(bob.said().contains("stay as they were"), "{}", bob.said());
    alice.ping(&bob);
}

#[test]
fn a_change_that_no_daemon_has_read_is_told_with_the_command_that_takes_it_over() {
    let house = House::new();
    let mut bob = house.home("bob");
    bob.start();
    let check = "config-in-force";
    let note = "config.toml was changed";
    ill(&bob, check, "well");
    assert!(!bob.done(&["status"]).contains(note));

    write(&bob, DOOR);
    let unread = ill(&bob, check, "warning");
    assert_eq!(unread["found"], "not in [[capability]]");
    assert!(bob.done(&["status"]).contains(note));
    says_next(&unread, "signet reload");
    bob.done(&["reload"]);
    ill(&bob, check, "well");

    // A reload reads it, and cannot take it over.
    bob.configure(
        "# reply-prefix = \"one-token\" ",
        "reply-prefix = \"two-tokens\" ",
    );
    bob.done(&["reload"]);
    let unread = ill(&bob, check, "warning");
    assert_eq!(unread["found"], "not in [nats]");
    says_next(&unread, "signet down");
    says_next(&unread, "&& signet run");
    bob.stop();
    bob.start();
    ill(&bob, check, "well");
}

#[test]
fn what_is_taken_back_is_refused_from_the_next_message_on() {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    write(&bob, DOOR);
    alice.start();
    bob.start();
    alice.ping(&bob);
    let ask = json!({
        "peer": bob.agent, "kind": "request", "capability": "door.open", "body": {}, "wait": 20.0,
        "mailbox-after": 20.0
    });
    let file = bob.dir.join("config.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace(DOOR, "")).unwrap();
    bob.done(&["reload"]);
    eventually("it is refused", || match alice.call("send", &ask) {
        Ok(sent) => (sent["state"] == "refused").then_some(()),
        // Bob's daemon may have told Alice's already that the capability is gone: then the call itself is refused.
        Err(_) => Some(()),
    });
    assert!(bob.inbox().is_empty());
}

#[test]
fn a_configuration_that_cannot_be_used_changes_nothing_and_is_told_everywhere() {
    let (_house, alice, bob, mut ear) = talking();
    let good = std::fs::read_to_string(bob.dir.join("config.toml")).unwrap();
    write(&bob, &format!("{DOOR}teir = 3\n"));
    bob.signal(Signal::HUP);
    let status = ear.status("the configuration before it stays in force: config.toml line ");
    assert!(status.contains("teir"), "{status}");
    // `READY=1` ends the reload, failed or not: without that word the service manager would wait on.
    ear.word("READY=1");
    assert!(bob.said().contains("stays in force"), "{}", bob.said());
    assert!(known(&alice, &bob).is_empty());
    let said = bob.fails(2, &["reload"]);
    assert!(said.contains("unknown key \"teir\""), "{said}");
    let refused = bob.call("reload", &json!({})).unwrap_err().to_string();
    assert!(refused.contains("config.toml line"), "{refused}");
    alice.ping(&bob);
    std::fs::write(bob.dir.join("config.toml"), good).unwrap();
    bob.done(&["reload"]);
    ear.until("all is well", |line| line == "STATUS=running, connected");
}

#[test]
fn a_pipe_in_the_place_of_the_configuration_holds_up_nobody() {
    let (_house, alice, bob, mut ear) = talking();
    let file = bob.dir.join("config.toml");
    std::fs::rename(&file, bob.dir.join("config.kept")).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg("-m600")
        .arg(&file)
        .status();
    assert!(made.unwrap().success());
    bob.signal(Signal::HUP);
    ear.status("stays in force");
    alice.ping(&bob);
    std::fs::remove_file(&file).unwrap();
    // A configuration that others may write is not taken over either.
    std::fs::copy(bob.dir.join("config.kept"), &file).unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    std::fs::set_permissions(&file, open).unwrap();
    bob.signal(Signal::HUP);
    ear.status("others than its owner may change it");
}

#[test]
fn an_agent_may_not_have_the_configuration_read() {
    let (_house, _alice, bob, mut ear) = talking();
    write(&bob, DOOR);
    let agent = bob.dir.join("agent.sock");
    let mut program = signet_api::Client::connect(&agent, Duration::from_secs(30)).unwrap();
    let refused = program.raw("reload", &json!({})).unwrap_err().to_string();
    assert!(refused.contains("reload is the person's call"), "{refused}");
    let said = ear.during(Duration::from_millis(300));
    assert!(!said.iter().any(|line| line == "RELOADING=1"), "{said:?}");
    let policy = bob.json(&["policy", "show"]);
    assert!(!policy[0].to_string().contains("door.open"), "{policy:?}");
}

#[test]
fn decisions_need_a_signature_as_soon_as_the_person_says_so_and_no_reload_takes_it_away() {
    let (_house, _alice, mut bob, _ear) = talking();
    let refused = |bob: &Home| {
        let error = bob.call("alarms.clear", &json!({})).unwrap_err();
        error.to_string().contains("[people] sign")
    };
    assert!(refused(&bob), "agent and person share a user id here");
    // Somebody who can write the configuration but has no control key turns the demand for signatures off: a reload
    // must not do that.
    bob.configure("# sign = \"all\"", "sign = \"none\"");
    let said = bob.done(&["reload"]);
    assert!(
        !said.contains("in force now: [people]") && said.contains("[people]"),
        "{said}"
    );
    assert!(refused(&bob), "not before the person starts it again");
    bob.stop();
    bob.start();
    bob.call("alarms.clear", &json!({})).unwrap();
    bob.configure("sign = \"none\"", "sign = \"all\"");
    assert_eq!(bob.done(&["reload"]), "in force now: [people]\n");
    assert!(refused(&bob));
}

#[test]
fn whoever_reloads_without_a_daemon_hears_that_there_is_none() {
    let house = House::new();
    let alice = house.home("alice");
    let output = alice.cli(&["reload"]);
    assert_eq!(output.status.code(), Some(3), "{}", says(&output));
}
