//! The daemon of a home: started, killed, stopped, and what it takes of the machine.

use std::fs::File;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;
use signet_api::Client;

use crate::{Home, eventually, kill};

impl Home {
    /// `signet run`, until it is connected.
    pub fn start(&mut self) {
        let command = self.command(&["run"]);
        self.start_as(command);
    }

    pub fn start_as(&mut self, command: Command) {
        self.spawn(command);
        self.connected();
    }

    /// The same for a daemon that may end before it is connected: whether it did not.
    pub fn try_start_as(&mut self, command: Command) -> bool {
        self.spawn(command);
        eventually(&format!("{} connects or ends", self.agent), || {
            if self.has_ended() {
                return Some(false);
            }
            let client = Client::connect(&self.dir.join("control.sock"), Duration::from_secs(1));
            let status = client.ok()?.raw("status", &json!({})).ok()?;
            (status["connected"] == true).then_some(true)
        })
    }

    /// Whether the daemon that was started is no more.
    pub fn has_ended(&mut self) -> bool {
        let child = self.child.as_mut();
        child.is_none_or(|child| child.try_wait().unwrap().is_some())
    }

    pub fn spawn(&mut self, mut command: Command) {
        assert!(self.child.is_none(), "{} runs already", self.agent);
        let kept = |name: &str| {
            let mut file = File::options();
            file.create(true)
                .append(true)
                .open(self.dir.join(name))
                .unwrap()
        };
        command.stdout(kept("printed")).stderr(kept("said"));
        self.child = Some(command.spawn().unwrap());
    }

    pub fn connected(&mut self) {
        eventually(&format!("{} connects", self.agent), || {
            if let Some(ended) = self
                .child
                .as_mut()
                .and_then(|child| child.try_wait().unwrap())
            {
                panic!("{} ended, {ended}: {}", self.agent, self.said());
            }
            let status = self.call("status", &json!({})).ok()?;
            (status["connected"] == true).then_some(())
        });
    }

    /// What the daemon said on standard error.
    pub fn said(&self) -> String {
        std::fs::read_to_string(self.dir.join("said")).unwrap_or_default()
    }

    pub fn pid(&self) -> u32 {
        self.child.as_ref().expect("it runs").id()
    }

    pub fn signal(&self, signal: Signal) {
        kill(self.pid(), signal);
    }

    /// SIGTERM, and how it ended.
    pub fn stop(&mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        self.ended()
    }

    /// How it ended, when it does.
    pub fn ended(&mut self) -> ExitStatus {
        let mut child = self.child.take().expect("it runs");
        eventually("the daemon ends", || child.try_wait().unwrap())
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Resident memory in KiB, and its highest so far.
    pub fn resident(&self) -> (u64, u64) {
        (self.memory("VmRSS:"), self.memory("VmHWM:"))
    }

    /// What it holds in memory that is backed by no file, in KiB.
    pub fn anonymous(&self) -> u64 {
        self.memory("RssAnon:")
    }

    /// Nanoseconds on a processor, of all its threads.
    pub fn cpu(&self) -> f64 {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.pid())).unwrap();
        let spent = |task: std::io::Result<std::fs::DirEntry>| {
            let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
            text.split(' ').next()?.parse::<f64>().ok()
        };
        tasks.filter_map(spent).sum()
    }

    fn memory(&self, name: &str) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{} said:\n{}", self.agent, tail(&self.said()));
        }
        self.kill();
    }
}

fn tail(text: &str) -> &str {
    let from = text.len().saturating_sub(2_000);
    text.get(from..).unwrap_or(text)
}
