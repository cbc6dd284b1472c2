//! The inbox of a gateway, and what leaves by it, beside a daemon that does what the test says.

use std::io::{Read as _, Write as _};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::json;
use signet_testkit::eventually;
use signet_testkit::pen::{Pen, seed, with};
use tempfile::TempDir;

use crate::carriers::{Gateway, free_port};
use crate::daemon::Daemon;
use crate::wire::{Reply, begun, exchange, post, post_as};

/// Bob's gateway beside a daemon that knows Alice.
struct Bench {
    _dir: TempDir,
    alice: Pen,
    stranger: Pen,
    daemon: Daemon,
    gateway: Gateway,
}

pub(crate) const INBOX: &str = "/agent/agent-bob/inbox";
const SESSION: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

impl Bench {
    fn with(sections: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let pen = |agent: &str, principal: &str, byte: u8| {
            Pen::made(agent, principal, &seed([byte; 32]), |_| {})
        };
        let (alice, bob) = (pen("agent-alice", "alice", 1), pen("agent-bob", "bob", 2));
        let daemon = Daemon::start(dir.path(), &bob, &[&alice]);
        let gateway = Gateway::start_in(dir.path(), free_port(), sections);
        let bench = Self {
            alice,
            stranger: pen("agent-eve", "eve", 3),
            daemon,
            gateway,
            _dir: dir,
        };
        eventually("the gateway carries", || {
            bench.daemon.is_attached("http").then_some(())
        });
        eventually("the gateway takes what comes", || {
            (bench.post(b"[]").status == 202).then_some(())
        });
        bench
    }

    fn new() -> Self {
        Self::with("[inbox]")
    }

    fn post(&self, body: &[u8]) -> Reply {
        post(self.gateway.port, INBOX, body)
    }

    fn of_alice(&self, n: u64) -> Vec<u8> {
        self.alice
            .sign(self.alice.notification("agent-bob", SESSION, n))
    }
}

#[test]
fn what_is_found_out_shows_in_no_answer_and_everything_reaches_the_daemon_byte_for_byte() {
    let bench = Bench::new();
    let mut forged = bench.of_alice(2);
    let last = forged.len() - 10;
    forged[last] ^= 1;
    let unknown = bench
        .stranger
        .sign(bench.stranger.notification("agent-bob", SESSION, 1));
    let flight = bench.stranger.sign(bench.stranger.announce("agent-bob"));
    let elsewhere = bench
        .alice
        .sign(bench.alice.notification("agent-carol", SESSION, 1));
    let spaced = [b" ".to_vec(), bench.of_alice(3), b"\n".to_vec()].concat();
    let all = [
        bench.of_alice(1),
        forged,
        unknown,
        flight,
        elsewhere,
        spaced,
        b"junk".to_vec(),
        b"{\"a\":1}".to_vec(),
    ];
    let mut answers: Vec<Reply> = all.iter().map(|bytes| bench.post(bytes)).collect();
    assert_eq!(bench.daemon.delivered(), all);
    answers.dedup_by_key(|answer| {
        let kept = answer
            .head
            .lines()
            .filter(|line| !line.to_ascii_lowercase().starts_with("date:"));
        (
            answer.status,
            kept.collect::<Vec<_>>().join("\n"),
            answer.body.clone(),
        )
    });
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!((answers[0].status, answers[0].body.len()), (202, 0));
}

#[test]
fn an_array_is_framing_and_each_element_is_as_it_was_sent() {
    let bench = Bench::new();
    let odd = br#"{"b" : 1.0e0, "a":"\u005d]","a":{}}"#.to_vec();
    let elements = [bench.of_alice(1), odd, bench.of_alice(2)];
    let body = [
        b"[\n",
        &elements[0][..],
        b" ,\t",
        &elements[1],
        b",",
        &elements[2],
        b"]\n",
    ]
    .concat();
    assert_eq!(bench.post(&body).status, 202);
    let mut delivered = bench.daemon.delivered();
    delivered.sort();
    let mut sent = elements.to_vec();
    sent.sort();
    assert_eq!(delivered, sent);
}

