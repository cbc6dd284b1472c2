//! A channel of a stand-in for Discord: what is shown there, what is read there, and what happens when it fails.

mod places;

use std::fs::Permissions;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use data_encoding::BASE64URL_NOPAD;
use serde_json::{Value, json};
use signet_testkit::eventually;
use signet_testkit::pen::{Pen, seed};
use tempfile::TempDir;

use crate::carriers::{Gateway, free_port};
use crate::daemon::Daemon;
use crate::wire::post;

/// A server that speaks as much of Discord's REST as a channel needs.
#[derive(Clone)]
pub(crate) struct Discord {
    pub(crate) port: u16,
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    /// The posts, as they were made: the message, and the file with it.
    posts: Vec<(Value, Option<Vec<u8>>)>,
    /// What is answered first, before anything is done: status, headers, body.
    answers: Vec<(u16, String, String)>,
    asked: Vec<(Instant, String)>,
    hangs: bool,
    /// It does what it is asked for, and never says so.
    is_silent: bool,
    /// It answers with every post, whatever was asked for: a cache, or no Discord at all.
    ignores_after: bool,
}

pub(crate) const TOKEN: &str = "a-token-that-nobody-may-see";

impl Discord {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let discord = Self {
            port: listener.local_addr().unwrap().port(),
            inner: Arc::default(),
        };
        let served = discord.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let served = served.clone();
                std::thread::spawn(move || served.serve(stream.unwrap()));
            }
        });
        discord
    }

    /// A post of somebody's.
    pub(crate) fn has(&self, content: &str, file: Option<&[u8]>) {
        let mut inner = self.inner.lock().unwrap();
        inner
            .posts
            .push((json!({"content": content}), file.map(<[u8]>::to_vec)));
    }

    fn answers(&self, status: u16, headers: &str, body: &str) {
        self.inner
            .lock()
            .unwrap()
            .answers
            .push((status, headers.to_owned(), body.to_owned()));
    }

    pub(crate) fn posts(&self) -> Vec<(Value, Option<Vec<u8>>)> {
        self.inner.lock().unwrap().posts.clone()
    }

    fn asked(&self, what: &str) -> Vec<Instant> {
        let inner = self.inner.lock().unwrap();
        inner
            .asked
            .iter()
            .filter(|(_, line)| line.starts_with(what))
            .map(|(at, _)| *at)
            .collect()
    }

    fn serve(&self, mut stream: TcpStream) {
        let Some((line, head, body)) = request(&stream) else {
            return;
        };
        let is_file = line.contains("/files/");
        if !is_file {
            assert!(
                head.contains(&format!("authorization: Bot {TOKEN}")),
                "{head}"
            );
            assert!(head.contains("user-agent: DiscordBot ("), "{head}");
        } else {
            assert!(!head.contains("authorization"), "{head}");
        }
        self.inner
            .lock()
            .unwrap()
            .asked
            .push((Instant::now(), line.clone()));
        while self.inner.lock().unwrap().hangs {
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut inner = self.inner.lock().unwrap();
        if inner.is_silent {
            inner.answer(self.port, &line, &head, &body);
            drop(inner);
            // Keep the connection open without an answer until the client closes it.
            let _ = stream.read(&mut [0]);
            return;
        }
        let (status, headers, answer) = match inner.answers.is_empty() || is_file {
            false => inner.answers.remove(0),
            true => (
                200,
                String::new(),
                inner.answer(self.port, &line, &head, &body),
            ),
        };
        let answer = format!(
            "HTTP/1.1 {status} x\r\nContent-Type: application/json\r\n{headers}Content-Length: {}\r\n\r\n{answer}",
            answer.len()
        );
        let _ = stream.write_all(answer.as_bytes());
    }
}

