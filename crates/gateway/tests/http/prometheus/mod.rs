//! The numbers before a real Prometheus: what it reads, and that each alert of `examples/metrics` comes by the fault that it names.
//! `scripts/try-metrics` runs it.

mod dashboard;
mod server;

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;
use signet_testkit::bus::{Sender, Watch, sender};
use signet_testkit::strace::{Tracing, is_usable};
use signet_testkit::{Home, House, eventually, fed, signet};

use crate::client::{Gateway, token};
use crate::metrics::{address, ask, tells_numbers};
use server::{Prometheus, done, example, program};

const METRICS: &str = "[metrics]\naddress = \"127.0.0.1:0\"\n";
const TOKENS: &str = "gateway-metrics-tokens.toml";

#[test]
#[ignore = "scripts/try-metrics runs it, with a Prometheus"]
fn what_promtool_checks_is_clean() {
    let check = |args: &[&str], file: &str| done(program("promtool").args(args).arg(example(file)));
    check(&["check", "rules"], "alerts.yml");
    check(&["test", "rules"], "alerts-test.yml");
    check(&["check", "config", "--syntax-only"], "prometheus.yml");

    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    tells_numbers(&alice);
    alice.start();
    bob.start();
    alice.ping(&bob);
    let gateway = Gateway::start(&alice, &format!("{METRICS}auth = \"none\"\n"));
    let page = |accept: &str| {
        let accept = format!("Accept: {accept}");
        let head = ["GET /metrics HTTP/1.1", "Host: localhost", &accept];
        ask(address(&gateway), &head).text()
    };
    let (text, open) = (page("text/plain"), page("application/openmetrics-text"));
    let mut promtool = program("promtool");
    promtool.args(["check", "metrics"]);
    let checked = fed(promtool, &text);
    let said = String::from_utf8_lossy(&checked.stdout) + String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success() && said.is_empty(), "{said}");
    // A second reader, which somebody else wrote and which is stricter.
    let python = std::env::var_os("PROMETHEUS_PYTHON").expect("scripts/try-metrics names a python");
    for (reader, page) in [
        ("prometheus_client.parser", &text),
        ("prometheus_client.openmetrics.parser", &open),
    ] {
        let script = format!(
            "import sys\nfrom {reader} import text_string_to_metric_families as read\n\
             print(sum(len(family.samples) for family in read(sys.stdin.read())))"
        );
        let mut command = Command::new(&python);
        command.args(["-c", &script]);
        let read = fed(command, page);
        let said = String::from_utf8_lossy(&read.stderr);
        assert!(read.status.success(), "{reader}: {said}\n{page}");
        let samples: usize = String::from_utf8_lossy(&read.stdout)
            .trim()
            .parse()
            .unwrap();
        let lines = page.lines().filter(|line| !line.starts_with('#'));
        assert_eq!(samples, lines.count(), "{reader}");
    }
}

/// Alice's household, with a Prometheus that looks at her and at Dora.
struct WatchedHousehold {
    house: House,
    alice: Home,
    bob: Home,
    prometheus: Prometheus,
    /// The alerts that came, in their order.
    came: Vec<String>,
}

impl WatchedHousehold {
    /// A fault was brought about: its alert comes, for that agent.
    fn comes(&mut self, alert: &str, agent: &str) {
        let pair = (alert.to_owned(), agent.to_owned());
        eventually(alert, || {
            self.prometheus.firing().contains(&pair).then_some(())
        });
        self.came.push(alert.to_owned());
    }

    /// It is not there before its fault.
    fn is_quiet(&self, alert: &str, agent: &str) {
        let pair = (alert.to_owned(), agent.to_owned());
        let firing = self.prometheus.firing();
        assert!(!firing.contains(&pair), "{firing:?}");
    }

    /// The fault is mended: the alert goes.
    fn goes(&self, alert: &str) {
        let is_there = || {
            self.prometheus
                .firing()
                .iter()
                .any(|(name, _)| name == alert)
        };
        eventually(&format!("{alert} goes"), || (!is_there()).then_some(()));
    }

    /// The daemon of Alice anew, by a command of its own.
    fn restart(&mut self, command: Command) {
        self.alice.stop();
        self.alice.spawn(command);
        eventually("she answers", || self.alice.call("status", &json!({})).ok());
    }
}

