//! `signet doctor`: a healthy home has nothing to say; each check finds what is broken for it, and says what to
//! do; nothing is written, and nothing secret is said.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use async_nats::jetstream;
use serde_json::{Value, json};
use signet::config::Config;
use signet::keystore::{self, AgentKeys};
use signet::lock::HomeLock;
use signet::memory::Memory;
use signet_proto::certificate::{CertificateRequest, next_serial};
use signet_proto::entry::{Alarm, ClockLine, Entry};
use signet_proto::ids::Version;
use signet_proto::node::At;

use crate::house::{Home, House, eventually, says};
use crate::mounted::Mounted;
use crate::quarantine::fail_tries;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Everything that the doctor says, one document a check.
pub fn findings(home: &Home) -> Vec<Value> {
    let output = home.cli(&["doctor", "--json"]);
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let found: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let has_fault = found.iter().any(|finding| finding["health"] == "fault");
    let code = i32::from(has_fault);
    assert_eq!(output.status.code(), Some(code), "{text} {}", says(&output));
    for finding in &found {
        let is_well = finding["health"] == "well";
        for member in ["means", "next"] {
            assert_eq!(finding.get(member).is_none(), is_well, "{finding}");
        }
        assert!(finding["looked-at"].is_string() && finding["found"].is_string());
    }
    found
}

/// One of them, whose health has to be this.
#[track_caller]
pub fn ill(home: &Home, check: &str, health: &str) -> Value {
    let found = findings(home);
    let of_check = found.iter().find(|finding| finding["check"] == check);
    let finding = of_check.unwrap_or_else(|| panic!("no {check}: {found:?}"));
    assert_eq!(finding["health"], health, "{finding}");
    finding.clone()
}

#[track_caller]
pub fn says_next(finding: &Value, next: &str) {
    let said = finding["next"].as_str().unwrap();
    assert!(said.contains(next), "{finding}");
}

/// Alice and Bob with mailboxes, who keep their person's keys elsewhere and have spoken.
fn healthy(house: &House) -> (Home, Home) {
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    house.set_up(&[&alice, &bob]);
    house.acquaint(&[&alice, &bob]);
    for home in [&mut alice, &mut bob] {
        for key in ["root.pem", "control.pem"] {
            let kept = house.path(&format!("{}-{key}", home.agent));
            std::fs::rename(home.dir.join("keys").join(key), kept).unwrap();
        }
        home.start();
    }
    alice.ping(&bob);
    bob.ping(&alice);
    (alice, bob)
}

/// Every file of a folder, with its length and the time of its last change.
fn files(dir: &Path) -> BTreeMap<PathBuf, (u64, SystemTime)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let facts = path.symlink_metadata().unwrap();
            found.insert(path.clone(), (facts.len(), facts.modified().unwrap()));
            if facts.is_dir() {
                folders.push(path);
            }
        }
    }
    found
}

/// State and log of a stopped home.
fn memory(home: &Home) -> Memory {
    let place = signet::home::Home::at(&home.dir);
    let config = Config::load(&place).unwrap();
    Memory::open(&HomeLock::acquire(&place).unwrap(), &config).unwrap()
}