impl Inner {
    fn answer(&mut self, port: u16, line: &str, head: &str, body: &[u8]) -> String {
        let mut words = line.split(' ');
        let (method, path) = (words.next().unwrap(), words.next().unwrap());
        if let Some(number) = path.strip_prefix("/files/") {
            let file = self.posts[number.parse::<usize>().unwrap()].1.as_ref();
            return String::from_utf8(file.unwrap().clone()).unwrap();
        }
        let (place, query) = path.split_once('?').unwrap_or((path, ""));
        assert_eq!(place, "/api/channels/77/messages");
        if method == "POST" {
            let (message, file) = posted(head, body);
            let is_same = |known: &Value| known["nonce"] == message["nonce"];
            let known = self.posts.iter().position(|(known, _)| is_same(known));
            // With `enforce_nonce`, Discord makes no second message of the same nonce, and answers with the message
            // that it has.
            let at = match known.filter(|_| message["enforce_nonce"] == true) {
                Some(at) => at + 1,
                None => {
                    self.posts.push((message, file));
                    self.posts.len()
                }
            };
            return json!({"id": at.to_string()}).to_string();
        }
        let after = query
            .split('&')
            .find_map(|pair| pair.strip_prefix("after="));
        let after: usize =
            after.map_or(self.posts.len().saturating_sub(1), |id| id.parse().unwrap());
        let after = if self.ignores_after { 0 } else { after };
        let all = self.posts.iter().enumerate().skip(after).map(|(at, (message, file))| {
            let file = file.as_ref().map(|file| {
                json!({"filename": "x.json", "size": file.len(), "url": format!("http://127.0.0.1:{port}/files/{at}")})
            });
            json!({"id": (at + 1).to_string(), "content": message["content"], "author": {"id": "1", "bot": true},
                "attachments": file.into_iter().collect::<Vec<_>>()})
        });
        // Discord answers with the newest message first: so do the same here.
        let all: Vec<Value> = all.collect::<Vec<_>>().into_iter().rev().collect();
        Value::from(all).to_string()
    }
}

/// The message of a POST, as JSON or as a form.
fn posted(head: &str, body: &[u8]) -> (Value, Option<Vec<u8>>) {
    let Some((_, boundary)) = head.split_once("multipart/form-data; boundary=") else {
        return (serde_json::from_slice(body).unwrap(), None);
    };
    let boundary = format!("--{}", boundary.lines().next().unwrap());
    let text = String::from_utf8(body.to_vec()).unwrap();
    let parts: Vec<&str> = text.split(&boundary).collect();
    let content = |part: &str| {
        part.split_once("\r\n\r\n")
            .unwrap()
            .1
            .trim_end_matches("\r\n")
            .to_owned()
    };
    (
        serde_json::from_str(&content(parts[1])).unwrap(),
        Some(content(parts[2]).into_bytes()),
    )
}

fn request(stream: &TcpStream) -> Option<(String, String, Vec<u8>)> {
    let mut reader = BufReader::new(stream);
    let (mut first, mut head, mut length) = (String::new(), String::new(), 0);
    reader.read_line(&mut first).ok().filter(|read| *read > 0)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line == "\r\n" {
            break;
        }
        let (name, value) = line.trim_end().split_once(": ")?;
        if name.eq_ignore_ascii_case("content-length") {
            length = value.parse().ok()?;
        }
        head.push_str(&format!("{}: {value}\n", name.to_ascii_lowercase()));
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((first.trim_end().to_owned(), head, body))
}

/// The file of the bot's token, for its owner alone.
pub(crate) fn put_token(dir: &Path) {
    let path = dir.join("token");
    std::fs::write(&path, format!("{TOKEN}\n")).unwrap();
    std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
}

/// Bob's gateway, with a channel beside the daemon.
struct Bench {
    dir: TempDir,
    alice: Pen,
    bob: Pen,
    daemon: Daemon,
    discord: Discord,
    gateway: Gateway,
}

impl Bench {
    fn with(more: &str) -> Self {
        let bench = Self::unbegun(more, true);
        bench.begun();
        bench
    }

