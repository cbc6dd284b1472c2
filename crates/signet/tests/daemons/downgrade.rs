//! A home that a newer release wrote in: this one says so, with a code that no service manager starts again, and
//! writes nothing.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::house::{Home, House, says};

/// What a start writes in any case: who holds the lock, and what SQLite needs to read.
const BESIDES: [&str; 4] = ["lock", "state.db-shm", "said", "printed"];

/// Every file of a home, without those.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            found.extend(files(&path));
        } else if !BESIDES.contains(&name.as_str()) && path.is_file() {
            found.insert(path.clone(), fs::read(path).unwrap());
        }
    }
    found
}

/// Nothing that looks or starts goes on with this home, and nothing in it is other than before.
fn is_refused(home: &Home, what: &str) {
    let before = files(&home.dir);
    for args in [
        &["run"][..],
        &["state", "rebuild"],
        &["state", "compare"],
        &["state", "accept-loss"],
        &["trust", "pending"],
    ] {
        let said = home.fails(2, args);
        assert!(
            said.contains(what) && said.contains("newer signet"),
            "{args:?}: {said}"
        );
        let next = "\n  next: use the release of signet that wrote it, or a later one";
        assert!(said.contains(next), "{args:?}: {said}");
        assert_eq!(said.lines().count(), 2, "{args:?}: {said}");
    }
    let after = files(&home.dir);
    let changed: Vec<&PathBuf> = after
        .iter()
        .filter(|(path, bytes)| before.get(*path) != Some(bytes))
        .map(|(path, _)| path)
        .collect();
    assert!(
        changed.is_empty() && after.len() == before.len(),
        "{changed:?}"
    );
}

fn with_a_message(house: &House) -> (Home, Home) {
    let (alice, bob) = house.alice_and_bob();
    alice.ping(&bob);
    let body = json!("kept");
    alice.send(&bob, "notification", &body).unwrap();
    crate::house::eventually("it arrives", || {
        let inbox = bob.inbox();
        inbox.iter().any(|item| item["body"] == body).then_some(())
    });
    (alice, bob)
}

fn version(db: &Connection, version: u32) -> u32 {
    let before = db
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .unwrap();
    db.execute_batch(&format!("PRAGMA user_version = {version}"))
        .unwrap();
    before
}

#[test]
fn a_state_of_a_newer_release_is_refused_and_left_as_it_is() {
    let house = House::new();
    let (_alice, mut bob) = with_a_message(&house);
    bob.stop();
    let open = || Connection::open(bob.dir.join("state.db")).unwrap();
    let ours = version(&open(), 1_000);
    is_refused(&bob, "the state is of version 1000");
    let doctor = bob.cli(&["doctor"]);
    let said = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(said.contains("newer signet"), "{said} {}", says(&doctor));
    // The newer release was killed before SQLite copied its log (`state.db-wal`) into the file, so the newer version
    // stands only there: it has to be seen too.
    version(&open(), ours);
    let db = open();
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
        .unwrap();
    version(&db, ours + 1);
    drop(db);
    assert!(bob.dir.join("state.db-wal").metadata().unwrap().len() > 0);
    is_refused(&bob, &format!("the state is of version {}", ours + 1));
    // The release that wrote it goes on.
    version(&open(), ours);
    bob.start();
    assert_eq!(bob.inbox().len(), 1);
    let lines = bob.walk();
    assert!(!lines.iter().any(|line| line["kind"] == "rebuilt"));
}

#[test]
fn a_log_in_which_a_newer_release_wrote_is_refused_and_no_line_is_cut_off() {
    let house = House::new();
    let (_alice, mut bob) = with_a_message(&house);
    // As a crash leaves it: the end of the log is not anchored yet.
    bob.kill();
    let bytes = bob.log_bytes();
    let last = bytes
        .trim_ascii_end()
        .rsplit(|byte| *byte == b'\n')
        .next()
        .unwrap();
    let hash = data_encoding::HEXLOWER.encode(&Sha256::digest(last));
    let seq = bob.log().last().unwrap()["seq"].as_u64().unwrap() + 1;
    let line = format!(
        "{{\"v\":3,\"seq\":{seq},\"ts\":\"2099-01-01T00:00:00.000Z\",\"prev\":\"{hash}\",\"kind\":\"prophecy\"}}\n"
    );
    let log = bob.dir.join("audit").join(&bob.agent);
    let month = fs::read_dir(log)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let month = { month }.find(|path| path.extension().is_some_and(|end| end == "jsonl"));
    let mut month = fs::File::options()
        .append(true)
        .open(month.unwrap())
        .unwrap();
    month.write_all(line.as_bytes()).unwrap();
    let before = bob.log_bytes();
    let said = bob.fails(2, &["run"]);
    assert!(
        said.contains("a line of version 3, from a newer signet"),
        "{said}"
    );
    assert!(
        said.contains("\n  next: use the release of signet that wrote it"),
        "{said}"
    );
    assert_eq!(bob.log_bytes(), before);
}

#[test]
fn a_configuration_of_a_newer_release_is_refused_by_the_key_that_is_unknown() {
    let house = House::new();
    let mut bob = house.home("bob");
    let file = bob.dir.join("config.toml");
    let text = fs::read_to_string(&file).unwrap();
    for newer in ["[telepathy]\nrange = 7\n", "[nats.telepathy]\n"] {
        fs::write(&file, format!("{text}\n{newer}")).unwrap();
        let before = files(&bob.dir);
        let said = bob.fails(2, &["run"]);
        assert!(said.contains("unknown key \"telepathy\" in"), "{said}");
        assert!(
            said.contains("where a newer signet wrote it, use that release"),
            "{said}"
        );
        assert_eq!(files(&bob.dir), before);
    }
    fs::write(&file, text).unwrap();
    bob.start();
}