#[test]
fn a_healthy_home_has_nothing_to_say_and_a_stopped_one_only_that_it_is_stopped() {
    let house = House::with_jetstream();
    let (mut alice, _bob) = healthy(&house);
    let said = alice.done(&["doctor"]);
    assert!(said.ends_with(" checks: all is well\n"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    let found = findings(&alice);
    let checks = found.len();
    assert!(checks >= 20, "{checks}");
    let page = include_str!("../../../../docs/doctor.md");
    for finding in &found {
        let row = format!("| `{}` |", finding["check"].as_str().unwrap());
        assert!(page.contains(&row), "docs/doctor.md has no row {row}");
    }
    let all = alice.done(&["doctor", "--all"]);
    assert_eq!(all.lines().count(), checks + 1, "{all}");

    assert!(alice.stop().success());
    let before = files(&alice.dir);
    let found = findings(&alice);
    assert_eq!(files(&alice.dir), before, "the doctor wrote into the home");
    let ill: Vec<&Value> = found
        .iter()
        .filter(|finding| finding["health"] != "well")
        .collect();
    assert_eq!(ill.len(), 1, "{ill:?}");
    assert_eq!(ill[0]["check"], "daemon");
    says_next(ill[0], "signet run");
}

#[test]
fn whoever_reads_over_the_shoulder_sees_no_secret() {
    let house = House::with_jetstream();
    let (alice, _bob) = healthy(&house);
    alice.done(&["nats", "key"]);
    // Make doctor speak about the files that hold secrets, with the signing key well kept and with it readable by
    // others.
    let seed = std::fs::read_to_string(alice.dir.join("nats.nk")).unwrap();
    let signing = std::fs::read_to_string(alice.dir.join("keys/signing.pem")).unwrap();
    let body = signing.lines().nth(1).unwrap();
    for mode in [0o600, 0o644] {
        let path = alice.dir.join("keys/signing.pem");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        let output = alice.cli(&["doctor", "--all"]);
        let text = format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            says(&output)
        );
        for secret in [seed.trim(), body] {
            assert!(!secret.is_empty() && !text.contains(secret), "{text}");
        }
    }
}

#[test]
fn files_that_others_may_read_or_write_are_named_with_the_command_that_mends_them() {
    let house = House::new();
    let alice = house.home("alice");
    let key = alice.dir.join("keys/sealing.pem");
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o640)).unwrap();
    says_next(&ill(&alice, "key-files", "fault"), "chmod 600 ");
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o600)).unwrap();
    assert_eq!(ill(&alice, "key-files", "well").get("next"), None);

    std::fs::set_permissions(&alice.dir, PermissionsExt::from_mode(0o777)).unwrap();
    says_next(&ill(&alice, "home", "fault"), "chmod 700 ");
    std::fs::set_permissions(&alice.dir, PermissionsExt::from_mode(0o700)).unwrap();

    ill(&alice, "control-key", "advice");
    let bob = house.home("bob");
    let foreign = bob.dir.join("keys/certificate.json");
    std::fs::copy(foreign, alice.dir.join("keys/certificate.json")).unwrap();
    ill(&alice, "keys", "fault");

    let config = alice.dir.join("config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("{text}\n[typo]\n")).unwrap();
    let found = ill(&alice, "configuration", "fault");
    assert!(found["found"].as_str().unwrap().contains("typo"), "{found}");
}

#[test]
fn a_certificate_is_told_of_a_month_before_it_ends_and_when_it_has() {
    let house = House::new();
    let (mut alice, _bob) = house.alice_and_bob();
    for (age, health) in [(340, "warning"), (400, "fault")] {
        assert!(alice.stop().success());
        let place = signet::home::Home::at(&alice.dir);
        let keys = AgentKeys::open(&place, &Config::load(&place).unwrap().agent).unwrap();
        let issued = signet::clock::now().saturating_sub(age * DAY);
        let root = alice.dir.join("keys/root.pem");
        let change = keystore::rotate_signing(&keys, &root, None, issued).unwrap();
        keystore::stage(&place, &change).unwrap();
        alice.start();
        says_next(
            &ill(&alice, "certificate", health),
            "signet key rotate signing",
        );
    }
    // With an ended certificate the daemon signs nothing any more, and the check `clock` says so.
    says_next(&ill(&alice, "clock", "fault"), "timedatectl");
}

#[test]
fn certificates_that_list_old_versions_alone_are_told_of_on_both_sides() {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    let place = signet::home::Home::at(&bob.dir);
    let keys = AgentKeys::open(&place, &Config::load(&place).unwrap().agent).unwrap();
    let present = keys.certificate;
    let root = keystore::read_signing_key(&bob.dir.join("keys/root.pem")).unwrap();
    let now = signet::clock::now();
    let old = CertificateRequest {
        agent: present.agent.clone(),
        principal: present.principal.clone(),
        signing_key: present.signing_key,
        layers: present.layers,
        versions: vec![Version::SPOKEN[0]],
        serial: next_serial(Some(present.serial), now),
        not_before: present.not_before,
        not_after: present.not_after,
        next_root: present.next_root,
    };
    let old = old.sign(&root).unwrap();
    let file = bob.dir.join("keys/certificate.json");
    std::fs::write(&file, format!("{}\n", old.to_value())).unwrap();
    house.acquaint(&[&alice, &bob]);
    alice.start();
    bob.start();
    says_next(
        &ill(&bob, "own-versions", "warning"),
        "signet key rotate signing",
    );
    let found = ill(&alice, "peer-versions", "warning");
    assert!(
        found["found"]
            .as_str()
            .unwrap()
            .contains("agent-bob: 1.0.0"),
        "{found}"
    );
}

