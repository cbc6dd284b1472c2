//! The state beside the log: lost, damaged, behind or of another log, it is made again, and what the
//! daemon remembers is the same.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::house::{self, Home, House};

fn state(home: &Home) -> PathBuf {
    home.dir.join("state.db")
}

/// Alice and Bob have talked, and something waits at each.
fn talked() -> (House, Home, Home) {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    alice.ping(&bob);
    for number in 0..5 {
        tell(&alice, &bob, number);
    }
    (house, alice, bob)
}

fn tell(from: &Home, to: &Home, number: u64) {
    from.send(to, "notification", &json!({ "number": number }))
        .unwrap();
    house::eventually("the message to arrive", || {
        let here = inbox(to)
            .into_iter()
            .any(|item| item["body"]["number"] == number);
        here.then_some(())
    });
}

fn inbox(home: &Home) -> Vec<Value> {
    home.inbox()
}

/// Every file of a log and its checkpoints.
fn log_of(home: &Home) -> Vec<(PathBuf, Vec<u8>)> {
    let files = fs::read_dir(home.dir.join("audit").join(&home.agent)).unwrap();
    let files = files.map(|file| file.unwrap().path());
    files
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect()
}

fn rebuilt(home: &Home) -> Vec<String> {
    let lines = home.walk();
    let rebuilt = lines.iter().filter(|line| line["kind"] == "rebuilt");
    rebuilt.map(|line| line["cause"].to_string()).collect()
}

#[test]
fn a_clean_stop_leaves_rows_that_say_what_the_log_says() {
    let (_house, alice, mut bob) = talked();
    bob.stop();
    assert!(bob.done(&["state", "compare"]).contains("row by row"));
    let made = bob.done(&["state", "rebuild"]);
    assert!(made.contains("rows"), "{made}");
    assert!(bob.done(&["state", "compare"]).contains("row by row"));
    bob.start();
    assert_eq!(inbox(&bob).len(), 5);
    assert_eq!(rebuilt(&bob), Vec::<String>::new(), "nothing was lost");
    drop(alice);
}

#[test]
fn killed_at_any_time_the_state_is_behind_and_catches_up_from_the_log() {
    let (_house, alice, mut bob) = talked();
    bob.stop();
    bob.start();
    tell(&alice, &bob, 5);
    bob.kill();
    assert!(bob.done(&["state", "compare"]).contains("row by row"));
    bob.start();
    assert_eq!(inbox(&bob).len(), 6);
    assert_eq!(rebuilt(&bob), Vec::<String>::new());
}

#[test]
fn a_lost_or_damaged_state_is_made_again_by_itself_and_a_line_says_so() {
    let (_house, alice, mut bob) = talked();
    bob.stop();
    let whole = fs::read(state(&bob)).unwrap();
    let middle = whole.len() / 2;
    let mut torn = whole.clone();
    torn.truncate(middle);
    let mut scribbled = whole.clone();
    scribbled[4096..middle].fill(0x5a);
    let mut damages = vec![None, Some(Vec::new()), Some(b"no database".to_vec())];
    damages.extend([Some(torn), Some(scribbled)]);
    for (number, damage) in damages.into_iter().enumerate() {
        match damage {
            None => fs::remove_file(state(&bob)).unwrap(),
            Some(bytes) => fs::write(state(&bob), bytes).unwrap(),
        }
        bob.start();
        assert_eq!(inbox(&bob).len(), 5, "{number}");
        let said = rebuilt(&bob);
        assert_eq!(said.len(), number + 1, "{said:?}");
        alice.ping(&bob);
        bob.stop();
        assert!(bob.done(&["state", "compare"]).contains("row by row"));
    }
}

/// Its first stop is a kill: nothing was lost, and no line says so.
#[test]
fn an_agent_that_was_never_stopped_cleanly_has_a_state_all_the_same() {
    let (_house, alice, mut bob) = talked();
    for number in 5..8 {
        bob.kill();
        bob.start();
        tell(&alice, &bob, number);
    }
    assert_eq!(rebuilt(&bob), Vec::<String>::new());
    assert_eq!(inbox(&bob).len(), 8);
}

/// Sound SQLite, sound JSON, and not what was kept.
#[test]
fn rows_that_were_changed_or_taken_out_are_not_believed() {
    let (_house, _alice, mut bob) = talked();
    bob.stop();
    let changes = [
        "DELETE FROM inbox",
        "DELETE FROM sessions",
        "UPDATE inbox SET value = replace(value, 'number', 'amount')",
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let db = rusqlite::Connection::open(state(&bob)).unwrap();
        db.execute_batch(change).unwrap();
        drop(db);
        bob.start();
        assert_eq!(inbox(&bob).len(), 5, "{change}");
        assert_eq!(rebuilt(&bob).len(), number + 1, "{change}");
        bob.stop();
    }
}

