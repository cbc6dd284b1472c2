//! A real NATS server for one test, on a free port of the loopback, ended by its own process id.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A running server, or one that was killed and can be started again on its port.
pub(crate) struct Server {
    child: Option<Child>,
    port: u16,
    dir: TempDir,
}

#[allow(dead_code)] // Each test uses what it needs of this.
impl Server {
    /// Starts a server with these lines of configuration besides the listening address.
    pub(crate) fn start(config: &str) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), config)
    }

    /// The same in a directory that already holds the files which `config` names.
    pub(crate) fn start_in(dir: TempDir, config: &str) -> Self {
        fs::write(dir.path().join("server.conf"), config).unwrap();
        let mut server = Self {
            child: None,
            port: 0,
            dir,
        };
        server.spawn("-1");
        server.port = server.read_port();
        server
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    pub(crate) fn restart(&mut self) {
        self.kill();
        self.spawn(&self.port.to_string());
        let limit = Instant::now() + Duration::from_secs(10);
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(Instant::now() < limit, "the server does not come back");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Deletes one of the server's directories, as a broken disk does.
    pub(crate) fn forget(&self, directory: &str) {
        assert!(self.child.is_none(), "the server runs");
        fs::remove_dir_all(self.dir.path().join(directory)).unwrap();
    }

    /// `STOP` or `CONT`: a server that hangs, and its recovery.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.as_ref().unwrap().id().to_string();
        assert!(
            Command::new("kill")
                .args(["-s", name, &pid])
                .status()
                .unwrap()
                .success()
        );
    }

    /// Speaks the protocol by hand, for what no client library would send.
    pub(crate) fn raw(&self, protocol: &[u8]) {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        socket
            .write_all(b"CONNECT {\"verbose\":false,\"headers\":true}\r\n")
            .unwrap();
        socket.write_all(protocol).unwrap();
        socket.write_all(b"PING\r\n").unwrap();
        socket
            .set_read_timeout(Some(Duration::from_secs(5)))
            .unwrap();
        let (mut seen, mut part) = (Vec::new(), [0_u8; 1024]);
        while !seen.windows(4).any(|w| w == b"PONG") {
            let length = socket.read(&mut part).unwrap();
            assert!(
                length > 0,
                "the server closed: {}",
                String::from_utf8_lossy(&seen)
            );
            seen.extend_from_slice(&part[..length]);
        }
    }

    fn spawn(&mut self, port: &str) {
        let mut command = Command::new(binary());
        command.arg("-c").arg(self.dir.path().join("server.conf"));
        command
            .args(["-a", "127.0.0.1", "-p", port, "--ports_file_dir"])
            .arg(self.dir.path());
        command
            .current_dir(self.dir.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        self.child = Some(
            command
                .spawn()
                .expect("a nats-server: see scripts/nats-server"),
        );
    }

    /// The server writes `{"nats":["nats://127.0.0.1:<port>"],…}` once it listens.
    fn read_port(&mut self) -> u16 {
        let limit = Instant::now() + Duration::from_secs(10);
        loop {
            let ended = self.child.as_mut().unwrap().try_wait().unwrap();
            assert!(
                ended.is_none(),
                "the server refuses its configuration: {ended:?}"
            );
            if let Some(port) = self.ports_file() {
                return port;
            }
            assert!(
                Instant::now() < limit,
                "the server does not say where it listens"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn ports_file(&self) -> Option<u16> {
        let files = fs::read_dir(self.dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let file = files
            .into_iter()
            .find(|p| p.extension().is_some_and(|e| e == "ports"))?;
        let text = fs::read_to_string(file).ok()?;
        let after = text.split("127.0.0.1:").nth(1)?;
        after.split('"').next()?.parse().ok()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

fn binary() -> PathBuf {
    if let Some(named) = std::env::var_os("NATS_SERVER") {
        return named.into();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found = std::env::split_paths(&path).map(|dir| dir.join("nats-server"));
    found
        .find(|file| file.is_file())
        .unwrap_or_else(|| "/usr/sbin/nats-server".into())
}
