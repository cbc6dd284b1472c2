//! Starting a home's daemon, and ending it.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use signet_api::{Client, ShowStatus, Status};

use crate::cli::{CliError, Exit};
use crate::config::Config;
use crate::home::Home;
use crate::lock::{HomeLock, LockError};

/// What the daemon of a home says of itself; `None` where none answers.
pub(super) fn status_of(config: &Config) -> Option<Status> {
    let mut client = Client::connect(&config.control_socket, Duration::from_secs(5)).ok()?;
    client.call(&ShowStatus {}).ok()
}

/// Starts it as a process that outlives this one, and waits until it answers.
pub(super) fn start_in_background(home: &Home, config: &Config) -> Result<(), CliError> {
    let log = home.join(LOG);
    let opened = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(&log);
    let failed = |what: &str, error: std::io::Error| {
        let what = format!("{what}: {error}");
        CliError::file(&error, what, "signet run  # shows more")
    };
    let out = opened.map_err(|error| failed(&log.display().to_string(), error))?;
    let mut command = Command::new(super::own_program()?);
    command.arg("--home").arg(home.path()).arg("run");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(out);
    // Remove NATS_URL: it would override the configured server at this start, but not at later starts.
    command.env_remove("NATS_URL");
    // Note the length of the output file before the start: the errors that it already holds are those of earlier starts.
    let before = std::fs::metadata(&log).map_or(0, |facts| facts.len());
    // Start the daemon in a process group of its own: otherwise Ctrl-C at this terminal, which is meant for this
    // command alone, would end the daemon, too.
    let child = command.process_group(0).spawn();
    let child = child.map_err(|error| failed("the daemon does not start", error))?;
    wait(home, config, Some((child, before)))
}

