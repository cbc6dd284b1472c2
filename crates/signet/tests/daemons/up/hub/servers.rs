//! `signet up --join` on the servers that are promised: mail in a mailbox, and a server that is too old.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use signet_testkit::says;

use super::Machine;
use crate::sites::hub::Hub;

/// That program, where `.tools` has it.
pub(super) fn server_of(name: &str) -> Option<PathBuf> {
    let tools = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.tools"));
    let server = tools.join(name);
    if !server.exists() {
        println!("left out: there is no {}", server.display());
        return None;
    }
    Some(server)
}

/// With that server the mail lies in a mailbox while the server's JetStream domain changes, and no sender runs that could
/// send it again.
fn mail_stays_on(server: &str) {
    let Some(server) = server_of(server) else {
        return;
    };
    let hub = Hub::of(&["house-one=alice,bob"]);
    let mut machine = Machine::new();
    machine.server = Some(server);
    machine.up("alice");
    let beside = machine.beside("bob", "alice");
    let beside: Vec<&str> = beside.iter().map(String::as_str).collect();
    machine.done("bob", &beside);
    machine.talks("alice", "bob");
    let line = machine.dir.path().join("line");
    std::fs::write(&line, hub.line("house-one")).unwrap();
    let join = format!("@{}", line.display());
    for (mail, change) in [
        ("\"before\"", vec!["--join", &join]),
        ("\"between\"", vec!["--leave"]),
    ] {
        machine.done("bob", &["down"]);
        // It ends well where the mailbox holds the message.
        machine.done("alice", &["send", "bob", "--notify", mail]);
        machine.done("alice", &[&["up", "--background"], &change[..]].concat());
        machine.done("alice", &["down", "--keep-nats"]);
        machine.done("bob", &["up", "--background"]);
        // The leaf tried to hand the mail to the daemon that had just been stopped, and tries again 30 s after its new start.
        let limit = Instant::now() + Duration::from_secs(100);
        let mut taken = String::new();
        while !taken.contains(mail) && Instant::now() < limit {
            std::thread::sleep(Duration::from_millis(200));
            taken = machine.done("bob", &["inbox", "--take", "--json"]);
        }
        assert!(taken.contains(mail), "{mail}: {taken}");
        machine.done("alice", &["up", "--background"]);
    }
    machine.talks("bob", "alice");
}

#[test]
fn mail_in_a_mailbox_outlives_joining_a_hub_and_leaving_it() {
    mail_stays_on("nats-server-2.15.1");
}

#[test]
fn mail_in_a_mailbox_outlives_joining_a_hub_and_leaving_it_on_the_oldest_2_10() {
    mail_stays_on("nats-server-2.10.25");
}

/// It gave up mail for a daemon that was just stopped: ten tries within milliseconds, and no more.
#[test]
fn a_server_of_2_9_is_refused_by_name_before_it_is_changed_or_made() {
    let Some(server) = server_of("nats-server") else {
        return;
    };
    let hub = Hub::of(&["house-one=alice"]);
    let mut machine = Machine::new();
    machine.server = Some(server);
    machine.up("alice");
    let files = ["server.conf", "server.json", "server.pid"];
    let nats = machine.home("alice").join("nats");
    let texts = || files.map(|file| std::fs::read(nats.join(file)).unwrap());
    let before = texts();
    let told = machine.refuses("alice", 1, &hub.line("house-one"));
    assert!(
        told.contains("nats-server 2.9 is too old") && told.contains("2.10 or newer"),
        "{told}"
    );
    assert_eq!(texts(), before);
    assert!(!nats.join("leaf.conf").exists());
    let left = machine.done("alice", &["up", "--background", "--leave"]);
    assert!(left.contains("a leaf of no hub"), "{left}");
    let args = ["up", "--agent", "alice", "--principal", "alice"];
    let more = ["--background", "--join", "-"];
    let output = machine.with_input("new", &[&args[..], &more].concat(), &hub.line("house-one"));
    assert!(says(&output).contains("too old"), "{}", says(&output));
    assert!(!machine.home("new").join("nats").exists());
    // With a newer program the same home joins.
    if let Some(newer) = server_of("nats-server-2.10.25") {
        machine.done("alice", &["down"]);
        machine.server = Some(newer);
        machine.joins("alice", &hub.line("house-one"));
    }
}
