//! What leaves only when a person says so: tier 4.

use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use super::{decisions, gets, key, text, verifies};
use crate::house::{Home, House, eventually, says};

const WORDS: &str = r#"{"pin":"not for everybody"}"#;

/// Alice and Bob, who may say everything to each other.
fn confidants(house: &House) -> (Home, Home) {
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    for home in [&alice, &bob] {
        home.configure("# tier = 2", "tier = 4");
    }
    house.acquaint(&[&alice, &bob]);
    alice.start();
    bob.start();
    alice.ping(&bob);
    (alice, bob)
}

/// Sends at tier 4; the name of what waits.
fn asks_to_tell(alice: &Home, bob: &Home) -> String {
    let args = [
        "send",
        &bob.agent,
        "--tier",
        "4",
        "--notify",
        WORDS,
        "--summary",
        "A secret",
    ];
    let said = alice.waits(&args);
    assert!(
        said.contains("waits for approval\n  next: signet approve "),
        "{said}"
    );
    said.split_whitespace().nth(1).unwrap().to_owned()
}

fn arrives(bob: &Home) {
    let got = gets(bob, &serde_json::from_str(WORDS).unwrap());
    assert_eq!(
        (&got["data-tier"], &got["summary"]),
        (&json!(4), &json!("A secret"))
    );
}

/// A machine that has nothing but the binary and what was carried there.
fn elsewhere(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_signet"));
    command
        .args(args)
        .env_clear()
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[test]
fn a_restricted_message_leaves_when_its_person_approves_and_not_before() {
    let house = House::new();
    let (alice, bob) = confidants(&house);
    assert_eq!(alice.done(&["drafts"]), "nothing waits to leave\n");
    let id = asks_to_tell(&alice, &bob);
    let page = alice.done(&["drafts"]);
    for part in [&id, "tier 4", "A secret", WORDS, "waits for approval"] {
        assert!(page.contains(part), "{page}");
    }
    assert!(alice.done(&["status"]).contains("signet drafts"));
    alice.ping(&bob);
    assert!(bob.inbox().is_empty());
    let said = alice.done(&["approve", &id]);
    assert!(
        said.contains(WORDS) && said.ends_with("approved, and on its way\n"),
        "{said}"
    );
    arrives(&bob);
    let said = alice.fails(1, &["approve", &id]);
    assert!(said.contains("draft-unknown"), "{said}");
    assert_eq!(decisions(&alice), ["bound", "approved"]);
    verifies(&alice);
}

#[test]
fn a_refused_draft_never_leaves() {
    let house = House::new();
    let (alice, bob) = confidants(&house);
    let (one, two) = (asks_to_tell(&alice, &bob), asks_to_tell(&alice, &bob));
    let said = alice.fails(2, &["approve", &one[..8]]);
    assert!(said.contains("more than one message begins"), "{said}");
    assert!(said.contains(&one) && said.contains(&two), "{said}");
    assert!(
        alice
            .fails(2, &["approve", &one[..3]])
            .contains("too short")
    );
    assert_eq!(alice.cli(&["approve", ""]).status.code(), Some(2));
    let done = alice.json(&["approve", &one, "--refuse"]).remove(0);
    assert_eq!(done, json!({"decision": "refused", "sent": false}));
    let said = alice.done(&["approve", &two[..8], "--refuse"]);
    assert!(said.ends_with("refused; it never leaves\n"), "{said}");
    assert_eq!(alice.done(&["drafts"]), "nothing waits to leave\n");
    alice.ping(&bob);
    assert!(bob.inbox().is_empty());
    assert_eq!(decisions(&alice), ["bound", "refused", "refused"]);
}

#[test]
fn an_approved_draft_is_not_called_sent_when_a_handshake_alone_leaves() {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    for home in [&alice, &bob] {
        home.configure("# tier = 2", "tier = 4");
    }
    house.acquaint(&[&alice, &bob]);
    alice.start();
    let id = asks_to_tell(&alice, &bob);
    let done = alice.json(&["approve", &id]).remove(0);
    assert_eq!(done, json!({"decision": "approved", "sent": false}));
    bob.start();
    arrives(&bob);
}

#[test]
fn the_control_key_may_be_anywhere_and_a_foreign_one_is_refused() {
    let house = House::new();
    let (alice, bob) = confidants(&house);
    let id = asks_to_tell(&alice, &bob);
    let stick = house.path("control.pem");
    std::fs::rename(key(&alice, "control.pem"), &stick).unwrap();
    let said = alice.fails(2, &["approve", &id]);
    assert!(
        said.contains("is not at") && said.contains("next: say where it is kept"),
        "{said}"
    );
    let foreign = key(&bob, "control.pem");
    for args in [
        &["approve", &id, "--key", &foreign][..],
        &["pause", "--key", &foreign],
    ] {
        let said = alice.fails(1, args);
        assert!(said.contains("statement-invalid"), "{said}");
    }
    assert!(bob.inbox().is_empty());
    alice.done(&["approve", &id, "--key", stick.to_str().unwrap()]);
    arrives(&bob);
}

#[test]
fn a_draft_is_approved_on_a_machine_that_never_sees_the_daemon() {
    let house = House::new();
    let (alice, bob) = confidants(&house);
    let id = asks_to_tell(&alice, &bob);
    let [stick, drafts, signed] = ["control.pem", "drafts.json", "approval.json"]
        .map(|name| house.path(name).to_str().unwrap().to_owned());
    std::fs::rename(key(&alice, "control.pem"), &stick).unwrap();
    std::fs::write(&drafts, alice.done(&["drafts", "--json"])).unwrap();
    let sign = [
        "approve",
        &id[..],
        "--drafts",
        &drafts,
        "--key",
        &stick,
        "--out",
        &signed,
    ];
    let output = elsewhere(&sign);
    assert!(output.status.success(), "{}", says(&output));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        said.contains(WORDS) && said.contains("signet approve --statement"),
        "{said}"
    );
    assert!(!text(signed.as_ref()).contains("not for everybody"));
    // Nothing is overwritten.
    let output = elsewhere(&sign);
    assert_eq!(
        (output.status.code(), says(&output).lines().count()),
        (Some(1), 2),
        "{output:?}"
    );
    let said = alice.done(&["approve", "--statement", &signed]);
    assert_eq!(said, "approved, and on its way\n");
    arrives(&bob);
    let said = alice.fails(1, &["approve", "--statement", &signed]);
    assert!(said.contains("draft-unknown"), "{said}");
}

