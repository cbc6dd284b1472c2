//! Keys that the service manager hands over instead of the home: as `LoadCredential=` does, in a directory of files
//! that the daemon reads and cannot write.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use crate::house::{Home, House, eventually, says};

/// Moves keys of a home to where credentials are.
fn hand_over(house: &House, home: &Home, names: &[&str]) -> PathBuf {
    let dir = house.path("credentials");
    fs::create_dir(&dir).unwrap();
    for name in names {
        let (from, to) = (home.dir.join("keys").join(name), dir.join(name));
        fs::copy(&from, &to).unwrap();
        fs::remove_file(from).unwrap();
        fs::set_permissions(to, Permissions::from_mode(0o400)).unwrap();
    }
    fs::set_permissions(&dir, Permissions::from_mode(0o500)).unwrap();
    dir
}

fn with(home: &Home, args: &[&str], dir: &PathBuf) -> Command {
    let mut command = home.command(args);
    command.env("CREDENTIALS_DIRECTORY", dir);
    command
}

#[test]
fn a_daemon_runs_with_keys_that_are_not_in_its_home() {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    let dir = hand_over(&house, &alice, &["signing.pem", "sealing.pem"]);
    bob.start();
    let run = with(&alice, &["run"], &dir);
    alice.start_as(run);
    alice.ping(&bob);
    let secret = json!({"peer": alice.agent, "kind": "notification", "body": 7, "data-tier": 3});
    bob.call("send", &secret).unwrap();
    eventually("it is opened", || {
        alice
            .inbox()
            .iter()
            .any(|item| item["body"] == 7)
            .then_some(())
    });
    assert!(!alice.dir.join("keys/signing.pem").exists());
}

#[test]
fn a_key_that_is_nowhere_is_named_with_its_credential() {
    let house = House::new();
    let alice = house.home("alice");
    let dir = hand_over(&house, &alice, &["signing.pem"]);
    // Run by hand, outside of the unit, the daemon is told of no credentials: so the key is missing.
    let said = alice.fails(2, &["run"]);
    assert!(said.contains("keys/signing.pem is missing"), "{said}");
    fs::remove_file(dir.join("signing.pem")).unwrap();
    let output = with(&alice, &["run"], &dir).output().unwrap();
    let said = says(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("there is no credential signing.pem in"),
        "{said}"
    );
    assert!(
        said.contains("next: put LoadCredential=signing.pem:FILE into the unit"),
        "{said}"
    );
}

#[test]
fn a_credential_that_others_may_read_is_refused() {
    let house = House::new();
    let alice = house.home("alice");
    let dir = hand_over(&house, &alice, &["signing.pem"]);
    for mode in [0o444, 0o404, 0o460, 0o600 | 0o020] {
        fs::set_permissions(dir.join("signing.pem"), Permissions::from_mode(mode)).unwrap();
        let output = with(&alice, &["run"], &dir).output().unwrap();
        let said = says(&output);
        assert_eq!(output.status.code(), Some(2), "{mode:o}: {said}");
        assert!(said.contains("others than its owner may use it"), "{said}");
    }
}

/// The list that lets the daemon's user read shows as rights of root's group.
#[test]
fn a_credential_of_root_with_an_access_list_is_taken_and_the_same_in_the_home_is_not() {
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED, nothing was tested: only root makes such a file");
        return;
    }
    let house = House::new();
    let mut alice = house.home("alice");
    let dir = hand_over(&house, &alice, &["signing.pem"]);
    fs::set_permissions(dir.join("signing.pem"), Permissions::from_mode(0o440)).unwrap();
    let run = with(&alice, &["run"], &dir);
    alice.start_as(run);
    alice.stop();
    fs::copy(dir.join("signing.pem"), alice.dir.join("keys/signing.pem")).unwrap();
    let said = alice.fails(2, &["run"]);
    assert!(said.contains("has mode 0440"), "{said}");
}

#[test]
fn what_was_sealed_for_a_key_that_was_handed_over_is_opened_after_a_newer_one_followed_it() {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    let dir = hand_over(&house, &alice, &["signing.pem", "sealing.pem"]);
    bob.start();
    let run = with(&alice, &["run"], &dir);
    alice.start_as(run);
    alice.ping(&bob);
    alice.stop();
    let secret = json!({"peer": alice.agent, "kind": "notification", "body": 7, "data-tier": 3});
    bob.call("send", &secret).unwrap();
    let rotated = with(&alice, &["key", "rotate", "sealing"], &dir)
        .output()
        .unwrap();
    assert!(rotated.status.success(), "{}", says(&rotated));
    assert!(alice.dir.join("keys/sealing.pem").exists());
    let run = with(&alice, &["run"], &dir);
    alice.start_as(run);
    eventually("it is opened", || {
        alice
            .inbox()
            .iter()
            .any(|item| item["body"] == 7)
            .then_some(())
    });
}
