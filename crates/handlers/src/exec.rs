//! One try: a command gets one message on its standard input, and nothing else that a stranger wrote.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use futures_util::FutureExt as _;
use rustix::fs::{Access, access};
use rustix::process::{Pid, Signal, kill_process_group};
use serde::Serialize;
use signet_api::Message;
use signet_json::Limits;
use signet_text::visible;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Child;

use crate::answer;
use crate::fault::LARGEST;
use crate::{Attempt, Done, Fault, Handler, Trying};

/// Where programs are, who runs them, and how that person writes.
const USUAL: [&str; 11] = [
    "HOME",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "SIGNET_HOME",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
];

/// Where programs are looked for when PATH is not set.
const USUAL_PATH: &str = "/bin:/usr/bin";

/// A command that handles messages.
#[derive(Clone, Debug)]
pub struct Command {
    /// The program and its arguments, as the person wrote them.
    pub command: Vec<OsString>,
    /// The agent's home: the command's own calls of `signet` find it in SIGNET_HOME.
    /// None where the handler may not read it.
    pub home: Option<PathBuf>,
    /// How long one try may take.
    pub timeout: Duration,
    /// What it finds in its environment.
    pub environment: Environment,
}

/// What a command finds in its environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Environment {
    /// All of ours: whoever starts a command by hand means that.
    Whole,
    /// What programs need to run at all, and these of ours: tokens of other handlers may stand in the rest.
    Only(Vec<String>),
}

impl Environment {
    /// Leaves that of ours to the command.
    pub fn pass_to(&self, command: &mut tokio::process::Command) {
        let Self::Only(named) = self else { return };
        let passes = |name: &str| {
            name.starts_with("LC_") || USUAL.contains(&name) || named.iter().any(|one| one == name)
        };
        let ours = std::env::vars_os();
        let ours = ours.filter(|(name, _)| name.to_str().is_some_and(passes));
        command.env_clear().envs(ours);
    }
}

impl Handler for Command {
    fn handle<'a>(&'a mut self, attempt: &'a Attempt<'a>) -> Trying<'a> {
        async {
            let asks = attempt.message.is_request();
            let output = match self.run(&input_of(attempt)?, asks).await {
                Ok(ran) => ran?,
                Err(error) => return Err(Fault::CannotStart(error.kind())),
            };
            match asks && !output.trim_ascii().is_empty() {
                true => answer::read(&output, Limits::MESSAGE)
                    .map(Done::Answer)
                    .map_err(Fault::of_answer),
                false => Ok(Done::Nothing),
            }
        }
        .boxed_local()
    }

    fn look(&self) -> Result<(), Fault> {
        look_up(
            self.command
                .first()
                .map_or(OsStr::new(""), OsString::as_os_str),
        )
    }
}

/// Looks for a program as the system does when it starts one: by its path, or by its name in the directories of PATH.
///
/// # Errors
/// `CannotStart` where there is none, or it may not be executed.
pub fn look_up(program: &OsStr) -> Result<(), Fault> {
    let runs = |path: &Path| match (path.is_file(), access(path, Access::EXEC_OK)) {
        (true, Ok(())) => Ok(()),
        (true, Err(_)) => Err(io::ErrorKind::PermissionDenied),
        // For a directory give the error that the system would give at the start: this check only reports that error earlier.
        (false, _) if path.is_dir() => Err(io::ErrorKind::PermissionDenied),
        (false, _) => Err(io::ErrorKind::NotFound),
    };
    let found = match program.as_bytes().contains(&b'/') {
        true => runs(Path::new(program)),
        false => {
            let path = std::env::var_os("PATH").unwrap_or_else(|| USUAL_PATH.into());
            let mut looked = std::env::split_paths(&path).map(|place| runs(&place.join(program)));
            let named = !program.is_empty() && looked.any(|looked| looked.is_ok());
            named.then_some(()).ok_or(io::ErrorKind::NotFound)
        }
    };
    found.map_err(Fault::CannotStart)
}

