//! Trust taken back: by its giver, and by the root key of whoever had it.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{decisions, gets, key, pending, standing, text, verifies, words};
use crate::house::{Home, House, eventually};

/// Until `home` says so of `other`.
fn stands(home: &Home, other: &Home, how: &str) {
    eventually(how, || (standing(home, other) == how).then_some(()));
}

/// `signet key revoke` of the agent's own certificates; the statement's file.
fn revokes_itself(home: &Home) -> (String, PathBuf) {
    let out = home.dir.join("revocation.json");
    let said = home.done(&[
        "key",
        "revoke",
        "--reason",
        "laptop stolen",
        "--root",
        &key(home, "root.pem"),
        "--out",
        out.to_str().unwrap(),
    ]);
    (said, out)
}

#[test]
fn trust_is_taken_back_and_given_again() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    alice.ping(&bob);
    alice.send(&bob, "notification", &json!({"n": 1})).unwrap();
    gets(&bob, &json!({"n": 1}));
    let said = bob.done(&["trust", "revoke", &alice.agent]);
    assert!(
        said.starts_with("agent-alice is trusted no more\n"),
        "{said}"
    );
    assert!(said.contains("your agent no longer gets: 1"), "{said}");
    assert_eq!(standing(&bob, &alice), "withdrawn");
    assert!(bob.done(&["trust", "list"]).contains(&format!(
        "next: signet trust approve --home {} agent-alice",
        bob.dir.display()
    )));
    // Her message is the person's to read, and no more the agent's.
    assert_eq!(bob.done(&["inbox"]), "nothing waits\n");
    assert!(bob.done(&["inbox", "--set-aside"]).contains("{\"n\":1}"));
    let said = bob.fails(1, &["send", &alice.agent, "--notify", "{}"]);
    assert!(
        said.contains("peer-revoked") && said.contains("next: signet trust list --home "),
        "{said}"
    );
    let said = bob.fails(1, &["trust", "revoke", &alice.agent]);
    assert!(said.contains("not trusted"), "{said}");
    alice.send(&bob, "notification", &json!({"n": 2})).unwrap();
    eventually("it is refused", || {
        bob.refusals()
            .contains(&"trust-withdrawn".to_owned())
            .then_some(())
    });
    bob.done(&["trust", "approve", &alice.agent]);
    assert_eq!(standing(&bob, &alice), "trusted");
    bob.ping(&alice);
    alice.ping(&bob);
    alice.send(&bob, "notification", &json!({"n": 3})).unwrap();
    gets(&bob, &json!({"n": 3}));
    assert_eq!(decisions(&bob), ["bound", "withdrawn", "bound"]);
    verifies(&bob);
}

#[test]
fn a_stolen_agent_is_revoked_everywhere_and_goes_on_with_a_new_key() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    alice.ping(&bob);
    let (said, _) = revokes_itself(&alice);
    assert!(said.contains("The running daemon has it"), "{said}");
    stands(&bob, &alice, "revoked");
    let said = bob.fails(1, &["send", &alice.agent, "--notify", "{}"]);
    assert!(said.contains("peer-revoked"), "{said}");
    assert!(
        bob.done(&["trust", "list"])
            .contains("ask its person for a new certificate")
    );
    assert!(bob.done(&["trust", "log"]).contains("laptop stolen"));
    let said = bob.fails(1, &["trust", "approve", &alice.agent]);
    assert!(said.contains("stranger-unknown"), "{said}");
    alice.done(&[
        "key",
        "rotate",
        "signing",
        "--root",
        &key(&alice, "root.pem"),
    ]);
    stands(&bob, &alice, "trusted");
    alice.ping(&bob);
    bob.ping(&alice);
    verifies(&alice);
    verifies(&bob);
}