#[test]
#[ignore = "scripts/try-metrics runs it, with a Prometheus"]
fn each_alert_comes_by_the_fault_that_it_names() {
    assert!(is_usable(), "strace lets the disk be slow and full");
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    let (mut carol, mut dave) = (house.home("carol"), house.home("dave"));
    let mut dora = soon_over(&house);
    house.acquaint(&[&alice, &bob]);
    house.acquaint(&[&alice, &dave]);
    carol.knows(&alice);
    for home in [&alice, &dora] {
        tells_numbers(home);
    }
    for home in [&mut alice, &mut bob, &mut dora] {
        home.start();
    }
    bob.ping(&alice);
    let secret = key_to_numbers(&house, &[&alice, &dora]);
    let (gateway, other) = (
        Gateway::start(&alice, METRICS),
        Gateway::start(&dora, METRICS),
    );
    let targets = [("alice", address(&gateway)), ("dora", address(&other))];
    let prometheus = Prometheus::start(&house.path(""), &secret, &targets);
    for agent in ["alice", "dora"] {
        let query = format!("signet_daemon_up{{agent=\"{agent}\"}}");
        eventually("it scrapes", || {
            prometheus.value(&query).filter(|up| *up == 1.0)
        });
    }
    let sent = "signet_messages_total{agent=\"alice\",verdict=\"sent\"}";
    assert!(
        prometheus.value(sent).unwrap() > 0.0,
        "counters of OpenMetrics have their names"
    );
    let mut scene = WatchedHousehold {
        house,
        alice,
        bob,
        prometheus,
        came: Vec::new(),
    };

    scene.comes("SignetCertificateEnds", "dora");
    assert!(
        scene
            .prometheus
            .firing()
            .iter()
            .all(|(_, agent)| agent == "dora"),
        "{:?}",
        scene.prometheus.firing()
    );
    scene.is_quiet("SignetCertificateEnds", "alice");

    // The peer's daemon is away.
    scene.bob.stop();
    scene
        .alice
        .send(&scene.bob, "notification", &json!({"n": 1}))
        .unwrap();
    scene.comes("SignetOutboxStuck", "alice");
    scene.bob.start();
    scene.goes("SignetOutboxStuck");

    // Nobody takes what comes.
    scene.is_quiet("SignetInboxWaits", "alice");
    for number in 0..101 {
        scene
            .bob
            .send(&scene.alice, "notification", &json!({"n": number}))
            .unwrap();
    }
    scene.comes("SignetInboxWaits", "alice");

    // A handler that fails five times.
    scene.is_quiet("SignetQuarantine", "alice");
    let mut each = scene
        .alice
        .command(&["inbox", "--each", "--retry-after", "0.02"]);
    each.args(["--", "/bin/sh", "-c", "exit 3"])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    assert!(!each.status().unwrap().success());
    scene.comes("SignetQuarantine", "alice");

    // A stranger knocks.
    scene.is_quiet("SignetWaitsForPerson", "alice");
    carol.start();
    let _ = carol.send(&scene.alice, "notification", &json!({"n": 1}));
    scene.comes("SignetWaitsForPerson", "alice");

    // Somebody under the name of a known person, with another root key.
    scene.is_quiet("SignetAlarm", "alice");
    let mut mallory = scene.house.made("mallory", "agent-mallory", "bob", &[]);
    mallory.knows(&scene.alice);
    mallory.start();
    let _ = mallory.send(&scene.alice, "notification", &json!({"n": 1}));
    scene.comes("SignetAlarm", "alice");

    // Messages that somebody changed on their way.
    scene.is_quiet("SignetRefusals", "alice");
    let (watch, mut bus) = (Watch::new(&scene.house), Sender::new(&scene.house));
    scene
        .bob
        .send(&scene.alice, "notification", &json!({"n": 0}))
        .unwrap();
    let (mut forged, _) = watch.find(0, |message| {
        message["method"] == "agent.notification" && sender(message) == scene.bob.agent
    });
    for number in 0..200 {
        forged["params"]["body"] = json!({"forged": number});
        bus.put(&scene.alice.subject(), forged.to_string().as_bytes());
    }
    bus.flush();
    scene.comes("SignetRefusals", "alice");

    // A peer whose clock is five minutes ahead.
    scene.is_quiet("SignetClock", "alice");
    let mut ahead = dave.command(&["run"]);
    at_another_time(&mut ahead, "+300s");
    dave.spawn(ahead);
    eventually("he answers", || dave.call("status", &json!({})).ok());
    let _ = dave.send(&scene.alice, "notification", &json!({"n": 1}));
    scene.comes("SignetClock", "alice");

    // No NATS server.
    scene.is_quiet("SignetNoCarrier", "alice");
    scene.house.server.kill();
    scene.comes("SignetNoCarrier", "alice");
    scene.house.server.restart();
    scene.goes("SignetNoCarrier");

    // A disk that takes a second and a half for each write.
    scene.is_quiet("SignetSlowDisk", "alice");
    let slow = Tracing::inject("fdatasync", "delay_exit=1500000".to_owned());
    let slow = scene.alice.traced(&slow);
    scene.restart(slow);
    for number in 0..8 {
        let _ = scene
            .alice
            .send(&scene.bob, "notification", &json!({"n": number}));
    }
    scene.comes("SignetSlowDisk", "alice");

    // A disk without room: the first line of the new start finds none, and so do the next tries.
    scene.is_quiet("SignetDiskFull", "alice");
    let full = Tracing::inject("fallocate", "error=ENOSPC:when=1..20".to_owned());
    let full = scene.alice.traced(&full.only(scene.alice.log_files()));
    scene.restart(full);
    scene.comes("SignetDiskFull", "alice");
    scene.goes("SignetDiskFull");

    // The person takes the certificate back.
    scene.is_quiet("SignetRevoked", "alice");
    let root = scene.alice.dir.join("keys/root.pem");
    scene.alice.done(&[
        "key",
        "revoke",
        "--reason",
        "a test",
        "--root",
        root.to_str().unwrap(),
    ]);
    scene.comes("SignetRevoked", "alice");

    // The daemon ends, then the gateway.
    scene.is_quiet("SignetDaemonDown", "alice");
    scene.alice.kill();
    scene.comes("SignetDaemonDown", "alice");
    scene.is_quiet("SignetGatewayDown", "alice");
    drop(gateway);
    scene.comes("SignetGatewayDown", "alice");

    let rules = std::fs::read_to_string(example("alerts.yml")).unwrap();
    let named = rules
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- alert: "));
    let named: BTreeSet<&str> = named.collect();
    let came: BTreeSet<&str> = scene.came.iter().map(String::as_str).collect();
    assert_eq!(came, named, "an alert without a fault that brings it about");
    println!(
        "{} alerts, each by its fault: {}",
        came.len(),
        scene.came.join(", ")
    );
}

