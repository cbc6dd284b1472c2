//! A private NATS server on a free port of the loopback, ended by its own process id.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::{eventually, kill};

/// The configuration of a server that keeps mail for anybody.
pub const MAILBOXES: &str = "jetstream { store_dir: \"js\" }";

/// A running server, or one that was killed and can be started again on its port.
pub struct Server {
    child: Option<Child>,
    port: u16,
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

    fn started(dir: PathBuf, own: Option<TempDir>, config: &str) -> Self {
        let mut server = Self {
            child: None,
            port: 0,
            dir,
            _own: own,
        };
        server.configure(config);
        server.spawn("-1");
        server.port = eventually("the server says where it listens", || {
            let ended = server.child.as_mut().unwrap().try_wait().unwrap();
            assert!(ended.is_none(), "the server refuses its configuration");
            server.ports_file()
        });
        server
    }

    /// What the next start reads.
    pub fn configure(&self, config: &str) {
        std::fs::write(self.config_file(), config).unwrap();
    }

    pub fn config(&self) -> String {
        std::fs::read_to_string(self.config_file()).unwrap()
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// On the same port, until it listens.
    pub fn restart(&mut self) {
        self.kill();
        self.spawn(&self.port.to_string());
        eventually("the server comes back", || {
            TcpStream::connect(("127.0.0.1", self.port)).ok()
        });
    }

    /// The disk with its mailboxes is gone.
    pub fn lose_store(&self) {
        assert!(self.child.is_none(), "it runs");
        std::fs::remove_dir_all(self.dir.join("js")).unwrap();
    }

    /// It takes nothing more, and does not say so.
    pub fn hang(&self) {
        kill(self.child.as_ref().unwrap().id(), Signal::STOP);
    }

    /// It hangs no longer.
    pub fn go_on(&self) {
        kill(self.child.as_ref().unwrap().id(), Signal::CONT);
    }

    /// Speaks the protocol by hand, for what no client library would send, until the server has read it.
    pub fn raw(&self, protocol: &[u8]) {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
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

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    fn config_file(&self) -> PathBuf {
        self.dir.join("server.conf")
    }

    fn spawn(&mut self, port: &str) {
        let mut command = Command::new(binary());
        command.arg("-c").arg(self.config_file());
        command
            .args(["-a", "127.0.0.1", "-p", port, "--ports_file_dir"])
            .arg(&self.dir)
            .current_dir(&self.dir)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = command.spawn();
        self.child = Some(child.expect("a nats-server: see scripts/nats-server"));
    }

    /// It writes `{"nats":["nats://127.0.0.1:<port>"],…}` once it listens.
    fn ports_file(&self) -> Option<u16> {
        let files = std::fs::read_dir(&self.dir).unwrap();
        let mut files = files.map(|entry| entry.unwrap().path());
        let file = files.find(|path| path.extension().is_some_and(|end| end == "ports"))?;
        let text = std::fs::read_to_string(file).ok()?;
        let address = text.split("127.0.0.1:").nth(1)?;
        address.split('"').next()?.parse().ok()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
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

fn binary() -> PathBuf {
    if let Some(named) = std::env::var_os("NATS_SERVER") {
        return named.into();
    }
    let tools = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.tools/nats-server");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|dir| dir.join("nats-server"));
    let mut found = on_path.chain(["/usr/sbin/nats-server".into(), tools.into()]);
    found
        .find(|file| file.is_file())
        .unwrap_or_else(|| "nats-server".into())
}