#[test]
fn a_revocation_by_file_counts_wherever_it_is_handed_in_also_while_stopped() {
    let house = House::new();
    let (mut alice, mut bob) = house.alice_and_bob();
    let mut carol = house.home("carol");
    alice.ping(&bob);
    assert!(alice.stop().success() && bob.stop().success());
    let (said, file) = revokes_itself(&alice);
    assert!(!said.contains("running daemon has it"), "{said}");
    let file = file.to_str().unwrap();
    let said = bob.done(&["trust", "revoke", "--statement", file]);
    assert!(said.contains("are revoked, for good\n"), "{said}");
    let said = bob.done(&["trust", "revoke", "--statement", file]);
    assert!(
        said.contains("are revoked, as was known already\n"),
        "{said}"
    );
    assert_eq!(standing(&bob, &alice), "revoked");
    bob.start();
    alice.start();
    assert_eq!(standing(&bob, &alice), "revoked");
    eventually("what she signs is refused", || {
        bob.refusals()
            .contains(&"certificate-revoked".to_owned())
            .then_some(())
    });
    let taken = bob
        .json(&["trust", "revoke", "--statement", file])
        .remove(0);
    assert_eq!(taken["changed"], false);
    assert_eq!(decisions(&bob), ["bound", "revoked"]);
    // Carol's home does not know Alice's root key, so it cannot check the signature and refuses the revocation, with
    // and without a daemon.
    for running in [false, true] {
        if running {
            carol.start();
        }
        let said = carol.fails(1, &["trust", "revoke", "--statement", file]);
        assert!(said.contains("statement-invalid"), "{said}");
    }
}

#[test]
fn a_revocation_that_was_changed_or_is_signed_by_a_stranger_is_refused() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    let (_, file) = revokes_itself(&alice);
    let mut statement: Value = serde_json::from_str(&text(&file)).unwrap();
    statement["serial"] = json!(9_007_199_254_740_991_u64);
    let changed = bob.dir.join("changed.json");
    std::fs::write(&changed, statement.to_string()).unwrap();
    let said = bob.fails(
        1,
        &["trust", "revoke", "--statement", changed.to_str().unwrap()],
    );
    assert!(said.contains("statement-invalid"), "{said}");
    let mallory = house.made("mallory", "agent-alice", "alice", &[]);
    let (_, forged) = revokes_itself(&mallory);
    let said = bob.fails(
        1,
        &["trust", "revoke", "--statement", forged.to_str().unwrap()],
    );
    assert!(said.contains("statement-invalid"), "{said}");
}

#[test]
fn a_person_who_lost_every_key_is_known_again_only_by_decision() {
    let house = House::new();
    let (alice, mut bob) = house.alice_and_bob();
    alice.ping(&bob);
    assert!(bob.stop().success());
    let mut anew = house.made("bob-anew", "agent-bob", "bob", &[]);
    anew.knows(&alice);
    anew.start();
    // A daemon announces itself only when it has something to send: give Bob's new one a message.
    anew.send(&alice, "notification", &json!({})).unwrap();
    let shown = eventually("an alarm", || {
        let shown = alice.json(&["trust", "pending"]);
        let mut shown = shown.into_iter();
        shown.find(|one| one["kind"] == "root-alarm")
    });
    assert!(pending(&alice).is_empty(), "{shown}");
    let page = alice.done(&["trust", "pending"]);
    assert!(
        page.starts_with("ALARM") && page.contains("nothing was accepted"),
        "{page}"
    );
    assert!(alice.done(&["status"]).contains("ALARM"));
    let file = anew.dir.join("bob-new.json");
    std::fs::write(&file, anew.done(&["peer", "export"])).unwrap();
    let file = file.to_str().unwrap();
    let said = alice.fails(1, &["peer", "add", file]);
    assert!(
        said.contains("root-changed") || said.contains("taken"),
        "{said}"
    );
    let said = alice.done(&["trust", "replace-root", file]);
    assert!(said.contains(&words(&anew)), "{said}");
    assert_eq!(standing(&alice, &anew), "trusted");
    alice.ping(&anew);
    anew.ping(&alice);
    // The old keys are strangers now.
    anew.kill();
    bob.start();
    eventually("the old root key is refused", || {
        let refused = alice.refusals();
        refused.contains(&"root-changed".to_owned()).then_some(())
    });
    assert_eq!(
        alice
            .fails(1, &["trust", "approve", &bob.agent])
            .lines()
            .count(),
        2
    );
    verifies(&alice);
}