    /// One of which nobody knows whether the gateway has a place yet; the daemon is there, or gone again.
    fn unbegun(more: &str, has_daemon: bool) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let pen = |agent: &str, principal: &str, byte: u8| {
            Pen::made(agent, principal, &seed([byte; 32]), |_| {})
        };
        let (alice, bob) = (pen("agent-alice", "alice", 1), pen("agent-bob", "bob", 2));
        let daemon = Daemon::start(dir.path(), &bob, &[&alice]);
        if !has_daemon {
            daemon.go_away();
        }
        let discord = Discord::start();
        put_token(dir.path());
        let section = format!(
            "[discord]\nchannel = \"77\"\ntoken-file = \"token\"\nbase-url = \"http://127.0.0.1:{}/api\"\npoll-seconds = 1\n{more}",
            discord.port
        );
        let gateway = Gateway::start_in(dir.path(), free_port(), &section);
        Self {
            alice,
            bob,
            daemon,
            discord,
            gateway,
            dir,
        }
    }

    /// Until the gateway has read the place from which on it shows.
    fn begun(&self) {
        let place = self.dir.path().join("discord.json");
        eventually("it follows", || {
            std::fs::read_to_string(&place)
                .ok()
                .filter(|text| text.contains("shown"))
        });
    }

    /// A line of the log; its envelope.
    fn says(&self, line: u64, tier: u8, summary: &str, size: usize) -> Vec<u8> {
        let call = self.alice.call(
            "agent.notification",
            "agent-bob",
            json!({"x": "x".repeat(size)}),
        );
        let envelope = self.alice.sign(call);
        let message: Value = serde_json::from_slice(&envelope).unwrap();
        self.daemon.seen.lock().unwrap().shown.push(json!({
            "line": line, "direction": "in", "from": "agent-alice", "from-principal": "alice", "to": "agent-bob",
            "to-principal": "bob", "method": "agent.notification", "message-type": "notification",
            "message-id": message["params"]["headers"]["message-id"], "timestamp": "2026-01-01T00:00:00.000Z",
            "data-tier": tier, "summary": summary, "envelope": BASE64URL_NOPAD.encode(&envelope),
        }));
        envelope
    }

    fn shows(&self, count: usize) -> Vec<(Value, Option<Vec<u8>>)> {
        eventually("the channel shows it", || {
            Some(self.discord.posts()).filter(|posts| posts.len() >= count)
        })
    }
}

#[test]
fn the_channel_shows_what_it_may_and_the_envelope_as_it_is() {
    let bench = Bench::with("");
    let small = bench.says(5, 1, "@everyone *hi*", 10);
    bench.says(6, 3, "", 10);
    let large = bench.says(7, 2, "<@123>", 5_000);
    let posts = bench.shows(2);
    let content = posts[0].0["content"].as_str().unwrap();
    assert!(
        content.contains(&format!(
            "```json\n{}\n```",
            String::from_utf8(small).unwrap()
        )),
        "{content}"
    );
    assert!(content.contains(r"> \@everyone \*hi\*"), "{content}");
    assert_eq!((&posts[1].1, posts[0].1.is_none()), (&Some(large), true));
    for (message, _) in &posts {
        assert_eq!(message["allowed_mentions"], json!({"parse": []}));
        assert!(message["content"].as_str().unwrap().encode_utf16().count() <= 2_000);
    }
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(bench.discord.posts().len(), 2, "a sealed tier is not shown");
    assert!(!bench.gateway.said().contains(TOKEN));
}

#[test]
fn what_was_shown_is_not_shown_again_after_a_kill() {
    let mut bench = Bench::with("");
    bench.says(5, 1, "one", 10);
    bench.shows(1);
    let place = bench.dir.path().join("discord.json");
    eventually("the place is kept", || {
        std::fs::read_to_string(&place)
            .ok()
            .filter(|text| text.contains("\"shown\":5"))
    });
    bench.gateway.kill();
    bench.says(6, 1, "two", 10);
    bench.gateway.restart();
    let posts = bench.shows(2);
    let said = |at: usize| posts[at].0["content"].as_str().unwrap().to_owned();
    assert!(said(0).contains("> one") && said(1).contains("> two"));
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(bench.discord.posts().len(), 2);
}