/// The message as the command reads it: who has the lease could answer in our place, so it does not go on.
#[derive(Serialize)]
struct HandedMessage<'a> {
    key: &'a str,
    tries: u8,
    #[serde(flatten)]
    message: &'a Message,
}

fn input_of(attempt: &Attempt<'_>) -> Result<Vec<u8>, Fault> {
    let given = HandedMessage {
        key: attempt.key,
        tries: attempt.tries,
        message: attempt.message,
    };
    // `to_value` cannot fail here: all that a message holds can be expressed in JSON.
    let value = serde_json::to_value(given).map_err(|_| Fault::Pipes)?;
    // Escape hidden characters: if the command prints its input, characters of the peer must not control the terminal.
    Ok(format!("{}\n", visible(&value.to_string())).into_bytes())
}

impl Command {
    /// Runs the command with `input` on its standard input, in a process group of its own: the
    /// terminal is not for it. Where `answers`, its standard output is returned, else it goes to
    /// ours. The inner error says how the try failed. When this future is dropped, the group is killed.
    ///
    /// # Errors
    /// When the command could not be started: that is no fault of the message.
    pub async fn run(&self, input: &[u8], answers: bool) -> io::Result<Result<Vec<u8>, Fault>> {
        run_to_end(&mut self.prepared(answers)?, input, self.timeout).await
    }

    fn prepared(&self, answers: bool) -> io::Result<tokio::process::Command> {
        let mut words = self.command.iter();
        let mut command =
            tokio::process::Command::new(words.next().ok_or(io::ErrorKind::InvalidInput)?);
        command.args(words);
        self.environment.pass_to(&mut command);
        if let Some(home) = &self.home {
            command.env("SIGNET_HOME", home);
        }
        command.stdout(match answers {
            true => Stdio::piped(),
            false => Stdio::inherit(),
        });
        Ok(command)
    }
}

/// Runs `command` in a process group of its own, which is killed when `timeout` is over or this future is dropped:
/// what the command printed where its standard output is piped, or in a word how it failed.
///
/// # Errors
/// When it could not be started.
pub async fn run_to_end(
    command: &mut tokio::process::Command,
    input: &[u8],
    timeout: Duration,
) -> io::Result<Result<Vec<u8>, Fault>> {
    command.process_group(0).stdin(Stdio::piped());
    let mut group = ProcessGroup(command.spawn()?);
    let ended = tokio::time::timeout(timeout, converse(&mut group.0, input)).await;
    Ok(match ended {
        Ok(Ok((status, answer))) => judge(status, answer),
        Ok(Err(_)) => Err(Fault::Pipes),
        Err(_) => Err(Fault::TimedOut),
    })
}

