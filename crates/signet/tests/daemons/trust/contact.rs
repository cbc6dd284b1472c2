//! Two strangers meet.

use std::process::Command;

use serde_json::json;

use super::{decisions, gets, is_asked_about, key, pending, standing, verifies, words};
use crate::house::{Home, House, eventually, says, signet};

const HELLO: &str = r#"{"hello":"neighbour"}"#;

fn strangers(house: &House) -> (Home, Home) {
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    alice.start();
    bob.start();
    (alice, bob)
}

fn writes_to(alice: &Home, bob: &Home) {
    let said = alice.waits(&["send", &bob.agent, "--notify", HELLO]);
    assert!(said.contains("waits for introduction"), "{said}");
    assert!(
        said.contains("\n  next: agent-bob's person approves you"),
        "{said}"
    );
}

#[test]
fn two_strangers_meet_by_the_commands_alone_and_the_first_message_arrives() {
    let house = House::new();
    let (alice, bob) = strangers(&house);
    assert_eq!(
        bob.done(&["trust", "pending"]),
        "nobody waits for your decision\n"
    );
    writes_to(&alice, &bob);
    let seen = is_asked_about(&bob, &alice);
    assert_eq!(seen["fingerprint"], words(&alice).as_str());
    let page = bob.done(&["trust", "pending"]);
    assert!(
        page.contains(&words(&alice)) && page.contains("nobody has verified"),
        "{page}"
    );
    assert!(alice.done(&["status"]).contains(&words(&alice)));
    // The command that the page gives is typed as it stands.
    let line = page
        .lines()
        .find(|line| line.contains("trust approve"))
        .unwrap();
    let (_, command) = line.split_once(":  ").unwrap();
    let folder = signet().parent().unwrap().display().to_string();
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]);
    let shell = shell.env("PATH", format!("{folder}:/usr/bin:/bin"));
    let output = shell.output().unwrap();
    assert!(output.status.success(), "{command}: {}", says(&output));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        said.starts_with("agent-alice is trusted") && said.contains(&words(&alice)),
        "{said}"
    );
    assert!(pending(&bob).is_empty());
    assert!(bob.inbox().is_empty(), "nothing before both have approved");
    let seen = is_asked_about(&alice, &bob);
    assert_eq!(seen["fingerprint"], words(&bob).as_str());
    let approved = alice.json(&["trust", "approve", &bob.agent]).remove(0);
    assert_eq!(
        approved,
        json!({"agent": bob.agent, "fingerprint": words(&bob)})
    );
    assert_eq!(
        gets(&bob, &json!({"hello": "neighbour"}))["from"],
        alice.agent.as_str()
    );
    eventually("nothing waits any more", || {
        (alice.done(&["drafts"]) == "nothing waits to leave\n").then_some(())
    });
    for (home, other) in [(&alice, &bob), (&bob, &alice)] {
        assert_eq!(standing(home, other), "trusted");
        assert!(home.done(&["trust", "list"]).contains(&words(other)));
        assert_eq!(decisions(home), ["pending", "bound"], "{}", home.agent);
        assert_eq!(home.done(&["trust", "log"]).lines().count(), 2);
        verifies(home);
    }
}

#[test]
fn whoever_is_stopped_when_their_person_approves_goes_on_at_the_next_start() {
    let house = House::new();
    let (mut alice, mut bob) = strangers(&house);
    writes_to(&alice, &bob);
    is_asked_about(&bob, &alice);
    assert!(bob.stop().success());
    assert_eq!(pending(&bob).len(), 1, "a stopped agent is asked as well");
    bob.done(&["trust", "approve", &alice.agent]);
    assert_eq!(standing(&bob, &alice), "trusted");
    bob.start();
    is_asked_about(&alice, &bob);
    alice.kill();
    alice.done(&["trust", "approve", &bob.agent]);
    alice.start();
    gets(&bob, &json!({"hello": "neighbour"}));
    alice.ping(&bob);
    verifies(&alice);
    verifies(&bob);
}

#[test]
fn a_kill_between_any_two_steps_loses_no_step() {
    let house = House::new();
    let (mut alice, mut bob) = strangers(&house);
    let again = |home: &mut Home| {
        home.kill();
        home.start();
    };
    writes_to(&alice, &bob);
    again(&mut alice);
    is_asked_about(&bob, &alice);
    again(&mut bob);
    is_asked_about(&bob, &alice);
    bob.done(&["trust", "approve", &alice.agent]);
    again(&mut bob);
    is_asked_about(&alice, &bob);
    again(&mut alice);
    alice.done(&["trust", "approve", &bob.agent]);
    again(&mut alice);
    gets(&bob, &json!({"hello": "neighbour"}));
    again(&mut bob);
    assert_eq!(bob.inbox().len(), 1, "once");
    bob.ping(&alice);
    verifies(&alice);
    verifies(&bob);
}