/// Many libraries send a body without a length in pieces.
#[test]
fn a_message_that_is_posted_in_pieces_is_taken_as_one_that_is_posted_whole() {
    let bench = Bench::new();
    let message = bench.of_alice(1);
    let port = bench.gateway.port;
    let mut request = format!(
        "POST {INBOX} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n\
         Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    )
    .into_bytes();
    for piece in message.chunks(100) {
        request.extend(format!("{:x}\r\n", piece.len()).into_bytes());
        request.extend_from_slice(piece);
        request.extend_from_slice(b"\r\n");
    }
    request.extend_from_slice(b"0\r\n\r\n");
    assert_eq!(exchange(port, &request).status, 202);
    assert_eq!(bench.daemon.delivered(), [message]);
}

#[test]
fn size_type_method_and_name_are_refused_before_anything_is_judged() {
    let bench = Bench::new();
    let port = bench.gateway.port;
    let many = format!("[{}{{}}]", "{},".repeat(9_999));
    assert_eq!(bench.post(many.as_bytes()).status, 413);
    assert_eq!(bench.post(&vec![b'x'; 300 * 1024]).status, 413);
    assert_eq!(bench.post(&vec![b'x'; 3 << 20]).status, 413);
    for headers in [
        "",
        "Content-Type: text/plain\r\n",
        "Content-Type: application/json\r\nContent-Encoding: gzip\r\n",
    ] {
        assert_eq!(
            post_as(port, INBOX, headers, b"{}").status,
            415,
            "{headers}"
        );
    }
    assert_eq!(post(port, "/agent/agent-carol/inbox", b"{}").status, 404);
    let get =
        format!("GET {INBOX} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
    assert_eq!(exchange(port, get.as_bytes()).status, 405);
    assert_eq!(bench.daemon.delivered(), Vec::<Vec<u8>>::new());
}

#[test]
fn who_writes_two_mib_slowly_reads_that_it_is_too_much() {
    let bench = Bench::new();
    let piece = vec![b'x'; 1 << 17];
    let mut stream = begun(bench.gateway.port, INBOX, 2 << 20, &piece);
    for _ in 1..16 {
        std::thread::sleep(Duration::from_millis(100));
        stream.write_all(&piece).unwrap();
    }
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 413");
}

#[test]
fn an_answer_comes_at_a_tick_so_that_its_time_does_not_tell_what_was_found() {
    let bench = Bench::new();
    let mut forged = bench.of_alice(2);
    let last = forged.len() - 10;
    forged[last] ^= 1;
    for body in [bench.of_alice(1), forged, b"junk".to_vec(), b"[]".to_vec()] {
        let began = Instant::now();
        assert_eq!(bench.post(&body).status, 202);
        let took = began.elapsed();
        assert!(took >= Duration::from_millis(25), "{took:?}");
    }
}

#[test]
fn bodies_that_never_end_use_up_the_pace_of_their_address_and_not_the_memory() {
    let bench = Bench::with("[inbox]\n[limits]\nbody-seconds = 2\nconnections = 64");
    // Send twice as many bodies as there are connections (64), half a MiB of each, and never their ends.
    let piece = vec![b'x'; 1 << 19];
    let slow: Vec<_> = (0..128)
        .map(|_| std::panic::catch_unwind(|| begun(bench.gateway.port, INBOX, 1 << 20, &piece)))
        .collect();
    let message = bench.of_alice(1);
    eventually("a peer gets through", || {
        let posted = std::panic::catch_unwind(|| bench.post(&message).status);
        posted.ok().filter(|status| *status == 202)
    });
    assert_eq!(bench.daemon.delivered(), [message]);
    drop(slow);
}

#[test]
fn a_body_that_is_announced_to_be_too_long_is_refused_by_its_head() {
    let bench = Bench::new();
    let began = Instant::now();
    let mut stream = begun(bench.gateway.port, INBOX, 3 << 20, b"{");
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 413");
    assert!(
        began.elapsed() < Duration::from_secs(20),
        "it waits for no more"
    );
}

#[test]
fn whoever_floods_is_told_to_wait() {
    let bench = Bench::with("[inbox]\nenvelopes-per-minute = 30");
    let replies: Vec<Reply> = (0..20).map(|_| bench.post(b"junk")).collect();
    let refused: Vec<_> = replies.iter().filter(|reply| reply.status == 429).collect();
    assert!(refused.len() >= 8, "{replies:?}");
    for reply in refused {
        assert!((1..=60).contains(&reply.header("retry-after").unwrap().parse::<u64>().unwrap()));
    }
    assert!(bench.daemon.delivered().len() <= 12);
}

#[test]
fn a_daemon_that_is_away_or_comes_back_is_seen_by_whoever_sends() {
    let bench = Bench::new();
    bench.daemon.go_away();
    let away = eventually("it is away", || {
        Some(bench.post(b"{}")).filter(|reply| reply.status == 503)
    });
    assert!(away.header("retry-after").is_some());
    let told: serde_json::Value = serde_json::from_slice(away.body.as_ref()).unwrap();
    assert_eq!(told["error"]["reason"], "daemon-away");
    let bob = Pen::made("agent-bob", "bob", &seed([2; 32]), |_| {});
    let back = Daemon::start(bench._dir.path(), &bob, &[&bench.alice]);
    let message = bench.of_alice(1);
    eventually("it is back", || {
        (bench.post(&message).status == 202).then_some(())
    });
    assert_eq!(back.delivered(), [message]);
}

#[test]
fn what_the_daemon_has_not_ruled_on_is_not_called_taken() {
    let bench = Bench::new();
    bench.daemon.is_stuck.store(true, Ordering::SeqCst);
    let (port, message) = (bench.gateway.port, bench.of_alice(1));
    let sent = std::thread::spawn(move || post(port, INBOX, &message).status);
    std::thread::sleep(Duration::from_millis(500));
    assert!(!sent.is_finished());
    bench.daemon.go_away();
    assert_eq!(sent.join().unwrap(), 503);
    bench.daemon.is_stuck.store(false, Ordering::SeqCst);
}

#[test]
fn a_forged_flood_is_dropped_first_while_a_peer_talks() {
    let bench = Bench::with("[inbox]\nqueue-bytes = 1000000\nenvelopes-per-minute = 1000000");
    bench.daemon.is_stuck.store(true, Ordering::SeqCst);
    let (port, forged) = (bench.gateway.port, vec![b'x'; 120 * 1024]);
    let flood: Vec<_> = (0..40)
        .map(|_| {
            let forged = forged.clone();
            std::thread::spawn(move || post(port, INBOX, &forged).status)
        })
        .collect();
    std::thread::sleep(Duration::from_secs(1));
    let peers: Vec<_> = (0..10)
        .map(|n| {
            let message = bench.of_alice(n);
            std::thread::spawn(move || {
                eventually("there is room", || {
                    Some(post(port, INBOX, &message).status).filter(|status| *status == 202)
                })
            })
        })
        .collect();
    std::thread::sleep(Duration::from_secs(1));
    bench.daemon.is_stuck.store(false, Ordering::SeqCst);
    for peer in peers {
        assert_eq!(peer.join().unwrap(), 202);
    }
    let statuses: Vec<u16> = flood.into_iter().map(|sent| sent.join().unwrap()).collect();
    assert!(
        statuses
            .iter()
            .all(|status| [202, 429, 503].contains(status)),
        "{statuses:?}"
    );
    let delivered = bench.daemon.delivered();
    assert_eq!(
        delivered
            .iter()
            .filter(|bytes| bytes.starts_with(b"{"))
            .count(),
        10
    );
}

#[test]
fn a_slow_body_is_given_up_and_holds_nobody_else() {
    let bench = Bench::with("[inbox]\n[limits]\nbody-seconds = 2");
    let mut slow: Vec<_> = (0..50)
        .map(|_| begun(bench.gateway.port, INBOX, 1_000, b"{\"a\":"))
        .collect();
    let began = Instant::now();
    assert_eq!(bench.post(&bench.of_alice(1)).status, 202);
    assert!(
        began.elapsed() < Duration::from_secs(2),
        "{:?}",
        began.elapsed()
    );
    for stream in &mut slow {
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 408"),
            "{answer}"
        );
    }
    assert!(
        began.elapsed() < Duration::from_secs(45),
        "{:?}",
        began.elapsed()
    );
}

#[test]
fn only_a_poll_that_verifies_is_answered_with_what_is_kept() {
    let bench = Bench::new();
    let kept = [bench.of_alice(8), br#"{"as" : "it was"}"#.to_vec()];
    bench.daemon.seen.lock().unwrap().kept = kept.to_vec();
    let poll = bench.alice.call("agent.poll", "agent-bob", json!({}));
    let forged = bench
        .stranger
        .sign(with(poll.clone(), "agent-id", "agent-alice"));
    let refused = bench.post(&forged);
    assert_eq!((refused.status, refused.body.len()), (202, 0));
    let several = [b"[", &bench.alice.sign(poll.clone())[..], b",{}]"].concat();
    assert_eq!(
        bench.post(&several).body.len(),
        0,
        "a poll is a request of its own"
    );
    let answered = bench.post(&bench.alice.sign(poll));
    assert_eq!(
        (answered.status, answered.header("content-type")),
        (200, Some("application/json"))
    );
    assert_eq!(
        answered.body,
        [b"[", &kept[0][..], b",", &kept[1], b"]"].concat()
    );
}

#[test]
fn a_parcel_is_posted_and_what_became_of_it_is_told() {
    let (bench, other) = (Bench::new(), Bench::new());
    let message = br#"{"parcel" : 1}"#;
    let url = format!("http://127.0.0.1:{}{INBOX}", other.gateway.port);
    let id = bench.daemon.hand_out("http", "agent-carol", &url, message);
    assert!(eventually("it left", || bench.daemon.fate_of(id)));
    assert_eq!(other.daemon.delivered(), [message.to_vec()]);
    let refusals = [
        "http://127.0.0.1:1/agent/agent-carol/inbox".to_owned(),
        format!(
            "http://127.0.0.1:{}/agent/agent-nobody/inbox",
            other.gateway.port
        ),
        "http://10.1.2.3/agent/agent-carol/inbox".to_owned(),
        "file:///etc/passwd".to_owned(),
        String::new(),
    ];
    for url in refusals {
        let id = bench.daemon.hand_out("http", "agent-carol", &url, message);
        assert!(
            !eventually("it is told", || bench.daemon.fate_of(id)),
            "{url}"
        );
    }
}

#[test]
fn a_gateway_that_is_killed_in_the_middle_has_called_nothing_taken_that_its_daemon_lacks() {
    let mut bench = Bench::new();
    let port = bench.gateway.port;
    let messages: Vec<Vec<u8>> = (0..60).map(|n| bench.of_alice(n)).collect();
    let sending = std::thread::spawn(move || {
        let sent = messages.into_iter().map(|message| {
            let taken =
                std::panic::catch_unwind(|| post(port, INBOX, &message).status).unwrap_or(0);
            (message, taken)
        });
        sent.collect::<Vec<_>>()
    });
    std::thread::sleep(Duration::from_millis(60));
    bench.gateway.kill();
    bench.gateway.restart();
    let sent = sending.join().unwrap();
    let delivered = bench.daemon.delivered();
    for (message, status) in &sent {
        assert!(*status != 202 || delivered.contains(message));
    }
    eventually("it carries again", || {
        (bench.post(b"[]").status == 202).then_some(())
    });
}

#[test]
fn whoever_only_dials_out_polls_with_what_came_last() {
    let bench = Bench::with("[inbox]\npoll-seconds = 1");
    let kept = [bench.of_alice(1), bench.of_alice(2)];
    let server = crate::peer::Peer::start(vec![kept.to_vec(), kept.to_vec(), Vec::new()]);
    let polls = vec![("agent-alice".to_owned(), server.url())];
    bench.daemon.seen.lock().unwrap().polls = polls;
    eventually("what was kept came", || {
        (bench.daemon.delivered().len() >= 4).then_some(())
    });
    assert_eq!(bench.daemon.delivered()[..2], kept);
    eventually("it polls on", || {
        (bench.daemon.seen.lock().unwrap().made_after.len() >= 3).then_some(())
    });
    let after = bench.daemon.seen.lock().unwrap().made_after.clone();
    let last: serde_json::Value = serde_json::from_slice(&kept[1]).unwrap();
    assert_eq!(
        (&after[0], &after[1]),
        (&json!(null), &last["params"]["headers"]["message-id"])
    );
}

#[test]
fn a_gateway_that_asks_for_a_pause_is_left_alone_and_another_is_not() {
    let bench = Bench::new();
    let busy = crate::peer::Peer::refusing(429, "Retry-After: 30\r\n");
    let first = bench
        .daemon
        .hand_out("http", "agent-alice", &busy.url(), b"{}");
    assert!(!eventually("it is told", || bench.daemon.fate_of(first)));
    let second = bench
        .daemon
        .hand_out("http", "agent-alice", &busy.url(), b"{}");
    assert!(!eventually("it is told", || bench.daemon.fate_of(second)));
    assert_eq!(busy.asked(), 1);
    let free = crate::peer::Peer::refusing(202, "");
    let third = bench
        .daemon
        .hand_out("http", "agent-alice", &free.url(), b"{}");
    assert!(eventually("it left", || bench.daemon.fate_of(third)));
}

#[test]
fn of_several_addresses_the_first_that_takes_it_gets_it_and_one_that_is_down_costs_no_other() {
    let bench = Bench::new();
    let hand_out = |addresses: &[String]| {
        let id = bench
            .daemon
            .hand_out("http", "agent-alice", &addresses.join(" "), b"{}");
        eventually("it is told", || bench.daemon.fate_of(id))
    };
    let down = format!("http://127.0.0.1:{}{INBOX}", free_port());
    let moved = crate::peer::Peer::refusing(404, "");
    let (first, second) = (
        crate::peer::Peer::refusing(202, ""),
        crate::peer::Peer::refusing(202, ""),
    );
    assert!(hand_out(&[
        down.clone(),
        moved.url(),
        first.url(),
        second.url()
    ]));
    assert_eq!((moved.asked(), first.asked(), second.asked()), (1, 1, 0));
    // `down` and `moved` have just failed, and are skipped for a while: `moved` is not asked again.
    assert!(hand_out(&[down.clone(), moved.url(), first.url()]));
    assert_eq!((moved.asked(), first.asked()), (1, 2));
    // A private address may not be called at all: it is skipped, and the next address gets the parcel.
    let inside = "http://10.1.2.3/x".to_owned();
    assert!(hand_out(&[inside.clone(), second.url()]));
    assert!(!hand_out(&[inside, down, "file:///etc/passwd".to_owned()]));
    // Once the pause of `moved` is over, it is asked first again.
    eventually("it is tried again", || {
        assert!(hand_out(&[moved.url(), second.url()]));
        (moved.asked() == 2).then_some(())
    });
}

#[test]
fn a_redirect_is_not_followed_and_an_answer_without_end_is_not_read() {
    let bench = Bench::new();
    let target = crate::peer::Peer::refusing(202, "");
    let redirect = crate::peer::Peer::refusing(307, &format!("Location: {}\r\n", target.url()));
    let id = bench
        .daemon
        .hand_out("http", "agent-alice", &redirect.url(), b"{}");
    assert!(!eventually("it is told", || bench.daemon.fate_of(id)));
    assert_eq!(target.asked(), 0);
    let endless = crate::peer::Peer::endless();
    let id = bench
        .daemon
        .hand_out("http", "agent-alice", &endless.url(), b"{}");
    assert!(!eventually("it is told", || bench.daemon.fate_of(id)));
}
