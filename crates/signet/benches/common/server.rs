//! A real NATS server on a free port of the loopback, ended by its own process id.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub struct Server {
    child: Child,
    url: String,
}

impl Server {
    pub fn start(dir: &Path) -> Self {
        let mut command = Command::new(binary());
        command
            .args(["-a", "127.0.0.1", "-p", "-1", "--ports_file_dir"])
            .arg(dir);
        // Nobody pays for mailboxes who asks for none.
        command
            .arg("--jetstream")
            .arg("--store_dir")
            .arg(dir.join("mail"));
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("see scripts/nats-server");
        let limit = Instant::now() + Duration::from_secs(10);
        loop {
            if let Some(port) = port(dir) {
                return Self {
                    child,
                    url: format!("nats://127.0.0.1:{port}"),
                };
            }
            assert!(
                child.try_wait().unwrap().is_none() && Instant::now() < limit,
                "no NATS server"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// The server writes `{"nats":["nats://127.0.0.1:<port>"],…}` once it listens.
fn port(dir: &Path) -> Option<u16> {
    let mut files = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let file = files.find(|file| file.extension().is_some_and(|end| end == "ports"))?;
    let text = std::fs::read_to_string(file).ok()?;
    text.split("127.0.0.1:")
        .nth(1)?
        .split('"')
        .next()?
        .parse()
        .ok()
}

fn binary() -> PathBuf {
    let named = std::env::var_os("NATS_SERVER").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = || {
        std::env::split_paths(&path)
            .map(|dir| dir.join("nats-server"))
            .find(|file| file.is_file())
    };
    named
        .or_else(found)
        .unwrap_or_else(|| "/usr/sbin/nats-server".into())
}
