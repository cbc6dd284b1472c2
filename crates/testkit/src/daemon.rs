//! The daemon of a home: started, killed, stopped, and what it takes of the machine.

use std::fs::File;
use std::process::{Command, ExitStatus};

use rustix::process::Signal;
use signet_driver::{Process, wait_for};

use crate::process::kib;
use crate::{Home, PATIENCE, eventually, kill};

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
            self.signet.is_connected().unwrap().map(|()| true)
        })
    }

    /// Whether the daemon that was started is no more.
    pub fn has_ended(&mut self) -> bool {
        let child = self.child.as_mut();
        child.is_none_or(|child| child.ended().unwrap().is_some())
    }

    pub fn spawn(&mut self, mut command: Command) {
        assert!(self.child.is_none(), "{} runs already", self.agent);
        let kept = |name: &str| {
            // Append to the files, so that a failing test also shows what the daemon printed before a restart.
            let mut file = File::options();
            file.create(true)
                .append(true)
                .open(self.dir.join(name))
                .unwrap()
        };
        command.stdout(kept("printed")).stderr(kept("said"));
        let what = format!("the daemon of {}", self.agent);
        self.child = Some(Process::start(what, &mut command).unwrap());
    }

    /// Until the daemon is connected; some are started by other hands than the home's.
    pub fn connected(&mut self) {
        let connected = match &mut self.child {
            Some(child) => self.signet.connected(child),
            None => wait_for("a daemon is connected", PATIENCE, || {
                self.signet.is_connected()
            }),
        };
        if let Err(error) = connected {
            panic!("{} does not connect: {error}: {}", self.agent, self.said());
        }
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
        eventually("the daemon ends", || child.ended().unwrap())
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
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
        // A thread may end after it was listed: pass over it.
        let spent = |task: std::io::Result<std::fs::DirEntry>| {
            let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
            text.split(' ').next()?.parse::<f64>().ok()
        };
        tasks.filter_map(spent).sum()
    }

    fn memory(&self, name: &str) -> u64 {
        kib(&format!("/proc/{}/status", self.pid()), name)
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