#[test]
fn a_log_that_was_cut_changed_or_lacks_its_key_is_told_of() {
    let house = House::new();
    let (mut alice, bob) = house.alice_and_bob();
    alice.ping(&bob);
    let month = signet::clock::now().month();
    let key = alice
        .dir
        .join(format!("checkpoint-keys/checkpoint-{month}.key"));
    let kept = std::fs::read(&key).unwrap();
    std::fs::remove_file(&key).unwrap();
    says_next(
        &ill(&alice, "checkpoint-key", "warning"),
        "put the key back",
    );
    std::fs::write(&key, kept).unwrap();
    assert!(alice.stop().success());

    let log = alice
        .dir
        .join(format!("audit/agent-alice/inter-agent-{month}.jsonl"));
    let whole = std::fs::read(&log).unwrap();
    let mut changed = whole.clone();
    let middle = changed.len() / 2;
    changed[middle] ^= 1;
    std::fs::write(&log, &changed).unwrap();
    says_next(&ill(&alice, "log-month", "fault"), "signet audit verify");

    let lines = whole.iter().filter(|byte| **byte == b'\n').count();
    let half = whole.split_inclusive(|byte| *byte == b'\n').take(lines - 3);
    std::fs::write(&log, half.flatten().copied().collect::<Vec<u8>>()).unwrap();
    ill(&alice, "log-end", "fault");
}

#[test]
fn a_log_folder_that_is_gone_or_that_everybody_may_write_is_told_of() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let log = alice.dir.join("audit/agent-alice");
    for (folder, next) in [
        (&log, "chmod 700 "),
        (&alice.dir.join("audit"), "chmod go-w "),
    ] {
        std::fs::set_permissions(folder, PermissionsExt::from_mode(0o777)).unwrap();
        says_next(&ill(&alice, "log-end", "fault"), next);
        std::fs::set_permissions(folder, PermissionsExt::from_mode(0o700)).unwrap();
    }
    ill(&alice, "log-end", "well");
    assert!(alice.stop().success());
    std::fs::rename(&log, alice.dir.join("gone")).unwrap();
    let found = ill(&alice, "log-end", "fault");
    assert!(
        found["found"].as_str().unwrap().contains("is gone"),
        "{found}"
    );
    says_next(&found, "put the newest copy of the log back");
}

#[test]
fn a_file_that_the_gateway_or_the_handlers_refuse_is_told_of_with_its_line() {
    let house = House::new();
    let alice = house.home("alice");
    for (check, file, wrong, right) in [
        (
            "gateway-file",
            "gateway.toml",
            "[listen]\nadress = \"127.0.0.1:1\"\n",
            "[listen]\naddress = \"127.0.0.1:1\"\n",
        ),
        (
            "handlers-file",
            "handlers.toml",
            "[[handler]]\ncapability = 7\n",
            "[[handler]]\ncapability = \"a.b\"\nkind = \"exec\"\ncommand = [\"/bin/true\"]\n",
        ),
    ] {
        ill(&alice, check, "well");
        let file = alice.dir.join(file);
        std::fs::write(&file, wrong).unwrap();
        let found = ill(&alice, check, "fault");
        assert!(
            found["found"].as_str().unwrap().contains("line 2"),
            "{found}"
        );
        std::fs::write(&file, right).unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
        ill(&alice, check, "well");
        // A pipe stands in the place of the file and nobody writes into it: doctor has to report that, and must not
        // wait for a writer.
        std::fs::remove_file(&file).unwrap();
        let fifo = rustix::fs::FileType::Fifo;
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &file, fifo, mode, 0).unwrap();
        let name = file.file_name().unwrap().to_str().unwrap();
        let found = ill(&alice, check, "fault");
        assert!(found["found"].as_str().unwrap().contains(name), "{found}");
    }
}