#[test]
fn a_list_of_drafts_that_shows_another_recipient_or_tier_is_not_signed() {
    let house = House::new();
    let (alice, bob) = confidants(&house);
    let id = asks_to_tell(&alice, &bob);
    let list = alice.json(&["drafts"]).remove(0);
    let control = key(&alice, "control.pem");
    for (name, value) in [
        ("peer", json!("agent-carol")),
        ("data-tier", json!(2)),
        ("type", json!("request")),
        ("draft", json!({})),
    ] {
        let mut forged = list.clone();
        forged[name] = value;
        let file = house.path(&format!("{name}.json"));
        std::fs::write(&file, forged.to_string()).unwrap();
        let out = house.path("out.json");
        let files = [file.to_str().unwrap(), &control, out.to_str().unwrap()];
        let output = elsewhere(&[
            "approve", &id, "--drafts", files[0], "--key", files[1], "--out", files[2],
        ]);
        assert_eq!(output.status.code(), Some(1), "{name}");
        assert!(
            says(&output).contains("something else than what would be signed"),
            "{}",
            says(&output)
        );
        assert!(!out.exists());
    }
}

#[test]
fn a_list_of_drafts_that_shows_other_words_than_those_that_would_leave_is_not_signed() {
    let house = House::new();
    let (alice, bob) = (house.home("alice"), house.home("bob"));
    alice.configure("# tiers = [4]", "tiers = [1, 4]");
    house.acquaint(&[&alice, &bob]);
    let (mut alice, mut bob) = (alice, bob);
    alice.start();
    bob.start();
    let send = [
        "send",
        &bob.agent,
        "--notify",
        WORDS,
        "--summary",
        "A secret",
    ];
    let said = alice.waits(&send);
    let id = said.split_whitespace().nth(1).unwrap();
    let list = alice.json(&["drafts"]).remove(0);
    let (control, file) = (key(&alice, "control.pem"), house.path("drafts.json"));
    let signs = |list: &str| {
        std::fs::write(&file, list).unwrap();
        let out = house.path("out.json");
        let files = [file.to_str().unwrap(), &control, out.to_str().unwrap()];
        let output = elsewhere(&[
            "approve", id, "--drafts", files[0], "--key", files[1], "--out", files[2],
        ]);
        let code = output.status.code().unwrap();
        assert_eq!(out.exists(), code == 0, "{}", says(&output));
        (code, says(&output))
    };
    for (name, value) in [("body", json!({})), ("summary", json!("Nothing"))] {
        let mut forged = list.clone();
        forged[name] = value;
        let (code, said) = signs(&forged.to_string());
        let is_seen = said.contains("something else than what would be signed");
        assert!(code == 1 && is_seen, "{name}: {said}");
    }
    let (code, said) = signs(&format!("{list}\n{{\"draft\": 1}}\n"));
    assert!(code == 2 && said.contains("no draft"), "{said}");
    assert_eq!(signs(&list.to_string()).0, 0);
}