/// Waits until the daemon answers. A child that ended instead, or says that it cannot start, has written why
/// into its own file, behind the first so many bytes; it is ended.
pub(super) fn wait(
    home: &Home,
    config: &Config,
    mut child: Option<(Child, u64)>,
) -> Result<(), CliError> {
    let start = Instant::now();
    while status_of(config).is_none() {
        let ended = child.as_mut().and_then(|(child, _)| child.try_wait().ok()?);
        // Look whether the child has ended before its output is read: the output of a child that has ended is complete.
        let said = child.as_ref().and_then(|(_, from)| fault_in(home, *from));
        // A daemon that waits for free disk space reports an error but does not end: so once an error is in its output,
        // wait for two seconds at most.
        let waits = said.is_some() && start.elapsed() > Duration::from_secs(2);
        if ended.is_some() || waits || start.elapsed() > PATIENCE {
            if let Some((child, _)) = &mut child {
                // End the child: this command reports that no daemon runs, and a child that went on would hold the home's lock.
                let _ = child.kill();
                let _ = child.wait();
            }
            let code = ended.and_then(|status| status.code());
            return Err(not_started(said, code));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// The reason that the daemon printed for not starting.
#[derive(Debug, PartialEq, Eq)]
struct StartReport {
    what: String,
    next: Option<String>,
}

/// The daemon's own words and exit code, where it gave any.
fn not_started(said: Option<StartReport>, code: Option<i32>) -> CliError {
    let same = |exit: &Exit| Some(i32::from(exit.number())) == code;
    let exit = Exit::ALL.into_iter().find(same);
    let exit = exit.filter(|exit| *exit != Exit::Done);
    let (what, next) = said.map_or(("it does not answer".to_owned(), None), |said| {
        (said.what, said.next)
    });
    let next = next.map_or_else(
        || "signet run  # says more; mend that, then: signet up".to_owned(),
        |next| match next.contains(" # ") {
            true => format!("{next}; then: signet up"),
            false => format!("{next}  # then: signet up"),
        },
    );
    CliError::new(
        exit.unwrap_or(Exit::NotReachable),
        format!("the daemon: {what}"),
        next,
    )
}

/// The last error that the daemon wrote down.
fn fault_in(home: &Home, from: u64) -> Option<StartReport> {
    let bytes = std::fs::read(home.join(LOG)).ok()?;
    last_fault(&String::from_utf8_lossy(
        bytes.get(usize::try_from(from).ok()?..)?,
    ))
}

fn last_fault(text: &str) -> Option<StartReport> {
    let mut below = None;
    for line in text.lines().rev() {
        let traced = line.split_once(" ERROR ").map(|(_, said)| said.trim());
        if let Some(what) = line.strip_prefix("error: ").or(traced) {
            let next: Option<&str> = below;
            return Some(StartReport {
                what: what.to_owned(),
                next: next.map(str::to_owned),
            });
        }
        below = line.strip_prefix("  next: ");
    }
    None
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
pub(super) fn stop(home: &Home) -> Result<bool, CliError> {
    let start = Instant::now();
    let (holder, pid) = loop {
        let holder = match HomeLock::acquire(home) {
            Err(LockError::Held { pid, .. }) => pid,
            Err(error) => return Err(error.into()),
            Ok(_) => return Ok(false),
        };
        let pid = holder.parse::<i32>().ok().and_then(Pid::from_raw);
        // The lock is held, but its file names no process yet: the holder writes its number just after it has taken the
        // lock. Ask again until the number is there.
        if pid.is_some() || start.elapsed() > NAMING {
            break (holder, pid);
        }
        std::thread::sleep(Duration::from_millis(20));
    };
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
    Err(CliError::refused(
        what,
        "look at it with ps, and end it by hand",
    ))
}

const LOG: &str = "daemon.log";
/// A log of millions of lines is looked through before the daemon answers.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a process may take to write its number into the lock that it has taken.
const NAMING: Duration = Duration::from_secs(2);
/// A clean stop drains the connection first.
const LEAVE: Duration = Duration::from_secs(35);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_daemon_said_to_do_and_its_exit_code_are_not_swallowed() {
        let text = "2026-11-23T08:00:00Z  INFO starting\n\
                    error: /h/keys/signing.pem has mode 0644: others than its owner may use it\n  \
                    next: chmod 600 /h/keys/signing.pem\n";
        let failure = not_started(last_fault(text), Some(2));
        assert!(
            matches!(&failure, CliError::Told { exit: Exit::Usage, what, next, .. }
                if what.ends_with("others than its owner may use it")
                    && next == "chmod 600 /h/keys/signing.pem  # then: signet up"),
            "{failure:?}"
        );
    }

    #[test]
    fn a_process_with_the_number_that_an_earlier_daemon_left_is_not_ended() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::at(directory.path());
        let mut other = Command::new("sleep").arg("60").spawn().unwrap();
        // The lock's file names a killed daemon, whose process number the `sleep` has got since. The next daemon
        // (`held`) has the lock already, and has not yet written its own number.
        std::fs::write(home.lock_file(), format!("{:<20}1\n", other.id())).unwrap();
        let held = std::fs::File::open(home.lock_file()).unwrap();
        held.try_lock().unwrap();
        let next = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(200));
            drop(held);
        });
        assert!(!stop(&home).unwrap(), "whoever held it is gone");
        next.join().unwrap();
        assert!(other.try_wait().unwrap().is_none(), "it runs still");
        other.kill().unwrap();
        other.wait().unwrap();
    }

    #[test]
    fn the_advice_for_one_error_is_not_given_for_a_later_one() {
        let text = "error: first\n  next: mend it\n2026-11-23T08:00:00Z ERROR second\n";
        let said = last_fault(text).unwrap();
        assert_eq!((said.what.as_str(), said.next), ("second", None));
        // A daemon that was killed by a signal has no exit code, and this one has logged no error either: so the command only
        // says that no daemon answers.
        let failure = not_started(None, None);
        assert!(matches!(
            failure,
            CliError::Told {
                exit: Exit::NotReachable,
                ..
            }
        ));
    }
}