#[test]
fn a_gateway_killed_while_discord_takes_a_post_leaves_one_post_and_no_double() {
    let mut bench = Bench::with("");
    bench.discord.inner.lock().unwrap().is_silent = true;
    bench.says(5, 1, "one", 10);
    bench.shows(1);
    bench.gateway.kill();
    bench.discord.inner.lock().unwrap().is_silent = false;
    bench.says(6, 1, "two", 10);
    bench.gateway.restart();
    let posts = bench.shows(2);
    assert_eq!(bench.discord.asked("POST").len(), 3, "the first one twice");
    let said = |at: usize| posts[at].0["content"].as_str().unwrap().to_owned();
    assert!(said(0).contains("> one") && said(1).contains("> two"));
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(bench.discord.posts().len(), 2);
}

#[test]
fn a_gateway_killed_while_discord_takes_a_parcel_posts_it_once_though_the_daemon_sends_it_again() {
    let mut bench = Bench::with("carrier = \"discord\"\nshows = \"nothing\"\n");
    let attached = |bench: &Bench| {
        eventually("it carries", || {
            bench.daemon.is_attached("discord").then_some(())
        });
    };
    attached(&bench);
    let envelope = bench.says(5, 1, "", 10);
    let hand_out = |bench: &Bench| {
        let daemon = &bench.daemon;
        daemon.hand_out("discord", "agent-carol", "discord", &envelope)
    };
    bench.discord.inner.lock().unwrap().is_silent = true;
    let first = hand_out(&bench);
    bench.shows(1);
    bench.gateway.kill();
    assert_eq!(bench.daemon.fate_of(first), None, "nothing was told");
    bench.discord.inner.lock().unwrap().is_silent = false;
    bench.daemon.forget_attached();
    bench.gateway.restart();
    attached(&bench);
    let again = hand_out(&bench);
    assert!(eventually("it left", || bench.daemon.fate_of(again)));
    assert_eq!(bench.discord.asked("POST").len(), 2);
    assert_eq!(bench.discord.posts().len(), 1);
}

#[test]
fn limits_are_kept_to_by_route_and_for_all() {
    let bench = Bench::with("");
    bench.discord.answers(
        429,
        "X-RateLimit-Scope: user\r\nRetry-After: 1\r\n",
        "{\"retry_after\": 1.2, \"global\": false}",
    );
    bench.discord.answers(
        200,
        "X-RateLimit-Remaining: 0\r\nX-RateLimit-Reset-After: 1.5\r\n",
        "{\"id\": \"1\"}",
    );
    bench.discord.answers(503, "", "");
    bench.says(5, 1, "one", 10);
    bench.says(6, 1, "two", 10);
    bench.shows(1);
    let asked = bench.discord.asked("POST");
    assert_eq!(asked.len(), 4, "429, the first, 503, the second");
    let waits: Vec<f64> = asked
        .windows(2)
        .map(|two| (two[1] - two[0]).as_secs_f64())
        .collect();
    assert!(
        waits[0] >= 1.19 && waits[1] >= 1.49 && waits[2] >= 0.99,
        "{waits:?}"
    );
    assert!(waits.iter().all(|wait| *wait < 5.0), "{waits:?}");
}

#[test]
fn a_page_in_the_place_of_an_answer_and_a_wait_below_nothing_are_no_reason_to_post_at_once() {
    let bench = Bench::with("");
    for _ in 0..2 {
        bench.discord.answers(200, "", "<html>welcome</html>");
    }
    let negative = "{\"retry_after\": -5, \"global\": false}";
    bench.discord.answers(429, "", negative);
    bench.says(5, 1, "one", 10);
    bench.shows(1);
    let asked = bench.discord.asked("POST");
    let waits: Vec<f64> = asked
        .windows(2)
        .map(|two| (two[1] - two[0]).as_secs_f64())
        .collect();
    assert_eq!(waits.len(), 3, "two pages, 429, the post: {waits:?}");
    assert!(
        waits[0] >= 0.99 && waits[1] >= 1.99 && waits[2] >= 4.9,
        "{waits:?}"
    );
    assert!(bench.gateway.said().contains("none of Discord's"));
}

#[test]
fn a_message_that_only_pages_answer_is_not_posted_for_ever() {
    let bench = Bench::with("");
    for _ in 0..5 {
        bench.discord.answers(200, "", "<html>");
    }
    bench.says(5, 1, "one", 10);
    eventually("it is left out", || {
        let said = bench.gateway.said();
        said.contains("perhaps not shown").then_some(())
    });
    assert_eq!(bench.discord.asked("POST").len(), 5);
    assert!(bench.discord.posts().is_empty());
}

