//! Peers whose polls wait at a gateway, beside a daemon that has nothing for them yet.

use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::json;
use signet_testkit::eventually;
use signet_testkit::pen::{Pen, seed};
use tempfile::TempDir;

use crate::carriers::{Gateway, free_port};
use crate::carrying::INBOX;
use crate::daemon::Daemon;
use crate::wire::{Reply, post, post_until_read};

/// Bob's gateway, and forty peers of his.
struct Forty {
    _dir: TempDir,
    daemon: Daemon,
    gateway: Gateway,
    peers: Vec<Pen>,
}

impl Forty {
    /// With these sections of configuration.
    fn with(sections: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let bob = Pen::made("agent-bob", "bob", &seed([2; 32]), |_| {});
        let peers: Vec<Pen> = (0..40_u8)
            .map(|n| {
                let (agent, principal) = (format!("agent-n{n}"), format!("n{n}"));
                Pen::made(&agent, &principal, &seed([n + 10; 32]), |_| {})
            })
            .collect();
        let daemon = Daemon::start(dir.path(), &bob, &peers.iter().collect::<Vec<_>>());
        let gateway = Gateway::start_in(dir.path(), free_port(), sections);
        eventually("the gateway takes what comes", || {
            (post(gateway.port, INBOX, b"[]").status == 202).then_some(())
        });
        Self {
            _dir: dir,
            daemon,
            gateway,
            peers,
        }
    }

    /// Each of them polls a daemon that has nothing yet.
    fn poll(&self) -> Vec<JoinHandle<Reply>> {
        self.daemon.is_stuck.store(true, Ordering::SeqCst);
        let port = self.gateway.port;
        let begin = |pen: &Pen| {
            let poll = pen.sign(pen.call("agent.poll", "agent-bob", json!({})));
            std::thread::spawn(move || post_until_read(port, INBOX, &poll))
        };
        self.peers.iter().map(begin).collect()
    }

    /// From now on it has something for each.
    fn give(&self) {
        self.daemon.seen.lock().unwrap().kept = vec![br#"{"mail" : 1}"#.to_vec()];
        self.daemon.is_stuck.store(false, Ordering::SeqCst);
    }
}

#[test]
fn a_peer_that_polls_without_end_keeps_no_other_peer_from_its_mail() {
    let dir = tempfile::tempdir().unwrap();
    let pen = |agent: &str, principal: &str, byte: u8| {
        Pen::made(agent, principal, &seed([byte; 32]), |_| {})
    };
    let bob = pen("agent-bob", "bob", 2);
    let (mallory, alice) = (
        pen("agent-mallory", "mallory", 9),
        pen("agent-alice", "alice", 1),
    );
    let daemon = Daemon::start(dir.path(), &bob, &[&alice, &mallory]);
    let gateway = Gateway::start_in(dir.path(), free_port(), "[inbox]");
    eventually("the gateway takes what comes", || {
        (post(gateway.port, INBOX, b"[]").status == 202).then_some(())
    });
    daemon.is_stuck.store(true, Ordering::SeqCst);
    let poll = |pen: &Pen| pen.sign(pen.call("agent.poll", "agent-bob", json!({})));
    let port = gateway.port;
    let wait_for = |bytes: Vec<u8>| std::thread::spawn(move || post(port, INBOX, &bytes));
    let hostile: Vec<_> = (0..20)
        .map(|_| {
            // Sign each poll later than the one before, so that it is newer and ends the one before.
            std::thread::sleep(Duration::from_millis(20));
            wait_for(poll(&mallory))
        })
        .collect();
    // On a busy machine some polls arrive after a newer one, and are given to the daemon like copies: so expect only
    // half of them to be ended.
    eventually("the older ones are ended by the newer", || {
        let over = hostile.iter().filter(|asked| asked.is_finished());
        (over.count() >= hostile.len() / 2).then_some(())
    });
    let honest = wait_for(poll(&alice));
    std::thread::sleep(Duration::from_millis(500));
    assert!(
        !honest.is_finished(),
        "it waits for its mail: {:?}",
        honest.join()
    );
    daemon.seen.lock().unwrap().kept = vec![br#"{"mail" : 1}"#.to_vec()];
    daemon.is_stuck.store(false, Ordering::SeqCst);
    let mail = honest.join().unwrap();
    assert_eq!(
        (mail.status, &mail.body[..]),
        (200, &br#"[{"mail" : 1}]"#[..])
    );
    for ended in hostile {
        let ended = ended.join().unwrap();
        assert!([200, 202].contains(&ended.status), "{ended:?}");
    }
}

#[test]
fn forty_honest_peers_that_poll_at_once_all_wait_for_their_mail() {
    let house = Forty::with("[inbox]");
    let polls = house.poll();
    std::thread::sleep(Duration::from_secs(1));
    let over = polls.iter().filter(|poll| poll.is_finished()).count();
    assert_eq!(over, 0, "each has a place of its own");
    house.give();
    for poll in polls {
        assert_eq!(poll.join().unwrap().status, 200);
    }
}

#[test]
fn polls_leave_a_listener_of_32_connections_to_those_who_bring_something() {
    let house = Forty::with("[inbox]\n[limits]\nconnections = 32");
    let polls = house.poll();
    eventually("twelve are told to come again", || {
        let over = polls.iter().filter(|poll| poll.is_finished()).count();
        (over == 12).then_some(())
    });
    let brought = post_until_read(house.gateway.port, INBOX, b"[]");
    assert_eq!(brought.status, 202, "there is a connection for it");
    house.give();
    let statuses = polls.into_iter().map(|poll| poll.join().unwrap().status);
    let (served, told): (Vec<u16>, Vec<u16>) = statuses.partition(|status| *status == 200);
    assert_eq!((served.len(), told), (28, vec![503; 12]));
}
