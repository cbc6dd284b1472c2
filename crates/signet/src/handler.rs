//! One try: a command gets one message on its standard input, and nothing else that a stranger wrote.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

/// The most that a command may answer: no message holds more.
pub(crate) const LARGEST: u64 = 240 * 1024;

/// A command that handles messages.
#[derive(Debug)]
pub(crate) struct Handler {
    /// The program and its arguments, as the person wrote them.
    pub(crate) command: Vec<OsString>,
    /// The agent's home: the command's own calls of `signet` find it in SIGNET_HOME.
    /// None where the handler may not read it.
    pub(crate) home: Option<PathBuf>,
    /// How long one try may take.
    pub(crate) timeout: Duration,
}

impl Handler {
    /// Runs the command with `input` on its standard input, in a process group of its own: the
    /// terminal is not for it. Where `answers`, its standard output is returned, else it goes to
    /// ours. The inner error says how the try failed, in words that no message chose. When this
    /// future is dropped, the group is killed.
    ///
    /// # Errors
    /// When the command could not be started: that is no fault of the message.
    pub(crate) async fn run(
        &self,
        input: &[u8],
        answers: bool,
    ) -> io::Result<Result<Vec<u8>, String>> {
        run_to_end(&mut self.prepared(answers)?, input, self.timeout).await
    }

    fn prepared(&self, answers: bool) -> io::Result<Command> {
        let mut words = self.command.iter();
        let mut command = Command::new(words.next().ok_or(io::ErrorKind::InvalidInput)?);
        command.args(words);
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
pub(crate) async fn run_to_end(
    command: &mut Command,
    input: &[u8],
    timeout: Duration,
) -> io::Result<Result<Vec<u8>, String>> {
    command.process_group(0).stdin(Stdio::piped());
    let mut group = Group(command.spawn()?);
    let ended = tokio::time::timeout(timeout, converse(&mut group.0, input)).await;
    Ok(match ended {
        Ok(Ok((status, answer))) => judge(status, answer),
        Ok(Err(_)) => Err("its pipes broke".to_owned()),
        Err(_) => Err("timed out".to_owned()),
    })
}

/// A command and all that it started; killed together unless it has ended.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        // Only what was not waited for has an id: it is surely still that of our child.
        let leader = self.0.id().and_then(|id| i32::try_from(id).ok());
        if let Some(leader) = leader.and_then(Pid::from_raw) {
            // It may have ended by itself meanwhile.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

/// Tells the command its message, hears it out to the end of its output, and waits for its end.
async fn converse(child: &mut Child, input: &[u8]) -> io::Result<(ExitStatus, Vec<u8>)> {
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let tell = async {
        if let Some(mut stdin) = stdin {
            // A command may end without having read all of it.
            let _ = stdin.write_all(input).await;
        }
    };
    let hear = async {
        let mut answer = Vec::new();
        match stdout {
            Some(stdout) => stdout.take(LARGEST + 1).read_to_end(&mut answer).await,
            None => Ok(0),
        }
        .map(|_| answer)
    };
    let ((), answer) = tokio::join!(tell, hear);
    Ok((child.wait().await?, answer?))
}

fn judge(status: ExitStatus, answer: Vec<u8>) -> Result<Vec<u8>, String> {
    if answer.len() as u64 > LARGEST {
        return Err("its answer is over 240 KiB".to_owned());
    }
    match (status.code(), status.signal()) {
        (Some(0), _) => Ok(answer),
        (Some(code), _) => Err(format!("exit status {code}")),
        (None, Some(signal)) => Err(format!("signal {signal}")),
        (None, None) => Err("no exit status".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn run(script: &str, input: &[u8], timeout: Duration) -> Result<Vec<u8>, String> {
        let command = ["/bin/sh", "-c", script].map(OsString::from).to_vec();
        let handler = Handler {
            command,
            home: Some("/nowhere".into()),
            timeout,
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
    fn a_command_that_reads_nothing_may_end_well_all_the_same() {
        assert_eq!(run("true", &vec![b'x'; 1024 * 1024], LONG), Ok(Vec::new()));
    }

    #[test]
    fn how_it_failed_is_said_without_its_own_words() {
        assert_eq!(
            run("cat; exit 3", b"secret", LONG),
            Err("exit status 3".into())
        );
        assert_eq!(run("kill -9 $$", b"secret", LONG), Err("signal 9".into()));
        let flood = run("yes secret", b"", LONG);
        assert_eq!(flood, Err("its answer is over 240 KiB".into()));
    }

    #[test]
    fn what_takes_too_long_is_killed_with_all_that_it_started() {
        let start = Instant::now();
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("pid");
        let script = format!("sleep 600 & echo $! > '{}'; wait", file.display());
        let ended = run(&script, b"", Duration::from_millis(500));
        assert_eq!(ended, Err("timed out".into()));
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