#[test]
fn who_is_refused_by_discord_is_told_for_how_long_and_what_to_do() {
    let bench = Bench::with("");
    bench.discord.answers(403, "", "{}");
    bench.says(5, 1, "one", 10);
    let said = eventually("it says so", || {
        Some(bench.gateway.said()).filter(|said| said.contains("it answers 403"))
    });
    assert!(
        said.contains("again in 10 minutes, or at once when the gateway is started again"),
        "{said}"
    );
}

#[test]
fn a_channel_that_hangs_delays_no_message_of_another_carrier() {
    let bench = Bench::with("\n[inbox]\n");
    let (port, path) = (bench.gateway.port, "/agent/agent-bob/inbox");
    eventually("it takes what comes", || {
        (post(port, path, b"[]").status == 202).then_some(())
    });
    bench.discord.inner.lock().unwrap().hangs = true;
    bench.says(5, 1, "one", 10);
    eventually("it is asked", || {
        bench.discord.asked("POST").first().copied()
    });
    let began = Instant::now();
    for _ in 0..20 {
        assert_eq!(post(port, path, b"{}").status, 202);
    }
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
    bench.discord.inner.lock().unwrap().hangs = false;
    bench.shows(1);
}

#[test]
fn envelopes_that_others_post_are_read_as_a_third_carrier_brings_them() {
    let bench = Bench::with("carrier = \"discord\"\nshows = \"nothing\"\n");
    eventually("it carries", || {
        bench.daemon.is_attached("discord").then_some(())
    });
    eventually("it has its place", || {
        let text =
            std::fs::read_to_string(bench.dir.path().join("discord.json")).unwrap_or_default();
        text.contains("\"read\"").then_some(())
    });
    let for_bob = bench.alice.sign(bench.alice.call(
        "agent.notification",
        "agent-bob",
        json!({"a": "é"}),
    ));
    let for_carol = bench.alice.sign(bench.alice.call(
        "agent.notification",
        "agent-carol",
        json!({}),
    ));
    let large = bench.alice.sign(bench.alice.call(
        "agent.notification",
        "agent-bob",
        json!({"x": "x".repeat(9_000)}),
    ));
    let block = |bytes: &[u8]| {
        format!(
            "look\n```json\n{}\n```",
            String::from_utf8(bytes.to_vec()).unwrap()
        )
    };
    bench.discord.has("hello", None);
    bench.discord.has(&block(&for_bob), None);
    bench.discord.has(&block(&for_carol), None);
    bench.discord.has("", Some(&large));
    bench.discord.has("```json\n{\"junk\": 1}\n```", None);
    let delivered = eventually("both came", || {
        Some(bench.daemon.delivered()).filter(|all| all.len() >= 2)
    });
    assert_eq!(
        delivered,
        [for_bob, large],
        "byte for byte, and nobody else's"
    );
}

#[test]
fn a_parcel_goes_out_by_the_channel_once_and_is_not_read_back() {
    let bench = Bench::with("carrier = \"discord\"\n");
    eventually("it carries", || {
        bench.daemon.is_attached("discord").then_some(())
    });
    let envelope = bench.says(5, 3, "", 10);
    bench.daemon.seen.lock().unwrap().shown.clear();
    let elsewhere = bench
        .daemon
        .hand_out("discord", "agent-carol", "78", &envelope);
    assert!(!eventually("it is told", || bench
        .daemon
        .fate_of(elsewhere)));
    let here = bench
        .daemon
        .hand_out("discord", "agent-carol", "discord", &envelope);
    assert!(eventually("it left", || bench.daemon.fate_of(here)));
    let content = bench.shows(1)[0].0["content"].as_str().unwrap().to_owned();
    assert!(
        content.contains(std::str::from_utf8(&envelope).unwrap()),
        "{content}"
    );
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(
        (bench.discord.posts().len(), bench.daemon.delivered().len()),
        (1, 0)
    );
}
