//! A server that is played: it ends pulls with words that no server says yet.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use signet_transport::{Arrival, ConnectionConfig, Mailbox, Nats, NatsInbox};

use crate::mailbox::{ALPHA, message, next, wait_for};

#[tokio::test]
async fn a_pull_that_ends_with_any_status_from_400_to_599_does_not_slow_the_reading() {
    let played = Played::start(EACH);
    let (_alpha, mut inbox) = read(&played).await;
    let start = Instant::now();
    for n in 1..=200 * EACH {
        let (bytes, _) = message(next(&mut inbox).await);
        assert_eq!(bytes, n.to_string());
    }
    let took = start.elapsed();
    let pulls = played.pulls.load(Ordering::Relaxed);
    println!("{} messages by {pulls} pulls in {took:?}", 200 * EACH);
    assert!(played.status.load(Ordering::Relaxed) >= 599);
    assert!(took < Duration::from_secs(20), "{took:?}");
}

#[tokio::test]
async fn a_server_that_ends_every_pull_at_once_is_asked_on_and_not_in_a_hot_loop() {
    let played = Played::start(0);
    let (_alpha, mut inbox) = read(&played).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let pulls = played.pulls.load(Ordering::Relaxed);
    assert!((24..80).contains(&pulls), "{pulls} pulls in 3 s");
    played.each.store(EACH, Ordering::Relaxed);
    let start = Instant::now();
    for _ in 0..100 {
        message(next(&mut inbox).await);
    }
    assert!(
        start.elapsed() < Duration::from_secs(2),
        "{:?}",
        start.elapsed()
    );
}

/// So many messages a pull brings.
const EACH: u32 = 20;

async fn read(played: &Played) -> (Nats, NatsInbox) {
    let server = format!("nats://127.0.0.1:{}", played.port);
    let mut config = ConnectionConfig::new(vec![server], ALPHA, "_INBOX_alpha");
    config.mailbox = Some(Mailbox::of("alpha"));
    let (nats, mut inbox) = Nats::connect(config).await.unwrap();
    wait_for(&mut inbox, |arrival| *arrival == Arrival::Connected).await;
    assert!(nats.has_mailbox());
    (nats, inbox)
}

/// Has a mailbox that never ends, and ends each pull behind a few messages: with the status 400, then 401, and so on to
/// 599, half of them with a count of what they left.
struct Played {
    port: u16,
    pulls: Arc<AtomicU32>,
    status: Arc<AtomicU16>,
    each: Arc<AtomicU32>,
}

impl Played {
    fn start(each: u32) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let played = Self {
            port: listener.local_addr().unwrap().port(),
            pulls: Arc::default(),
            status: Arc::new(AtomicU16::new(400)),
            each: Arc::new(AtomicU32::new(each)),
        };
        let (pulls, status) = (Arc::clone(&played.pulls), Arc::clone(&played.status));
        let each = Arc::clone(&played.each);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut client = Client::greet(stream);
                while let Some((subject, reply)) = client.hear() {
                    if subject.starts_with("$JS.API.CONSUMER.INFO.") {
                        client.say(&reply, CONSUMER);
                    } else if subject.starts_with("$JS.API.CONSUMER.MSG.NEXT.") {
                        let pull = pulls.fetch_add(1, Ordering::Relaxed);
                        let each = each.load(Ordering::Relaxed);
                        client.deliver(each, &reply);
                        let code = 400 + status.fetch_add(1, Ordering::Relaxed) % 200;
                        client.end(code, (pull % 2 == 0).then_some(256 - each), &reply);
                    }
                }
            }
        });
        played
    }
}

struct Client {
    lines: BufReader<TcpStream>,
    out: TcpStream,
    subscribed: Vec<(String, String)>,
    delivered: u32,
}

impl Client {
    fn greet(stream: TcpStream) -> Self {
        stream.set_nodelay(true).unwrap();
        let mut out = stream.try_clone().unwrap();
        let info = r#"{"server_id":"x","server_name":"x","version":"3.0.0","go":"x","host":"127.0.0.1","port":1,"headers":true,"max_payload":1048576,"proto":1,"client_id":1,"jetstream":true}"#;
        let _ = write!(out, "INFO {info}\r\n");
        Self {
            lines: BufReader::new(stream),
            out,
            subscribed: Vec::new(),
            delivered: 0,
        }
    }

    /// The next thing that is published, and where its answer goes.
    fn hear(&mut self) -> Option<(String, String)> {
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).unwrap_or(0) == 0 {
                return None;
            }
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                ["PING"] => drop(self.out.write_all(b"PONG\r\n")),
                ["SUB", subject, .., sid] => {
                    let place = ((*subject).to_owned(), (*sid).to_owned());
                    self.subscribed.push(place);
                }
                ["PUB", subject, more @ .., length] => {
                    let mut payload = vec![0; length.parse::<usize>().unwrap() + 2];
                    self.lines.read_exact(&mut payload).ok()?;
                    let reply = more.first().copied().unwrap_or_default();
                    return Some(((*subject).to_owned(), reply.to_owned()));
                }
                _ => {}
            }
        }
    }

    /// The number of the subscription that takes this subject.
    fn subscription(&self, subject: &str) -> String {
        let takes = |pattern: &str| match pattern.strip_suffix('*') {
            Some(start) => subject.starts_with(start),
            None => pattern == subject,
        };
        let found = self.subscribed.iter().find(|(pattern, _)| takes(pattern));
        found.unwrap().1.clone()
    }

    fn say(&mut self, subject: &str, text: &str) {
        let sid = self.subscription(subject);
        let length = text.len();
        let _ = write!(self.out, "MSG {subject} {sid} {length}\r\n{text}\r\n");
    }

    fn deliver(&mut self, count: u32, inbox: &str) {
        let sid = self.subscription(inbox);
        for _ in 0..count {
            self.delivered += 1;
            let (n, text) = (self.delivered, self.delivered.to_string());
            let reply = format!("$JS.ACK._.HASH.AGENT_INBOX.alpha.1.{n}.{n}.1700000000000000000.9");
            let length = text.len();
            let _ = write!(self.out, "MSG {ALPHA} {sid} {reply} {length}\r\n{text}\r\n");
        }
    }

    fn end(&mut self, status: u16, left: Option<u32>, inbox: &str) {
        let sid = self.subscription(inbox);
        let left = left.map(|left| format!("Nats-Pending-Messages: {left}\r\n"));
        let left = left.unwrap_or_default();
        let header = format!("NATS/1.0 {status} No Word That Is Known\r\n{left}\r\n");
        let length = header.len();
        let _ = write!(
            self.out,
            "HMSG {inbox} {sid} {length} {length}\r\n{header}\r\n"
        );
    }
}

const CONSUMER: &str = r#"{"type":"io.nats.jetstream.api.v1.consumer_info_response","stream_name":"AGENT_INBOX","name":"alpha","created":"2026-01-01T00:00:00Z","config":{"durable_name":"alpha","name":"alpha","deliver_policy":"all","ack_policy":"explicit","ack_wait":30000000000,"max_deliver":10,"filter_subject":"agent.alpha.inbox","replay_policy":"instant","max_waiting":512,"max_ack_pending":1024,"num_replicas":0},"delivered":{"consumer_seq":0,"stream_seq":0},"ack_floor":{"consumer_seq":0,"stream_seq":0},"num_ack_pending":0,"num_redelivered":0,"num_waiting":0,"num_pending":8000}"#;
