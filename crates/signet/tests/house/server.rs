//! A private NATS server on a free port of the loopback, ended by its own process id.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// A running server.
pub struct Server {
    child: Child,
    port: u16,
    dir: TempDir,
}

impl Server {
    pub fn start() -> Self {
        Self::start_at("-1", tempfile::tempdir().unwrap())
    }

    /// SIGKILL, and another one at the same place, with what it had on disk.
    pub fn restart(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let dir = std::mem::replace(&mut self.dir, tempfile::tempdir().unwrap());
        for file in std::fs::read_dir(dir.path()).unwrap() {
            let file = file.unwrap().path();
            if file.extension().is_some_and(|end| end == "ports") {
                std::fs::remove_file(file).unwrap();
            }
        }
        *self = Self::start_at(&self.port.to_string(), dir);
    }

    fn start_at(port: &str, dir: TempDir) -> Self {
        let mut command = Command::new(binary());
        command
            .args(["-a", "127.0.0.1", "-p", port, "--ports_file_dir"])
            .arg(dir.path());
        command
            .current_dir(dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = command
            .spawn()
            .expect("a nats-server: see scripts/nats-server");
        let port = super::eventually("the server says where it listens", || {
            assert!(child.try_wait().unwrap().is_none(), "the server ended");
            // It writes `{"nats":["nats://127.0.0.1:<port>"],…}` once it listens.
            let files = std::fs::read_dir(dir.path())
                .unwrap()
                .map(|entry| entry.unwrap().path());
            let file = files
                .into_iter()
                .find(|path| path.extension().is_some_and(|end| end == "ports"))?;
            let text = std::fs::read_to_string(file).ok()?;
            text.split("127.0.0.1:")
                .nth(1)?
                .split('"')
                .next()?
                .parse()
                .ok()
        });
        Self { child, port, dir }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
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
