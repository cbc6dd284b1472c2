//! Processes that end with the demonstration, each by its own id, and the place for their files.

use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};

use crate::{random, render};

use super::{DemoError, PATIENCE};

/// A directory of its own, removed in the end: it holds the demonstration's secret keys.
pub(super) struct Scratch(PathBuf);

impl Scratch {
    pub(super) fn new() -> Result<Self, DemoError> {
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| DemoError::Io { path, source }
        };
        let parent = std::env::temp_dir();
        let name: [u8; 8] = random::bytes().map_err(io(&parent))?;
        let path = parent.join(format!("signet-demo-{}", render::hex(&name)));
        std::fs::DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .map_err(io(&path))?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed now is in the system's temporary directory, readable by nobody else.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A child that is ended when dropped.
pub(super) struct Process {
    what: String,
    child: Child,
}

impl Process {
    pub(super) fn start(what: &str, command: &mut Command) -> Result<Self, DemoError> {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let child = child.map_err(|error| failed(what, &error))?;
        Ok(Self {
            what: what.to_owned(),
            child,
        })
    }

    /// Asks it to stop, and waits until it has.
    pub(super) fn stop(mut self) -> Result<(), DemoError> {
        self.terminate();
        let status = self
            .child
            .wait()
            .map_err(|error| failed(&self.what, &error))?;
        let why = format!("ended with {status}");
        if status.success() {
            Ok(())
        } else {
            Err(DemoError::Process {
                what: self.what.clone(),
                why,
            })
        }
    }

    pub(super) fn is_over(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)) | Err(_))
    }

    fn terminate(&mut self) {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // It may have ended by itself.
            let _ = kill_process(pid, Signal::TERM);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.is_over() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// A nats-server of our own on a free loopback port.
pub(super) struct NatsServer {
    /// Where it listens.
    pub(super) url: String,
    process: Process,
}

impl NatsServer {
    pub(super) fn start(scratch: &Path) -> Result<Self, DemoError> {
        let program = find().ok_or(DemoError::NoServer)?;
        let mut command = Command::new(&program);
        command
            .args(["--addr", "127.0.0.1", "--port", "-1", "--ports_file_dir"])
            .arg(scratch);
        command
            .arg("--jetstream")
            .arg("--store_dir")
            .arg(scratch.join("mail"));
        command.arg("--log").arg(scratch.join("nats.log"));
        let mut process = Process::start("nats-server", command.stderr(Stdio::null()))?;
        let name = program
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        let ports = scratch.join(format!("{name}_{}.ports", process.child.id()));
        let url = wait_for("the nats-server listens", || {
            if process.is_over() {
                return Err(DemoError::Process {
                    what: "nats-server".into(),
                    why: "ended at once".into(),
                });
            }
            let text = std::fs::read_to_string(&ports).unwrap_or_default();
            let ports: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
            Ok(ports
                .pointer("/nats/0")
                .and_then(|url| url.as_str())
                .map(str::to_owned))
        })?;
        Ok(Self { url, process })
    }

    pub(super) fn stop(self) {
        // The server's own exit status on SIGTERM differs between versions.
        let _ = self.process.stop();
    }
}

/// Polls until there is something, for as long as a slow machine may take.
pub(super) fn wait_for<T>(
    what: &str,
    mut poll: impl FnMut() -> Result<Option<T>, DemoError>,
) -> Result<T, DemoError> {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if let Some(found) = poll()? {
            return Ok(found);
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    Err(DemoError::Missed(what.to_owned()))
}

fn find() -> Option<PathBuf> {
    let named = std::env::var_os("NATS_SERVER").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places =
        std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin"), PathBuf::from(".tools")]);
    named
        .into_iter()
        .chain(places.map(|place| place.join("nats-server")))
        .find(|file| file.is_file())
}

fn failed(what: &str, error: &io::Error) -> DemoError {
    DemoError::Process {
        what: what.to_owned(),
        why: error.to_string(),
    }
}