#[test]
fn a_changed_or_foreign_approval_releases_nothing() {
    let house = House::new();
    let (alice, bob) = confidants(&house);
    let id = asks_to_tell(&alice, &bob);
    let signed = house.path("refusal.json");
    let signed = signed.to_str().unwrap();
    alice.done(&["approve", &id, "--refuse", "--out", signed]);
    let honest: Value = serde_json::from_str(&text(signed.as_ref())).unwrap();
    let mut changed = honest.clone();
    changed["statement"]["decision"] = "approved".into();
    let mut foreign = honest.clone();
    foreign["control"] = serde_json::from_str(&text(key(&bob, "control.json").as_ref())).unwrap();
    for forged in [
        changed,
        foreign,
        json!({}),
        json!([]),
        json!({"statement": 1, "control": 2}),
    ] {
        let file = house.path("forged.json");
        std::fs::write(&file, forged.to_string()).unwrap();
        let output = alice.cli(&["approve", "--statement", file.to_str().unwrap()]);
        let code = output.status.code().unwrap();
        assert!(code == 1 || code == 2, "{forged}: {}", says(&output));
        assert_eq!(says(&output).lines().count(), 2, "{}", says(&output));
    }
    assert!(alice.done(&["drafts"]).contains(&id));
    alice.done(&["approve", "--statement", signed]);
    assert_eq!(alice.done(&["drafts"]), "nothing waits to leave\n");
    assert!(bob.inbox().is_empty());
}

#[test]
fn an_approval_outlives_a_kill_and_is_given_while_the_daemon_is_stopped() {
    let house = House::new();
    let (mut alice, mut bob) = confidants(&house);
    let id = asks_to_tell(&alice, &bob);
    alice.kill();
    assert!(
        alice.done(&["drafts"]).contains(WORDS),
        "a stopped agent shows its drafts"
    );
    bob.kill();
    let said = alice.done(&["approve", &id]);
    assert!(said.contains("approved"), "{said}");
    alice.start();
    alice.kill();
    alice.start();
    bob.start();
    arrives(&bob);
    eventually("nothing waits any more", || {
        (alice.done(&["drafts"]) == "nothing waits to leave\n").then_some(())
    });
    assert_eq!(bob.inbox().len(), 1, "once");
    verifies(&alice);
}
