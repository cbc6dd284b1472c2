//! A disk that is full, fails, or takes no writes, under a daemon that runs: nothing is answered that the
//! log does not hold, people are told what it is, and what can go on goes on by itself.

use std::path::Path;

use serde_json::json;

use crate::house::bus::{Sender, Watch, sender};
use crate::house::log::messages;
use crate::house::pen::Pen;
use crate::house::strace::{Tracing, is_usable};
use crate::house::traffic::{nothing_without_a_line, receipts_hold, settle};
use crate::house::{self, Home, House, eventually, says};
use crate::mounted::Mounted;

/// The daemon under strace; `call` on the files of its log goes wrong.
fn start_with(home: &mut Home, call: &str, what: &str) -> bool {
    let tracing = Tracing::inject(call, what.to_owned()).only(home.log_files());
    let command = home.traced(&tracing);
    home.try_start_as(command)
}

#[test]
fn a_full_disk_refuses_everything_and_goes_on_by_itself() {
    if !is_usable() {
        return;
    }
    let house = House::new();
    let (mut alice, bob) = house.alice_and_bob();
    alice.ping(&bob);
    alice.stop();
    let watch = Watch::new(&house);
    // The first line of the new start finds no room, and so do some tries, one a second.
    assert!(start_with(
        &mut alice,
        "fallocate",
        "error=ENOSPC:when=1..12"
    ));
    let status = eventually("it refuses", || {
        let status = alice.call("status", &json!({})).unwrap();
        status["refusing"].is_object().then_some(status)
    });
    assert_eq!(status["refusing"]["reason"], "disk-full");
    let page = alice.done(&["status"]);
    assert!(page.contains("refusing: the disk is full"), "{page}");
    let said = alice.fails(4, &["send", &bob.agent, "--notify", "{}"]);
    assert!(
        said.starts_with("error: disk-full: the disk is full"),
        "{said}"
    );
    assert!(said.contains("next: free some space"), "{said}");
    alice.fails(4, &["inbox"]);
    let (mark, lines) = (watch.mark(), alice.log().len());
    let sent = bob.send(&alice, "request", &json!({"number": 1})).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let still = alice.call("status", &json!({})).unwrap();
    if still["refusing"].is_object() {
        assert_eq!(alice.log().len(), lines, "nothing is taken in");
        let own = watch
            .since(mark)
            .iter()
            .any(|message| sender(message) == alice.agent);
        assert!(!own, "and nothing is said");
    }
    eventually("there is room again", || {
        let status = alice.call("status", &json!({})).unwrap();
        status["refusing"].is_null().then_some(())
    });
    eventually("what came meanwhile is taken in then", || {
        let inbox = alice.inbox();
        inbox
            .iter()
            .any(|item| item["message-id"] == sent.as_str())
            .then_some(())
    });
    settle(&alice, &bob);
    let told = |line: &serde_json::Value| {
        line["kind"] == "gap"
            && line["cause"]
                .as_str()
                .unwrap()
                .contains("the disk was full")
    };
    assert_eq!(alice.walk().iter().filter(|line| told(line)).count(), 1);
    assert!(
        alice.said().contains("refusing: the disk is full"),
        "{}",
        alice.said()
    );
    assert!(alice.said().contains("there is room on the disk again"));
    assert!(receipts_hold(&watch, &alice) > 0);
}

#[test]
fn a_daemon_that_is_stopped_while_the_disk_is_full_answered_nothing_that_is_lost() {
    if !is_usable() {
        return;
    }
    let house = House::new();
    let (mut alice, bob) = house.alice_and_bob();
    alice.ping(&bob);
    alice.stop();
    let watch = Watch::new(&house);
    assert!(start_with(&mut alice, "write", "error=EDQUOT:when=1+"));
    eventually("it refuses", || {
        let status = alice.call("status", &json!({})).unwrap();
        status["refusing"].is_object().then_some(())
    });
    bob.send(&alice, "request", &json!({"number": 1})).unwrap();
    assert_eq!(alice.stop().code(), Some(4));
    alice.start();
    settle(&alice, &bob);
    nothing_without_a_line(&alice, &bob);
    assert!(receipts_hold(&watch, &alice) > 0);
}

#[test]
fn a_daemon_that_is_stopped_while_it_waits_for_room_to_start_says_so() {
    if !is_usable() {
        return;
    }
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    alice.stop();
    // A start first writes the anchor that marks the log as in use, by way of `log.new`: so it finds the disk full
    // there.
    let anchor = alice.dir.join("log.new");
    let tracing = Tracing::inject("openat", "error=ENOSPC:when=1+".to_owned());
    let mut command = alice.traced(&tracing.only(vec![anchor]));
    let said = alice.dir.join("said");
    let file = std::fs::File::create(&said).unwrap();
    let mut child = command.stderr(file).spawn().unwrap();
    let _loose = house::Loose(child.id());
    eventually("it waits for room", || {
        alice.said().contains("before there is room").then_some(())
    });
    house::kill(child.id(), rustix::process::Signal::TERM);
    let ended = eventually("it ends", || child.try_wait().unwrap());
    assert_eq!(ended.code(), Some(4), "{}", alice.said());
    assert!(
        alice.said().contains("the disk is full"),
        "{}",
        alice.said()
    );
}