/// A command and all that it started; killed together unless it has ended.
#[derive(Debug)]
pub struct ProcessGroup(
    /// Its leader.
    pub Child,
);

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        // tokio gives the id of a child only until the child was waited for, so this id cannot belong to another process yet.
        let leader = self.0.id().and_then(|id| i32::try_from(id).ok());
        if let Some(leader) = leader.and_then(Pid::from_raw) {
            // The process group may have ended by itself: it does not matter that the signal then fails.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

/// Tells the command its message, hears it out to the end of its output, and waits for its end.
async fn converse(child: &mut Child, input: &[u8]) -> io::Result<(ExitStatus, Vec<u8>)> {
    // Take the pipe out of the child, so that it is closed after the message: many commands read their input to the end.
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let tell = async {
        if let Some(mut stdin) = stdin {
            // A command may end without reading all of its input: it does not matter that the writing then fails.
            let _ = stdin.write_all(input).await;
        }
    };
    let hear = async {
        let mut answer = Vec::new();
        match stdout {
            // Read one byte beyond the limit, which shows that the answer is too large. The pipe then closes, which
            // ends a command that would print for ever.
            Some(stdout) => stdout.take(LARGEST + 1).read_to_end(&mut answer).await,
            None => Ok(0),
        }
        .map(|_| answer)
    };
    // Write and read at the same time: otherwise a command that prints before it has read all would wait for us while
    // we wait for the command.
    let ((), answer) = tokio::join!(tell, hear);
    Ok((child.wait().await?, answer?))
}

fn judge(status: ExitStatus, answer: Vec<u8>) -> Result<Vec<u8>, Fault> {
    // Judge the size before the exit status: a command that printed too much was perhaps ended by the closed pipe, and then its
    // status would hide the true fault.
    if answer.len() as u64 > LARGEST {
        return Err(Fault::of_answer(Fault::TooLarge));
    }
    match (status.code(), status.signal()) {
        (Some(0), _) => Ok(answer),
        (Some(code), _) => Err(Fault::ExitStatus(code)),
        (None, Some(signal)) => Err(Fault::Signal(signal)),
        (None, None) => Err(Fault::NoStatus),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn run(script: &str, input: &[u8], timeout: Duration) -> Result<Vec<u8>, Fault> {
        let command = ["/bin/sh", "-c", script].map(OsString::from).to_vec();
        let handler = Command {
            command,
            home: Some("/nowhere".into()),
            timeout,
            environment: Environment::Whole,
        };
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_all().build().unwrap();
        runtime.block_on(handler.run(input, true)).unwrap()
    }

    const LONG: Duration = Duration::from_secs(30);

    #[test]
    fn what_it_reads_is_the_message_and_what_it_writes_is_the_answer() {
        let input = vec![b'x'; 200 * 1024];
        assert_eq!(run("cat", &input, LONG), Ok(input));
        assert_eq!(
            run("echo $SIGNET_HOME", b"", LONG),
            Ok(b"/nowhere\n".into())
        );
    }

    #[test]
    fn a_program_is_found_as_the_system_finds_it() {
        let kind = |program: &str| look_up(OsStr::new(program));
        let fault = |kind| Err(Fault::CannotStart(kind));
        assert_eq!((kind("/bin/sh"), kind("sh")), (Ok(()), Ok(())));
        for typo in ["./typo", "/bin/typo", "no-such-program", ""] {
            assert_eq!(kind(typo), fault(io::ErrorKind::NotFound), "{typo}");
        }
        for unfit in ["/", "/etc/hostname/"] {
            assert!(kind(unfit).is_err(), "{unfit}");
        }
        let dir = tempfile::tempdir().unwrap();
        let plain = dir.path().join("plain");
        std::fs::write(&plain, "").unwrap();
        let plain = look_up(plain.as_os_str());
        assert_eq!(plain, fault(io::ErrorKind::PermissionDenied));
    }

    #[test]
    fn a_command_that_reads_nothing_may_end_well_all_the_same() {
        assert_eq!(run("true", &vec![b'x'; 1024 * 1024], LONG), Ok(Vec::new()));
    }

    #[test]
    fn how_it_failed_is_said_without_its_own_words() {
        assert_eq!(
            run("cat; exit 3", b"secret", LONG),
            Err(Fault::ExitStatus(3))
        );
        assert_eq!(run("kill -9 $$", b"secret", LONG), Err(Fault::Signal(9)));
        let flood = run("yes secret", b"", LONG);
        assert_eq!(flood, Err(Fault::of_answer(Fault::TooLarge)));
    }

    #[test]
    fn what_takes_too_long_is_killed_with_all_that_it_started() {
        let start = Instant::now();
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("pid");
        let script = format!("sleep 600 & echo $! > '{}'; wait", file.display());
        let ended = run(&script, b"", Duration::from_millis(500));
        assert_eq!(ended, Err(Fault::TimedOut));
        assert!(start.elapsed() < LONG);
        let pid = std::fs::read_to_string(file).unwrap();
        let stat = format!("/proc/{}/stat", pid.trim());
        let alive = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z"));
        while alive() {
            assert!(start.elapsed() < LONG, "it lives on");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
