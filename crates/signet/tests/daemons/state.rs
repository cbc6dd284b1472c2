//! The state beside the log: lost, damaged, behind or of another log, it is made again, and what the
//! daemon remembers is the same.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use signet::config::Config;
use signet::lock::HomeLock;
use signet::memory::Memory;
use signet_proto::entry::Entry;
use signet_proto::node::{At, Content, Sending};

use crate::house::bus::{Sender, Watch, sender};
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

/// Sessions from before a loss have ended: what is sent in one before the handshake is over is `unknown`.
fn meet_anew(alice: &Home, bob: &Home) {
    house::eventually("they meet anew", || {
        let of_bob = bob.standing(&alice.agent, "session");
        (of_bob.is_string() && of_bob == alice.standing(&bob.agent, "session")).then_some(())
    });
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
    meet_anew(&alice, &bob);
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
        // Write a character that still reads as text, then a byte that does not (0xff): both have to be found.
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

/// A host plays again what its mailbox once brought: the log that lost it would take all of it a second time.
#[test]
fn what_was_lost_with_the_log_is_not_handed_out_a_second_time() {
    let (house, alice, mut bob) = talked();
    let watch = Watch::new(&house);
    bob.stop();
    let old_log = log_of(&bob);
    bob.start();
    for number in 5..15 {
        tell(&alice, &bob, number);
    }
    bob.stop();
    for (path, bytes) in old_log {
        fs::write(path, bytes).unwrap();
    }
    let played: BTreeSet<Vec<u8>> = watch
        .since(0)
        .iter()
        .filter(|said| sender(said) == alice.agent && said["params"]["body"]["number"].is_u64())
        .map(|said| said.to_string().into_bytes())
        .collect();
    assert!(played.len() >= 10, "{}", played.len());
    bob.done(&["state", "accept-loss"]);
    bob.start();
    let before = inbox(&bob).len();
    let mut wire = Sender::new(&house);
    for bytes in &played {
        bob.hears(&mut wire, bytes);
    }
    assert_eq!(inbox(&bob).len(), before, "nothing is taken twice");
    let unknown = bob.refusals();
    let unknown = unknown.iter().filter(|reason| *reason == "session-unknown");
    assert!(unknown.count() >= played.len());
    meet_anew(&alice, &bob);
    tell(&alice, &bob, 99);
    tell(&bob, &alice, 100);
    bob.stop();
    assert!(bob.done(&["state", "compare"]).contains("row by row"));
}

#[test]
fn no_start_waits_at_a_pipe_in_the_place_of_a_file_of_its_home() {
    let (_house, _alice, mut bob) = talked();
    bob.stop();
    let log = log_of(&bob);
    let mut places: Vec<PathBuf> = log.into_iter().map(|(path, _)| path).collect();
    let names = [
        "state.db",
        "state.db-wal",
        "state.db-shm",
        "state.db-journal",
        "log.anchor",
        "log.months",
        "config.toml",
        "carriers.json",
        "lock",
        "keys/signing.pem",
        "keys/certificate.json",
        "nats.nk",
        "ca.pem",
    ];
    places.extend(names.map(|name| bob.dir.join(name)));
    for place in places {
        let is_ca = place.ends_with("ca.pem");
        if is_ca {
            bob.configure("# ca = \"ca.pem\"", "ca = \"ca.pem\"");
        }
        let aside = bob.dir.join("aside");
        let is_kept = fs::rename(&place, &aside).is_ok();
        let fifo = rustix::fs::FileType::Fifo;
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &place, fifo, mode, 0).unwrap();
        let run = bob
            .command(&["run"])
            .stderr(std::process::Stdio::piped())
            .spawn();
        let mut run = run.unwrap();
        let _loose = house::Loose(run.id());
        let ended = house::eventually("the start ends", || run.try_wait().unwrap());
        let mut said = String::new();
        std::io::Read::read_to_string(run.stderr.as_mut().unwrap(), &mut said).unwrap();
        assert!(!ended.success(), "{}", place.display());
        let name = place.file_name().unwrap().to_str().unwrap();
        assert!(
            said.contains(name) && said.contains("next: "),
            "{name}: {said}"
        );
        fs::remove_file(&place).unwrap();
        if is_kept {
            fs::rename(&aside, &place).unwrap();
        }
        if is_ca {
            bob.configure("ca = \"ca.pem\"", "# ca = \"ca.pem\"");
        }
    }
    bob.start();
    assert_eq!(inbox(&bob).len(), 5);
}

/// The file was made, and nothing that was written to it reached the disk.
#[test]
fn a_state_that_a_power_cut_emptied_is_not_called_that_of_an_earlier_release() {
    let (_house, _alice, mut bob) = talked();
    bob.stop();
    fs::write(state(&bob), b"").unwrap();
    bob.start();
    let said = rebuilt(&bob).pop().unwrap();
    assert!(said.contains("never reached the disk"), "{said}");
    assert!(!said.contains("release"), "{said}");
}

/// The start sets torn bytes aside and dates that line by the clock, which is put back right behind it.
#[test]
fn a_clock_put_back_after_a_start_leaves_the_rows_that_the_log_says() {
    let (_house, alice, mut bob) = talked();
    bob.kill();
    let (month, mut bytes) = log_of(&bob)
        .into_iter()
        .find(|(path, _)| path.extension().is_some_and(|end| end == "jsonl"))
        .unwrap();
    bytes.extend(b"{\"v\":2,\"seq\":");
    fs::write(month, bytes).unwrap();
    let home = signet::home::Home::at(&bob.dir);
    let with = |what: &dyn Fn(&HomeLock, &Config)| {
        what(
            &HomeLock::acquire(&home).unwrap(),
            &Config::load(&home).unwrap(),
        );
    };
    with(&|lock, config| {
        let mut memory = Memory::open(lock, config).unwrap();
        let now = signet::clock::now().saturating_sub(std::time::Duration::from_secs(30));
        let at = At {
            now,
            elapsed: signet::clock::elapsed(),
            head: None,
        };
        let content = Content {
            conversation_id: Some("c".parse().unwrap()),
            ..Content::default()
        };
        let alice = alice.agent.parse().unwrap();
        let sent = memory
            .node
            .turn(at)
            .sent()
            .send(&alice, Sending::Notification(content));
        let outcome = sent.unwrap().outcome;
        assert!(
            outcome
                .entries
                .iter()
                .any(|entry| matches!(entry, Entry::Message(_)))
        );
        for entry in &outcome.entries {
            memory.log.append(now, entry).unwrap();
        }
        memory.log.commit().unwrap();
        let rows = memory.node.snapshot(now).rows();
        memory.store.replace(&memory.log.position(), rows).unwrap();
    });
    with(&|lock, config| {
        let differ = Memory::compare(lock, config).unwrap();
        assert!(differ.is_empty(), "{differ:?}");
    });
}