#[test]
fn a_peer_whose_daemon_is_away_with_messages_without_a_receipt_is_told_of() {
    let house = House::new();
    let (mut alice, mut bob) = house.alice_and_bob();
    alice.ping(&bob);
    ill(&alice, "outbox", "well");
    assert!(bob.stop().success());
    for _ in 0..2 {
        alice.done(&["send", &bob.agent, "--notify", "{}", "--wait", "0"]);
    }
    // The two messages grow old one after the other: a look in between finds one.
    let outbox = |health: &'static str, words: &'static str| {
        eventually(&format!("the outbox is {health}: {words}"), || {
            let mut found = findings(&alice).into_iter();
            found.find(|found| {
                let says = found["found"].as_str().unwrap_or_default();
                found["check"] == "outbox" && found["health"] == health && says.starts_with(words)
            })
        })
    };
    let found = outbox("warning", "2 messages for agent-bob");
    says_next(&found, "signet ping");
    bob.start();
    outbox("well", "");
    assert!(bob.stop().success());
    alice.done(&["send", &bob.agent, "--notify", "{}", "--wait", "0"]);
    assert!(alice.stop().success());
    eventually("it is told of from what the daemon left", || {
        let found = findings(&alice);
        found
            .into_iter()
            .find(|found| found["check"] == "outbox" && found["health"] == "warning")
    });
}

#[test]
fn no_server_no_login_no_mailbox_and_no_permission_are_told_apart() {
    let mut house = House::with_jetstream();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    let found = ill(&alice, "mailbox", "fault");
    says_next(&found, "signet nats setup --home ");
    says_next(&found, " agent-alice --server nats://127.0.0.1:");

    house.guard(&[&alice, &bob], |config| config);
    house.set_up_as_admin(&[&alice, &bob]);
    alice.start();
    bob.start();
    alice.ping(&bob);
    let well = ill(&alice, "permissions", "well");
    assert!(
        well["found"].as_str().unwrap().contains("of 1 peer"),
        "{well}"
    );
    let before = bob.log().len();
    ill(&alice, "mailbox", "well");
    assert_eq!(bob.log().len(), before, "the question reached the peer");
    for home in [&mut alice, &mut bob] {
        assert!(home.stop().success());
    }

    let config = house.server.config();
    for (allowed, instead, refused) in [
        (
            "\"agent.*.inbox\"",
            "\"agent.agent-carol.inbox\"",
            "agent.agent-bob.inbox",
        ),
        (
            "subscribe: { allow: [ \"agent.agent-alice.inbox\"",
            "subscribe: { allow: [ \"agent.nobody.inbox\"",
            "agent.agent-alice.inbox",
        ),
        (
            "$JS.API.CONSUMER.INFO.AGENT_INBOX.agent-alice",
            "$JS.API.CONSUMER.INFO.AGENT_INBOX.nobody",
            "$JS.API.CONSUMER.INFO.AGENT_INBOX.agent-alice",
        ),
    ] {
        assert!(config.contains(allowed), "{config}");
        house.server.kill();
        house.server.configure(&config.replace(allowed, instead));
        house.server.restart();
        let found = ill(&alice, "permissions", "fault");
        assert!(
            found["found"].as_str().unwrap().contains(refused),
            "{found}"
        );
        says_next(&found, "signet nats config");
    }
    std::fs::remove_file(alice.dir.join("nats.nk")).unwrap();
    says_next(&ill(&alice, "broker", "fault"), "signet nats key");
    house.server.kill();
    let found = ill(&alice, "broker", "fault");
    says_next(&found, "NATS_URL");
}

#[test]
fn a_store_that_is_nearly_full_is_told_of_before_it_refuses() {
    let house = House::with_jetstream();
    let alice = house.home("alice");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let client = async_nats::connect(house.server.url()).await.unwrap();
        let context = jetstream::new(client);
        let stream = jetstream::stream::Config {
            name: "AGENT_INBOX".to_owned(),
            subjects: vec![alice.subject()],
            max_bytes: 100_000,
            ..jetstream::stream::Config::default()
        };
        let stream = context.create_stream(stream).await.unwrap();
        let reads = jetstream::consumer::pull::Config {
            durable_name: Some(alice.agent.clone()),
            ..jetstream::consumer::pull::Config::default()
        };
        stream.create_consumer(reads).await.unwrap();
        for _ in 0..95 {
            let kept = context
                .publish(alice.subject(), vec![b'x'; 900].into())
                .await;
            kept.unwrap().await.unwrap();
        }
    });
    let found = ill(&alice, "store", "fault");
    says_next(&found, "signet nats setup");
}

