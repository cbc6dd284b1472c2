//! The systemd units and the program agree: which ends no restart mends, and how long what may take.

use std::fs;
use std::path::Path;

use signet::attention::MESSAGE_IDS;
use signet::cli::Exit;

use crate::house::{House, says};

fn units() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../systemd");
    let names = [
        "signet.service",
        "signet@.service",
        "system/signet@.service",
    ];
    let read = |name: &str| {
        (
            name.to_owned(),
            fs::read_to_string(root.join(name)).unwrap(),
        )
    };
    names.map(read).to_vec()
}

/// The values of a key, in the order of the lines.
fn values<'a>(unit: &'a str, key: &str) -> Vec<&'a str> {
    let line = |line: &'a str| line.strip_prefix(key)?.strip_prefix('=');
    unit.lines().filter_map(line).collect()
}

fn prevented(unit: &str) -> Vec<u8> {
    let all = values(unit, "RestartPreventExitStatus").join(" ");
    all.split_whitespace()
        .map(|code| code.parse().unwrap())
        .collect()
}

#[test]
fn no_unit_starts_again_what_only_a_person_mends() {
    let hopeless = Exit::ALL.iter().filter(|exit| !exit.may_restart());
    let hopeless = hopeless.filter(|exit| **exit != Exit::Done);
    let hopeless: Vec<u8> = hopeless.map(|exit| exit.number()).collect();
    for (name, unit) in units() {
        assert_eq!(prevented(&unit), hopeless, "{name}");
        assert_eq!(values(&unit, "Restart"), ["on-failure"], "{name}");
        assert_eq!(values(&unit, "Type"), ["notify"], "{name}");
        // A start that fails for any other reason must not be tried for ever: the tries have to fit into the span, or
        // systemd never counts up to its limit.
        let [burst, span] = ["StartLimitBurst", "StartLimitIntervalSec"]
            .map(|key| values(&unit, key)[0].parse::<u64>().unwrap());
        let pause: u64 = values(&unit, "RestartSec")[0].parse().unwrap();
        assert!(burst * pause < span, "{name}");
    }
}

/// Each of these would come again at every start.
#[test]
fn a_daemon_that_cannot_start_ends_with_a_code_that_no_unit_starts_again() {
    let house = House::new();
    let mut ends = Vec::new();
    let mut end = |what: &'static str, home: &crate::house::Home| {
        let output = home.cli(&["run"]);
        ends.push((what, output.status.code().unwrap(), says(&output)));
    };
    let mut locked = house.home("locked");
    locked.start();
    end("another daemon", &locked);
    locked.stop();
    let log = locked.dir.join("audit").join(&locked.agent);
    let month = fs::read_dir(&log)
        .unwrap()
        .flatten()
        .map(|entry| entry.path());
    let month = month
        .into_iter()
        .find(|path| path.extension().is_some_and(|end| end == "jsonl"));
    let month = month.unwrap();
    let text = fs::read_to_string(&month).unwrap();
    fs::write(&month, text.replacen("\"genesis\"", "\"Genesis\"", 1)).unwrap();
    end("a changed log", &locked);
    fs::write(&month, "").unwrap();
    end("a log that went back", &locked);
    let home = house.home("config");
    home.configure("[nats]", "[nats]\nserver = 1");
    end("a wrong configuration", &home);
    let home = house.home("keys");
    fs::remove_file(home.dir.join("keys/sealing.pem")).unwrap();
    end("a missing key", &home);
    let home = house.home("way");
    fs::create_dir(home.dir.join("control.sock")).unwrap();
    end("something in the socket's way", &home);
    let home = house.home("group");
    home.configure("# group = \"signet\" ", "group = \"no-such-group\" ");
    end("a group that is not there", &home);
    for (name, unit) in units() {
        for (what, code, said) in &ends {
            let code = u8::try_from(*code).unwrap();
            assert!(
                prevented(&unit).contains(&code),
                "{name}, {what}: {code}, {said}"
            );
        }
    }
}

#[test]
fn the_system_wide_unit_gives_the_daemon_one_place_to_write_and_no_right() {
    let (_, unit) = units().pop().unwrap();
    assert_eq!(values(&unit, "ReadWritePaths"), ["-/var/lib/signet/%i"]);
    assert_eq!(values(&unit, "User"), ["signet-%i"]);
    assert_eq!(values(&unit, "CapabilityBoundingSet"), [""]);
    assert_eq!(values(&unit, "AmbientCapabilities"), [""]);
    assert!(
        values(&unit, "DynamicUser").is_empty(),
        "it would hide the logs"
    );
    assert!(values(&unit, "SupplementaryGroups").is_empty());
}

/// `journalctl -x` explains an entry by its id.
#[test]
fn the_catalogue_explains_every_entry_of_the_journal_and_nothing_else() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../systemd");
    let catalogue = fs::read_to_string(root.join("signet.catalog")).unwrap();
    let ids = catalogue
        .lines()
        .filter_map(|line| line.strip_prefix("-- "));
    let ids: Vec<&str> = ids.collect();
    assert_eq!(ids, MESSAGE_IDS.map(|(_, id)| id));
    for entry in catalogue.split("\n-- ").skip(1) {
        let (head, text) = entry.split_once("\n\n").unwrap();
        let fields: Vec<&str> = head
            .lines()
            .skip(1)
            .map(|line| line.split(':').next().unwrap())
            .collect();
        assert_eq!(
            fields,
            ["Subject", "Defined-By", "Documentation"],
            "{entry}"
        );
        assert!(text.contains("\nNext: signet "), "{entry}");
    }
}
