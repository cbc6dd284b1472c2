//! The program, its address, and a browser's requests made by hand.
#![allow(dead_code, unreachable_pub)]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A reading room that runs.
pub struct Room {
    child: Option<Child>,
    pub host: String,
    pub once: String,
    pub cookie: String,
    pub path: String,
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub heads: BTreeMap<String, String>,
    pub body: String,
}

impl Room {
    /// Starts one over these logs, and enters it.
    pub fn open(data: &Path, logs: &[&Path]) -> Self {
        let mut room = Self::start(data, logs, &[]);
        room.enter();
        room
    }

    pub fn start(data: &Path, logs: &[&Path], more: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_signet-view"));
        command.arg("--data").arg(data).args(more);
        for log in logs {
            command.arg("--log").arg(log);
        }
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        let mut address = String::new();
        while !address.contains("http://") {
            address.clear();
            assert_ne!(
                said.read_line(&mut address).unwrap(),
                0,
                "it says no address"
            );
        }
        let address = address.trim().strip_prefix("http://").unwrap();
        let (host, once) = address.split_once("/o/").unwrap();
        Self {
            child: Some(child),
            host: host.to_owned(),
            once: once.to_owned(),
            cookie: String::new(),
            path: String::new(),
        }
    }

    /// One that somebody else started, and its one-time address.
    pub fn at(host: &str, once: &str) -> Self {
        Self {
            child: None,
            host: host.to_owned(),
            once: once.to_owned(),
            cookie: String::new(),
            path: String::new(),
        }
    }

    /// As [`Room::enter`], once the room was told of the address.
    pub fn enter_patiently(&mut self) {
        let begun = Instant::now();
        // A ticket of which the room was not told yet is not used up by asking.
        while !self.try_to_enter() {
            assert!(begun.elapsed() < PATIENCE, "the ticket never comes");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Goes through the one-time address.
    pub fn enter(&mut self) {
        assert!(self.try_to_enter(), "the ticket was used");
    }

    fn try_to_enter(&mut self) -> bool {
        let answer = self.ask("GET", &format!("/o/{}", self.once), &[], "");
        if answer.status == 410 {
            return false;
        }
        assert_eq!(answer.status, 200, "{answer:?}");
        let cookie = answer.heads["set-cookie"].clone();
        self.cookie = cookie.split(';').next().unwrap().to_owned();
        let path = cookie.split("Path=").nth(1).unwrap();
        assert!(answer.body.contains(path), "the page leads in");
        self.path = path.to_owned();
        true
    }

    pub fn pid(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// A page of the room, as the browser asks for it that entered.
    pub fn get(&self, page: &str) -> Answer {
        let cookie = self.cookie.clone();
        self.ask(
            "GET",
            &format!("{}{page}", self.path),
            &[("Cookie", &cookie)],
            "",
        )
    }

    /// A page once it shows `what`.
    pub fn shows(&self, page: &str, what: &str) -> String {
        let begun = Instant::now();
        loop {
            let answer = self.get(page);
            if answer.body.contains(what) {
                return answer.body;
            }
            let begin: String = answer.body.chars().take(6_000).collect();
            assert!(
                begun.elapsed() < PATIENCE,
                "{page} never shows {what:?}: {begin}"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// A request with these heads; `Host` is the right one unless they have another.
    pub fn ask(&self, method: &str, path: &str, heads: &[(&str, &str)], body: &str) -> Answer {
        self.try_to_ask(method, path, heads, body).unwrap()
    }

    /// As [`Self::ask`].
    ///
    /// # Errors
    ///
    /// The room ends the connection of a request whose body it did not read, and the answer may be lost with it.
    pub fn try_to_ask(
        &self,
        method: &str,
        path: &str,
        heads: &[(&str, &str)],
        body: &str,
    ) -> std::io::Result<Answer> {
        let mut stream = TcpStream::connect(&self.host)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if heads
            .iter()
            .all(|(name, _)| !name.eq_ignore_ascii_case("host"))
        {
            text += &format!("Host: {}\r\n", self.host);
        }
        for (name, value) in heads {
            text += &format!("{name}: {value}\r\n");
        }
        text += &format!("Content-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(text.as_bytes())?;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes)?;
        Ok(Answer::parse(&bytes))
    }
}

impl Answer {
    fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n").expect("a head and a body");
        let mut lines = head.lines();
        let status = lines
            .next()
            .unwrap()
            .split(' ')
            .nth(1)
            .unwrap()
            .parse()
            .unwrap();
        let heads: BTreeMap<String, String> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
            .collect();
        let body = match heads.get("transfer-encoding").map(String::as_str) {
            Some("chunked") => unchunked(body),
            _ => body.to_owned(),
        };
        Self {
            status,
            heads,
            body,
        }
    }
}

fn unchunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            break;
        }
        whole += &rest[..size];
        body = &rest[size + 2..];
    }
    whole
}

impl Drop for Room {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The sample log of an agent.
pub fn sample(agent: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../audit/sample")
        .join(agent)
}

pub const PATIENCE: Duration = Duration::from_secs(60);
