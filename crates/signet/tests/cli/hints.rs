//! What a command says next leads on: tests of what was once said instead, and led nowhere.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;

use crate::house::{self, Home, House, says};

/// Everything that a command says, on either output.
fn all(home: &Home, args: &[&str]) -> String {
    let output = home.cli(args);
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        says(&output)
    )
}

#[test]
fn a_key_that_is_missing_in_a_home_that_is_there_does_not_ask_for_a_new_home() {
    let house = House::new();
    let alice = house.home("alice");
    for file in [
        "signing.pem",
        "sealing.pem",
        "certificate.json",
        "keys.json",
    ] {
        let (path, away) = (alice.dir.join("keys").join(file), alice.dir.join(file));
        fs::rename(&path, &away).unwrap();
        for args in [&["run"][..], &["peer", "export"], &["key", "show"]] {
            let said = alice.fails(2, args);
            assert!(
                said.contains(&format!("{} is missing", path.display())),
                "{said}"
            );
            assert!(
                said.contains("signet key recover") && !said.contains("signet init"),
                "{said}"
            );
        }
        fs::rename(&away, &path).unwrap();
    }
    fs::remove_file(alice.dir.join("config.toml")).unwrap();
    let said = alice.fails(2, &["status"]);
    assert!(
        said.contains("the home is there") && !said.contains("signet init"),
        "{said}"
    );
}

#[test]
fn a_log_that_is_not_there_is_no_fault_of_the_disk() {
    let house = House::new();
    let alice = house.home("alice");
    for args in [
        &["audit", "verify", "nowhere"][..],
        &["audit", "show", "nowhere"],
        &["audit", "reconcile", "nowhere", "nowhere"],
    ] {
        let said = all(&alice, args);
        assert!(
            said.contains("next: name the directory of a log"),
            "{args:?}: {said}"
        );
        assert!(!said.contains("the disk"), "{args:?}: {said}");
    }
}

#[test]
fn a_bad_line_is_named_by_its_number_and_verify_does_not_ask_for_itself() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    alice.stop();
    let log = alice.dir.join("audit").join(&alice.agent);
    let file = fs::read_dir(&log)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let file = file
        .into_iter()
        .find(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .unwrap();
    let lines = fs::read_to_string(&file).unwrap().lines().count();
    let mut writer = fs::File::options().append(true).open(&file).unwrap();
    writer.write_all(b"no line\nneither\n").unwrap();
    let said = alice.fails(1, &["run"]);
    assert!(!said.contains("the state"), "{said}");
    assert!(said.contains("signet audit verify"), "{said}");
    let said = alice.fails(1, &["trust", "log"]);
    assert!(said.contains(&format!("line {}", lines + 1)), "{said}");
    let said = all(&alice, &["audit", "verify", log.to_str().unwrap()]);
    assert!(!said.contains("signet audit verify"), "{said}");
}

#[test]
fn a_login_in_the_servers_address_is_told_where_it_belongs() {
    let house = House::new();
    let alice = house.home("alice");
    let with = |url: &str| {
        let output = alice
            .command(&["run"])
            .env("NATS_URL", url)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", says(&output));
        says(&output)
    };
    for url in [
        "nats://alice:hunter2@127.0.0.1:4222",
        "nats://:0:0",
        "http://[",
    ] {
        let said = with(url);
        assert!(
            said.contains("next: correct the variable NATS_URL"),
            "{said}"
        );
        assert!(
            !said.contains("hunter2") && !said.contains("`login`"),
            "{said}"
        );
    }
}

#[test]
fn a_missing_ca_file_is_no_fault_of_the_servers_certificate() {
    let house = House::new();
    let alice = house.home("alice");
    alice.configure("# ca = \"ca.pem\"", "ca = \"ca.pem\"");
    let said = alice.fails(2, &["run"]);
    assert!(said.contains("ca.pem: cannot be read"), "{said}");
    assert!(
        !said.contains("does the certificate name this host"),
        "{said}"
    );
    let file = alice.dir.join("ca.pem");
    fs::write(&file, "none").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(alice.fails(2, &["run"]).contains("ca.pem: holds no"));
}

#[test]
fn the_way_to_an_old_message_is_a_command_that_runs() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    let args = [
        "send",
        &bob.agent,
        "--request",
        "{}",
        "--wait",
        "0",
        "--json",
    ];
    let sent: serde_json::Value = serde_json::from_str(&alice.done(&args)).unwrap();
    let id = sent["message-id"].as_str().unwrap();
    let request = house::eventually("it arrives", || bob.inbox().pop());
    bob.done(&["reply", request["message-id"].as_str().unwrap(), "{}"]);
    house::eventually("it is answered", || {
        alice
            .done(&["status", id])
            .starts_with("answered")
            .then_some(())
    });
    let page = alice.done(&["status", id]);
    let next = page
        .split("or signet ")
        .nth(1)
        .unwrap()
        .lines()
        .next()
        .unwrap();
    let folder = house::signet().parent().unwrap().display().to_string();
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-c", &format!("signet {next}")]);
    let shell = shell
        .env("PATH", format!("{folder}:/usr/bin:/bin"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&shell.stdout);
    assert!(
        shell.status.success() && said.contains(&bob.agent),
        "{next}: {said}"
    );
}