#[test]
fn a_silent_peer_a_strange_clock_and_an_alarm_are_told_of_from_what_the_daemon_left() {
    let house = House::new();
    let (alice, bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    let found = ill(&alice, "peers", "warning");
    says_next(&found, "signet ping --home ");
    says_next(&found, " agent-bob");
    let now = signet::clock::now();
    let mut memory = memory(&alice);
    let at = At {
        now,
        elapsed: Duration::ZERO,
        head: None,
    };
    let outcome = memory.node.turn(at).alarms().ring_own(Alarm::LogLost);
    memory.write(now, &outcome).unwrap();
    let clock = Entry::Clock(ClockLine {
        peer: bob.agent.parse().unwrap(),
        difference_ms: -95_000,
    });
    memory.log.append(now, &clock).unwrap();
    memory.log.commit().unwrap();
    drop(memory);
    let found = ill(&alice, "clock", "warning");
    assert!(
        found["found"]
            .as_str()
            .unwrap()
            .contains("agent-bob is 95 s behind us"),
        "{found}"
    );
    says_next(&found, "timedatectl");
    says_next(&ill(&alice, "alarms", "fault"), "signet alarms");
}

#[test]
fn a_handler_that_fails_is_told_of_and_then_the_quarantine() {
    let house = House::new();
    let (alice, mut bob) = house.alice_and_bob();
    let id = alice
        .send(&bob, "request", &json!({"poison": true}))
        .unwrap();
    for number in 1..=5 {
        fail_tries(&bob, &id, 1, "exit status 3");
        let found = ill(&bob, "handlers", "warning");
        let said = found["found"].as_str().unwrap();
        assert!(
            said.starts_with("1 message could not be handled; ") && said.contains("exit status 3"),
            "{found}"
        );
        let shelved = if number == 5 { "fault" } else { "well" };
        ill(&bob, "quarantine", shelved);
    }
    // Doctor says the same from the state of a daemon that was killed.
    bob.kill();
    says_next(&ill(&bob, "quarantine", "fault"), "signet quarantine list");
}

#[test]
fn sockets_that_others_may_open_or_nobody_are_told_of() {
    let house = House::new();
    let mut alice = house.home("alice");
    ill(&alice, "sockets", "well");
    alice.configure("# sign = \"all\"", "sign = \"none\"");
    ill(&alice, "sockets", "advice");
    alice.start();
    let socket = alice.dir.join("agent.sock");
    std::fs::set_permissions(&socket, PermissionsExt::from_mode(0o666)).unwrap();
    let found = ill(&alice, "sockets", "fault");
    assert!(
        found["found"].as_str().unwrap().contains("666, not 660"),
        "{found}"
    );
    assert!(alice.stop().success());
    alice.configure(
        "# group = \"signet-agent\"",
        "group = \"nobody-has-this-group\"",
    );
    let found = ill(&alice, "sockets", "fault");
    assert!(
        found["found"]
            .as_str()
            .unwrap()
            .contains("nobody-has-this-group"),
        "{found}"
    );
    says_next(&found, "[agent-socket]");
}

#[test]
fn a_full_disk_is_told_of_where_the_log_is() {
    let house = House::new();
    let mut alice = house.home("alice");
    let place = house.path("small");
    std::fs::create_dir(&place).unwrap();
    let dir = format!("dir = \"{}\"", place.display());
    alice.configure("# dir = \"audit\"", &dir);
    ill(&alice, "disk", "well");
    let Some(_room) = Mounted::in_memory(&place, "7m") else {
        println!("no mount here: the thresholds alone are tested, beside the check");
        return;
    };
    says_next(&ill(&alice, "disk", "fault"), "df -h");
    // Doctor reports the fault early: there is still enough room for the daemon to start and to write its log.
    alice.start();
    let said = alice.said();
    assert!(!said.contains("room"), "{said}");
    assert!(alice.stop().success());

    let mut bob = house.home("bob");
    let place = house.path("smaller");
    std::fs::create_dir(&place).unwrap();
    bob.configure(
        "# dir = \"audit\"",
        &format!("dir = \"{}\"", place.display()),
    );
    let _room = Mounted::in_memory(&place, "2m");
    let run = bob.command(&["run"]);
    bob.spawn(run);
    eventually("it says what it needs", || {
        bob.said().contains("home and log need 5 MiB").then_some(())
    });
    bob.kill();
}
