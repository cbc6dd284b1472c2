//! A service manager that only listens: the socket that `NOTIFY_SOCKET` names, and what a daemon says there.

use std::collections::VecDeque;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::{PATIENCE, eventually};

/// The listening end.
pub struct Ear {
    socket: UnixDatagram,
    dir: TempDir,
    /// What was heard, and not asked for yet.
    heard: VecDeque<String>,
}

impl Ear {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let socket = UnixDatagram::bind(dir.path().join("notify")).unwrap();
        // Reading must not block: `during` has to return even when the daemon says nothing.
        socket.set_nonblocking(true).unwrap();
        let heard = VecDeque::new();
        Self { socket, dir, heard }
    }

    pub fn path(&self) -> PathBuf {
        self.dir.path().join("notify")
    }

    /// The same command, told of this service manager.
    pub fn told_of(&self, mut command: Command) -> Command {
        command.env("NOTIFY_SOCKET", self.path());
        command
    }

    /// The same, with a watchdog that waits so long for each beat.
    pub fn watched(&self, command: Command, span: Duration) -> Command {
        let mut command = self.told_of(command);
        command.env("WATCHDOG_USEC", span.as_micros().to_string());
        command
    }

    /// Waits for the next line that fits, and forgets those before it.
    pub fn until(&mut self, what: &str, fits: impl Fn(&str) -> bool) -> String {
        eventually(what, || {
            self.listen();
            while let Some(line) = self.heard.pop_front() {
                if fits(&line) {
                    return Some(line);
                }
            }
            None
        })
    }

    /// Waits for a status that says this.
    pub fn status(&mut self, part: &str) -> String {
        self.until(part, |line| {
            line.starts_with("STATUS=") && line.contains(part)
        })
    }

    /// Waits for exactly this line.
    pub fn word(&mut self, word: &str) {
        self.until(word, |line| line == word);
    }

    /// Everything that is said in that time.
    pub fn during(&mut self, span: Duration) -> Vec<String> {
        assert!(span < PATIENCE);
        let end = Instant::now() + span;
        while Instant::now() < end {
            self.listen();
            std::thread::sleep(Duration::from_millis(5));
        }
        self.heard.drain(..).collect()
    }

    /// How many beats come in that time.
    pub fn beats(&mut self, span: Duration) -> usize {
        let said = self.during(span);
        said.iter().filter(|line| *line == "WATCHDOG=1").count()
    }

    fn listen(&mut self) {
        let mut text = [0; 8192];
        while let Ok(length) = self.socket.recv(&mut text) {
            let text = String::from_utf8_lossy(&text[..length]).into_owned();
            // One datagram may hold several notifications, one a line.
            self.heard.extend(text.lines().map(str::to_owned));
        }
    }
}

impl Default for Ear {
    fn default() -> Self {
        Self::new()
    }
}