/// Makes a token that is good for the numbers of all of them; the file with it, as a Prometheus has it.
fn key_to_numbers(house: &House, homes: &[&Home]) -> PathBuf {
    let (first, others) = homes.split_first().unwrap();
    let file = first.dir.join(TOKENS);
    let made = token(first, "prometheus", &["--file", file.to_str().unwrap()]);
    for other in others {
        std::fs::copy(&file, other.dir.join(TOKENS)).unwrap();
    }
    let secret = house.path("token");
    std::fs::write(&secret, made).unwrap();
    secret
}

/// A home whose certificate was made so long ago that it ends within two weeks.
fn soon_over(house: &House) -> Home {
    let wrapper = house.path("signet-long-ago");
    let mut command = Command::new("/usr/bin/env");
    at_another_time(&mut command, LONG_AGO);
    let set = command
        .get_envs()
        .map(|(name, value)| format!("export {}='{}'\n", name.display(), value.unwrap().display()));
    let text = format!(
        "#!/bin/sh\n{}exec '{}' \"$@\"\n",
        set.collect::<String>(),
        signet().display()
    );
    std::fs::write(&wrapper, text).unwrap();
    std::fs::set_permissions(&wrapper, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut dora = house.home_by(&wrapper, "dora");
    dora.run_by(signet());
    dora
}

/// Has a command go by a clock that is wrong by so much.
fn at_another_time(command: &mut Command, by: &str) {
    command
        .env(
            "LD_PRELOAD",
            faketime().expect("scripts/try-metrics installs libfaketime"),
        )
        .env("FAKETIME", by)
        .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
        .env("FAKETIME_DONT_RESET", "1");
}

/// The library, where the distribution's package puts it.
fn faketime() -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib").ok()?.flatten();
    let mut files = folders.map(|entry| entry.path().join("faketime/libfaketimeMT.so.1"));
    files.find(|file| Path::is_file(file))
}

/// A certificate of `signet init` lasts a year.
const LONG_AGO: &str = "-355d";
