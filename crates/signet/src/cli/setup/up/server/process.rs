//! The process of a home's own NATS server: started, found again, and ended.

use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use super::address::{free, speaks_nats, taken};
use super::version::refuse_old_leaf;
use super::{OwnServer, PID, program};
use crate::cli::CliError;
use crate::cli::setup::up::interrupt::Interrupts;
use crate::hint;

/// Whether the server was started, or ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli::setup::up) enum ServerStart {
    /// By this command.
    Now,
    /// It ran before.
    Before,
}

impl OwnServer {
    /// Starts it if it does not run. Its process belongs to no terminal; it outlives this one where `interrupts`
    /// keeps it.
    pub(in crate::cli::setup::up) fn start(
        &self,
        interrupts: &Interrupts,
    ) -> Result<ServerStart, CliError> {
        let mut facts = self.facts()?;
        let admin = self.administrator()?;
        let is_new_admin = admin != facts.admin;
        facts.admin = admin;
        if let Some(pid) = self.pid() {
            if is_new_admin {
                self.write(&facts)?;
                // A running server has to learn of the new administrator before the administrator makes mailboxes.
                self.signal(Signal::HUP);
            }
            return self.wait_for(pid, &facts.listen);
        }
        let program = program()?;
        if facts.hub.is_some() {
            refuse_old_leaf(&program)?;
        }
        free(&facts.listen).map_err(|failure| match speaks_nats(&facts.listen) {
            true => taken(&facts.listen),
            false => failure,
        })?;
        // Write the server's configuration anew: its paths lead into the home, which may have been moved since.
        self.write(&facts)?;
        let mut command = Command::new(program);
        command.arg("-c").arg(self.conf_file());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // Start the server in a process group of its own: Ctrl-C then reaches this command alone, which
        // decides whether the server ends.
        let started = interrupts.start_server(command.process_group(0));
        started.map_err(|error| {
            let next = "is it a program for this machine? NATS_SERVER names another";
            CliError::file(&error, format!("nats-server does not start: {error}"), next)
        })?;
        self.wait(interrupts, &facts.listen)?;
        Ok(ServerStart::Now)
    }

    fn wait(&self, interrupts: &Interrupts, listen: &str) -> Result<(), CliError> {
        let start = Instant::now();
        loop {
            if self.is_running() && speaks_nats(listen) {
                return Ok(());
            }
            let ended = interrupts.server_has_ended();
            if ended || start.elapsed() > PATIENCE {
                let log = self.log_file();
                let said = std::fs::read_to_string(&log).unwrap_or_default();
                let fault = said.lines().rev().find(|line| line.contains("[FTL]"));
                let fault = fault.unwrap_or("it does not listen").trim();
                let what = format!("nats-server ended or never listened: {fault}");
                let next = format!(
                    "tail -n 20 {}  # says more; then: signet up",
                    hint::word(&log)
                );
                return Err(CliError::not_reachable(what, next));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// One that runs was perhaps started just now, by a command that was killed.
    fn wait_for(&self, pid: Pid, listen: &str) -> Result<ServerStart, CliError> {
        let start = Instant::now();
        while !speaks_nats(listen) {
            if start.elapsed() > PATIENCE {
                let what = format!(
                    "the NATS server of this home (process {}) runs, and does not answer at {listen}",
                    pid.as_raw_nonzero()
                );
                let next = format!(
                    "tail -n 20 {}  # says more; signet down ends it, then: signet up",
                    hint::word(&self.log_file())
                );
                return Err(CliError::not_reachable(what, next));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(ServerStart::Before)
    }

    /// Ends it, and says whether it ran.
    pub(in crate::cli) fn stop(&self) -> bool {
        let start = Instant::now();
        let mut told = None;
        while let Some(pid) = self.pid().filter(|_| start.elapsed() < PATIENCE) {
            // Signal each process once, and go on until none is left: a second server may run by the same configuration, while
            // `server.pid` names only one.
            if told != Some(pid) && kill_process(pid, Signal::TERM).is_err() {
                break;
            }
            told = Some(pid);
            std::thread::sleep(Duration::from_millis(10));
        }
        told.is_some()
    }

    pub(in crate::cli) fn is_running(&self) -> bool {
        self.pid().is_some()
    }

    pub(super) fn signal(&self, signal: Signal) -> bool {
        self.pid()
            .is_some_and(|pid| kill_process(pid, signal).is_ok())
    }

    /// Its process, if it runs: the one that was written down, or one that runs by this configuration all the same. The
    /// latter is left where the command that started it was killed, or where a second server wrote its own number down
    /// and ended.
    fn pid(&self) -> Option<Pid> {
        self.written_pid()
            .or_else(|| process_of(&self.conf_file(), "nats-server"))
    }

    /// The process that was written down: a number that some other program has by now is not taken for it.
    fn written_pid(&self) -> Option<Pid> {
        let text = std::fs::read_to_string(self.directory.join(PID)).ok()?;
        let pid = text.trim().parse::<i32>().ok().and_then(Pid::from_raw)?;
        match words_of(pid) {
            Some(words) => runs_by(&words, &self.conf_file()).then_some(pid),
            None => {
                // On a system without /proc nobody can tell which program a process runs. If the process is there, and a NATS
                // server answers at the address of this home's server, take the process for that server.
                let alive = !Path::new("/proc/self").exists() && test_kill_process(pid).is_ok();
                let facts = self.facts().ok().filter(|_| alive)?;
                speaks_nats(&facts.listen).then_some(pid)
            }
        }
    }
}

/// The process of this user whose program is called `program` and runs by that configuration.
fn process_of(conf: &Path, program: &str) -> Option<Pid> {
    let me = rustix::process::geteuid().as_raw();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    // Look at this user's processes only: another user may run a process with any command line, which
    // would then be signalled as the server.
    let own = entries.filter(|entry| entry.metadata().is_ok_and(|facts| facts.uid() == me));
    let numbers = own.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut pids = numbers.filter_map(Pid::from_raw);
    pids.find(|pid| {
        words_of(*pid).is_some_and(|words| {
            let name = words
                .first()
                .and_then(|path| path.rsplit(|c| *c == b'/').next());
            name.is_some_and(|name| name.starts_with(program.as_bytes())) && runs_by(&words, conf)
        })
    })
}

/// The command line of a process; `None` where there is none, or no /proc.
fn words_of(pid: Pid) -> Option<Vec<Vec<u8>>> {
    let line = std::fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).ok()?;
    Some(line.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect())
}

fn runs_by(words: &[Vec<u8>], conf: &Path) -> bool {
    let conf = conf.as_os_str().as_encoded_bytes();
    words.get(1).is_some_and(|word| word == b"-c") && words.get(2).is_some_and(|word| word == conf)
}

const PATIENCE: Duration = Duration::from_secs(10);
