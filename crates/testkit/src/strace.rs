//! A daemon under strace, which kills it at a system call, or has one answered with an error.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Home;
use crate::pen::now;

/// Whether strace can be had and may trace here; if not, says why.
pub fn is_usable() -> bool {
    let mut strace = Command::new("strace");
    let why = match strace.args(["-qq", "-o", "/dev/null", "true"]).output() {
        Ok(output) if output.status.success() => return true,
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => format!("strace: {error}; see scripts/strace"),
    };
    println!("SKIPPED, nothing was tested: {why}");
    false
}

/// What strace does to a daemon.
#[derive(Clone, Debug, Default)]
pub struct Tracing {
    /// `signal=SIGKILL:when=3` and the like; nothing is only counted.
    pub inject: Option<(String, String)>,
    /// Only calls about these files.
    pub files: Vec<PathBuf>,
    /// Where the calls are listed.
    pub listing: Option<PathBuf>,
}

impl Tracing {
    pub fn inject(call: &str, what: String) -> Self {
        Self {
            inject: Some((call.to_owned(), what)),
            ..Self::default()
        }
    }

    pub fn only(mut self, files: Vec<PathBuf>) -> Self {
        self.files = files;
        self
    }
}

impl Home {
    /// `signet run` under strace. The daemon is the child that is started, strace its own child.
    pub fn traced(&self, tracing: &Tracing) -> Command {
        let run = self.command(&["run"]);
        let mut command = Command::new("strace");
        command.args(["-D", "-f", "-qq", "-o"]);
        command.arg(tracing.listing.as_deref().unwrap_or(Path::new("/dev/null")));
        match &tracing.inject {
            Some((call, what)) => {
                command.args(["-e", &format!("trace={call}")]);
                command.args(["-e", &format!("inject={call}:{what}")]);
            }
            None => {
                command.args(["-e", &format!("trace={}", CALLS.join(","))]);
            }
        }
        for file in &tracing.files {
            command.arg("-P").arg(file);
        }
        command
            .arg("--")
            .arg(run.get_program())
            .args(run.get_args());
        // strace passes its own environment on to the daemon: give strace the environment that the daemon's command has.
        command.env_clear();
        let path = std::env::var_os("PATH");
        command.envs(path.map(|path| ("PATH", path)));
        let given = run.get_envs();
        command.envs(given.filter_map(|(name, value)| Some((name, value?))));
        command
    }

    /// The files of the log: those that there are, and those that a start or a rollover may make.
    pub fn log_files(&self) -> Vec<PathBuf> {
        let dir = self.dir.join("audit").join(&self.agent);
        let month = now().month();
        let names = [
            format!("inter-agent-{month}.jsonl"),
            "inter-agent.rewriting".to_owned(),
        ];
        let mut files: Vec<PathBuf> = names.iter().map(|name| dir.join(name)).collect();
        files.push(dir);
        files.extend(["log.anchor", "log.new"].map(|name| self.dir.join(name)));
        files
    }

    /// The files of the state: the rows and what SQLite keeps beside them.
    pub fn state_files(&self) -> Vec<PathBuf> {
        let names = [
            "state.db",
            "state.db-wal",
            "state.db-shm",
            "state.db-journal",
        ];
        names.iter().map(|name| self.dir.join(name)).collect()
    }
}

/// What changes something outside the process, by the names of Linux.
pub const CALLS: &[&str] = &[
    "openat",
    "write",
    "writev",
    "pwrite64",
    "sendto",
    "fdatasync",
    "fsync",
    "rename",
    "renameat",
    "renameat2",
    "ftruncate",
    "fallocate",
    "unlink",
    "unlinkat",
    "mkdir",
    "mkdirat",
];
