//! The room as its launcher starts it: by a cord, with a listener that is already bound.

use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Child, Command, Stdio};

use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags,
    SocketType, recv, sendmsg, socketpair,
};
use serde_json::{Value, json};

use crate::program::{Room, sample};

const SECRET: &str = "SECRETSECRETSECRETSECRETSECRETSECRETSECRETS";

struct Launcher {
    cord: OwnedFd,
    child: Child,
    host: String,
}

impl Launcher {
    fn start() -> Self {
        let (cord, theirs) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_signet-view"))
            .arg("--cord")
            .stdin(Stdio::from(theirs))
            .spawn()
            .unwrap();
        Self {
            cord,
            child,
            host: String::new(),
        }
    }

    fn say(&self, word: &Value, brings: Option<BorrowedFd<'_>>) {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut beside = SendAncillaryBuffer::new(&mut space);
        let brings: Vec<_> = brings.into_iter().collect();
        if !brings.is_empty() {
            assert!(beside.push(SendAncillaryMessage::ScmRights(&brings)));
        }
        let text = word.to_string();
        let sent = sendmsg(
            &self.cord,
            &[IoSlice::new(text.as_bytes())],
            &mut beside,
            SendFlags::empty(),
        );
        assert_eq!(sent.unwrap(), text.len());
    }

    fn hear(&self) -> Value {
        let mut bytes = [0; 4096];
        let (length, _) = recv(&self.cord, &mut bytes[..], RecvFlags::empty()).unwrap();
        serde_json::from_slice(&bytes[..length]).unwrap()
    }

    /// Opens a room over the sample, with a desk beside it.
    fn open(&mut self, data: &std::path::Path) {
        self.open_for(data, 600);
    }

    /// As [`Launcher::open`]; the room ends after so many seconds without use.
    fn open_for(&mut self, data: &std::path::Path, idle: u64) {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        self.host = socket.local_addr().unwrap().to_string();
        let listen = json!({"listen": {"secret": SECRET, "host": self.host, "desk": "http://127.9.9.9:9", "homes": 1, "idle": idle}});
        self.say(&listen, Some(socket.as_fd()));
        let home = json!({"home": {"name": "alice", "agent": null, "log": sample("agent-alice-001"), "data": data}});
        self.say(&home, None);
        assert_eq!(self.hear(), json!({"ready": {}}));
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_launcher_hands_over_listener_logs_and_tickets_and_the_pages_lead_to_the_desk() {
    let data = tempfile::tempdir().unwrap();
    let mut launcher = Launcher::start();
    launcher.open(data.path());
    for once in ["one", "two"] {
        launcher.say(&json!({"ticket": {"once": once, "seconds": 60}}), None);
    }
    let mut room = Room::at(&launcher.host, "one");
    room.enter_patiently();
    assert_eq!(room.path, format!("/s/{SECRET}/"));
    let page = room.shows("search?tier=3", "conversation?id=");
    let id = page
        .split("conversation?id=")
        .nth(1)
        .unwrap()
        .split(['#', '"'])
        .next()
        .unwrap();
    let page = room.get(&format!("conversation?id={id}")).body;
    assert!(
        page.contains("href=\"http://127.9.9.9:9/to/open?home=alice&amp;id="),
        "{page}"
    );
    assert!(page.contains("rel=\"noreferrer\""), "{page}");
    let mut other = Room::at(&launcher.host, "two");
    other.enter_patiently();
}

#[test]
fn the_room_ends_with_its_launcher() {
    let data = tempfile::tempdir().unwrap();
    let mut launcher = Launcher::start();
    launcher.open(data.path());
    let (nobody, _) = socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )
    .unwrap();
    drop(std::mem::replace(&mut launcher.cord, nobody));
    let begun = std::time::Instant::now();
    while launcher.child.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < crate::program::PATIENCE);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn words_that_nobody_understands_end_a_room_before_it_begins() {
    for word in [
        json!({"open": "/etc"}),
        json!([]),
        json!({"listen": {"secret": SECRET, "host": "127.0.0.1:1"}}),
    ] {
        let mut launcher = Launcher::start();
        launcher.say(&word, None);
        assert!(!launcher.child.wait().unwrap().success(), "{word}");
    }
}

#[test]
fn a_room_that_nobody_uses_ends_by_itself_and_says_so() {
    let data = tempfile::tempdir().unwrap();
    let mut launcher = Launcher::start();
    launcher.open_for(data.path(), 1);
    assert_eq!(launcher.hear(), json!({"end": {"reason": "idle"}}));
    assert!(launcher.child.wait().unwrap().success());
}
