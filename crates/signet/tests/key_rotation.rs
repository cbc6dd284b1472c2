//! Keys change while people talk: real daemons, a real server, and a peer that goes on.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod house;

use std::path::Path;

use house::{Home, House, eventually};
use serde_json::{Value, json};
use signet::config::Config;
use signet::keystore::{self, Keys};

fn certificate(home: &Home) -> Value {
    serde_json::from_str(&home.done(&["peer", "export"])).unwrap()
}

fn file(home: &Home, name: &str) -> String {
    home.dir.join("keys").join(name).display().to_string()
}

/// How many notifications wait; answers to pings wait beside them.
fn told(home: &Home) -> usize {
    let inbox = home.inbox();
    let told = inbox.iter().filter(|item| item["type"] == "notification");
    told.count()
}

/// The log holds by itself, from the first line to the last.
fn verifies(home: &Home) {
    let log = home.dir.join("audit").join(&home.agent);
    home.done(&["audit", "verify", log.to_str().unwrap()]);
}

fn knows_serial(home: &Home, peer: &Home, serial: &Value) {
    eventually("the peer takes the new certificate", || {
        (home.standing(&peer.agent, "serial") == *serial).then_some(())
    });
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[test]
fn a_peer_goes_on_talking_while_every_key_is_rotated_under_it() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    alice.ping(&bob);
    let root = file(&alice, "root.pem");
    for args in [
        &["key", "rotate", "signing", "--root", &root][..],
        &["key", "rotate", "sealing"],
        &["key", "rotate", "control", "--root", &root],
        &["key", "rotate", "audit", "--root", &root],
        &["key", "rotate", "root"],
        &["key", "rotate", "signing", "--root", &root],
    ] {
        // Something is under way when the key changes.
        let before = told(&bob);
        alice
            .send(&bob, "notification", &json!({"before": args[2]}))
            .unwrap();
        alice.done(args);
        alice
            .send(&bob, "notification", &json!({"after": args[2]}))
            .unwrap();
        knows_serial(&bob, &alice, &certificate(&alice)["serial"]);
        alice.ping(&bob);
        bob.ping(&alice);
        eventually("both arrive", || (told(&bob) == before + 2).then_some(()));
        eventually("and are receipted", || {
            (alice.standing(&bob.agent, "unconfirmed") == 0).then_some(())
        });
    }
    assert_eq!(told(&bob), 12, "each once");
    let shown = alice.json(&["key", "show"]);
    let old = shown[0]["keys"].as_array().unwrap().iter();
    let old = old.filter(|key| key["key"] == "old signing").count();
    assert_eq!(old, 2, "{shown:?}");
    for home in [&alice, &bob] {
        verifies(home);
    }
}

#[test]
fn a_key_that_was_rotated_while_the_agent_was_down_is_taken_at_the_start() {
    let house = House::new();
    let (mut alice, bob) = house.alice_and_bob();
    alice.ping(&bob);
    assert!(alice.stop().success());
    bob.send(&alice, "notification", &json!({"while": "down"}))
        .unwrap();
    alice.done(&[
        "key",
        "rotate",
        "signing",
        "--root",
        &file(&alice, "root.pem"),
    ]);
    alice.start();
    knows_serial(&bob, &alice, &certificate(&alice)["serial"]);
    alice.ping(&bob);
    // What came in the session of the old key is receipted by the old key.
    eventually("the old session is receipted", || {
        (bob.standing(&alice.agent, "unconfirmed") == 0).then_some(())
    });
    assert_eq!(told(&alice), 1);
    verifies(&alice);
    verifies(&bob);
}

#[test]
fn a_thief_or_a_backup_with_the_old_certificate_is_refused_afterwards() {
    let house = House::new();
    let (mut alice, bob) = house.alice_and_bob();
    alice.ping(&bob);
    let stolen = alice.dir.join("stolen");
    copy(&alice.dir.join("keys"), &stolen);
    alice.done(&[
        "key",
        "rotate",
        "signing",
        "--root",
        &file(&alice, "root.pem"),
    ]);
    let serial = certificate(&alice)["serial"].clone();
    knows_serial(&bob, &alice, &serial);
    alice.ping(&bob);
    assert!(alice.stop().success());
    std::fs::rename(alice.dir.join("keys"), alice.dir.join("new")).unwrap();
    std::fs::rename(&stolen, alice.dir.join("keys")).unwrap();
    alice.start();
    eventually("the old serial is refused", || {
        let refused = |line: &Value| line["reason"] == "serial-rolled-back";
        bob.log().iter().any(refused).then_some(())
    });
    assert_eq!(bob.standing(&alice.agent, "serial"), serial);
    // The right keys mend it.
    assert!(alice.stop().success());
    std::fs::rename(alice.dir.join("keys"), alice.dir.join("old")).unwrap();
    std::fs::rename(alice.dir.join("new"), alice.dir.join("keys")).unwrap();
    alice.start();
    alice.ping(&bob);
}

#[test]
fn a_change_that_waits_since_an_interruption_is_adopted_at_the_start() {
    let house = House::new();
    let (mut alice, bob) = house.alice_and_bob();
    alice.ping(&bob);
    alice.kill();
    let place = signet::home::Home::at(&alice.dir);
    let config = Config::load(&place).unwrap();
    let keys = Keys::open(&place, &config.agent).unwrap();
    let now = signet::clock::now();
    let change = keystore::rotate_signing(&keys, Path::new(&file(&alice, "root.pem")), None, now);
    keystore::stage(&place, &change.unwrap()).unwrap();
    // … and the next stop came in the middle of the adoption.
    let next = alice.dir.join("keys/next");
    std::fs::rename(next.join("signing.pem"), alice.dir.join("keys/signing.pem")).unwrap();
    alice.start();
    assert!(!next.exists());
    let serial = certificate(&alice)["serial"].clone();
    assert!(serial.as_u64().unwrap() > keys.certificate.serial);
    knows_serial(&bob, &alice, &serial);
    alice.ping(&bob);
}

#[test]
fn a_home_without_control_keys_runs_and_says_once_how_to_make_them() {
    let house = House::new();
    let mut alice = house.home("alice");
    for name in ["control.json", "control.pem", "audit.pem"] {
        std::fs::remove_file(file(&alice, name)).unwrap();
    }
    alice.start();
    let said = alice.said();
    assert_eq!(
        said.matches("signet key rotate control").count(),
        1,
        "{said}"
    );
    alice.done(&["key", "rotate", "control"]);
    assert!(alice.stop().success());
    alice.start();
    assert_eq!(alice.said().matches("signet key rotate control").count(), 1);
    let shown = alice.json(&["key", "show"]);
    assert!(
        shown[0]["keys"].to_string().contains("keys/audit.pem"),
        "{shown:?}"
    );
}

#[test]
fn a_revocation_goes_to_the_running_daemon_or_its_error_is_passed_on() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let args = ["key", "revoke", "--reason", "lost", "--out"];
    let (out, root) = (alice.dir.join("revocation.json"), file(&alice, "root.pem"));
    let more = [out.to_str().unwrap(), "--root", &root];
    let output = alice.cli(&[&args[..], &more].concat());
    let statement: Value = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
    assert_eq!(statement["agent-id"], "agent-alice");
    let said = format!(
        "{}{}",
        house::says(&output),
        String::from_utf8_lossy(&output.stdout)
    );
    let told = said.contains("The running daemon has it");
    let passed_on = said.contains("did not take it") && said.contains("signet trust revoke");
    assert!(
        told == output.status.success() && (told || passed_on),
        "{said}"
    );
}
