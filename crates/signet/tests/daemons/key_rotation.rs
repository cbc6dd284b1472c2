//! Keys change while people talk: real daemons, a real server, and a peer that goes on.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use signet::config::Config;
use signet::keystore::{self, AgentKeys};
use signet_proto::certificate::KeyStatement;
use signet_proto::time::Timestamp;

use crate::house::{self, Home, House, eventually};

fn certificate(home: &Home) -> Value {
    serde_json::from_str(&home.done(&["peer", "export"])).unwrap()
}

fn file(home: &Home, name: &str) -> String {
    home.dir.join("keys").join(name).display().to_string()
}

/// How many notifications wait.
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
    let keys = AgentKeys::open(&place, &config.agent).unwrap();
    let now = signet::clock::now();
    let change = keystore::rotate_signing(&keys, Path::new(&file(&alice, "root.pem")), None, now);
    keystore::stage(&place, &change.unwrap()).unwrap();
    // The adoption of the staged keys was cut short as well: one of the files is moved already, the others are not.
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
    // The hint names the home: the person may type it in any folder.
    let next = format!("signet key rotate control --home {}", alice.dir.display());
    assert!(said.contains(&next), "{said}");
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

/// Makes the sealing key of a stopped agent so old: its statement, signed by its own key, ends so much
/// earlier. Gives the statement's serial and its end.
fn aged(home: &Home, age: Duration) -> (u64, Timestamp) {
    let place = signet::home::Home::at(&home.dir);
    let keys = AgentKeys::open(&place, &Config::load(&place).unwrap().agent).unwrap();
    let made = signet::clock::now().saturating_sub(age);
    let end = made.saturating_add(45 * DAY);
    let (serial, key) = (keys.statement.serial, keys.statement.sealing_key);
    let agent = &keys.certificate.agent;
    let statement = KeyStatement::sign(agent, key, serial, end, &keys.signing).unwrap();
    std::fs::write(file(home, "keys.json"), statement.to_value().to_string()).unwrap();
    (serial, end)
}

fn sealing_key(home: &Home) -> String {
    let shown = home.json(&["key", "show"]).remove(0);
    let keys = shown["keys"].as_array().unwrap().iter();
    let mut sealing = keys.filter(|key| key["key"] == "sealing");
    sealing.next().unwrap()["id"].as_str().unwrap().to_owned()
}

/// What the daemon does once an hour; here it is asked to.
fn upkeep(home: &Home) {
    home.call("keys.adopt", &json!({})).unwrap();
}

/// Tells something of tier 3 and has it read.
fn confides(from: &Home, to: &Home, word: &str) {
    let params = json!({
        "peer": to.agent, "kind": "notification", "data-tier": 3, "body": word, "wait": 60,
    });
    assert_eq!(from.call("send", &params).unwrap()["state"], "received");
    let read = to.inbox().iter().any(|item| item["body"] == word);
    assert!(read, "{word} can be read");
}

#[test]
fn a_running_daemon_replaces_its_sealing_key_when_it_is_thirty_days_old() {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    let soon = Duration::from_secs(20);
    let (serial, end) = aged(&alice, 30 * DAY - soon);
    let due = signet::clock::now().saturating_add(soon);
    let old = sealing_key(&alice);
    alice.start();
    bob.start();
    confides(&bob, &alice, "before");
    upkeep(&alice);
    let early = sealing_key(&alice);
    if signet::clock::now() < due {
        assert_eq!(early, old, "not a day too early");
    }
    while signet::clock::now() <= due {
        std::thread::sleep(Duration::from_millis(200));
    }
    upkeep(&alice);
    let new = sealing_key(&alice);
    assert_ne!(new, old);
    // The old secret is kept for a week and a minute beyond its statement.
    let until = end.saturating_add(7 * DAY + Duration::from_secs(60));
    let kept = format!("sealing-{serial}.until-{}.pem", until.as_millis() / 1000);
    assert!(Path::new(&file(&alice, &kept)).exists(), "{kept}");
    alice.ping(&bob);
    eventually("bob seals to the new key", || {
        let sealed_to = |line: &&Value| line["message"]["params"]["sealed"]["to"] == new.as_str();
        confides(&bob, &alice, "after");
        bob.log().iter().find(sealed_to).map(|_| ())
    });
    let read: Vec<_> = alice
        .inbox()
        .iter()
        .map(|item| item["body"].clone())
        .collect();
    assert!(read.contains(&json!("before")), "{read:?}");
    verifies(&alice);
}

#[test]
fn a_daemon_replaces_an_old_sealing_key_at_its_start_and_not_a_young_one() {
    let house = House::new();
    let mut alice = house.home("alice");
    let first = sealing_key(&alice);
    for (days, replaced) in [(29, false), (31, true), (44, true), (60, true)] {
        aged(&alice, days * DAY);
        let before = sealing_key(&alice);
        alice.start();
        assert_eq!(sealing_key(&alice) != before, replaced, "{days} days");
        assert!(alice.stop().success());
    }
    assert_ne!(sealing_key(&alice), first);
}

#[test]
fn old_sealing_secrets_are_destroyed_when_their_time_is_over_and_not_before() {
    let house = House::new();
    let mut alice = house.home("alice");
    let kept = |serial: u64, after: i64| {
        let until = signet::clock::now().as_millis() / 1000 + after;
        let path = PathBuf::from(file(&alice, &format!("sealing-{serial}.until-{until}.pem")));
        std::fs::copy(file(&alice, "sealing.pem"), &path).unwrap();
        path
    };
    let (over, soon, later) = (kept(5, -2), kept(6, 15), kept(7, 3600));
    alice.start();
    assert!(!over.exists() && later.exists());
    upkeep(&alice);
    eventually("its second comes", || {
        std::thread::sleep(Duration::from_millis(500));
        upkeep(&alice);
        (!soon.exists()).then_some(())
    });
    assert!(later.exists());
    let named = soon.to_str().unwrap().rsplit_once("until-").unwrap().1;
    let until: i64 = named.trim_end_matches(".pem").parse().unwrap();
    assert!(
        signet::clock::now().as_millis() / 1000 >= until,
        "not before"
    );
}

const DAY: Duration = Duration::from_secs(24 * 3600);
