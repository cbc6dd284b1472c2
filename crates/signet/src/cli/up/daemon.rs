//! Starting a home's daemon, and ending it.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use signet_api::{Client, ShowStatus, Status};

use crate::cli::{Exit, Failure};
use crate::config::Config;
use crate::home::Home;
use crate::lock::{HomeLock, LockError};

/// What the daemon of a home says of itself; `None` where none answers.
pub(super) fn status_of(config: &Config) -> Option<Status> {
    let mut client = Client::connect(&config.control_socket, Duration::from_secs(5)).ok()?;
    client.call(&ShowStatus {}).ok()
}

/// Starts it as a process that outlives this one, and waits until it answers.
pub(super) fn start_in_background(home: &Home, config: &Config) -> Result<(), Failure> {
    let log = home.join(LOG);
    let opened = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(&log);
    let failed = |what: &str, error: std::io::Error| {
        let what = format!("{what}: {error}");
        Failure::file(&error, what, "signet run, with the same --home, shows more")
    };
    let out = opened.map_err(|error| failed(&log.display().to_string(), error))?;
    let mut command = Command::new(super::own_program()?);
    command.arg("--home").arg(home.path()).arg("run");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(out);
    // The setting is in the configuration now, and holds for every later start too.
    command.env_remove("NATS_URL");
    let child = command.process_group(0).spawn();
    let child = child.map_err(|error| failed("the daemon does not start", error))?;
    wait(home, config, Some(child))
}

/// Waits until the daemon answers. What it said when it ended instead is in its own file.
pub(super) fn wait(home: &Home, config: &Config, mut child: Option<Child>) -> Result<(), Failure> {
    let start = Instant::now();
    while status_of(config).is_none() {
        let ended = child
            .as_mut()
            .and_then(|child| child.try_wait().ok().flatten());
        if ended.is_some() || start.elapsed() > PATIENCE {
            let log = std::fs::read_to_string(home.join(LOG)).unwrap_or_default();
            let said = log.lines().rev().find(|line| line.starts_with("error: "));
            let said = said
                .unwrap_or("error: it does not answer")
                .trim_start_matches("error: ");
            let next = format!(
                "signet run --home {} says what to do",
                home.path().display()
            );
            return Err(Failure::new(
                Exit::NotReachable,
                format!("the daemon: {said}"),
                next,
            ));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Waits a moment for the connection, which the daemon keeps trying for anyway.
pub(super) fn is_connected(config: &Config) -> bool {
    let start = Instant::now();
    loop {
        if status_of(config).is_some_and(|status| status.connected) {
            return true;
        }
        if start.elapsed() > Duration::from_secs(5) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Ends the process that holds the home, as a service manager does; says whether there was one.
pub(super) fn stop(home: &Home) -> Result<bool, Failure> {
    let holder = match HomeLock::acquire(home) {
        Err(LockError::Held { pid, .. }) => pid,
        Err(error) => return Err(error.into()),
        Ok(_) => return Ok(false),
    };
    let pid = holder.parse::<i32>().ok().and_then(Pid::from_raw);
    let stopped = pid.is_some_and(|pid| kill_process(pid, Signal::TERM).is_ok());
    let start = Instant::now();
    while stopped && start.elapsed() < LEAVE {
        if HomeLock::acquire(home).is_ok() {
            return Ok(true);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let what = format!(
        "process {holder} holds {} and does not end",
        home.path().display()
    );
    Err(Failure::new(
        Exit::Refused,
        what,
        "look at it with ps, and end it by hand",
    ))
}

const LOG: &str = "daemon.log";
/// A log of millions of lines is looked through before the daemon answers.
const PATIENCE: Duration = Duration::from_secs(60);
/// A clean stop drains the connection first.
const LEAVE: Duration = Duration::from_secs(35);