#[test]
fn who_is_refused_is_not_asked_about_again_and_may_be_added_later() {
    let house = House::new();
    let (mut alice, bob) = strangers(&house);
    writes_to(&alice, &bob);
    is_asked_about(&bob, &alice);
    let said = bob.done(&["trust", "refuse", &alice.agent]);
    assert!(said.contains("not asked about it again"), "{said}");
    assert!(pending(&bob).is_empty());
    // She announces herself again.
    assert!(alice.stop().success());
    let before = bob.refusals().len();
    alice.start();
    eventually("the announce is refused", || {
        (bob.refusals().len() > before).then_some(())
    });
    assert!(pending(&bob).is_empty());
    assert_eq!(decisions(&bob), ["pending", "refused"]);
    assert!(alice.done(&["drafts"]).contains("waits for introduction"));
    let said = bob.fails(1, &["trust", "approve", &alice.agent]);
    assert!(said.contains("stranger-unknown"), "{said}");
    bob.knows(&alice);
    alice.knows(&bob);
    gets(&bob, &json!({"hello": "neighbour"}));
}

#[test]
fn a_stranger_under_a_known_name_is_told_apart_by_the_root_key() {
    let house = House::new();
    let (alice, bob) = strangers(&house);
    let mut mallory = house.made("mallory", "agent-alice", "alice", &[]);
    writes_to(&alice, &bob);
    is_asked_about(&bob, &alice);
    mallory.start();
    writes_to(&mallory, &bob);
    eventually("both wait", || (pending(&bob).len() == 2).then_some(()));
    let said = bob.fails(1, &["trust", "approve", "agent-alice"]);
    assert!(
        said.contains("stranger-ambiguous") && said.contains("--root"),
        "{said}"
    );
    let waiting = pending(&bob);
    let root = |home: &Home| {
        let words = words(home);
        let found = waiting
            .iter()
            .find(|one| one["fingerprint"] == words.as_str());
        found.unwrap()["root"].as_str().unwrap().to_owned()
    };
    bob.done(&["trust", "approve", "agent-alice", "--root", &root(&alice)]);
    let said = bob.fails(
        1,
        &["trust", "approve", "agent-alice", "--root", &root(&mallory)],
    );
    assert!(
        said.contains("taken") || said.contains("root") || said.contains("waits"),
        "{said}"
    );
    is_asked_about(&alice, &bob);
    alice.done(&["trust", "approve", &bob.agent]);
    gets(&bob, &json!({"hello": "neighbour"}));
    assert_eq!(bob.inbox().len(), 1, "nothing of the other one");
    assert!(bob.done(&["trust", "list"]).contains(&words(&alice)));
}

#[test]
fn every_mistake_is_told_in_two_lines_with_a_way_on() {
    let house = House::new();
    let mut alice = house.home("alice");
    assert!(
        alice
            .done(&["trust", "list"])
            .contains("nobody is known yet\n  next: ")
    );
    assert_eq!(
        alice.done(&["trust", "log"]),
        "nobody was trusted, refused or revoked yet\n"
    );
    for running in [false, true] {
        if running {
            alice.start();
        }
        for verb in ["approve", "refuse"] {
            let said = alice.fails(1, &["trust", verb, "agent-nobody"]);
            assert!(
                said.contains("stranger-unknown") && said.contains("signet trust pending"),
                "{said}"
            );
        }
        let said = alice.fails(1, &["trust", "revoke", "agent-nobody"]);
        assert!(
            said.contains("not trusted") && said.contains("next: signet trust list"),
            "{said}"
        );
        let said = alice.fails(
            2,
            &["trust", "approve", "agent-nobody", "--root", "nonsense"],
        );
        assert!(said.contains("root"), "{said}");
        alice.fails(2, &["trust", "revoke", "--statement", "/nonexistent"]);
        let pem = key(&alice, "signing.pem");
        alice.fails(2, &["trust", "revoke", "--statement", &pem]);
        alice.fails(2, &["trust", "replace-root", "/nonexistent"]);
        alice.fails(2, &["trust", "replace-root", &pem]);
        let own = key(&alice, "certificate.json");
        let said = alice.fails(1, &["trust", "replace-root", &own]);
        assert!(said.contains("reflected"), "{said}");
        let said = alice.fails(1, &["trust", "revoke", "--statement", &own]);
        assert!(said.contains("statement-invalid"), "{said}");
    }
    let nobody = alice.cli(&["trust", "revoke"]);
    assert_eq!(nobody.status.code(), Some(2));
}