#[test]
fn without_its_first_lines_a_log_makes_no_state_and_the_kept_one_stays() {
    let (_house, _alice, mut bob) = talked();
    bob.stop();
    let kept = fs::read(state(&bob)).unwrap();
    let (path, bytes) = log_of(&bob)
        .into_iter()
        .find(|(path, _)| path.extension().is_some_and(|end| end == "jsonl"))
        .unwrap();
    let first = bytes.iter().position(|byte| *byte == b'\n').unwrap();
    let cut = String::from_utf8(bytes[first + 1..].to_vec()).unwrap();
    fs::write(&path, cut).unwrap();
    bob.fails(1, &["run"]);
    assert_eq!(fs::read(state(&bob)).unwrap(), kept);
}

/// The rows of a longer log say of messages what this log does not know: the log is not gone on with.
#[test]
fn a_log_that_was_put_back_stops_the_start_until_its_person_accepts_the_loss() {
    let (_house, alice, mut bob) = talked();
    bob.stop();
    let (old_log, old_state) = (log_of(&bob), fs::read(state(&bob)).unwrap());
    bob.start();
    tell(&alice, &bob, 5);
    bob.stop();
    let new_state = fs::read(state(&bob)).unwrap();
    assert_ne!(old_state, new_state);
    for (path, bytes) in old_log {
        fs::write(path, bytes).unwrap();
    }
    for command in [&["run"][..], &["state", "compare"], &["state", "rebuild"]] {
        let failed = bob.fails(1, command);
        assert!(failed.contains("the log went back"), "{failed}");
        assert!(failed.contains("accept-loss"), "{failed}");
    }
    assert_eq!(fs::read(state(&bob)).unwrap(), new_state, "it still knows");
    let accepted = bob.done(&["state", "accept-loss"]);
    assert!(accepted.contains("is accepted"), "{accepted}");
    bob.start();
    let alarms = bob.call("alarms.list", &json!({})).unwrap();
    assert_eq!(alarms["alarms"][0]["alarm"], "log-lost", "{alarms}");
    assert!(bob.walk().iter().any(|line| line["kind"] == "loss"));
    alice.ping(&bob);
    bob.stop();
    assert!(bob.done(&["state", "compare"]).contains("row by row"));
    assert!(
        bob.fails(1, &["state", "accept-loss"])
            .contains("nothing is lost")
    );
}

/// SQLite finds nothing wrong with a text that has another byte in it: the rows' own hash does, and what
/// does not read as text is no reason to keep it.
#[test]
fn one_wrong_byte_in_a_text_of_the_state_is_mended_by_the_next_start() {
    let (_house, _alice, mut bob) = talked();
    bob.stop();
    let whole = fs::read(state(&bob)).unwrap();
    let texts = [
        "number",
        "notification",
        "agent-alice",
        "sha256",
        "inter-agent",
        "agent-bob",
    ];
    let places = texts.iter().flat_map(|text| {
        let bytes = text.as_bytes();
        let found = whole.windows(bytes.len()).enumerate();
        let found = found.filter(move |(_, window)| *window == bytes);
        found.map(|(at, _)| at).take(2)
    });
    let places: Vec<usize> = places.collect();
    assert!(places.len() >= 8, "{places:?}");
    for (number, place) in places.into_iter().enumerate() {
        // A letter for another, and a byte that is no text.
        let wrong = if number % 2 == 0 { b'#' } else { 0xff };
        let mut bytes = fs::read(state(&bob)).unwrap();
        bytes[place] = wrong;
        fs::write(state(&bob), bytes).unwrap();
        let before = rebuilt(&bob).len();
        bob.start();
        assert_eq!(inbox(&bob).len(), 5, "{place}");
        bob.stop();
        let after = rebuilt(&bob).len();
        bob.start();
        bob.stop();
        assert_eq!(rebuilt(&bob).len(), after, "{place}: once is enough");
        assert!(after <= before + 1, "{place}");
        assert!(
            bob.done(&["state", "compare"]).contains("row by row"),
            "{place}"
        );
    }
}

#[test]
fn the_state_is_its_owners_alone_and_holds_no_words_of_sealed_messages() {
    use std::os::unix::fs::MetadataExt as _;
    let (_house, _alice, mut bob) = talked();
    bob.stop();
    assert_eq!(fs::metadata(state(&bob)).unwrap().mode() & 0o077, 0);
}
