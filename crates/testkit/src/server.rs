//! A private NATS server on a free port of the loopback, ended by its own process id.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use signet_driver::{NatsServer, find_nats_server};
use tempfile::TempDir;

use crate::kill;

pub use signet_driver::MAILBOXES;

/// A running server, or one that was killed and can be started again on its port.
pub struct Server {
    nats: NatsServer,
    dir: PathBuf,
    /// Goes with the server; a server may also lie in somebody else's directory.
    _own: Option<TempDir>,
}

impl Server {
    /// A server with these lines of configuration.
    pub fn start(config: &str) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), config)
    }

    /// The same in a directory that already holds the files which `config` names.
    pub fn start_in(dir: TempDir, config: &str) -> Self {
        Self::started(dir.path().to_owned(), Some(dir), config)
    }

    /// The same in a directory that stays.
    pub fn start_at(dir: &Path, config: &str) -> Self {
        Self::started(dir.to_owned(), None, config)
    }

    /// By that program, and not by the one that all tests take.
    pub fn start_by(program: &Path, config: &str) -> Self {
        Self::start_in_by(program, tempfile::tempdir().unwrap(), config)
    }

    /// By that program, in a directory that already holds the files which `config` names.
    pub fn start_in_by(program: &Path, dir: TempDir, config: &str) -> Self {
        Self::started_by(program, dir.path().to_owned(), Some(dir), config)
    }

    fn started(dir: PathBuf, own: Option<TempDir>, config: &str) -> Self {
        let tools = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.tools"));
        let program =
            find_nats_server(tools).unwrap_or_else(|error| panic!("{error}: scripts/nats-server"));
        Self::started_by(&program, dir, own, config)
    }

    fn started_by(program: &Path, dir: PathBuf, own: Option<TempDir>, config: &str) -> Self {
        Self {
            nats: NatsServer::start(program, &dir, config)
                .unwrap_or_else(|error| panic!("{error}")),
            dir,
            _own: own,
        }
    }

    /// What the next start reads.
    pub fn configure(&self, config: &str) {
        self.nats.configure(config).unwrap();
    }

    pub fn config(&self) -> String {
        std::fs::read_to_string(self.nats.config_file()).unwrap()
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        self.nats.kill().unwrap();
    }

    /// On the same port, until it listens.
    pub fn restart(&mut self) {
        self.nats.restart().unwrap();
    }

    /// The disk with its mailboxes is gone.
    pub fn lose_store(&self) {
        assert!(self.nats.id().is_none(), "it runs");
        std::fs::remove_dir_all(self.dir.join("js")).unwrap();
    }

    /// It takes nothing more, and does not say so.
    pub fn hang(&self) {
        kill(self.nats.id().unwrap(), Signal::STOP);
    }

    /// It hangs no longer.
    pub fn go_on(&self) {
        kill(self.nats.id().unwrap(), Signal::CONT);
    }

    /// Speaks the protocol by hand, for what no client library would send, until the server has read it.
    pub fn raw(&self, protocol: &[u8]) {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port())).unwrap();
        let hello = b"CONNECT {\"verbose\":false,\"headers\":true}\r\n";
        socket
            .write_all(&[hello, protocol, b"PING\r\n"].concat())
            .unwrap();
        let patience = Some(Duration::from_secs(5));
        socket.set_read_timeout(patience).unwrap();
        let (mut seen, mut part) = (Vec::new(), [0_u8; 1024]);
        while !seen.windows(4).any(|four| four == b"PONG") {
            let length = socket.read(&mut part).unwrap();
            let said = String::from_utf8_lossy(&seen);
            assert!(length > 0, "the server closed: {said}");
            seen.extend_from_slice(&part[..length]);
        }
    }

    /// The server's answer on its monitoring port, which its configuration must open; `None` where it gives none. It must run.
    pub fn monitored(&self, path: &str) -> Option<Value> {
        let ending = format!("_{}.ports", self.pid());
        let files = std::fs::read_dir(&self.dir).unwrap();
        let mut files = files.map(|entry| entry.unwrap().path());
        let file = files.find(|file| file.to_str().unwrap().ends_with(&ending));
        let ports = std::fs::read(file.expect("the file of its ports")).unwrap();
        let ports: Value = serde_json::from_slice(&ports).unwrap();
        let url = ports["monitoring"][0].as_str().expect("a monitoring port");
        let mut socket = TcpStream::connect(url.trim_start_matches("http://")).ok()?;
        let patience = Some(Duration::from_secs(5));
        socket.set_read_timeout(patience).unwrap();
        write!(socket, "GET {path} HTTP/1.0\r\n\r\n").ok()?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer).ok()?;
        let (_, body) = answer.split_once("\r\n\r\n")?;
        serde_json::from_str(body).ok()
    }

    /// Its process id. It must run.
    pub fn pid(&self) -> u32 {
        self.nats.id().expect("it runs")
    }

    pub fn port(&self) -> u16 {
        self.nats.port()
    }

    pub fn url(&self) -> String {
        self.nats.url()
    }
}

/// A broker that lies: whoever subscribes is sent `payload` under another subject, once for each
/// subscription. It serves one connection after the other until the test ends.
pub fn lying_broker(subject: &'static str, payload: &'static [u8]) -> u16 {
    use std::io::{BufRead as _, BufReader, Write as _};
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut out = stream.try_clone().unwrap();
            let info = r#"{"server_id":"x","server_name":"x","version":"2.10.0","go":"x","host":"127.0.0.1","port":1,"headers":true,"max_payload":1048576,"proto":1,"client_id":1}"#;
            let _ = write!(out, "INFO {info}\r\n");
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                if line.starts_with("PING") {
                    let _ = write!(out, "PONG\r\n");
                } else if let Some(subscription) = line.strip_prefix("SUB ") {
                    let sid = subscription.split(' ').next_back().unwrap_or_default();
                    let _ = write!(out, "MSG {subject} {sid} {}\r\n", payload.len());
                    let _ = out.write_all(payload).and_then(|()| out.write_all(b"\r\n"));
                }
            }
        }
    });
    port
}