#[test]
fn a_failed_fdatasync_stops_the_daemon_with_its_own_code_and_nothing_is_answered() {
    if !is_usable() {
        return;
    }
    for (call, code) in [
        ("fdatasync", "EIO"),
        ("write", "EIO"),
        ("write", "EROFS"),
        ("fdatasync", "ENOSPC"),
    ] {
        let house = House::new();
        let (mut alice, mallory) = (house.home("alice"), house.home("mallory"));
        house.acquaint(&[&alice, &mallory]);
        alice.start();
        let (mut wire, watch) = (Sender::new(&house), Watch::new(&house));
        let pen = Pen::of(&mallory);
        let session = pen.meet(&mut wire, &watch, &alice);
        alice.stop();
        // A start writes and syncs before it takes messages: choose a call behind those, so that the failure meets a
        // message's line.
        let when = if call == "fdatasync" { 4 } else { 3 };
        assert!(start_with(
            &mut alice,
            call,
            &format!("error={code}:when={when}")
        ));
        let mut number = 2;
        while !alice.has_ended() {
            let request = pen.request(&alice.agent, &session, number);
            wire.send(&alice.subject(), &pen.sign(request));
            number += 1;
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        assert_eq!(
            alice.ended().code(),
            Some(4),
            "{call} {code}: {}",
            alice.said()
        );
        let said = alice.said();
        assert!(
            said.contains("error: the log: ") && said.contains("  next: look at"),
            "{said}"
        );
        let mark = watch.mark();
        alice.start();
        let log = alice.walk();
        let taken = messages(&log, "in", "accepted").count();
        assert!(taken > 0 && taken < 20, "{taken}");
        receipts_hold(&watch, &alice);
        assert!(watch.mark() >= mark);
        alice.done(&[
            "audit",
            "verify",
            alice.dir.join("audit").join(&alice.agent).to_str().unwrap(),
        ]);
    }
}

#[test]
fn a_read_only_file_system_is_named_at_the_start() {
    if !is_usable() {
        return;
    }
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    alice.stop();
    assert!(!start_with(&mut alice, "openat", "error=EROFS:when=2+"));
    assert_eq!(alice.ended().code(), Some(4), "{}", alice.said());
    assert!(
        alice.said().contains("the file system is read-only"),
        "{}",
        alice.said()
    );
    let tracing = Tracing::inject("openat", "error=EROFS:when=1+".to_owned());
    let command = alice.traced(&tracing.only(vec![alice.dir.join("lock")]));
    assert!(!alice.try_start_as(command));
    assert_eq!(alice.ended().code(), Some(4), "{}", alice.said());
}

#[test]
fn a_second_daemon_with_the_same_log_directory_is_told_so() {
    let house = House::new();
    let mut alice = house.home("alice");
    let other = house.made("other", &alice.agent, &alice.principal, &[]);
    let dir = format!("dir = {:?}", alice.dir.join("audit"));
    other.configure("# dir = \"audit\"", &dir);
    alice.start();
    let output = other.cli(&["run"]);
    let said = says(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("another signet writes the log in it"),
        "{said}"
    );
    assert!(said.contains("next: stop the other one"), "{said}");
}

/// What somebody does to the files of a home whose daemon runs, and whether it can be undone.
type Removal = (&'static str, fn(&Path, &Path), bool);

fn removals() -> [Removal; 4] {
    [
        (
            "audit",
            |there, _| std::fs::remove_dir_all(there).unwrap(),
            false,
        ),
        (
            "audit",
            |there, aside| std::fs::rename(there, aside).unwrap(),
            true,
        ),
        (
            "log.anchor",
            |there, aside| std::fs::rename(there, aside).unwrap(),
            true,
        ),
        (
            "state.db",
            |there, _| std::fs::remove_file(there).unwrap(),
            true,
        ),
    ]
}

#[test]
fn a_log_removed_under_a_running_daemon_is_a_failed_disk() {
    for (name, remove, comes_back) in removals() {
        let house = House::new();
        let (mut alice, mallory) = (house.home("alice"), house.home("mallory"));
        house.acquaint(&[&alice, &mallory]);
        alice.start();
        let (mut wire, watch) = (Sender::new(&house), Watch::new(&house));
        let pen = Pen::of(&mallory);
        let session = pen.meet(&mut wire, &watch, &alice);
        let (agent, subject) = (alice.agent.clone(), alice.subject());
        let mut say = |number| {
            let request = pen.request(&agent, &session, number);
            wire.send(&subject, &pen.sign(request));
        };
        say(2);
        eventually("the first is taken", || {
            (alice.inbox().len() == 1).then_some(())
        });
        let (there, aside) = (alice.dir.join(name), alice.dir.join("aside"));
        let receipts = |watch: &Watch| {
            let said = watch.since(0).into_iter();
            said.filter(|said| sender(said) == agent && said["method"] == "agent.receipt")
                .map(|receipt| receipt["params"]["body"]["through"].as_u64().unwrap())
                .max()
        };
        remove(&there, &aside);
        say(3);
        say(4);
        assert_eq!(alice.ended().code(), Some(4), "{name}: {}", alice.said());
        let said = alice.said();
        assert!(
            said.contains("is not at its place any more") && said.contains("  next: find out"),
            "{name}: {said}"
        );
        assert!(
            receipts(&watch).is_none_or(|through| through < 3),
            "{name}: nothing lost is receipted"
        );
        if name == "audit" {
            let told = alice.fails(1, &["status"]);
            assert!(told.contains("the log went back"), "{name}: {told}");
            let doctor = alice.cli(&["doctor"]);
            assert_eq!(doctor.status.code(), Some(1), "{name}: {}", says(&doctor));
        }
        if comes_back {
            if aside.exists() {
                std::fs::rename(&aside, &there).unwrap();
            }
            alice.start();
            say(5);
            eventually("it goes on", || {
                let taken = alice.inbox();
                taken
                    .iter()
                    .any(|item| item["body"]["n"] == 5)
                    .then_some(())
            });
            receipts_hold(&watch, &alice);
        } else {
            let told = alice.fails(1, &["run"]);
            assert!(told.contains("the log went back"), "{told}");
        }
    }
}

#[test]
fn a_log_removed_under_a_daemon_to_which_nobody_writes_is_found_within_seconds() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    std::fs::remove_dir_all(alice.dir.join("audit")).unwrap();
    assert_eq!(alice.ended().code(), Some(4), "{}", alice.said());
    assert!(
        alice.said().contains("is not at its place any more"),
        "{}",
        alice.said()
    );
}

/// The folder of the log is a file system of its own, and goes away with `umount -l` while the daemon writes in it: its open
/// files stay what they are, and the path leads to the empty folder below.
#[test]
fn a_log_whose_file_system_is_unmounted_under_a_running_daemon_is_a_failed_disk() {
    let house = House::new();
    let (mut alice, mallory) = (house.home("alice"), house.home("mallory"));
    house.acquaint(&[&alice, &mallory]);
    let (disk, audit) = (house.path("disk"), alice.dir.join("audit"));
    for place in [&disk, &audit] {
        let _ = std::fs::create_dir(place);
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(place, private).unwrap();
    }
    let before = std::fs::read_dir(&audit).unwrap().count();
    let Some(_disk) = Mounted::in_memory(&disk, "40m") else {
        println!("NOT tried: this user may not mount a file system");
        return;
    };
    let copied = std::process::Command::new("cp")
        .arg("-a")
        .arg(audit.join("."))
        .arg(&disk)
        .status();
    assert!(copied.unwrap().success());
    let mounted = Mounted::again(&disk, &audit).unwrap();
    alice.start();
    let (mut wire, watch) = (Sender::new(&house), Watch::new(&house));
    let pen = Pen::of(&mallory);
    let session = pen.meet(&mut wire, &watch, &alice);
    let (agent, subject) = (alice.agent.clone(), alice.subject());
    let mut say = |number| wire.send(&subject, &pen.sign(pen.request(&agent, &session, number)));
    say(2);
    eventually("the first is taken", || {
        (alice.inbox().len() == 1).then_some(())
    });
    drop(mounted);
    assert_eq!(std::fs::read_dir(&audit).unwrap().count(), before);
    say(3);
    say(4);
    assert_eq!(alice.ended().code(), Some(4), "{}", alice.said());
    assert!(
        alice.said().contains("is not at its place any more"),
        "{}",
        alice.said()
    );
    let receipts = watch.since(0).into_iter();
    let receipts = receipts
        .filter(|said| sender(said) == agent && said["method"] == "agent.receipt")
        .map(|receipt| receipt["params"]["body"]["through"].as_u64().unwrap());
    assert!(receipts.max().is_none_or(|through| through < 3));
    let told = alice.fails(1, &["status"]);
    assert!(told.contains("the log went back"), "{told}");
    // With the disk mounted again the daemon starts and goes on in the log.
    let _mounted = Mounted::again(&disk, &audit).unwrap();
    alice.start();
    say(5);
    eventually("it goes on", || {
        let taken = alice.inbox();
        let mut bodies = taken.iter().map(|item| &item["body"]["n"]);
        bodies.any(|number| *number == 5).then_some(())
    });
    receipts_hold(&watch, &alice);
    alice.stop();
}
